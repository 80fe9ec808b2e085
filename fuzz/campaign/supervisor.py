"""The supervisor: starts workers, replaces those that die, keeps the corpus and the books."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzz.campaign import corpus as corpora
from fuzz.campaign.contracts import contract_called
from fuzz.campaign.current import read_current
from fuzz.campaign.files import as_json, write_quickly, write_whole
from fuzz.campaign.findings import NO_INPUT, Findings, Origin
from fuzz.campaign.totals import Moment, Totals, totals
from fuzz.campaign.worker import STATE_EVERY, Job, read_job
from fuzz.could_not_run import CouldNotRun
from fuzz.dictionary import dictionary
from fuzz.engines import load
from fuzz.targets import SEARCH_FLAGS
from fuzz.targets.session import Disagreement
from oracle import Contract

HANG_SECONDS = 60
"""An input that takes longer is a hang."""
MEMORY_MIB = 2048
"""A worker that takes more is stopped."""

_TICK = 0.5
_SILENT_SECONDS = 2 * HANG_SECONDS
_MOMENT_EVERY = 5.0
_ENDING_SECONDS = 15.0
# How libFuzzer says what happened to an input.
_STATUSES = {70: "hang", 71: "memory", 72: "interrupted", 77: "crash"}
_INTERRUPTED = 72


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign: what is fuzzed, for how long, by how many, and where it all goes."""

    engine: str
    engine_name: str
    contract: str
    target: str
    minutes: float
    workers: int
    seed: int
    out: Path
    corpus: Path
    stop_at_finding: bool = False


@dataclass(slots=True)
class _Running:
    """A worker process."""

    job: Job
    process: subprocess.Popen[bytes]
    started: float
    hangs: bool = False


@dataclass(slots=True)
class Campaign:
    """A campaign that runs, or ran."""

    plan: Plan
    seconds: float = 0.0
    moments: list[Moment] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def contract(self) -> Contract:
        """The contract that it goes by."""
        return contract_called(self.plan.contract, load(self.plan.engine))

    @property
    def findings(self) -> Findings:
        """What was found."""
        return Findings(self.plan.out / "findings")

    @property
    def states(self) -> Path:
        """Where workers keep their state."""
        return self.plan.out / "workers"

    def totals(self) -> Totals:
        """What was seen."""
        return totals(self.states)


Watch = Callable[[Campaign, Totals], None]
"""Told how the campaign is doing, every half second."""


