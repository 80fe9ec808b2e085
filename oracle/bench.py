"""What a verdict costs, as ratios that mean the same on every machine.

The unit is ``json.loads`` of the same bytes in the same process. Two documents are judged: the
manifest that a real engine wrote of 256 vnodes, and a generated valid one as long as an engine
loads. Time is the processor's; the repetitions of what is compared are interleaved, and the
fastest of each counts, so that a machine busy with something else disturbs little, and all alike.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from oracle.constants import DEFAULT_KEY_GROUP_COUNT, MAX_CHECKPOINT_MANIFEST_BYTES
from oracle.digests import (
    EMPTY_SHA256,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    checkpoint_sha256,
)
from oracle.encoding import encode
from oracle.formats import V10
from oracle.interpreter import without_garbage_collection
from oracle.model import (
    ByteRange,
    ChannelProgress,
    CheckpointManifest,
    ConnectorCheckpoint,
    FrozenDict,
    NodeDataObject,
    OperatorWhole,
    PipelineIdentity,
    PreparedSinkArtifactIntent,
    PreparedSinkDescriptor,
    ReferencedStateChunk,
    StateChunkId,
    StateFrame,
    StateFrameKey,
    Vnode,
)
from oracle.shapes import decode_manifest
from oracle.text import parse
from oracle.verdict import Stage, judge, validate


@dataclass(frozen=True, slots=True)
class Limit:
    """A promise: the figure called *name* is at most *most*."""

    name: str
    most: float
    statement: str


LIMITS = (
    Limit("verdict", 8.0, "a verdict on the real manifest, in json.loads of the same bytes"),
    Limit("growth", 1.5, "cost of a byte of the long manifest, in that of the real one's"),
    Limit("memory", 30.0, "peak memory of a verdict on the long manifest, in its bytes"),
)


@dataclass(frozen=True, slots=True)
class Costs:
    """What one document costs; every figure but ``bytes`` is in ``json.loads`` of the same bytes.

    ``text``, ``shapes`` and ``rules`` are the stages of a verdict, each by itself.
    """

    bytes: int
    verdict: float
    text: float
    shapes: float
    rules: float


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one run.

    ``growth`` is the cost of a verdict for each byte of ``long``, in that of ``real``;
    ``memory`` the peak of the memory that a verdict on ``long`` takes, in its bytes.
    """

    real: Costs
    long: Costs
    growth: float
    memory: float

    def figure(self, limit: Limit) -> float:
        """The figure that *limit* is about."""
        figures = {"verdict": self.real.verdict, "growth": self.growth, "memory": self.memory}
        return figures[limit.name]

    @property
    def exceeded(self) -> list[Limit]:
        """The limits that do not hold."""
        return [limit for limit in LIMITS if self.figure(limit) > limit.most]

    def as_json(self) -> str:
        """The report as one line of JSON."""
        limits = {limit.name: limit.most for limit in LIMITS}
        return json.dumps({**asdict(self), "limits": limits})

    def as_text(self) -> str:
        """The report as a table and the limits."""
        lines = [f"{'':12}{'bytes':>12}{'verdict':>10}{'text':>8}{'shapes':>8}{'rules':>8}"]
        for name, costs in (("real", self.real), ("long", self.long)):
            lines.append(
                f"{name:12}{costs.bytes:12,}{costs.verdict:10.2f}"
                f"{costs.text:8.2f}{costs.shapes:8.2f}{costs.rules:8.2f}"
            )
        lines += ["(in json.loads of the same bytes)", ""]
        for limit in LIMITS:
            figure = self.figure(limit)
            word = "at most" if figure <= limit.most else "ABOVE"
            lines.append(f"{limit.name:8}{figure:6.2f}, {word} {limit.most:g}: {limit.statement}")
        return "\n".join(lines)


def real_manifest() -> bytes:
    """The manifest of a real checkpoint: 256 vnodes, 256 state frames, 62,729 bytes."""
    return files("oracle").joinpath("data/trades.json").read_bytes()


