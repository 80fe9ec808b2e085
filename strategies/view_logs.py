"""Retained view logs: few hard ones, as many as may be kept, and ones as a deployment has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from oracle import (
    ByteRange,
    CheckpointManifest,
    Contract,
    EventTimeBounds,
    PreparedSinkArtifactIntent,
    PreparedSinkDescriptor,
    StateChunkId,
    ViewLog,
    ViewLogSegment,
)
from oracle.constants import I64_MAX, U64_MAX
from oracle.kernels import view_log_segment_limit
from strategies import parts
from strategies.choices import Choices
from strategies.dice import Dice, dice
from strategies.traits import NAME_TRAITS, Trait, Wishes

MAX_LOGS = 3
MAX_SEGMENTS = 3
"""Of one partition of one log, where not many are asked for."""

RangeDigest = Callable[[StateChunkId, ByteRange], str]


@dataclass(frozen=True, slots=True)
class Run:
    """A segment before it has a range: which object it lies in, and how long it is there."""

    partition: int
    first_row: int
    row_count: int
    event_time: EventTimeBounds | None
    object: int
    length: int


Runs = list[tuple[str, list[Run]]]
"""Names of logs with their segments."""


# --- few -------------------------------------------------------------------------------------


def runs_of(choices: Choices, owned: Sequence[int], older: int) -> Runs:
    """View logs as wished: none, or a few with segments in the objects 0..=*older* + 1.

    Object 0 is the current one; the one behind the older ones is in use by segments alone, and
    only there when one of the segments lies in it.
    """
    wished = choices.wished
    if not choices.has(Trait.VIEW_LOG):
        return []
    fillable = _fillable(wished, older)
    if not fillable and not wished.allows(Trait.EMPTY_VIEW_LOG):
        return []
    kinds = _asked_logs(wished)
    several = len(kinds) > 1 or (_may_be_several(wished) and choices.has(Trait.SEVERAL_VIEW_LOGS))
    table = parts.hard_names(wished.without.intersection(NAME_TRAITS))
    least = max(len(kinds), 1 + several)
    names = parts.roster_of(choices, table, least, MAX_LOGS if several else 1)
    drawn = _Runs(choices, owned, older)
    return [
        (name, drawn.of_log(kinds[index] if index < len(kinds) else None) if fillable else [])
        for index, name in enumerate(names)
    ]


def _fillable(wished: Wishes, older: int) -> bool:
    """Whether logs may have segments, with so many older objects."""
    in_older = older > 0 and wished.allows(Trait.OLDER_SEGMENT)
    in_any = in_older or wished.allows(Trait.CURRENT_SEGMENT)
    return in_any and wished.allows(Trait.LOG_SEGMENT)


def contradiction(wished: Wishes) -> str | None:
    """What about view logs cannot be had together, though each could by itself."""
    if len(_asked_logs(wished)) > 1 and not wished.allows(Trait.SEVERAL_VIEW_LOGS):
        return "a view log with segments and one without are several"
    if wished.demands(Trait.SEVERAL_VIEW_LOGS) and not _may_be_several(wished):
        return "of several view logs none is empty only if there are several segments"
    if _fewest_segments(wished) > 1 and not wished.allows(Trait.SEVERAL_LOG_SEGMENTS):
        return "what is asked for takes several segments"
    return None


def _may_be_several(wished: Wishes) -> bool:
    return wished.allows(Trait.EMPTY_VIEW_LOG) or wished.allows(Trait.SEVERAL_LOG_SEGMENTS)


def _asked_logs(wished: Wishes) -> list[bool]:
    """Whether each of the first logs is to have segments."""
    kinds = (Trait.LOG_SEGMENT, True), (Trait.EMPTY_VIEW_LOG, False)
    asked = [filled for trait, filled in kinds if wished.demands(trait)]
    return asked or [wished.allows(Trait.LOG_SEGMENT)] * wished.demands(Trait.VIEW_LOG)


def _fewest_segments(wished: Wishes) -> int:
    """How many segments there are at least, for what is asked for."""
    least = 2 if wished.demands(Trait.SEVERAL_LOG_SEGMENTS) else 0
    return max(least, len(_asked_objects(wished)), len(_asked_times(wished)))


def _asked_objects(wished: Wishes) -> list[Trait]:
    asked = [trait for trait in (Trait.CURRENT_SEGMENT,) if wished.demands(trait)]
    if wished.demands(Trait.OLDER_SEGMENT, Trait.SEGMENT_OBJECT):
        asked.append(Trait.OLDER_SEGMENT)
    return asked


def _asked_times(wished: Wishes) -> list[Trait]:
    times = (Trait.EVENT_TIME, Trait.NO_EVENT_TIME)
    return [trait for trait in times if wished.demands(trait)]


class _Runs:
    """Draws the segments of one manifest's logs; what is asked for, the first ones have."""

    def __init__(self, choices: Choices, owned: Sequence[int], older: int) -> None:
        self._choices = choices
        self._owned = owned
        self._older = older
        self._made = 0

    def of_log(self, filled: bool | None) -> list[Run]:
        choices, wished = self._choices, self._choices.wished
        if filled is None:
            filled = choices.has(Trait.LOG_SEGMENT, due=False)
            if not filled and not wished.allows(Trait.EMPTY_VIEW_LOG):
                filled = True
        several = wished.allows(Trait.SEVERAL_LOG_SEGMENTS)
        if not filled or (self._made and not several):
            return []
        least = max(1, _fewest_segments(wished) - self._made) if not self._made else 1
        first = choices.roll(0, min(len(self._owned) - 1, 255))
        spread = choices.roll(1, 3) if several else 1
        partitions = self._owned[first : first + spread]
        runs: list[Run] = []
        for partition in partitions:
            count = choices.roll(least, max(least, MAX_SEGMENTS)) if several else 1
            runs += self._of_partition(partition, count)
            least = 1
        return runs

    def _of_partition(self, partition: int, count: int) -> Iterator[Run]:
        choices = self._choices
        counts = [1 + choices.number(choices.roll(0, 2)) for _ in range(count)]
        row = choices.number(choices.pick((0, 1, 4, 7)))
        if choices.has(Trait.U64_ROWS, odds=8, due=not self._made):
            row = U64_MAX - sum(counts)
        for row_count in counts:
            yield Run(partition, row, row_count, self._event_time(), self._object(), self._length())
            row += row_count
            self._made += 1

    def _length(self) -> int:
        return self._choices.length(2)

    def _object(self) -> int:
        choices, wished = self._choices, self._choices.wished
        asked = _asked_objects(wished)
        if self._made < len(asked):
            older = asked[self._made] is Trait.OLDER_SEGMENT
        elif not wished.allows(Trait.CURRENT_SEGMENT):
            older = True
        else:
            older = bool(self._older) and choices.has(Trait.OLDER_SEGMENT, due=False)
        if not older:
            return 0
        last = self._older + wished.allows(Trait.SEGMENT_OBJECT)
        if wished.demands(Trait.SEGMENT_OBJECT) and self._made < len(asked):
            return last
        return choices.roll(1, last)

    def _event_time(self) -> EventTimeBounds | None:
        choices, wished = self._choices, self._choices.wished
        asked = _asked_times(wished)
        if self._made < len(asked):
            timed = asked[self._made] is Trait.EVENT_TIME
        elif not wished.allows(Trait.NO_EVENT_TIME):
            timed = True
        else:
            timed = choices.has(Trait.EVENT_TIME, due=False)
        if not timed:
            return None
        first = parts.watermark_of(choices)
        if choices.has(Trait.INSTANT, odds=3, due=self._made == 0):
            return EventTimeBounds(first, first)
        last = min(first + 1 + choices.number(choices.pick((0, 2, 8))), I64_MAX)
        return EventTimeBounds(min(first, last - 1), last)


