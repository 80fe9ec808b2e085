"""Naive restatements of kernels, which ``crosshair diffbehavior`` holds against the kernels.

Each says the same thing by another route: by counting instead of comparing, by a loop instead of a
built-in function, by subtraction instead of addition. Lists that may be of anything are given a
type by a front of the same name in :mod:`tests.contracts.narrowed`.
"""

from __future__ import annotations

from oracle import kernels
from oracle.constants import U64_MAX
from oracle.kernels import (
    IDLE,
    UNINITIALIZED,
    WHITE_SPACE,
    CheckpointWatermark,
    Gap,
    Tiling,
)
from tests.contracts import narrowed
from tests.contracts.table import State, restates


@restates(kernels.range_end)
def range_end(offset: int, length: int) -> int | None:
    """The end is what length leaves of the room above offset."""
    if length > U64_MAX - offset:
        return None
    return U64_MAX - (U64_MAX - offset - length)


@restates(kernels.ends_beyond)
def ends_beyond(offset: int, length: int, object_length: int) -> bool:
    """The end is between the object's length and u64's greatest."""
    return object_length < offset + length <= U64_MAX


@restates(narrowed.strictly_ascending)
def strictly_ascending(items: list[int]) -> bool:
    """Sorted, and as many as there are different ones."""
    narrowed.at_most(3, items)
    for index, item in enumerate(items):
        for later in items[index + 1 :]:
            if later <= item:
                return False
    return True


@restates(narrowed.first_disorder)
def first_disorder(items: list[int]) -> int | None:
    """The length of the longest ascending start, unless that is the whole list."""
    narrowed.at_most(3, items)
    for length in range(1, len(items) + 1):
        if not strictly_ascending(items[:length]):
            return length - 1
    return None


@restates(narrowed.tile)
def tile(ranges: list[tuple[int, int]]) -> Tiling:
    """The place where a range is expected, looked up anew from the ranges before it."""
    narrowed.at_most(2, ranges)

    def expected(index: int) -> int:
        for offset, length in reversed(ranges[:index]):
            if offset + length <= U64_MAX:
                return offset + length
        return 0

    starts = [(index, offset, expected(index)) for index, (offset, _) in enumerate(ranges)]
    gaps = tuple(Gap(*start) for start in starts if start[1] != start[2])
    return Tiling(gaps, expected(len(ranges)))


@restates(narrowed.classify)
def classify(channels: list[tuple[int | None, bool]]) -> CheckpointWatermark:
    """One walk that remembers whether a channel waits and what is smallest."""
    narrowed.at_most(2, channels)
    waits, smallest = False, None
    for watermark, idle in channels:
        if not idle and watermark is None:
            waits = True
        if not idle and watermark is not None and (smallest is None or watermark < smallest):
            smallest = watermark
    if waits:
        return UNINITIALIZED
    return IDLE if smallest is None else CheckpointWatermark("active", smallest)


@restates(narrowed.frontier)
def frontier(channels: list[tuple[int | None, bool]]) -> int | None:
    """The least of the active channels, if all have reported; else the most of the idle ones."""
    narrowed.at_most(2, channels)
    active = sorted(channels, key=lambda channel: (channel[1], channel[0] is not None))
    if not active or active[0][1]:
        known = [watermark for watermark, _ in channels if watermark is not None]
        return sorted(known)[-1] if known else None
    return classify(channels).value


@restates(narrowed.view_log_segment_limit)
def view_log_segment_limit(participants: int, in_manifest: int, in_cluster: int) -> int:
    """Segments are dealt out round by round, while a full round is left."""
    narrowed.deal(participants, in_manifest, in_cluster)
    share = 0
    while share < in_manifest and in_cluster >= participants:
        share += 1
        in_cluster -= participants
    return share


@restates(narrowed.outside_domain)
def outside_domain(vnodes: list[int], vnode_count: int) -> list[int]:
    """Each vnode is asked."""
    narrowed.at_most(2, vnodes)
    return [index for index, vnode in enumerate(vnodes) if not vnode < vnode_count]


@restates(narrowed.row_gaps)
def row_gaps(runs: list[tuple[int, int, int]]) -> list[int]:
    """Each neighbour is asked whether it continues, from the back."""
    narrowed.at_most(2, runs)
    return [
        index
        for index in reversed(range(len(runs)))
        if index
        and runs[index - 1][0] == runs[index][0]
        and sum(runs[index - 1][1:]) <= U64_MAX
        and sum(runs[index - 1][1:]) != runs[index][1]
    ][::-1]


@restates(narrowed.is_trimmed)
def is_trimmed(text: str) -> bool:
    """Neither end is white space."""
    narrowed.at_most(2, text)
    return not text or (text[0] not in WHITE_SPACE and text[-1] not in WHITE_SPACE)


@restates(kernels.is_sha256_text, expected=State.NO_COUNTEREXAMPLE, cpu_seconds=8)
def is_sha256_text(text: str) -> bool:
    """Each of 64 characters is asked."""
    return len(text) == 64 and all(character in "0123456789abcdef" for character in text)


@restates(narrowed.uses_by_chunk, expected=State.NO_COUNTEREXAMPLE, cpu_seconds=8)
def uses_by_chunk(chunks: list[int], current: int, chunk: int) -> int:
    """The chunks are counted one by one."""
    narrowed.at_most(3, chunks)
    return sum(1 for named in chunks if named == chunk != current)
