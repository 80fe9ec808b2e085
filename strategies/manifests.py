"""Manifests, valid by construction: ranges are laid out, then digests made, then order imposed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import (
    EMPTY_SHA256,
    LOCAL_NODE_ID,
    MAX_CHECKPOINT_PARTICIPANTS,
    MAX_KEY_GROUP_COUNT,
    PARTITIONING_ABI_VERSION,
    PREPARED_SINK_DESCRIPTOR_VERSION,
    SINGLETON_WATERMARK_CHANNEL,
    V10,
    ByteRange,
    ChannelProgress,
    CheckpointAssignmentFence,
    CheckpointManifest,
    ConnectorCheckpoint,
    Contract,
    Feature,
    FrozenDict,
    NodeDataObject,
    OperatorWhole,
    PipelineIdentity,
    PreparedSinkArtifactIntent,
    PreparedSinkDescriptor,
    ReferencedStateChunk,
    StateChunkId,
    StateFrame,
    StateFrameKey,
    Vnode,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
)
from oracle.constants import U64_MAX
from oracle.kernels import classify
from strategies import parts
from strategies.scene import Scene
from strategies.subscriptions import draw_streams, output_of
from strategies.traits import NAME_TRAITS, Trait, Wishes, wishes

MAX_OLDER_OBJECTS = 3
MAX_SOURCES = 3
MAX_SINKS = 3


def manifests(
    contract: Contract = V10,
    *,
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
    key_groups: int | None = None,
) -> SearchStrategy[CheckpointManifest]:
    """Valid manifests of *contract*, for their own ``vnode_count`` of key groups.

    Everything in :class:`Trait` occurs. *having* names traits that every manifest must have,
    *without* traits that none may have, *key_groups* fixes ``vnode_count``. Arguments that cannot
    all be met raise :class:`hypothesis.errors.InvalidArgument` at the call.

    No example is thrown away. Digests are well-formed and consistent with each other, but stand
    for no real bytes; :func:`strategies.checkpoints` has those. But for
    ``hazard.source-name``, which follows from :attr:`Trait.PADDED_NAME` and
    :attr:`Trait.EMPTY_NAME`, no manifest has a hazard.

    Shrinks to the local manifest of one vnode at checkpoint 1 that has nothing in it, or no more
    than *having* asks for; names shrink to ``a``, ``b``, lengths and watermarks to the least.
    """
    wished = wishes(contract, having, without, key_groups)
    if wished.having >= {Trait.LOGICAL_CHANNEL, Trait.PHYSICAL_CHANNEL} and not wished.allows(
        Trait.SEVERAL_CHANNELS
    ):
        raise InvalidArgument("a logical and a physical channel are several channels")
    return _manifests(contract, wished, key_groups)


@st.composite
def _manifests(
    draw: DrawFn, contract: Contract, wished: Wishes, key_groups: int | None
) -> CheckpointManifest:
    older = _draw_older_count(draw, wished)
    scene = _draw_scene(draw, contract, wished, key_groups, older)
    participant_id, owned = _draw_place(draw, wished, scene)
    return draw_part(draw, wished, scene, participant_id, owned, older)


@cache
def _numbers(least: int, greatest: int) -> SearchStrategy[int]:
    return st.integers(least, greatest)


def _decide(draw: DrawFn, wished: Wishes, trait: Trait, odds: int = 2) -> bool:
    """Whether to have *trait*: as wished, else once in *odds* times. Shrinks to not."""
    if trait in wished.having:
        return True
    return wished.allows(trait) and draw(_numbers(1, odds)) == odds


# --- what a cut shares -----------------------------------------------------------------------

_HEADERS = st.tuples(
    st.integers(1, U64_MAX),  # timestamp_ms
    st.integers(1, 2**128 - 1),  # deployment_id
    parts.sha256_texts(),  # of the pipeline
    st.integers(0, 2**16),  # salt
)


def _draw_scene(
    draw: DrawFn, contract: Contract, wished: Wishes, key_groups: int | None, older: int
) -> Scene:
    cluster = _decide(draw, wished, Trait.CLUSTER)
    vnode_count = key_groups or draw(_vnode_counts(wished, cluster))
    timestamp_ms, deployment, pipeline, salt = draw(_HEADERS)
    return Scene(
        contract=contract,
        checkpoint_id=draw(_numbers(older + 1, U64_MAX)),
        timestamp_ms=timestamp_ms,
        deployment_id=str(UUID(int=deployment)),
        pipeline_identity=PipelineIdentity(contract.pipeline_identity_version, pipeline),
        vnode_count=vnode_count,
        fence=_draw_fence(draw, wished, vnode_count) if cluster else None,
        source_names=_draw_names(draw, wished, _fewest_sources(wished), MAX_SOURCES, Trait.SOURCE),
        sink_names=_draw_names(draw, wished, _fewest_sinks(wished), MAX_SINKS, Trait.SINK),
        salt=salt,
    )


@cache
def _vnode_counts(wished: Wishes, cluster: bool) -> SearchStrategy[int]:
    """Few vnodes mostly, and once in sixteen times as many as there can be."""
    if wished.demands(Trait.MAX_VNODES):
        return st.just(MAX_KEY_GROUP_COUNT)
    few = [1, 2, 3, 4, 1, 5, 8, 2, 16, 1, 4, 7, 3, 64, 256]
    if wished.allows(Trait.MAX_VNODES):
        few.append(MAX_KEY_GROUP_COUNT)
    if wished.demands(Trait.SEVERAL_VNODES):
        few = [count for count in few if count > 1]
    if not wished.allows(Trait.SEVERAL_VNODES):
        few = [1]
    return st.sampled_from(few)


def _draw_fence(draw: DrawFn, wished: Wishes, vnode_count: int) -> CheckpointAssignmentFence:
    least = 2 if wished.demands(Trait.SEVERAL_PARTICIPANTS) else 1
    most = 4 if wished.allows(Trait.SEVERAL_PARTICIPANTS) else 1
    if _decide(draw, wished, Trait.MAX_PARTICIPANTS, odds=12):
        least = most = MAX_CHECKPOINT_PARTICIPANTS
    return draw(_fences(vnode_count, least, most))


@cache
def _fences(vnode_count: int, least: int, most: int) -> SearchStrategy[CheckpointAssignmentFence]:
    return parts.fences(
        vnode_count=vnode_count, min_participants=least, max_participants=most
    )


def _draw_names(
    draw: DrawFn, wished: Wishes, fewest: int, most: int, trait: Trait
) -> tuple[str, ...]:
    """A roster of names, in which the empty name may stand for nobody."""
    if not wished.allows(trait):
        return ()
    unwanted = wished.without.intersection(NAME_TRAITS)
    names = draw(parts.name_rosters(min_size=fewest, max_size=most, without=unwanted))
    if trait is Trait.SINK:
        # A sink that does not prepare can have any name, and shows the traits that are asked for.
        asked = wished.having.intersection(NAME_TRAITS)
        names = tuple(sorted({*names, *map(parts.example_of, asked)}))
    if names and names[0] and _decide(draw, wished, Trait.EMPTY_NAME, odds=8):
        names = ("", *names)
    return names


def _draw_place(
    draw: DrawFn, wished: Wishes, scene: Scene
) -> tuple[int, tuple[int, ...]]:
    """Who writes the manifest, and which vnodes are its."""
    if scene.fence is None:
        return LOCAL_NODE_ID, vnodes(scene.vnode_count)
    members = scene.fence.participants
    participant_id = members[draw(_numbers(0, len(members) - 1))].node_id
    count = scene.vnode_count
    if count == 1 or not _decide(draw, wished, Trait.UNOWNED_VNODE):
        return participant_id, vnodes(count)
    start = 0 if wished.demands(Trait.SINGLETON_STREAM) else draw(_numbers(0, min(count - 1, 9)))
    step = draw(_numbers(1, 4))
    return participant_id, vnodes(count, start, step) if start or step > 1 else vnodes(count - 1)


@cache
def vnodes(count: int, start: int = 0, step: int = 1) -> tuple[int, ...]:
    """Every *step*-th vnode from *start* on, below *count*."""
    return tuple(range(start, count, step))


# --- one participant's part ------------------------------------------------------------------


def draw_part(
    draw: DrawFn,
    wished: Wishes,
    scene: Scene,
    participant_id: int,
    owned: tuple[int, ...],
    older: int,
) -> CheckpointManifest:
    """The manifest of *participant_id*, who owns the vnodes *owned* and uses *older* objects."""
    offsets, progress = _draw_sources(draw, wished, scene, participant_id)
    current = StateChunkId(participant_id, scene.checkpoint_id)
    objects = [current, *_draw_older(draw, wished, current, older)]
    placed = _draw_frames(draw, wished, owned, older)
    sinks, intents = _draw_sinks(draw, wished, scene)
    layout = _Layout(placed, intents, sinks)
    if _decide(draw, wished, Trait.U64_END, odds=10):
        layout.stretch()
    frames, lengths = layout.frames(objects, scene.salt)
    intent_ranges, sink_ranges = layout.payloads(lengths)
    uses = [frame.chunk for frame in frames]
    output = None
    if scene.contract.has(Feature.SUBSCRIPTION_OUTPUT) and scene.fence is not None:
        if _decide(draw, wished, Trait.SUBSCRIPTION):
            output = output_of(scene, participant_id, draw_streams(draw, wished, scene, owned))
    return CheckpointManifest(
        version=scene.contract.manifest_version,
        checkpoint_id=scene.checkpoint_id,
        epoch=scene.checkpoint_id,
        timestamp_ms=scene.timestamp_ms,
        participant_id=participant_id,
        source_offsets=offsets,
        source_names=scene.source_names,
        sink_names=scene.sink_names,
        pipeline_identity=scene.pipeline_identity,
        deployment_id=scene.deployment_id,
        partitioning_abi_version=PARTITIONING_ABI_VERSION,
        vnode_count=scene.vnode_count,
        assignment_fence=scene.fence,
        reassignment_portable=scene.fence is not None,
        owned_vnodes=owned,
        checkpoint_watermark=classify((c.watermark, c.idle) for c in progress).value,
        channel_progress=progress,
        node_data=NodeDataObject(
            current, lengths[0], range_digest(scene.salt, current, 0, lengths[0])
        ),
        state_frames=tuple(frames),
        prepared_sinks=tuple(
            PreparedSinkDescriptor(
                name,
                PREPARED_SINK_DESCRIPTOR_VERSION,
                payload,
                _payload_digest(scene.salt, name, payload, *_SINK_DIGESTS),
            )
            for (name, _), payload in zip(sinks, sink_ranges, strict=True)
        ),
        sink_artifact_intents=tuple(
            PreparedSinkArtifactIntent(
                name,
                PREPARED_SINK_DESCRIPTOR_VERSION,
                payload,
                _payload_digest(scene.salt, name, payload, *_INTENT_DIGESTS),
            )
            for (name, _), payload in zip(intents, intent_ranges, strict=True)
        ),
        referenced_chunks=tuple(
            sorted(
                (
                    ReferencedStateChunk(
                        chunk, length, range_digest(scene.salt, chunk, 0, length), uses.count(chunk)
                    )
                    for chunk, length in zip(objects[1:], lengths[1:], strict=True)
                ),
                key=lambda reference: reference.chunk,
            )
        ),
        subscription_output=output,
    )


def range_digest(salt: int, chunk: StateChunkId, offset: int, length: int) -> str:
    """A made-up digest, the same for the same bytes of the same object."""
    if not length:
        return EMPTY_SHA256
    return sha256(
        b"%d %d %d %d %d" % (salt, chunk.participant_id, chunk.checkpoint_id, offset, length)
    ).hexdigest()


_SINK_DIGESTS = (checkpoint_descriptor_sha256(None), checkpoint_descriptor_sha256(b""))
_INTENT_DIGESTS = (checkpoint_artifact_intent_sha256(None), checkpoint_artifact_intent_sha256(b""))


def _payload_digest(
    salt: int, name: str, payload: ByteRange | None, absent: str, empty: str
) -> str:
    if payload is None:
        return absent
    if not payload.length:
        return empty
    return sha256(f"{salt} {name} {absent}".encode()).hexdigest()


# --- sources ---------------------------------------------------------------------------------

_LOGICAL, _PHYSICAL = 1, 2
_OFFSETS, _METADATA, _ROSTER, _VERSION = 1, 2, 4, 8

_STATES = st.tuples(st.one_of(st.none(), parts.watermarks()), st.booleans())
_PHYSICAL_ROSTERS = parts.channel_rosters(min_size=1, max_size=3)
_BARE_ROSTERS = parts.channel_rosters(max_size=2)

_OFFSET_KEYS = ("0", "partition-1", "partition-10", "partition-2", "lsn", "\U00010000", "\uffff")
_OFFSET_VALUES = ("0", "1", "18446744073709551616", "", '{"lsn":"16/B374D848"}', "é\U00010000")
_OFFSET_MAPS = st.dictionaries(
    st.sampled_from(_OFFSET_KEYS), st.sampled_from(_OFFSET_VALUES), max_size=3
).map(FrozenDict)
_METADATA_MAPS = st.dictionaries(
    st.sampled_from(_OFFSET_KEYS), st.sampled_from(_OFFSET_VALUES), min_size=1, max_size=2
).map(FrozenDict)


@cache
def _vectors(size: int, least: int, greatest: int) -> SearchStrategy[list[int]]:
    return st.lists(st.integers(least, greatest), min_size=size, max_size=size)


@cache
def _state_vectors(size: int) -> SearchStrategy[list[tuple[int | None, bool]]]:
    return st.lists(_STATES, min_size=size, max_size=size)


_OF_FIRST_CHANNEL = (Trait.IDLE_CHANNEL, Trait.NEGATIVE_WATERMARK)
_OF_LAST_CHANNEL = (Trait.UNINITIALIZED_CHANNEL, Trait.WATERMARK, Trait.SEVERAL_CHANNELS)


@cache
def _asked_kinds(wished: Wishes) -> tuple[int, ...]:
    """Which channels the first sources must have for what is asked for."""
    kinds = [
        kind
        for kind, trait in ((_LOGICAL, Trait.LOGICAL_CHANNEL), (_PHYSICAL, Trait.PHYSICAL_CHANNEL))
        if trait in wished.having
    ]
    allowed = _LOGICAL if wished.allows(Trait.LOGICAL_CHANNEL) else _PHYSICAL
    first, last = wished.demands(*_OF_FIRST_CHANNEL), wished.demands(*_OF_LAST_CHANNEL)
    channels = first + last if wished.allows(Trait.SEVERAL_CHANNELS) else first or last
    if wished.demands(Trait.SEVERAL_CHANNELS):
        channels = 2
    while len(kinds) < channels:
        kinds.append(allowed)
    return tuple(kinds)


def _fewest_sources(wished: Wishes) -> int:
    return max(len(_asked_kinds(wished)), int(wished.demands(Trait.SOURCE)))


def _draw_sources(
    draw: DrawFn, wished: Wishes, scene: Scene, participant_id: int
) -> tuple[FrozenDict[str, ConnectorCheckpoint], tuple[ChannelProgress, ...]]:
    # The empty name may be registered, but no channel can be of it.
    names = [name for name in scene.source_names if name]
    if not names:
        return FrozenDict(), ()
    channels = _draw_channels(draw, wished, names)
    progress = _draw_progress(draw, wished, channels, participant_id)
    return _draw_offsets(draw, wished, channels), progress


def _draw_channels(
    draw: DrawFn, wished: Wishes, names: Sequence[str]
) -> dict[str, tuple[bytes, ...]]:
    """The channels of each source: none, the reserved one, or physical ones."""
    kinds = list(_asked_kinds(wished))
    kinds += draw(_vectors(len(names) - len(kinds), 0, _PHYSICAL))
    channels: dict[str, tuple[bytes, ...]] = {}
    for name, kind in zip(names, kinds, strict=True):
        channels[name] = ()
        if not wished.allows(Trait.SEVERAL_CHANNELS) and any(channels.values()):
            continue
        if kind == _LOGICAL and wished.allows(Trait.LOGICAL_CHANNEL):
            channels[name] = (SINGLETON_WATERMARK_CHANNEL,)
        elif kind and wished.allows(Trait.PHYSICAL_CHANNEL):
            roster = draw(_PHYSICAL_ROSTERS)
            channels[name] = roster if wished.allows(Trait.SEVERAL_CHANNELS) else roster[:1]
    return channels


def _draw_progress(
    draw: DrawFn, wished: Wishes, channels: dict[str, tuple[bytes, ...]], participant_id: int
) -> tuple[ChannelProgress, ...]:
    keys = [(name, channel) for name, roster in channels.items() for channel in roster]
    states = _wished_states(wished, draw(_state_vectors(len(keys))))
    return tuple(
        ChannelProgress(participant_id, name, channel, watermark, idle)
        for (name, channel), (watermark, idle) in zip(keys, states, strict=True)
    )


def _wished_states(
    wished: Wishes, states: list[tuple[int | None, bool]]
) -> list[tuple[int | None, bool]]:
    """Bend what was drawn to what is asked for."""
    if not wished.allows(Trait.IDLE_CHANNEL):
        states = [(watermark, False) for watermark, _ in states]
    if not wished.allows(Trait.NEGATIVE_WATERMARK):
        states = [(w if w is None or w >= 0 else ~w, idle) for w, idle in states]
    if not wished.allows(Trait.UNINITIALIZED_CHANNEL):
        states = [(w if w is not None or idle else 0, idle) for w, idle in states]
    if not states:
        return states
    if wished.demands(Trait.UNINITIALIZED_CHANNEL):
        states[-1] = (None, False)
    if wished.demands(Trait.WATERMARK):
        states[-1] = (states[-1][0] or 0, False)
    watermark, idle = states[0]
    if wished.demands(Trait.NEGATIVE_WATERMARK) and (watermark is None or watermark >= 0):
        watermark = ~(watermark or 0)
    states[0] = (watermark, idle or wished.demands(Trait.IDLE_CHANNEL))
    if not wished.allows(Trait.WATERMARK) and classify(states).value is not None:
        first = next(index for index, (_, idle) in enumerate(states) if not idle)
        if wished.allows(Trait.UNINITIALIZED_CHANNEL):
            states[first] = (None, False)
        else:
            states = [(watermark, True) for watermark, _ in states]
    return states


def _draw_offsets(
    draw: DrawFn, wished: Wishes, channels: dict[str, tuple[bytes, ...]]
) -> FrozenDict[str, ConnectorCheckpoint]:
    if not wished.allows(Trait.OFFSETS):
        return FrozenDict()
    flags = draw(_vectors(len(channels), 0, _OFFSETS | _METADATA | _ROSTER | _VERSION))
    for flag, trait in (
        (_OFFSETS, Trait.OFFSETS),
        (_METADATA, Trait.METADATA),
        (_VERSION, Trait.ASSIGNMENT_VERSION),
    ):
        if trait in wished.having:
            flags[0] |= flag
        elif not wished.allows(trait):
            flags = [found & ~flag for found in flags]
    physical = [
        bool(roster) and roster != (SINGLETON_WATERMARK_CHANNEL,) for roster in channels.values()
    ]
    if wished.demands(Trait.ROSTER):
        flags[physical.index(True)] |= _OFFSETS | _ROSTER
    offsets = {}
    for (name, observed), flag, is_physical in zip(
        channels.items(), flags, physical, strict=True
    ):
        if not flag & _OFFSETS:
            continue
        roster = None
        if flag & _ROSTER and not is_physical:
            roster = draw(_BARE_ROSTERS)
        elif flag & _ROSTER and wished.allows(Trait.ROSTER):
            roster = observed
        offsets[name] = ConnectorCheckpoint(
            offsets=draw(_OFFSET_MAPS),
            metadata=draw(_METADATA_MAPS) if flag & _METADATA else FrozenDict(),
            input_channels=roster,
            source_assignment_version=draw(_numbers(1, U64_MAX)) if flag & _VERSION else None,
        )
    return FrozenDict(offsets)


# --- state frames ----------------------------------------------------------------------------

_CONTIGUOUS, _SPACED, _SHARED = range(3)
_GAP = 7
_OBJECTS = MAX_OLDER_OBJECTS + 1
_MAX_FRAME = 2**20


@dataclass(slots=True)
class _Placed:
    """A frame before it has a range: which object it lies in, and how it follows there."""

    key: StateFrameKey
    object: int
    length: int
    following: int


@cache
def _placements(size: int) -> SearchStrategy[list[tuple[int, int]]]:
    """For each frame one number for object and spacing, and its length."""
    return st.lists(
        st.tuples(st.integers(0, _OBJECTS * 3 - 1), st.integers(1, _MAX_FRAME)),
        min_size=size,
        max_size=size,
    )


def _draw_older_count(draw: DrawFn, wished: Wishes) -> int:
    most = MAX_OLDER_OBJECTS if wished.allows(Trait.SEVERAL_OLDER_OBJECTS) else 1
    if not wished.allows(Trait.OLDER_FRAME):
        most = 0
    least = int(wished.demands(Trait.OLDER_FRAME))
    if wished.demands(Trait.SEVERAL_OLDER_OBJECTS):
        least = 2
    return draw(_numbers(least, most))


def _draw_older(
    draw: DrawFn, wished: Wishes, current: StateChunkId, count: int
) -> list[StateChunkId]:
    """Older objects, each older than the one before, by this participant or by another."""
    chunks = []
    checkpoint_id = current.checkpoint_id
    stranger = current.participant_id % U64_MAX + 1
    for left in range(count, 0, -1):
        age = draw(_numbers(1, min(checkpoint_id - left, 9)))
        checkpoint_id -= age
        foreign = _decide(draw, wished, Trait.FOREIGN_OBJECT, odds=4)
        chunks.append(StateChunkId(stranger if foreign else current.participant_id, checkpoint_id))
    return chunks


def _draw_frames(
    draw: DrawFn, wished: Wishes, owned: Sequence[int], older: int
) -> list[_Placed]:
    """Frames in order of their keys, at least one in each older object."""
    objects = [*range(1, older + 1)]
    asked = [0, *objects] if wished.demands(Trait.CURRENT_FRAME) else objects
    places = [0, *objects] if wished.allows(Trait.CURRENT_FRAME) else objects
    if not places:
        return []
    fewest = max(len(asked), int(wished.demands(Trait.U64_END, *_FRAME_KINDS)))
    keys = _draw_keys(draw, wished, owned, fewest)
    frames = []
    for index, (key, (place, length)) in enumerate(
        zip(keys, draw(_placements(len(keys))), strict=True)
    ):
        following, place = divmod(place, _OBJECTS)
        where = asked[index] if index < len(asked) else places[place % len(places)]
        frames.append(_Placed(key, where, length, following))
    return frames


_FRAME_KINDS = (Trait.WHOLE_FRAME, Trait.VNODE_FRAME)


def _draw_keys(
    draw: DrawFn, wished: Wishes, owned: Sequence[int], fewest: int
) -> list[StateFrameKey]:
    """Keys in order, *fewest* at least: whole operators, then runs of vnodes of some operators."""
    unwanted = wished.without.intersection(NAME_TRAITS)
    whole_allowed, vnode_allowed = (wished.allows(trait) for trait in _FRAME_KINDS)
    vnodes_asked = int(wished.demands(Trait.VNODE_FRAME)) if whole_allowed else fewest
    whole_asked = fewest - vnodes_asked if whole_allowed else 0
    if wished.demands(Trait.WHOLE_FRAME):
        whole_asked = max(whole_asked, 1)
    keys: list[StateFrameKey] = []
    if whole_allowed:
        roster = draw(
            parts.name_rosters(min_size=whole_asked, max_size=whole_asked + 3, without=unwanted)
        )
        keys += map(OperatorWhole, roster)
    if vnode_allowed:
        roster = draw(
            parts.name_rosters(min_size=vnodes_asked, max_size=vnodes_asked + 2, without=unwanted)
        )
        if roster:
            first = draw(_numbers(0, len(owned) - 1))
            run = owned[first : first + draw(_numbers(1, 4))]
            keys += [Vnode(operator, vnode) for operator in roster for vnode in run]
    return keys


class _Layout:
    """Turns lengths into ranges: the current object without a gap, older ones without overlap."""

    def __init__(
        self,
        placed: list[_Placed],
        intents: Sequence[tuple[str, int | None]],
        sinks: Sequence[tuple[str, int | None]],
    ) -> None:
        self._placed = placed
        self._intents = [length for _, length in intents]
        self._sinks = [length for _, length in sinks]
        self._stretched = False

    def stretch(self) -> None:
        """Let the last range of an object end at u64's maximum."""
        self._stretched = True

    def frames(self, objects: Sequence[StateChunkId], salt: int) -> tuple[list[StateFrame], list[int]]:
        """The frames, and the length of each object; the current one's without payloads."""
        ends = [0] * len(objects)
        previous: dict[int, ByteRange] = {}
        last = self._placed[-1] if self._placed and self._stretched else None
        payloads = sum(length or 0 for length in (*self._intents, *self._sinks))
        frames = []
        for placed in self._placed:
            where, length = placed.object, placed.length
            offset = ends[where]
            if placed is last:
                length = U64_MAX - offset - (0 if where else payloads)
            elif where and placed.following == _SPACED:
                offset += _GAP
            part = ByteRange(offset, length)
            if where and placed.following == _SHARED and placed is not last and where in previous:
                part = previous[where]
            previous[where] = part
            ends[where] = part.offset + part.length
            chunk = objects[where]
            frames.append(
                StateFrame(
                    placed.key, chunk, part, range_digest(salt, chunk, part.offset, part.length)
                )
            )
        return frames, ends

    def payloads(
        self, lengths: list[int]
    ) -> tuple[list[ByteRange | None], list[ByteRange | None]]:
        """Ranges of intents' and sinks' payloads; the current object's length grows by them."""
        ranges: list[ByteRange | None] = []
        for length in (*self._intents, *self._sinks):
            ranges.append(None if length is None else ByteRange(lengths[0], length))
            lengths[0] += length or 0
        return ranges[: len(self._intents)], ranges[len(self._intents) :]


