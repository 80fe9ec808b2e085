"""The audit of a store: from the deployment identity to the last byte of node data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from oracle.constants import MAX_CHECKPOINT_MANIFEST_BYTES
from oracle.cuts.binding import MANIFEST, Binding
from oracle.cuts.constants import MAX_COMMITTED_CHECKPOINT_INDEX_BYTES
from oracle.cuts.continuity import validate_predecessor_index
from oracle.cuts.index import decode_index, encode_index, reference_of, validate_index
from oracle.cuts.model import CommittedCheckpointIndex, CommittedCheckpointRef
from oracle.cuts.registry import CutFinding
from oracle.digests import checkpoint_sha256
from oracle.encoding import canonical_json_bytes
from oracle.errors import DecodeError
from oracle.kernels import is_canonical_uuid
from oracle.model import StateChunkId
from oracle.registry import Place
from oracle.store import records, registry
from oracle.store.layout import (
    IDENTITY,
    ChunkKey,
    IndexKey,
    Inventory,
    decision_head,
    index_key,
    index_path,
    manifest_path,
    node_data_path,
    retention_head,
    take_inventory,
)
from oracle.store.objects import ObjectClaims, PendingObjects, verify
from oracle.store.records import (
    AllocatorMode,
    CheckpointDecisionHead,
    CheckpointRetentionState,
    Phase,
)
from oracle.store.registry import StoreFinding
from oracle.verdict import decode, validate

Progress = Callable[[int, int], None]
"""Told how many bytes have been read, and about how many there are."""

Record = TypeVar("Record")


@dataclass(slots=True)
class Summary:
    """What a store holds. Sizes are bytes.

    ``cuts`` were audited with their ``manifests`` and ``objects``; ``object_bytes`` were read
    and hashed, and ``shared_bytes`` of them belong to objects that more than one cut uses.
    ``retiring_bytes`` are on their way out by the retention state, ``attempt_bytes`` belong to an
    attempt under way, ``sealed_bytes`` to aborted ones, ``temporary_bytes`` to writes that a kill
    ended, ``unreachable_bytes`` to nothing.
    """

    deployment_id: str | None = None
    latest_commit: int | None = None
    cuts: int = 0
    manifests: int = 0
    objects: int = 0
    metadata_bytes: int = 0
    object_bytes: int = 0
    shared_bytes: int = 0
    retiring_bytes: int = 0
    attempt_bytes: int = 0
    sealed_bytes: int = 0
    temporary_bytes: int = 0
    unreachable_bytes: int = 0

    @property
    def shared_ratio(self) -> float:
        """The share, 0 to 1, of the object bytes that more than one cut uses."""
        return self.shared_bytes / self.object_bytes if self.object_bytes else 0.0

    @property
    def reclaimable_bytes(self) -> int:
        """What could be deleted without loss: retiring, temporary and unreachable."""
        return self.retiring_bytes + self.temporary_bytes + self.unreachable_bytes


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit found, in the order in which a store is read."""

    root: Path
    findings: tuple[StoreFinding, ...]
    summary: Summary

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit(root: Path, progress: Progress = lambda _done, _total: None) -> AuditReport:
    """Read the store at *root* and report everything that must hold of it and does not.

    A damage is reported where it is, and what only follows from it is not: behind an index that
    cannot be read the chain is not followed, and then nothing is called unreachable. The engine
    must not be running on the store. Nothing is written.

    Raises :class:`StoreUnavailable` or :class:`OSError` when the store cannot be read.
    """
    return _Audit(root, take_inventory(root), progress).run()


@dataclass(frozen=True, slots=True)
class _From:
    """What names something: a file and a pointer into it."""

    file: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.file} {self.pointer}"


