"""What a manifest can have: the features that generation is steered by and reports count.

A trait is asked for with ``having=`` and kept out with ``without=`` wherever a strategy takes
these; :func:`wishes` checks such arguments when the strategy is made.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from hypothesis.errors import InvalidArgument

from oracle import (
    MAX_CHECKPOINT_PARTICIPANTS,
    MAX_KEY_GROUP_COUNT,
    SINGLETON_WATERMARK_CHANNEL,
    ByteRange,
    CheckpointManifest,
    Contract,
    Feature,
    NodeSubscriptionStreamManifest,
    OperatorWhole,
    Singleton,
    ViewLogSegment,
    Vnode,
    VnodePartitioned,
)
from oracle.constants import U64_MAX
from oracle.kernels import is_trimmed

Present = Callable[[CheckpointManifest], bool]

LONG_NAME_LENGTH = 200
"""From this many characters on, a name is called long."""


SMALL_RANGE = 256
"""Ranges of more bytes than this are called large."""


class Trait(Enum):
    """A feature of a manifest; the value is its name in reports."""

    statement: str
    present: Present
    feature: Feature | None

    def __new__(
        cls, name: str, statement: str, present: Present, feature: Feature | None = None
    ) -> Trait:
        """Attach what the trait says, how it is seen, and the feature that it came with."""
        trait = object.__new__(cls)
        trait._value_ = name
        trait.statement = statement
        trait.present = present
        trait.feature = feature
        return trait

    LOCAL = "local", "there is no fence", lambda m: m.assignment_fence is None
    CLUSTER = "cluster", "there is a fence", lambda m: m.assignment_fence is not None
    SEVERAL_PARTICIPANTS = (
        "several-participants",
        "the fence lists more than one participant",
        lambda m: _participants(m) > 1,
    )
    MAX_PARTICIPANTS = (
        "max-participants",
        "the fence lists 129 participants",
        lambda m: _participants(m) == MAX_CHECKPOINT_PARTICIPANTS,
    )
    ONE_VNODE = "one-vnode", "vnode_count is 1", lambda m: m.vnode_count == 1
    SEVERAL_VNODES = "several-vnodes", "vnode_count is above 1", lambda m: m.vnode_count > 1
    MAX_VNODES = (
        "max-vnodes",
        "vnode_count is 65535",
        lambda m: m.vnode_count == MAX_KEY_GROUP_COUNT,
    )
    UNOWNED_VNODE = (
        "unowned-vnode",
        "a vnode belongs to another participant",
        lambda m: len(m.owned_vnodes) < m.vnode_count,
    )

    SOURCE = "source", "there is a source name", lambda m: bool(m.source_names)
    LOGICAL_CHANNEL = (
        "logical-channel",
        "a source has progress of the reserved channel",
        lambda m: any(c.input_channel == SINGLETON_WATERMARK_CHANNEL for c in m.channel_progress),
    )
    PHYSICAL_CHANNEL = (
        "physical-channel",
        "a source has progress of physical channels",
        lambda m: any(c.input_channel != SINGLETON_WATERMARK_CHANNEL for c in m.channel_progress),
    )
    SEVERAL_CHANNELS = (
        "several-channels",
        "there is progress of more than one channel",
        lambda m: len(m.channel_progress) > 1,
    )
    IDLE_CHANNEL = (
        "idle-channel",
        "a channel is idle",
        lambda m: any(c.idle for c in m.channel_progress),
    )
    UNINITIALIZED_CHANNEL = (
        "uninitialized-channel",
        "an active channel has not reported a watermark",
        lambda m: any(not c.idle and c.watermark is None for c in m.channel_progress),
    )
    NEGATIVE_WATERMARK = (
        "negative-watermark",
        "a channel's watermark is below zero",
        lambda m: any((c.watermark or 0) < 0 for c in m.channel_progress),
    )
    WATERMARK = (
        "watermark",
        "checkpoint_watermark is set",
        lambda m: m.checkpoint_watermark is not None,
    )
    OFFSETS = "offsets", "a connector left offsets", lambda m: bool(m.source_offsets)
    METADATA = (
        "metadata",
        "a connector left metadata",
        lambda m: any(c.metadata for c in m.source_offsets.values()),
    )
    ROSTER = (
        "roster",
        "a source with physical channels declares them",
        lambda m: any(
            name in _physical_sources(m) and checkpoint.input_channels is not None
            for name, checkpoint in m.source_offsets.items()
        ),
    )
    ASSIGNMENT_VERSION = (
        "assignment-version",
        "a connector names its source assignment version",
        lambda m: any(c.source_assignment_version is not None for c in m.source_offsets.values()),
    )

    CURRENT_FRAME = (
        "current-frame",
        "a state frame lies in the current object",
        lambda m: any(f.chunk == m.current_chunk for f in m.state_frames),
    )
    OLDER_FRAME = (
        "older-frame",
        "a state frame lies in an older object",
        lambda m: bool(m.referenced_chunks),
    )
    SEVERAL_OLDER_OBJECTS = (
        "several-older-objects",
        "more than one older object is in use",
        lambda m: len(m.referenced_chunks) > 1,
    )
    FOREIGN_OBJECT = (
        "foreign-object",
        "an older object was written by another participant",
        lambda m: any(r.chunk.participant_id != m.participant_id for r in m.referenced_chunks),
    )
    WHOLE_FRAME = (
        "whole-frame",
        "a frame is of a whole operator",
        lambda m: any(isinstance(f.key, OperatorWhole) for f in m.state_frames),
    )
    VNODE_FRAME = (
        "vnode-frame",
        "a frame is of one vnode",
        lambda m: any(isinstance(f.key, Vnode) for f in m.state_frames),
    )
    LARGE_RANGE = (
        "large-range",
        "a range is longer than 256 bytes",
        lambda m: any(part.length > SMALL_RANGE for part in _ranges(m)),
    )
    U64_END = (
        "u64-end",
        "a range ends at u64's maximum",
        lambda m: any(part.end == U64_MAX for part in _ranges(m)),
    )

    SINK = "sink", "there is a sink name", lambda m: bool(m.sink_names)
    PREPARED_SINK = "prepared-sink", "a sink prepared", lambda m: bool(m.prepared_sinks)
    SEVERAL_PREPARED_SINKS = (
        "several-prepared-sinks",
        "more than one sink prepared",
        lambda m: len(m.prepared_sinks) > 1,
    )
    SINK_ABSENT = (
        "sink-absent",
        "a sink prepared without payload",
        lambda m: _has_payload(m, "prepared_sinks", None),
    )
    SINK_EMPTY = (
        "sink-empty",
        "a sink prepared an empty payload",
        lambda m: _has_payload(m, "prepared_sinks", False),
    )
    SINK_PAYLOAD = (
        "sink-payload",
        "a sink prepared a payload",
        lambda m: _has_payload(m, "prepared_sinks", True),
    )
    INTENT = (
        "intent",
        "there are sink artifact intents",
        lambda m: bool(m.sink_artifact_intents),
        Feature.SINK_ARTIFACT_INTENTS,
    )
    INTENT_ABSENT = (
        "intent-absent",
        "an intent has no payload",
        lambda m: _has_payload(m, "sink_artifact_intents", None),
        Feature.SINK_ARTIFACT_INTENTS,
    )
    INTENT_EMPTY = (
        "intent-empty",
        "an intent has an empty payload",
        lambda m: _has_payload(m, "sink_artifact_intents", False),
        Feature.SINK_ARTIFACT_INTENTS,
    )
    INTENT_PAYLOAD = (
        "intent-payload",
        "an intent has a payload",
        lambda m: _has_payload(m, "sink_artifact_intents", True),
        Feature.SINK_ARTIFACT_INTENTS,
    )

    SUBSCRIPTION = (
        "subscription",
        "there is subscription output",
        lambda m: m.subscription_output is not None,
        Feature.SUBSCRIPTION_OUTPUT,
    )
    STREAM = (
        "stream",
        "the subscription output has a stream",
        lambda m: bool(_streams(m)),
        Feature.SUBSCRIPTION_OUTPUT,
    )
    SEVERAL_STREAMS = (
        "several-streams",
        "the subscription output has more than one stream",
        lambda m: len(_streams(m)) > 1,
        Feature.SUBSCRIPTION_OUTPUT,
    )
    PARTITIONED_STREAM = (
        "partitioned-stream",
        "a stream is partitioned by vnode",
        lambda m: any(_is_partitioned(stream) for stream in _streams(m)),
        Feature.SUBSCRIPTION_OUTPUT,
    )
    SINGLETON_STREAM = (
        "singleton-stream",
        "a stream is a singleton",
        lambda m: any(_is_singleton(stream) for stream in _streams(m)),
        Feature.SUBSCRIPTION_OUTPUT,
    )
    SEGMENT = (
        "segment",
        "a stream has segments",
        lambda m: any(stream.segments for stream in _streams(m)),
        Feature.SUBSCRIPTION_OUTPUT,
    )

    VIEW_LOG = "view-log", "there is a view log", lambda m: bool(m.view_logs), Feature.VIEW_LOGS
    SEVERAL_VIEW_LOGS = (
        "several-view-logs",
        "there is more than one view log",
        lambda m: len(m.view_logs) > 1,
        Feature.VIEW_LOGS,
    )
    EMPTY_VIEW_LOG = (
        "empty-view-log",
        "a view log has no segments",
        lambda m: any(not log.segments for log in m.view_logs),
        Feature.VIEW_LOGS,
    )
    LOG_SEGMENT = (
        "log-segment",
        "a view log has segments",
        lambda m: any(_log_segments(m)),
        Feature.VIEW_LOGS,
    )
    SEVERAL_LOG_SEGMENTS = (
        "several-log-segments",
        "view logs have more than one segment",
        lambda m: sum(1 for _ in _log_segments(m)) > 1,
        Feature.VIEW_LOGS,
    )
    CURRENT_SEGMENT = (
        "current-segment",
        "a view log's segment lies in the current object",
        lambda m: any(s.chunk == m.current_chunk for s in _log_segments(m)),
        Feature.VIEW_LOGS,
    )
    OLDER_SEGMENT = (
        "older-segment",
        "a view log's segment lies in an older object",
        lambda m: any(s.chunk != m.current_chunk for s in _log_segments(m)),
        Feature.VIEW_LOGS,
    )
    SEGMENT_OBJECT = (
        "segment-object",
        "an older object is used by segments alone",
        lambda m: (
            not {f.chunk for f in m.state_frames}.issuperset(r.chunk for r in m.referenced_chunks)
        ),
        Feature.VIEW_LOGS,
    )
    EVENT_TIME = (
        "event-time",
        "a segment has event-time bounds",
        lambda m: any(s.event_time is not None for s in _log_segments(m)),
        Feature.VIEW_LOGS,
    )
    NO_EVENT_TIME = (
        "no-event-time",
        "a segment has no event-time bounds",
        lambda m: any(s.event_time is None for s in _log_segments(m)),
        Feature.VIEW_LOGS,
    )
    INSTANT = (
        "instant",
        "a segment's event-time bounds are one instant",
        lambda m: any(
            s.event_time is not None and s.event_time.min == s.event_time.max
            for s in _log_segments(m)
        ),
        Feature.VIEW_LOGS,
    )
    U64_ROWS = (
        "u64-rows",
        "the rows of a segment end at u64's maximum",
        lambda m: any(s.first_row + s.row_count == U64_MAX for s in _log_segments(m)),
        Feature.VIEW_LOGS,
    )

    EMPTY_NAME = "empty-name", "a name is empty", lambda m: "" in set(_names(m))
    PADDED_NAME = (
        "padded-name",
        "a name starts or ends with white space",
        lambda m: not all(map(is_trimmed, _names(m))),
    )
    ASTRAL_NAME = (
        "astral-name",
        "a name has a character beyond U+FFFF",
        lambda m: any(name and max(name) > "\uffff" for name in _names(m)),
    )
    LAST_BMP_NAME = (
        "last-bmp-name",
        "a name has U+FFFF, which UTF-16 would order after every astral character",
        lambda m: any("\uffff" in name for name in _names(m)),
    )
    CONTROL_NAME = (
        "control-name",
        "a name has a control character",
        lambda m: any(unicodedata.category(c) == "Cc" for name in _names(m) for c in name),
    )
    COMBINING_NAME = (
        "combining-name",
        "a name has a combining character",
        lambda m: any(unicodedata.combining(c) for name in _names(m) for c in name),
    )
    LONG_NAME = (
        "long-name",
        f"a name has {LONG_NAME_LENGTH} characters or more",
        lambda m: any(len(name) >= LONG_NAME_LENGTH for name in _names(m)),
    )

    def __repr__(self) -> str:
        return f"Trait.{self.name}"


NAME_TRAITS = (
    Trait.EMPTY_NAME,
    Trait.PADDED_NAME,
    Trait.ASTRAL_NAME,
    Trait.LAST_BMP_NAME,
    Trait.CONTROL_NAME,
    Trait.COMBINING_NAME,
    Trait.LONG_NAME,
)
"""Traits of single names: of sources, sinks, operators and views."""


def _participants(manifest: CheckpointManifest) -> int:
    fence = manifest.assignment_fence
    return 0 if fence is None else len(fence.participants)


def _physical_sources(manifest: CheckpointManifest) -> set[str]:
    return {
        channel.source_name
        for channel in manifest.channel_progress
        if channel.input_channel != SINGLETON_WATERMARK_CHANNEL
    }


def _ranges(manifest: CheckpointManifest) -> Iterator[ByteRange]:
    for frame in manifest.state_frames:
        yield frame.range
    for segment in _log_segments(manifest):
        yield segment.range
    for entries in (manifest.sink_artifact_intents, manifest.prepared_sinks):
        yield from (entry.payload for entry in entries if entry.payload is not None)


def _has_payload(manifest: CheckpointManifest, field: str, filled: bool | None) -> bool:
    """Whether an entry of *field* has no payload (``None``), an empty one or a filled one."""
    return any(
        filled is (None if entry.payload is None else entry.payload.length > 0)
        for entry in getattr(manifest, field)
    )


def _streams(manifest: CheckpointManifest) -> tuple[NodeSubscriptionStreamManifest, ...]:
    output = manifest.subscription_output
    return () if output is None else output.streams


def _is_partitioned(stream: NodeSubscriptionStreamManifest) -> bool:
    return isinstance(stream.distribution_certificate.distribution, VnodePartitioned)


def _is_singleton(stream: NodeSubscriptionStreamManifest) -> bool:
    return isinstance(stream.distribution_certificate.distribution, Singleton)


def _log_segments(manifest: CheckpointManifest) -> Iterator[ViewLogSegment]:
    for log in manifest.view_logs:
        yield from log.segments


def _names(manifest: CheckpointManifest) -> Iterator[str]:
    yield from manifest.source_names
    yield from manifest.sink_names
    for log in manifest.view_logs:
        yield log.view_name
    for frame in manifest.state_frames:
        yield frame.key.operator_id


# --- wishes ----------------------------------------------------------------------------------

_IMPLIED = {
    Trait.SEVERAL_PARTICIPANTS: {Trait.CLUSTER},
    Trait.MAX_PARTICIPANTS: {Trait.SEVERAL_PARTICIPANTS},
    Trait.MAX_VNODES: {Trait.SEVERAL_VNODES},
    Trait.UNOWNED_VNODE: {Trait.CLUSTER, Trait.SEVERAL_VNODES},
    Trait.LOGICAL_CHANNEL: {Trait.SOURCE},
    Trait.PHYSICAL_CHANNEL: {Trait.SOURCE},
    Trait.SEVERAL_CHANNELS: {Trait.SOURCE},
    Trait.IDLE_CHANNEL: {Trait.SOURCE},
    Trait.UNINITIALIZED_CHANNEL: {Trait.SOURCE},
    Trait.NEGATIVE_WATERMARK: {Trait.SOURCE},
    Trait.WATERMARK: {Trait.SOURCE},
    Trait.OFFSETS: {Trait.SOURCE},
    Trait.METADATA: {Trait.OFFSETS},
    Trait.ROSTER: {Trait.OFFSETS, Trait.PHYSICAL_CHANNEL},
    Trait.ASSIGNMENT_VERSION: {Trait.OFFSETS},
    Trait.SEVERAL_OLDER_OBJECTS: {Trait.OLDER_FRAME},
    Trait.FOREIGN_OBJECT: {Trait.OLDER_FRAME},
    Trait.U64_END: {Trait.LARGE_RANGE},
    Trait.PREPARED_SINK: {Trait.SINK},
    Trait.SEVERAL_PREPARED_SINKS: {Trait.PREPARED_SINK},
    Trait.SINK_ABSENT: {Trait.PREPARED_SINK},
    Trait.SINK_EMPTY: {Trait.PREPARED_SINK},
    Trait.SINK_PAYLOAD: {Trait.PREPARED_SINK},
    Trait.INTENT: {Trait.PREPARED_SINK},
    Trait.INTENT_ABSENT: {Trait.INTENT},
    Trait.INTENT_EMPTY: {Trait.INTENT},
    Trait.INTENT_PAYLOAD: {Trait.INTENT},
    Trait.SUBSCRIPTION: {Trait.CLUSTER},
    Trait.STREAM: {Trait.SUBSCRIPTION},
    Trait.SEVERAL_STREAMS: {Trait.STREAM},
    Trait.PARTITIONED_STREAM: {Trait.STREAM},
    Trait.SINGLETON_STREAM: {Trait.STREAM},
    Trait.SEGMENT: {Trait.STREAM},
    Trait.SEVERAL_VIEW_LOGS: {Trait.VIEW_LOG},
    Trait.EMPTY_VIEW_LOG: {Trait.VIEW_LOG},
    Trait.LOG_SEGMENT: {Trait.VIEW_LOG},
    Trait.SEVERAL_LOG_SEGMENTS: {Trait.LOG_SEGMENT},
    Trait.CURRENT_SEGMENT: {Trait.LOG_SEGMENT},
    Trait.OLDER_SEGMENT: {Trait.LOG_SEGMENT, Trait.OLDER_FRAME},
    Trait.SEGMENT_OBJECT: {
        Trait.OLDER_SEGMENT,
        Trait.SEVERAL_OLDER_OBJECTS,
        Trait.FOREIGN_OBJECT,
    },
    Trait.EVENT_TIME: {Trait.LOG_SEGMENT},
    Trait.NO_EVENT_TIME: {Trait.LOG_SEGMENT},
    Trait.INSTANT: {Trait.EVENT_TIME},
    Trait.U64_ROWS: {Trait.LOG_SEGMENT},
}
"""What a trait cannot be without."""

_OPPOSITES = ({Trait.LOCAL, Trait.CLUSTER}, {Trait.ONE_VNODE, Trait.SEVERAL_VNODES})
"""Pairs of which a manifest has exactly one."""

_EXCLUSIVE = (*_OPPOSITES, {Trait.WATERMARK, Trait.UNINITIALIZED_CHANNEL})
"""Pairs of which a manifest has at most one."""

_OF_A_RANGE = (Trait.CURRENT_FRAME, Trait.OLDER_FRAME, Trait.SINK_PAYLOAD, Trait.INTENT_PAYLOAD)
"""Traits that come with a range each, simplest first."""

_ONE_OF = (
    ({Trait.CURRENT_FRAME, Trait.OLDER_FRAME}, {Trait.WHOLE_FRAME, Trait.VNODE_FRAME}),
    (
        {Trait.WHOLE_FRAME, Trait.VNODE_FRAME, Trait.U64_END},
        {Trait.CURRENT_FRAME, Trait.OLDER_FRAME},
    ),
    (
        {
            Trait.SEVERAL_CHANNELS,
            Trait.IDLE_CHANNEL,
            Trait.UNINITIALIZED_CHANNEL,
            Trait.NEGATIVE_WATERMARK,
            Trait.WATERMARK,
        },
        {Trait.LOGICAL_CHANNEL, Trait.PHYSICAL_CHANNEL},
    ),
    (
        {Trait.LARGE_RANGE},
        {*_OF_A_RANGE},
    ),
    (
        {Trait.PREPARED_SINK},
        {Trait.SINK_ABSENT, Trait.SINK_EMPTY, Trait.SINK_PAYLOAD},
    ),
    ({Trait.INTENT}, {Trait.INTENT_ABSENT, Trait.INTENT_EMPTY, Trait.INTENT_PAYLOAD}),
    ({Trait.STREAM}, {Trait.PARTITIONED_STREAM, Trait.SINGLETON_STREAM}),
    ({Trait.VIEW_LOG}, {Trait.EMPTY_VIEW_LOG, Trait.LOG_SEGMENT}),
    ({Trait.LOG_SEGMENT}, {Trait.CURRENT_SEGMENT, Trait.OLDER_SEGMENT}),
    ({Trait.LOG_SEGMENT}, {Trait.EVENT_TIME, Trait.NO_EVENT_TIME}),
)
"""Each of the first needs one of the second."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a manifest must and must not have, with everything that follows from it."""

    having: frozenset[Trait]
    without: frozenset[Trait]

    def allows(self, trait: Trait) -> bool:
        """Whether a manifest may have *trait*."""
        return trait not in self.without

    def demands(self, *traits: Trait) -> bool:
        """Whether a manifest must have one of *traits*, as far as each is asked for by itself."""
        return not self.having.isdisjoint(traits)


