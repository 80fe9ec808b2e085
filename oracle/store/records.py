"""The control records of a store, under the engine's names, in declaration order.

The engine writes a record's fields in declaration order, and refuses a record that is not exactly
what it would write. Seals of aborted attempts are written canonically, as manifests are.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Final, TypeVar
from uuid import UUID

from oracle.cuts.document import decode_as
from oracle.cuts.index import reference_defect
from oracle.cuts.model import CheckpointScope, CommittedCheckpointRef
from oracle.digests import checkpoint_artifact_intent_sha256, checkpoint_sha256
from oracle.encoding import canonical_json_bytes
from oracle.formats import V10
from oracle.kernels import is_canonical_uuid, is_sha256_text, strictly_ascending
from oracle.model import (
    U16,
    U32,
    U64,
    CheckpointAssignmentFence,
    CheckpointManifest,
    PipelineIdentity,
    StateChunkId,
)
from oracle.registry import Place
from oracle.verdict import validate

DEPLOYMENT_IDENTITY_VERSION: Final = 3
CHECKPOINT_DECISION_HEAD_VERSION: Final = 2
CHECKPOINT_OUTCOME_VERSION: Final = 3
CHECKPOINT_RETENTION_HEAD_VERSION: Final = 1
ABORT_SEAL_VERSIONS: Final = (1, 2, 3)
ABORTED_COMMITTED_CHECKPOINT_SEAL_VERSION: Final = 1

DEPLOYMENT_IDENTITY_MAX_BYTES: Final = 1_024
CHECKPOINT_DECISION_HEAD_MAX_BYTES: Final = 128 * 1_024
CHECKPOINT_RETENTION_HEAD_MAX_BYTES: Final = 64 * 1_024
MAX_ABORT_SEAL_BYTES: Final = (16 + 5) * 1024 * 1024 + 64 * 1024
"""A manifest, the intents of the sinks and what stands around them."""


class AllocatorMode(Enum):
    """How checkpoint ids are allocated."""

    NATIVE_CAS = "native_cas"
    LOCAL_SINGLE_WRITER = "local_single_writer"


@dataclass(frozen=True, slots=True)
class DeploymentIdentity:
    """Whose store it is, and the greatest checkpoint id that may be in use."""

    version: U32
    id: str
    allocator_mode: AllocatorMode
    checkpoint_id: U64
    allocation_id: str


@dataclass(frozen=True, slots=True)
class LeaderProofOwner:
    """The process that led a cluster."""

    node_id: U64
    boot_id: UUID
    process_term: U64


@dataclass(frozen=True, slots=True)
class LeaderProof:
    """One term of a leader."""

    owner: LeaderProofOwner
    fencing_token: U64


class CheckpointVerdict(Enum):
    """How an attempt ended."""

    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class CheckpointOutcome:
    """How one attempt ended, and for a commit the index that it committed."""

    version: U32
    scope: CheckpointScope
    epoch: U64
    checkpoint_id: U64
    deployment_id: str
    assignment_fence: CheckpointAssignmentFence | None
    leader_proof: LeaderProof | None
    committed_checkpoint: CommittedCheckpointRef | None
    verdict: CheckpointVerdict


@dataclass(frozen=True, slots=True)
class CheckpointAttempt:
    """One attempt at a checkpoint; its ids are equal and not 0."""

    epoch: U64
    checkpoint_id: U64


@dataclass(frozen=True, slots=True)
class CheckpointArtifactInventory:
    """An attempt that may have written files and has not been settled."""

    deployment_id: str
    pipeline_identity: PipelineIdentity
    attempt: CheckpointAttempt
    assignment_fence: CheckpointAssignmentFence | None
    sink_artifact_intent_protocol: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointDecisionHead:
    """The last attempt that ended, the last that committed, and the one that is under way."""

    version: U32
    deployment_id: str
    latest_terminal: CheckpointOutcome | None
    latest_commit: CheckpointOutcome | None
    active_artifacts: CheckpointArtifactInventory | None


@dataclass(frozen=True, slots=True)
class CheckpointRetentionCursor:
    """Where deletion stands: ``current`` is being retired, ``next`` is its predecessor.

    ``protected`` stays whole; what is before or at ``stop_before`` has been retired earlier.
    """

    protected: CommittedCheckpointRef
    current: CommittedCheckpointRef
    next: CommittedCheckpointRef | None
    stop_before: CommittedCheckpointRef | None


class Phase(Enum):
    """What retention may be deleting: nothing, the data of a cut, or its metadata."""

    IDLE = "idle"
    DELETE_DATA = "delete_data"
    DELETE_METADATA = "delete_metadata"


@dataclass(frozen=True, slots=True)
class CheckpointRetentionState:
    """A phase with what belongs to it: ``protected`` when idle, else a ``cursor``."""

    phase: Phase
    protected: CommittedCheckpointRef | None = None
    cursor: CheckpointRetentionCursor | None = None

    @property
    def keeps(self) -> CommittedCheckpointRef | None:
        """The cut that stays whole."""
        return self.protected if self.cursor is None else self.cursor.protected


@dataclass(frozen=True, slots=True)
class CheckpointRetentionHead:
    """The state of retention."""

    version: U32
    deployment_id: str
    state: CheckpointRetentionState


@dataclass(frozen=True, slots=True)
class CheckpointSinkArtifactIntent:
    """What one sink meant to write in an attempt, recorded before it began."""

    sink_name: str
    format_version: U16
    payload: bytes | None
    sha256: str


@dataclass(frozen=True, slots=True)
class CheckpointArtifactAbortSeal:
    """What stands for a manifest or for node data once their attempt is aborted."""

    version: U32
    artifact_identity_sha256: str
    chunk: StateChunkId
    original_manifest: CheckpointManifest | None
    sink_artifact_intent_protocol: bool = False
    open_sink_artifact_intents: tuple[CheckpointSinkArtifactIntent, ...] = ()
    sink_cleanup_complete: bool = False


@dataclass(frozen=True, slots=True)
class AbortedCommittedCheckpointSeal:
    """What stands for an index once its attempt is aborted."""

    version: U32
    deployment_id: str
    candidate: CommittedCheckpointRef


@dataclass(frozen=True, slots=True)
class _ArtifactIdentity:
    version: U32
    inventory: CheckpointArtifactInventory
    chunk: StateChunkId


Record = TypeVar("Record")


def decode_record(shape: type[Record], data: bytes) -> Record:
    """The record that *data* spells; raises :class:`oracle.DecodeError` and nothing else."""
    return decode_as(shape, data)


def record_bytes(record: Any) -> bytes:
    """*record* as the engine writes it: without spaces, fields in declaration order."""
    return json.dumps(_plain(record), ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        members = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name: _plain(member)
            for field, member in members
            if field.default is MISSING or member != field.default
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple | bytes) else value


# --- what is wrong with a record by itself ---------------------------------------------------


def identity_defect(identity: DeploymentIdentity) -> Place | None:
    """What is wrong with the ids of a deployment identity."""
    for field in ("id", "allocation_id"):
        text = getattr(identity, field)
        if not is_canonical_uuid(text):
            return f"/{field}", f"{text!r} is not the canonical text of a non-nil UUID"
    return None


def outcome_defect(outcome: CheckpointOutcome, deployment_id: str) -> Place | None:
    """What is wrong with an outcome that a local decision head records."""
    if outcome.version != CHECKPOINT_OUTCOME_VERSION:
        return "/version", f"version is {outcome.version}, not {CHECKPOINT_OUTCOME_VERSION}"
    if outcome.epoch == 0 or outcome.checkpoint_id != outcome.epoch:
        return "/epoch", f"epoch {outcome.epoch} is 0 or not checkpoint_id {outcome.checkpoint_id}"
    if outcome.deployment_id != deployment_id:
        return "/deployment_id", f"it is {outcome.deployment_id!r}, the head's {deployment_id!r}"
    if outcome.scope is not CheckpointScope.LOCAL:
        return "/scope", "the outcome in a local head is not local"
    for field in ("assignment_fence", "leader_proof"):
        if getattr(outcome, field) is not None:
            return f"/{field}", f"a local outcome has no {field}"
    reference, commits = outcome.committed_checkpoint, outcome.verdict is CheckpointVerdict.COMMIT
    if (reference is not None) != commits:
        return "/committed_checkpoint", "a commit has a reference, and an abort has none"
    if reference is None:
        return None
    defect = reference_defect(reference)
    if defect is not None:
        return f"/committed_checkpoint{defect[0]}", defect[1]
    if reference.epoch != outcome.epoch:
        return "/committed_checkpoint/epoch", f"it is {reference.epoch}, not {outcome.epoch}"
    return None


def commit_defect(head: CheckpointDecisionHead) -> Place | None:
    """What is wrong with latest_commit beside latest_terminal, each right by itself."""
    terminal, commit = head.latest_terminal, head.latest_commit
    if terminal is None and head.active_artifacts is None:
        return "", "the head has neither an outcome nor an attempt"
    if terminal is not None and terminal.verdict is CheckpointVerdict.COMMIT:
        if commit != terminal:
            return "/latest_commit", "latest_terminal is a commit, and latest_commit is not it"
        return None
    if commit is None:
        return None
    if commit.verdict is not CheckpointVerdict.COMMIT:
        return "/latest_commit/verdict", "it is not a commit"
    if terminal is None or commit.epoch >= terminal.epoch:
        return "/latest_commit/epoch", "it is not older than the last attempt that ended"
    return None


def inventory_defect(head: CheckpointDecisionHead) -> Place | None:
    """What is wrong with active_artifacts, by itself and beside latest_terminal."""
    inventory, terminal = head.active_artifacts, head.latest_terminal
    if inventory is None:
        return None
    attempt, identity = inventory.attempt, inventory.pipeline_identity
    if inventory.deployment_id != head.deployment_id:
        return "/deployment_id", "it is not the head's"
    if identity.canonical_version != V10.pipeline_identity_version or not is_sha256_text(
        identity.sha256
    ):
        return "/pipeline_identity", f"{identity} is not canonical"
    if attempt.epoch == 0 or attempt.checkpoint_id != attempt.epoch:
        return "/attempt", f"epoch {attempt.epoch} is 0 or not {attempt.checkpoint_id}"
    if inventory.assignment_fence is not None:
        return "/assignment_fence", "a local attempt has no fence"
    if terminal is not None:
        ended = terminal.verdict is CheckpointVerdict.COMMIT
        if attempt.epoch < terminal.epoch or (ended and attempt.epoch == terminal.epoch):
            return "/attempt/epoch", f"attempt {terminal.epoch} has ended already"
    return None


def retention_defect(state: CheckpointRetentionState) -> Place | None:
    """What is wrong with a retention state by itself."""
    idle, cursor = state.phase is Phase.IDLE, state.cursor
    if idle != (state.protected is not None) or idle == (cursor is not None):
        return "", "idle has a protected cut, and the other phases have a cursor"
    references = [("/protected", state.protected)]
    if cursor is not None:
        references = [
            (f"/cursor/{field.name}", getattr(cursor, field.name)) for field in fields(cursor)
        ]
    for pointer, reference in references:
        defect = None if reference is None else reference_defect(reference)
        if defect is not None:
            return f"{pointer}{defect[0]}", defect[1]
    return None if cursor is None else _cursor_defect(cursor)


def _cursor_defect(cursor: CheckpointRetentionCursor) -> Place | None:
    if cursor.protected.epoch <= cursor.current.epoch:
        return "/cursor/current", "it is not older than the protected cut"
    older, boundary = cursor.next, cursor.stop_before
    if older is not None and older.epoch >= cursor.current.epoch:
        return "/cursor/next", "it is not older than the current cut"
    if boundary is None:
        return None
    if boundary.epoch >= cursor.current.epoch:
        return "/cursor/stop_before", "it is not older than the current cut"
    if older is None or older.epoch < boundary.epoch:
        return "/cursor/next", "it is beyond stop_before"
    if older.epoch == boundary.epoch and older != boundary:
        return "/cursor/next", "it is another cut than stop_before, of the same epoch"
    return None


def abort_seal_defect(
    seal: CheckpointArtifactAbortSeal, chunk: StateChunkId, data: bytes
) -> Place | None:
    """What is wrong with a *seal* stored as *data* at the path of *chunk*."""
    intents, protocol = seal.open_sink_artifact_intents, seal.sink_artifact_intent_protocol
    if seal.version not in ABORT_SEAL_VERSIONS:
        return "/version", f"version is {seal.version}, not one of {ABORT_SEAL_VERSIONS}"
    if seal.chunk != chunk:
        return "/chunk", f"{seal.chunk} is not the path's {chunk}"
    if not is_sha256_text(seal.artifact_identity_sha256):
        return "/artifact_identity_sha256", "it is not SHA-256 text"
    if seal.version == ABORT_SEAL_VERSIONS[0] and seal.sink_cleanup_complete:
        return "/sink_cleanup_complete", "version 1 does not know it"
    if seal.version < ABORT_SEAL_VERSIONS[-1] and (protocol or intents):
        return "/sink_artifact_intent_protocol", "only version 3 knows it"
    if intents and not protocol:
        return "/open_sink_artifact_intents", "there are intents without their protocol"
    if not strictly_ascending([intent.sink_name for intent in intents]):
        return "/open_sink_artifact_intents", "they do not ascend strictly by sink_name"
    for number, intent in enumerate(intents):
        if intent.sha256 != checkpoint_artifact_intent_sha256(intent.payload):
            return f"/open_sink_artifact_intents/{number}/sha256", "it is another payload's"
    if canonical_json_bytes(seal) != data:
        return "", "the seal is not in canonical encoding"
    return None if seal.original_manifest is None else _sealed_defect(seal, seal.original_manifest)


def _sealed_defect(seal: CheckpointArtifactAbortSeal, manifest: CheckpointManifest) -> Place | None:
    if manifest.current_chunk != seal.chunk:
        return "/original_manifest/node_data/chunk", f"it is not {seal.chunk}"
    for broken in validate(manifest, max(manifest.vnode_count, 1)):
        return f"/original_manifest{broken.pointer}", f"{broken.message} [{broken.rule}]"
    if seal.artifact_identity_sha256 != _artifact_identity(manifest, seal.chunk):
        return "/artifact_identity_sha256", "it is not that of the sealed manifest"
    return None


def _artifact_identity(manifest: CheckpointManifest, chunk: StateChunkId) -> str:
    intents = bool(manifest.sink_artifact_intents)
    inventory = CheckpointArtifactInventory(
        manifest.deployment_id,
        manifest.pipeline_identity,
        CheckpointAttempt(manifest.epoch, manifest.checkpoint_id),
        manifest.assignment_fence,
        intents,
    )
    identity = _ArtifactIdentity(2 if intents else 1, inventory, chunk)
    return checkpoint_sha256(canonical_json_bytes(identity))
