"""`python -m fuzz diff` and `python -m fuzz ledger`: oracle and engines on documents."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import click

import oracle
from fuzz.assumptions import contradicted, contradicted_by_exports, exports_view_logs
from fuzz.comparison import (
    AGREEMENT,
    Comparison,
    Outcome,
    Signature,
    compare,
    compare_engines,
    contract_of,
    mapped,
)
from fuzz.could_not_run import CouldNotRun
from fuzz.cut_files import is_cut, read_cut
from fuzz.cuts import CONTRACT as CUT_CONTRACT
from fuzz.cuts import CutComparison, CutDocuments, compare_cut, lending_cuts
from fuzz.engines import (
    DEFAULT_RELEASE,
    RELEASES,
    STAND_IN,
    Engine,
    EngineUnavailable,
    EngineUnsupported,
    StdioEngine,
    load,
)
from fuzz.engines.protocol import EngineVerdict
from fuzz.ledger import Divergence, Shape, divergences
from oracle import ASSUMPTIONS, CONTRACTS, Contract, DecodeError, Feature, Verdict, contract_named
from oracle.terminal import printable

INDEX = "index.jsonl"
DOCUMENT = "document"
_SHOWN_MESSAGES = 10

_COLOURS = {Outcome.AGREE: "green", Outcome.KNOWN: "yellow"}


def _key_groups(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> int | str | None:
    if value is None or value == DOCUMENT:
        return value
    most = oracle.MAX_KEY_GROUP_COUNT
    # The length first: Python refuses to convert more digits than its limit allows.
    if value.isdecimal() and len(value) <= len(str(most)) and 1 <= int(value) <= most:
        return int(value)
    raise click.BadParameter(f"{value!r:.80} is neither in 1..={most} nor {DOCUMENT!r}")


@dataclass(frozen=True, slots=True)
class _Side:
    """An engine with the name that it was asked for by, and the contract that it is held to."""

    asked: tuple[str, ...]
    engine: Engine
    contract: Contract

    @property
    def release(self) -> str:
        return self.engine.release


@dataclass(slots=True)
class _Report:
    """Writes rows to standard output, and counts them."""

    style: str
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    contradicted: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    """What differs, with the engine that it differs on, and how often."""

    def comparison(self, file: str, key_groups: int, side: _Side, found: Comparison) -> None:
        """One document on one engine."""
        expected = {
            "stage": found.oracle.stage.value,
            "rules": sorted(found.oracle.rules),
            "rejection": _rejection(found.oracle),
        }
        row = {
            "file": file,
            "key_groups": key_groups,
            "engine": side.release,
            "contract": side.contract.name,
            "outcome": found.outcome.value,
            "known": found.known,
            "oracle": expected,
            "engine_verdict": _verdict_row(found.engine, found.engine_rules),
        }
        if found.is_finding and (ids := contradicted(found, side.contract)):
            row["contradicts"] = list(ids)
            self.contradicted.update(ids)
        self._row(row, found.outcome, found.signature, side.asked)

    def cut(self, file: str, side: _Side, found: CutComparison) -> None:
        """One whole cut on one engine."""
        verdict, first = found.oracle, found.first
        rule = None if verdict.fault is None else verdict.fault.rule
        row = {
            "file": file,
            "engine": side.release,
            "contract": CUT_CONTRACT.name,
            "outcome": found.outcome.value,
            "known": found.known,
            "oracle": {
                "step": verdict.step or "valid",
                "rule": rule,
                "message": None if verdict.step is None else str(verdict),
            },
            "steps": [
                {
                    "step": each.step,
                    "known": each.known,
                    "oracle": each.oracle,
                    "engine": each.engine,
                    "signature": _signature_row(each.signature),
                }
                for each in found.differences
            ],
        }
        signature = AGREEMENT if first is None else first.signature
        self._row(row, found.outcome, signature, side.asked)

    def engines(
        self,
        file: str,
        key_groups: int,
        sides: tuple[_Side, _Side],
        verdicts: tuple[EngineVerdict, EngineVerdict],
    ) -> None:
        """One document on two engines of one contract."""
        contract = sides[0].contract
        signature = compare_engines(*verdicts, contract)
        before, after = (
            _verdict_row(verdict, mapped(_reasons(verdict), contract)[0]) for verdict in verdicts
        )
        row = {
            "file": file,
            "key_groups": key_groups,
            "engine": sides[1].release,
            "before": sides[0].release,
            "contract": contract.name,
            "outcome": signature.outcome.value,
            "known": None,
            "before_verdict": before,
            "engine_verdict": after,
        }
        self._row(row, signature.outcome, signature, (*sides[0].asked, *sides[1].asked))

    def _row(
        self, row: dict[str, Any], outcome: Outcome, signature: Signature, asked: tuple[str, ...]
    ) -> None:
        self.outcomes[outcome] += 1
        finding = outcome not in _COLOURS
        if finding:
            row["signature"] = _signature_row(signature)
            row["replay"] = _replay(row["file"], row.get("key_groups"), *asked)
        engine = f"{row['before']} -> {row['engine']}" if "before" in row else row["engine"]
        if finding:
            self.differences["; ".join([f"{engine}  {outcome.value}", *_differences(row)])] += 1
        if self.style == "json":
            click.echo(json.dumps(row))
            return
        told = click.style(f"{outcome.value:9}", fg=_COLOURS.get(outcome, "red"))
        known = f"  {row['known']}" if row["known"] else ""
        click.echo(f"{told} {printable(engine)}  {printable(row['file'])}{known}")
        if finding:
            details = self._steps if "steps" in row else self._details
            details(row)
            click.echo(f"    replay: {printable(row['replay'])}")

    def _steps(self, row: Mapping[str, Any]) -> None:
        for step in row["steps"]:
            known = f" (known: {step['known']})" if step["known"] else ""
            click.echo(f"    {step['step']}{known}")
            for side in ("oracle", "engine"):
                click.echo(f"        {side}: {printable(step[side])}")

    def _details(self, row: Mapping[str, Any]) -> None:
        before = ("oracle", "oracle") if "oracle" in row else ("before", "before_verdict")
        for title, key in (before, ("engine", "engine_verdict")):
            side = row[key]
            click.echo(f"    {title}: {' '.join([side['stage'], *side['rules']])}")
            texts = side.get("messages") or filter(None, [side.get("rejection")])
            for count, text in enumerate(texts):
                if count == _SHOWN_MESSAGES:
                    click.echo("        and more; see --format json")
                    break
                message = text if isinstance(text, str) else text["message"]
                click.echo(f"        {printable(message)}")
            if side.get("place"):
                click.echo(f"        at {printable(side['place'])}")
        for difference in _differences(row):
            click.echo(f"    {printable(difference)}")
        for id in row.get("contradicts", ()):
            click.echo(f"    contradicts {id}: {ASSUMPTIONS[id].statement}")

    def summary(self) -> str:
        """How many comparisons ended how, and below it what differs, the most frequent first."""
        counts = {outcome.value: self.outcomes[outcome] for outcome in _COLOURS}
        counts["disagree"] = self.differences.total()
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        lines = [f"{self.outcomes.total()} comparisons: {told}"]
        lines += [f"{count:6}  {printable(what)}" for what, count in self.differences.most_common()]
        return "\n".join(lines)

    @property
    def status(self) -> int:
        """The exit code: 1 with a finding, else 0."""
        return int(bool(self.differences))


def _rejection(verdict: Verdict) -> dict[str, str] | None:
    error: DecodeError | None = verdict.rejection
    if error is None:
        return None
    return {"kind": error.kind.value, "pointer": error.pointer, "message": error.message}


def _reasons(verdict: EngineVerdict) -> tuple[str, ...]:
    return verdict.messages if verdict.stage == "invalid" else ()


def _verdict_row(verdict: EngineVerdict, rules: frozenset[str]) -> dict[str, Any]:
    return {
        "stage": verdict.stage,
        "rules": sorted(rules),
        "messages": list(verdict.messages),
        "place": verdict.place,
    }


def _signature_row(signature: Signature) -> dict[str, Any]:
    return {"oracle": signature.oracle, "engine": signature.engine}


def _differences(row: Mapping[str, Any]) -> Iterator[str]:
    """What the signature of a finding's *row* says of each side."""
    first = "before" if "before" in row else "oracle"
    for title, key in ((first, "oracle"), ("engine", "engine")):
        if row["signature"][key]:
            yield f"only {title}: {', '.join(row['signature'][key])}"


