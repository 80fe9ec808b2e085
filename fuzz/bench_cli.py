"""`python -m fuzz bench`: what things cost on this machine."""

from __future__ import annotations

import json
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

import oracle
from fuzz.bench_campaign import campaign
from fuzz.comparison import compare, contract_of
from fuzz.cost import Cost
from fuzz.could_not_run import CouldNotRun
from fuzz.engines import DEFAULT_RELEASE, EngineUnavailable, load

SAMPLE = Path(__file__).with_name("bench_sample.json")
"""A valid manifest of 700 bytes, for four vnodes."""
SAMPLE_KEY_GROUPS = 4

_ROUNDS = 25
_SECONDS_A_ROUND = 0.02


Section = Callable[[], Iterator[Cost]]


def comparison() -> Iterator[Cost]:
    """One document, by the oracle alone, by the engine alone, and compared."""
    data = SAMPLE.read_bytes()
    engine = load(DEFAULT_RELEASE)
    contract = contract_of(engine)
    base = "oracle's verdict"
    verdict, *others = _measured(
        lambda: oracle.judge(data, SAMPLE_KEY_GROUPS, contract),
        lambda: engine.judge(data, SAMPLE_KEY_GROUPS),
        lambda: compare(data, engine, SAMPLE_KEY_GROUPS, contract, deep=False),
        lambda: compare(data, engine, SAMPLE_KEY_GROUPS, contract),
    )
    yield Cost(base, verdict)
    names = ("engine's verdict", "verdicts compared", "verdicts, encodings and digests compared")
    for name, cost in zip(names, others, strict=True):
        yield Cost(name, cost, base, cost / verdict)


SECTIONS: dict[str, Section] = {"comparison": comparison, "campaign": campaign}
"""What can be measured, by name."""


def _measured(*calls: Callable[[], object]) -> list[float]:
    """Microseconds of processor time that each of *calls* takes: the best of many rounds.

    They take turns, so that whatever else the machine does meanwhile slows all of them alike.
    """
    timers = [timeit.Timer(call, timer=time.process_time) for call in calls]
    numbers = []
    for timer in timers:
        timer.timeit(50)  # what is made once is made now
        numbers.append(max(1, int(_SECONDS_A_ROUND / (timer.timeit(50) / 50))))
    best = [float("inf")] * len(calls)
    for _ in range(_ROUNDS):
        for index, (timer, number) in enumerate(zip(timers, numbers, strict=True)):
            best[index] = min(best[index], timer.timeit(number) / number * 1e6)
    return best


@click.command()
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@click.argument("sections", nargs=-1, type=click.Choice(list(SECTIONS)))
def bench(style: str, sections: tuple[str, ...]) -> None:
    """Measure what things cost, all of them or the SECTIONS named."""
    for name in sections or SECTIONS:
        try:
            costs = list(SECTIONS[name]())
        except EngineUnavailable as error:
            raise CouldNotRun(str(error)) from error
        for cost in costs:
            if style == "json":
                click.echo(json.dumps({"section": name, **asdict(cost)}))
                continue
            times = "" if cost.times is None else f"  {cost.times:5.2f} times the {cost.of}"
            click.echo(f"{name}: {cost.what:42} {cost.microseconds:9.1f} µs{times}")
