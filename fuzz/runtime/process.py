"""The program that runs LaminarDB, as a child process."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 120.0
"""How long to wait for an answer; far beyond what the slowest request takes on a busy machine."""


class Died(Exception):
    """The process ended before it answered."""


class Refused(Exception):
    """LaminarDB answered a request with an error."""


class Silent(Exception):
    """No answer came in time."""


class Runtime:
    """One life of the program, from its start to its end.

    Requests may be sent without waiting for the answer. Not for several threads at a time.
    """

    def __init__(self, program: Path, log: Path):
        """Start *program*; what it logs is appended to *log*."""
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._early: dict[int, dict[str, Any]] = {}
        self._last = 0
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, do: str, **arguments: Any) -> int:
        """Send a request, and give the number by which its answer is received."""
        self._last += 1
        line = json.dumps({"id": self._last, "do": do, **arguments}) + "\n"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except OSError:
            raise Died(f"before `{do}`") from None
        return self._last

    def receive(self, request: int, seconds: float = ANSWER_SECONDS) -> Any:
        """Wait for a request's answer.

        Raises:
            Died: the process ended first.
            Refused: the answer is an error.
            Silent: there is no answer after *seconds*.

        """
        while request not in self._early:
            try:
                line = self._answers.get(timeout=seconds)
            except queue.Empty:
                raise Silent(f"no answer to request {request} in {seconds:g} seconds") from None
            if line is None:
                self._answers.put(None)  # For whoever asks again.
                raise Died(f"before the answer to request {request}")
            answer = json.loads(line)
            self._early[answer["id"]] = answer
        answer = self._early.pop(request)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def ask(self, do: str, **arguments: Any) -> Any:
        """Send a request and wait for its answer; raises as `receive` does."""
        return self.receive(self.send(do, **arguments))

    def execute(self, statements: Sequence[str]) -> None:
        """Execute statements in order."""
        for sql in statements:
            self.ask("execute", sql=sql)

    def query(self, sql: str) -> list[Mapping[str, Any]]:
        """Select rows."""
        rows: list[Mapping[str, Any]] = self.ask("query", sql=sql)
        return rows

    def kill(self) -> int:
        """Kill it with SIGKILL unless it has ended, and give how it ended, as `Popen` does."""
        self._process.kill()
        return self._ended()

    def wait(self, seconds: float = ANSWER_SECONDS) -> int:
        """Wait until it ends by itself, and give how; raises Silent if it does not."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Silent(f"the process has not ended after {seconds:g} seconds") from None
        return self._ended()

    def _ended(self) -> int:
        code = self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # What was not written any more died with it.
                pipe.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # Death may cut the last one short.
                self._answers.put(line.decode())
        self._answers.put(None)


KILLED = -signal.SIGKILL
"""How a process ends that was killed."""
