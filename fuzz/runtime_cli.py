"""`python -m fuzz runtime`: the real LaminarDB, killed at any moment."""

from __future__ import annotations

import json
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fuzz.engine_cli import Unavailable, progress
from fuzz.engines.protocol import EngineUnavailable

if TYPE_CHECKING:
    from fuzz.runtime.search import Failure, Search


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
    if seed is None:
        seed = secrets.randbelow(2**32)
    start = time.monotonic()
    try:
        search = _prepare(out)
        failures = _replay(search, replay) if replay else _search(search, minutes, seed, style)
    except EngineUnavailable as error:
        raise Unavailable(str(error)) from error
    summary = {"seed": seed, "seconds": round(time.monotonic() - start), **search.tally.counts}
    if style == "json":
        found = [_as_json(failure) for failure in failures]
        click.echo(json.dumps({"counts": summary, "failures": found}, indent=2))
    else:
        for failure in failures:
            click.echo(_as_text(failure))
        for what, count in summary.items():
            click.echo(f"{what}: {count:,}")
    sys.exit(1 if failures else 0)
