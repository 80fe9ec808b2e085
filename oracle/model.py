"""The types of a checkpoint manifest, under the engine's names, in declaration order.

These classes are the one description of the format: :mod:`oracle.shapes` derives the typed
decoder and the encoder from their annotations. Declaration order matters, because a struct may
also be written as an array of its fields. A field with a default may be left out; an optional
field (``| None``) may be left out of an object but not of an array. All values are immutable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeVar
from uuid import UUID

from oracle.constants import (
    I64_MAX,
    I64_MIN,
    MAX_CHECKPOINT_PARTICIPANTS,
    MAX_KEY_GROUP_COUNT,
    PARTITIONING_ABI_VERSION,
    U8_MAX,
    U16_MAX,
    U32_MAX,
    U64_MAX,
)
from oracle.formats import Feature
from oracle.kernels import range_end, strictly_ascending


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of an integer field."""

    least: int
    greatest: int


@dataclass(frozen=True, slots=True)
class Length:
    """The number of elements of a fixed array of bytes."""

    exactly: int


U16 = Annotated[int, Bounds(0, U16_MAX)]
U32 = Annotated[int, Bounds(0, U32_MAX)]
U64 = Annotated[int, Bounds(0, U64_MAX)]
I64 = Annotated[int, Bounds(I64_MIN, I64_MAX)]
NonZeroU32 = Annotated[int, Bounds(1, U32_MAX)]
NonZeroU64 = Annotated[int, Bounds(1, U64_MAX)]
Digest = Annotated[bytes, Length(32)]
"""32 raw bytes, written as an array of numbers. SHA-256 *text* fields are plain strings."""

BYTE = Bounds(0, U8_MAX)
"""An element of a byte string."""

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dictionary that cannot be changed once it is made, so that a manifest cannot be either."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a manifest's maps cannot be changed; make a new manifest instead")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


def of_feature(feature: Feature, default: Any) -> Any:
    """A field that came with *feature*: it may be left out, and *default* is left out again."""
    return field(default=default, metadata={"feature": feature})


@dataclass(frozen=True, slots=True)
class PipelineIdentity:
    """SHA-256 identity of the logical pipeline; the empty one has the digest of no bytes."""

    canonical_version: U16
    sha256: str


