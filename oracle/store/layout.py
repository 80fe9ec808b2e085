"""What lies where below the root of a store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oracle.cuts.model import CommittedCheckpointRef

IDENTITY: Final = "checkpoint-deployment/identity.json"
DECISIONS: Final = "checkpoint-decisions"
RETENTION: Final = "checkpoint-retention"
COMMITTED: Final = "committed-checkpoints"
NODES: Final = "nodes"
ROOMS: Final = ("checkpoint-deployment", DECISIONS, RETENTION, COMMITTED, NODES)
"""The directories of a store, as far as they are this contract's."""

MANIFEST: Final = "manifest.json"
NODE_DATA: Final = "node-data.bin"

TEMPORARY_PREFIX: Final = ".laminardb-object#"
"""How a file starts that the engine was writing when it was killed; nothing reads it."""

_DEPLOYMENT = re.compile(r"deployment=(.+)")
_PARTICIPANT = re.compile("0|[1-9][0-9]{0,19}")
_NUMBER = re.compile("[0-9]{20}")
_INDEX = re.compile("epoch=([0-9]{20})/checkpoint=([0-9]{20})/sha256=([0-9a-f]{64})")

ChunkKey = tuple[int, int]
"""Participant and checkpoint id: the order of the two in :class:`oracle.StateChunkId`."""

IndexKey = tuple[int, int, str]
"""Epoch, checkpoint id and SHA-256 text of an index's path."""


class StoreUnavailable(Exception):
    """The store cannot be audited; the message says what to do next."""


def decision_head(deployment_id: str) -> str:
    """Path of a deployment's decision head, relative to the root, as all paths here."""
    return f"{DECISIONS}/deployment={deployment_id}/head"


def retention_head(deployment_id: str) -> str:
    """Path of a deployment's retention head."""
    return f"{RETENTION}/deployment={deployment_id}/head"


def index_path(key: IndexKey) -> str:
    """Path of an index."""
    epoch, checkpoint_id, sha256 = key
    return f"{COMMITTED}/epoch={epoch:020}/checkpoint={checkpoint_id:020}/sha256={sha256}"


def index_key(reference: CommittedCheckpointRef) -> IndexKey:
    """What *reference* says of an index's path."""
    return reference.epoch, reference.checkpoint_id, reference.sha256


def manifest_path(key: ChunkKey) -> str:
    """Path of a participant's manifest."""
    return f"{NODES}/{key[0]}/checkpoints/{key[1]:020}/{MANIFEST}"


def node_data_path(key: ChunkKey) -> str:
    """Path of a node data object."""
    return f"{NODES}/{key[0]}/checkpoints/{key[1]:020}/{NODE_DATA}"


@dataclass(slots=True)
class Inventory:
    """Every file of a store with its size in bytes, from one walk over its directories.

    ``temporary`` and ``other`` are sizes: of files left behind by a kill, and of those that are
    not this contract's, of which only those beside its own are seen.
    """

    manifests: dict[ChunkKey, int] = field(default_factory=dict)
    objects: dict[ChunkKey, int] = field(default_factory=dict)
    indexes: dict[IndexKey, int] = field(default_factory=dict)
    decision_deployments: list[str] = field(default_factory=list)
    retention_deployments: list[str] = field(default_factory=list)
    temporary: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)

    def enter(self, path: str, size: int) -> None:
        """Enter the file at *path*, which is relative to the root."""
        room, _, below = path.partition("/")
        name = path.rpartition("/")[2]
        if name.startswith(TEMPORARY_PREFIX):
            self.temporary.append(size)
        elif room == NODES and (key := _chunk(below)) is not None:
            (self.manifests if name == MANIFEST else self.objects)[key] = size
        elif room == COMMITTED and (found := _INDEX.fullmatch(below)):
            self.indexes[int(found[1]), int(found[2]), found[3]] = size
        elif room in (DECISIONS, RETENTION) and (deployment := _deployment(below)):
            deployments = {
                DECISIONS: self.decision_deployments,
                RETENTION: self.retention_deployments,
            }
            deployments[room].append(deployment)
        elif path != IDENTITY:
            self.other.append(size)

    def total_bytes(self) -> int:
        """Bytes of indexes, manifests and node data objects."""
        return sum(sum(sizes.values()) for sizes in (self.manifests, self.objects, self.indexes))

    def greatest_id(self) -> int:
        """The greatest checkpoint id that a path names, or 0."""
        nodes = max((key[1] for each in (self.manifests, self.objects) for key in each), default=0)
        return max([nodes, *(key[1] for key in self.indexes)])


def _chunk(below: str) -> ChunkKey | None:
    match below.split("/"):
        case [participant, "checkpoints", number, name] if name in (MANIFEST, NODE_DATA):
            if _PARTICIPANT.fullmatch(participant) and _NUMBER.fullmatch(number):
                return int(participant), int(number)
    return None


def _deployment(below: str) -> str | None:
    match below.split("/"):
        case [directory, "head"]:
            found = _DEPLOYMENT.fullmatch(directory)
            return None if found is None else found[1]
    return None


def take_inventory(root: Path) -> Inventory:
    """Walk over the store at *root*.

    Raises :class:`StoreUnavailable` when there is none, and :class:`OSError` when a directory
    cannot be read.
    """
    if not root.is_dir():
        raise StoreUnavailable(f"{root} is not a directory; give the root of a checkpoint store")
    inventory = Inventory()
    rooms = [room for room in ROOMS if (root / room).is_dir()]
    if not rooms:
        raise StoreUnavailable(
            f"{root} is no checkpoint store, it has none of {', '.join(ROOMS)}; "
            "give the directory that holds them"
        )
    for room in rooms:
        for path, size in _files(root, room):
            inventory.enter(path, size)
    return inventory


def _files(root: Path, directory: str) -> Iterator[tuple[str, int]]:
    pending = [directory]
    while pending:
        directory = pending.pop()
        with os.scandir(root / directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                elif entry.is_file():
                    yield path, entry.stat().st_size
