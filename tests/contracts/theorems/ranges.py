"""Byte ranges: their ends, what holds them, and how they tile an object."""

from oracle.constants import U64_MAX
from oracle.kernels import ends_beyond, range_end, tile
from tests.contracts.table import theorem
from tests.contracts.theorems.domains import are_ranges, are_u64, holders, lie_in_order


@theorem(example=(3, 4))
def an_end_never_wraps(offset: int, length: int) -> None:
    """Where a range has an end, it is offset plus length, not before offset, and a u64."""
    assert are_u64(offset, length)
    end = range_end(offset, length)
    assert end is None or (offset <= end <= U64_MAX and end - offset == length)


@theorem(example=(3, U64_MAX))
def only_overflow_has_no_end(offset: int, length: int) -> None:
    """A range has no end exactly when its length is more than what u64 leaves after offset."""
    assert are_u64(offset, length)
    assert (range_end(offset, length) is None) == (length > U64_MAX - offset)


@theorem(example=(3, 4, 7, 6))
def a_range_that_fits_has_no_byte_outside(
    offset: int, length: int, object_length: int, byte: int
) -> None:
    """A range that neither overflows nor ends beyond its object has every byte inside it."""
    assert are_u64(offset, length, object_length)
    assert range_end(offset, length) is not None
    assert not ends_beyond(offset, length, object_length)
    assert offset <= byte < offset + length
    assert 0 <= byte < object_length


@theorem(example=(3, 4, 6))
def a_range_beyond_has_its_last_byte_outside(offset: int, length: int, object_length: int) -> None:
    """A range of at least one byte that ends beyond its object has its last byte outside."""
    assert are_u64(offset, object_length)
    assert 1 <= length <= U64_MAX
    assert ends_beyond(offset, length, object_length)
    assert offset + length - 1 >= object_length


@theorem(example=(U64_MAX, 1, 5))
def overflow_is_not_also_beyond(offset: int, length: int, object_length: int) -> None:
    """Of one range, range-overflow and range-end never fire together."""
    assert are_u64(offset, length, object_length)
    assert not (range_end(offset, length) is None and ends_beyond(offset, length, object_length))


@theorem(example=([(0, 2), (2, 3)], 4), cpu_seconds=18)
def a_tiling_holds_each_byte_once(ranges: list[tuple[int, int]], byte: int) -> None:
    """Ranges without a gap hold every byte below their end exactly once."""
    assert are_ranges(ranges, most=3)
    assert not tile(ranges).gaps
    assert 0 <= byte < tile(ranges).end
    found = holders(ranges, byte)
    assert found == 1


@theorem(example=([(0, 2), (2, 3)], 5), cpu_seconds=5)
def a_tiling_holds_nothing_else(ranges: list[tuple[int, int]], byte: int) -> None:
    """Ranges without a gap hold no byte at or after their end, and lie in order."""
    assert are_ranges(ranges, most=2)
    assert not tile(ranges).gaps
    assert byte >= tile(ranges).end
    found = holders(ranges, byte)
    assert found == 0
    assert lie_in_order(ranges)


@theorem(example=([(0, 2), (2, 3)], 5), cpu_seconds=6)
def holding_each_byte_once_is_tiling(ranges: list[tuple[int, int]], length: int) -> None:
    """Ranges in order, inside the object, that hold each of its bytes once are a tiling of it.

    How many ranges hold a byte can only change where one starts or ends, so these bytes and the
    first stand for all.
    """
    assert are_ranges(ranges, most=2)
    assert are_u64(length)
    assert lie_in_order(ranges)
    assert all(offset + size <= length for offset, size in ranges)
    assert length == 0 or holders(ranges, 0) == 1
    assert all(offset >= length or holders(ranges, offset) == 1 for offset, _ in ranges)
    assert all(
        offset + size >= length or holders(ranges, offset + size) == 1 for offset, size in ranges
    )
    tiling = tile(ranges)
    assert not tiling.gaps
    assert tiling.end == length


@theorem(example=([(0, 2)], U64_MAX, 1), cpu_seconds=5)
def overflow_moves_nothing(ranges: list[tuple[int, int]], offset: int, length: int) -> None:
    """A range that overflows does not move the place where the next one is expected."""
    assert are_ranges(ranges, most=2)
    assert are_u64(offset, length)
    assert range_end(offset, length) is None
    after = tile([*ranges, (offset, length)])
    assert after.end == tile(ranges).end


@theorem(example=([(0, 2), (2, 3)],), cpu_seconds=4)
def lengths_of_a_tiling_add_up(ranges: list[tuple[int, int]]) -> None:
    """Ranges without a gap end at the sum of their lengths."""
    assert are_ranges(ranges, most=2)
    assert not tile(ranges).gaps
    total = sum(length for _, length in ranges)
    assert tile(ranges).end == total
