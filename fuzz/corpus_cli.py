"""`python -m fuzz corpus`: keep the regression corpus, and replay it."""

from __future__ import annotations

import base64
import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import oracle
from corpora import ROOT
from fuzz.could_not_run import CouldNotRun
from fuzz.cut_files import is_cut, read_cut
from fuzz.cuts import CONTRACT, CutDocuments
from fuzz.engines import EngineUnavailable, load
from fuzz.regression import cuts, index, schema, vectors
from fuzz.regression.cases import LARGEST, Case, Flag, expectation, make_case
from oracle import CONTRACTS, Contract, contract_named

if TYPE_CHECKING:
    from fuzz.engines import Engine
    from fuzz.regression.problem import Problem
    from fuzz.regression.seeding import Seed

MOST_BYTES = 5 * 1024 * 1024
"""The documents of all cases together stay below this."""


class _Corpus(click.Group):
    """The group; `minimise` lives with the campaigns, whose corpora it is for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "minimise"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "minimise":
            from fuzz.campaign_cli import minimise

            return minimise
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Corpus)
def corpus() -> None:
    """Keep the regression corpus, and replay it."""


_FORMAT = click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)


def _cases() -> list[Case]:
    try:
        return index.read()
    except (OSError, index.Drift) as error:
        raise CouldNotRun(f"{error}; restore the corpus from version control") from None


def _cuts() -> list[cuts.CutCase]:
    try:
        return cuts.read()
    except (OSError, index.Drift) as error:
        raise CouldNotRun(f"{error}; restore the corpus from version control") from None


@corpus.command()
@click.option("--engine", "names", multiple=True, help="A release or a checkout; may be repeated.")
@click.option("--contract", type=click.Choice(list(CONTRACTS)), help="Only cases of this contract.")
@_FORMAT
def verify(names: tuple[str, ...], contract: str | None, style: str) -> None:
    """Check that the oracle, and each --engine, still says what the corpus says."""
    from fuzz.regression.verify import problems

    cases = _cases()
    try:
        engines: list[Engine] = [load(name) for name in names]
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from None
    found = [
        problem
        for problem in problems(cases, engines)
        if contract is None or problem.where.startswith(f"{contract}/")
    ]
    whole = _cuts() if contract in (None, CONTRACT.name) else []
    if whole:
        found += cuts.problems(whole, engines)
        for reason in cuts.unasked(engines):
            click.echo(f"cuts not compared: {len(whole)}; {reason}", err=True)
    asked = {engine.name: name for engine, name in zip(engines, names, strict=True)}
    for problem in found:
        if style == "json":
            row = {"where": problem.where, "judge": problem.judge, "message": problem.message}
            click.echo(json.dumps(row))
        else:
            click.echo(f"{problem.where}: {problem.judge}: {problem.message}")
            if "/" in problem.where:
                click.echo(f"    replay: {_replay(problem, cases, asked)}")
    judges = ", ".join(["the oracle", *(engine.name for engine in engines)])
    click.echo(
        f"{len(cases)} cases and {len(whole)} cuts on {judges}: {len(found)} problems", err=True
    )
    sys.exit(1 if found else 0)


def _replay(problem: Problem, cases: Iterable[Case], asked: Mapping[str, str]) -> str:
    """The line that shows *problem* again; *asked* has each engine's name as it was given."""
    judges = ["--engine", asked[problem.judge]] if problem.judge in asked else []
    diff = ["python", "-m", "fuzz", "diff", *judges]
    for case in cases:
        if case.id == problem.where:
            command = diff if judges else ["manifest-oracle", "check"]
            facts = ["--contract", case.contract, "--key-groups", str(case.key_groups)]
            return shlex.join([*command, *facts, str(case.path)])
    if (ROOT / problem.where).is_dir():
        return shlex.join([*diff, str(ROOT / problem.where)])
    return shlex.join(["python", "-m", "fuzz", "corpus", "verify", *judges])


@corpus.command()
@click.option("--contract", type=click.Choice(list(CONTRACTS)), help="Only this contract.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
)
def coverage(contract: str | None, style: str) -> None:
    """Show which rule, kind, spelling and hazard has its cases, and where a hole is."""
    from fuzz.regression.coverage import rows

    contracts = [contract_named(contract)] if contract else list(CONTRACTS.values())
    table = list(rows(_cases(), contracts))
    whole = _cuts()
    for each in contracts:
        table += cuts.rows(whole, each)
    if style == "json":
        for row in table:
            click.echo(
                json.dumps({name: getattr(row, name) for name in type(row).__dataclass_fields__})
            )
    else:
        edge, separator = ("| ", " | ") if style == "markdown" else ("", "  ")
        titles = [
            *("contract", "group", "name", "alone", "beside others"),
            *("neighbours", "with", "hole or note"),
        ]
        lines = [
            [
                *(row.contract, row.group, row.name, str(row.alone), str(row.beside)),
                *(str(row.neighbours), ", ".join(row.companions), row.missing or row.note),
            ]
            for row in table
        ]
        widths = [max(len(line[at]) for line in [titles, *lines]) for at in range(len(titles))]
        if style == "markdown":
            lines.insert(0, ["-" * width for width in widths])
        for line in [titles, *lines]:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
            click.echo(f"{edge}{separator.join(cells)}{edge[::-1]}".rstrip())
    holes = sum(bool(row.missing) for row in table)
    click.echo(f"{len(table)} rows, {holes} holes", err=True)
    sys.exit(1 if holes else 0)


