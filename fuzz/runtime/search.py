"""Generate runs until time is up, shrink what fails, and keep it."""

from __future__ import annotations

import hashlib
import itertools
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
from fuzz.runtime.shrink import shrink
from fuzz.runtime.stores import Examiner

SHRINK_SECONDS = 600.0
"""How long one failure is shrunk, at most."""

_BATCH = 50
"""Runs that Hypothesis plans at a time, from one seed."""

_TRIES = 2
"""How often a shorter run may fail to fail: when a process dies depends on luck."""


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


@dataclass(frozen=True, slots=True)
class Search:
    """What a search needs.

    Attributes:
        program: the program that runs LaminarDB.
        examiner: examines stores.
        out: where failures are kept.
        tally: counts what is done.
        progress: called after every run.

    """

    program: Path
    examiner: Examiner
    out: Path
    tally: Tally
    progress: Callable[[], None]

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
        finally:
            self.progress()
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
        for number in itertools.count(first_seed):
            if time.monotonic() >= end:
                break
            failure = self._batch(number, end, failures)
            if failure is not None:
                failures[failure.violation.kind] = self._keep(self._shrink(failure))
                report(failures[failure.violation.kind])
        return list(failures.values())

    def _batch(self, number: int, end: float, known: Container[str]) -> Failure | None:
        """Carry out a batch of runs, up to the first that shows something new."""
        new: Failure | None = None

        @seed(number)
        @settings(
            max_examples=_BATCH,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(runs())
        def carry_out(run: Run) -> None:
            nonlocal new
            # A run that fails is not raised: Hypothesis would want to see it fail twice.
            if new is None and time.monotonic() < end:
                new = self._unless(known, self.try_run(run))

        carry_out()
        return new

    def _unless(self, known: Container[str], failure: Failure | None) -> Failure | None:
        """A failure, unless one of its kind is known."""
        if failure is not None and failure.violation.kind in known:
            self.tally[f"again: {failure.violation.kind}"] += 1
            shutil.rmtree(failure.directory)
            return None
        return failure

    def _shrink(self, failure: Failure) -> Failure:
        """The shortest run found in time that shows the same."""
        until = time.monotonic() + SHRINK_SECONDS

        def fails(run: Run) -> bool:
            nonlocal failure
            for _ in range(_TRIES):
                found = self.try_run(run) if time.monotonic() < until else None
                if found is not None and found.violation.kind == failure.violation.kind:
                    shutil.rmtree(failure.directory)
                    failure = found
                    return True
                if found is not None:
                    shutil.rmtree(found.directory)
            return False

        through = failure.run.steps[: failure.violation.step]
        shortened = replace(failure.run, steps=through)
        shrink(shortened if fails(shortened) else failure.run, fails)
        return failure

    def _keep(self, failure: Failure) -> Failure:
        """Give a failure a name that lasts."""
        kind = failure.violation.kind
        words = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")[:40]
        kept = self.out / f"{words}-{hashlib.sha256(kind.encode()).hexdigest()[:6]}"
        shutil.rmtree(kept, ignore_errors=True)
        return replace(failure, directory=failure.directory.rename(kept))