def wishes(
    contract: Contract,
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
    key_groups: int | None = None,
) -> Wishes:
    """Check and complete what is asked for; :class:`InvalidArgument` where it cannot be had."""
    wanted, unwanted = set(_traits("having", having)), set(_traits("without", without))
    if key_groups is not None:
        if not isinstance(key_groups, int) or not 1 <= key_groups <= MAX_KEY_GROUP_COUNT:
            raise InvalidArgument(f"key_groups={key_groups!r} is not in 1..={MAX_KEY_GROUP_COUNT}")
        wanted.add(Trait.ONE_VNODE if key_groups == 1 else Trait.SEVERAL_VNODES)
        (wanted if key_groups == MAX_KEY_GROUP_COUNT else unwanted).add(Trait.MAX_VNODES)
    for trait in wanted:
        if not contract.has(trait.feature):
            raise InvalidArgument(f"{trait!r} is not part of format {contract.name}")
    unwanted.update(trait for trait in Trait if not contract.has(trait.feature))
    _complete(wanted, unwanted)
    if Trait.LARGE_RANGE in wanted and wanted.isdisjoint(_OF_A_RANGE):
        wanted.update([trait for trait in _OF_A_RANGE if trait not in unwanted][:1])
        _complete(wanted, unwanted)
    both = wanted & unwanted
    both = both.union(*(pair for pair in _OPPOSITES if pair <= unwanted))
    if both:
        listed = ", ".join(sorted(map(repr, both)))
        raise InvalidArgument(
            f"having={having!r} and without={without!r} exclude each other: {listed}"
        )
    return Wishes(frozenset(wanted), frozenset(unwanted))


def _traits(argument: str, given: Iterable[Trait]) -> tuple[Trait, ...]:
    try:
        traits = tuple(given)
    except TypeError:
        traits = (None,)  # type: ignore[assignment]
    if not all(isinstance(trait, Trait) for trait in traits):
        raise InvalidArgument(f"{argument}={given!r} is not a collection of Trait")
    return traits


def _complete(wanted: set[Trait], unwanted: set[Trait]) -> None:
    """Add what follows, until nothing more does."""
    size = -1
    while size != len(wanted) + len(unwanted):
        size = len(wanted) + len(unwanted)
        for trait, implied in _IMPLIED.items():
            if trait in wanted:
                wanted |= implied
            if implied & unwanted:
                unwanted.add(trait)
        for pair in _OPPOSITES:
            if pair & unwanted:
                wanted |= pair - unwanted
        for pair in _EXCLUSIVE:
            if pair & wanted:
                unwanted |= pair - wanted
            if pair <= wanted:
                unwanted |= pair
        for needy, needed in _ONE_OF:
            if needed <= unwanted:
                unwanted |= needy
            if needy & wanted and len(needed - unwanted) == 1:
                wanted |= needed - unwanted
