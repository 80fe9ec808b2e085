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
from fuzz.campaign.files import as_json, read_json, write_quickly, write_whole
from fuzz.campaign.findings import Findings, Origin
from fuzz.campaign.totals import Moment, Totals, totals
from fuzz.campaign.worker import STATE_EVERY, Job
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
        self._deaths = 0
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
                left = self._left_behind.pop()
                self._investigate(
                    left, self.campaign.findings, "the campaign was killed", only_if_again=True
                )
                left.unlink()
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
        if not Path(worker.job.state).exists():
            raise CouldNotRun(f"a worker did not start; the end of its log:\n{_tail(log)}")
        how = "hang" if worker.hangs else _how_ended(status)
        self._deaths += 1
        self.campaign.notes.append(f"{worker.job.name} died: {how}; its log is {log}")
        self._investigate(
            Path(worker.job.current), self.campaign.findings, f"{worker.job.name} died: {how}"
        )
        if self._remaining() > 1:
            self._start()

    def _investigate(
        self, current: Path, findings: Findings, why: str, *, only_if_again: bool = False
    ) -> None:
        """Judge the input that a worker was at again, alone, and write down what comes of it."""
        kept = read_current(current)
        job = read_json(Path(str(current).replace(".current", ".job.json")))
        if kept is None or job is None:
            return
        document, key_groups = kept
        from fuzz.campaign.alone import Died, judge_alone

        groups = None if job["target"] == "cuts" else key_groups
        again = judge_alone(document, groups, self._plan.engine, self._plan.contract)
        origin = Origin(
            self._plan.engine_name, self._plan.contract, job["target"], job["seed"], job["name"]
        )
        if isinstance(again, Disagreement):
            findings.add(again, origin, why)
        elif isinstance(again, Died):
            signature = f"{again.how}: {again.place}"
            findings.add(
                Disagreement(again.how, signature, document, groups, (), (again.told,)),
                origin,
                why,
            )
        elif not only_if_again:
            findings.add(
                Disagreement(
                    "died", f"died: {why.partition('died: ')[2]}", document, groups, (), ()
                ),
                origin,
                f"{why}; alone, its last input is harmless",
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