@dataclass(frozen=True, slots=True, order=True)
class StateChunkId:
    """Identity of one immutable node data object, ordered by its two fields in this order."""

    participant_id: U64
    checkpoint_id: U64


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes of a node data object."""

    offset: U64
    length: U64

    @property
    def end(self) -> int | None:
        """The exclusive end, or ``None`` where offset + length passes u64."""
        return range_end(self.offset, self.length)


@dataclass(frozen=True, slots=True)
class NodeDataObject:
    """The one data object that a participant wrote for a checkpoint."""

    chunk: StateChunkId
    object_length: U64
    sha256: str


@dataclass(frozen=True, slots=True)
class OperatorWhole:
    """Key of state that belongs to a whole operator."""

    kind: ClassVar[str] = "operator_whole"
    operator_id: str

    @property
    def order(self) -> tuple[int, str, int]:
        """What keys are compared by: whole operators before vnodes."""
        return (0, self.operator_id, 0)


@dataclass(frozen=True, slots=True)
class Vnode:
    """Key of the state of one vnode of an operator."""

    kind: ClassVar[str] = "vnode"
    operator_id: str
    vnode: U16

    @property
    def order(self) -> tuple[int, str, int]:
        """What keys are compared by: the operator, then the vnode."""
        return (1, self.operator_id, self.vnode)


StateFrameKey = OperatorWhole | Vnode
"""Which state a frame restores, tagged by ``kind``."""


@dataclass(frozen=True, slots=True)
class StateFrame:
    """One payload of state, in the current object or in an older one."""

    key: StateFrameKey
    chunk: StateChunkId
    range: ByteRange
    sha256: str


@dataclass(frozen=True, slots=True)
class ChannelProgress:
    """Watermark (milliseconds, signed) and idleness of one input channel."""

    participant_id: U64
    source_name: str
    input_channel: bytes
    watermark: I64 | None
    idle: bool

    @property
    def order(self) -> tuple[int, str, bytes]:
        """What entries are compared by."""
        return (self.participant_id, self.source_name, self.input_channel)


@dataclass(frozen=True, slots=True)
class ReferencedStateChunk:
    """An older object that state frames still use, and by how many of them."""

    chunk: StateChunkId
    object_length: U64
    sha256: str
    ref_count: NonZeroU32


@dataclass(frozen=True, slots=True)
class PreparedSinkDescriptor:
    """What a sink prepared in phase one; no payload and an empty one are different things."""

    sink_name: str
    format_version: U16
    payload: ByteRange | None
    sha256: str


@dataclass(frozen=True, slots=True)
class PreparedSinkArtifactIntent:
    """What a sink meant to write, recorded before its epoch began."""

    sink_name: str
    format_version: U16
    payload: ByteRange | None
    sha256: str


SinkEntry = PreparedSinkArtifactIntent | PreparedSinkDescriptor
"""What intents and descriptors have in common is all that most rules look at."""


@dataclass(frozen=True, slots=True)
class ConnectorCheckpoint:
    """The offsets of one source at the cut, as its connector wrote them."""

    offsets: Mapping[str, str]
    metadata: Mapping[str, str]
    input_channels: tuple[bytes, ...] | None
    source_assignment_version: NonZeroU64 | None


@dataclass(frozen=True, slots=True)
class CheckpointParticipant:
    """One process of a cut: its node and the incarnation that it booted as."""

    node_id: U64
    boot_incarnation: UUID


@dataclass(frozen=True, slots=True)
class CheckpointAssignmentFence:
    """Proof of one vnode-owner map and of the processes that take part in it.

    Decoding rejects a fence that :meth:`defect` finds fault with.
    """

    assignment_version: U64
    partitioning_abi_version: U16
    vnode_count: U32
    assignment_digest: Digest
    participants: tuple[CheckpointParticipant, ...]

    def defect(self) -> str | None:
        """What makes the fence non-canonical, or ``None``.

        Versions and ids are not zero, the ABI is the engine's, there are 1..=65535 vnodes, the
        digest is not all zero, and 1..=129 participants ascend strictly by node_id.
        """
        if self.assignment_version == 0:
            return "assignment_version is 0"
        if self.partitioning_abi_version != PARTITIONING_ABI_VERSION:
            return f"partitioning_abi_version is not {PARTITIONING_ABI_VERSION}"
        if not 1 <= self.vnode_count <= MAX_KEY_GROUP_COUNT:
            return f"vnode_count is not in 1..={MAX_KEY_GROUP_COUNT}"
        if not any(self.assignment_digest):
            return "assignment_digest is all zero"
        if not 1 <= len(self.participants) <= MAX_CHECKPOINT_PARTICIPANTS:
            return f"the number of participants is not in 1..={MAX_CHECKPOINT_PARTICIPANTS}"
        if not strictly_ascending([member.node_id for member in self.participants]):
            return "participants do not ascend strictly by node_id"
        if self.participants[0].node_id == 0:
            return "a node_id is 0"
        if any(member.boot_incarnation.int == 0 for member in self.participants):
            return "a boot_incarnation is the nil UUID"
        return None

    def contains(self, node_id: int) -> bool:
        """Whether the roster lists *node_id*."""
        return any(member.node_id == node_id for member in self.participants)


class ChangelogMode(Enum):
    """How a stream's frames change what was there before."""

    APPEND = "append"
    FULL_PARTITION_SNAPSHOT = "full_partition_snapshot"
    WEIGHTED_RETRACT_INSERT = "weighted_retract_insert"

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


@dataclass(frozen=True, slots=True)
class VnodePartitioned:
    """Output whose partitions are the vnodes of its grouping keys."""

    kind: ClassVar[str] = "vnode_partitioned"
    key_expressions_fingerprint: Digest
    partition_abi: U16
    vnode_count: U16

    def contains(self, partition: int) -> bool:
        """Whether *partition* belongs to the certified domain."""
        return partition < self.vnode_count


@dataclass(frozen=True, slots=True)
class Singleton:
    """Output of a global aggregate, all of it in one partition."""

    kind: ClassVar[str] = "singleton"
    partition: U16

    def contains(self, partition: int) -> bool:
        """Whether *partition* is the one."""
        return partition == self.partition


OutputDistribution = VnodePartitioned | Singleton
"""How a stream's output is spread over partitions, tagged by ``kind``."""


