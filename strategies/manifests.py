"""Manifests, valid by construction: ranges are laid out, then digests made, then order imposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any
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
    ViewLog,
    Vnode,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
)
from oracle.constants import I64_MAX, U64_MAX
from oracle.kernels import classify
from strategies import parts, view_logs
from strategies.choices import Choices
from strategies.scene import Scene
from strategies.subscriptions import output_of, streams_of
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
    refused = view_logs.contradiction(wished)
    if refused is not None:
        raise InvalidArgument(refused)
    return _manifests(contract, wished, key_groups)


@st.composite
def _manifests(
    draw: DrawFn, contract: Contract, wished: Wishes, key_groups: int | None
) -> CheckpointManifest:
    scene = draw_scene(draw, contract, wished, key_groups)
    participant_id, owned = _place(Choices(draw, wished, 4), scene)
    return draw_part(draw, wished, scene, participant_id, owned)


# --- what a cut shares -----------------------------------------------------------------------

_HEADERS = st.tuples(
    st.integers(0, U64_MAX - MAX_OLDER_OBJECTS - 1),  # checkpoints before those in use
    st.integers(1, U64_MAX),  # timestamp_ms
    st.integers(1, 2**128 - 1),  # deployment_id
    st.integers(0, 2**16),  # salt
)


def draw_scene(draw: DrawFn, contract: Contract, wished: Wishes, key_groups: int | None) -> Scene:
    """What the participants of one cut share; a cluster's fence is of no particular owner map."""
    choices = Choices(draw, wished, 16)
    cluster = choices.has(Trait.CLUSTER)
    older = choices.roll(*_older_counts(wished))
    vnode_count = key_groups or choices.pick(_vnode_counts(wished))
    checkpoint, timestamp_ms, deployment, salt = draw(_HEADERS)
    return Scene(
        contract=contract,
        checkpoint_id=checkpoint + older + 1,
        older=older,
        timestamp_ms=timestamp_ms,
        deployment_id=str(UUID(int=deployment)),
        pipeline_identity=pipeline_identity(contract, salt),
        vnode_count=vnode_count,
        fence=parts.fence_of(vnode_count, _participants(choices), *draw(parts.FENCE_NUMBERS))
        if cluster
        else None,
        source_names=_names(choices, Trait.SOURCE, _fewest_sources(wished), MAX_SOURCES),
        sink_names=_names(choices, Trait.SINK, _fewest_sinks(wished), MAX_SINKS),
        salt=salt,
    )


def pipeline_identity(contract: Contract, salt: int) -> PipelineIdentity:
    """The empty pipeline's identity, or one made up from *salt*."""
    digest = sha256(b"%d" % salt).hexdigest() if salt else EMPTY_SHA256
    return PipelineIdentity(contract.pipeline_identity_version, digest)


@cache
def _vnode_counts(wished: Wishes) -> tuple[int, ...]:
    """Few vnodes mostly, and now and then as many as there can be."""
    if wished.demands(Trait.MAX_VNODES):
        return (MAX_KEY_GROUP_COUNT,)
    if not wished.allows(Trait.SEVERAL_VNODES):
        return (1,)
    counts: tuple[int, ...] = (1, 2, 3, 4, 1, 5, 8, 2, 16, 1, 4, 7, 3, 64, 256, 1, 8, 33, 12)
    if wished.allows(Trait.MAX_VNODES):
        counts = (*counts, MAX_KEY_GROUP_COUNT)
    least = 2 if wished.demands(Trait.SEVERAL_VNODES) else 1
    return tuple(count for count in counts if count >= least)


def _participants(choices: Choices) -> int:
    wished = choices.wished
    if choices.has(Trait.MAX_PARTICIPANTS, odds=6):
        return MAX_CHECKPOINT_PARTICIPANTS
    if not wished.allows(Trait.SEVERAL_PARTICIPANTS):
        return 1
    return choices.roll(2 if wished.demands(Trait.SEVERAL_PARTICIPANTS) else 1, 4)