class _Audit:
    def __init__(self, root: Path, inventory: Inventory, progress: Progress) -> None:
        self.root = root
        self.inventory = inventory
        self.progress = progress
        self.findings: list[StoreFinding] = []
        self.summary = Summary(temporary_bytes=sum(inventory.temporary))
        self.read_bytes = 0
        self.pending = PendingObjects()
        self.deployment: str | None = None
        self.allocator: AllocatorMode | None = None
        self.head: CheckpointDecisionHead | None = None
        # Everything that is named was found and could be read, so that what is left is not named.
        self.complete = True
        self.live: set[ChunkKey] = set()
        self.retiring: set[ChunkKey] = set()
        self.known_manifests: set[ChunkKey] = set()
        self.known_indexes: set[IndexKey] = set()
        self.retiring_indexes: set[IndexKey] = set()

    def run(self) -> AuditReport:
        self.identity()
        self.decisions()
        retention = self.retention()
        start = self.start()
        if start is not None:
            self.chain(start, retention)
        if self.complete and self.head is not None:
            self.leftovers()
        self.summary.deployment_id = self.deployment
        return AuditReport(self.root, tuple(self.findings), self.summary)

    # --- reading -----------------------------------------------------------------------------

    def find(self, file: str, rule: str, message: str, pointer: str = "") -> None:
        self.findings.append(StoreFinding(file, rule, message, pointer))

    def advance(self, count: int) -> None:
        self.read_bytes += count
        self.progress(self.read_bytes, self.inventory.total)

    def read(self, file: str) -> bytes:
        data = (self.root / file).read_bytes()
        self.summary.metadata_bytes += len(data)
        self.advance(len(data))
        return data

    def record(
        self, shape: type[Record], file: str, most: int, decode_rule: str, encoding_rule: str
    ) -> Record | None:
        """A control record, or nothing where it does not decode or is not as the engine writes."""
        size = (self.root / file).stat().st_size
        if size > most:
            self.find(file, decode_rule, f"it has {size} bytes, at most {most} are read")
            return None
        data = self.read(file)
        try:
            record = records.decode_record(shape, data)
        except DecodeError as error:
            self.find(file, decode_rule, error.message, error.pointer)
            return None
        if records.record_bytes(record) != data:
            self.find(file, encoding_rule, "the engine would write it otherwise")
            return None
        return record

    # --- control records ---------------------------------------------------------------------

    def identity(self) -> None:
        identity = self.sound_identity()
        named = sorted({*self.inventory.decision_deployments})
        if identity is None:
            # The records of the store tell whose it is, if they agree.
            self.deployment = named[0] if len(named) == 1 else None
            return
        self.allocator, self.deployment = identity.allocator_mode, identity.id
        if named and identity.id not in named:
            self.find(
                IDENTITY,
                registry.IDENTITY_FOREIGN,
                f"it is of {identity.id}, the decisions are of {', '.join(named)}",
                "/id",
            )
            self.deployment = named[0]
        greatest = self.inventory.greatest_id
        if greatest > identity.checkpoint_id:
            self.find(
                IDENTITY,
                registry.IDENTITY_ALLOCATOR,
                f"checkpoint_id is {identity.checkpoint_id}, {greatest} is in use",
                "/checkpoint_id",
            )

    def sound_identity(self) -> records.DeploymentIdentity | None:
        if not (self.root / IDENTITY).is_file():
            self.find(IDENTITY, registry.IDENTITY_MISSING, "there is no such file")
            return None
        identity = self.record(
            records.DeploymentIdentity,
            IDENTITY,
            records.DEPLOYMENT_IDENTITY_MAX_BYTES,
            registry.IDENTITY_DECODE,
            registry.IDENTITY_ENCODING,
        )
        if identity is None:
            return None
        if identity.version != records.DEPLOYMENT_IDENTITY_VERSION:
            message = f"version is {identity.version}, not {records.DEPLOYMENT_IDENTITY_VERSION}"
            self.find(IDENTITY, registry.IDENTITY_VERSION, message, "/version")
            return None
        defect = records.identity_defect(identity)
        if defect is not None:
            self.find(IDENTITY, registry.IDENTITY_ID, defect[1], defect[0])
            return None
        return identity

    def decisions(self) -> None:
        for deployment in self.inventory.decision_deployments:
            if self.deployment not in (None, deployment):
                file = decision_head(deployment)
                self.find(file, registry.STORE_DEPLOYMENT, f"the store is {self.deployment}'s")
        if self.deployment in self.inventory.decision_deployments:
            self.head = self.sound_head(decision_head(self.deployment), self.deployment)
        elif self.allocator is AllocatorMode.LOCAL_SINGLE_WRITER and self.inventory.greatest_id:
            file = decision_head(self.deployment or "")
            self.find(file, registry.DECISIONS_MISSING, "there is no such file")

    def sound_head(self, file: str, deployment: str) -> CheckpointDecisionHead | None:
        head = self.record(
            CheckpointDecisionHead,
            file,
            records.CHECKPOINT_DECISION_HEAD_MAX_BYTES,
            registry.DECISIONS_DECODE,
            registry.DECISIONS_ENCODING,
        )
        if head is None:
            return None
        for rule, pointer, message in _head_defects(head, deployment):
            self.find(file, rule, message, pointer)
            return None
        return head

    def retention(self) -> CheckpointRetentionState | None:
        for deployment in self.inventory.retention_deployments:
            if self.deployment not in (None, deployment):
                file = retention_head(deployment)
                self.find(file, registry.STORE_DEPLOYMENT, f"the store is {self.deployment}'s")
        if self.deployment not in self.inventory.retention_deployments:
            return None
        file = retention_head(self.deployment)
        head = self.record(
            records.CheckpointRetentionHead,
            file,
            records.CHECKPOINT_RETENTION_HEAD_MAX_BYTES,
            registry.RETENTION_DECODE,
            registry.RETENTION_ENCODING,
        )
        place = None
        if head is not None:
            version, wanted = head.version, records.CHECKPOINT_RETENTION_HEAD_VERSION
            defect = records.retention_defect(head.state)
            if version != wanted:
                place = registry.RETENTION_VERSION, "/version", f"it is {version}, not {wanted}"
            elif head.deployment_id != self.deployment:
                message = f"it is {head.deployment_id!r}"
                place = registry.RETENTION_DEPLOYMENT, "/deployment_id", message
            elif defect is not None:
                place = registry.RETENTION_STATE, f"/state{defect[0]}", defect[1]
        if place is not None:
            self.find(file, place[0], place[2], place[1])
        if head is None or place is not None:
            # What has been retired is not known now, nor how far the chain goes.
            self.complete = False
            return None
        return head.state

    def start(self) -> tuple[CommittedCheckpointRef, _From] | None:
        """The index to start from: the last commit's, or without a head the newest there is."""
        if self.head is not None:
            commit = self.head.latest_commit
            if commit is None or commit.committed_checkpoint is None:
                return None
            file = decision_head(self.head.deployment_id)
            return commit.committed_checkpoint, _From(file, "/latest_commit/committed_checkpoint")
        for key in sorted(self.inventory.indexes, reverse=True):
            file = index_path(key)
            if self.inventory.indexes[key] > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
                continue
            if self.index_seal_defect(key, self.read(file)) is not None:
                size = self.inventory.indexes[key]
                return CommittedCheckpointRef(*key, size), _From(file, "")
        return None

    # --- the chain of cuts -------------------------------------------------------------------

    def chain(
        self,
        start: tuple[CommittedCheckpointRef, _From],
        retention: CheckpointRetentionState | None,
    ) -> None:
        """Audit the cuts from the last commit to the protected one, and what is being retired."""
        reference, named = start
        self.summary.latest_commit = reference.checkpoint_id
        protected = None if retention is None else retention.keeps
        if protected is not None and protected.epoch > reference.epoch and self.head is not None:
            message = f"retention protects {protected.epoch}, latest_commit is {reference.epoch}"
            self.find(named.file, registry.DECISIONS_STALE, message, "/latest_commit")
            self.complete, protected = False, None
        last = self.walk(reference, named, protected)
        for key, claims in self.pending.take(0):
            self.object(key, claims)
        if last is None or retention is None or retention.cursor is None or protected is None:
            return
        self.retire(retention, retention.cursor, last)

    def walk(
        self,
        reference: CommittedCheckpointRef,
        named: _From,
        protected: CommittedCheckpointRef | None,
    ) -> CommittedCheckpointIndex | None:
        """Audit the cuts down to *protected*, or to the first; gives the last of them.

        Nothing when the chain ends before.
        """
        newer: CommittedCheckpointIndex | None = None
        newer_file = ""
        following: CommittedCheckpointRef | None = reference
        while following is not None:
            reference = following
            if protected is not None and reference.epoch <= protected.epoch:
                if reference != protected:
                    self.off_chain(reference)
                    return None
            index = self.index(reference, named)
            if index is None:
                return None
            if newer is not None:
                self.cut_finding(validate_predecessor_index(newer, index), newer_file)
            elif self.head is not None:
                self.compare_outcome(self.head, index, named)
            for key, claims in self.pending.take(reference.checkpoint_id):
                self.object(key, claims)
            self.cut(index)
            newer, newer_file = index, index_path(index_key(reference))
            if reference == protected:
                return index
            following, named = index.predecessor, _From(newer_file, "/predecessor")
        if protected is not None:
            self.off_chain(reference)
            return None
        return newer

    def off_chain(self, reference: CommittedCheckpointRef) -> None:
        assert self.deployment is not None
        self.complete = False
        self.find(
            retention_head(self.deployment),
            registry.RETENTION_PROTECTED,
            f"the chain from latest_commit comes to {reference.epoch} without it",
            "/state",
        )

    def compare_outcome(
        self, head: CheckpointDecisionHead, index: CommittedCheckpointIndex, named: _From
    ) -> None:
        commit = head.latest_commit
        assert commit is not None
        for field in ("scope", "assignment_fence"):
            if getattr(commit, field) != getattr(index, field):
                self.find(
                    named.file,
                    registry.DECISIONS_INDEX,
                    "it is not the index's",
                    f"/latest_commit/{field}",
                )

    def index(
        self, reference: CommittedCheckpointRef, named: _From
    ) -> CommittedCheckpointIndex | None:
        """The index that *reference* names, if it is what it should be."""
        key = index_key(reference)
        file = index_path(key)
        self.known_indexes.add(key)
        size = self.inventory.indexes.get(key)
        if size is None:
            self.broken(file, registry.COMMITTED_MISSING, f"named by {named}")
            return None
        if size != reference.len or size > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
            message = f"it has {size} bytes, {named} names {reference.len}"
            self.broken(file, registry.COMMITTED_DIGEST, message)
            return None
        data = self.read(file)
        digest = checkpoint_sha256(data)
        if digest != reference.sha256:
            message = f"its SHA-256 is {digest}, named by {named}"
            self.broken(file, registry.COMMITTED_DIGEST, message)
            return None
        try:
            index = decode_index(data)
        except DecodeError as error:
            self.broken(file, registry.COMMITTED_DECODE, error.message, error.pointer)
            return None
        if encode_index(index) != data:
            self.broken(file, registry.COMMITTED_ENCODING, "its canonical encoding is another")
        elif (fault := validate_index(index)) is not None:
            self.broken(file, fault.rule, fault.message, fault.pointer)
        elif reference_of(index, data) != reference:
            message = f"it is of attempt {index.epoch}"
            self.broken(file, registry.COMMITTED_PATH, message, "/epoch")
        elif self.deployment not in (None, index.deployment_id):
            message = f"it is of deployment {index.deployment_id}"
            self.broken(file, registry.COMMITTED_DEPLOYMENT, message, "/deployment_id")
        else:
            return index
        return None

    def broken(self, file: str, rule: str, message: str, pointer: str = "") -> None:
        """Report what keeps the audit from knowing everything that is named."""
        self.complete = False
        self.find(file, rule, message, pointer)

    def cut_finding(self, fault: CutFinding | None, file: str) -> None:
        if fault is not None:
            self.broken(file, fault.rule, fault.message, fault.pointer)

    def cut(self, index: CommittedCheckpointIndex) -> None:
        """Audit one cut's manifests, and take down what they say about objects."""
        self.summary.cuts += 1
        binding = self.bind(index)
        for manifest in binding.manifests:
            file = manifest_path((manifest.participant_id, index.checkpoint_id))
            self.live.add((manifest.participant_id, index.checkpoint_id))
            self.live.update(
                (reference.chunk.participant_id, reference.chunk.checkpoint_id)
                for reference in manifest.referenced_chunks
            )
            self.pending.claim(manifest, file)

    def bind(self, index: CommittedCheckpointIndex) -> Binding:
        """Read and bind the manifests of a cut; only sound ones stay in the binding."""
        binding, sound = Binding(index), []
        for reference in index.participants:
            key = (reference.participant_id, index.checkpoint_id)
            file = manifest_path(key)
            self.known_manifests.add(key)
            size = self.inventory.manifests.get(key)
            if size is None:
                message = f"named by {index_path(index_key_of(index))}"
                self.broken(file, registry.MANIFEST_MISSING, message)
                continue
            if size > MAX_CHECKPOINT_MANIFEST_BYTES:
                message = f"it has {size} bytes, at most {MAX_CHECKPOINT_MANIFEST_BYTES} are read"
                self.broken(file, registry.MANIFEST_SIZE, message)
                continue
            self.summary.manifests += 1
            fault = next(binding.add(reference, self.read(file)), None)
            if fault is None:
                sound.append(binding.manifests[-1])
            elif fault.rule == MANIFEST.id:
                self.complete = False
                for broken in validate(binding.manifests[-1], index.vnode_count):
                    self.find(file, broken.rule, broken.message, broken.pointer)
            else:
                self.cut_finding(fault, file)
        if len(sound) == len(index.participants):
            fault = next(binding.finish(), None)
            if fault is not None and fault.participant is not None:
                self.cut_finding(fault, manifest_path((fault.participant, index.checkpoint_id)))
            else:
                self.cut_finding(fault, index_path(index_key_of(index)))
        binding.manifests = sound
        return binding

    def object(self, key: ChunkKey, claims: ObjectClaims) -> None:
        self.findings += verify(self.root, self.inventory, key, claims, self.advance)
        size = self.inventory.objects.get(key, 0)
        self.summary.objects += 1
        self.summary.object_bytes += size
        if claims.cuts > 1:
            self.summary.shared_bytes += size

    # --- what is on its way out --------------------------------------------------------------

    def retire(
        self,
        state: CheckpointRetentionState,
        cursor: records.CheckpointRetentionCursor,
        protected: CommittedCheckpointIndex,
    ) -> None:
        """Audit the metadata of what is being retired, and of what will be retired next."""
        assert self.deployment is not None
        file = retention_head(self.deployment)
        behind = protected.predecessor
        if behind is None or behind.epoch < cursor.current.epoch:
            message = f"the protected cut's predecessor is {behind and behind.epoch}"
            self.broken(file, registry.RETENTION_CURSOR, message, "/state/cursor/current")
            return
        current = _From(file, "/state/cursor/current")
        if state.phase is Phase.DELETE_DATA or self.still_there(cursor.current):
            index = self.retiring_cut(cursor.current, current, state.phase)
            if index is not None and index.predecessor != cursor.next:
                message = f"the predecessor of {cursor.current.epoch} is {index.predecessor}"
                self.broken(file, registry.RETENTION_CURSOR, message, "/state/cursor/next")
        reference, named = cursor.next, _From(file, "/state/cursor/next")
        while reference is not None and reference != cursor.stop_before:
            index = self.retiring_cut(reference, named, Phase.DELETE_DATA)
            if index is None:
                return
            named = _From(index_path(index_key(reference)), "/predecessor")
            reference = index.predecessor

    def still_there(self, reference: CommittedCheckpointRef) -> bool:
        """Whether the index that is being deleted is there; it goes after the manifests."""
        if index_key(reference) in self.inventory.indexes:
            return True
        for key in self.inventory.manifests:
            if key[1] == reference.checkpoint_id:
                self.known_manifests.add(key)
                message = f"{index_path(index_key(reference))} has gone already"
                self.find(manifest_path(key), registry.RETENTION_METADATA, message)
        return False

    def retiring_cut(
        self, reference: CommittedCheckpointRef, named: _From, phase: Phase
    ) -> CommittedCheckpointIndex | None:
        """Audit index and manifests of a cut whose data and, last, manifests may be gone."""
        index = self.index(reference, named)
        if index is None:
            return None
        self.retiring_indexes.add(index_key(reference))
        if phase is Phase.DELETE_METADATA:
            gone = [
                entry
                for entry in index.participants
                if (entry.participant_id, index.checkpoint_id) not in self.inventory.manifests
            ]
            if gone:
                keys = {(entry.participant_id, index.checkpoint_id) for entry in index.participants}
                self.known_manifests |= keys
                self.retiring |= keys
                return index
        for manifest in self.bind(index).manifests:
            self.retiring.add((manifest.participant_id, index.checkpoint_id))
            self.retiring.update(
                (older.chunk.participant_id, older.chunk.checkpoint_id)
                for older in manifest.referenced_chunks
            )
        return index

    # --- what nothing names ------------------------------------------------------------------

    def leftovers(self) -> None:
        """Say of every file that no audited cut names why it may be there, or that it may not."""
        assert self.head is not None
        terminal, active = self.head.latest_terminal, self.head.active_artifacts
        newest = 0 if terminal is None else terminal.epoch
        attempt = None if active is None else active.attempt.checkpoint_id
        stale: set[int] = set()
        for file, size, checkpoint_id, fate in self.fates(attempt):
            if fate == "retiring":
                self.summary.retiring_bytes += size
            elif checkpoint_id == attempt:
                self.summary.attempt_bytes += size
            elif fate == "sealed":
                self.summary.sealed_bytes += size
            elif checkpoint_id > newest:
                stale.add(checkpoint_id)
            elif fate == "unnamed":
                self.summary.unreachable_bytes += size
                self.find(file, registry.STORE_UNREACHABLE, f"its {size} bytes are not named")
        if stale:
            shown = ", ".join(map(str, sorted(stale)[:5]))
            self.find(
                decision_head(self.head.deployment_id),
                registry.DECISIONS_STALE,
                f"it knows attempts up to {max(newest, attempt or 0)}, there are files of {shown}",
                "/latest_terminal",
            )

    def fates(self, attempt: int | None) -> Iterator[tuple[str, int, int, str]]:
        """Path, size, checkpoint id and fate of every file that no live cut names."""
        sealed: set[ChunkKey] = set()
        for key, size in sorted(self.inventory.manifests.items()):
            if key in self.live:
                continue
            fate = "unnamed"
            if key in self.known_manifests:
                fate = "retiring"
            elif key[1] != attempt and self.sealed(key, manifest_path(key), size):
                fate = "sealed"
                sealed.add(key)
            yield manifest_path(key), size, key[1], fate
        for key, size in sorted(self.inventory.objects.items()):
            if key in self.live:
                continue
            fate = "unnamed"
            if key in self.retiring:
                fate = "retiring"
            elif key in sealed and self.sealed(key, node_data_path(key), size):
                fate = "sealed"
            yield node_data_path(key), size, key[1], fate
        for index, size in sorted(self.inventory.indexes.items()):
            if index in self.retiring_indexes:
                yield index_path(index), size, index[1], "retiring"
            elif index not in self.known_indexes:
                sealed_index = index[1] != attempt and self.sealed_index(index, size)
                yield index_path(index), size, index[1], "sealed" if sealed_index else "unnamed"

    def sealed(self, key: ChunkKey, file: str, size: int) -> bool:
        """Whether a seal stands where a manifest or node data was; a wrong one is reported."""
        if size > records.MAX_ABORT_SEAL_BYTES:
            return False
        data = self.read(file)
        try:
            seal = records.decode_record(records.CheckpointArtifactAbortSeal, data)
        except DecodeError:
            return False
        defect = records.abort_seal_defect(seal, StateChunkId(*key), data)
        if defect is not None:
            self.find(file, registry.SEAL_INVALID, defect[1], defect[0])
        return True

    def sealed_index(self, key: IndexKey, size: int) -> bool:
        """Whether a seal stands where an index was; a wrong one is reported."""
        if size > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
            return False
        defect = self.index_seal_defect(key, self.read(index_path(key)))
        if defect is not None and defect[1]:
            self.find(index_path(key), registry.SEAL_INVALID, defect[1], defect[0])
        return defect is None or bool(defect[1])

    def index_seal_defect(self, key: IndexKey, data: bytes) -> Place | None:
        """What is wrong with the seal of an index; with an empty message where it is none."""
        try:
            seal = records.decode_record(records.AbortedCommittedCheckpointSeal, data)
        except DecodeError:
            return "", ""
        if seal.version != records.ABORTED_COMMITTED_CHECKPOINT_SEAL_VERSION:
            return "/version", f"version is {seal.version}"
        if self.deployment not in (None, seal.deployment_id):
            return "/deployment_id", f"it is {seal.deployment_id!r}"
        if index_key(seal.candidate) != key:
            return "/candidate", "it is another index than the path's"
        return None if canonical_json_bytes(seal) == data else ("", "it is not canonical")


