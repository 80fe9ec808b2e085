"""``python -m strategies``: what the strategies reach, and how fast."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from typing import NoReturn

import click
from rich.console import Console
from rich.table import Table

from oracle import CONTRACTS, Contract, contract_named
from strategies.bench import Accepts, Bench
from strategies.bench import bench as measure
from strategies.report import LEAST_SHARE, Progress, Report, report_on
from strategies.sizes import DOCUMENTED_SEGMENT_BYTES, DOCUMENTED_TWO_CUTS_MIB, MIB, Sizes

_contract = click.option(
    "--contract", default="v10", show_default=True, help=f"One of {', '.join(CONTRACTS)}."
)
_format = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
_seed = click.option("--seed", default=0, show_default=True, help="Another one, other examples.")
_examples = click.option(
    "--examples", default=5_000, show_default=True, type=click.IntRange(min=10)
)


@click.group()
def main() -> None:
    """Say what the strategies reach and how fast they are. Exit code 1 where that is too little."""


def _named(name: str) -> Contract:
    try:
        return contract_named(name)
    except ValueError as error:
        _cannot_run(str(error))


def _cannot_run(message: str) -> NoReturn:
    click.echo(f"cannot run: {message}", err=True)
    sys.exit(2)


# Without a terminal, one line of progress in this many seconds.
_LINE_EVERY = 20.0


@contextmanager
def _progress() -> Iterator[Progress]:
    """What shows progress on standard error: one live line, or a line now and then."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    last = time.monotonic()

    def tell(what: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            click.echo(what, err=True)

    yield tell


@main.command()
@_contract
@_examples
@click.option(
    "--each", default=20, show_default=True, type=click.IntRange(min=1), help="Of each corruption."
)
@_seed
@_format
def report(contract: str, examples: int, each: int, seed: int, form: str) -> None:
    """Count traits in generated manifests, and rules that corruptions break."""
    named = _named(contract)
    with _progress() as progress:
        found = report_on(named, examples, each, seed, progress)
    if form == "json":
        click.echo(json.dumps({**asdict(found), "faults": found.faults}, indent=2))
    else:
        _show_report(found)
    _end(found.faults, f"python -m strategies report --contract {contract} --seed {seed}")


def _end(faults: list[str], replay: str) -> None:
    for fault in faults:
        click.echo(f"{fault}: {replay}", err=True)
    sys.exit(1 if faults else 0)


def _show_report(found: Report) -> None:
    console = Console()
    traits = Table(title=f"{found.manifests} manifests of format {found.contract}")
    for column in ("trait", "share", "what"):
        traits.add_column(
            column, justify="right" if column == "share" else "left", no_wrap=column != "what"
        )
    for row in found.traits:
        low = row.share < LEAST_SHARE
        traits.add_row(row.trait, f"{row.share:.1%}", row.statement, style="red" if low else "")
    console.print(traits)
    sizes = ", ".join(f"{name} {size:,}" for name, size in found.sizes.items())
    console.print(f"bytes of canonical encoding: {sizes}")
    if found.view_logs is not None:
        _show_sizes(console, found.view_logs)
    rules = Table(title=f"rules that corruptions break, format {found.contract}")
    rules.add_column("rule", no_wrap=True)
    rules.add_column("ways", justify="right", no_wrap=True)
    rules.add_column("alone", justify="right", no_wrap=True)
    rules.add_column("with", overflow="fold")
    for line in found.rules:
        rules.add_row(
            line.rule,
            str(line.ways),
            f"{line.alone} of {line.fired}",
            ", ".join(line.companions),
            style="" if line.fired and not line.wrong else "red",
        )
    console.print(rules)


def _show_sizes(console: Console, found: Sizes) -> None:
    """D5's arithmetic: what is documented beside what the assumed fields come to."""
    segment = ", ".join(f"{name} {size:,}" for name, size in found.segment.items())
    console.print(f"bytes of a realistic view-log segment: {segment}")
    console.print(f"documented: about {DOCUMENTED_SEGMENT_BYTES}")
    cuts = Table(title="cuts that retain as many segments as they may, of such segments")
    for column in ("participants", "segments", "a manifest, MiB", "two cuts, MiB", "fit in 16 MiB"):
        cuts.add_column(column, justify="right")
    for row in found.cuts:
        cuts.add_row(
            str(row.participants),
            f"{row.segments:,}",
            f"{row.manifest / MIB:.2f}",
            f"{row.two_cuts / MIB:.2f}",
            "yes" if row.fits else "no",
            style="" if row.fits else "red",
        )
    console.print(cuts)
    console.print(f"documented: two cuts at the budget near {DOCUMENTED_TWO_CUTS_MIB} MiB")


@main.command()
@_contract
@_examples
@click.option(
    "--of-schema", default=300, show_default=True, type=click.IntRange(min=1), help="Of the schema."
)
@click.option("--engine", help="The release that judges; the newest of the contract by default.")
@_seed
@_format
def bench(
    contract: str, examples: int, of_schema: int, engine: str | None, seed: int, form: str
) -> None:
    """Measure rates per second of processor time, beside hypothesis-jsonschema."""
    named = _named(contract)
    accepts = _engine(named, engine)
    with _progress() as progress:
        found = measure(named, accepts, examples, of_schema, seed, progress)
    if form == "json":
        told = {"ratio": found.ratio, "speed_up": found.speed_up, "faults": found.faults}
        click.echo(json.dumps({**asdict(found), **told}, indent=2))
    else:
        _show_bench(found)
    _end(found.faults, f"python -m strategies bench --contract {contract} --seed {seed}")


def _engine(contract: Contract, release: str | None) -> Accepts:
    """The engine's word; without an engine there is no bench."""
    if release is None:
        if not contract.engines:
            _cannot_run(f"no engine speaks {contract.name}; choose another --contract")
        release = contract.engines[-1]
    try:
        # This room knows no engine: it is looked for when one is asked for.
        engines = import_module("fuzz.engines")
        loaded = engines.load(release)
    except ImportError as error:
        _cannot_run(f"{error}; install the extra fuzz")
    except engines.EngineUnavailable as error:
        _cannot_run(str(error))

    def accepts(document: bytes, key_groups: int) -> bool:
        return bool(loaded.judge(document, key_groups).stage == "valid")

    return accepts


def _show_bench(found: Bench) -> None:
    table = Table(title="one core")
    for column in ("strategy", "drawn", "per second", "median bytes"):
        name = column == "strategy"
        table.add_column(column, justify="left" if name else "right", no_wrap=name)
    for column in ("decoded", "valid", "accepted"):
        table.add_column(column, justify="right")
    for row in (found.manifests, found.corruptions, found.jsonschema):
        table.add_row(
            row.strategy,
            f"{row.examples:,}",
            f"{row.rate:,.0f}",
            f"{row.median_size:,}",
            f"{row.decoded:.1%}",
            f"{row.valid:.1%}",
            f"{row.engine_accepts:.1%}",
        )
    console = Console()
    console.print(table)
    console.print(f"corruptions to manifests: {found.ratio:.2f}")
    times = "none of it accepted" if found.speed_up is None else f"{found.speed_up:,.0f} times"
    console.print(f"accepted manifests a second, against the schema: {times}")