def _names(choices: Choices, trait: Trait, fewest: int, most: int) -> tuple[str, ...]:
    """A roster of names; the empty name may be in it, and stands for nobody then."""
    wished = choices.wished
    if not wished.allows(trait):
        return ()
    names = parts.roster_of(choices, parts.hard_names(_banned(wished)), fewest, most)
    asked = wished.having.intersection(NAME_TRAITS)
    if asked and trait is Trait.SINK:
        # A sink that does not prepare can have any name, and shows the traits that are asked for.
        names = tuple(sorted({*names, *map(parts.example_of, asked)}))
    if names and names[0] and choices.has(Trait.EMPTY_NAME, odds=8):
        names = ("", *names)
    return names


@cache
def _banned(wished: Wishes) -> frozenset[Trait]:
    return wished.without.intersection(NAME_TRAITS)


def _place(choices: Choices, scene: Scene) -> tuple[int, tuple[int, ...]]:
    """Who writes the manifest, and which vnodes are its."""
    count = scene.vnode_count
    if scene.fence is None:
        return LOCAL_NODE_ID, vnodes(count)
    participant_id = choices.pick(scene.fence.participants).node_id
    if count == 1 or not choices.has(Trait.UNOWNED_VNODE):
        return participant_id, vnodes(count)
    singleton = choices.wished.demands(Trait.SINGLETON_STREAM)
    start = 0 if singleton else choices.roll(0, min(count - 1, 9))
    step = choices.roll(1, 4)
    return participant_id, vnodes(count, start, step) if start or step > 1 else vnodes(count - 1)


@cache
def vnodes(count: int, start: int = 0, step: int = 1) -> tuple[int, ...]:
    """Every *step*-th vnode from *start* on, below *count*."""
    return tuple(range(start, count, step))


# --- one participant's part ------------------------------------------------------------------


def draw_part(
    draw: DrawFn, wished: Wishes, scene: Scene, participant_id: int, owned: tuple[int, ...]
) -> CheckpointManifest:
    """The manifest of *participant_id*, who owns the vnodes *owned*."""
    offsets, progress = _sources(Choices(draw, wished, 120), scene, participant_id)
    current = StateChunkId(participant_id, scene.checkpoint_id)
    sinks, intents = _sinks(Choices(draw, wished, 24), scene)
    choices = Choices(draw, wished, 64)
    objects = [current, *_older(choices, current, scene.older)]
    placed = _frames(choices, owned, scene.older)
    stretched = choices.has(Trait.U64_END, odds=10)
    runs: view_logs.Runs = []
    if scene.contract.has(Feature.VIEW_LOGS):
        runs = view_logs.runs_of(Choices(draw, wished, 64), owned, scene.older)
        if any(run.object > scene.older for _, log in runs for run in log):
            objects.append(_used_by_nobody_else(objects))
    layout = Layout(scene.contract, placed, runs, intents, sinks)
    if stretched:
        layout.stretch()
    ends = [0] * len(objects)
    lists: dict[str, Callable[[], Any]] = {
        "state_frames": lambda: layout.frames(objects, scene.salt, ends),
        "view_logs": lambda: view_logs.placed(
            runs,
            objects,
            ends,
            lambda chunk, part: range_digest(scene.salt, chunk, part.offset, part.length),
        ),
        "sink_artifact_intents": lambda: payload_ranges(intents, ends),
        "prepared_sinks": lambda: payload_ranges(sinks, ends),
    }
    laid = {field: lists[field]() for field in scene.contract.payload_order}
    frames: list[StateFrame] = laid["state_frames"]
    logs: tuple[ViewLog, ...] = laid["view_logs"]
    uses = [frame.chunk for frame in frames]
    uses += [segment.chunk for log in logs for segment in log.segments]
    output = None
    if scene.contract.has(Feature.SUBSCRIPTION_OUTPUT) and scene.fence is not None:
        choices = Choices(draw, wished, 64)
        if choices.has(Trait.SUBSCRIPTION):
            output = output_of(scene, participant_id, streams_of(choices, scene, owned))
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
        node_data=NodeDataObject(current, ends[0], range_digest(scene.salt, current, 0, ends[0])),
        state_frames=tuple(frames),
        prepared_sinks=tuple(
            PreparedSinkDescriptor(
                name,
                PREPARED_SINK_DESCRIPTOR_VERSION,
                payload,
                _payload_digest(scene.salt, name, payload, *_SINK_DIGESTS),
            )
            for (name, _), payload in zip(sinks, laid["prepared_sinks"], strict=True)
        ),
        sink_artifact_intents=tuple(
            PreparedSinkArtifactIntent(
                name,
                PREPARED_SINK_DESCRIPTOR_VERSION,
                payload,
                _payload_digest(scene.salt, name, payload, *_INTENT_DIGESTS),
            )
            for (name, _), payload in zip(intents, laid["sink_artifact_intents"], strict=True)
        ),
        referenced_chunks=tuple(
            sorted(
                (
                    ReferencedStateChunk(
                        chunk, length, range_digest(scene.salt, chunk, 0, length), uses.count(chunk)
                    )
                    for chunk, length in zip(objects[1:], ends[1:], strict=True)
                ),
                key=lambda reference: reference.chunk,
            )
        ),
        view_logs=logs,
        subscription_output=output,
    )


