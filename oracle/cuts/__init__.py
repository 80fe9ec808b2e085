"""The executable specification of a committed cut: what binds participants' manifests together.

The index by itself (:mod:`oracle.cuts.index`), the index with its manifests
(:mod:`oracle.cuts.binding`) and with its predecessor (:mod:`oracle.cuts.continuity`). One fault
is reported, the first in the order of the contract, as the engine does.
"""

from oracle.cuts import index, subscription, binding, continuity  # noqa: F401, I001 - rules' order
from oracle.cuts.binding import (
    Binding,
    participant_reference,
    validate_participant_manifests,
)
from oracle.cuts.constants import (
    COMMITTED_CHECKPOINT_INDEX_VERSION,
    LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION,
    MAX_COMMITTED_CHECKPOINT_INDEX_BYTES,
)
from oracle.cuts.continuity import validate_predecessor_index
from oracle.cuts.index import (
    decode_index,
    effective_source_watermarks,
    encode_and_reference,
    encode_index,
    frontiers_by_source,
    reference_of,
    validate_index,
)
from oracle.cuts.model import (
    CheckpointScope,
    CommittedCheckpointIndex,
    CommittedCheckpointRef,
    CommittedParticipantRef,
    MergedSubscriptionCheckpoint,
    PartitionFrontier,
    SubscriptionCheckpointManifest,
)
from oracle.cuts.registry import RULES, CutFinding, InvalidCut
from oracle.cuts.subscription import merge_node_subscription_manifests

__all__ = [
    "COMMITTED_CHECKPOINT_INDEX_VERSION",
    "LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION",
    "MAX_COMMITTED_CHECKPOINT_INDEX_BYTES",
    "RULES",
    "Binding",
    "CheckpointScope",
    "CommittedCheckpointIndex",
    "CommittedCheckpointRef",
    "CommittedParticipantRef",
    "CutFinding",
    "InvalidCut",
    "MergedSubscriptionCheckpoint",
    "PartitionFrontier",
    "SubscriptionCheckpointManifest",
    "decode_index",
    "effective_source_watermarks",
    "encode_and_reference",
    "encode_index",
    "frontiers_by_source",
    "merge_node_subscription_manifests",
    "participant_reference",
    "reference_of",
    "validate_index",
    "validate_participant_manifests",
    "validate_predecessor_index",
]
