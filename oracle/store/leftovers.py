"""The files that no cut needs: why each may be there, or that it may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from oracle.store import registry
from oracle.store.chain import Chain
from oracle.store.layout import (
    ChunkKey,
    decision_head,
    index_path,
    manifest_path,
    node_data_path,
)
from oracle.store.reader import Reader
from oracle.store.records import CheckpointDecisionHead
from oracle.store.seals import Seals

MOST_SHOWN = 5
"""Of newer checkpoints, so many are named in a finding."""


class Fate(Enum):
    """Why a file is there that no cut needs."""

    RETIRING = "on its way out by the retention state"
    ATTEMPT = "of the attempt that is under way"
    SEALED = "a seal of an aborted attempt"
    UNNAMED = "not named by anything"


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file that no cut needs, with its size in bytes and the checkpoint of its path."""

    file: str
    size: int
    checkpoint_id: int
    fate: Fate


def sort_leftovers(reader: Reader, chain: Chain, head: CheckpointDecisionHead) -> None:
    """Enter every file that *chain* does not need into the summary, or as a finding."""
    summary, terminal = reader.summary, head.latest_terminal
    newest = 0 if terminal is None else terminal.epoch
    newer: set[int] = set()
    for leftover in _leftovers(reader, chain, head):
        match leftover.fate:
            case Fate.RETIRING:
                summary.retiring_bytes += leftover.size
            case Fate.ATTEMPT:
                summary.attempt_bytes += leftover.size
            case _ if leftover.checkpoint_id > newest:
                newer.add(leftover.checkpoint_id)
            case Fate.SEALED:
                summary.sealed_bytes += leftover.size
            case Fate.UNNAMED:
                summary.unreachable_bytes += leftover.size
                message = f"its {leftover.size} bytes are not named by anything"
                reader.find(leftover.file, registry.STORE_UNREACHABLE, message)
    if newer:
        shown = ", ".join(map(str, sorted(newer)[:MOST_SHOWN]))
        reader.find(
            decision_head(head.deployment_id),
            registry.DECISIONS_STALE,
            f"the last attempt that ended is {newest}, there are files of {shown}",
            "/latest_terminal",
        )


def _leftovers(reader: Reader, chain: Chain, head: CheckpointDecisionHead) -> Iterator[Leftover]:
    inventory, active = reader.inventory, head.active_artifacts
    attempt = None if active is None else active.attempt.checkpoint_id
    seals, sealed = Seals(reader, head.deployment_id), set[ChunkKey]()
    for key, size in sorted(inventory.manifests.items()):
        fate, file = Fate.UNNAMED, manifest_path(key)
        if key in chain.known_manifests:
            if key not in chain.retiring_manifests:
                continue
            fate = Fate.RETIRING
        elif key[1] == attempt:
            fate = Fate.ATTEMPT
        elif seals.is_artifact(key, file, size):
            fate = Fate.SEALED
            sealed.add(key)
        yield Leftover(file, size, key[1], fate)
    for key, size in sorted(inventory.objects.items()):
        fate, file = Fate.UNNAMED, node_data_path(key)
        if key in chain.live_objects:
            continue
        if key in chain.retiring_objects:
            fate = Fate.RETIRING
        elif key[1] == attempt:
            fate = Fate.ATTEMPT
        elif key in sealed and seals.is_artifact(key, file, size):
            fate = Fate.SEALED
        yield Leftover(file, size, key[1], fate)
    for index, size in sorted(inventory.indexes.items()):
        fate = Fate.UNNAMED
        if index in chain.known_indexes:
            if index not in chain.retiring_indexes:
                continue
            fate = Fate.RETIRING
        elif index[1] == attempt:
            fate = Fate.ATTEMPT
        elif seals.is_index(index, size):
            fate = Fate.SEALED
        yield Leftover(index_path(index), size, index[1], fate)
