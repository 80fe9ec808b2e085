"""`python -m fuzz mutants`: whether a campaign finds small mistakes in the oracle's rules."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from fuzz.could_not_run import CouldNotRun
from fuzz.engines import DEFAULT_RELEASE, EngineUnavailable, load
from fuzz.mutants import CONTROL, EQUIVALENT, Mutant, Result, hunt
from fuzz.mutants import mutants as all_mutants

NEEDED = 0.95
"""The share of all mutants that must be found."""
CONTROL_SECONDS = 10.0
"""Of computing, in which nothing may be found in the oracle as it is."""


@click.command()
@click.option("--engine", "engine_name", default=DEFAULT_RELEASE, show_default=True)
@click.option(
    "--seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Of computing, for each mutant.",
)
@click.option("--workers", type=click.IntRange(1), help="Mutants at a time; else one a core.")
@click.option(
    "--corpus",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Start from these documents, and not from the built-in ones.",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**31 - 1))
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@click.argument("words", nargs=-1, metavar="[WORD]...")
def mutants(
    engine_name: str,
    seconds: float,
    workers: int | None,
    corpus: Path | None,
    seed: int,
    style: str,
    words: tuple[str, ...],
) -> None:
    """Search for each mutant of the oracle, or for those with one of the words in their name.

    Ends with 0 when at least 95 % of them were found, and with 1 otherwise.
    """
    from fuzz.campaign.corpus import write_seeds
    from fuzz.comparison import contract_of

    try:
        contract = contract_of(load(engine_name))
    except EngineUnavailable as error:
        raise CouldNotRun(str(error)) from error
    wanted = [
        one for one in all_mutants(contract) if not words or any(word in one.id for word in words)
    ]
    if not wanted:
        raise CouldNotRun("no mutant has one of these words in its name")
    with TemporaryDirectory() as room:
        if corpus is None:
            corpus = Path(room)
            write_seeds(corpus, contract, seed)
        control = hunt(CONTROL, engine_name, contract.name, corpus, CONTROL_SECONDS, seed)
        if control.fault or control.signature:
            raise CouldNotRun(
                f"without any mutant: {control.fault or control.signature}; "
                "run: python -m fuzz campaign"
            )
        results = []
        for result in _hunted(
            wanted, engine_name, contract.name, corpus, seconds, seed, workers or _cores()
        ):
            results.append(result)
            _tell(result, style)
    found = [result for result in results if result.seconds is not None]
    share = len(found) / len(results)
    click.echo(
        f"{len(found)} of {len(results)} mutants found ({share:.1%}), "
        f"in {sum(result.seconds or 0 for result in found) / max(1, len(found)):.1f} s on average",
        err=style == "json",
    )
    sys.exit(0 if share >= NEEDED else 1)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _hunted(
    wanted: list[Mutant],
    engine: str,
    contract: str,
    corpus: Path,
    seconds: float,
    seed: int,
    workers: int,
) -> Iterator[Result]:
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(
            lambda mutant: hunt(mutant, engine, contract, corpus, seconds, seed), wanted
        )


def _tell(result: Result, style: str) -> None:
    mutant = result.mutant
    why = result.fault or EQUIVALENT.get(mutant.what, "")
    if style == "json":
        row = {
            "kind": mutant.kind,
            "what": mutant.what,
            "place": mutant.place,
            "seconds": result.seconds,
            "signature": result.signature,
            "why_not": why,
        }
        click.echo(json.dumps(row))
    elif result.seconds is None:
        click.echo(f"{'not found':>9}  {mutant.id}" + (f": {why}" if why else ""))
    else:
        click.echo(f"{result.seconds:7.1f} s  {mutant.id}")