def placed(
    runs: Runs, objects: Sequence[StateChunkId], lengths: list[int], digest: RangeDigest
) -> tuple[ViewLog, ...]:
    """*runs* with ranges behind what lies in their objects; the *lengths* of these grow."""

    def segment(run: Run) -> ViewLogSegment:
        chunk, part = objects[run.object], ByteRange(lengths[run.object], run.length)
        lengths[run.object] += run.length
        return ViewLogSegment(
            run.partition,
            run.first_row,
            run.row_count,
            run.event_time,
            chunk,
            part,
            digest(chunk, part),
        )

    return tuple(ViewLog(name, tuple(map(segment, log))) for name, log in runs)


# --- editing ---------------------------------------------------------------------------------


def segments_of(manifest: CheckpointManifest) -> list[ViewLogSegment]:
    """The segments of all logs, in order."""
    return [segment for log in manifest.view_logs for segment in log.segments]


def with_segments(
    manifest: CheckpointManifest, segments: Iterable[ViewLogSegment]
) -> CheckpointManifest:
    """*manifest* with other segments, as many, in the places of those that it has."""
    left = iter(segments)
    logs = tuple(
        replace(log, segments=tuple(next(left) for _ in log.segments)) for log in manifest.view_logs
    )
    return replace(manifest, view_logs=logs)