def _used_by_nobody_else(objects: Sequence[StateChunkId]) -> StateChunkId:
    """An object of a participant who wrote none of *objects*, as old as the oldest of them."""
    writers = {chunk.participant_id for chunk in objects}
    stranger = next(n for n in range(1, len(objects) + 2) if n not in writers)
    return StateChunkId(stranger, objects[-1].checkpoint_id)


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

_OFFSET_KEYS = ("0", "partition-1", "partition-10", "partition-2", "lsn", "\U00010000", "\uffff")
_OFFSET_VALUES = ("0", "1", "18446744073709551616", "", '{"lsn":"16/B374D848"}', "é\U00010000")
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


def _sources(
    choices: Choices, scene: Scene, participant_id: int
) -> tuple[FrozenDict[str, ConnectorCheckpoint], tuple[ChannelProgress, ...]]:
    # The empty name may be registered, but no channel can be of it.
    names = [name for name in scene.source_names if name]
    if not names:
        return FrozenDict(), ()
    channels = _channels(choices, names)
    keys = [(name, channel) for name, roster in channels.items() for channel in roster]
    states = _wished_states(choices.wished, [_state(choices) for _ in keys])
    progress = tuple(
        ChannelProgress(participant_id, name, channel, watermark, idle)
        for (name, channel), (watermark, idle) in zip(keys, states, strict=True)
    )
    return _offsets(choices, channels), progress