def long_manifest(length: int = MAX_CHECKPOINT_MANIFEST_BYTES) -> bytes:
    """A valid canonical manifest of at most *length* bytes, and nearly as many.

    It has vnode and whole-operator state of many operators, three frames in four in older
    objects, 64 sources with eight channels each, and 64 sinks with intents.
    """
    each = len(encode(_sample(_TRIAL))) / _TRIAL
    return encode(_sample(max(1, int(length / each / _GROWTH))))


# Operators of a trial, by which the length of more is told, and by how much of it numbers with
# more digits exceed that.
_TRIAL = 100
_GROWTH = 1.01

_VNODES = DEFAULT_KEY_GROUP_COUNT
_CHECKPOINT, _PARTICIPANT = 70_000, 1
_FRAME_LENGTH = 512
_OLDER = 3
_SOURCES = _SINKS = 64
_CHANNELS = 8


def _sample(operators: int) -> CheckpointManifest:
    frames = _frames(operators)
    current = StateChunkId(_PARTICIPANT, _CHECKPOINT)
    used = sum(frame.chunk == current for frame in frames) * _FRAME_LENGTH
    older = [StateChunkId(_PARTICIPANT, _CHECKPOINT - age) for age in range(_OLDER, 0, -1)]
    sources = [f"source_{number:03}" for number in range(_SOURCES)]
    sinks = [f"sink_{number:03}" for number in range(_SINKS)]
    payload = b"prepared"
    payloads = [ByteRange(used + index * len(payload), len(payload)) for index in range(2 * _SINKS)]
    channels = [f"partition-{number}".encode() for number in range(_CHANNELS)]
    return CheckpointManifest(
        version=V10.manifest_version,
        checkpoint_id=_CHECKPOINT,
        epoch=_CHECKPOINT,
        timestamp_ms=1_700_000_000_000,
        participant_id=_PARTICIPANT,
        source_offsets=FrozenDict(
            {
                source: ConnectorCheckpoint(
                    offsets=FrozenDict(
                        {f"partition-{n}": str(10**9 + n) for n in range(_CHANNELS)}
                    ),
                    metadata=FrozenDict({"connector": "generated"}),
                    input_channels=tuple(channels),
                    source_assignment_version=None,
                )
                for source in sources
            }
        ),
        source_names=tuple(sources),
        sink_names=tuple(sinks),
        pipeline_identity=PipelineIdentity(V10.pipeline_identity_version, EMPTY_SHA256),
        deployment_id="11111111-1111-4111-8111-111111111111",
        partitioning_abi_version=2,
        vnode_count=_VNODES,
        assignment_fence=None,
        reassignment_portable=False,
        owned_vnodes=tuple(range(_VNODES)),
        checkpoint_watermark=1_000,
        channel_progress=tuple(
            ChannelProgress(_PARTICIPANT, source, channel, 1_000 + number, False)
            for source in sources
            for number, channel in enumerate(channels)
        ),
        node_data=NodeDataObject(
            current, used + 2 * _SINKS * len(payload), checkpoint_sha256(b"node data")
        ),
        state_frames=tuple(frames),
        prepared_sinks=tuple(
            PreparedSinkDescriptor(sink, 1, part, checkpoint_descriptor_sha256(payload))
            for sink, part in zip(sinks, payloads[_SINKS:], strict=True)
        ),
        sink_artifact_intents=tuple(
            PreparedSinkArtifactIntent(sink, 1, part, checkpoint_artifact_intent_sha256(payload))
            for sink, part in zip(sinks, payloads[:_SINKS], strict=True)
        ),
        referenced_chunks=tuple(
            ReferencedStateChunk(
                chunk,
                len(frames) * _FRAME_LENGTH,
                checkpoint_sha256(str(chunk).encode()),
                sum(frame.chunk == chunk for frame in frames),
            )
            for chunk in older
        ),
    )