def index_key_of(index: CommittedCheckpointIndex) -> IndexKey:
    """What a canonical *index* says of its path."""
    return index_key(reference_of(index, encode_index(index)))


def _head_defects(head: CheckpointDecisionHead, deployment: str) -> Iterator[tuple[str, str, str]]:
    """Rule, pointer and message of what is wrong with a decision head by itself."""
    if head.version != records.CHECKPOINT_DECISION_HEAD_VERSION:
        message = f"version is {head.version}, not {records.CHECKPOINT_DECISION_HEAD_VERSION}"
        yield registry.DECISIONS_VERSION, "/version", message
    if head.deployment_id != deployment or not is_canonical_uuid(deployment):
        message = f"it is {head.deployment_id!r}, the path's is {deployment!r}"
        yield registry.DECISIONS_DEPLOYMENT, "/deployment_id", message
    for field in ("latest_terminal", "latest_commit"):
        outcome = getattr(head, field)
        defect = None if outcome is None else records.outcome_defect(outcome, deployment)
        if defect is not None:
            yield registry.DECISIONS_OUTCOME, f"/{field}{defect[0]}", defect[1]
    defect = records.commit_defect(head)
    if defect is not None:
        yield registry.DECISIONS_COMMIT, *defect
    defect = records.inventory_defect(head)
    if defect is not None:
        yield registry.DECISIONS_ARTIFACTS, f"/active_artifacts{defect[0]}", defect[1]