class Supervisor:
    """Runs one campaign."""

    def __init__(self, plan: Plan, watch: Watch, *, resume: bool = False) -> None:
        """Run *plan*; with *resume*, go on with what lies in its directory."""
        self._plan = plan
        self._watch = watch
        self._resume = resume
        self.campaign = Campaign(plan)
        self._live = plan.out / "live"
        self._running: list[_Running] = []
        self._adopted: set[str] = set()
        self._next = 0
        self._started = 0.0
        self._stopping = False
        # Inputs that workers were at when the campaign was killed. Searching comes first.
        self._left_behind: list[Path] = []

    # --- the whole ---------------------------------------------------------------------------

    def run(self) -> Campaign:
        """Run the campaign to its end."""
        self._prepare()
        self._started = time.monotonic()
        before = signal.signal(signal.SIGTERM, lambda *_: self.stop())
        try:
            for _ in range(self._plan.workers):
                self._start()
            self._supervise()
        except KeyboardInterrupt:
            self.campaign.notes.append("interrupted")
        finally:
            signal.signal(signal.SIGTERM, before)
            self._end()
        return self.campaign

    def stop(self) -> None:
        """End the campaign before its time."""
        self._stopping = True

    def _prepare(self) -> None:
        plan, campaign = self._plan, self.campaign
        record = plan.out / "campaign.json"
        if record.exists() != self._resume:
            raise CouldNotRun(
                f"there is no campaign in {plan.out} to resume; leave --resume out"
                if self._resume
                else f"{plan.out} has a campaign; go on with --resume, or give another --out"
            )
        for directory in (plan.out, self._live, campaign.states, plan.corpus):
            directory.mkdir(parents=True, exist_ok=True)
        for directory in (plan.out, plan.corpus, plan.out / "findings"):
            corpora.remove_torn(directory)
        write_whole(
            record, as_json(asdict(plan) | {"out": str(plan.out), "corpus": str(plan.corpus)})
        )
        if self._resume:
            self._read_moments()
            corpora.adopt(self._live, plan.corpus, self._adopted)
            self._left_behind = sorted(campaign.states.glob("*.current"))
        self._seed_corpus()
        text = dictionary(self.campaign.contract)
        write_quickly(self._dictionary, text.encode())

    @property
    def _dictionary(self) -> Path:
        return self._plan.out / "manifest.dict"

    def _read_moments(self) -> None:
        campaign = self.campaign
        for line in self._progress.read_text().splitlines() if self._progress.exists() else ():
            try:
                campaign.moments.append(Moment(**json.loads(line)))
            except (ValueError, TypeError):
                continue  # The line that was being written.
        if campaign.moments:
            campaign.seconds = campaign.moments[-1].seconds
        started = {path.name.split(".")[0] for path in campaign.states.iterdir()}
        self._next = max((int(name.partition("-")[2] or 0) for name in started), default=-1) + 1

    @property
    def _progress(self) -> Path:
        return self._plan.out / "progress.jsonl"

    def _seed_corpus(self) -> None:
        """Put the built-in seeds into a corpus that has nothing."""
        if not any(self._plan.corpus.iterdir()):
            plan = self._plan
            corpora.write_seeds(plan.corpus, self.campaign.contract, plan.seed, plan.target)

    # --- workers -----------------------------------------------------------------------------

    def _remaining(self) -> float:
        return self._plan.minutes * 60 - (time.monotonic() - self._started)

    def _start(self) -> None:
        plan = self._plan
        name = f"worker-{self._next}"
        files = self.campaign.states / name
        # Every worker has a seed of its own, and the same in a campaign that is run again.
        seed = random.Random(f"{plan.seed}/{self._next}").randrange(1, 2**31)
        self._next += 1
        job = Job(
            name=name,
            target=plan.target,
            engine=plan.engine,
            contract=plan.contract,
            seed=seed,
            findings=str(plan.out / "findings"),
            state=f"{files}.state.json",
            current=f"{files}.current",
            flags=(
                f"-max_total_time={max(1, int(self._remaining()))}",
                f"-timeout={HANG_SECONDS}",
                f"-rss_limit_mb={MEMORY_MIB}",
                *SEARCH_FLAGS,
                "-reload=10",
                # A slow input is no finding, and libFuzzer would write each to a file.
                f"-report_slow_units={HANG_SECONDS}",
                f"-dict={self._dictionary}",
                f"-artifact_prefix={self.campaign.states}/{name}-",
                str(self._live),
                str(plan.corpus),
            ),
        )
        job.write(Path(f"{files}.job.json"))
        with Path(f"{files}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.campaign.worker", f"{files}.job.json"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        self._running.append(_Running(job, process, time.monotonic()))

    def _supervise(self) -> None:
        next_moment = 0.0
        while self._running:
            time.sleep(_TICK)
            for worker in [*self._running]:
                if worker.process.poll() is not None:
                    self._running.remove(worker)
                    self._ended(worker)
                elif _is_silent(worker):
                    worker.hangs = True
                    worker.process.kill()
            if self._left_behind:
                self._look_at_left_behind(self._left_behind.pop())
            now = time.monotonic()
            total = self.campaign.totals()
            if now >= next_moment:
                next_moment = now + _MOMENT_EVERY
                corpora.adopt(self._live, self._plan.corpus, self._adopted)
                self._note(total)
            self._watch(self.campaign, total)
            found = self._plan.stop_at_finding and any(self.campaign.findings)
            if self._stopping or found or self._remaining() < -_ENDING_SECONDS:
                return

    def _note(self, total: Totals) -> None:
        campaign = self.campaign
        seconds = time.monotonic() - self._started
        last = campaign.moments[-1] if campaign.moments else None
        passed = campaign.seconds + seconds
        rate = 0.0 if last is None else last.rate
        if last is not None and passed > last.seconds + STATE_EVERY:
            rate = max(0, total.inputs - last.inputs) / (passed - last.seconds)
        moment = Moment(
            seconds=round(passed, 1),
            inputs=total.inputs,
            rate=round(rate, 1),
            oracle_coverage=total.oracle_coverage,
            engine_coverage=total.engine_coverage,
            corpus=corpora.size(self._plan.corpus)[0],
            findings=sum(1 for _ in campaign.findings),
        )
        campaign.moments.append(moment)
        with self._progress.open("ab") as file:
            file.write(as_line(asdict(moment)))

    def _ended(self, worker: _Running) -> None:
        """Look into the end of a worker, and start another where there is time."""
        status = worker.process.returncode
        if status == 0 or self._stopping:
            return
        log = Path(worker.job.state.replace(".state.json", ".log"))
        # One that was killed before its first input did not start either, but others have.
        started = status < 0 and self.campaign.totals().inputs > 0
        if not started and not Path(worker.job.state).exists():
            raise CouldNotRun(f"a worker did not start; the end of its log:\n{_tail(log)}")
        self._died(worker.job, "hang" if worker.hangs else _how_ended(status), log)
        if self._remaining() > 1:
            self._start()

    def _died(self, job: Job, how: str, log: Path) -> None:
        """Write down the death of a worker, and then what its last input does alone.

        The death is a finding whatever comes of the input, and before anything comes of it.
        """
        told = f"{job.name} died: {how}"
        note = f"{told}; its log is {log}"
        self.campaign.notes.append(note)
        signature = f"died: {how}"
        kept = read_current(Path(job.current))
        if kept is None:
            # It has a signature of its own, so that no empty document hides one that is known.
            signature += NO_INPUT
            note += "; no input was kept yet, or one was just being written"
        document, key_groups = kept or (b"", None)
        groups = _groups(job, key_groups)
        death = Disagreement("died", signature, document, groups, (), ())
        self.campaign.findings.add(death, self._origin(job), note)
        if kept is not None:
            self._judge_again(job, document, groups, told)

    def _look_at_left_behind(self, current: Path) -> None:
        """Judge the input of a worker that the campaign's own end took along."""
        kept = read_current(current)
        job = current.with_name(current.name.replace(".current", ".job.json"))
        if kept is not None and job.exists():
            document, key_groups = kept
            left = read_job(job)
            self._judge_again(left, document, _groups(left, key_groups), "the campaign was killed")
        current.unlink()

    def _judge_again(self, job: Job, document: bytes, groups: int | None, why: str) -> None:
        """Judge the input that a worker was at again, alone, and write down what comes of it."""
        from fuzz.campaign.alone import Died, judge_alone

        again = judge_alone(document, groups, self._plan.engine, self._plan.contract)
        if isinstance(again, Died):
            signature = f"{again.how}: {again.place}"
            again = Disagreement(again.how, signature, document, groups, (), (again.told,))
        if again is not None:
            self.campaign.findings.add(again, self._origin(job), why)

    def _origin(self, job: Job) -> Origin:
        engine = load(self._plan.engine)
        return Origin(
            engine.name, engine.release, self._plan.contract, job.target, job.seed, job.name
        )

    def _end(self) -> None:
        for worker in self._running:
            worker.process.terminate()
        for worker in self._running:
            try:
                worker.process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self._running.clear()
        corpora.adopt(self._live, self._plan.corpus, self._adopted)
        self._note(self.campaign.totals())


def _groups(job: Job, key_groups: int | None) -> int | None:
    """The key groups that an input of *job* is judged for, which a whole cut has none of."""
    return None if job.target == "cuts" else key_groups


def _how_ended(status: int) -> str:
    if status in _STATUSES:
        return _STATUSES[status]
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"


def _is_silent(worker: _Running) -> bool:
    """Whether a worker has been silent for so long that something hangs.

    libFuzzer stops an input that takes too long, but looks only at its own inputs.
    """
    try:
        last = os.stat(worker.job.state).st_mtime
    except FileNotFoundError:
        last = 0.0
    started = time.time() - (time.monotonic() - worker.started)
    return time.time() - max(last, started) > _SILENT_SECONDS


def as_line(value: object) -> bytes:
    """*value* as one line of JSON."""
    return (json.dumps(value) + "\n").encode()


def _tail(log: Path) -> str:
    try:
        return "\n".join(log.read_text("utf-8", "replace").splitlines()[-12:])
    except OSError:
        return "(there is none)"
