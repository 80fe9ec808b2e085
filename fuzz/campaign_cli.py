"""`python -m fuzz campaign`, `replay`, `reduce`, `explain` and `corpus minimise`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fuzz.could_not_run import CouldNotRun
from fuzz.engines import (
    DEFAULT_RELEASE,
    EngineUnavailable,
    EngineUnsupported,
    InProcessEngine,
    load,
)
from fuzz.targets import TARGETS

if TYPE_CHECKING:
    from fuzz.campaign.findings import Finding
    from fuzz.campaign.reports import Report
    from fuzz.campaign.supervisor import Plan
    from fuzz.cuts import CutDocuments
    from fuzz.engines.protocol import StoreEngine
    from fuzz.reduce import Reduced
    from fuzz.reduce_cuts import ReducedCut
    from oracle import Contract

OUT = Path("campaign-out")
_SELF_TEST_MINUTES = 1.0

_ENGINE = click.option(
    "--engine",
    "engine_name",
    default=DEFAULT_RELEASE,
    show_default=True,
    metavar="RELEASE|PATH",
    help="A release, or a directory with a checkout.",
)
_FOUND_ENGINE = click.option(
    "--engine",
    "engine_name",
    metavar="RELEASE|PATH",
    help=f"A release, or a directory with a checkout; else the finding's, or {DEFAULT_RELEASE}.",
)
_CONTRACT = click.option(
    "--contract",
    "contract_name",
    metavar="NAME",
    help="A format's name or a .toml file of facts; else the engine's own.",
)
_FOUND_CONTRACT = click.option(
    "--contract",
    "contract_name",
    metavar="NAME",
    help="A format's name or a .toml file of facts; else the finding's, or the engine's own.",
)
_KEY_GROUPS = click.option(
    "--key-groups",
    type=click.IntRange(1, 65_535),
    help="Else what a campaign takes for the document.",
)
_FORMAT = click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")


def _engine(name: str) -> InProcessEngine:
    """The engine *name*; the oracle has its canary from here on, if there is one."""
    from fuzz.campaign.canary import plant_from_environment

    try:
        plant_from_environment()
        return load(name)
    except (EngineUnavailable, ValueError) as error:
        raise CouldNotRun(str(error)) from error


def _contract(name: str | None, engine: InProcessEngine) -> Contract:
    from fuzz.campaign.contracts import contract_called
    from fuzz.comparison import contract_of

    try:
        return contract_of(engine) if name is None else contract_called(name, engine)
    except ValueError as error:
        raise CouldNotRun(str(error)) from error


def _finding(path: Path) -> Finding | None:
    """The finding whose directory *path* is, if it is one's."""
    from fuzz.campaign.findings import load as load_finding

    finding = load_finding(path) if path.is_dir() else None
    if finding is not None and not finding.best.has_input:
        raise CouldNotRun(f"{path} has no input to judge: {finding.best.note}")
    return finding


def _engine_for(path: Path, name: str | None) -> InProcessEngine:
    """The engine *name*, else that on which the finding *path* was found, else the default one."""
    finding = _finding(path)
    if name is not None or finding is None or not finding.best.release:
        return _engine(name or DEFAULT_RELEASE)
    try:
        return _engine(finding.best.release)
    except CouldNotRun as error:
        raise CouldNotRun(
            f"{path} was found on {finding.best.engine_name}, which is not here: {error.message}\n"
            "To have another engine judge it: --engine RELEASE|PATH"
        ) from error


@click.command()
@click.option("--minutes", default=10.0, show_default=True, type=click.FloatRange(0.05))
@click.option("--workers", type=click.IntRange(1), help="Else one for each core.")
@_ENGINE
@_CONTRACT
@click.option("--target", type=click.Choice(TARGETS), default="manifests", show_default=True)
@click.option(
    "--corpus",
    type=click.Path(file_okay=False, path_type=Path),
    help="Else in the --out directory.",
)
@click.option(
    "--out", default=OUT, show_default=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**32 - 1))
@click.option("--resume", is_flag=True, help="Go on with the campaign in --out.")
@click.option(
    "--self-test", is_flag=True, help="Plant a disagreement, and see whether it is found."
)
@_FORMAT
def campaign(
    minutes: float,
    workers: int | None,
    engine_name: str,
    contract_name: str | None,
    target: str,
    corpus: Path | None,
    out: Path,
    seed: int,
    resume: bool,
    self_test: bool,
    style: str,
) -> None:
    """Search for documents on which the oracle and an engine differ.

    Ends with 0 when there is no disagreement but known ones, with 1 when there is, and with 2
    when it could not run or saw too little to prove anything.
    """
    from fuzz.campaign.canary import DEFAULT_RULE, VARIABLE, planted
    from fuzz.campaign.supervisor import Plan

    engine = _engine(engine_name)
    contract = _contract(contract_name, engine)
    if target == "cuts":
        _lending(engine)
    if self_test:
        os.environ.setdefault(VARIABLE, DEFAULT_RULE)
    plan = Plan(
        engine=engine_name,
        engine_name=engine.name,
        contract=contract_name or contract.name,
        target=target,
        minutes=min(minutes, _SELF_TEST_MINUTES) if self_test else minutes,
        workers=workers or len(os.sched_getaffinity(0)),
        seed=seed,
        out=out,
        corpus=corpus or out / "corpus",
        stop_at_finding=self_test,
    )
    report = _run(plan, resume)
    if self_test:
        _judge_self_test(report, planted() or DEFAULT_RULE)
    _tell(report, style)
    sys.exit(report.status)


