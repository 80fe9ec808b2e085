"""The parts of a manifest, each a strategy by itself.

Hard values come from fixed tables, so that they are met often and shrink to something plain: every
table starts with its simplest value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from typing import TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import (
    MAX_CHECKPOINT_PARTICIPANTS,
    MAX_KEY_GROUP_COUNT,
    PARTITIONING_ABI_VERSION,
    SINGLETON_WATERMARK_CHANNEL,
    ByteRange,
    CheckpointAssignmentFence,
    CheckpointParticipant,
)
from oracle.constants import I64_MAX, I64_MIN, U64_MAX
from oracle.kernels import is_trimmed
from strategies.dice import Dice, dice
from strategies.traits import LONG_NAME_LENGTH, NAME_TRAITS, Trait

Ordered = TypeVar("Ordered", str, bytes)

# --- names -----------------------------------------------------------------------------------

HARD_NAMES = (
    "a",
    "b",
    "orders",
    "A",
    "aa",
    "a.b",
    "a/b~c",
    'quote"back\\slash',
    "é",
    "e\u0301",  # the same to a reader, another name to the engine
    "o\u0308\u0323",
    "\u0301",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "a\uffff",
    "\U00010000",  # below U+FFFF in UTF-16, above it in UTF-8
    "a\U00010000",
    "🜂",
    "\U0010ffff",
    "a\0",
    "\x1f",
    "\x7f",
    "a\x85b",
    " a",
    "a ",
    "\u2003",
    "\u200b",
    "n" * LONG_NAME_LENGTH,
    "é" * LONG_NAME_LENGTH,
    "1",
    "-0",
    "null",
    "kind",
)
"""Names that ordering, escaping and trimming may get wrong; the empty one is not among them."""

_TRAIT_OF_NAME: dict[Trait, Callable[[str], bool]] = {
    Trait.PADDED_NAME: lambda name: not is_trimmed(name),
    Trait.ASTRAL_NAME: lambda name: max(name) > "\uffff",
    Trait.LAST_BMP_NAME: lambda name: "\uffff" in name,
    Trait.CONTROL_NAME: lambda name: any(unicodedata.category(c) == "Cc" for c in name),
    Trait.COMBINING_NAME: lambda name: any(map(unicodedata.combining, name)),
    Trait.LONG_NAME: lambda name: len(name) >= LONG_NAME_LENGTH,
}


@cache
def hard_names(without: frozenset[Trait] = frozenset()) -> tuple[str, ...]:
    """:data:`HARD_NAMES` that have none of the traits *without*."""
    banned = [has for trait, has in _TRAIT_OF_NAME.items() if trait in without]
    return tuple(name for name in HARD_NAMES if not any(has(name) for has in banned))


def example_of(trait: Trait) -> str:
    """The simplest name with one of the traits of names."""
    if trait is Trait.EMPTY_NAME:
        return ""
    return next(name for name in HARD_NAMES if _TRAIT_OF_NAME[trait](name))


def names(*, without: Iterable[Trait] = ()) -> SearchStrategy[str]:
    """A name of a source, a sink or an operator, empty ones too.

    Mostly one of :data:`HARD_NAMES`, else a short text of any characters. *without* keeps out
    names with traits of names. Shrinks to ``"a"``.
    """
    unwanted = _name_traits(without)
    table = hard_names(unwanted)
    if Trait.EMPTY_NAME not in unwanted:
        table = (*table, "")
    hard = st.sampled_from(table)
    return hard if unwanted else st.one_of(hard, hard, st.text(max_size=6))


def name_rosters(
    *, min_size: int = 0, max_size: int = 4, without: Iterable[Trait] = ()
) -> SearchStrategy[tuple[str, ...]]:
    """Names in strictly ascending order of their UTF-8 bytes, none of them empty.

    Shrinks to *min_size* of the first of :data:`HARD_NAMES`.
    """
    _sizes(min_size, max_size, len(HARD_NAMES) // 2)
    return _name_rosters(min_size, max_size, _name_traits(without))


@cache
def _name_rosters(
    min_size: int, max_size: int, without: frozenset[Trait]
) -> SearchStrategy[tuple[str, ...]]:
    return dice(1 + max_size).map(
        lambda rolled: roster_of(rolled, hard_names(without), min_size, max_size)
    )


def roster_of(
    rolled: Dice, table: Sequence[Ordered], min_size: int, max_size: int
) -> tuple[Ordered, ...]:
    """Different values of *table*, ascending; simplest are the first *min_size*."""
    return tuple(sorted(rolled.subset(table, rolled.roll(min_size, max_size))))


def _name_traits(traits: Iterable[Trait]) -> frozenset[Trait]:
    found = frozenset(traits)
    if not found.issubset(NAME_TRAITS):
        raise InvalidArgument(f"without={traits!r} are not all traits of names")
    return found


def _sizes(min_size: int, max_size: int, most: int) -> None:
    if not 0 <= min_size <= max_size <= most:
        raise InvalidArgument(
            f"min_size={min_size!r} and max_size={max_size!r} are not 0 <= min <= max <= {most}"
        )


# --- scalars ---------------------------------------------------------------------------------


def sha256_texts() -> SearchStrategy[str]:
    """SHA-256 text: of no bytes, or of a small number. Shrinks to the digest of no bytes."""
    return st.integers(0, 2**16).map(_sha256_text)


def _sha256_text(number: int) -> str:
    return sha256(str(number).encode() if number else b"").hexdigest()


def digest32s() -> SearchStrategy[bytes]:
    """32 raw bytes that are not all zero. Shrinks to 32 times 1."""
    return st.one_of(
        st.integers(1, 255).map(lambda byte: bytes([byte]) * 32),
        st.integers(0, 2**16).map(lambda number: sha256(str(number).encode()).digest()),
    )


def uuids() -> SearchStrategy[UUID]:
    """Any UUID but the nil one. Shrinks to ``00000000-0000-0000-0000-000000000001``."""
    return st.integers(1, 2**128 - 1).map(lambda number: UUID(int=number))


HARD_WATERMARKS = (0, 1, -1, I64_MIN + 1, I64_MAX)


def watermarks() -> SearchStrategy[int]:
    """Milliseconds, signed, both ends of what a channel may report. Shrinks to 0."""
    return dice(8).map(watermark_of)


def watermark_of(rolled: Dice) -> int:
    """What :func:`watermarks` draws, from dice."""
    if rolled.once_in(4):
        return rolled.pick(HARD_WATERMARKS)
    number = rolled.number(6)
    return ~number if rolled.once_in(3) else number


def key_group_counts() -> SearchStrategy[int]:
    """1..=65535 key groups, mostly few. Shrinks to 1."""
    return st.one_of(
        st.sampled_from((1, 2, 3, 4, 16, 256, MAX_KEY_GROUP_COUNT)),
        st.integers(1, MAX_KEY_GROUP_COUNT),
    )


# --- ranges, payloads and channels -----------------------------------------------------------


def byte_ranges(*, min_length: int = 0, max_end: int = U64_MAX) -> SearchStrategy[ByteRange]:
    """A range of bytes that does not pass *max_end*, and often ends exactly there.

    *min_length* is in 0..=*max_end*, and *max_end* at most u64's maximum. Shrinks to the shortest
    range at 0.
    """
    if not 0 <= min_length <= max_end <= U64_MAX:
        raise InvalidArgument(
            f"min_length={min_length!r} and max_end={max_end!r} are not "
            f"0 <= min_length <= max_end <= {U64_MAX}"
        )

    @st.composite
    def ranges(draw: DrawFn) -> ByteRange:
        length = draw(st.integers(min_length, min(max_end, min_length + 2**16)))
        placed = draw(st.sampled_from(("start", "anywhere", "end")))
        last = max_end - length
        offset = {"start": 0, "end": last}.get(placed)
        return ByteRange(draw(st.integers(0, last)) if offset is None else offset, length)

    return ranges()


def digest_payloads(*, max_size: int = 256) -> SearchStrategy[bytes | None]:
    """A sink's payload: none, empty, or bytes. No payload and an empty one have other digests.

    Shrinks to none.
    """
    if max_size < 0:
        raise InvalidArgument(f"max_size={max_size!r} is below 0")
    return st.one_of(st.none(), st.just(b""), st.binary(max_size=max_size))


HARD_CHANNELS = (
    b"\1",
    b"\2",
    b"\0\0",  # starts with the reserved channel
    b"\0\1",
    b"\1\0",
    b"\xff",
    b"\xff\xff",
    b"\x7f",
    b"\x80",
    b"partition-0",
    b"partition-10",
    b"partition-2",
    b"\1" * 16,
)
"""Physical channels that ordering may get wrong."""


def channel_rosters(*, min_size: int = 0, max_size: int = 4) -> SearchStrategy[tuple[bytes, ...]]:
    """Physical input channels: strictly ascending, none empty, none the reserved one.

    A channel is one of :data:`HARD_CHANNELS`, or another with its last byte changed, so that
    rosters are met that differ in one byte. Shrinks to *min_size* of the first.
    """
    _sizes(min_size, max_size, len(HARD_CHANNELS))
    return dice(max_size + 3).map(lambda rolled: channels_of(rolled, min_size, max_size))


def channels_of(rolled: Dice, min_size: int, max_size: int) -> tuple[bytes, ...]:
    """What :func:`channel_rosters` draws, from dice."""
    roster = roster_of(rolled, HARD_CHANNELS, min_size, max_size)
    if not roster or not rolled.once_in(4):
        return roster
    varied = roster[-1][:-1] + bytes([rolled.roll(0, 255)])
    if varied in roster or varied == SINGLETON_WATERMARK_CHANNEL:
        return roster
    return tuple(sorted((*roster[:-1], varied)))


# --- fences ----------------------------------------------------------------------------------


def fences(
    *,
    vnode_count: int = 1,
    min_participants: int = 1,
    max_participants: int = 4,
) -> SearchStrategy[CheckpointAssignmentFence]:
    """An assignment fence over *vnode_count* vnodes, of up to 129 participants.

    Its assignment digest is not that of any owner map; :func:`strategies.cuts` gives fences that
    are. Shrinks to participants 1, 2, … of version 1.
    """
    if not 1 <= vnode_count <= MAX_KEY_GROUP_COUNT:
        raise InvalidArgument(f"vnode_count={vnode_count!r} is not in 1..={MAX_KEY_GROUP_COUNT}")
    if not 1 <= min_participants <= max_participants <= MAX_CHECKPOINT_PARTICIPANTS:
        raise InvalidArgument(
            f"min_participants={min_participants!r} and max_participants={max_participants!r} "
            f"are not 1 <= min <= max <= {MAX_CHECKPOINT_PARTICIPANTS}"
        )
    return _fences(vnode_count, min_participants, max_participants)


_U64_FROM_ONE = st.integers(1, U64_MAX)
_SALTS = st.integers(0, 2**32)


def _fences(vnode_count: int, least: int, most: int) -> SearchStrategy[CheckpointAssignmentFence]:
    return st.builds(
        lambda rolled, numbers: fence_of(vnode_count, rolled.roll(least, most), *numbers),
        dice(1),
        FENCE_NUMBERS,
    )


_STRIDE = 3
FENCE_NUMBERS = st.tuples(
    st.integers(1, U64_MAX),  # assignment_version
    st.integers(1, U64_MAX - _STRIDE * MAX_CHECKPOINT_PARTICIPANTS),  # the first node_id
    st.integers(1, _STRIDE),  # from one node_id to the next
    st.integers(0, 2**32),  # boot
)
"""What :func:`fence_of` takes beside the vnode count and the number of participants."""


def fence_of(
    vnode_count: int, count: int, version: int, first: int, stride: int, boot: int
) -> CheckpointAssignmentFence:
    """A fence with *count* participants: *first*, and then each *stride* further."""
    return CheckpointAssignmentFence(
        assignment_version=version,
        partitioning_abi_version=PARTITIONING_ABI_VERSION,
        vnode_count=vnode_count,
        assignment_digest=sha256(b"%d" % boot).digest(),
        participants=tuple(
            participant(node_id, boot) for node_id in range(first, first + stride * count, stride)
        ),
    )


@lru_cache(maxsize=2**12)
def participant(node_id: int, boot: int) -> CheckpointParticipant:
    """A participant whose boot incarnation no other node of the same *boot* shares."""
    return CheckpointParticipant(node_id, UUID(int=(boot << 64) | node_id))