# --- sinks -----------------------------------------------------------------------------------

_PAYLOAD_LENGTHS = st.integers(1, 2**12)


@cache
def _asked_payloads(wished: Wishes, traits: tuple[Trait, Trait, Trait]) -> tuple[int, ...]:
    return tuple(kind for kind, trait in enumerate(traits) if trait in wished.having)


_ABSENT, _EMPTY, _FILLED = range(3)
_SINK_TRAITS = (Trait.SINK_ABSENT, Trait.SINK_EMPTY, Trait.SINK_PAYLOAD)
_INTENT_TRAITS = (Trait.INTENT_ABSENT, Trait.INTENT_EMPTY, Trait.INTENT_PAYLOAD)


def _fewest_prepared(wished: Wishes) -> int:
    least = 2 if wished.demands(Trait.SEVERAL_PREPARED_SINKS) else int(
        wished.demands(Trait.PREPARED_SINK)
    )
    return max(
        least,
        len(_asked_payloads(wished, _SINK_TRAITS)),
        len(_asked_payloads(wished, _INTENT_TRAITS)),
    )


def _fewest_sinks(wished: Wishes) -> int:
    return max(_fewest_prepared(wished), int(wished.demands(Trait.SINK)))


Payloads = list[tuple[str, int | None]]
"""Names with the length of a payload, or ``None`` where there is none."""


