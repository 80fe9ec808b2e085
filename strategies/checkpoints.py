"""Checkpoints with their bytes, damage to these, and whole cuts of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import shake_256

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import (
    SINGLETON_WATERMARK_CHANNEL,
    V10,
    ByteRange,
    CheckpointAssignmentFence,
    CheckpointManifest,
    ConnectorCheckpoint,
    Contract,
    Feature,
    FrozenDict,
    NodeSubscriptionStreamManifest,
    OutputDistributionCertificate,
    Singleton,
    StateChunkId,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    checkpoint_sha256,
    encode,
    owner_map_digest,
)
from strategies import parts
from strategies.choices import Choices
from strategies.dice import Dice, dice
from strategies.manifests import draw_part, draw_scene, manifests
from strategies.scene import Scene
from strategies.subscriptions import STREAM_IDS, certificate_of, output_of, stream_of
from strategies.traits import Trait, Wishes, wishes
from strategies.view_logs import filled_up, segments_of, with_segments

Objects = Mapping[StateChunkId, bytes]


@dataclass(frozen=True)
class Checkpoint:
    """A manifest with the objects that it names.

    ``objects`` has the current object and every older one in use; all digests are true. The
    bytes are noise that stands for itself, so they are left out of the representation.
    """

    manifest: CheckpointManifest
    objects: Objects = field(repr=False)
    contract: Contract = field(default=V10, repr=False)

    @property
    def node_data(self) -> bytes:
        """The bytes of the current object."""
        return self.objects[self.manifest.current_chunk]

    @property
    def document(self) -> bytes:
        """The canonical encoding of the manifest."""
        return encode(self.manifest, self.contract)

    def ranges(self) -> dict[str, tuple[StateChunkId, ByteRange]]:
        """Every range with a digest of its own, by JSON Pointer, with the object that it is of.

        Whole objects are among them, and payloads of sinks and intents.
        """
        manifest, current = self.manifest, self.manifest.current_chunk
        found = {"/node_data": (current, ByteRange(0, manifest.node_data.object_length))}
        for index, reference in enumerate(manifest.referenced_chunks):
            found[f"/referenced_chunks/{index}"] = (
                reference.chunk,
                ByteRange(0, reference.object_length),
            )
        for index, frame in enumerate(manifest.state_frames):
            found[f"/state_frames/{index}"] = (frame.chunk, frame.range)
        for number, log in enumerate(manifest.view_logs):
            for index, segment in enumerate(log.segments):
                found[f"/view_logs/{number}/segments/{index}"] = (segment.chunk, segment.range)
        for name in ("sink_artifact_intents", "prepared_sinks"):
            for index, entry in enumerate(getattr(manifest, name)):
                if entry.payload is not None:
                    found[f"/{name}/{index}"] = (current, entry.payload)
        return found


def checkpoints(
    contract: Contract = V10,
    *,
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
    key_groups: int | None = None,
) -> SearchStrategy[Checkpoint]:
    """Valid manifests with the bytes that they describe: no digest is made up.

    Takes what :func:`strategies.manifests` takes; no range is :attr:`Trait.LARGE_RANGE`. Shrinks
    as manifests do, and so to few and short ranges.
    """
    valid = manifests(
        contract, having=having, without={Trait.LARGE_RANGE, *without}, key_groups=key_groups
    )
    return st.builds(lambda manifest, seed: _filled(manifest, contract, seed), valid, _SEEDS)


_SEEDS = st.integers(0, 2**16)


def _filled(manifest: CheckpointManifest, contract: Contract, seed: int) -> Checkpoint:
    """Make up the bytes of *manifest*, and give it their digests."""
    lengths = {manifest.current_chunk: manifest.node_data.object_length}
    for reference in manifest.referenced_chunks:
        lengths[reference.chunk] = reference.object_length
    objects = {chunk: _bytes(seed, chunk, length) for chunk, length in lengths.items()}

    def part(chunk: StateChunkId, found: ByteRange) -> bytes:
        return objects[chunk][found.offset : found.offset + found.length]

    def payload(found: ByteRange | None) -> bytes | None:
        return None if found is None else part(manifest.current_chunk, found)

    true = replace(
        manifest,
        node_data=replace(
            manifest.node_data, sha256=checkpoint_sha256(objects[manifest.current_chunk])
        ),
        referenced_chunks=tuple(
            replace(reference, sha256=checkpoint_sha256(objects[reference.chunk]))
            for reference in manifest.referenced_chunks
        ),
        state_frames=tuple(
            replace(frame, sha256=checkpoint_sha256(part(frame.chunk, frame.range)))
            for frame in manifest.state_frames
        ),
        view_logs=with_segments(
            manifest,
            (
                replace(segment, sha256=checkpoint_sha256(part(segment.chunk, segment.range)))
                for segment in segments_of(manifest)
            ),
        ).view_logs,
        prepared_sinks=tuple(
            replace(sink, sha256=checkpoint_descriptor_sha256(payload(sink.payload)))
            for sink in manifest.prepared_sinks
        ),
        sink_artifact_intents=tuple(
            replace(intent, sha256=checkpoint_artifact_intent_sha256(payload(intent.payload)))
            for intent in manifest.sink_artifact_intents
        ),
    )
    return Checkpoint(true, objects, contract)


def _bytes(seed: int, chunk: StateChunkId, length: int) -> bytes:
    name = f"{seed} {chunk.participant_id} {chunk.checkpoint_id}"
    return shake_256(name.encode()).digest(length)


# --- damage ----------------------------------------------------------------------------------


class DamageKind(Enum):
    """What happened to an object."""

    BIT_FLIP = "bit-flip"
    TRUNCATION = "truncation"
    EXTENSION = "extension"
    SWAP = "swap"
    """Two ranges of the same length have changed places."""


@dataclass(frozen=True)
class Damage:
    """One object of a checkpoint, damaged.

    ``data`` stands where the object ``chunk`` was. ``revealed_by`` are the JSON Pointers of
    everything in the manifest whose length or digest it no longer has.
    """

    kind: DamageKind
    checkpoint: Checkpoint
    chunk: StateChunkId
    data: bytes = field(repr=False)
    revealed_by: frozenset[str]

    @property
    def objects(self) -> Objects:
        """The checkpoint's objects, the damaged one among them."""
        return {**self.checkpoint.objects, self.chunk: self.data}


