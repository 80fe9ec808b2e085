"""The types of a committed cut, under the engine's names, in declaration order.

They follow :mod:`oracle.model`: the typed decoder and the encoder come from the annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from oracle.model import (
    I64,
    U16,
    U32,
    U64,
    ChannelProgress,
    CheckpointAssignmentFence,
    ConnectorCheckpoint,
    Digest,
    FrozenDict,
    NodePartitionRange,
    OutputDistributionCertificate,
    OutputSegmentRef,
    PipelineIdentity,
)


class CheckpointScope(Enum):
    """Who owns the vnodes of a cut: one process, or the participants of a fence."""

    LOCAL = "local"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class CommittedParticipantRef:
    """One participant's manifest and node data object, by exact length and SHA-256 text."""

    participant_id: U64
    manifest_len: U64
    manifest_sha256: str
    node_data_len: U64
    node_data_sha256: str


@dataclass(frozen=True, slots=True)
class CommittedCheckpointRef:
    """A committed index by its attempt and the SHA-256 text and length of its canonical bytes."""

    epoch: U64
    checkpoint_id: U64
    sha256: str
    len: U64


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedCheckpointIndex:
    """What binds the manifests of all participants into one cut.

    Watermarks are signed milliseconds. ``source_watermarks`` is the frontier that each source has
    passed in this cut or an older one; it is left out of the encoding when empty.
    """

    version: U32
    deployment_id: str
    pipeline_identity: PipelineIdentity
    epoch: U64
    checkpoint_id: U64
    scope: CheckpointScope
    vnode_count: U16
    assignment_fence: CheckpointAssignmentFence | None
    reassignment_portable: bool
    predecessor: CommittedCheckpointRef | None
    participants: tuple[CommittedParticipantRef, ...]
    source_names: tuple[str, ...]
    source_offsets: Mapping[str, ConnectorCheckpoint]
    channel_progress: tuple[ChannelProgress, ...]
    source_watermarks: Mapping[str, I64] = FrozenDict()
    checkpoint_watermark: I64 | None

    @property
    def participant_ids(self) -> tuple[int, ...]:
        """The ids of the participants, in the order of the index."""
        return tuple(reference.participant_id for reference in self.participants)


@dataclass(frozen=True, slots=True)
class PartitionFrontier:
    """The first sequence of a partition that a cut does not cover."""

    partition: U16
    through_sequence: U64


@dataclass(frozen=True, slots=True)
class SubscriptionCheckpointBody:
    """One stream's output at a cut, put together from all participants.

    ``frontiers`` has one entry for every certified partition; ``segments`` ascend by partition.
    """

    protocol_version: U16
    distribution_certificate: OutputDistributionCertificate
    stream_generation: Digest
    epoch: U64
    checkpoint_id: U64
    assignment_certificate: CheckpointAssignmentFence
    schema_fingerprint: Digest
    frontiers: tuple[PartitionFrontier, ...]
    segments: tuple[OutputSegmentRef, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionCheckpointManifest(SubscriptionCheckpointBody):
    """The body with the digest that seals it."""

    manifest_digest: Digest


@dataclass(frozen=True, slots=True)
class MergedSubscriptionCheckpoint:
    """A stream's manifest with the ranges that this cut added to its partitions."""

    manifest: SubscriptionCheckpointManifest
    ranges: tuple[NodePartitionRange, ...]
