"""Runs of sequences and rows: segments of subscription output and of view logs."""

from itertools import pairwise

from oracle.constants import MAX_OUTPUT_FRAMES_PER_SEGMENT
from oracle.kernels import is_segment_extent, row_gaps, sequence_faults
from tests.contracts.table import theorem
from tests.contracts.theorems.domains import are_u64


def faults(first: int, through: int, segments: list[tuple[int, int]]) -> bool:
    """Whether (first, exclusive end) segments do not make up the one range of their partition."""
    return any(sequence_faults([(0, first, through)], [(0, *segment) for segment in segments]))


def are_segments(segments: list[tuple[int, int]]) -> bool:
    """Whether *segments* are at most three (first, exclusive end) pairs of at least one each."""
    return len(segments) <= 3 and all(start < end for start, end in segments)


def holders(segments: list[tuple[int, int]], sequence: int) -> int:
    """How many (first, exclusive end) *segments* the *sequence* belongs to."""
    return sum(start <= sequence < end for start, end in segments)


@theorem(example=(5, 9, [(5, 7), (7, 9)], 8), cpu_seconds=4)
def a_run_holds_each_sequence_once(
    first: int, through: int, segments: list[tuple[int, int]], sequence: int
) -> None:
    """Segments without fault hold each sequence of their range exactly once."""
    assert are_segments(segments)
    assert first <= sequence < through
    assert not faults(first, through, segments)
    found = holders(segments, sequence)
    assert found == 1


@theorem(example=(5, 9, [(5, 7), (7, 9)], 9), cpu_seconds=6)
def a_run_holds_nothing_else(
    first: int, through: int, segments: list[tuple[int, int]], sequence: int
) -> None:
    """Segments without fault hold no sequence outside their range."""
    assert are_segments(segments)
    assert sequence < first or sequence >= through
    assert not faults(first, through, segments)
    found = holders(segments, sequence)
    assert found == 0


@theorem(example=(5, 9, [(5, 7), (7, 9)]), cpu_seconds=5)
def holding_each_sequence_once_is_a_run(
    first: int, through: int, segments: list[tuple[int, int]]
) -> None:
    """Segments in order, inside their range, that hold each sequence of it once have no fault.

    The first sequence and those at which a segment ends stand for all.
    """
    assert are_segments(segments)
    assert first <= through
    assert all(before[1] <= after[0] for before, after in pairwise(segments))
    assert all(first <= start and end <= through for start, end in segments)
    assert first == through or holders(segments, first) == 1
    assert all(end == through or holders(segments, end) == 1 for _, end in segments)
    faulty = faults(first, through, segments)
    assert not faulty


@theorem(example=([(0, 1, 3), (4, 0, 2)], [(0, 1, 3), (4, 0, 2)], 1), cpu_seconds=10)
def no_segment_is_left_over(
    ranges: list[tuple[int, int, int]], segments: list[tuple[int, int, int]], index: int
) -> None:
    """Where there is no fault, every segment is of a partition that has a range."""
    assert max(len(ranges), len(segments)) <= 2
    assert not any(sequence_faults(ranges, segments))
    assert 0 <= index < len(segments)
    partition = segments[index][0]
    assert any(partition == owner for owner, _, _ in ranges)


@theorem(example=(1, 3, 2, 9, 4096))
def a_segment_has_frames_and_an_end(
    first: int, end: int, frames: int, rows: int, length: int
) -> None:
    """A segment ends after its first sequence, at most 1,024 frames later, and is not empty."""
    assert are_u64(first, end, frames, rows, length)
    assert is_segment_extent(first, end, frames, rows, length)
    count = end - first
    assert 1 <= count <= MAX_OUTPUT_FRAMES_PER_SEGMENT
    assert rows > 0
    assert length > 0


@theorem(example=(5, 2, [3, 1], 7))
def contiguous_rows_are_each_in_one_run(
    first_row: int, row_count: int, more: list[int], row: int
) -> None:
    """Runs of one partition without a gap hold each row from the first to the last exactly once."""
    assert len(more) <= 2
    assert are_u64(first_row, row_count)
    assert are_u64(*more)
    runs = [(0, first_row, row_count)]
    for count in more:
        runs.append((0, runs[-1][1] + runs[-1][2], count))
    end = runs[-1][1] + runs[-1][2]
    if are_u64(end) and first_row <= row < end:
        assert row_gaps(runs) == []
        assert sum(start <= row < start + count for _, start, count in runs) == 1


@theorem(example=((3, 5, 2), (3, 8, 1)), cpu_seconds=2.5)
def a_row_between_runs_is_a_gap(run: tuple[int, int, int], after: tuple[int, int, int]) -> None:
    """Of two runs of one partition, the second is a gap unless it starts where the first ends."""
    assert are_u64(*(run + after))
    assert are_u64(run[1] + run[2])
    assert run[0] == after[0]
    meet = after[1] == run[1] + run[2]
    assert row_gaps([run, after]) == ([] if meet else [1])


@theorem(example=((3, 5, 2), (4, 9, 1)))
def partitions_are_not_compared(run: tuple[int, int, int], after: tuple[int, int, int]) -> None:
    """The first run of a partition may start at any row, since retention drops the oldest."""
    assert run[0] != after[0]
    gaps = row_gaps([run, after])
    assert gaps == []


@theorem(example=([(3, 5, 2), (3, 7, 1)],), cpu_seconds=4)
def retention_leaves_no_gap(runs: list[tuple[int, int, int]]) -> None:
    """Runs without a gap have none when the oldest is dropped."""
    assert 1 <= len(runs) <= 3
    assert not row_gaps(runs)
    kept = runs[1:]
    assert row_gaps(kept) == []
