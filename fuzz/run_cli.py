"""`python -m fuzz run`: the main job, from nothing to a report."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import click

from corpora import ROOT
from fuzz.engines import DEFAULT_RELEASE, EngineUnavailable, load

CLEAN, FINDINGS, COULD_NOT_RUN = 0, 1, 2

_NOTHING = "proves nothing"
_FAULT = "its command failed in a way that it should not, told above"
_TOLD = {CLEAN: "clean", FINDINGS: "FINDINGS", COULD_NOT_RUN: _NOTHING}


@dataclass(frozen=True, slots=True)
class Step:
    """A command that was run: its words, its exit code, how long it took, and why it could not."""

    words: str
    status: int
    seconds: float
    reason: str = ""


def stores() -> list[Path]:
    """The real checkpoint directories that come with the project."""
    found = sorted(path.parent for path in (ROOT / "stores").glob("*/checkpoint-deployment"))
    return [Path(os.path.relpath(path)) for path in found]


@click.command()
@click.option("--minutes", default=2.0, show_default=True, type=click.FloatRange(0.05))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the report goes, else a new directory in campaign-out.",
)
@click.option(
    "--engine",
    default=DEFAULT_RELEASE,
    show_default=True,
    metavar="RELEASE|PATH",
    help="A release, or a directory with a checkout.",
)
@click.argument(
    "directories",
    nargs=-1,
    metavar="[CHECKPOINT_DIRECTORY]...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
def run(minutes: float, out: Path | None, engine: str, directories: tuple[Path, ...]) -> None:
    """Do the main job: build the engine, replay what is known, fuzz, and report.

    Real checkpoints, and those in the CHECKPOINT_DIRECTORIES, are audited, and their manifests
    compared. Every step is a command of its own, and is shown as one types it. Ends with 1 when
    a step found something, else with 2 when one could not run.
    """
    out = out or Path("campaign-out") / time.strftime("run-%Y%m%d-%H%M%S")
    steps = [_build(engine)]
    usable = steps[0].status == CLEAN
    against = ["--engine", engine] if usable else []
    steps.append(_fuzz("corpus", "verify", *against))
    for store in [*stores(), *directories]:
        steps.append(_oracle("audit", str(store)))
        manifests = f"{store}/nodes/*/checkpoints/*/manifest.json"
        if usable and glob(manifests):
            steps.append(_fuzz("diff", *against, manifests))
    if usable:
        steps.append(_fuzz("campaign", *against, "--minutes", f"{minutes:g}", "--out", str(out)))
    _summarise(steps, out / "report.html")
    statuses = {step.status for step in steps}
    sys.exit(FINDINGS if FINDINGS in statuses else max(statuses))


def _build(engine: str) -> Step:
    """Build the engine where it is not there yet."""
    try:
        load(engine)
    except EngineUnavailable:
        path = ["--path"] if Path(engine).is_dir() else []
        return _fuzz("engine", "build", *path, engine)
    return Step(f"laminar-core {engine} is built", CLEAN, 0.0)


def _fuzz(*words: str) -> Step:
    from fuzz.cli import main

    def command() -> object:
        return main.main(_expanded(words), prog_name="python -m fuzz", standalone_mode=False)

    return _step(["python", "-m", "fuzz", *words], command)


def _oracle(*words: str) -> Step:
    from oracle.cli import main

    return _step(["python", "-m", "oracle", *words], lambda: main(words))


def _expanded(words: Sequence[str]) -> list[str]:
    """*words* with each pattern replaced by the files that it stands for, as a shell does."""
    return [name for word in words for name in sorted(glob(word)) or [word]]


def _step(words: Sequence[str], command: Callable[[], object]) -> Step:
    """Run *command*, which is what the *words* run, and take note of its exit code."""
    told = " ".join(word if "*" in word else shlex.quote(word) for word in words)
    click.echo(click.style(f"$ {told}", bold=True), err=True)
    start = time.monotonic()
    reason = ""
    try:
        status = command()
    except click.ClickException as error:
        error.show()
        status, reason = error.exit_code, error.format_message()
    except SystemExit as ended:
        status = ended.code
    seconds = time.monotonic() - start
    return Step(told, status if isinstance(status, int) else CLEAN, seconds, reason)


def _summarise(steps: Sequence[Step], report: Path) -> None:
    click.echo()
    for step in steps:
        told = _TOLD.get(step.status, _NOTHING)
        click.echo(f"{told:14}  {step.seconds:6.1f} s  {step.words}")
    if report.is_file():
        click.echo(f"report: {report.resolve()}")
        return
    # Without an engine nothing can be fuzzed, and else it was the campaign, which is the last.
    build, campaign = steps[0], steps[-1]
    reason, *_ = (campaign if build.status == CLEAN else build).reason.splitlines() or [_FAULT]
    click.echo(f"nothing was fuzzed, so there is no report: {reason}")
