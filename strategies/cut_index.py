"""Whole cuts: participants' manifests with the index that binds them, and its predecessor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import (
    EMPTY_SHA256,
    LOCAL_NODE_ID,
    MAX_CHECKPOINT_PARTICIPANTS,
    SINGLETON_WATERMARK_CHANNEL,
    V10,
    ChannelProgress,
    CheckpointManifest,
    ConnectorCheckpoint,
    FrozenDict,
    NodeDataObject,
    StateChunkId,
    encode,
    owner_map_digest,
)
from oracle.constants import I64_MIN, U64_MAX
from oracle.cuts import (
    COMMITTED_CHECKPOINT_INDEX_VERSION,
    LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION,
    CheckpointScope,
    CommittedCheckpointIndex,
    CommittedCheckpointRef,
    effective_source_watermarks,
    encode_index,
    frontiers_by_source,
    participant_reference,
    reference_of,
)
from oracle.kernels import classify, is_trimmed
from strategies import parts
from strategies.choices import Choices
from strategies.manifests import draw_part, pipeline_identity
from strategies.scene import Scene
from strategies.subscriptions import STREAM_IDS, certificate_of, output_of, stream_of
from strategies.traits import Trait, wishes

MOST_DRAWN = 4
"""Up to so many participants each have state and sinks of their own; of more, the first."""


@dataclass(frozen=True)
class WholeCut:
    """An index with its participants' manifests, in order, and its predecessor, if declared."""

    index: CommittedCheckpointIndex
    manifests: tuple[CheckpointManifest, ...]
    predecessor: CommittedCheckpointIndex | None = None

    @cached_property
    def documents(self) -> tuple[bytes, ...]:
        """The manifests as they are stored."""
        return tuple(map(encode, self.manifests))

    @cached_property
    def index_document(self) -> bytes:
        """The index as it is stored."""
        return encode_index(self.index)


def commit(
    manifests: Sequence[CheckpointManifest],
    predecessor: CommittedCheckpointIndex | None = None,
    version: int = COMMITTED_CHECKPOINT_INDEX_VERSION,
) -> CommittedCheckpointIndex:
    """The index of *manifests*: of one cut, in order, in no contradiction to each other.

    *version* is 3 or 4, and not below the predecessor's.
    """
    first = manifests[0]
    channels = tuple(
        sorted((c for m in manifests for c in m.channel_progress), key=lambda c: c.order)
    )
    return CommittedCheckpointIndex(
        version=version,
        deployment_id=first.deployment_id,
        pipeline_identity=first.pipeline_identity,
        epoch=first.epoch,
        checkpoint_id=first.checkpoint_id,
        scope=CheckpointScope.LOCAL if first.assignment_fence is None else CheckpointScope.CLUSTER,
        vnode_count=first.vnode_count,
        assignment_fence=first.assignment_fence,
        reassignment_portable=first.reassignment_portable,
        predecessor=None
        if predecessor is None
        else reference_of(predecessor, encode_index(predecessor)),
        participants=tuple(map(participant_reference, manifests)),
        source_names=first.source_names,
        source_offsets=_merged_offsets(manifests),
        channel_progress=channels,
        source_watermarks=watermarks_after(channels, predecessor, version),
        checkpoint_watermark=classify((c.watermark, c.idle) for c in channels).value,
    )


def _merged_offsets(
    manifests: Iterable[CheckpointManifest],
) -> FrozenDict[str, ConnectorCheckpoint]:
    merged: dict[str, ConnectorCheckpoint] = {}
    for manifest in manifests:
        for source, part in manifest.source_offsets.items():
            before = merged.get(source)
            if before is None:
                merged[source] = part
                continue
            channels = part.input_channels
            merged[source] = ConnectorCheckpoint(
                FrozenDict({**before.offsets, **part.offsets}),
                FrozenDict({**before.metadata, **part.metadata}),
                None
                if channels is None
                else tuple(sorted((before.input_channels or ()) + channels)),
                part.source_assignment_version,
            )
    return FrozenDict(merged)


def watermarks_after(
    channels: Sequence[ChannelProgress],
    predecessor: CommittedCheckpointIndex | None,
    version: int,
) -> FrozenDict[str, int]:
    """The source watermarks of an index with *channels* after *predecessor*."""
    if version == LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION:
        return FrozenDict()
    before = {} if predecessor is None else effective_source_watermarks(predecessor)
    known = {s: value for s, value in frontiers_by_source(channels).items() if value is not None}
    return FrozenDict(before | known)


# --- valid cuts ------------------------------------------------------------------------------


