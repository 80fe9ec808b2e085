"""`python -m fuzz engine`: build production engines, list them, remove them, serve one."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corpora import ROOT
from fuzz.could_not_run import CouldNotRun
from fuzz.engines import builds
from fuzz.engines.protocol import EngineUnavailable

if TYPE_CHECKING:
    from fuzz.engines.build import Report

# Without a terminal, one line of progress in this many seconds.
_LINE_EVERY = 20.0


@click.group()
def engine() -> None:
    """Production engines: the Rust crate laminar-core, release by release or from a checkout."""


@engine.command()
@click.argument("releases", nargs=-1, metavar="[RELEASE]...")
@click.option(
    "--path",
    "checkouts",
    multiple=True,
    metavar="CHECKOUT",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory that is the crate laminar-core or has it somewhere below.",
)
@click.option("--again", is_flag=True, help="Build even what is built.")
def build(releases: tuple[str, ...], checkouts: tuple[Path, ...], again: bool) -> None:
    """Build engines; without arguments, the default release."""
    from fuzz.engines.build import build as build_engine

    wanted: list[str | Path] = [*releases, *checkouts] or [builds.DEFAULT_RELEASE]
    try:
        for target in [builds.target(one) for one in wanted]:
            with progress(f"laminar-core {target.release}") as report:
                made, fresh = build_engine(target, report, again=again)
            how = f"built in {made.seconds:.0f} s" if fresh else "was built before"
            click.echo(
                f"laminar-core {made.release}: {how}, format v{made.manifest_version}, "
                f"{made.coverage_counters:,} coverage counters, {made.library}"
            )
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error


@engine.command()
@click.argument("release", type=click.Choice(list(builds.RELEASES)))
@click.option(
    "--corpus",
    default=ROOT,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where index.jsonl lies; else this project's.",
)
def test(release: str, corpus: Path) -> None:
    """Hold an engine against the corpus in Rust alone, as its own tests could.

    Compiles fuzz/engines/bridge/tests/corpus.rs. Exits with 1 when a case does not end where the
    index says, or does not compile.
    """
    from fuzz.engines.build import test as test_engine

    try:
        passed = test_engine(builds.target(release), corpus)
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error
    sys.exit(0 if passed else 1)


@contextmanager
def progress(title: str) -> Iterator[Report]:
    """Show a build's progress on standard error: a bar on a terminal, else a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[what]}", style="dim"),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(title, total=None, what="")

            def show(what: str, done: int, total: int) -> None:
                bar.update(task, completed=done, total=total, what=what)

            yield show
        return

    start = time.monotonic()
    state = "starting"
    over = threading.Event()

    def note(what: str, done: int, total: int) -> None:
        nonlocal state
        state = f"{done} of {total} crates, {what}".rstrip(", ") if done else what

    def tell() -> None:
        # By the clock and not by the crate: the engine itself is the last one, and the longest.
        while not over.wait(_LINE_EVERY):
            click.echo(f"{title}: {state}, {time.monotonic() - start:.0f} s", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield note
    finally:
        over.set()
        teller.join()


@engine.command(name="list")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
def list_engines(style: str) -> None:
    """List the engines that are built."""
    found = builds.built()
    if style == "json":
        for one in found:
            row = {
                "release": one.release,
                "manifest_version": one.manifest_version,
                "current": one.is_current(),
                "coverage_counters": one.coverage_counters,
                "size": one.size,
                "features": one.features,
                "rustc": one.rustc,
                "seconds": one.seconds,
                "checkout": one.checkout,
                "library": str(one.library),
            }
            click.echo(json.dumps(row))
        return
    if not found:
        click.echo("no engine is built; run: python -m fuzz engine build", err=True)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("release", "format", "counters", "size", "built from"):
        table.add_column(title, justify="right" if title in {"counters", "size"} else "left")
    for one in found:
        origin = one.checkout or "registry"
        stale = "" if one.is_current() else " (has changed since; build it again)"
        size = f"{one.size / 1e6:.1f} MB"
        counters = f"{one.coverage_counters:,}"
        table.add_row(one.release, f"v{one.manifest_version}", counters, size, origin + stale)
    Console().print(table)


@engine.command()
@click.argument("releases", nargs=-1, metavar="[RELEASE]...")
@click.option(
    "--all", "everything", is_flag=True, help="All engines, and what makes the next build quick."
)
def remove(releases: tuple[str, ...], everything: bool) -> None:
    """Remove engines that are built; a checkout's goes by its name in `engine list`."""
    if everything == bool(releases):
        raise click.UsageError("name the releases to remove, or give --all")
    if everything:
        builds.remove_everything()
        click.echo(f"removed everything in {builds.cache_directory()}")
        return
    found = builds.built()
    unknown = sorted(set(releases) - {one.release for one in found})
    if unknown:
        raise CouldNotRun(f"not built: {', '.join(unknown)}; see: python -m fuzz engine list")
    for one in found:
        if one.release in releases:
            builds.remove(one)
            click.echo(f"removed laminar-core {one.release} ({one.directory})")


@engine.command()
@click.argument("engine_name", metavar="RELEASE|CHECKOUT")
def serve(engine_name: str) -> None:
    """Answer the stdio protocol with a built engine, until input ends.

    The protocol is described in fuzz/engines/PROTOCOL.md.
    """
    from fuzz.engines import load
    from fuzz.engines.serve import serve as answer

    try:
        loaded = load(engine_name)
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error
    answer(loaded, sys.stdin.buffer, sys.stdout.buffer)


@engine.command()
def protocol() -> None:
    """Print the stdio protocol's JSON Schema, as it stands in fuzz/engines/protocol.schema.json."""
    from fuzz.engines.wire import schema

    click.echo(json.dumps(schema(), indent=2))
