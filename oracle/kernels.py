"""Pure functions on plain values: the kernels on which the rules stand.

They know nothing of manifests, so each can be read, tested and checked by itself. Offsets and
lengths are unsigned 64-bit numbers of bytes, watermarks are signed 64-bit milliseconds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq, lt
from typing import Any, TypeVar

from oracle.constants import (
    I64_MIN,
    MAX_OUTPUT_FRAMES_PER_SEGMENT,
    MAX_OUTPUT_SEGMENT_BYTES,
    U64_MAX,
)

Chunk = TypeVar("Chunk", bound=Hashable)

_HYPHENATED_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX_DIGITS = "0123456789abcdef"

# The White_Space property of Unicode, which is what Rust's `str::trim` removes. Python's
# `str.strip` also removes U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def range_end(offset: int, length: int) -> int | None:
    """The exclusive end of a byte range, or ``None`` where it passes u64."""
    end = offset + length
    return end if end <= U64_MAX else None


def ends_beyond(offset: int, length: int, object_length: int) -> bool:
    """Whether a range that does not overflow ends after its object does."""
    end = range_end(offset, length)
    return end is not None and end > object_length


def strictly_ascending(items: Sequence[Any]) -> bool:
    """Whether each item is greater than the one before it; strings compare by UTF-8 bytes.

    Python compares strings by code point, which orders them exactly as their UTF-8 bytes do.
    """
    return all(map(lt, items, items[1:]))


def first_disorder(items: Sequence[Any]) -> int | None:
    """Index of the first item that is not greater than the one before it, if there is one."""
    if strictly_ascending(items):
        return None
    for index in range(1, len(items)):
        if not items[index - 1] < items[index]:
            return index
    return None


def is_sha256_text(text: str) -> bool:
    """Whether *text* is exactly 64 of ``0-9a-f``."""
    return len(text) == 64 and not text.strip(_HEX_DIGITS)


def is_canonical_uuid(text: str) -> bool:
    """Whether *text* is a UUID, not nil, hyphenated and in lower case."""
    return _HYPHENATED_UUID.fullmatch(text) is not None and text.strip("-0") != ""


def is_trimmed(text: str) -> bool:
    """Whether *text* neither starts nor ends with Unicode white space (Rust's ``trim``)."""
    return text.strip(WHITE_SPACE) == text


@dataclass(frozen=True, slots=True)
class Gap:
    """A range that does not start where the one before it ended."""

    index: int
    offset: int
    expected: int


@dataclass(frozen=True, slots=True)
class Tiling:
    """How ranges lie one after another: the places where they do not meet, and their end."""

    gaps: tuple[Gap, ...]
    end: int


def tile(ranges: Iterable[tuple[int, int]]) -> Tiling:
    """Walk (offset, length) pairs that should follow each other from 0 without a gap.

    A range that overflows does not move the place where the next one is expected.
    """
    gaps: list[Gap] = []
    expected = 0
    for index, (offset, length) in enumerate(ranges):
        if offset != expected:
            gaps.append(Gap(index, offset, expected))
        end = range_end(offset, length)
        if end is not None:
            expected = end
    return Tiling(tuple(gaps), expected)


def has_reserved_watermark(watermarks: Iterable[int | None]) -> bool:
    """Whether i64's minimum, which no channel may report, stands among *watermarks*."""
    return I64_MIN in watermarks


@dataclass(frozen=True, slots=True)
class CheckpointWatermark:
    """The event-time state of a set of channels: ``active`` with its value, or without one.

    ``state`` is ``active``, ``idle`` (no channel counts) or ``uninitialized`` (an active
    channel has not reported yet).
    """

    state: str
    value: int | None = None


IDLE = CheckpointWatermark("idle")
UNINITIALIZED = CheckpointWatermark("uninitialized")


def classify(channels: Iterable[tuple[int | None, bool]]) -> CheckpointWatermark:
    """Classify (watermark, idle) pairs; the order of the channels does not matter."""
    active = [watermark for watermark, idle in channels if not idle]
    if not active:
        return IDLE
    known = [watermark for watermark in active if watermark is not None]
    if len(known) < len(active):
        return UNINITIALIZED
    return CheckpointWatermark("active", min(known))


def frontier(channels: Sequence[tuple[int | None, bool]]) -> int | None:
    """The watermark that a source has passed, or ``None`` where it has none.

    The active value; else, with every channel idle, the largest that an idle one reported.
    """
    watermark = classify(channels)
    if watermark is IDLE:
        return max((value for value, _ in channels if value is not None), default=None)
    return watermark.value


def rosters_differ(declared: Sequence[bytes], observed: Iterable[bytes]) -> bool:
    """Whether the observed channels, sorted, are not exactly the declared ones."""
    return sorted(observed) != list(declared)


def view_log_segment_limit(participants: int, in_manifest: int, in_cluster: int) -> int:
    """The most segments that one manifest of a cut of so many *participants* may retain.

    An even share of the *in_cluster* budget, rounded down, and never above *in_manifest*. A cut
    has at least 1 participant, else :class:`ValueError`; a local manifest is a cut of 1.
    """
    if participants < 1:
        raise ValueError(f"a cut has at least 1 participant, not {participants}")
    return min(in_manifest, in_cluster // participants)


def row_gaps(runs: Sequence[tuple[int, int, int]]) -> list[int]:
    """Indices of the (partition, first_row, row_count) runs that do not continue the one before.

    Only neighbours of one partition are compared: the first run of a partition may start at any
    row, and nothing can continue a run that passes u64.
    """
    gaps: list[int] = []
    for index in range(1, len(runs)):
        partition, first_row, _ = runs[index]
        partition_before, first_row_before, row_count_before = runs[index - 1]
        end = range_end(first_row_before, row_count_before)
        if partition == partition_before and end is not None and first_row != end:
            gaps.append(index)
    return gaps


def uses_by_chunk(chunks: Iterable[Chunk], current: Chunk) -> Counter[Chunk]:
    """How often each chunk but the *current* one is named among *chunks*."""
    uses = Counter(chunks)
    del uses[current]
    return uses


def outside_domain(vnodes: Sequence[int], vnode_count: int) -> list[int]:
    """Indices of the *vnodes* that are not below *vnode_count*."""
    if not vnodes or max(vnodes) < vnode_count:
        return []
    return [index for index, vnode in enumerate(vnodes) if vnode >= vnode_count]


def owns_every_vnode(owned: Sequence[int], vnode_count: int) -> bool:
    """Whether *owned* is exactly 0..vnode_count, in order."""
    return len(owned) == vnode_count and all(map(eq, owned, range(vnode_count)))


def is_segment_extent(
    first: int, exclusive_end: int, frame_count: int, row_count: int, encoded_length: int
) -> bool:
    """Whether an output segment's sequences, counts and length in bytes can be those of one."""
    return (
        frame_count == exclusive_end - first
        and 1 <= frame_count <= MAX_OUTPUT_FRAMES_PER_SEGMENT
        and row_count >= 1
        and 1 <= encoded_length <= MAX_OUTPUT_SEGMENT_BYTES
    )


@dataclass(frozen=True, slots=True)
class SequenceFault:
    """A place where segments do not make up ranges of sequences.

    ``kind`` is ``gap`` (a segment does not start where the one before ended, the first where its
    range starts), ``beyond`` (a segment ends past its range), ``short`` (the segments of a range
    end before it does) or ``stray`` (the segment's partition has no range). ``index`` is of the
    range for ``short``, else of the segment; ``found`` and ``expected`` are sequences, for
    ``stray`` the partition and ``None``.
    """

    kind: str
    index: int
    found: int
    expected: int | None


def sequence_faults(
    ranges: Iterable[tuple[int, int, int]], segments: Iterable[tuple[int, int, int]]
) -> Iterator[SequenceFault]:
    """Walk ranges and segments side by side, as both ascend by partition.

    Ranges are (partition, first, through), segments (partition, first, exclusive end).
    """
    remaining = list(enumerate(segments))[::-1]
    for number, (partition, first, through) in enumerate(ranges):
        cursor = first
        while remaining and remaining[-1][1][0] <= partition:
            index, (owner, start, end) = remaining.pop()
            if owner < partition:
                yield SequenceFault("stray", index, owner, None)
                continue
            if start != cursor:
                yield SequenceFault("gap", index, start, cursor)
            cursor = end
            if end > through:
                yield SequenceFault("beyond", index, end, through)
        if cursor != through:
            yield SequenceFault("short", number, cursor, through)
    for index, (owner, _, _) in reversed(remaining):
        yield SequenceFault("stray", index, owner, None)