def damages(
    checkpoint: Checkpoint, *, kinds: Iterable[DamageKind] | None = None
) -> SearchStrategy[Damage]:
    """Damage to the bytes of *checkpoint*, which its manifest must reveal.

    An object of no bytes can only grow; two ranges are swapped where two of one object are of the
    same length and differ. Asking for *kinds* that are not possible raises
    :class:`InvalidArgument`. Shrinks to the first bit of the first object.
    """
    possible = {kind: _damageable(checkpoint, kind) for kind in DamageKind}
    asked = [kind for kind in DamageKind if possible[kind]] if kinds is None else list(kinds)
    if not asked or not all(possible.get(kind) for kind in asked):
        raise InvalidArgument(f"kinds={kinds!r} are not all possible in this checkpoint")

    def damaged(kind: DamageKind, rolled: Dice, position: int) -> Damage:
        chunk, ranges = rolled.pick(possible[kind][:256])
        data, touched = _damaged(kind, checkpoint.objects[chunk], ranges, position)
        return Damage(kind, checkpoint, chunk, data, _revealed(checkpoint, chunk, touched))

    return st.builds(damaged, st.sampled_from(asked), dice(2), st.integers(0, 2**32))


Damageable = tuple[StateChunkId, tuple[ByteRange, ...]]


def _damageable(checkpoint: Checkpoint, kind: DamageKind) -> list[Damageable]:
    """The objects that can be damaged so, for a swap with each pair of ranges."""
    if kind is not DamageKind.SWAP:
        return [
            (chunk, ())
            for chunk, data in checkpoint.objects.items()
            if data or kind is DamageKind.EXTENSION
        ]
    found: list[Damageable] = []
    ranges = [
        (chunk, part)
        for pointer, (chunk, part) in checkpoint.ranges().items()
        if pointer.count("/") > 1 and not pointer.startswith("/referenced")
    ]
    for index, (chunk, left) in enumerate(ranges):
        for other, right in ranges[index + 1 :]:
            data = checkpoint.objects[chunk]
            if (
                other == chunk
                and left.length == right.length
                and abs(left.offset - right.offset) >= left.length
                and _slice(data, left) != _slice(data, right)
            ):
                found.append((chunk, (left, right)))
    return found


def _slice(data: bytes, part: ByteRange) -> bytes:
    return data[part.offset : part.offset + part.length]