_SAFE = re.compile(r"[^a-z0-9.-]+")


def _slug(text: str) -> str:
    return _SAFE.sub("-", text.lower()).strip("-") or "case"


def _theme(document: bytes, key_groups: int, contract: Contract) -> str:
    found = expectation(document, key_groups, contract)
    if found.kind:
        return f"decode/{found.kind}"
    if found.rules:
        return f"rules/{'+'.join(found.rules[:3])}"
    return "valid/accepted"


def _save(case: Case, document: bytes) -> None:
    case.path.parent.mkdir(parents=True, exist_ok=True)
    case.path.write_bytes(document)


class _Adding:
    """Cases that are being added; what is there already is not added again."""

    def __init__(self) -> None:
        self.cases = {case.id: case for case in _cases()} if index.INDEX.is_file() else {}
        self._documents = {
            (case.sha256, case.contract, case.key_groups): case.id for case in self.cases.values()
        }
        self.cuts = {case.id: case for case in _cuts()} if cuts.INDEX.is_file() else {}

    def add(self, case: Case, document: bytes) -> str:
        """Add *case* unless its document is there; gives the id that it then has."""
        key = (case.sha256, case.contract, case.key_groups)
        if key in self._documents:
            return self._documents[key]
        if len(document) > LARGEST and Flag.SIZE.value not in case.flags:
            raise CouldNotRun(
                f"{case.id} has {len(document)} bytes; above {LARGEST} it must be about size: "
                "reduce it, or add --flag SIZE"
            )
        self._documents[key] = case.id
        self.cases[case.id] = case
        _save(case, document)
        return case.id

    def add_seed(self, made: Seed) -> None:
        """Add *made*, and before it the valid case that it is one step away from."""
        case = made.case
        if made.neighbour is not None:
            near = made.neighbour.case
            near = near.renamed(self.free_id(near.id))
            case = replace(case, neighbour=self.add(near, made.neighbour.document))
        self.add(case, made.document)

    def add_cut(self, case: cuts.CutCase, documents: CutDocuments) -> str:
        """Add a whole cut unless it is there; gives the id that it then has."""
        for known in self.cuts.values():
            if known.files == case.files:
                return known.id
        self.cuts[case.id] = case
        cuts.save(case, documents)
        return case.id

    def free_id(self, wanted: str) -> str:
        """*wanted*, with a number behind it where that is taken."""
        candidate, number = wanted, 1
        while candidate in self.cases or candidate in self.cuts:
            number += 1
            candidate = f"{wanted}-{number}"
        return candidate

    def __len__(self) -> int:
        """How many cases there are."""
        return len(self.cases) + len(self.cuts)

    def finish(self) -> None:
        """Write the indexes."""
        size = sum(case.path.stat().st_size for case in self.cases.values())
        size += cuts.size(self.cuts.values())
        if size > MOST_BYTES:
            raise CouldNotRun(f"the corpus would have {size} bytes, above {MOST_BYTES}")
        index.write(self.cases.values())
        index.write(self.cuts.values(), cuts.INDEX)


_ADD_CONTRACT = click.option(
    "--contract",
    "contract_name",
    type=click.Choice(list(CONTRACTS)),
    default="v10",
    show_default=True,
)


@corpus.command()
@_ADD_CONTRACT
@click.option("--key-groups", type=click.IntRange(1, oracle.MAX_KEY_GROUP_COUNT), default=256)
@click.option("--why", required=True, help="One sentence: what the case is for.")
@click.option("--origin", default="added by hand", show_default=True)
@click.option("--flag", "flags", multiple=True, type=click.Choice([flag.value for flag in Flag]))
@click.option("--name", help="The last part of its id, else made from the file's name.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def add(
    file: Path,
    contract_name: str,
    key_groups: int,
    why: str,
    origin: str,
    flags: tuple[str, ...],
    name: str | None,
) -> None:
    """Add a document: reduce it under its verdict, name it, and put it in its place.

    A whole cut, in a directory or a file of its own, is added as it is.
    """
    from fuzz.regression.reducing import reduced

    contract = contract_named(contract_name)
    adding = _Adding()
    about = {flag for flag in Flag if flag.value in flags}
    if is_cut(file):
        _add_cut(adding, read_cut(file), name or file.stem, origin, why, about)
        return
    if file.is_dir():
        raise CouldNotRun(f"{file} is no cut; give a document, or the directory of a cut")
    document = reduced(file.read_bytes(), key_groups, contract)
    theme = _theme(document, key_groups, contract).rsplit("/", 1)[0]
    id = adding.free_id(f"{contract.name}/{theme}/{_slug(name or file.stem)}")
    case = make_case(
        document,
        id=id,
        key_groups=key_groups,
        contract=contract,
        origin=origin,
        why=why,
        flags=about,
    )
    _finish(adding, adding.add(case, document), case)