def _channels(choices: Choices, names: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
    """The channels of each source: none, the reserved one, or physical ones."""
    wished = choices.wished
    asked = _asked_kinds(wished)
    several = wished.allows(Trait.SEVERAL_CHANNELS)
    channels: dict[str, tuple[bytes, ...]] = {}
    for index, name in enumerate(names):
        kind = asked[index] if index < len(asked) else choices.roll(0, _PHYSICAL)
        if not several and any(channels.values()):
            kind = 0
        channels[name] = ()
        if kind == _LOGICAL and wished.allows(Trait.LOGICAL_CHANNEL):
            channels[name] = (SINGLETON_WATERMARK_CHANNEL,)
        elif kind and wished.allows(Trait.PHYSICAL_CHANNEL):
            channels[name] = parts.channels_of(choices, 1, 3 if several else 1)
    return channels


def _state(choices: Choices) -> tuple[int | None, bool]:
    watermark = parts.watermark_of(choices) if choices.roll(0, 2) else None
    return watermark, choices.once_in(2)


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
        # Not of i64's maximum: the number below it is reserved.
        watermark = ~min(watermark or 0, I64_MAX - 1)
    states[0] = (watermark, idle or wished.demands(Trait.IDLE_CHANNEL))
    if not wished.allows(Trait.WATERMARK) and classify(states).value is not None:
        first = next(index for index, (_, idle) in enumerate(states) if not idle)
        if wished.allows(Trait.UNINITIALIZED_CHANNEL):
            states[first] = (None, False)
        else:
            states = [(watermark, True) for watermark, _ in states]
    return states


def _offsets(
    choices: Choices, channels: dict[str, tuple[bytes, ...]]
) -> FrozenDict[str, ConnectorCheckpoint]:
    wished = choices.wished
    roster_due = wished.demands(Trait.ROSTER)
    offsets: dict[str, ConnectorCheckpoint] = {}
    for index, (name, observed) in enumerate(channels.items()):
        # What is asked for, the first source has; a roster, the first one with physical channels.
        first = index == 0
        physical = bool(observed) and observed != (SINGLETON_WATERMARK_CHANNEL,)
        due = physical and roster_due
        if not due and not choices.has(Trait.OFFSETS, due=first):
            continue
        roster: tuple[bytes, ...] | None = None
        if not physical and choices.once_in(3):
            roster = parts.channels_of(choices, 0, 2)
        elif physical and (due or choices.has(Trait.ROSTER, due=False)):
            roster, roster_due = observed, False
        offsets[name] = ConnectorCheckpoint(
            offsets=_offset_map(choices, 0),
            metadata=_offset_map(choices, 1)
            if choices.has(Trait.METADATA, due=first)
            else FrozenDict(),
            input_channels=roster,
            source_assignment_version=1 + choices.number(choices.pick((1, 2, 7)))
            if choices.has(Trait.ASSIGNMENT_VERSION, due=first)
            else None,
        )
    return FrozenDict(offsets)


def _offset_map(choices: Choices, fewest: int) -> FrozenDict[str, str]:
    keys = choices.subset(_OFFSET_KEYS, choices.roll(fewest, 3))
    return FrozenDict({key: choices.pick(_OFFSET_VALUES) for key in keys})


# --- state frames ----------------------------------------------------------------------------

_SPACED, _SHARED = 1, 2
_GAP = 7


@dataclass(slots=True)
class _Placed:
    """A frame before it has a range: which object it lies in, and how it follows there."""

    key: StateFrameKey
    object: int
    length: int
    following: int


@cache
def _older_counts(wished: Wishes) -> tuple[int, int]:
    least = int(wished.demands(Trait.OLDER_FRAME)) + wished.demands(Trait.SEVERAL_OLDER_OBJECTS)
    if not wished.allows(Trait.OLDER_FRAME):
        return 0, 0
    return least, MAX_OLDER_OBJECTS if wished.allows(Trait.SEVERAL_OLDER_OBJECTS) else 1


def _older(choices: Choices, current: StateChunkId, count: int) -> list[StateChunkId]:
    """Older objects, each older than the one before, by this participant or by another."""
    chunks = []
    checkpoint_id = current.checkpoint_id
    stranger = current.participant_id % U64_MAX + 1
    for left in range(count, 0, -1):
        checkpoint_id -= choices.roll(1, min(checkpoint_id - left, 9))
        foreign = choices.has(Trait.FOREIGN_OBJECT, odds=4)
        chunks.append(StateChunkId(stranger if foreign else current.participant_id, checkpoint_id))
    return chunks


def _frames(choices: Choices, owned: Sequence[int], older: int) -> list[_Placed]:
    """Frames in order of their keys, at least one in each older object."""
    wished = choices.wished
    objects = [*range(1, older + 1)]
    asked = [0, *objects] if wished.demands(Trait.CURRENT_FRAME) else objects
    places = [0, *objects] if wished.allows(Trait.CURRENT_FRAME) else objects
    if not places:
        return []
    fewest = max(len(asked), int(wished.demands(Trait.U64_END, *_FRAME_KINDS)))
    return [
        _Placed(
            key,
            asked[index] if index < len(asked) else choices.pick(places),
            choices.length(3),
            choices.roll(0, 3),
        )
        for index, key in enumerate(_keys(choices, owned, fewest))
    ]


_FRAME_KINDS = (Trait.WHOLE_FRAME, Trait.VNODE_FRAME)


def _keys(choices: Choices, owned: Sequence[int], fewest: int) -> list[StateFrameKey]:
    """Keys in order, *fewest* at least: whole operators, then runs of vnodes of some operators."""
    wished = choices.wished
    table = parts.hard_names(_banned(wished))
    whole_allowed, vnode_allowed = (wished.allows(trait) for trait in _FRAME_KINDS)
    vnodes_asked = int(wished.demands(Trait.VNODE_FRAME)) if whole_allowed else fewest
    whole_asked = max(fewest - vnodes_asked, int(wished.demands(Trait.WHOLE_FRAME)))
    keys: list[StateFrameKey] = []
    if whole_allowed:
        roster = parts.roster_of(choices, table, whole_asked, whole_asked + 4)
        keys += map(OperatorWhole, roster)
    if vnode_allowed:
        roster = parts.roster_of(choices, table, vnodes_asked, vnodes_asked + 2)
        if roster:
            first = choices.roll(0, min(len(owned) - 1, 255))
            run = owned[first : first + choices.roll(1, 4)]
            keys += [Vnode(operator, vnode) for operator in roster for vnode in run]
    return keys


class Layout:
    """Turns lengths into ranges: the current object without a gap, older ones without overlap."""

    def __init__(
        self,
        contract: Contract,
        placed: list[_Placed],
        runs: view_logs.Runs,
        intents: Sequence[tuple[str, int | None]],
        sinks: Sequence[tuple[str, int | None]],
    ) -> None:
        self._placed = placed
        uses = {
            "view_logs": [(run.object, run.length) for _, log in runs for run in log],
            "sink_artifact_intents": [(0, length or 0) for _, length in intents],
            "prepared_sinks": [(0, length or 0) for _, length in sinks],
        }
        # What comes behind the frames of each object.
        self._behind = Counter[int]()
        order = contract.payload_order
        for field in order[order.index("state_frames") + 1 :]:
            for where, length in uses[field]:
                self._behind[where] += length
        self._stretched = False

    def stretch(self) -> None:
        """Let the last range of an object end at u64's maximum."""
        self._stretched = True

    def frames(
        self, objects: Sequence[StateChunkId], salt: int, ends: list[int]
    ) -> list[StateFrame]:
        """The frames, behind what lies in their objects; the *ends* of these grow."""
        previous: dict[int, ByteRange] = {}
        last = self._placed[-1] if self._placed and self._stretched else None
        frames = []
        for placed in self._placed:
            where, length = placed.object, placed.length
            offset = ends[where]
            if placed is last:
                length = U64_MAX - offset - self._behind[where]
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
        return frames


def payload_ranges(
    lengths: Sequence[tuple[str, int | None]], ends: list[int]
) -> list[ByteRange | None]:
    """Ranges of intents' or sinks' payloads; the current object's end grows by them."""
    ranges: list[ByteRange | None] = []
    for _, length in lengths:
        ranges.append(None if length is None else ByteRange(ends[0], length))
        ends[0] += length or 0
    return ranges


# --- sinks -----------------------------------------------------------------------------------


@cache
def _asked_payloads(wished: Wishes, traits: tuple[Trait, Trait, Trait]) -> tuple[int, ...]:
    return tuple(kind for kind, trait in enumerate(traits) if trait in wished.having)


_ABSENT, _EMPTY, _FILLED = range(3)
_SINK_TRAITS = (Trait.SINK_ABSENT, Trait.SINK_EMPTY, Trait.SINK_PAYLOAD)
_INTENT_TRAITS = (Trait.INTENT_ABSENT, Trait.INTENT_EMPTY, Trait.INTENT_PAYLOAD)


def _fewest_prepared(wished: Wishes) -> int:
    least = (
        2
        if wished.demands(Trait.SEVERAL_PREPARED_SINKS)
        else int(wished.demands(Trait.PREPARED_SINK))
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


def _sinks(choices: Choices, scene: Scene) -> tuple[Payloads, Payloads]:
    """Prepared sinks and intents; where there are intents, they are of the same sinks."""
    wished = choices.wished
    names = [name for name in scene.sink_names if name]
    most = len(names) if wished.allows(Trait.SEVERAL_PREPARED_SINKS) else min(len(names), 1)
    if not wished.allows(Trait.PREPARED_SINK):
        most = 0
    names = names[: choices.roll(_fewest_prepared(wished), most)]
    sinks = _payloads(choices, names, _SINK_TRAITS)
    if not names or not choices.has(Trait.INTENT):
        return sinks, []
    return sinks, _payloads(choices, names, _INTENT_TRAITS)


def _payloads(
    choices: Choices, names: Sequence[str], traits: tuple[Trait, Trait, Trait]
) -> Payloads:
    asked = _asked_payloads(choices.wished, traits)
    allowed = [kind for kind, trait in enumerate(traits) if choices.wished.allows(trait)]
    payloads: Payloads = []
    for index, name in enumerate(names):
        kind = asked[index] if index < len(asked) else choices.pick(allowed)
        filled = choices.length(2) if kind == _FILLED else 0
        payloads.append((name, None if kind == _ABSENT else filled))
    return payloads
