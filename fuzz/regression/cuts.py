"""The cases that are whole cuts: their index, what must be said of them, and what they cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from corpora import ROOT
from fuzz.cut_files import files_of, read_cut
from fuzz.cuts import CONTRACT, WRONG_AT, CutDocuments, compare_cut, judge_cut, lending_cuts
from fuzz.engines import Engine, EngineUnsupported
from fuzz.ledger import divergences
from fuzz.regression import index
from fuzz.regression.cases import Flag, Indexed
from fuzz.regression.coverage import Row
from fuzz.regression.problem import Problem
from oracle import cuts

if TYPE_CHECKING:
    from oracle import Contract

INDEX = ROOT / "cuts.jsonl"
VALID = "valid"
STEPS = (*WRONG_AT, VALID)
"""Where a cut is found wrong first, or that it is not."""


@dataclass(frozen=True, slots=True)
class CutCase(Indexed):
    """A row of the index of cuts.

    ``step`` is where the cut is wrong first: the ``index`` by itself, the index with its
    ``manifests``, the index with its ``predecessor``; or ``valid``. ``rule`` is the id of the
    first rule that is broken there; where a document is no index, it is ``None`` and ``kind`` is
    the kind of the rejection. ``divergence`` names the entry of the ledger because of which
    engines judge the case otherwise. ``files`` has the name of each file in ``directory`` with
    the SHA-256 of its bytes.
    """

    directory: str
    contract: str
    step: str
    rule: str | None
    kind: str | None
    flags: tuple[str, ...]
    divergence: str | None
    origin: str
    why: str
    files: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The directory with the documents."""
        return ROOT / self.directory


_FLAG_OF_RULE = {
    "index.scope": Flag.FENCE,
    "cut.owner-map": Flag.FENCE,
    "index.participants-order": Flag.ORDERING,
    "index.source-names": Flag.ORDERING,
    "index.channels": Flag.WATERMARK,
    "index.source-watermarks": Flag.WATERMARK,
    "predecessor.regression": Flag.WATERMARK,
    "predecessor.watermarks": Flag.WATERMARK,
    "index.offsets": Flag.MEMBERSHIP,
    "index.roster": Flag.MEMBERSHIP,
    "index.channel-participant": Flag.MEMBERSHIP,
    "cut.count": Flag.MEMBERSHIP,
    "cut.vnode-shared": Flag.MEMBERSHIP,
    "cut.vnode-missing": Flag.MEMBERSHIP,
    "cut.manifest-bytes": Flag.DIGEST,
    "predecessor.reference": Flag.DIGEST,
    "cut.subscription-presence": Flag.SUBSCRIPTION,
    "cut.subscription-pipeline": Flag.SUBSCRIPTION,
    "merge.certificate": Flag.SUBSCRIPTION,
    "merge.missing-partition": Flag.SUBSCRIPTION,
}


def make_case(
    documents: CutDocuments,
    *,
    id: str,
    origin: str,
    why: str,
    flags: Iterable[Flag] = (),
    divergence: str | None = None,
) -> CutCase:
    """The row for *documents*, which are to stand under the id."""
    step, rule, kind = expectation(documents)
    about = {*flags}
    if rule is not None:
        about.add(_FLAG_OF_RULE.get(rule, Flag.IDENTITY))
    if divergence is not None:
        about |= {Flag.DIVERGENCE, Flag.JUDGEMENT}
    return CutCase(
        id=id,
        directory=f"cuts/{id}",
        contract=CONTRACT.name,
        step=step,
        rule=rule,
        kind=kind,
        flags=tuple(sorted(flag.value for flag in about)),
        divergence=divergence,
        origin=origin,
        why=why,
        files=_hashes(documents),
    )


def expectation(documents: CutDocuments) -> tuple[str, str | None, str | None]:
    """Step, rule and kind, as the oracle sees them."""
    found = judge_cut(documents)
    rule = None if found.fault is None else found.fault.rule
    kind = None if found.rejection is None else found.rejection.kind.value
    return found.step or VALID, rule, kind


def _hashes(documents: CutDocuments) -> dict[str, str]:
    return {name: sha256(data).hexdigest() for name, data in files_of(documents).items()}


# --- the index -------------------------------------------------------------------------------


def read() -> list[CutCase]:
    """Every case in the order of the index; :class:`~.index.Drift` when a line is no case."""
    return index.read_rows(INDEX, CutCase)