def _add_cut(
    adding: _Adding, documents: CutDocuments, name: str, origin: str, why: str, flags: set[Flag]
) -> None:
    id = adding.free_id(f"{cuts.expectation(documents)[0]}/{_slug(name)}")
    case = cuts.make_case(documents, id=id, origin=origin, why=why, flags=flags)
    _finish(adding, adding.add_cut(case, documents), case)


def _finish(adding: _Adding, kept: str, case: Case | cuts.CutCase) -> None:
    adding.finish()
    if kept != case.id:
        raise CouldNotRun(f"the same document is there already, as {kept}")
    click.echo(json.dumps(case.row(), ensure_ascii=False))


@corpus.command("import")
@click.argument("findings", type=click.Path(exists=True, file_okay=False, path_type=Path))
def import_findings(findings: Path) -> None:
    """Add the best document of each finding in a campaign's `findings` folder."""
    from fuzz.campaign.findings import load as load_finding

    adding = _Adding()
    before = len(adding)
    for directory in sorted(path for path in findings.iterdir() if path.is_dir()):
        finding = load_finding(directory)
        if finding is None:
            continue
        record = finding.best
        document, contract = finding.document(record), contract_named(record.contract)
        origin = f"found by a campaign against {record.engine_name}"
        why = f"Oracle and engine differed: {record.signature}."
        if record.target == "cuts":
            cut = CutDocuments.of_text(document)
            id = adding.free_id(f"found/{finding.id}")
            adding.add_cut(cuts.make_case(cut, id=id, origin=origin, why=why), cut)
            continue
        key_groups = record.key_groups or oracle.DEFAULT_KEY_GROUP_COUNT
        case = make_case(
            document,
            id=adding.free_id(f"{contract.name}/found/{finding.id}"),
            key_groups=key_groups,
            contract=contract,
            origin=origin,
            why=why,
        )
        adding.add(case, document)
    adding.finish()
    click.echo(f"{len(adding) - before} cases added", err=True)


@corpus.command()
@_ADD_CONTRACT
def seed(contract_name: str) -> None:
    """Add what the strategies know and the corpus lacks: every corruption, kind and hazard.

    A case whose id is there stays as it is. None is added that shows no more than another, so
    that `prune` would drop it: same reason, flags and coverage of the oracle.
    """
    from fuzz.regression.cut_seeding import seeds as cut_seeds
    from fuzz.regression.minimal import fingerprint
    from fuzz.regression.seeding import seeds

    adding = _Adding()
    before, passed = len(adding), 0
    own = [case for case in adding.cases.values() if case.contract == contract_name]
    shown = {fingerprint(case, case.path.read_bytes()) for case in own}
    for made in seeds(contract_named(contract_name)):
        if made.case.id in adding.cases:
            continue
        shows = fingerprint(made.case, made.document)
        if shows in shown:
            passed += 1
            continue
        shown.add(shows)
        adding.add_seed(made)
    if contract_name == CONTRACT.name:
        for whole, documents in cut_seeds():
            if whole.id not in adding.cuts:
                adding.add_cut(whole, documents)
    adding.finish()
    told = f"{len(adding) - before} cases added"
    click.echo(f"{told}; {passed} would have shown no more than others", err=True)


@corpus.command()
@click.option(
    "--engine", "names", multiple=True, required=True, help="One of each contract; may be repeated."
)
def prune(names: tuple[str, ...]) -> None:
    """Drop cases that show no more than another: same reason, flags and coverage of both sides."""
    from fuzz.regression.minimal import redundant

    try:
        engines = [load(name) for name in names]
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from None
    cases = {case.id: case for case in _cases()}
    dropped = [case for case, _ in redundant(list(cases.values()), engines)]
    for case in dropped:
        del cases[case.id]
        case.path.unlink()
    index.write(cases.values())
    click.echo(f"{len(dropped)} of {len(cases) + len(dropped)} cases dropped", err=True)


@corpus.command()
@click.option("--one-file", is_flag=True, required=True, help="Everything as one JSON document.")
def export(one_file: bool) -> None:
    """Write cases, their documents (base64) and the vectors to standard output."""
    cases: list[dict[str, Any]] = [
        case.row() | {"document": base64.b64encode(case.path.read_bytes()).decode()}
        for case in _cases()
    ]
    whole = [
        case.row()
        | {
            "documents": {
                name: base64.b64encode((case.path / name).read_bytes()).decode()
                for name in case.files
            }
        }
        for case in _cuts()
    ]
    flags = {flag.value: flag.statement for flag in Flag}
    click.echo(
        json.dumps({"flags": flags, "cases": cases, "cuts": whole, "vectors": vectors.document()})
    )


@corpus.command("schema")
def write_schema() -> None:
    """Write the schemas and the vectors anew, from the code."""
    for name, text in {**schema.files(), vectors.FILE.name: vectors.text()}.items():
        (ROOT / name).write_text(text, "utf-8")
        click.echo(name, err=True)
