"""Generate runs until time is up, shrink what fails, and keep it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.runtime.execution import Execution, Tally
from fuzz.runtime.model import Violation
from fuzz.runtime.runs import Run, runs
from fuzz.runtime.stores import Examiner

SHRINK_SECONDS = 600.0
"""How long one failure is shrunk, at most."""

_BATCH = 25
"""Runs that Hypothesis plans at a time; each batch starts with the simplest run there is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that shows something wrong, kept.

    Attributes:
        run: what was done.
        violation: what it shows; in the directory as `violation.txt`.
        directory: holds the run as `run.json`, the store as it was found as `store`, and what
            the program logged as `log.txt`.

    """

    run: Run
    violation: Violation
    directory: Path

    @property
    def replay(self) -> str:
        """The command that carries out the run again."""
        return f"python -m fuzz runtime --replay {self.directory / 'run.json'}"


class Unlucky(Exception):
    """What Hypothesis is told of a run that fails."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a search needs.

    Attributes:
        program: the program that runs LaminarDB.
        examiner: examines stores.
        out: where failures are kept.
        tally: counts what is done.

    """

    program: Path
    examiner: Examiner
    out: Path
    tally: Tally

    def try_run(self, run: Run) -> Failure | None:
        """Carry out a run in a directory of its own, which is left only if the run fails."""
        self.out.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix="run-", dir=self.out))
        try:
            Execution(run, directory, self.program, self.examiner, self.tally).carry_out()
        except Violation as violation:
            (directory / "run.json").write_text(run.to_json())
            (directory / "violation.txt").write_text(f"{violation.kind}\n{violation}\n")
            return Failure(run, violation, directory)
        except BaseException:
            shutil.rmtree(directory)
            raise
        shutil.rmtree(directory)
        return None

    def search(
        self, minutes: float, first_seed: int, report: Callable[[Failure], None]
    ) -> list[Failure]:
        """Carry out generated runs for some minutes; shrinking may take longer.

        Args:
            minutes: how long to go on.
            first_seed: what the choice of runs depends on; the program's timing does not.
            report: told about each failure when it is shrunk.

        Returns:
            One failure of each kind.

        """
        end = time.monotonic() + 60 * minutes
        failures: dict[str, Failure] = {}
        number = first_seed
        while time.monotonic() < end:
            failure = self._batch(number, end, failures)
            if failure is not None:
                failures[failure.violation.kind] = failure
                report(failure)
            number += 1
        return list(failures.values())

    def _batch(self, number: int, end: float, known: Container[str]) -> Failure | None:
        """Carry out a batch of runs up to the first that shows something new, and shrink that."""
        # What Hypothesis sees must not depend on luck: a run that failed once fails from then on,
        # and when time is up no other fails any more.
        failed: dict[Run, Failure] = {}
        smallest: Failure | None = None
        until = end

        @seed(number)
        @settings(
            max_examples=_BATCH,
            phases=(Phase.generate, Phase.shrink),
            database=None,
            deadline=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )
        @given(runs())
        def check(run: Run) -> None:
            nonlocal smallest, until
            if run not in failed and time.monotonic() < until:
                failure = self.try_run(run)
                if failure is None:
                    return
                kind = failure.violation.kind
                if kind in known or (smallest and kind != smallest.violation.kind):
                    self.tally.add(f"also seen: {kind}")
                    shutil.rmtree(failure.directory)
                    return
                if smallest is None:
                    until = time.monotonic() + SHRINK_SECONDS
                failed[run] = failure
            if run in failed:
                smallest = failed[run]  # The last one that Hypothesis tries is the smallest.
                raise Unlucky

        with contextlib.suppress(Unlucky):
            check()
        for failure in failed.values():
            if failure is not smallest:
                shutil.rmtree(failure.directory)
        return smallest and self._keep(smallest)

    def _keep(self, failure: Failure) -> Failure:
        """Give a failure a name that lasts."""
        kind = failure.violation.kind
        words = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")[:40]
        kept = self.out / f"{words}-{hashlib.sha256(kind.encode()).hexdigest()[:6]}"
        shutil.rmtree(kept, ignore_errors=True)
        return replace(failure, directory=failure.directory.rename(kept))