def whole_cuts(
    *, min_participants: int = 0, max_participants: int = MOST_DRAWN
) -> SearchStrategy[WholeCut]:
    """Valid cuts: each index is valid, binds its manifests and continues its predecessor.

    No participants stand for a local cut, 1..=129 for those of a cluster's. Shrinks to a local
    cut without sources, sinks, state and predecessor, or to the fewest participants.
    """
    if not 0 <= min_participants <= max_participants <= MAX_CHECKPOINT_PARTICIPANTS:
        raise InvalidArgument(
            f"min_participants={min_participants!r} and max_participants={max_participants!r} "
            f"are not 0 <= min <= max <= {MAX_CHECKPOINT_PARTICIPANTS}"
        )
    return _whole_cuts(min_participants, max_participants)


_HEADERS = st.tuples(
    st.integers(2, U64_MAX),  # checkpoint_id
    st.integers(1, U64_MAX),  # timestamp_ms
    st.integers(1, 2**128 - 1),  # deployment_id
    st.integers(0, 2**16),  # salt
)
PART_WISHES = wishes(V10, without=(Trait.SOURCE, Trait.SUBSCRIPTION))
CUT_WISHES = wishes(V10)
_NAMES = tuple(name for name in parts.HARD_NAMES if name and is_trimmed(name))
_MORE_VNODES = (0, 1, 3, 12, 252)


@st.composite
def _whole_cuts(draw: DrawFn, least: int, most: int) -> WholeCut:
    count = draw(st.integers(least, most))
    choices = Choices(draw, CUT_WISHES, 200)
    scene, owners = _scene(draw, choices, count)
    ids = sorted({*owners})
    owned = {node: tuple(v for v, owner in enumerate(owners) if owner == node) for node in ids}
    manifests = [
        draw_part(draw, PART_WISHES, scene, node, owned[node]) for node in ids[:MOST_DRAWN]
    ]
    if count > MOST_DRAWN:
        manifests = [stateless(manifests[0], node, owned[node]) for node in ids]
    manifests = _with_sources(choices, scene, manifests)
    if scene.fence is not None and choices.once_in(3):
        stream_ids = choices.subset(STREAM_IDS, choices.roll(0, 2))
        manifests = with_output_of(choices, scene, manifests, stream_ids)
    return _chained(choices, tuple(manifests))


def _scene(draw: DrawFn, choices: Choices, count: int) -> tuple[Scene, list[int]]:
    """What the participants share, and the owner of each vnode."""
    checkpoint_id, timestamp_ms, deployment, salt = draw(_HEADERS)
    vnode_count = max(count, 1) + choices.pick(_MORE_VNODES)
    fence, owners = None, [LOCAL_NODE_ID] * vnode_count
    if count:
        fence = parts.fence_of(vnode_count, count, *draw(parts.FENCE_NUMBERS))
        members = [member.node_id for member in fence.participants]
        shift = choices.roll(0, count - 1)
        owners = [members[(vnode + shift) % count] for vnode in range(vnode_count)]
        fence = replace(fence, assignment_digest=owner_map_digest(vnode_count, owners))
    scene = Scene(
        contract=V10,
        checkpoint_id=checkpoint_id,
        older=choices.roll(0, 1),
        timestamp_ms=timestamp_ms,
        deployment_id=str(UUID(int=deployment)),
        pipeline_identity=pipeline_identity(V10, salt),
        vnode_count=vnode_count,
        fence=fence,
        source_names=tuple(sorted(choices.subset(_NAMES, choices.roll(0, 3)))),
        sink_names=tuple(sorted(choices.subset(_NAMES, choices.roll(0, 2)))),
        salt=salt,
    )
    return scene, owners


def stateless(
    manifest: CheckpointManifest, node: int, owned: tuple[int, ...]
) -> CheckpointManifest:
    """*manifest* as another participant would write it that has nothing."""
    chunk = StateChunkId(node, manifest.checkpoint_id)
    return replace(
        manifest,
        participant_id=node,
        owned_vnodes=owned,
        node_data=NodeDataObject(chunk, 0, EMPTY_SHA256),
        state_frames=(),
        prepared_sinks=(),
        sink_artifact_intents=(),
        referenced_chunks=(),
    )


# --- sources over participants ---------------------------------------------------------------

_NONE, _LOGICAL, _PHYSICAL = range(3)


