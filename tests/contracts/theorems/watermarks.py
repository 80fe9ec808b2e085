"""The classification of input channels, what a source has passed, and where the engine differs."""

from oracle.constants import I64_MIN
from oracle.kernels import CheckpointWatermark, classify, frontier, has_reserved_watermark
from tests.contracts.engine_watermarks import RESERVED, engine_classification
from tests.contracts.table import difference, theorem
from tests.contracts.theorems.domains import Channel


def documented(channels: list[Channel]) -> CheckpointWatermark:
    """The classification with a reserved watermark as an error wherever it stands."""
    if has_reserved_watermark(watermark for watermark, _ in channels):
        return RESERVED
    return classify(channels)


@theorem(example=([(5, False), (3, True)],), cpu_seconds=5)
def active_is_active_and_initialized(channels: list[Channel]) -> None:
    """Channels are Active exactly when one is active and no active one lacks a watermark."""
    assert len(channels) <= 3
    active = [watermark for watermark, idle in channels if not idle]
    assert (classify(channels).state == "active") == (bool(active) and None not in active)


@theorem(example=([(5, False), (3, True), (7, False)],), cpu_seconds=7)
def the_active_value_is_the_minimum(channels: list[Channel]) -> None:
    """The value of Active channels is one of the active channels', and none of them is smaller."""
    assert len(channels) <= 3
    assert classify(channels).state == "active"
    value = classify(channels).value
    active = [watermark for watermark, idle in channels if not idle and watermark is not None]
    assert value in active
    assert value == min(active)


@theorem(example=([(5, True), (None, False)],), cpu_seconds=5)
def only_active_has_a_value(channels: list[Channel]) -> None:
    """Channels that are not Active have no value; with no active one they are Idle."""
    assert len(channels) <= 3
    classified = classify(channels)
    assert (classified.value is not None) == (classified.state == "active")
    assert (classified.state == "idle") == all(idle for _, idle in channels)


@theorem(example=((5, False), (None, False), (3, True)), cpu_seconds=2.5)
def the_order_of_channels_does_not_matter(first: Channel, second: Channel, third: Channel) -> None:
    """Three channels are classified alike in any order (two swaps make them all)."""
    assert first != second or second != third
    classified = classify([first, second, third])
    assert classified == classify([second, first, third])
    assert classified == classify([first, third, second])


@theorem(example=([(5, False)], 1), cpu_seconds=2.5)
def idle_channels_do_not_count(channels: list[Channel], watermark: int | None) -> None:
    """One more idle channel, whatever its watermark, changes no classification."""
    assert len(channels) <= 2
    classified = classify(channels)
    assert classify([*channels, (watermark, True)]) == classified


@theorem(example=([(5, False)], 3))
def another_channel_never_raises_the_watermark(channels: list[Channel], watermark: int) -> None:
    """One more active channel leaves the active value as it is or lowers it to its own."""
    assert len(channels) <= 2
    assert classify(channels).state == "active"
    before = classify(channels).value
    assert before is not None
    assert classify([*channels, (watermark, False)]).value == min(before, watermark)


@theorem(example=([(5, True), (3, True)],), cpu_seconds=4)
def idle_sources_have_passed_their_largest(channels: list[Channel]) -> None:
    """With every channel idle, the frontier is the largest watermark, none where none is known."""
    assert len(channels) <= 3
    assert all(idle for _, idle in channels)
    known = [watermark for watermark, _ in channels if watermark is not None]
    assert frontier(channels) == (max(known) if known else None)


@theorem(example=([(5, False), (9, True)],), cpu_seconds=5)
def a_frontier_is_no_further_than_an_active_channel(channels: list[Channel]) -> None:
    """With an active channel the frontier is the active value: idle ones cannot move it."""
    assert len(channels) <= 3
    assert not all(idle for _, idle in channels)
    assert frontier(channels) == classify(channels).value


@theorem(example=([(5, False), (I64_MIN, True)], 1))
def a_reserved_watermark_is_found_anywhere(channels: list[Channel], index: int) -> None:
    """The reserved watermark is found wherever it stands, idle or not."""
    assert len(channels) <= 3
    assert 0 <= index < len(channels)
    assert channels[index][0] == I64_MIN
    found = has_reserved_watermark(watermark for watermark, _ in channels)
    assert found


@difference(example=((None, False), (I64_MIN, False)))
def the_engine_ignores_the_order_of_channels(first: Channel, second: Channel) -> None:
    """The engine classifies two channels alike in either order (ledger: reserved-watermark)."""
    assert first != second
    assert engine_classification([first, second]) == engine_classification([second, first])


@difference(example=((None, False), (I64_MIN, False)))
def the_engine_does_as_documented(first: Channel, second: Channel) -> None:
    """The engine takes a reserved watermark for an error wherever it stands, as it documents."""
    assert first != second
    assert engine_classification([first, second]) == documented([first, second])


@theorem(example=([(None, False), (5, False)],), cpu_seconds=7)
def without_a_reserved_watermark_they_agree(channels: list[Channel]) -> None:
    """Engine and oracle classify alike wherever no channel has the reserved watermark."""
    assert len(channels) <= 3
    assert not has_reserved_watermark(watermark for watermark, _ in channels)
    classified = classify(channels)
    assert engine_classification(channels) == classified


@theorem(example=([(None, False), (I64_MIN, False)],), cpu_seconds=10)
def the_difference_is_one_of_order(channels: list[Channel]) -> None:
    """Where they differ, an active channel without a watermark stands before a reserved one."""
    assert len(channels) <= 3
    assert engine_classification(channels) != documented(channels)
    watermarks = [watermark for watermark, _ in channels]
    before = channels[: watermarks.index(I64_MIN)]
    assert (None, False) in before
