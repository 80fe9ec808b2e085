"""Breakages of names, channel progress, the watermark and offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oracle import (
    SINGLETON_WATERMARK_CHANNEL,
    ChannelProgress,
    CheckpointManifest,
    ConnectorCheckpoint,
    FrozenDict,
)
from oracle.constants import I64_MAX, I64_MIN, U64_MAX
from strategies.breakages.registry import (
    Aspect,
    breakage,
    edit,
    fresh,
    index_of,
    repeated,
    swapped,
)
from strategies.dice import Dice
from strategies.traits import Trait

M = CheckpointManifest


@breakage("source-names.order", "repeated", having={Trait.SOURCE})
def source_repeated(manifest: M, dice: Dice) -> M:
    """One source is listed twice."""
    return replace(manifest, source_names=repeated(manifest.source_names, dice))


@breakage("source-names.order", "swapped", having={Trait.SOURCE})
def source_swapped(manifest: M, dice: Dice) -> M:
    """A name stands before a lesser one."""
    names = manifest.source_names
    names = names if len(names) > 1 else (*names, fresh(names[0], names))
    return replace(manifest, source_names=swapped(names, dice))


@breakage("sink-names.order", "repeated", having={Trait.SINK}, touches={Aspect.SINK_NAMES})
def sink_repeated(manifest: M, dice: Dice) -> M:
    """One sink is listed twice."""
    return replace(manifest, sink_names=repeated(manifest.sink_names, dice))


@breakage("sink-names.order", "swapped", having={Trait.SINK}, touches={Aspect.SINK_NAMES})
def sink_swapped(manifest: M, dice: Dice) -> M:
    """A name stands before a lesser one."""
    names = manifest.sink_names
    names = names if len(names) > 1 else (*names, fresh(names[0], names))
    return replace(manifest, sink_names=swapped(names, dice))


@breakage("source-names.order", "utf16")
def source_utf16(manifest: M, dice: Dice) -> M:
    """Two names in the order of UTF-16, which is not that of UTF-8."""
    names = set(manifest.source_names) | {"\uffff", "\U00010000"}
    ordered = tuple(sorted(names, key=lambda name: name.encode("utf-16-be")))
    return replace(manifest, source_names=ordered)


@breakage("channels.order", "swapped", having={Trait.SEVERAL_CHANNELS}, touches={Aspect.CHANNELS})
def channels_swapped(manifest: M, dice: Dice) -> M:
    """Two neighbours are swapped."""
    return replace(manifest, channel_progress=swapped(manifest.channel_progress, dice))


_ANY_CHANNEL = {Trait.LOGICAL_CHANNEL}


@breakage(
    "channels.order",
    "repeated",
    having=_ANY_CHANNEL,
    without={Trait.ROSTER},
    touches={Aspect.CHANNELS},
)
def channels_repeated(manifest: M, dice: Dice) -> M:
    """One channel is listed twice."""
    return replace(manifest, channel_progress=repeated(manifest.channel_progress, dice))


@breakage("channels.participant", having=_ANY_CHANNEL, touches={Aspect.IDENTITY, Aspect.CHANNELS})
def channels_participant(manifest: M, dice: Dice) -> M:
    """The last channel is the next participant's, or the first the previous one's."""
    own = manifest.participant_id
    if own < U64_MAX and (own == 1 or not dice.once_in(2)):
        return edit(
            manifest, "channel_progress", len(manifest.channel_progress) - 1, participant_id=own + 1
        )
    return edit(manifest, "channel_progress", 0, participant_id=own - 1)


@breakage(
    "channels.source-empty", having=_ANY_CHANNEL, without={Trait.ROSTER}, touches={Aspect.CHANNELS}
)
def channels_source_empty(manifest: M, dice: Dice) -> M:
    """The first channel is of the empty name, registered or not."""
    return edit(manifest, "channel_progress", 0, source_name="")


@breakage(
    "channels.source-unknown",
    having=_ANY_CHANNEL,
    without={Trait.ROSTER},
    touches={Aspect.CHANNELS},
)
def channels_source_unknown(manifest: M, dice: Dice) -> M:
    """The last channel is of a source that is not registered."""
    last = len(manifest.channel_progress) - 1
    name = fresh(manifest.channel_progress[last].source_name, manifest.source_names)
    return edit(manifest, "channel_progress", last, source_name=name)


@breakage(
    "channels.input-empty",
    having={Trait.PHYSICAL_CHANNEL},
    without={Trait.ROSTER},
    touches={Aspect.CHANNELS},
)
def channels_input_empty(manifest: M, dice: Dice) -> M:
    """The first physical channel of a source is empty."""
    return edit(manifest, "channel_progress", _first_physical(manifest), input_channel=b"")


def _is_physical(channel: ChannelProgress) -> bool:
    return channel.input_channel != SINGLETON_WATERMARK_CHANNEL


def _first_physical(manifest: M) -> int:
    """Index of the first channel of the first source with physical ones."""
    return next(i for i, channel in enumerate(manifest.channel_progress) if _is_physical(channel))


def _with_channel(manifest: M, beside: ChannelProgress, input_channel: bytes) -> M:
    """One channel more, like *beside* but for its name: the watermark stays as it is."""
    more = replace(beside, input_channel=input_channel)
    progress = sorted((*manifest.channel_progress, more), key=lambda channel: channel.order)
    return replace(manifest, channel_progress=tuple(progress))


def _with_reserved(manifest: M) -> M:
    beside = manifest.channel_progress[_first_physical(manifest)]
    return _with_channel(manifest, beside, SINGLETON_WATERMARK_CHANNEL)


@breakage(
    "channels.mixed",
    "reserved",
    having={Trait.PHYSICAL_CHANNEL},
    without={Trait.ROSTER},
    touches={Aspect.CHANNELS},
)
def channels_mixed(manifest: M, dice: Dice) -> M:
    """The reserved channel stands beside physical ones."""
    return _with_reserved(manifest)


@breakage(
    "channels.mixed",
    "physical",
    having={Trait.LOGICAL_CHANNEL},
    without={Trait.OFFSETS},
    touches={Aspect.CHANNELS},
)
def channels_mixed_physical(manifest: M, dice: Dice) -> M:
    """A physical channel stands beside the reserved one, of which it may be an extension."""
    index = index_of(manifest.channel_progress, lambda channel: not _is_physical(channel), dice)
    more = dice.pick((b"\1", b"\0\0", b"\xff"))
    return _with_channel(manifest, manifest.channel_progress[index], more)


@breakage("watermark.sentinel", "first", having=_ANY_CHANNEL)
def sentinel_first(manifest: M, dice: Dice) -> M:
    """The first channel has i64's minimum, be it idle or not."""
    return edit(manifest, "channel_progress", 0, watermark=I64_MIN)


