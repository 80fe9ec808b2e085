"""Carry out a run: drive, kill, audit, start again, compare."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.runtime.model import Attempt, Commit, Counts, Model, Violation
from fuzz.runtime.pipelines import Rows, Source, View, pushed
from fuzz.runtime.process import KILLED, Died, Refused, Runtime, Silent
from fuzz.runtime.runs import (
    Checkpoint,
    Crash,
    CrashInRecovery,
    Kill,
    Pause,
    Push,
    Run,
    Settle,
    Step,
    Stop,
)
from fuzz.runtime.stores import Examination, Examiner

SETTLE_SECONDS = 60.0
"""How long views may take to show what they must; it takes a busy machine about one."""

_LINGER_SECONDS = 0.2
"""How long a process may take to die of what follows a checkpoint's answer."""


@dataclass(slots=True)
class Tally:
    """What was done and seen, over one run or many; the keys are for people."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, count: int = 1) -> None:
        """Count something."""
        self.counts[what] += count


class Execution:
    """A run being carried out on a directory of its own."""

    def __init__(self, run: Run, directory: Path, program: Path, examiner: Examiner, tally: Tally):
        """Prepare to carry out *run* in *directory*, which must be empty.

        The store is its `store`, what the program logs its `log.txt`.
        """
        self._pipeline = run.pipeline
        self._steps = run.steps
        self._store = directory / "store"
        self._log = directory / "log.txt"
        self._program = program
        self._examiner = examiner
        self._tally = tally
        self._model = Model(run.pipeline)
        self._asked: dict[int, Attempt] = {}

    def carry_out(self) -> None:
        """Do it.

        Raises:
            Violation: the database, or its store, is not what it must be.

        """
        self._tally.add("runs")
        self._begin(Commit(None, {}, {}), first=True)
        try:
            for number, step in enumerate(self._steps):
                try:
                    self._do(step)
                except Violation as violation:
                    violation.add_note(f"at step {number + 1}, {step}")
                    raise
                except Refused as refusal:
                    raise Violation(
                        "refused", f"at step {number + 1}, {step}: {refusal}"
                    ) from refusal
                except Silent as silence:
                    raise Violation("hang", f"at step {number + 1}, {step}: {silence}") from silence
                except Died:
                    raise Violation(
                        "died by itself",
                        f"at step {number + 1}, {step}: the process ended with "
                        f"{self._runtime.kill()}; its last words are in log.txt",
                    ) from None
            self._end_in_order()
        finally:
            self._runtime.kill()

    def _do(self, step: Step) -> None:
        match step:
            case Push(source, rows):
                self._model.push(source, rows)
                self._runtime.ask("push", source=source, rows=[pushed(row) for row in rows])
                self._tally.add("rows pushed", len(rows))
            case Settle():
                self._settle()
            case Checkpoint(wait):
                request = self._ask_for_checkpoint()
                if wait:
                    self._acknowledge(request)
            case Pause(milliseconds):
                time.sleep(milliseconds / 1000)
            case Kill(milliseconds, checkpoint):
                if checkpoint:
                    self._ask_for_checkpoint()
                time.sleep(milliseconds / 1000)
                self._kill("killed in a checkpoint" if checkpoint else "killed")
                self._resume()
            case Crash(calls):
                self._crash_in_checkpoint(calls)
                self._resume()
            case CrashInRecovery(calls):
                self._kill("killed")
                self._crash_in_recovery(calls)
                self._resume()
            case Stop():
                self._end_in_order()
                self._resume()

    # Lives

    def _resume(self) -> None:
        """Audit what the last life left, start the next, and compare."""
        self._begin(self._examine())

    def _begin(self, commit: Commit, *, first: bool = False) -> None:
        self._runtime = Runtime(self._program, self._log)
        self._asked = {}
        self._open()
        self._runtime.ask("start")
        if not first:
            self._recover(commit)

    def _open(self) -> None:
        pipeline = self._pipeline
        self._runtime.ask(
            "open",
            directory=str(self._store),
            key_groups=pipeline.key_groups,
            delivery=pipeline.delivery,
            checkpoint_interval_ms=None,
            source_idle_timeout_ms=pipeline.idle_timeout_ms,
            incremental_emit=pipeline.incremental_emit,
        )
        for source in pipeline.sources:
            self._runtime.ask("execute", sql=source.sql)
        for view in pipeline.views:
            self._runtime.execute(view.sql(pipeline.source(view.source)))

    def _kill(self, how: str) -> None:
        ended = self._runtime.kill()
        if ended != KILLED:
            raise Violation("died by itself", f"the process had ended with {ended}")
        self._tally.add("kills")
        self._tally.add(how)
        self._drain()

    def _crash_in_checkpoint(self, calls: int) -> None:
        self._runtime.ask("crash", calls=calls)
        request = self._ask_for_checkpoint()
        try:
            self._acknowledge(request)
            time.sleep(_LINGER_SECONDS)
            self._kill("killed after a checkpoint")
        except Died:
            self._kill("died in a checkpoint's file-system call")

    def _crash_in_recovery(self, calls: int) -> None:
        self._examine()
        self._runtime = Runtime(self._program, self._log)
        self._asked = {}
        self._runtime.ask("state_before") if False else None
        try:
            self._runtime.ask("crash", calls=calls)
            self._open()
            self._runtime.ask("start")
            time.sleep(_LINGER_SECONDS)
            self._kill("killed after recovery")
        except Died:
            self._kill("died in recovery's file-system call")

    def _end_in_order(self) -> None:
        request = self._runtime.send("stop")
        self._drain(request)
        self._runtime.receive(request)
        ended = self._runtime.wait()
        if ended != 0:
            raise Violation("died by itself", f"it was told to stop, and ended with {ended}")
        self._tally.add("stops in order")

    # Checkpoints

    def _ask_for_checkpoint(self) -> int:
        attempt = self._model.ask()
        request = self._runtime.send("checkpoint")
        self._asked[request] = attempt
        return request

    def _acknowledge(self, request: int) -> None:
        answer = self._runtime.receive(request)
        attempt = self._asked.pop(request)
        if answer["committed"]:
            self._model.acknowledge(attempt, answer["checkpoint_id"])
            self._tally.add("checkpoints acknowledged")
        else:
            self._tally.add(f"checkpoints that failed: {answer['error']}")

    def _drain(self) -> None:
        """Take the answers that a dead process had still given."""
        for request in list(self._asked):
            try:
                self._acknowledge(request)
            except Died:
                self._tally.add("checkpoints without an answer")
            except Refused as refusal:
                self._tally.add(f"checkpoints refused: {refusal}")