def _replay(file: str, key_groups: int | None, *asked: str) -> str:
    words = ["python", "-m", "fuzz", "diff", *dict.fromkeys(asked)]
    groups = [] if key_groups is None else ["--key-groups", str(key_groups)]
    return shlex.join([*words, *groups, file])


@click.command()
@click.option(
    "--engine",
    "names",
    multiple=True,
    default=[DEFAULT_RELEASE],
    show_default=True,
    metavar="RELEASE|PATH",
    help="A release, a directory with a checkout, or a program that speaks the protocol in "
    "fuzz/engines/PROTOCOL.md. Can be given several times; each is then also compared with the "
    "first one of its format.",
)
@click.option(
    "--contract",
    "contract_name",
    metavar="NAME",
    help=f"The format: {', '.join(CONTRACTS)}, or a .toml file of facts. Without it, each "
    "engine's own; of a format that no release speaks, view-log with the engine's numbers.",
)
@click.option(
    "--key-groups",
    callback=_key_groups,
    metavar="N|document",
    help="The key-group count (vnodes) to judge for: a number, or what each document says of "
    f"itself. Without it, what an {INDEX} beside the document says; else as with 'document'.",
)
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE|DIR...",
    type=click.Path(exists=True, path_type=Path),
)
@click.pass_context
def diff(
    context: click.Context,
    names: tuple[str, ...],
    contract_name: str | None,
    key_groups: int | str | None,
    style: str,
    paths: tuple[Path, ...],
) -> None:
    """Compare what the oracle and engines say of documents, and of whole cuts.

    A directory stands for every .json file below it, and for every cut: those of a checkpoint
    store, and those in a directory of their own, as in corpora/cuts. A cut is compared step by
    step: its index, its manifests, its predecessor. Releases and checkouts must be built first
    (python -m fuzz engine build). One row for each document or cut and engine goes to standard
    output, with json one object a line. Exits with 0 when all agree or differ as the ledger of
    known divergences says, with 1 when something else differs, and with 2 when it could not
    compare, also when it is only an engine that cannot be asked about cuts.
    """
    contract = None if contract_name is None else _contract(contract_name)
    sides = [_side(name, contract_name, contract) for name in names]
    report = _Report(style)
    files, cuts = _inputs(paths)
    for side in sides:
        _tell_exports(side)
    try:
        _compare_all(files, sides, key_groups, report)
        unasked = [side for side in sides if cuts and not _compare_cuts(cuts, side, report)]
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error
    engines = printable(", ".join(side.release for side in sides))
    counted = f"{len(files)} documents" + (f" and {len(cuts)} cuts" if cuts else "")
    click.echo(f"{counted} on {engines}, {report.summary()}", err=True)
    if report.contradicted:
        counts = ", ".join(
            f"{id} {report.contradicted[id]} times"
            for id in ASSUMPTIONS
            if id in report.contradicted
        )
        click.echo(f"contradicted: {counts}; see manifest-oracle rules", err=True)
    context.exit(report.status or (2 if unasked else 0))


