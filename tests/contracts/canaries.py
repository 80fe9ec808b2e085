"""Planted false claims, each wrong for a few values only. CrossHair must find them every time."""

from oracle import kernels
from oracle.constants import MAX_CHECKPOINT_PARTICIPANTS, U64_MAX
from oracle.encoding import escape
from oracle.kernels import classify, first_disorder, range_end, tile
from tests.contracts.table import canary
from tests.contracts.theorems.domains import Channel, are_ranges, are_scalars, are_u64
from tests.contracts.theorems.limits import limit


@canary(example=(U64_MAX, 0))
def an_end_is_below_the_greatest(offset: int, length: int) -> None:
    """No range ends at u64's greatest value."""
    assert are_u64(offset, length)
    assert range_end(offset, length) != U64_MAX


@canary(example=([(0, 0)],))
def a_tiling_has_no_empty_range(ranges: list[tuple[int, int]]) -> None:
    """Ranges without a gap are none of them empty."""
    assert are_ranges(ranges, most=2)
    assert not tile(ranges).gaps
    assert all(length > 0 for _, length in ranges)


@canary(example=([0, 0],))
def equal_items_are_in_order(items: list[int]) -> None:
    """A sorted list is strictly ascending."""
    assert len(items) <= 3
    assert first_disorder(sorted(items)) is None


@canary(example=((5, False), (3, False)))
def the_first_channel_decides(first: Channel, second: Channel) -> None:
    """A second channel that is active does not change the classification."""
    assert first != second
    assert classify([first, second]) == classify([first])


@canary(example=(1,))
def shares_use_up_the_budget(participants: int) -> None:
    """At most 100 segments of the budget are left over, whatever the number of participants."""
    assert 1 <= participants <= MAX_CHECKPOINT_PARTICIPANTS
    assert limit(participants) * participants >= 23_900


@canary(example=(0x7F,))
def delete_is_escaped(code_point: int) -> None:
    """U+007F is written as an escape."""
    assert are_scalars(code_point)
    assert code_point != 0x7F or escape(chr(code_point)) != chr(code_point)


@canary(example=(U64_MAX, 0), kernel=kernels.range_end)
def range_end_below_the_greatest(offset: int, length: int) -> int | None:
    """A range that ends at u64's greatest value has no end."""
    return offset + length if offset + length < U64_MAX else None
