"""A campaign's worker: one target under libFuzzer, writing down what it finds and what it saw.

It is started by the supervisor with one argument, the file that says what to do.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.campaign.current import CurrentInput
from fuzz.campaign.files import as_json, read_json, write_quickly
from fuzz.campaign.findings import Findings, Origin
from fuzz.coverage import OracleCoverage
from fuzz.engines.coverage import load_visible
from fuzz.targets.running import run

if TYPE_CHECKING:
    from fuzz.targets.session import Disagreement, Session

STATE_EVERY = 1.0
"""Seconds between two states."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is to do.

    ``findings`` is the campaign's directory of them; ``state`` and ``current`` are the worker's
    own files; ``flags`` are libFuzzer's, and ``program`` is what it starts to have another process
    like this one.
    """

    name: str
    target: str
    engine: str
    contract: str
    seed: int
    findings: str
    state: str
    current: str
    flags: tuple[str, ...]
    program: str = "worker"

    def write(self, path: Path) -> None:
        """Write it for :func:`read_job`."""
        write_quickly(path, as_json(asdict(self)))


def read_job(path: Path) -> Job:
    """The job in *path*."""
    fields = read_json(path)
    return Job(**{**fields, "flags": tuple(fields["flags"])})


class Worker:
    """Does one job."""

    def __init__(self, job: Job) -> None:
        """Do *job*, when :meth:`run` is called."""
        self._job = job
        self._current = CurrentInput(Path(job.current))
        self._state = Path(job.state)
        self._next_state = 0.0
        self._session: Session | None = None
        self._coverage: OracleCoverage | None = None

    def run(self) -> None:
        """Run libFuzzer; it ends the process."""
        job = self._job
        # libFuzzer gives the process that it starts flags of its own, behind the job's.
        flags = list(sys.argv[2:] or job.flags)
        run(job.target, job.seed, flags, self._make_session, self._after_input, program=job.program)

    def _make_session(self, coverage: OracleCoverage) -> Session:
        from fuzz.campaign.canary import plant_from_environment
        from fuzz.campaign.contracts import contract_called
        from fuzz.targets.session import Session

        engine = load_visible(self._job.engine)
        contract = contract_called(self._job.contract, engine)
        plant_from_environment()
        job = self._job
        findings = Findings(Path(job.findings))
        origin = Origin(engine.name, engine.release, job.contract, job.target, job.seed, job.name)

        def report(found: Disagreement) -> None:
            findings.add(found, origin)

        self._coverage = coverage
        self._session = Session(engine, contract, report, self._current.keep)
        return self._session

    def _after_input(self) -> None:
        now = time.monotonic()
        if now >= self._next_state:
            self._next_state = now + STATE_EVERY
            self._write_state()

    def _write_state(self) -> None:
        assert self._session is not None
        assert self._coverage is not None
        counts = self._session.counts
        state = {
            "inputs": counts.inputs,
            "decoded": counts.decoded,
            "valid": counts.valid,
            "rules": counts.rules,
            "known": counts.known,
            "signatures": counts.signatures,
            "branches": self._coverage.branches,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        write_quickly(self._state, as_json(state))


def main() -> None:
    """Do the job that the first argument names."""
    # However the supervisor ends, its workers do too.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        sys.exit("the supervisor is gone")
    Worker(read_job(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
