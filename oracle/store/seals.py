"""Seals: what stands for the files of an attempt once it is aborted."""

from __future__ import annotations

from oracle.cuts.constants import MAX_COMMITTED_CHECKPOINT_INDEX_BYTES
from oracle.encoding import canonical_json_bytes
from oracle.errors import DecodeError
from oracle.model import StateChunkId
from oracle.registry import Place
from oracle.store import records, registry
from oracle.store.layout import ChunkKey, IndexKey, index_key, index_path
from oracle.store.reader import Reader


class Seals:
    """Tells whether a file is a seal; a seal that is wrong is one, and is reported."""

    def __init__(self, reader: Reader, deployment: str | None) -> None:
        self._reader = reader
        self._deployment = deployment

    def is_artifact(self, key: ChunkKey, file: str, size: int) -> bool:
        """Whether *file* is a seal in the place of a manifest or of node data."""
        if size > records.MAX_ABORT_SEAL_BYTES:
            return False
        data = self._reader.read(file)
        try:
            seal = records.decode_record(records.CheckpointArtifactAbortSeal, data)
        except DecodeError:
            return False
        self._report(file, records.abort_seal_defect(seal, StateChunkId(*key), data))
        return True

    def is_index(self, key: IndexKey, size: int) -> bool:
        """Whether a seal stands in the place of an index."""
        if size > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
            return False
        data = self._reader.read(index_path(key))
        try:
            seal = records.decode_record(records.AbortedCommittedCheckpointSeal, data)
        except DecodeError:
            return False
        self._report(index_path(key), self._index_defect(seal, key, data))
        return True

    def _report(self, file: str, defect: Place | None) -> None:
        if defect is not None:
            self._reader.find(file, registry.SEAL_INVALID, defect[1], defect[0])

    def _index_defect(
        self, seal: records.AbortedCommittedCheckpointSeal, key: IndexKey, data: bytes
    ) -> Place | None:
        if seal.version != records.ABORTED_COMMITTED_CHECKPOINT_SEAL_VERSION:
            return "/version", f"version is {seal.version}"
        if self._deployment not in (None, seal.deployment_id):
            return "/deployment_id", f"it is {seal.deployment_id!r}"
        if index_key(seal.candidate) != key:
            return "/candidate", "it is another index than the path's"
        return None if canonical_json_bytes(seal) == data else ("", "it is not canonical")