def _damaged(
    kind: DamageKind, data: bytes, ranges: tuple[ByteRange, ...], position: int
) -> tuple[bytes, tuple[ByteRange, ...]]:
    """The damaged bytes, and where they are not what they were."""
    if kind is DamageKind.EXTENSION:
        return data + bytes([position % 256]), ()
    if kind is DamageKind.TRUNCATION:
        left = position % len(data)
        return data[:left], (ByteRange(left, len(data) - left),)
    changed = bytearray(data)
    if kind is DamageKind.BIT_FLIP:
        at, bit = divmod(position % (8 * len(data)), 8)
        changed[at] ^= 1 << bit
        return bytes(changed), (ByteRange(at, 1),)
    left_range, right_range = ranges
    for target, source in ((left_range, right_range), (right_range, left_range)):
        changed[target.offset : target.offset + target.length] = _slice(data, source)
    return bytes(changed), tuple(
        ByteRange(part.offset + at, 1)
        for part in ranges
        for at in range(part.length)
        if data[part.offset + at] != changed[part.offset + at]
    )


def _revealed(
    checkpoint: Checkpoint, chunk: StateChunkId, touched: tuple[ByteRange, ...]
) -> frozenset[str]:
    """The whole object, and the ranges in which a byte is missing or another."""

    def overlaps(part: ByteRange) -> bool:
        return any(
            part.offset < other.offset + other.length and other.offset < part.offset + part.length
            for other in touched
        )

    return frozenset(
        pointer
        for pointer, (of, part) in checkpoint.ranges().items()
        if of == chunk
        and (pointer == "/node_data" or pointer.startswith("/referenced") or overlaps(part))
    )


# --- cuts ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Every participant's checkpoint of one cluster cut, in order of the participants.

    ``owners`` has the owner of each vnode; ``fence`` carries its digest.
    """

    fence: CheckpointAssignmentFence
    owners: tuple[int, ...]
    checkpoints: tuple[Checkpoint, ...]

    @property
    def manifests(self) -> tuple[CheckpointManifest, ...]:
        """The participants' manifests."""
        return tuple(checkpoint.manifest for checkpoint in self.checkpoints)


_MAX_CUT_VNODES = 12


def cuts(
    contract: Contract = V10,
    *,
    min_participants: int = 1,
    max_participants: int = 3,
    subscription: bool | None = None,
    full: bool = False,
) -> SearchStrategy[Cut]:
    """All participants of a cluster cut, each valid, and all together what an index can bind.

    They agree on the attempt, the deployment, the pipeline, the rosters of names and the fence,
    which carries the digest of the owner map; each owns at least one vnode. No input channel is
    of two of them, and offsets do not contradict each other. Subscription output, if any
    (*subscription* fixes whether), is of all, and has each certified partition once. No name is
    empty or padded. *full* has each retain as many segments of view logs as its share allows;
    from two participants on these fill the cluster's budget but for what cannot be shared evenly.
    Shrinks to one participant with one vnode.
    """
    if not 1 <= min_participants <= max_participants <= _MAX_CUT_VNODES:
        raise InvalidArgument(
            f"min_participants={min_participants!r} and max_participants={max_participants!r} "
            f"are not 1 <= min <= max <= {_MAX_CUT_VNODES}"
        )
    if subscription and not contract.has(Feature.SUBSCRIPTION_OUTPUT):
        raise InvalidArgument(f"format {contract.name} has no subscription output")
    if full and not contract.has(Feature.VIEW_LOGS):
        raise InvalidArgument(f"format {contract.name} has no view logs")
    without = (*_NOT_IN_CUTS, Trait.VIEW_LOG) if full else _NOT_IN_CUTS
    wished = wishes(contract, (Trait.CLUSTER,), without)
    return _cuts(contract, wished, min_participants, max_participants, subscription, full)


_NOT_IN_CUTS = (
    Trait.EMPTY_NAME,
    Trait.PADDED_NAME,
    Trait.LARGE_RANGE,
    Trait.MAX_VNODES,
    Trait.MAX_PARTICIPANTS,
    # Two participants that use one object must say the same of it; each uses its own here.
    Trait.FOREIGN_OBJECT,
    # The output of a cut is made for all participants at once.
    Trait.SUBSCRIPTION,
)


