"""Names, the progress of input channels, the checkpoint's watermark, and source offsets."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.constants import I64_MIN, SINGLETON_WATERMARK_CHANNEL
from oracle.errors import json_pointer
from oracle.kernels import (
    classify,
    first_disorder,
    has_reserved_watermark,
    rosters_differ,
    strictly_ascending,
)
from oracle.registry import Place, rule
from oracle.subject import Subject


@rule("source-names.order")
def source_names_order(subject: Subject) -> Iterator[Place]:
    """source_names is not strictly ascending, in byte order of UTF-8."""
    yield from _unordered_names("source_names", subject.manifest.source_names)


@rule("sink-names.order")
def sink_names_order(subject: Subject) -> Iterator[Place]:
    """sink_names is not strictly ascending, in byte order of UTF-8."""
    yield from _unordered_names("sink_names", subject.manifest.sink_names)


def _unordered_names(field: str, names: tuple[str, ...]) -> Iterator[Place]:
    index = first_disorder(names)
    if index is not None:
        yield f"/{field}/{index}", f"{names[index]!r} does not follow {names[index - 1]!r}"


@rule("channels.order")
def channels_order(subject: Subject) -> Iterator[Place]:
    """channel_progress is not strictly ascending by participant, source_name, input_channel."""
    keys = [channel.order for channel in subject.manifest.channel_progress]
    index = first_disorder(keys)
    if index is not None:
        yield f"/channel_progress/{index}", f"{keys[index]} does not follow {keys[index - 1]}"


@rule("channels.participant")
def channels_participant(subject: Subject) -> Iterator[Place]:
    """An entry's participant_id is not the manifest's."""
    own = subject.manifest.participant_id
    for index, channel in enumerate(subject.manifest.channel_progress):
        if channel.participant_id != own:
            yield (
                f"/channel_progress/{index}/participant_id",
                f"the channel is participant {channel.participant_id}'s, the manifest {own}'s",
            )


@rule("channels.source-empty")
def channels_source_empty(subject: Subject) -> Iterator[Place]:
    """An entry's source_name is empty (then channels.source-unknown is not examined for it)."""
    for index, channel in enumerate(subject.manifest.channel_progress):
        if not channel.source_name:
            yield f"/channel_progress/{index}/source_name", "source_name is empty"


@rule("channels.source-unknown", unspecified_with=("source-names.order",))
def channels_source_unknown(subject: Subject) -> Iterator[Place]:
    """An entry's source_name is not in source_names."""
    for index, channel in enumerate(subject.manifest.channel_progress):
        if channel.source_name and channel.source_name not in subject.source_names:
            yield (
                f"/channel_progress/{index}/source_name",
                f"{channel.source_name!r} is not in source_names",
            )


@rule("channels.input-empty")
def channels_input_empty(subject: Subject) -> Iterator[Place]:
    """An entry's input_channel is empty."""
    for index, channel in enumerate(subject.manifest.channel_progress):
        if not channel.input_channel:
            yield f"/channel_progress/{index}/input_channel", "input_channel is empty"


@rule("channels.mixed")
def channels_mixed(subject: Subject) -> Iterator[Place]:
    """One source has both the reserved channel (the single byte 0) and another channel."""
    reserved_by_source: dict[str, bool] = {}
    mixed: set[str] = set()
    for index, channel in enumerate(subject.manifest.channel_progress):
        source, reserved = channel.source_name, channel.input_channel == SINGLETON_WATERMARK_CHANNEL
        if reserved_by_source.setdefault(source, reserved) != reserved and source not in mixed:
            mixed.add(source)
            yield (
                f"/channel_progress/{index}/input_channel",
                f"source {source!r} has the reserved channel [0] beside another one",
            )


@rule("watermark.sentinel")
def watermark_sentinel(subject: Subject) -> Iterator[Place]:
    """A channel's watermark is i64's minimum, which means uninitialized and is reserved.

    It is broken wherever that value stands, as the engine's documentation says.
    """
    for index, channel in enumerate(subject.manifest.channel_progress):
        if channel.watermark == I64_MIN:
            yield (
                f"/channel_progress/{index}/watermark",
                "the watermark is the reserved i64 minimum",
            )


@rule("watermark.mismatch")
def watermark_mismatch(subject: Subject) -> Iterator[Place]:
    """checkpoint_watermark differs from the active value of channel_progress.

    The smallest watermark of the active channels; none while one of these has not reported, or
    with no active channel. Not examined after watermark.sentinel.
    """
    manifest = subject.manifest
    channels = [(channel.watermark, channel.idle) for channel in manifest.channel_progress]
    if has_reserved_watermark(watermark for watermark, _ in channels):
        return
    classified = classify(channels)
    if manifest.checkpoint_watermark != classified.value:
        wanted = "none" if classified.value is None else classified.value
        found = "none" if manifest.checkpoint_watermark is None else manifest.checkpoint_watermark
        yield (
            "/checkpoint_watermark",
            f"checkpoint_watermark is {found}, the channels ({classified.state}) give {wanted}",
        )


@rule("offsets.source-unknown", unspecified_with=("source-names.order",))
def offsets_source_unknown(subject: Subject) -> Iterator[Place]:
    """A key of source_offsets is not in source_names."""
    for name in subject.manifest.source_offsets:
        if name not in subject.source_names:
            yield json_pointer("source_offsets", name), f"{name!r} is not in source_names"


def _declared_rosters(subject: Subject) -> Iterator[tuple[str, str, tuple[bytes, ...]]]:
    for name, checkpoint in subject.manifest.source_offsets.items():
        if checkpoint.input_channels is not None:
            pointer = json_pointer("source_offsets", name, "input_channels")
            yield name, pointer, checkpoint.input_channels


@rule("offsets.channels-order")
def offsets_channels_order(subject: Subject) -> Iterator[Place]:
    """An input_channels list has an empty entry or is not strictly ascending."""
    for name, pointer, channels in _declared_rosters(subject):
        if b"" in channels or not strictly_ascending(channels):
            yield pointer, f"the channels of {name!r} are not non-empty and strictly ascending"


@rule("offsets.channels-reserved")
def offsets_channels_reserved(subject: Subject) -> Iterator[Place]:
    """An input_channels list has the reserved channel (the single byte 0)."""
    for name, pointer, channels in _declared_rosters(subject):
        if SINGLETON_WATERMARK_CHANNEL in channels:
            yield pointer, f"the channels of {name!r} have the reserved channel [0]"


@rule("offsets.roster")
def offsets_roster(subject: Subject) -> Iterator[Place]:
    """input_channels is given, and the source's progress entries are of other channels.

    Examined when the source has progress entries that are not all of the reserved channel; their
    channels, sorted, must be exactly input_channels.
    """
    observed = subject.channels_by_source
    for name, pointer, channels in _declared_rosters(subject):
        progress = observed.get(name, [])
        if any(channel != SINGLETON_WATERMARK_CHANNEL for channel in progress) and rosters_differ(
            channels, progress
        ):
            yield pointer, f"source {name!r} declares other channels than it has progress of"
