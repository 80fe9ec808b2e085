"""An engine in a process of its own, spoken to in JSON lines; PROTOCOL.md describes them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import BinaryIO, NoReturn, TypeVar

from fuzz.engines import wire
from fuzz.engines.protocol import (
    EngineError,
    EngineFailed,
    EngineRefused,
    EngineUnavailable,
    EngineUnsupported,
    EngineVerdict,
    ProgressClass,
)

T = TypeVar("T")

# More than any answer: a canonical encoding is at most 16 MiB, and a third more as base64.
_LONGEST_LINE = 64 << 20


class _Conversation:
    """One run of the engine's process, with bounded waits on both pipes."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        try:
            # A session of its own, so that an end takes the process's children along.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    def exchange(self, line: bytes, limit: float) -> bytes:
        """Send a line and read one.

        Raises:
            EngineFailed: the process hangs or has ended, or says more or less than one line.

        """
        unsent = memoryview(line)
        received = bytearray()
        searched = 0
        poll = select.poll()
        poll.register(self._to, select.POLLOUT)
        poll.register(self._from, select.POLLIN)
        deadline = time.monotonic() + limit
        while b"\n" not in received[searched:]:
            searched = len(received)
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineFailed("hang", f"no answer within {limit:g} s")
            for pipe, _ in poll.poll(math.ceil(left * 1000)):
                if pipe == self._from:
                    received += self._read()
                elif unsent:
                    unsent = unsent[self._write(unsent) :]
                else:
                    poll.unregister(self._to)
            if len(received) > _LONGEST_LINE:
                raise EngineFailed("crash", f"an answer without end: {quote(received)}")
        if unsent:
            raise EngineFailed("crash", f"answered before it was asked: {quote(received)}")
        if not received.endswith(b"\n") or received.count(b"\n") > 1:
            raise EngineFailed("crash", f"answered with more than one line: {quote(received)}")
        return bytes(received)

    def _read(self) -> bytes:
        return os.read(self._from, 1 << 20) or self._report_end()

    def _write(self, unsent: memoryview) -> int:
        try:
            return os.write(self._to, unsent)
        except BrokenPipeError:
            self._report_end()

    def _report_end(self) -> NoReturn:
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            raise EngineFailed("crash", "closed its output and lives on") from None
        how = f"status {status}"
        if status < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-status).name
        self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - 2000))
        last = self._errors.read().decode("utf-8", "replace").strip()
        raise EngineFailed(
            "crash", f"ended with {how}" + (f"; its last words: {last}" if last else "")
        )

    def end(self) -> None:
        """End the process, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            pipe.close()


def quote(line: bytes | bytearray) -> str:
    """A line as a person can read it, cut if it is long."""
    text = repr(bytes(line[:200]).rstrip(b"\n"))[1:]
    return text + (f" and {len(line) - 200} bytes more" if len(line) > 200 else "")


class StdioEngine:
    """An engine behind a command line.

    It is started at once, and again after it failed: what one input does to it is told of that
    input only.

    Args:
        command: program and arguments.
        time_limit: seconds that one call may take.
        start_limit: seconds that a start may take.

    Raises:
        EngineUnavailable: it does not start.

    """

    def __init__(
        self, command: Sequence[str], *, time_limit: float = 10.0, start_limit: float = 60.0
    ) -> None:
        self._command = tuple(command)
        self._time_limit = time_limit
        self._start_limit = start_limit
        self._requests = 0
        self._conversation: _Conversation | None = None
        self._ender: weakref.finalize[[], StdioEngine] | None = None
        description = self._start()
        self.name = description.name
        self.release = description.release
        self.manifest_version = description.manifest_version
        self.constants: Mapping[str, int | bytes] = description.constants

    def __repr__(self) -> str:
        return f"<StdioEngine {self.name}, format v{self.manifest_version}: {self._command}>"

    def __enter__(self) -> StdioEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the engine's process; the next call would start another."""
        if self._ender is not None:
            self._ender()
        self._conversation = self._ender = None

    def _start(self) -> wire.Description:
        try:
            self._conversation = _Conversation(self._command)
            self._ender = weakref.finalize(self, self._conversation.end)
            return self._exchange(wire.DESCRIBE, {}, self._conversation, self._start_limit)
        except (OSError, EngineError, ValueError) as error:
            self.close()
            raise EngineUnavailable(
                f"{' '.join(self._command)} does not start as an engine: {error}; "
                "fuzz/engines/PROTOCOL.md says what it has to do"
            ) from error

    def _ask(self, call: wire.Call[T], **arguments: object) -> T:
        if self._conversation is None:
            self._start()
        assert self._conversation is not None
        return self._exchange(call, arguments, self._conversation, self._time_limit)

    def _exchange(
        self,
        call: wire.Call[T],
        arguments: Mapping[str, object],
        conversation: _Conversation,
        limit: float,
    ) -> T:
        self._requests += 1
        request = json.dumps(call.request(self._requests, arguments)).encode() + b"\n"
        try:
            line = conversation.exchange(request, limit)
            try:
                return wire.read_answer(self._requests, call, wire.read_json(line))
            except wire.Malformed as error:
                raise EngineFailed("crash", f"{error}: {quote(line)}") from None
        except EngineFailed as failure:
            if failure.stage != "panic":
                self.close()
            raise

    def judge(self, data: bytes, key_groups: int, *, canonical: bool = False) -> EngineVerdict:
        """See `Engine.judge`."""
        try:
            return self._ask(wire.JUDGE, data=data, key_groups=key_groups, canonical=canonical)
        except EngineFailed as failure:
            return EngineVerdict(failure.stage, (failure.message,), place=failure.place)
        except (EngineRefused, EngineUnsupported, ValueError) as error:
            # Late: a process that fuzzes imports engines before the oracle, which it instruments.
            from oracle import MAX_KEY_GROUP_COUNT

            if not 1 <= key_groups <= MAX_KEY_GROUP_COUNT:
                raise
            self.close()
            return EngineVerdict("crash", (f"answered with an error, not with a verdict: {error}",))

    def key_group_count(self, value: int) -> int:
        """See `Engine.key_group_count`."""
        return self._ask(wire.KEY_GROUP_COUNT, value=value)

    def checkpoint_manifest_bytes(self, data: bytes) -> bytes:
        """See `Engine.checkpoint_manifest_bytes`."""
        return self._ask(wire.CHECKPOINT_MANIFEST_BYTES, data=data)

    def checkpoint_sha256(self, data: bytes) -> str:
        """See `Engine.checkpoint_sha256`."""
        return self._ask(wire.CHECKPOINT_SHA256, data=data)

    def checkpoint_descriptor_sha256(self, payload: bytes | None) -> str:
        """See `Engine.checkpoint_descriptor_sha256`."""
        return self._ask(wire.CHECKPOINT_DESCRIPTOR_SHA256, payload=payload)

    def checkpoint_artifact_intent_sha256(self, payload: bytes | None) -> str:
        """See `Engine.checkpoint_artifact_intent_sha256`."""
        return self._ask(wire.CHECKPOINT_ARTIFACT_INTENT_SHA256, payload=payload)

    def owner_map_digest(self, vnode_count: int, owners: Sequence[int]) -> bytes:
        """See `Engine.owner_map_digest`."""
        return self._ask(wire.OWNER_MAP_DIGEST, vnode_count=vnode_count, owners=owners)

    def fence_digest(self, fence: bytes) -> bytes:
        """See `Engine.fence_digest`."""
        return self._ask(wire.FENCE_DIGEST, fence=fence)

    def subscription_digest(self, domain: bytes, value: bytes) -> bytes:
        """See `Engine.subscription_digest`."""
        return self._ask(wire.SUBSCRIPTION_DIGEST, domain=domain, value=value)

    def seal_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> tuple[bytes, str | None]:
        """See `Engine.seal_node_subscription_manifest`."""
        call = wire.SEAL_NODE_SUBSCRIPTION_MANIFEST
        return self._ask(call, data=data, owned_vnodes=owned_vnodes)

    def validate_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> str | None:
        """See `Engine.validate_node_subscription_manifest`."""
        call = wire.VALIDATE_NODE_SUBSCRIPTION_MANIFEST
        return self._ask(call, data=data, owned_vnodes=owned_vnodes)

    def classify_channel_progress(self, channels: bytes) -> tuple[ProgressClass, int | None]:
        """See `Engine.classify_channel_progress`."""
        return self._ask(wire.CLASSIFY_CHANNEL_PROGRESS, channels=channels)

    def channel_progress_frontier(self, channels: bytes) -> int | None:
        """See `Engine.channel_progress_frontier`."""
        return self._ask(wire.CHANNEL_PROGRESS_FRONTIER, channels=channels)

    def channel_progress_frontiers_by_source(self, channels: bytes) -> dict[str, int | None]:
        """See `Engine.channel_progress_frontiers_by_source`."""
        return self._ask(wire.CHANNEL_PROGRESS_FRONTIERS_BY_SOURCE, channels=channels)

    def view_log_segment_limit(self, participants: int) -> int:
        """See `Engine.view_log_segment_limit`."""
        return self._ask(wire.VIEW_LOG_SEGMENT_LIMIT, participants=participants)