# --- many ------------------------------------------------------------------------------------


def limit_of(contract: Contract, participants: int) -> int:
    """The most segments that one manifest may retain in a cut of so many *participants*."""
    return view_log_segment_limit(
        participants, contract.max_view_log_segments, contract.max_cluster_view_log_segments
    )


def participants_of(manifest: CheckpointManifest) -> int:
    """How many take part in the cut; of a local one it is 1."""
    fence = manifest.assignment_fence
    return 1 if fence is None else len(fence.participants)


def filled_up(manifest: CheckpointManifest, contract: Contract) -> CheckpointManifest:
    """*manifest*, which has no view logs, with as many segments as it may retain."""
    return retaining(manifest, limit_of(contract, participants_of(manifest)))


def retaining(manifest: CheckpointManifest, count: int, logs: int = 1) -> CheckpointManifest:
    """*manifest*, which has no view logs, with *count* segments of one byte, allowed or not."""
    current = manifest.current_chunk
    frames = [frame.range for frame in manifest.state_frames if frame.chunk == current]
    start = sum(part.length for part in frames)

    def moved(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(
            entry
            if entry.payload is None
            else replace(entry, payload=replace(entry.payload, offset=entry.payload.offset + count))
            for entry in entries
        )

    data = manifest.node_data
    return replace(
        manifest,
        node_data=replace(data, object_length=data.object_length + count),
        view_logs=many_logs(manifest, count, start, logs),
        sink_artifact_intents=moved(manifest.sink_artifact_intents),
        prepared_sinks=moved(manifest.prepared_sinks),
    )


Entry = TypeVar("Entry", PreparedSinkArtifactIntent, PreparedSinkDescriptor)


def many_logs(
    manifest: CheckpointManifest, count: int, start: int = 0, logs: int = 1
) -> tuple[ViewLog, ...]:
    """*count* segments of one byte each in the current object from *start* on, in *logs* logs."""
    chunk, partition = manifest.current_chunk, manifest.owned_vnodes[0]
    digest = sha256(b"%d" % manifest.checkpoint_id).hexdigest()
    segments = [
        ViewLogSegment(partition, row, 1, None, chunk, ByteRange(start + row, 1), digest)
        for row in range(count)
    ]
    share = -(-count // logs)
    return tuple(
        ViewLog(f"view-{number:03}", tuple(segments[number * share : (number + 1) * share]))
        for number in range(logs)
    )


# --- realistic -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a deployment's segments have in common: how far it has come, and how much it keeps.

    ``checkpoints`` were made so far; a partition has had ``rows`` rows; ``now`` is milliseconds
    since the Unix epoch.
    """

    checkpoints: int
    participants: int
    vnodes: int
    rows: int
    now: int


_DEPLOYMENTS = st.builds(
    Deployment,
    checkpoints=st.integers(10_000, 50_000_000),
    participants=st.integers(1, 16),
    vnodes=st.sampled_from((64, 128, 256, 256, 256, 1024)),
    rows=st.integers(10**6, 10**11),
    now=st.integers(1_700_000_000_000, 1_900_000_000_000),
)


def realistic_segments() -> SearchStrategy[ViewLogSegment]:
    """Segments as a deployment that has run for a while retains them.

    Compacted to between 64 KiB and 64 MiB, of rows of 20 to 500 bytes, in objects of up to 4 GiB;
    almost all have event times. Only their encoded size is meant to be realistic.
    """
    return st.builds(realistic_segment, _DEPLOYMENTS, dice(24))


def realistic_segment(deployment: Deployment, rolled: Dice) -> ViewLogSegment:
    """One segment of *deployment*, from 24 bytes of *rolled*."""
    length = 64 * 1024 + rolled.number(3) * 4
    rows = max(1, length // (20 + rolled.number(2) % 480))
    last = deployment.now - rolled.number(4)
    timed = not rolled.once_in(20)
    return ViewLogSegment(
        partition=rolled.number(2) % deployment.vnodes,
        first_row=rolled.number(5) % deployment.rows,
        row_count=rows,
        event_time=EventTimeBounds(last - rolled.number(3), last) if timed else None,
        chunk=StateChunkId(
            1 + rolled.number(1) % deployment.participants,
            max(1, deployment.checkpoints - rolled.number(2)),
        ),
        range=ByteRange(rolled.number(4), length),
        sha256=sha256(b"%d" % rolled.number(2)).hexdigest(),
    )
