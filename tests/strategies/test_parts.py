"""The parts by themselves: within bounds, in order, and refused where arguments are bad."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from oracle import (
    SINGLETON_WATERMARK_CHANNEL,
    ByteRange,
    CheckpointAssignmentFence,
)
from oracle.constants import I64_MAX, I64_MIN, U64_MAX
from oracle.kernels import is_sha256_text, strictly_ascending
from strategies import parts
from strategies.dice import Dice
from strategies.traits import NAME_TRAITS, Trait


@given(parts.name_rosters(min_size=1, max_size=6))
def test_rosters_of_names_ascend(names: tuple[str, ...]) -> None:
    """In the order of their UTF-8 bytes, and none is empty."""
    encoded = [name.encode() for name in names]
    assert strictly_ascending(encoded)
    assert 1 <= len(names) <= 6
    assert "" not in names


@given(parts.channel_rosters(min_size=1, max_size=5))
def test_rosters_of_channels_are_physical(roster: tuple[bytes, ...]) -> None:
    """Ascending, none empty, none the reserved one."""
    assert strictly_ascending(roster)
    assert b"" not in roster
    assert SINGLETON_WATERMARK_CHANNEL not in roster
    assert 1 <= len(roster) <= 5


@given(data=st.data(), max_end=st.integers(0, U64_MAX))
def test_ranges_end_in_time(data: st.DataObject, max_end: int) -> None:
    """No range passes the end that it is given."""
    least = data.draw(st.integers(0, max_end))
    found: ByteRange = data.draw(parts.byte_ranges(min_length=least, max_end=max_end))
    assert found.length >= least
    assert found.end is not None
    assert found.end <= max_end


@given(parts.fences(vnode_count=7, max_participants=129))
def test_fences_are_canonical(fence: CheckpointAssignmentFence) -> None:
    """No fence would be rejected at decode, and no two participants booted as one."""
    assert fence.defect() is None
    boots = {member.boot_incarnation for member in fence.participants}
    assert len(boots) == len(fence.participants)


@given(parts.watermarks(), parts.sha256_texts(), parts.digest32s(), parts.uuids())
def test_scalars_are_in_bounds(watermark: int, text: str, digest: bytes, uuid: object) -> None:
    """The reserved watermark, zero digests and the nil UUID do not come."""
    assert I64_MIN < watermark <= I64_MAX
    assert is_sha256_text(text)
    assert len(digest) == 32
    assert any(digest)
    assert str(uuid).strip("-0")


@pytest.mark.parametrize("trait", NAME_TRAITS, ids=repr)
def test_names_can_be_kept_from_a_trait(trait: Trait) -> None:
    """What is kept out is not in the table, and an example of it is."""
    example = parts.example_of(trait)
    assert example not in parts.hard_names(frozenset({trait}))
    assert example == "" or example in parts.HARD_NAMES


@pytest.mark.parametrize(
    "make",
    [
        lambda: parts.name_rosters(min_size=2, max_size=1),
        lambda: parts.name_rosters(max_size=1_000),
        lambda: parts.channel_rosters(min_size=-1),
        lambda: parts.byte_ranges(min_length=2, max_end=1),
        lambda: parts.byte_ranges(max_end=U64_MAX + 1),
        lambda: parts.digest_payloads(max_size=-1),
        lambda: parts.fences(vnode_count=0),
        lambda: parts.fences(max_participants=130),
        lambda: parts.names(without=[Trait.LOCAL]),
    ],
)
def test_bad_arguments_fail_at_the_call(make) -> None:  # type: ignore[no-untyped-def]
    """What cannot be met is refused before anything is drawn."""
    with pytest.raises(InvalidArgument):
        make()


@given(st.binary(max_size=20), st.integers(0, 8))
def test_dice_pick_different_entries(data: bytes, size: int) -> None:
    """A subset has no entry twice, whatever the bytes are, and none at all are the first ones."""
    table = "abcdefgh"
    assert len(set(Dice(data).subset(table, size))) == size
    assert Dice(b"").subset(table, size) == list(table[:size])


def test_dice_without_bytes_are_simplest() -> None:
    """Past the end every decision is the first of its table."""
    rolled = Dice(b"")
    assert (rolled.roll(3, 9), rolled.pick("xyz"), rolled.number(4)) == (3, "x", 0)
    assert not rolled.once_in(2)