def save(case: CutCase, documents: CutDocuments) -> None:
    """Write the documents of *case*."""
    case.path.mkdir(parents=True, exist_ok=True)
    for name, data in files_of(documents).items():
        (case.path / name).write_bytes(data)


def size(cases: Iterable[CutCase]) -> int:
    """Bytes of all documents."""
    return sum((case.path / name).stat().st_size for case in cases for name in case.files)


# --- what everyone says ----------------------------------------------------------------------


def problems(cases: list[CutCase], engines: list[Engine]) -> Iterator[Problem]:
    """Everything that is wrong with files, oracle and those *engines* that can be asked."""
    yield from drift(cases)
    for case in cases:
        yield from problems_of(case, engines)


def unasked(engines: Iterable[Engine]) -> list[str]:
    """Why some of *engines* cannot be asked about cuts."""
    reasons = []
    for engine in engines:
        try:
            lending_cuts(engine)
        except EngineUnsupported as error:
            reasons.append(str(error))
    return reasons


def problems_of(case: CutCase, engines: list[Engine]) -> Iterator[Problem]:
    """What is wrong with one case."""
    try:
        documents = read_cut(case.path)
    except OSError as error:
        yield Problem(case.directory, "files", f"{error.filename} is missing")
        return
    if _hashes(documents) != case.files:
        yield Problem(case.directory, "files", "it has other files or bytes than the index says")
        return
    expected = (case.step, case.rule, case.kind)
    found = expectation(documents)
    if found != expected:
        yield Problem(case.directory, "oracle", f"it is {found}, the index says {expected}")
    for engine in engines:
        yield from _engine(case, documents, engine)


def _engine(case: CutCase, documents: CutDocuments, engine: Engine) -> Iterator[Problem]:
    try:
        found = compare_cut(lending_cuts(engine), documents)
    except EngineUnsupported:
        return  # It is told of once, and not for each case.
    for difference in found.differences:
        if difference.known is None or difference.known != case.divergence:
            yield Problem(case.directory, engine.name, str(difference))
    entries = (entry for entry in divergences() if entry.id == case.divergence)
    for entry in entries:
        if entry.holds_for(engine.release, CONTRACT) and not found.differences:
            yield Problem(case.directory, engine.name, f"does not show {entry.id} any more")


def drift(cases: list[CutCase]) -> Iterator[Problem]:
    """What on disk is not as the tools would write it."""
    if index.text(cases) != INDEX.read_text("utf-8"):
        yield Problem(INDEX.name, "files", "not as the tools write it: was it edited?")
    named = {case.path / name for case in cases for name in case.files}
    for path in sorted((ROOT / "cuts").rglob("*")):
        if path.is_file() and path not in named:
            yield Problem(str(path.relative_to(ROOT)), "files", "no case names this file")
    if len({case.id for case in cases}) != len(cases):
        yield Problem(INDEX.name, "files", "two cases have the same id")


# --- coverage --------------------------------------------------------------------------------

_EARLIER = "what it would say of a cut, an earlier rule has said"
NO_CASE = {
    "index.too-large": "its smallest document has eight megabytes; the oracle's tests make it",
    "merge.participants": f"{_EARLIER}: cut.owner-map or cut.subscription-presence",
    "merge.owners": f"{_EARLIER}: cut.vnode-shared, cut.vnode-missing or cut.owner-map",
    "merge.attempt": f"{_EARLIER}: cut.manifest",
    "merge.invalid": f"{_EARLIER}: cut.manifest",
    "merge.too-large": "its smallest document has eight megabytes; the oracle's tests make it",
}
"""Rules without a case, and why."""


def rows(cases: Iterable[CutCase], contract: Contract) -> Iterator[Row]:
    """What the cases show of *contract*: each rule of cuts, and each divergence of one."""
    if contract is not CONTRACT:
        return
    known = list(cases)
    for rule in cuts.RULES:
        hits = sum(case.rule == rule for case in known)
        yield _row("cut rule", rule, hits, NO_CASE.get(rule, ""))
    for scope in ("local", "cluster"):
        hits = sum(case.step == VALID and case.id.startswith(f"valid/{scope}") for case in known)
        yield _row("cut", f"valid {scope}", hits)
    for entry in divergences():
        if entry.is_of_cuts:
            yield _row("cut divergence", entry.id, sum(c.divergence == entry.id for c in known))


def _row(group: str, name: str, hits: int, note: str = "") -> Row:
    missing = "" if hits or note else "no case"
    return Row(CONTRACT.name, group, name, hits, 0, 0, (), missing, note)