def _compare_cuts(cuts: Sequence[Path], side: _Side, report: _Report) -> bool:
    """Compare *cuts* on one engine; gives whether it can be asked, and tells if it cannot."""
    try:
        engine = lending_cuts(side.engine)
    except EngineUnsupported as error:
        told = f"cuts not compared: {len(cuts)}; {error}; ask an engine that has them"
        click.echo(f"{printable(told)}: --engine {DEFAULT_RELEASE}", err=True)
        return False
    for path in cuts:
        report.cut(str(path), side, compare_cut(engine, _read_cut(path)))
    return True


def _compare_all(
    files: list[Path], sides: list[_Side], key_groups: int | str | None, report: _Report
) -> None:
    indexed: dict[Path, Mapping[str, int]] = {}
    for file in files:
        data = _read(file)
        count = key_groups
        if count is None:
            if file.parent not in indexed:
                indexed[file.parent] = listed_key_groups(file.parent)
            count = indexed[file.parent].get(file.name, DOCUMENT)
        first_of: dict[Contract, tuple[_Side, EngineVerdict]] = {}
        for side in sides:
            asked = count if isinstance(count, int) else document_key_groups(data, side.contract)
            found = compare(data, side.engine, asked, side.contract)
            report.comparison(str(file), asked, side, found)
            first, verdict = first_of.setdefault(side.contract, (side, found.engine))
            if first is not side:
                report.engines(str(file), asked, (first, side), (verdict, found.engine))


def document_key_groups(data: bytes, contract: Contract) -> int:
    """The key-group count that the document *data* says of itself, or the default one."""
    try:
        count = oracle.decode(data, contract).vnode_count
    except DecodeError:
        return oracle.DEFAULT_KEY_GROUP_COUNT
    return count or oracle.DEFAULT_KEY_GROUP_COUNT


def _contract(name: str) -> Contract:
    try:
        return contract_named(name)
    except ValueError as error:
        raise CouldNotRun(str(error)) from error


def _tell_exports(side: _Side) -> None:
    """Say what is known of a format that no release speaks before any document is compared."""
    if side.engine.release == STAND_IN:
        click.echo("the stand-in is no engine: its word is no evidence about production", err=True)
    elif side.contract.has(Feature.VIEW_LOGS) and exports_view_logs(side.engine):
        name = printable(side.engine.name)
        version = side.engine.manifest_version
        click.echo(f"{name} speaks format v{version}, held against {side.contract.name}", err=True)
        for found in contradicted_by_exports(side.engine):
            click.echo(f"    contradicts {found.assumption}: {found.shown}", err=True)