def _with_sources(
    choices: Choices, scene: Scene, manifests: Sequence[CheckpointManifest]
) -> list[CheckpointManifest]:
    """Give each participant its part of each source: channels, progress and offsets."""
    offsets: list[dict[str, ConnectorCheckpoint]] = [{} for _ in manifests]
    progress: list[list[ChannelProgress]] = [[] for _ in manifests]
    for name in scene.source_names:
        kind, declared, given = (
            choices.roll(_NONE, _PHYSICAL),
            choices.once_in(2),
            choices.once_in(2),
        )
        version = None
        if choices.once_in(3):
            version = 7 if scene.fence is None else scene.fence.assignment_version
        for number, manifest in enumerate(manifests):
            channels = _channels(kind, number, choices)
            for channel in channels:
                watermark = parts.watermark_of(choices) if choices.roll(0, 2) else None
                progress[number].append(
                    ChannelProgress(
                        manifest.participant_id, name, channel, watermark, choices.once_in(2)
                    )
                )
            # A declared roster has the channels of all participants, so all of them declare theirs.
            if given and not (number and not declared and choices.once_in(4)):
                offsets[number][name] = ConnectorCheckpoint(
                    FrozenDict({"shared": "0", f"partition-{number}": str(choices.roll(0, 9))}),
                    FrozenDict({"connector": "kafka"} if declared else {}),
                    (() if kind == _LOGICAL else channels) if declared else None,
                    version,
                )
    return [
        replace(
            manifest,
            source_offsets=FrozenDict(offsets[number]),
            channel_progress=tuple(progress[number]),
            checkpoint_watermark=classify((c.watermark, c.idle) for c in progress[number]).value,
        )
        for number, manifest in enumerate(manifests)
    ]


def _channels(kind: int, number: int, choices: Choices) -> tuple[bytes, ...]:
    if kind == _LOGICAL:
        return (SINGLETON_WATERMARK_CHANNEL,)
    if kind == _NONE:
        return ()
    return tuple(bytes((number + 1, channel)) for channel in range(choices.roll(0, 2)))


def with_output_of(
    choices: Choices,
    scene: Scene,
    manifests: Sequence[CheckpointManifest],
    stream_ids: Sequence[str],
) -> list[CheckpointManifest]:
    """Give each participant its partitions of each stream."""
    certificates = [
        certificate_of(choices, scene, stream_id, singleton=choices.once_in(3))
        for stream_id in sorted(stream_ids)
    ]
    with_output = []
    for manifest in manifests:
        streams = []
        for certificate in certificates:
            contains = certificate.distribution.contains
            partitions = [vnode for vnode in manifest.owned_vnodes if contains(vnode)]
            if partitions:
                streams.append(stream_of(choices, scene, certificate, partitions, due=False))
        output = output_of(scene, manifest.participant_id, streams)
        with_output.append(replace(manifest, subscription_output=output))
    return with_output


def _chained(choices: Choices, manifests: tuple[CheckpointManifest, ...]) -> WholeCut:
    """Commit *manifests*, after a predecessor or as the first cut."""
    version = choices.pick((4, 4, 3))
    first = commit(manifests, version=version)
    if not choices.once_in(2):
        return WholeCut(first, manifests)
    older_version = 3 if version == 3 else choices.pick((4, 3))
    predecessor = _older(choices, commit(manifests, version=older_version))
    return WholeCut(commit(manifests, predecessor, version), manifests, predecessor)


def _older(choices: Choices, index: CommittedCheckpointIndex) -> CommittedCheckpointIndex:
    """An index that *index* can follow: of fewer epochs, and not further in any source."""
    epoch = index.epoch - 1 - choices.roll(0, min(index.epoch - 2, 200))
    fall = choices.roll(0, 2)
    channels = tuple(
        replace(c, watermark=max(c.watermark - fall, I64_MIN + 1)) if c.watermark is not None else c
        for c in index.channel_progress
    )
    watermarks = dict(watermarks_after(channels, None, index.version))
    before = None
    if epoch > 1 and choices.once_in(2):
        before = made_up_reference(epoch - 1)
        if index.version == COMMITTED_CHECKPOINT_INDEX_VERSION:
            # A source without channels now may have had some.
            known = frontiers_by_source(index.channel_progress)
            for source in index.source_names:
                if source not in watermarks and known.get(source) is None:
                    watermarks[source] = parts.watermark_of(choices)
    return replace(
        index,
        epoch=epoch,
        checkpoint_id=epoch,
        predecessor=before,
        channel_progress=channels,
        source_watermarks=FrozenDict(watermarks),
        checkpoint_watermark=classify((c.watermark, c.idle) for c in channels).value,
    )


def made_up_reference(epoch: int) -> CommittedCheckpointRef:
    """A canonical reference of an index that nobody has."""
    return CommittedCheckpointRef(epoch, epoch, sha256(b"%d" % epoch).hexdigest(), 900)
