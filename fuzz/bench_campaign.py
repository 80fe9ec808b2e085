"""What one comparison costs in a campaign, with the coverage of both sides, and where it goes.

The measuring process is this module run with a directory of seeds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from fuzz.cost import Cost
from fuzz.could_not_run import CouldNotRun
from fuzz.engines import DEFAULT_RELEASE
from fuzz.engines.coverage import load_visible
from fuzz.targets import SEARCH_FLAGS
from fuzz.targets.running import run

if TYPE_CHECKING:
    from fuzz.coverage import OracleCoverage
    from fuzz.targets.session import Session

P = ParamSpec("P")
T = TypeVar("T")

# Until then many inputs are new to libFuzzer, which writes each to a file.
_WARM_UP = 20_000
_ROUNDS = 10
_INPUTS_A_ROUND = 2_000
_SEEDS = 16
_SEED_BYTES = range(800, 1_200)
_PARTS = ("oracle", "engine", "comparison", "mutator")


def campaign() -> Iterator[Cost]:
    """One input of a campaign from seeds of 1 KB, on one core, and the parts of it.

    It is the best of many rounds, as whatever else the machine does makes it only slower. The
    parts are measured in a run of their own, because measuring them takes time, too.
    """
    whole = _measured()["whole"]
    yield Cost(f"input of a campaign ({1e6 / whole:,.0f} a second)", whole)
    parts = _measured("parts")
    measured = parts.pop("whole")
    for name, cost in parts.items():
        yield Cost(f"of that {name}", cost, "whole", cost / measured)


def _measured(*words: str) -> dict[str, float]:
    with TemporaryDirectory() as room:
        _write_seeds(Path(room))
        done = subprocess.run(
            [sys.executable, "-m", "fuzz.bench_campaign", room, *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode != 0:
        raise CouldNotRun(
            f"the measured campaign did not end; its last words:\n{done.stderr[-2000:]}"
        )
    costs: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return costs


def _write_seeds(directory: Path) -> None:
    from fuzz.mutator import Mutator

    made = Mutator(seed=1).seeds(500)
    right = [document for document in made if len(document) in _SEED_BYTES]
    for number, document in enumerate(right[:_SEEDS]):
        (directory / str(number)).write_bytes(document)


class _Clock:
    """Seconds of processor time in each part, without what is inside another part."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(_PARTS, 0.0)
        self._inside = 0.0

    def timed(self, part: str, function: Callable[P, T]) -> Callable[P, T]:
        """*function*, with its time counted for *part*."""

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            before, self._inside = self._inside, 0.0
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.process_time() - start
                self.seconds[part] += took - self._inside
                self._inside = before + took

        return call


def _measure(corpus: str, in_parts: bool) -> None:
    clock = _Clock()
    inputs = 0
    start = 0.0
    rounds: list[float] = []

    def make_session(coverage: OracleCoverage) -> Session:
        import oracle
        from fuzz.comparison import compare, contract_of
        from fuzz.mutator import Mutator
        from fuzz.targets import session

        engine = load_visible(DEFAULT_RELEASE)
        # A campaign calls all of these by name, so others are put in their places, in this
        # process that does nothing else; mypy has no other word for that.
        # Large documents have a share of the time of their own, and are no documents of 1 KB.
        Mutator.large_is_due = lambda self: False  # type: ignore[method-assign]
        if in_parts:
            for name in ("offspring", "cross"):
                setattr(Mutator, name, clock.timed("mutator", getattr(Mutator, name)))
            oracle.judge = clock.timed("oracle", oracle.judge)
            setattr(session, "compare", clock.timed("comparison", compare))  # noqa: B010
            engine.judge = clock.timed("engine", engine.judge)  # type: ignore[method-assign]

        def stop(found: session.Disagreement) -> None:
            raise CouldNotRun(f"the two sides differ: {found.signature}")

        return session.Session(engine, contract_of(engine), stop)

    def after_input() -> None:
        nonlocal inputs, start
        inputs += 1
        if inputs < _WARM_UP or inputs % _INPUTS_A_ROUND:
            return
        now = time.process_time()
        if inputs == _WARM_UP:
            clock.seconds = dict.fromkeys(_PARTS, 0.0)
        else:
            rounds.append(now - start)
        if len(rounds) == _ROUNDS:
            _tell(rounds, clock.seconds if in_parts else {})
        start = now

    run("manifests", 1, [*SEARCH_FLAGS, "-reload=0", corpus], make_session, after_input)


def _tell(rounds: list[float], parts: dict[str, float]) -> None:
    """Print microseconds an input, and end."""
    if parts:
        whole = sum(rounds)
        costs = {"whole": whole, **parts, "libFuzzer": whole - sum(parts.values())}
        number = _ROUNDS * _INPUTS_A_ROUND
    else:
        costs, number = {"whole": min(rounds)}, _INPUTS_A_ROUND
    print(json.dumps({name: seconds / number * 1e6 for name, seconds in costs.items()}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _measure(sys.argv[1], in_parts=len(sys.argv) > 2)
