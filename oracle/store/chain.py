"""The chain of cuts: from the last commit to the protected cut, and what is being retired."""

from __future__ import annotations

from oracle.constants import MAX_CHECKPOINT_MANIFEST_BYTES
from oracle.cuts.binding import MANIFEST, Binding
from oracle.cuts.constants import MAX_COMMITTED_CHECKPOINT_INDEX_BYTES
from oracle.cuts.continuity import validate_predecessor_index
from oracle.cuts.index import decode_index, encode_index, reference_of, validate_index
from oracle.cuts.model import CommittedCheckpointIndex, CommittedCheckpointRef
from oracle.cuts.registry import CutFinding
from oracle.digests import checkpoint_sha256
from oracle.errors import DecodeError
from oracle.model import CheckpointManifest
from oracle.store import registry
from oracle.store.control import Control
from oracle.store.layout import (
    ChunkKey,
    IndexKey,
    decision_head,
    index_key,
    index_path,
    manifest_path,
    retention_head,
)
from oracle.store.objects import ObjectClaims, PendingObjects, verify
from oracle.store.reader import Named, Reader
from oracle.store.records import CheckpointRetentionCursor, Phase
from oracle.store.seals import Seals
from oracle.subject import chunk_key

Index = CommittedCheckpointIndex


class Chain:
    """Every cut that the store must still have, and what those that are retired may still have.

    ``live_objects`` are needed, ``retiring_objects`` not by any cut that stays; of manifests and
    indexes, ``known`` are all that a cut or the retention state names, ``retiring`` those of them
    that are on their way out.
    """

    def __init__(self, reader: Reader, control: Control) -> None:
        """Audit the cuts of *reader*'s store."""
        self._reader = reader
        self._control = control
        self._pending = PendingObjects()
        self.live_objects: set[ChunkKey] = set()
        self.retiring_objects: set[ChunkKey] = set()
        self.known_manifests: set[ChunkKey] = set()
        self.retiring_manifests: set[ChunkKey] = set()
        self.known_indexes: set[IndexKey] = set()
        self.retiring_indexes: set[IndexKey] = set()
        self._follow()

    def _follow(self) -> None:
        reader, head, retention = self._reader, self._control.head, self._control.retention
        start = self._start()
        protected = None if retention is None else retention.keeps
        if head is not None and protected is not None:
            commit = 0 if start is None else start[0].epoch
            if protected.epoch > commit:
                message = f"retention protects {protected.epoch}, latest_commit is {commit}"
                file = decision_head(head.deployment_id)
                reader.broken(file, registry.DECISIONS_STALE, message, "/latest_commit")
                return
        if start is None:
            return
        reader.summary.latest_commit = start[0].checkpoint_id
        # With a retention head that cannot be read, nobody knows how far the chain goes.
        last = self._walk(*start, protected if self._control.retention_known else start[0])
        for key, claims in self._pending.take(0):
            self._object(key, claims)
        if last is not None and retention is not None and retention.cursor is not None:
            self._retire(retention.phase, retention.cursor, last)

    def _start(self) -> tuple[CommittedCheckpointRef, Named] | None:
        """The last commit's index; without a head, the newest that there is."""
        head = self._control.head
        if head is not None:
            commit = head.latest_commit
            if commit is None or commit.committed_checkpoint is None:
                return None
            named = Named(decision_head(head.deployment_id), "/latest_commit/committed_checkpoint")
            return commit.committed_checkpoint, named
        seals = Seals(self._reader, self._control.deployment)
        for key, size in sorted(self._reader.inventory.indexes.items(), reverse=True):
            if not seals.is_index(key, size):
                return CommittedCheckpointRef(*key, size), Named(index_path(key), "")
        return None

    def _walk(
        self,
        reference: CommittedCheckpointRef,
        named: Named,
        protected: CommittedCheckpointRef | None,
    ) -> Index | None:
        """Audit the cuts down to *protected*, or to the first there is; gives the last of them.

        Nothing when the chain ends before.
        """
        newer: Index | None = None
        following: CommittedCheckpointRef | None = reference
        while following is not None:
            reference = following
            beyond = protected is not None and reference.epoch <= protected.epoch
            if beyond and reference != protected:
                break
            if newer is not None and protected is None and self._has_gone(reference):
                self._report_retired(reference)
                return None
            index = self._index(reference, named)
            if index is None:
                return None
            if newer is None:
                self._compare_outcome(index, named)
            else:
                self._enter(validate_predecessor_index(newer, index), named.file)
            for key, claims in self._pending.take(reference.checkpoint_id):
                self._object(key, claims)
            self._cut(index)
            if beyond:
                return index
            newer, following = index, index.predecessor
            named = Named(index_path(index_key(reference)), "/predecessor")
        if protected is None:
            return newer
        self._reader.broken(
            retention_head(self._control.deployment or ""),
            registry.RETENTION_PROTECTED,
            f"the chain from latest_commit comes to {reference.epoch} without it",
            "/state",
        )
        return None

    def _has_gone(self, reference: CommittedCheckpointRef) -> bool:
        """Whether neither index nor manifests of a cut are there."""
        inventory = self._reader.inventory
        return index_key(reference) not in inventory.indexes and all(
            key[1] != reference.checkpoint_id for key in inventory.manifests
        )

    def _report_retired(self, reference: CommittedCheckpointRef) -> None:
        """Without a retention head nothing may be retired, but of a cluster that is elsewhere."""
        if self._control.head is None:
            self._reader.complete = False
            return
        file = retention_head(self._control.head.deployment_id)
        message = f"checkpoint {reference.checkpoint_id} has gone, and nothing says why"
        self._reader.broken(file, registry.RETENTION_MISSING, message)

    def _compare_outcome(self, index: Index, named: Named) -> None:
        head = self._control.head
        commit = None if head is None else head.latest_commit
        for field in () if commit is None else ("scope", "assignment_fence"):
            if getattr(commit, field) != getattr(index, field):
                pointer = f"/latest_commit/{field}"
                self._reader.find(
                    named.file, registry.DECISIONS_INDEX, "it is not the index's", pointer
                )

    # --- one cut -----------------------------------------------------------------------------

    def _index(self, reference: CommittedCheckpointRef, named: Named) -> Index | None:
        """The index that *reference* names, if it is what it should be."""
        reader, key = self._reader, index_key(reference)
        file = index_path(key)
        self.known_indexes.add(key)
        size = reader.inventory.indexes.get(key)
        if size is None:
            reader.broken(file, registry.COMMITTED_MISSING, f"named by {named}")
            return None
        if size != reference.len or size > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
            message = f"it has {size} bytes, {named} names {reference.len}"
            reader.broken(file, registry.COMMITTED_DIGEST, message)
            return None
        data = reader.read(file)
        digest = checkpoint_sha256(data)
        if digest != reference.sha256:
            message = f"its SHA-256 is {digest}, named by {named}"
            reader.broken(file, registry.COMMITTED_DIGEST, message)
            return None
        try:
            index = decode_index(data)
        except DecodeError as error:
            reader.broken(file, registry.COMMITTED_DECODE, error.message, error.pointer)
            return None
        fault = validate_index(index)
        if encode_index(index) != data:
            reader.broken(file, registry.COMMITTED_ENCODING, "its canonical encoding is another")
        elif fault is not None:
            self._enter(fault, file)
        elif reference_of(index, data) != reference:
            message = f"it is of attempt {index.epoch}"
            reader.broken(file, registry.COMMITTED_PATH, message, "/epoch")
        elif self._control.deployment not in (None, index.deployment_id):
            message = f"it is of deployment {index.deployment_id}"
            reader.broken(file, registry.COMMITTED_DEPLOYMENT, message, "/deployment_id")
        else:
            return index
        return None

    def _enter(self, fault: CutFinding | None, file: str) -> None:
        if fault is not None:
            self._reader.broken(file, fault.rule, fault.message, fault.pointer)

    def _cut(self, index: Index) -> None:
        """Audit a cut that stays: its manifests now, and its objects when their turn comes."""
        self._reader.summary.cuts += 1
        for manifest in self._bind(index):
            self.live_objects.update(_objects(manifest))
            file = manifest_path((manifest.participant_id, index.checkpoint_id))
            self._pending.claim(manifest, file)

    def _bind(self, index: Index) -> list[CheckpointManifest]:
        """The sound ones of the manifests of *index*; what is wrong with them is reported."""
        reader, binding = self._reader, Binding(index)
        sound: list[CheckpointManifest] = []
        own_file = index_path(index_key(reference_of(index, encode_index(index))))
        for reference in index.participants:
            key = (reference.participant_id, index.checkpoint_id)
            file = manifest_path(key)
            self.known_manifests.add(key)
            size = reader.inventory.manifests.get(key)
            if size is None:
                reader.broken(file, registry.MANIFEST_MISSING, f"named by {own_file}")
                continue
            if size > MAX_CHECKPOINT_MANIFEST_BYTES:
                message = f"it has {size} bytes, at most {MAX_CHECKPOINT_MANIFEST_BYTES} are read"
                reader.broken(file, registry.MANIFEST_SIZE, message)
                continue
            reader.summary.manifests += 1
            fault = next(binding.add(reference, reader.read(file)), None)
            if fault is None:
                sound.append(binding.manifests[-1])
            elif fault.rule == MANIFEST.id:
                for broken in binding.broken_rules(binding.manifests[-1]):
                    reader.broken(file, broken.rule, broken.message, broken.pointer)
            else:
                self._enter(fault, file)
        if len(sound) == len(index.participants):
            fault = next(binding.finish(), None)
            participant = None if fault is None else fault.participant
            self._enter(
                fault,
                own_file
                if participant is None
                else manifest_path((participant, index.checkpoint_id)),
            )
        return sound

    def _object(self, key: ChunkKey, claims: ObjectClaims) -> None:
        reader = self._reader
        reader.findings += verify(reader.root, reader.inventory, key, claims, reader.advance)
        size = reader.inventory.objects.get(key, 0)
        reader.summary.objects += 1
        reader.summary.object_bytes += size
        if claims.cuts > 1:
            reader.summary.shared_bytes += size

    # --- what is on its way out --------------------------------------------------------------

    def _retire(self, phase: Phase, cursor: CheckpointRetentionCursor, protected: Index) -> None:
        """Audit the metadata of the cut that is being retired, and of those that come next."""
        file = retention_head(self._control.deployment or "")
        behind = protected.predecessor
        if behind is None or behind.epoch < cursor.current.epoch:
            message = f"the protected cut's predecessor is {behind}"
            self._reader.broken(file, registry.RETENTION_CURSOR, message, "/state/cursor/current")
            return
        if phase is Phase.DELETE_DATA or self._index_remains(cursor.current):
            named = Named(file, "/state/cursor/current")
            index = self._retiring_cut(cursor.current, named, phase)
            if index is not None and index.predecessor != cursor.next:
                message = f"the predecessor of {cursor.current.epoch} is {index.predecessor}"
                self._reader.broken(file, registry.RETENTION_CURSOR, message, "/state/cursor/next")
        reference, named = cursor.next, Named(file, "/state/cursor/next")
        while reference is not None and reference != cursor.stop_before:
            index = self._retiring_cut(reference, named, Phase.DELETE_DATA)
            if index is None:
                return
            named = Named(index_path(index_key(reference)), "/predecessor")
            reference = index.predecessor

    def _index_remains(self, reference: CommittedCheckpointRef) -> bool:
        """Whether the index that is being deleted is still there; it goes after the manifests."""
        if index_key(reference) in self._reader.inventory.indexes:
            return True
        for key in self._reader.inventory.manifests:
            if key[1] == reference.checkpoint_id:
                message = f"{index_path(index_key(reference))} has gone already"
                self._reader.broken(manifest_path(key), registry.RETENTION_METADATA, message)
        return False

    def _retiring_cut(
        self, reference: CommittedCheckpointRef, named: Named, phase: Phase
    ) -> Index | None:
        """Audit index and manifests of a cut whose objects and, in the end, manifests may go."""
        index = self._index(reference, named)
        if index is None:
            return None
        self.retiring_indexes.add(index_key(reference))
        keys = {(participant, index.checkpoint_id) for participant in index.participant_ids}
        self.known_manifests |= keys
        self.retiring_manifests |= keys
        self.retiring_objects |= keys
        some_gone = not keys <= self._reader.inventory.manifests.keys()
        if not (phase is Phase.DELETE_METADATA and some_gone):
            for manifest in self._bind(index):
                self.retiring_objects.update(_objects(manifest))
        return index


def _objects(manifest: CheckpointManifest) -> set[ChunkKey]:
    """Every object that *manifest* names."""
    older = (chunk_key(reference.chunk) for reference in manifest.referenced_chunks)
    return {chunk_key(manifest.current_chunk), *older}