def _run(plan: Plan, resume: bool) -> Report:
    from fuzz.campaign import corpus as corpora
    from fuzz.campaign.reports import report_of, write_reports
    from fuzz.campaign.supervisor import Supervisor
    from fuzz.campaign.view import View

    with View() as view:
        ended = Supervisor(plan, view.show, resume=resume).run()
    for finding in ended.findings:
        _reduce_finding(finding, plan)
    report = report_of(ended)
    write_reports(report)
    if corpora.size(plan.corpus)[1] > corpora.MOST_BYTES:
        try:
            corpora.minimise(plan.corpus, plan.engine, plan.contract, plan.target)
        except corpora.MinimiseFailed as error:
            click.echo(f"the corpus stays as it is: {error}", err=True)
    return report


def _reduce_finding(finding: Finding, plan: Plan) -> None:
    """Reduce a finding's smallest document, in a process that it may take down."""
    from fuzz.campaign.alone import reduce_alone
    from fuzz.campaign.findings import Findings

    record = finding.smallest
    has_document = record.key_groups is not None or record.target == "cuts"
    if finding.reduced is not None or not has_document or not record.oracle:
        return
    click.echo(f"reducing {record.signature} ({record.size} bytes)", err=True)
    made = reduce_alone(finding.document(record), record.key_groups, plan.engine, plan.contract)
    if made is not None and made.signature == record.signature:
        Findings(finding.directory.parent).add_reduced(finding, made.document, made)


def _judge_self_test(report: Report, rule: str) -> None:
    found = [row for row in report.rows if rule in row.signature]
    if not found:
        raise CouldNotRun(
            f"the canary was not found: rule {rule} was switched off in the oracle, and no "
            f"disagreement about it came up in {report.campaign.plan.minutes:g} minutes"
        )
    seconds = found[0].first.found - _started(report)
    click.echo(f"the canary, rule {rule} switched off, was found within {seconds:.0f} s")
    sys.exit(0)


def _started(report: Report) -> float:
    return (report.campaign.plan.out / "campaign.json").stat().st_mtime


def _tell(report: Report, style: str) -> None:
    if style == "json":
        click.echo((report.campaign.plan.out / "findings.jsonl").read_text(), nl=False)
    else:
        for row in report.rows:
            click.echo(f"{row.signature}  ({row.count} times, {row.size} bytes)")
            for line in row.best.oracle:
                click.echo(f"    oracle: {line}")
            for line in row.best.engine:
                click.echo(f"    engine: {line}")
            click.echo(f"    {row.replay}")
        click.echo(
            f"{report.verdict}; {report.total.inputs:,} inputs; "
            f"see {report.campaign.plan.out / 'report.html'}"
        )
    for reason in report.blind:
        click.echo(f"blind: {reason}", err=True)


def _document(path: Path) -> tuple[bytes, int | None, str | None]:
    """The document that *path* names, with its key groups and contract where a finding says so."""
    finding = _finding(path)
    if finding is None:
        if path.is_dir():
            raise CouldNotRun(f"{path} is no finding: it has no first.json")
        return path.read_bytes(), None, None
    record = finding.best
    if record.key_groups is None:
        release = record.release or DEFAULT_RELEASE
        words = ["python", "-m", f"fuzz.targets.{record.target}", "--engine", release]
        line = shlex.join([*words, str(path / record.document)])
        raise CouldNotRun(f"{path} is about no document of its own; try its input with: {line}")
    return finding.document(record), record.key_groups, record.contract


def _cut(path: Path) -> CutDocuments | None:
    """The whole cut that *path* is, if it is one: a finding's, or one that `diff` takes."""
    from fuzz.cut_files import is_cut, read_cut

    finding = _finding(path)
    if finding is not None:
        path = finding.directory / finding.best.document
    return read_cut(path) if is_cut(path) else None


def _lending(engine: InProcessEngine) -> StoreEngine:
    from fuzz.cuts import lending_cuts

    try:
        return lending_cuts(engine)
    except EngineUnsupported as error:
        raise CouldNotRun(f"{error}; choose another: --engine {DEFAULT_RELEASE}") from error