@st.composite
def _cuts(
    draw: DrawFn,
    contract: Contract,
    wished: Wishes,
    min_participants: int,
    max_participants: int,
    subscription: bool | None,
    full: bool,
) -> Cut:
    choices = Choices(draw, wished, 48)
    count = choices.roll(min_participants, max_participants)
    vnode_count = choices.roll(count, _MAX_CUT_VNODES)
    scene = draw_scene(draw, contract, wished, vnode_count)
    fence = parts.fence_of(vnode_count, count, *draw(parts.FENCE_NUMBERS))
    members = [member.node_id for member in fence.participants]
    # The first vnodes go round, so that nobody is left without one.
    more = [choices.pick(members) for _ in range(vnode_count - count)]
    owners = (*members, *more)
    fence = replace(fence, assignment_digest=owner_map_digest(vnode_count, owners))
    scene = replace(scene, fence=fence)
    owned = {
        member: tuple(vnode for vnode, owner in enumerate(owners) if owner == member)
        for member in members
    }
    manifests = _agreeing(
        [draw_part(draw, wished, scene, member, owned[member]) for member in members],
        fence,
        choices,
    )
    possible = contract.has(Feature.SUBSCRIPTION_OUTPUT)
    if possible and (choices.once_in(2) if subscription is None else subscription):
        manifests = _with_outputs(manifests, Choices(draw, wished, 128), scene)
    if full:
        manifests = [filled_up(manifest, contract) for manifest in manifests]
    seed = draw(_SEEDS)
    return Cut(fence, owners, tuple(_filled(manifest, contract, seed) for manifest in manifests))


def _agreeing(
    manifests: list[CheckpointManifest], fence: CheckpointAssignmentFence, choices: Choices
) -> list[CheckpointManifest]:
    """Make the sources of several participants fit: channels apart, and one way to declare them."""
    names = manifests[0].source_names
    declared = {name: choices.once_in(2) for name in names}
    versioned = {name: choices.once_in(2) for name in names}
    agreeing = []
    for index, manifest in enumerate(manifests):
        # A first byte for each participant keeps channels apart, and in order.
        own = bytes([index + 1])
        progress = tuple(
            channel
            if channel.input_channel == SINGLETON_WATERMARK_CHANNEL
            else replace(channel, input_channel=own + channel.input_channel)
            for channel in manifest.channel_progress
        )
        offsets: dict[str, ConnectorCheckpoint] = {}
        for name in names:
            observed = tuple(
                channel.input_channel
                for channel in progress
                if channel.source_name == name
                and channel.input_channel != SINGLETON_WATERMARK_CHANNEL
            )
            found = manifest.source_offsets.get(name)
            if found is None and not (observed and declared[name]):
                continue
            found = found or ConnectorCheckpoint(FrozenDict(), FrozenDict(), None, None)
            offsets[name] = ConnectorCheckpoint(
                _apart(found.offsets, index),
                _apart(found.metadata, index),
                observed if declared[name] else None,
                fence.assignment_version if versioned[name] else None,
            )
        agreeing.append(
            replace(manifest, channel_progress=progress, source_offsets=FrozenDict(offsets))
        )
    return agreeing


def _apart(values: Mapping[str, str], index: int) -> FrozenDict[str, str]:
    return FrozenDict({f"{index}/{key}": value for key, value in values.items()})


def _with_outputs(
    manifests: list[CheckpointManifest], choices: Choices, scene: Scene
) -> list[CheckpointManifest]:
    """Give each the part of the same streams that its vnodes are."""
    ids = sorted(choices.subset(STREAM_IDS, choices.roll(0, 2)))
    certificates = [
        certificate_of(choices, scene, stream_id, singleton=choices.once_in(2)) for stream_id in ids
    ]
    return [
        replace(
            manifest,
            subscription_output=output_of(
                scene, manifest.participant_id, _own_streams(manifest, certificates, choices, scene)
            ),
        )
        for manifest in manifests
    ]


def _own_streams(
    manifest: CheckpointManifest,
    certificates: list[OutputDistributionCertificate],
    choices: Choices,
    scene: Scene,
) -> list[NodeSubscriptionStreamManifest]:
    streams = []
    for certificate in certificates:
        singleton = isinstance(certificate.distribution, Singleton)
        partitions = [vnode for vnode in manifest.owned_vnodes if vnode == 0 or not singleton]
        if partitions:
            streams.append(stream_of(choices, scene, certificate, partitions, due=False))
    return streams
