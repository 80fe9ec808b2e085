"""Whether everyone still says what the corpus says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256

import oracle
from corpora import ROOT
from fuzz.comparison import Outcome, compare
from fuzz.engines import Engine
from fuzz.ledger import divergences
from fuzz.regression import index, schema, vectors
from fuzz.regression.cases import Case, expectation
from fuzz.regression.problem import Problem
from oracle import contract_named


def problems(cases: list[Case], engines: list[Engine]) -> Iterator[Problem]:
    """Everything that is wrong with files, oracle and *engines*."""
    yield from drift(cases)
    for case in cases:
        yield from problems_of(case, engines)
    yield from vectors.problems(engines)


def problems_of(case: Case, engines: list[Engine]) -> Iterator[Problem]:
    """What is wrong with one case."""
    document = case.path.read_bytes() if case.path.is_file() else None
    if document is None:
        yield Problem(case.id, "files", f"{case.file} is missing")
        return
    if sha256(document).hexdigest() != case.sha256:
        yield Problem(case.id, "files", f"{case.file} has other bytes than the index says")
        return
    yield from _oracle(case, document)
    for engine in engines:
        if contract_named(case.contract).manifest_version == engine.manifest_version:
            yield from _engine(case, document, engine)


def drift(cases: list[Case]) -> Iterator[Problem]:
    """What on disk is not as the tools would write it."""
    if index.text(cases) != index.INDEX.read_text("utf-8"):
        yield Problem(index.INDEX.name, "files", "not as the tools write it: was it edited?")
    for file in index.orphans(cases):
        yield Problem(file, "files", "no case names this file")
    identities = {case.id for case in cases}
    if len(identities) != len(cases):
        yield Problem(index.INDEX.name, "files", "two cases have the same id")
    for case in cases:
        if case.neighbour is not None and case.neighbour not in identities:
            yield Problem(case.id, "files", f"its neighbour {case.neighbour} is no case")
    for name, text in schema.files().items():
        path = ROOT / name
        if not path.is_file() or path.read_text("utf-8") != text:
            yield Problem(name, "files", "not as the code describes it; run corpus schema")


def _oracle(case: Case, document: bytes) -> Iterator[Problem]:
    found = expectation(document, case.key_groups, contract_named(case.contract))
    for field, says in asdict(found).items():
        expected = getattr(case, field)
        if says != expected:
            yield Problem(case.id, "oracle", f"{field} is {says!r}, the index says {expected!r}")


def _engine(case: Case, document: bytes, engine: Engine) -> Iterator[Problem]:
    """The engine against the index, through the rules that its messages stand for."""
    contract = contract_named(case.contract)
    found = compare(document, engine, case.key_groups, contract)
    if case.divergence is not None:
        entry = next(entry for entry in divergences() if entry.id == case.divergence)
        if entry.holds_for(engine.release, contract):
            if found.known != case.divergence:
                yield Problem(case.id, engine.name, f"does not show {case.divergence} any more")
            return
    if found.engine.stage != case.stage:
        yield Problem(case.id, engine.name, f"says {found.engine.stage}, expected {case.stage}")
    elif case.stage != "decode" and found.outcome is not Outcome.AGREE:
        yield Problem(case.id, engine.name, str(found.signature))


def count_of_stages(cases: list[Case]) -> dict[str, int]:
    """How many cases there are of each stage."""
    return {stage.value: sum(case.stage == stage.value for case in cases) for stage in oracle.Stage}