def _draw_sinks(draw: DrawFn, wished: Wishes, scene: Scene) -> tuple[Payloads, Payloads]:
    """Prepared sinks and intents; where there are intents, they are of the same sinks."""
    names = [name for name in scene.sink_names if name]
    most = len(names) if wished.allows(Trait.SEVERAL_PREPARED_SINKS) else min(len(names), 1)
    if not wished.allows(Trait.PREPARED_SINK):
        most = 0
    fewest = _fewest_prepared(wished)
    names = names[: draw(_numbers(fewest, most))]
    sinks = _draw_payloads(draw, wished, names, _SINK_TRAITS)
    if not names or not _decide(draw, wished, Trait.INTENT):
        return sinks, []
    return sinks, _draw_payloads(draw, wished, names, _INTENT_TRAITS)


def _draw_payloads(
    draw: DrawFn, wished: Wishes, names: Sequence[str], traits: tuple[Trait, Trait, Trait]
) -> Payloads:
    kinds = list(_asked_payloads(wished, traits))
    allowed = [kind for kind, trait in enumerate(traits) if wished.allows(trait)]
    kinds += [
        allowed[kind % len(allowed)]
        for kind in draw(_vectors(len(names) - len(kinds), 0, len(allowed) - 1))
    ]
    return [
        (name, {_ABSENT: None, _EMPTY: 0}.get(kind, 0) if kind != _FILLED else draw(_PAYLOAD_LENGTHS))
        for name, kind in zip(names, kinds, strict=True)
    ]