def _frames(operators: int) -> list[StateFrame]:
    """Frames in key order, dealt to the older objects and the current one in turn."""
    names = [f"operator:{number:06}" for number in range(operators)]
    keys: list[StateFrameKey] = [OperatorWhole(name) for name in names]
    keys += [Vnode(name, vnode) for name in names for vnode in range(_VNODES)]
    return [
        StateFrame(
            key,
            StateChunkId(_PARTICIPANT, _CHECKPOINT - index % (_OLDER + 1)),
            ByteRange(index // (_OLDER + 1) * _FRAME_LENGTH, _FRAME_LENGTH),
            checkpoint_sha256(index.to_bytes(8, "little")),
        )
        for index, key in enumerate(keys)
    ]


def measure(repetitions: int = 5) -> Report:
    """Measure both documents; about half a minute."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "manifest.json")
        path.write_bytes(long_manifest())
        memory = _peak_memory(path)
        long = _Document(path.read_bytes(), calls=1)
    real = _Document(real_manifest(), calls=_CALLS)
    for _ in range(repetitions):
        real.measure()
        long.measure()
    growth = long.cost_of_a_byte / real.cost_of_a_byte
    return Report(real.costs, long.costs, growth, memory)


# Calls with the short document that make one measurement, so that the clock has something to time.
_CALLS = 20


class _Document:
    """One valid document, and the fewest seconds that each task took with it so far."""

    def __init__(self, data: bytes, calls: int) -> None:
        verdict = judge(data, DEFAULT_KEY_GROUP_COUNT)
        assert verdict.stage is Stage.VALID, "the documents of the benchmark are valid"
        manifest, value = verdict.manifest, parse(data)
        assert manifest is not None
        self.data = data
        self._calls = calls
        self._tasks: dict[str, Callable[[], object]] = {
            "unit": lambda: json.loads(data),
            "verdict": lambda: judge(data, DEFAULT_KEY_GROUP_COUNT),
            "text": without_garbage_collection(lambda: parse(data)),
            "shapes": without_garbage_collection(lambda: decode_manifest(value, V10)),
            "rules": without_garbage_collection(
                lambda: validate(manifest, DEFAULT_KEY_GROUP_COUNT)
            ),
        }
        self._seconds = dict.fromkeys(self._tasks, float("inf"))

    def measure(self) -> None:
        """Time every task once."""
        for name, task in self._tasks.items():
            self._seconds[name] = min(self._seconds[name], _seconds(task, self._calls))

    @property
    def costs(self) -> Costs:
        """The fewest seconds, in those of the unit."""
        unit = self._seconds["unit"]
        ratios = {name: spent / unit for name, spent in self._seconds.items() if name != "unit"}
        return Costs(bytes=len(self.data), **ratios)

    @property
    def cost_of_a_byte(self) -> float:
        """Seconds of a verdict for each byte."""
        return self._seconds["verdict"] / len(self.data)


def _seconds(task: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        task()
    return (time.process_time() - start) / calls


def _peak_memory(path: Path) -> float:
    """Peak memory of a verdict on the document at *path*, in its bytes, in a process of its own."""
    call = [sys.executable, "-c", f"import {__name__} as bench; bench.print_peak({str(path)!r})"]
    answer = subprocess.run(call, check=True, capture_output=True, text=True)
    return float(answer.stdout)


def print_peak(path: str) -> None:
    """Judge the document at *path*; print by how much of its length the peak of memory rose."""
    data = Path(path).read_bytes()
    judge(real_manifest(), DEFAULT_KEY_GROUP_COUNT)
    before = _peak_bytes()
    judge(data, DEFAULT_KEY_GROUP_COUNT)
    print((_peak_bytes() - before) / len(data))


def _peak_bytes() -> int:
    """The most resident memory that this process has had.

    Linux hands ``ru_maxrss`` down from the parent, so its own account of the process is asked.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
