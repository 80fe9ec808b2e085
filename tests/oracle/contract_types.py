"""The types of the contract, restated by hand: what the model is compared with.

One line for each type: its fields in declaration order. ``?`` is an optional field, ``=`` a
defaulted one. Tagged enums list their variants, each with its fields.
"""

from __future__ import annotations

TYPES = """
CheckpointManifest: version u32, checkpoint_id u64, epoch u64, timestamp_ms u64, \
participant_id u64, source_offsets map ConnectorCheckpoint, source_names [string], \
sink_names [string], pipeline_identity PipelineIdentity, deployment_id string, \
partitioning_abi_version u16, vnode_count u16, assignment_fence CheckpointAssignmentFence?, \
reassignment_portable bool, owned_vnodes [u16], checkpoint_watermark i64?, \
channel_progress [ChannelProgress], node_data NodeDataObject, state_frames [StateFrame], \
prepared_sinks [PreparedSinkDescriptor], sink_artifact_intents [PreparedSinkArtifactIntent]=, \
referenced_chunks [ReferencedStateChunk], view_logs [ViewLog]=, \
subscription_output NodeSubscriptionManifest?=
PipelineIdentity: canonical_version u16, sha256 string
StateChunkId: participant_id u64, checkpoint_id u64
ByteRange: offset u64, length u64
NodeDataObject: chunk StateChunkId, object_length u64, sha256 string
operator_whole: operator_id string
vnode: operator_id string, vnode u16
StateFrame: key operator_whole|vnode, chunk StateChunkId, range ByteRange, sha256 string
ChannelProgress: participant_id u64, source_name string, input_channel bytes, watermark i64?, \
idle bool
ReferencedStateChunk: chunk StateChunkId, object_length u64, sha256 string, ref_count nonzero u32
PreparedSinkDescriptor: sink_name string, format_version u16, payload ByteRange?, sha256 string
PreparedSinkArtifactIntent: sink_name string, format_version u16, payload ByteRange?, sha256 string
ConnectorCheckpoint: offsets map string, metadata map string, input_channels [bytes]?, \
source_assignment_version nonzero u64?
CheckpointAssignmentFence: assignment_version u64, partitioning_abi_version u16, vnode_count u32, \
assignment_digest digest, participants [CheckpointParticipant]
CheckpointParticipant: node_id u64, boot_incarnation uuid
NodeSubscriptionManifest: protocol_version u16, epoch u64, checkpoint_id u64, participant_id u64, \
assignment_certificate CheckpointAssignmentFence, streams [NodeSubscriptionStreamManifest], \
manifest_digest digest
NodeSubscriptionStreamManifest: distribution_certificate OutputDistributionCertificate, \
ranges [NodePartitionRange], segments [OutputSegmentRef]
NodePartitionRange: partition u16, first_sequence u64, through_sequence u64
OutputSegmentRef: protocol_version u16, object_key string, stream_generation digest, \
partition u16, first_sequence u64, exclusive_end_sequence u64, frame_count u64, row_count u64, \
encoded_length u64, schema_fingerprint digest, payload_digest digest
OutputDistributionCertificate: version u16, protocol_version u16, stream_id string, \
catalog_generation u64, stream_generation digest, final_operator_id string, \
distribution vnode_partitioned|singleton, schema_fingerprint digest, changelog_mode mode, \
history_retention_bytes u64, query_fingerprint digest, pipeline_identity PipelineIdentity
vnode_partitioned: key_expressions_fingerprint digest, partition_abi u16, vnode_count u16
singleton: partition u16
ViewLog: view_name string, segments [ViewLogSegment]
ViewLogSegment: partition u16, first_row u64, row_count u64, event_time EventTimeBounds?, \
chunk StateChunkId, range ByteRange, sha256 string
EventTimeBounds: min i64, max i64
"""

Fields = list[tuple[str, str, bool]]
"""Name, type, and whether the field is defaulted."""

INTEGERS = {
    "u8": (0, 2**8 - 1),
    "u16": (0, 2**16 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "nonzero u32": (1, 2**32 - 1),
    "nonzero u64": (1, 2**64 - 1),
}

MODES = ("append", "full_partition_snapshot", "weighted_retract_insert")


def _parse(line: str) -> tuple[str, Fields]:
    name, _, rest = line.partition(": ")
    found: Fields = []
    for part in rest.split(", "):
        field, _, kind = part.partition(" ")
        found.append((field, kind.rstrip("="), kind.endswith("=")))
    return name, found


STRUCTS: dict[str, Fields] = dict(map(_parse, TYPES.strip().splitlines()))
"""The fields of each struct and of each variant of a tagged enum."""

VARIANTS = {name for name in STRUCTS if name[0].islower()}
"""The structs that are variants, and so have a ``kind``."""

FEATURES = {
    "v9": frozenset({"sink_artifact_intents", "subscription_output", "view_logs"}),
    "v10": frozenset({"view_logs"}),
    "view-log": frozenset[str](),
}
"""The fields of a manifest that each format does not have."""


def fields_in(name: str, contract: str) -> Fields:
    """The fields of a struct in the format *contract*."""
    lacking = FEATURES[contract] if name == "CheckpointManifest" else frozenset()
    return [field for field in STRUCTS[name] if field[0] not in lacking]
