"""Naive restatements of kernels, which ``crosshair diffbehavior`` holds against the kernels.

Each says the same thing by another route: a loop instead of a built-in function, subtraction
instead of addition, dealing out instead of dividing.
"""

from __future__ import annotations

from oracle import kernels
from oracle.constants import U64_MAX
from oracle.kernels import IDLE, UNINITIALIZED, WHITE_SPACE, CheckpointWatermark, Gap, Tiling
from tests.contracts import narrowed
from tests.contracts.narrowed import Channel, Range, Run
from tests.contracts.table import State, restates


@restates(kernels.range_end)
def range_end(offset: int, length: int) -> int | None:
    """A range ends where no more than its length is taken of the room above its offset."""
    room = U64_MAX - offset
    return None if length > room else U64_MAX - (room - length)


@restates(kernels.ends_beyond)
def ends_beyond(offset: int, length: int, object_length: int) -> bool:
    """A range ends beyond its object when its end lies between the object's and u64's greatest."""
    return object_length < offset + length <= U64_MAX


@restates(narrowed.strictly_ascending)
def strictly_ascending(first: int, second: int, third: int) -> bool:
    """Numbers ascend when no later one is at most an earlier one."""
    return not (second <= first or third <= first or third <= second)


@restates(narrowed.first_disorder)
def first_disorder(first: int, second: int, third: int) -> int | None:
    """The first number out of order ends the longest start that ascends."""
    if second <= first:
        return 1
    return 2 if third <= second else None


@restates(narrowed.tile, cpu_seconds=2.5)
def tile(first: Range, second: Range) -> Tiling:
    """Ranges are expected at 0 and at the end of the last range before that has one."""
    expected = [0]
    for offset, length in (first, second):
        expected.append(offset + length if offset + length <= U64_MAX else expected[-1])
    starts = [(0, first[0], expected[0]), (1, second[0], expected[1])]
    return Tiling(tuple(Gap(*start) for start in starts if start[1] != start[2]), expected[2])


@restates(narrowed.classify)
def classify(first: Channel, second: Channel) -> CheckpointWatermark:
    """Channels are walked once, remembering whether one waits and what is smallest."""
    waits, smallest = False, None
    for watermark, idle in (first, second):
        if idle:
            continue
        if watermark is None:
            waits = True
        elif smallest is None or watermark < smallest:
            smallest = watermark
    if waits:
        return UNINITIALIZED
    return IDLE if smallest is None else CheckpointWatermark("active", smallest)


@restates(narrowed.frontier)
def frontier(first: Channel, second: Channel) -> int | None:
    """A frontier is the least of the active channels, all known, or else the most of the idle."""
    (watermark, idle), (other, other_idle) = first, second
    if not idle and not other_idle:
        return None if watermark is None or other is None else min(watermark, other)
    if not idle:
        return watermark
    if not other_idle:
        return other
    if watermark is None or other is None:
        return watermark if other is None else other
    return max(watermark, other)


@restates(narrowed.view_log_segment_limit, cpu_seconds=5)
def view_log_segment_limit(participants: int, in_manifest: int, in_cluster: int) -> int:
    """Segments are dealt out round by round while a full round is left."""
    if participants < 1 or not 0 <= in_manifest <= 4 or in_cluster < 0:
        raise ValueError
    share = 0
    while share < in_manifest and in_cluster >= participants:
        share += 1
        in_cluster -= participants
    return share


@restates(narrowed.outside_domain)
def outside_domain(first: int, second: int, vnode_count: int) -> list[int]:
    """Each vnode is asked whether it is below the count."""
    return [index for index, vnode in enumerate((first, second)) if not vnode < vnode_count]


@restates(narrowed.row_gaps)
def row_gaps(run: Run, after: Run) -> list[int]:
    """A run that starts before or after the end of the one before it leaves a gap or overlaps."""
    end = run[1] + run[2]
    apart = after[1] < end or after[1] > end
    return [1] if apart and run[0] == after[0] and end <= U64_MAX else []


@restates(narrowed.is_trimmed)
def is_trimmed(first: int, second: int) -> bool:
    """A text is trimmed when neither of its ends is white space."""
    ends = (chr(first), chr(second))
    return ends[0] not in WHITE_SPACE and ends[1] not in WHITE_SPACE


@restates(narrowed.uses_by_chunk, expected=State.NO_COUNTEREXAMPLE)
def uses_by_chunk(first: int, second: int, current: int, chunk: int) -> int:
    """A chunk is used once by each payload that names it, unless it is the current one."""
    return 0 if chunk == current else (first == chunk) + (second == chunk)


@restates(kernels.is_sha256_text, expected=State.NO_COUNTEREXAMPLE)
def is_sha256_text(text: str) -> bool:
    """SHA-256 text is 64 characters, each of them one of 0-9a-f."""
    return len(text) == 64 and all(character in "0123456789abcdef" for character in text)
