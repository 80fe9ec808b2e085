"""Carry out a run: drive, kill, audit, start again, compare."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from fuzz.runtime.model import Attempt, Commit, Counts, Held, Model, Violation
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
from fuzz.runtime.stores import Examiner

SETTLE_SECONDS = 60.0
"""How long views may take to show what they must; it takes a busy machine about one."""

_LINGER_SECONDS = 0.2
"""How long a process may take to die of what follows a checkpoint's answer."""


Tally = Counter[str]
"""What was done and seen, over one run or many; the keys are for people."""


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
        self._lives = 0
        self._asked: dict[int, Attempt] = {}

    def carry_out(self) -> None:
        """Do it.

        Raises:
            Violation: the database, or its store, is not what it must be.

        """
        self._tally["runs"] += 1
        step, where = 0, "the start"
        try:
            if not isinstance(next(iter(self._steps), None), CrashInRecovery):
                self._begin()
            for step, doing in enumerate(self._steps, 1):
                where = f"step {step}, {doing}"
                self._do(doing)
            where = "the end"
            self._settle()
            self._end_in_order()
            self._examine()
        except (Violation, Refused, Silent, Died) as reason:
            kind, message = self._explain(reason)
            raise Violation(kind, f"at {where}: {message}", step) from reason
        finally:
            if self._lives:
                self._runtime.kill()

    def _explain(self, reason: Exception) -> tuple[str, str]:
        match reason:
            case Violation():
                return reason.kind, str(reason)
            case Refused():
                return "refused", str(reason)
            case Silent():
                return "hang", str(reason)
            case _:
                ended = self._runtime.kill()
                return "died by itself", f"{reason} the process ended with {ended}; see log.txt"

    def _do(self, step: Step) -> None:
        match step:
            case Push(source, rows):
                self._model.push(source, rows)
                self._runtime.ask("push", source=source, rows=[pushed(row) for row in rows])
                self._tally["rows pushed"] += len(rows)
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
                if self._lives:
                    self._kill("killed")
                    self._examine()
                self._crash_in_recovery(calls)
                self._resume()
            case Stop():
                self._end_in_order()
                self._resume()

    # Lives

    def _resume(self) -> None:
        """Audit what the last life left, start the next, and compare."""
        held, commit = self._examine()
        self._begin()
        self._recover(held, commit)

    def _begin(self, crash_after: int | None = None) -> None:
        """Start a life, which may be one that ends while it begins."""
        self._runtime = Runtime(self._program, self._log)
        self._lives += 1
        self._asked = {}
        if crash_after is not None:
            self._runtime.ask("crash", calls=crash_after)
        self._open()
        self._runtime.ask("start")

    def _open(self) -> None:
        pipeline = self._pipeline
        self._runtime.ask(
            "open",
            directory=str(self._store),
            key_groups=pipeline.key_groups,
            delivery=pipeline.delivery,
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
        self._tally["kills"] += 1
        self._tally[how] += 1
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
        try:
            self._begin(calls)
            time.sleep(_LINGER_SECONDS)
            self._kill("killed after recovery")
        except Died:
            self._kill("died in recovery's file-system call")

    def _end_in_order(self) -> None:
        self._runtime.ask("stop")
        ended = self._runtime.wait()
        self._drain()
        if ended != 0:
            raise Violation("died by itself", f"it was told to stop, and ended with {ended}")
        self._tally["stops in order"] += 1

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
            self._tally["checkpoints acknowledged"] += 1
        else:
            self._tally[f"checkpoints that failed: {answer['error']}"] += 1

    def _drain(self) -> None:
        """Take the answers that a dead process had still given."""
        for request in list(self._asked):
            try:
                self._acknowledge(request)
            except Died:
                self._tally["checkpoints without an answer"] += 1
            except Refused as refusal:
                self._tally[f"checkpoints refused: {refusal}"] += 1

    # Audits and comparisons

    def _examine(self) -> tuple[Held, Commit]:
        """Audit the store, and say what it holds and what recovery starts at."""
        held = self._examiner.examine(self._store, self._pipeline.key_groups)
        self._tally["stores audited"] += 1
        self._tally["manifests judged"] += held.manifests
        commit = self._model.stopped(held)
        if self._model.answer_was_lost(commit):
            self._tally["commits whose answer was lost"] += 1
        return held, commit

    def _recover(self, held: Held, commit: Commit) -> None:
        """Wait until the views show what they can after recovery, and learn what that is."""
        end = time.monotonic() + SETTLE_SECONDS
        found: Counts = {}
        for source in self._pipeline.sources:
            while source.name not in found:
                readings = self._read(source)
                cut = self._model.cut(source, commit, readings)
                if cut is not None:
                    found[source.name] = cut
                elif time.monotonic() > end:
                    bounds = commit.floor[source.name], commit.ceiling[source.name]
                    raise Violation(
                        "recovered state",
                        f"after recovery from checkpoint {commit.checkpoint_id}, no cut of "
                        f"{source.name} in {bounds} explains {_told(readings)}",
                    )
        self._model.recovered(commit, found, held)
        self._tally["recoveries compared"] += 1
        if commit.checkpoint_id is None:
            self._tally["recoveries of nothing"] += 1

    def _settle(self) -> None:
        """Wait until every view shows everything."""
        end = time.monotonic() + SETTLE_SECONDS
        for source in self._pipeline.sources:
            rows = self._model.rows(source, self._model.pushed[source.name])
            expected = {view: view.shows(rows) for view in self._views(source)}
            while (readings := self._read(source)) != expected:
                if time.monotonic() > end:
                    raise Violation(
                        "not shown",
                        f"{source.name} has had {len(rows)} rows; its views show "
                        f"{_told(readings)}, and must show {_told(expected)}",
                    )
        self._model.settled()

    def _views(self, source: Source) -> list[View]:
        return [view for view in self._pipeline.views if view.source == source.name]

    def _read(self, source: Source) -> dict[View, Rows]:
        """Read all views of a source, of a running database."""
        state = self._runtime.ask("state")
        if state["state"] != "Running":
            raise Violation("not running", f"it is {state['state']}: {state['fault']}")
        views = self._views(source)
        return {
            view: view.read(self._runtime.query(f"SELECT * FROM {view.name}")) for view in views
        }


def _told(readings: Mapping[View, Rows]) -> str:
    return "; ".join(
        f"{view.name} ({view.shape}): {sorted(rows.elements())}" for view, rows in readings.items()
    )
