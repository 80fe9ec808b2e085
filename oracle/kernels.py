"""Pure functions on plain values: the kernels on which the rules stand.

They know nothing of manifests, so each can be read, tested and checked by itself. Offsets and
lengths are unsigned 64-bit numbers of bytes, watermarks are signed 64-bit milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import lt
from typing import Any

from oracle.constants import I64_MIN, U64_MAX

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
