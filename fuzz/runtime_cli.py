"""`python -m fuzz runtime`: the real LaminarDB, killed at any moment."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fuzz.could_not_run import CouldNotRun
from fuzz.engine_cli import progress
from fuzz.engines.protocol import EngineUnavailable

if TYPE_CHECKING:
    from fuzz.runtime.execution import Tally
    from fuzz.runtime.search import Failure, Search
    from fuzz.runtime.stores import Examiner


@click.command()
@click.option("--minutes", type=click.FloatRange(0), default=5.0, show_default=True)
@click.option("--seed", type=click.IntRange(0), help="What the choice of runs depends on.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("campaign-out/runtime"),
    show_default=True,
    help="Where runs that fail are kept, each with its store.",
)
@click.option(
    "--replay",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="RUN.JSON",
    help="Carry out this run again, and no other.",
)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
def runtime(minutes: float, seed: int | None, out: Path, replay: Path | None, style: str) -> None:
    """Run LaminarDB under generated load, kill it at any moment, and check what it recovers.

    The first call builds the program that runs it, which takes minutes. Exit code 0: nothing
    found; 1: a run failed; 2: could not run.
    """
    from fuzz.runtime.search import Search

    if seed is None:
        seed = secrets.randbelow(2**32)
    start = time.monotonic()
    try:
        program, examiner = _prepare()
        with _progress() as (tally, tell):
            search = Search(program, examiner, out, tally, tell)
            failures = _replay(search, replay) if replay else _search(search, minutes, seed)
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error
    summary = {} if replay else {"seed": seed}
    summary |= {"seconds": round(time.monotonic() - start), **search.tally}
    if style == "json":
        found = [_as_json(failure) for failure in failures]
        click.echo(json.dumps({"counts": summary, "failures": found}, indent=2))
    else:
        for failure in failures:
            click.echo(_as_text(failure))
        for what, count in summary.items():
            click.echo(f"{what}: {count}")
    sys.exit(1 if failures else 0)


_REPLAYS = 10
"""How often a run is carried out to see it fail again: when a process dies depends on luck."""


# Without a terminal, one line of progress in this many seconds.
_LINE_EVERY = 60.0


@contextmanager
def _progress() -> Iterator[tuple[Tally, Callable[[], None]]]:
    """A tally, and what shows it on standard error: one live line, or a line now and then."""
    from rich.console import Console

    from fuzz.runtime.execution import Tally

    tally = Tally()
    console = Console(stderr=True)

    def line() -> str:
        runs, kills, audits = (tally[what] for what in ("runs", "kills", "stores audited"))
        return f"{runs:,} runs, {kills:,} kills, {audits:,} stores audited"

    if console.is_terminal:
        with console.status("starting") as status:
            yield tally, lambda: status.update(line())
        return
    last = time.monotonic()

    def tell() -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            click.echo(line(), err=True)

    yield tally, tell


def _prepare() -> tuple[Path, Examiner]:
    from fuzz.engines import load
    from fuzz.runtime.build import RELEASE, build
    from fuzz.runtime.stores import Examiner

    examiner = Examiner(load(RELEASE))
    with progress(f"laminar-db {RELEASE}") as report:
        return build(report), examiner


def _search(search: Search, minutes: float, seed: int) -> list[Failure]:
    click.echo(f"runs from seed {seed}, for {minutes:g} minutes", err=True)

    def report(failure: Failure) -> None:
        click.echo(_as_text(failure), err=True)

    return search.search(minutes, seed, report)


def _replay(search: Search, path: Path) -> list[Failure]:
    from fuzz.runtime.runs import Run

    try:
        run = Run.from_json(path.read_text())
    except (ValueError, KeyError, TypeError) as error:
        raise CouldNotRun(
            f"{path} is no run: {error!r}; give the run.json of a run that was kept"
        ) from error
    for _ in range(_REPLAYS):
        failure = search.try_run(run)
        if failure is not None:
            return [failure]
    return []


def _as_text(failure: Failure) -> str:
    return (
        f"{failure.violation.kind}: {failure.violation}\n"
        f"  {len(failure.run.steps)} steps, kept with the store in {failure.directory}\n"
        f"  replay: {failure.replay}\n"
    )


def _as_json(failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.violation.kind,
        "message": str(failure.violation),
        "run": json.loads(failure.run.to_json()),
        "directory": str(failure.directory),
        "replay": failure.replay,
    }
