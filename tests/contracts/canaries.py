"""Planted false claims, each wrong for a few values only. CrossHair must find them every time."""

from oracle.constants import MAX_CHECKPOINT_PARTICIPANTS, U64_MAX
from oracle.encoding import escape
from oracle.kernels import classify, first_disorder, range_end, tile
from tests.contracts.table import canary
from tests.contracts.theorems.domains import Channel, are_ranges, is_scalar, is_u64
from tests.contracts.theorems.limits import limit


@canary
def an_end_is_below_the_greatest(offset: int, length: int) -> None:
    """No range ends at u64's greatest value."""
    assert is_u64(offset) and is_u64(length)
    assert range_end(offset, length) != U64_MAX


@canary
def a_tiling_has_no_empty_range(ranges: list[tuple[int, int]]) -> None:
    """Ranges without a gap are none of them empty."""
    assert are_ranges(ranges)
    assert not tile(ranges).gaps
    assert all(length > 0 for _, length in ranges)


@canary
def equal_items_are_in_order(items: list[int]) -> None:
    """A sorted list is strictly ascending."""
    assert len(items) <= 3
    assert first_disorder(sorted(items)) is None


@canary
def the_first_channel_decides(first: Channel, second: Channel) -> None:
    """A second channel that is active does not change the classification."""
    assert first != second
    assert classify([first, second]) == classify([first])


@canary
def shares_use_up_the_budget(participants: int) -> None:
    """At most 100 segments of the budget are left over, whatever the number of participants."""
    assert 1 <= participants <= MAX_CHECKPOINT_PARTICIPANTS
    assert limit(participants) * participants >= 23_900


@canary
def delete_is_escaped(code_point: int) -> None:
    """U+007F is written as an escape."""
    assert is_scalar(code_point)
    assert code_point != 0x7F or escape(chr(code_point)) != chr(code_point)