@breakage(
    "watermark.sentinel",
    "after-uninitialized",
    having={Trait.SEVERAL_CHANNELS},
    divergent=True,
)
def sentinel_after_uninitialized(manifest: M, dice: Dice) -> M:
    """The last channel has i64's minimum, and the first is active without a watermark."""
    started = edit(manifest, "channel_progress", 0, watermark=None, idle=False)
    last = len(manifest.channel_progress) - 1
    return replace(
        edit(started, "channel_progress", last, watermark=I64_MIN), checkpoint_watermark=None
    )


@breakage("watermark.mismatch", "none", having={Trait.WATERMARK})
def mismatch_none(manifest: M, dice: Dice) -> M:
    """None, though every active channel has reported."""
    return replace(manifest, checkpoint_watermark=None)


@breakage("watermark.mismatch", "some", without={Trait.WATERMARK})
def mismatch_some(manifest: M, dice: Dice) -> M:
    """A value, though the channels are idle or not initialized."""
    return replace(manifest, checkpoint_watermark=dice.pick((0, -1, I64_MIN, I64_MAX)))


@breakage("watermark.mismatch", "above", having={Trait.WATERMARK})
def mismatch_above(manifest: M, dice: Dice) -> M:
    """One millisecond later, or with no room for that one earlier."""
    assert manifest.checkpoint_watermark is not None
    step = 1 if manifest.checkpoint_watermark < I64_MAX else -1
    return replace(manifest, checkpoint_watermark=manifest.checkpoint_watermark + step)


@breakage("watermark.mismatch", "below", having={Trait.WATERMARK})
def mismatch_below(manifest: M, dice: Dice) -> M:
    """One millisecond earlier."""
    assert manifest.checkpoint_watermark is not None
    return replace(manifest, checkpoint_watermark=manifest.checkpoint_watermark - 1)


def _with_offsets(manifest: M, name: str, checkpoint: ConnectorCheckpoint) -> M:
    return replace(
        manifest, source_offsets=FrozenDict({**manifest.source_offsets, name: checkpoint})
    )


@breakage("offsets.source-unknown")
def offsets_source_unknown(manifest: M, dice: Dice) -> M:
    """Offsets of a source that is not registered."""
    name = fresh("a", manifest.source_names)
    return _with_offsets(
        manifest, name, ConnectorCheckpoint(FrozenDict(), FrozenDict(), None, None)
    )