@dataclass(frozen=True, slots=True)
class OutputDistributionCertificate:
    """The planner's proof that a stream's distribution is stable and can be recovered."""

    version: U16
    protocol_version: U16
    stream_id: str
    catalog_generation: U64
    stream_generation: Digest
    final_operator_id: str
    distribution: OutputDistribution
    schema_fingerprint: Digest
    changelog_mode: ChangelogMode
    history_retention_bytes: U64
    query_fingerprint: Digest
    pipeline_identity: PipelineIdentity


@dataclass(frozen=True, slots=True)
class NodePartitionRange:
    """The sequences that one checkpoint adds to a partition: from first, below through."""

    partition: U16
    first_sequence: U64
    through_sequence: U64


@dataclass(frozen=True, slots=True)
class OutputSegmentRef:
    """One immutable object that holds a run of a partition's frames."""

    protocol_version: U16
    object_key: str
    stream_generation: Digest
    partition: U16
    first_sequence: U64
    exclusive_end_sequence: U64
    frame_count: U64
    row_count: U64
    encoded_length: U64
    schema_fingerprint: Digest
    payload_digest: Digest


@dataclass(frozen=True, slots=True)
class NodeSubscriptionStreamManifest:
    """One stream's part of one participant's subscription output."""

    distribution_certificate: OutputDistributionCertificate
    ranges: tuple[NodePartitionRange, ...]
    segments: tuple[OutputSegmentRef, ...]


@dataclass(frozen=True, slots=True)
class NodeSubscriptionBody:
    """What the digest of a participant's subscription output is taken of."""

    protocol_version: U16
    epoch: U64
    checkpoint_id: U64
    participant_id: U64
    assignment_certificate: CheckpointAssignmentFence
    streams: tuple[NodeSubscriptionStreamManifest, ...]


@dataclass(frozen=True, slots=True)
class NodeSubscriptionManifest(NodeSubscriptionBody):
    """One participant's subscription output at the cut, sealed by the digest of its body."""

    manifest_digest: Digest


@dataclass(frozen=True, slots=True)
class EventTimeBounds:
    """The inclusive event-time range of a segment's rows, in milliseconds, signed."""

    min: I64
    max: I64


@dataclass(frozen=True, slots=True)
class ViewLogSegment:
    """One immutable run of rows in a partition of a view's log: row_count rows from first_row."""

    partition: U16
    first_row: U64
    row_count: U64
    event_time: EventTimeBounds | None
    chunk: StateChunkId
    range: ByteRange
    sha256: str


@dataclass(frozen=True, slots=True)
class ViewLog:
    """The retained log of one append-only view at the cut."""

    view_name: str
    segments: tuple[ViewLogSegment, ...]


Payload = StateFrame | ViewLogSegment
"""What lies in a range of a node data object, current or older, under a digest of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointManifest:
    """What one participant wrote for one checkpoint: which state lies where, and how to check it.

    ``timestamp_ms`` is milliseconds since the Unix epoch; ``checkpoint_watermark`` is the
    classification of ``channel_progress`` (:func:`oracle.kernels.classify`).
    """

    version: U32
    checkpoint_id: U64
    epoch: U64
    timestamp_ms: U64
    participant_id: U64
    source_offsets: Mapping[str, ConnectorCheckpoint]
    source_names: tuple[str, ...]
    sink_names: tuple[str, ...]
    pipeline_identity: PipelineIdentity
    deployment_id: str
    partitioning_abi_version: U16
    vnode_count: U16
    assignment_fence: CheckpointAssignmentFence | None
    reassignment_portable: bool
    owned_vnodes: tuple[U16, ...]
    checkpoint_watermark: I64 | None
    channel_progress: tuple[ChannelProgress, ...]
    node_data: NodeDataObject
    state_frames: tuple[StateFrame, ...]
    prepared_sinks: tuple[PreparedSinkDescriptor, ...]
    sink_artifact_intents: tuple[PreparedSinkArtifactIntent, ...] = of_feature(
        Feature.SINK_ARTIFACT_INTENTS, ()
    )
    referenced_chunks: tuple[ReferencedStateChunk, ...]
    view_logs: tuple[ViewLog, ...] = of_feature(Feature.VIEW_LOGS, ())
    subscription_output: NodeSubscriptionManifest | None = of_feature(
        Feature.SUBSCRIPTION_OUTPUT, None
    )

    @property
    def current_chunk(self) -> StateChunkId:
        """The object that this checkpoint wrote, as the manifest states it, right or wrong."""
        return self.node_data.chunk
