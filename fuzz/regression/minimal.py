"""Is every case needed? No two may have the same reason, flags and coverage on both sides."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import oracle
from fuzz.engines import InProcessEngine
from fuzz.regression.cases import Case
from oracle import contract_named

_ORACLE = str(Path(oracle.__file__).parent)

Fingerprint = tuple[Any, ...]


def redundant(
    cases: Iterable[Case], engines: Iterable[InProcessEngine]
) -> Iterator[tuple[Case, Case]]:
    """Pairs of a case that could go and the one that shows everything it shows.

    Neighbours stay: each is needed by the case that it is one step away from. So do cases of a
    contract that none of *engines* speaks: half of what they show is not seen.
    """
    known: dict[Fingerprint, Case] = {}
    needed = {case.neighbour for case in cases}
    own = {engine.manifest_version: engine for engine in engines}
    for case in sorted(cases, key=lambda case: (case.id not in needed, case.id)):
        engine = own.get(contract_named(case.contract).manifest_version)
        if engine is None:
            continue
        first = known.setdefault(fingerprint(case, case.path.read_bytes(), engine), case)
        if first is not case and case.id not in needed:
            yield case, first


def fingerprint(case: Case, document: bytes, engine: InProcessEngine | None = None) -> Fingerprint:
    """The reason, the flags and the coverage of both sides; without an engine, of the oracle."""
    reason = (case.contract, case.stage, case.kind, case.rules, case.unspecified, case.hazards)
    # A liberty shows in no reason: the coverage table asks for its case by the id.
    liberty = case.id if case.id.startswith(f"{case.contract}/spelling/") else None
    return (
        *reason,
        case.flags,
        liberty,
        _oracle_lines(case, document),
        _engine_places(case, document, engine),
    )


def _oracle_lines(case: Case, document: bytes) -> str:
    """A digest of the lines of the oracle that the document runs through."""
    lines: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(_ORACLE):
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        oracle.judge(document, case.key_groups, contract_named(case.contract))
    finally:
        sys.settrace(before)
    return sha256(repr(sorted(lines)).encode()).hexdigest()


def _engine_places(case: Case, document: bytes, engine: InProcessEngine | None) -> str:
    """A digest of the places of the engine that the document runs through."""
    if engine is None:
        return ""
    engine.reset_coverage()
    engine.judge(document, case.key_groups)
    return sha256(bytes(map(bool, engine.coverage_snapshot()))).hexdigest()