def _with_roster(manifest: M, dice: Dice, roster: tuple[bytes, ...]) -> M:
    """Declare *roster* for a source with offsets."""
    name = dice.pick(list(manifest.source_offsets))
    checkpoint = replace(manifest.source_offsets[name], input_channels=roster)
    return _with_offsets(manifest, name, checkpoint)


# Without physical progress, no roster is compared with it.
_BARE: dict[str, Any] = {"having": {Trait.OFFSETS}, "without": {Trait.PHYSICAL_CHANNEL}}


@breakage("offsets.channels-order", "swapped", **_BARE, touches={Aspect.DECLARED_CHANNELS})
def roster_swapped(manifest: M, dice: Dice) -> M:
    """Declared channels out of order, one a beginning of the other perhaps."""
    return _with_roster(
        manifest, dice, dice.pick(((b"\2", b"\1"), (b"\1\0", b"\1"), (b"\x80", b"\x7f")))
    )


@breakage("offsets.channels-order", "repeated", **_BARE, touches={Aspect.DECLARED_CHANNELS})
def roster_repeated(manifest: M, dice: Dice) -> M:
    """A channel is declared twice."""
    return _with_roster(manifest, dice, (b"\1", b"\1"))


@breakage("offsets.channels-order", "empty", **_BARE, touches={Aspect.DECLARED_CHANNELS})
def roster_empty_entry(manifest: M, dice: Dice) -> M:
    """An empty channel is declared."""
    return _with_roster(manifest, dice, (b"",))


@breakage("offsets.channels-reserved", **_BARE, touches={Aspect.DECLARED_CHANNELS})
def roster_reserved(manifest: M, dice: Dice) -> M:
    """The reserved channel is declared, alone or with others."""
    return _with_roster(
        manifest,
        dice,
        dice.pick(((SINGLETON_WATERMARK_CHANNEL,), (SINGLETON_WATERMARK_CHANNEL, b"\1"))),
    )


def _declared(manifest: M) -> tuple[str, tuple[bytes, ...]]:
    """A source with physical channels that it declares."""
    physical = {c.source_name for c in manifest.channel_progress if _is_physical(c)}
    for name, checkpoint in manifest.source_offsets.items():
        if name in physical and checkpoint.input_channels is not None:
            return name, checkpoint.input_channels
    raise AssertionError("no source declares its channels")


def _redeclared(manifest: M, name: str, roster: tuple[bytes, ...]) -> M:
    checkpoint = replace(manifest.source_offsets[name], input_channels=roster)
    return _with_offsets(manifest, name, checkpoint)


@breakage("offsets.roster", "extra", having={Trait.ROSTER}, touches={Aspect.DECLARED_CHANNELS})
def roster_extra(manifest: M, dice: Dice) -> M:
    """A channel is declared that there is no progress of."""
    name, roster = _declared(manifest)
    return _redeclared(manifest, name, (*roster, roster[-1] + b"\0"))


@breakage("offsets.roster", "missing", having={Trait.ROSTER}, touches={Aspect.DECLARED_CHANNELS})
def roster_missing(manifest: M, dice: Dice) -> M:
    """A channel with progress is not declared."""
    name, roster = _declared(manifest)
    return _redeclared(manifest, name, roster[:-1])


@breakage("offsets.roster", "byte", having={Trait.ROSTER}, touches={Aspect.DECLARED_CHANNELS})
def roster_byte(manifest: M, dice: Dice) -> M:
    """A channel is declared with another last byte."""
    name, roster = _declared(manifest)
    last = roster[-1]
    changed = last[:-1] + bytes([last[-1] + 1]) if last[-1] < 255 else last + b"\0"
    return _redeclared(manifest, name, (*roster[:-1], changed))


@breakage(
    "offsets.roster",
    "order",
    also={"offsets.channels-order"},
    having={Trait.ROSTER},
    touches={Aspect.DECLARED_CHANNELS},
)
def roster_order(manifest: M, dice: Dice) -> M:
    """The declared channels have one twice, and so are not those with progress either."""
    name, roster = _declared(manifest)
    return _redeclared(manifest, name, (*roster, roster[-1]))


@breakage(
    "channels.mixed",
    "roster",
    also={"offsets.roster"},
    having={Trait.ROSTER},
    touches={Aspect.CHANNELS},
)
def channels_mixed_roster(manifest: M, dice: Dice) -> M:
    """The reserved channel stands beside declared ones."""
    name, _ = _declared(manifest)
    beside = next(c for c in manifest.channel_progress if c.source_name == name)
    return _with_channel(manifest, beside, SINGLETON_WATERMARK_CHANNEL)