def _side(name: str, contract_name: str | None, contract: Contract | None) -> _Side:
    program = Path(name)
    try:
        engine: Engine
        if program.is_file():
            if not os.access(program, os.X_OK):
                raise CouldNotRun(f"{name} is no program; make it executable: chmod +x {name}")
            engine = StdioEngine([str(program.resolve())])
        else:
            engine = load(name)
        asked = [f"--engine={name}"]
        if contract_name is not None:
            asked.append(f"--contract={contract_name}")
        return _Side(tuple(asked), engine, contract or contract_of(engine))
    except (EngineUnavailable, ValueError) as error:
        raise CouldNotRun(str(error)) from error


def _inputs(paths: tuple[Path, ...]) -> tuple[list[Path], list[Path]]:
    """The documents and the cuts that *paths* stand for."""
    files: list[Path] = []
    cuts: list[Path] = []
    for path in paths:
        found = [path] if is_cut(path) or not path.is_dir() else sorted(_below(path))
        if not found:
            raise CouldNotRun(f"there is no .json file below {path}, and no cut")
        for one in found:
            (cuts if is_cut(one) else files).append(one)
    return files, cuts


def _below(path: Path) -> Iterator[Path]:
    # Not by a glob: it passes over what it may not look into.
    for directory, rooms, names in os.walk(path, onerror=_cannot_read):
        if is_cut(Path(directory)):
            rooms.clear()
            yield Path(directory)
            continue
        for file in (Path(directory, name) for name in names):
            if file.name.endswith(".json") or is_cut(file):
                yield file


def _cannot_read(error: OSError) -> NoReturn:
    raise CouldNotRun(f"{error.filename} cannot be read: {error.strerror}") from error


def _read_cut(path: Path) -> CutDocuments:
    try:
        return read_cut(path)
    except OSError as error:
        _cannot_read(error)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        _cannot_read(error)


def listed_key_groups(directory: Path) -> Mapping[str, int]:
    """The key-group count of each document that an index in *directory* lists, by file name."""
    file = directory / INDEX
    if not file.is_file():
        return {}
    try:
        rows = map(json.loads, filter(None, _read(file).decode().split("\n")))
        counts = {row["file"]: int(row["key_groups"]) for row in rows}
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise CouldNotRun(f"{file} is not an index of documents: {error!r}") from error
    for name, count in counts.items():
        if not 1 <= count <= oracle.MAX_KEY_GROUP_COUNT:
            raise CouldNotRun(f"{file}: key_groups of {name} is {count}, not a key-group count")
    return counts


@click.group()
def ledger() -> None:
    """Known divergences between oracle and engine."""


@ledger.command()
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.pass_context
def check(context: click.Context, style: str) -> None:
    """Replay every known divergence on every release that is built.

    Exits with 1 when one does not happen on a release that it names, and with 2 when no release
    is built.
    """
    names = (*RELEASES, STAND_IN)
    engines = {release: engine for release in names if (engine := _built(release))}
    if not engines:
        raise CouldNotRun("no release is built; run: python -m fuzz engine build")
    stale = False
    for divergence in _entries():
        for contract, release in (
            (oracle.contract_named(name), release)
            for name, releases in divergence.releases.items()
            for release in releases
        ):
            if release not in engines:
                click.echo(f"{divergence.id}: not checked on {release}, it is not built", err=True)
                continue
            for shape in divergence.shapes:
                signature, known = _shown(shape, contract, engines[release])
                holds = known == divergence.id and shape.matches(signature)
                stale = stale or not holds
                document = str(shape.path(contract))
                row = {
                    "divergence": divergence.id,
                    "engine": release,
                    "document": document,
                    "holds": holds,
                    "now": str(signature),
                    "replay": _replay(document, shape.key_groups, f"--engine={release}"),
                }
                _show(row, style)
    context.exit(int(stale))


def _shown(shape: Shape, contract: Contract, engine: Engine) -> tuple[Signature, str | None]:
    """What differs on the document of *shape*, and the divergence that it is known as."""
    path = shape.path(contract)
    if shape.key_groups is not None:
        found = compare(_read(path), engine, shape.key_groups, contract)
        return found.signature, found.known
    first = compare_cut(lending_cuts(engine), _read_cut(path)).first
    return (AGREEMENT, None) if first is None else (first.signature, first.known)


def _entries() -> tuple[Divergence, ...]:
    try:
        return divergences()
    except ValueError as error:
        raise CouldNotRun(str(error)) from error


def _built(release: str) -> Engine | None:
    try:
        return load(release)
    except EngineUnavailable:
        return None


def _show(row: Mapping[str, Any], style: str) -> None:
    if style == "json":
        click.echo(json.dumps(row))
        return
    told = click.style("holds", fg="green") if row["holds"] else click.style("stale", fg="red")
    click.echo(f"{told} {row['engine']}  {row['divergence']}  {row['document']}")
    if not row["holds"]:
        click.echo(f"    now: {row['now']}")
        click.echo("    remove the release, the shape or the entry from fuzz/divergences.toml")
        click.echo(f"    replay: {row['replay']}")