@click.command()
@_FOUND_ENGINE
@_FOUND_CONTRACT
@_KEY_GROUPS
@_FORMAT
@click.argument("finding", type=click.Path(exists=True, path_type=Path))
def replay(
    finding: Path,
    engine_name: str | None,
    contract_name: str | None,
    key_groups: int | None,
    style: str,
) -> None:
    """Judge a finding's document again: its directory, or any file, or a whole cut.

    Ends with 1 when both sides still differ, and with 0 when they agree or the ledger knows it.
    """
    from fuzz.comparison import Comparison, compare
    from fuzz.cuts import CutComparison, compare_cut
    from fuzz.targets.session import cut_disagreement, disagreement, key_groups_of

    engine = _engine_for(finding, engine_name)
    cut = _cut(finding)
    found: Comparison | CutComparison
    if cut is not None:
        found = compare_cut(_lending(engine), cut)
        told, held_for = cut_disagreement(found, b""), "a whole cut"
    else:
        document, groups, contract_known = _document(finding)
        contract = _contract(contract_name or contract_known, engine)
        groups = key_groups or groups or key_groups_of(document)
        found = compare(document, engine, groups, contract)
        told, held_for = disagreement(found, document, groups), f"key groups: {groups}"
    if style == "json":
        row = asdict(told) | {"outcome": found.outcome.value, "known": found.known}
        del row["document"]
        click.echo(json.dumps(row))
    else:
        known = "" if found.known is None else f" (known: {found.known})"
        click.echo(f"{told.signature}{known}, {held_for}, {engine.name}")
        for side, lines in (("oracle", told.oracle), ("engine", told.engine)):
            for line in lines:
                click.echo(f"    {side}: {line}")
    sys.exit(1 if found.is_finding else 0)


@click.command()
@_FOUND_ENGINE
@_FOUND_CONTRACT
@_KEY_GROUPS
@click.option("--seconds", default=60.0, show_default=True, type=click.FloatRange(0.1))
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Else standard output."
)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def reduce(
    file: Path,
    engine_name: str | None,
    contract_name: str | None,
    key_groups: int | None,
    seconds: float,
    output: Path | None,
) -> None:
    """Make a document or a whole cut that shows a disagreement small, and write it."""
    from fuzz.comparison import compare
    from fuzz.reduce import reduce as reduce_document
    from fuzz.targets.session import key_groups_of

    engine = _engine_for(file, engine_name)
    cut = _cut(file)
    if cut is not None:
        _reduce_cut(file, cut, engine, seconds, output)
        return
    document, groups, contract_known = _document(file)
    contract = _contract(contract_name or contract_known, engine)
    groups = key_groups or groups or key_groups_of(document)
    found = compare(document, engine, groups, contract)
    if found.signature.outcome.value == "agree":
        raise CouldNotRun(
            f"both sides agree on {file} for {groups} key groups; is that the right --key-groups?"
        )
    made = reduce_document(document, groups, engine, contract, seconds)
    _write(made.document, output)
    click.echo(
        f"{len(document)} -> {len(made.document)} bytes, key groups: {made.key_groups}"
        f"{_unfinished(made)}: {made.comparison.signature}",
        err=True,
    )


def _reduce_cut(
    file: Path, cut: CutDocuments, engine: InProcessEngine, seconds: float, output: Path | None
) -> None:
    from fuzz.cuts import compare_cut
    from fuzz.reduce_cuts import reduce_cut

    lending = _lending(engine)
    first = compare_cut(lending, cut).first
    if first is None:
        raise CouldNotRun(f"both sides agree on {file}; is it the right --engine?")
    made = reduce_cut(cut, lending, seconds)
    text = made.documents.text()
    _write(text, output)
    told = f"a cut of {len(text)} bytes in one file{_unfinished(made)}: {first.signature}"
    click.echo(told, err=True)


def _unfinished(made: Reduced | ReducedCut) -> str:
    return "" if made.finished else ", and there was no time to try everything"


def _write(document: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(document)
        sys.stdout.flush()
    else:
        output.write_bytes(document)


@click.command()
@_FOUND_ENGINE
@_FOUND_CONTRACT
@_KEY_GROUPS
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def explain(
    file: Path, engine_name: str | None, contract_name: str | None, key_groups: int | None
) -> None:
    """Show both verdicts side by side, each rule's statement, and the nearest valid document."""
    from fuzz.explain import explain as explain_document
    from fuzz.targets.session import key_groups_of

    if _cut(file) is not None:
        raise CouldNotRun(f"{file} is a whole cut; see both sides with: python -m fuzz diff {file}")
    document, groups, contract_known = _document(file)
    engine = _engine_for(file, engine_name)
    contract = _contract(contract_name or contract_known, engine)
    groups = key_groups or groups or key_groups_of(document)
    explain_document(document, groups, engine, contract)


@click.command()
@_ENGINE
@_CONTRACT
@click.option("--target", type=click.Choice(TARGETS), default="manifests", show_default=True)
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def minimise(directory: Path, engine_name: str, contract_name: str | None, target: str) -> None:
    """Keep of a campaign's corpus what the coverage of both sides needs."""
    from fuzz.campaign import corpus as corpora

    engine = _engine(engine_name)
    contract = _contract(contract_name, engine)
    try:
        before, after = corpora.minimise(
            directory, engine_name, contract_name or contract.name, target
        )
    except corpora.MinimiseFailed as error:
        raise CouldNotRun(str(error)) from error
    click.echo(f"{before:,} documents -> {after:,}")
