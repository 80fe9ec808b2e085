"""Stores for tests: captured ones to damage, and made ones of any length.

Whatever is edited here is committed again, so that only the damage itself is wrong.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from corpora import ROOT
from oracle import checkpoint_artifact_intent_sha256, checkpoint_descriptor_sha256
from oracle.store.layout import TEMPORARY_PREFIX

STORES = ROOT / "stores"
GEN_COUNT = "01a232aa-58ff-74df-988e-ba07fc2e0bc2"
TRADES = "01a232aa-5e34-773d-9600-2d7347bcf73a"
MADE = "01a232aa-0000-7000-8000-000000000001"
PIPELINE = {"canonical_version": 7, "sha256": "5" * 64}
VNODES = 4
IDENTITY = "checkpoint-deployment/identity.json"

Document = dict[str, Any]


def canonical(document: Document) -> bytes:
    """*document* as manifests, indexes and seals are written."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def declared(document: Document) -> bytes:
    """*document* as control records are written: in the order of the dictionary.

    But references, which may come from a canonical document, in the order of their fields.
    """
    return json.dumps(_ordered(document), separators=(",", ":"), ensure_ascii=False).encode()


def _ordered(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    names = _REFERENCE if value.keys() == {*_REFERENCE} else value
    return {name: _ordered(value[name]) for name in names}


_REFERENCE = ("epoch", "checkpoint_id", "sha256", "len")


def digest(data: bytes) -> str:
    """SHA-256 text."""
    return sha256(data).hexdigest()


class Store:
    """A store on disk that can be edited; paths are relative to its root."""

    def __init__(self, root: Path, deployment: str) -> None:
        """Take the store at *root*, which exists or will."""
        self.root = root
        self.deployment = deployment
        self.decisions = f"checkpoint-decisions/deployment={deployment}/head"
        self.retention = f"checkpoint-retention/deployment={deployment}/head"

    def read(self, file: str) -> bytes:
        """The bytes of *file*."""
        return (self.root / file).read_bytes()

    def load(self, file: str) -> Document:
        """The JSON document in *file*."""
        document: Document = json.loads(self.read(file))
        return document

    def write(self, file: str, data: bytes) -> None:
        """Write *file*, and the directories above it."""
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_bytes(data)

    def lose(self, file: str) -> None:
        """Delete *file*."""
        (self.root / file).unlink()

    def flip(self, file: str, offset: int = -1) -> None:
        """Flip the lowest bit of one byte, counted from the end where negative."""
        data = bytearray(self.read(file))
        data[offset] ^= 1
        self.write(file, bytes(data))

    def cut(self, file: str, count: int = 1) -> None:
        """Truncate *file* by *count* bytes."""
        self.write(file, self.read(file)[:-count])

    def swap(self, one: str, other: str) -> None:
        """Exchange the contents of two files."""
        data = self.read(one)
        self.write(one, self.read(other))
        self.write(other, data)

    def edit(self, file: str, change: Callable[[Document], object]) -> None:
        """Change a control record."""
        document = self.load(file)
        change(document)
        self.write(file, declared(document))

    def files(self) -> list[str]:
        """Every file, sorted."""
        found = (file.relative_to(self.root) for file in self.root.rglob("*") if file.is_file())
        return sorted(map(str, found))

    # --- cuts --------------------------------------------------------------------------------

    @staticmethod
    def manifest(checkpoint: int) -> str:
        """Path of node 1's manifest."""
        return f"nodes/1/checkpoints/{checkpoint:020}/manifest.json"

    @staticmethod
    def data(checkpoint: int) -> str:
        """Path of node 1's node data."""
        return f"nodes/1/checkpoints/{checkpoint:020}/node-data.bin"

    @staticmethod
    def index_of(reference: Document) -> str:
        """Path of the index that *reference* names."""
        epoch, checkpoint = reference["epoch"], reference["checkpoint_id"]
        return (
            f"committed-checkpoints/epoch={epoch:020}/checkpoint={checkpoint:020}"
            f"/sha256={reference['sha256']}"
        )

    @property
    def latest(self) -> Document:
        """Reference of the last committed index."""
        reference: Document = self.load(self.decisions)["latest_commit"]["committed_checkpoint"]
        return reference

    @property
    def index(self) -> str:
        """Path of the last committed index."""
        return self.index_of(self.latest)

    def write_index(self, data: bytes, attempt: int | None = None) -> Document:
        """Write an index where its bytes belong; gives its reference."""
        epoch = json.loads(data)["epoch"] if attempt is None else attempt
        reference = {
            "epoch": epoch,
            "checkpoint_id": epoch,
            "sha256": digest(data),
            "len": len(data),
        }
        self.write(self.index_of(reference), data)
        return reference

    def decide(self, reference: Document | None, **others: Any) -> None:
        """Write the decision head: *reference* is committed, and *others* of its fields."""
        commit = None if reference is None else self.outcome(reference["epoch"], reference)
        head: Document = {
            "version": 2,
            "deployment_id": self.deployment,
            "latest_terminal": commit,
            "latest_commit": commit,
            "active_artifacts": None,
        }
        self.write(self.decisions, declared(head | others))

    def outcome(self, epoch: int, reference: Document | None) -> Document:
        """A local outcome: a commit of *reference*, or an abort."""
        return {
            "version": 3,
            "scope": "local",
            "epoch": epoch,
            "checkpoint_id": epoch,
            "deployment_id": self.deployment,
            "assignment_fence": None,
            "leader_proof": None,
            "committed_checkpoint": reference,
            "verdict": "abort" if reference is None else "commit",
        }

    def attempt(self, epoch: int) -> Document:
        """An attempt under way."""
        return {
            "deployment_id": self.deployment,
            "pipeline_identity": PIPELINE,
            "attempt": {"epoch": epoch, "checkpoint_id": epoch},
            "assignment_fence": None,
        }

    def keep(self, state: Document) -> None:
        """Write the retention head."""
        head = {"version": 1, "deployment_id": self.deployment, "state": state}
        self.write(self.retention, declared(head))

    def recommit(
        self,
        *,
        index: Callable[[Document], object] = lambda _: None,
        manifest: Callable[[Document], object] = lambda _: None,
    ) -> None:
        """Change the last cut's manifest and index, and commit them in place of the old ones."""
        file = self.manifest(self.latest["checkpoint_id"])
        document, committed = self.load(file), self.load(self.index)
        self.lose(self.index)
        manifest(document)
        data = canonical(document)
        self.write(file, data)
        committed["participants"][0] |= reference_of(document, data)
        index(committed)
        self.decide(self.write_index(canonical(committed)))


def reference_of(manifest: Document, data: bytes) -> Document:
    """An index's entry for a participant."""
    return {
        "participant_id": manifest["participant_id"],
        "manifest_len": len(data),
        "manifest_sha256": digest(data),
        "node_data_len": manifest["node_data"]["object_length"],
        "node_data_sha256": manifest["node_data"]["sha256"],
    }


def captured(name: str, root: Path) -> Store:
    """A copy at *root* of a store that the engine wrote: ``gen_count`` or ``trades``."""
    shutil.copytree(STORES / name, root)
    return Store(root, {"gen_count": GEN_COUNT, "trades": TRADES}[name])


def made(root: Path, checkpoints: int = 3, frame_bytes: int = 32) -> Store:
    """A store with a chain of cuts at *root*, all of them retained.

    Each checkpoint writes two of four vnodes and keeps the others of the one before, so that
    every object is used by two cuts; its sink has an intent and a payload.
    """
    store = Store(root, MADE)
    identity = {
        "version": 3,
        "id": MADE,
        "allocator_mode": "local_single_writer",
        "checkpoint_id": 65_536,
        "allocation_id": MADE,
    }
    store.write(IDENTITY, declared(identity))
    frames: dict[int, Document] = {}
    objects: dict[int, Document] = {}
    predecessor: Document | None = None
    for checkpoint in range(1, checkpoints + 1):
        written = range(VNODES) if checkpoint == 1 else [(2 * checkpoint + i) % 4 for i in (0, 1)]
        manifest = _make_node(store, checkpoint, [*written], frames, objects, frame_bytes)
        data = canonical(manifest)
        store.write(store.manifest(checkpoint), data)
        predecessor = store.write_index(canonical(_make_index(manifest, data, predecessor)))
    store.decide(predecessor)
    return store


def _chunk(checkpoint: int) -> Document:
    return {"participant_id": 1, "checkpoint_id": checkpoint}


def _make_node(
    store: Store,
    checkpoint: int,
    written: list[int],
    frames: dict[int, Document],
    objects: dict[int, Document],
    frame_bytes: int,
) -> Document:
    data = b""
    for vnode in sorted(written):
        seed = b"%d/%d " % (checkpoint, vnode)
        payload = (seed * (frame_bytes // len(seed) + 1))[:frame_bytes]
        frames[vnode] = {
            "key": {"kind": "vnode", "operator_id": "sum", "vnode": vnode},
            "chunk": _chunk(checkpoint),
            "range": {"offset": len(data), "length": len(payload)},
            "sha256": digest(payload),
        }
        data += payload
    intent, sink = b"intent %d" % checkpoint, b"sink %d" % checkpoint
    intents = [_sink(len(data), intent, checkpoint_artifact_intent_sha256(intent))]
    data += intent
    sinks = [_sink(len(data), sink, checkpoint_descriptor_sha256(sink))]
    data += sink
    store.write(store.data(checkpoint), data)
    objects[checkpoint] = {"object_length": len(data), "sha256": digest(data)}
    used = [frame["chunk"]["checkpoint_id"] for frame in frames.values()]
    return {
        "version": 10,
        "checkpoint_id": checkpoint,
        "epoch": checkpoint,
        "timestamp_ms": 1_700_000_000_000 + checkpoint,
        "participant_id": 1,
        "source_offsets": {
            "orders": {
                "offsets": {"seq": str(checkpoint)},
                "metadata": {},
                "input_channels": None,
                "source_assignment_version": None,
            }
        },
        "source_names": ["orders"],
        "sink_names": ["out"],
        "pipeline_identity": PIPELINE,
        "deployment_id": MADE,
        "partitioning_abi_version": 2,
        "vnode_count": VNODES,
        "assignment_fence": None,
        "reassignment_portable": False,
        "owned_vnodes": [*range(VNODES)],
        "checkpoint_watermark": checkpoint,
        "channel_progress": [
            {
                "participant_id": 1,
                "source_name": "orders",
                "input_channel": [0],
                "watermark": checkpoint,
                "idle": False,
            }
        ],
        "node_data": {"chunk": _chunk(checkpoint), **objects[checkpoint]},
        "state_frames": [frames[vnode] for vnode in sorted(frames)],
        "prepared_sinks": sinks,
        "sink_artifact_intents": intents,
        "referenced_chunks": [
            {"chunk": _chunk(older), **objects[older], "ref_count": used.count(older)}
            for older in sorted({*used} - {checkpoint})
        ],
    }


def _sink(offset: int, payload: bytes, sha256_text: str) -> Document:
    return {
        "sink_name": "out",
        "format_version": 1,
        "payload": {"offset": offset, "length": len(payload)},
        "sha256": sha256_text,
    }


def _make_index(manifest: Document, data: bytes, predecessor: Document | None) -> Document:
    shared = (
        "deployment_id",
        "pipeline_identity",
        "epoch",
        "checkpoint_id",
        "vnode_count",
        "assignment_fence",
        "reassignment_portable",
        "source_names",
        "source_offsets",
        "channel_progress",
        "checkpoint_watermark",
    )
    return {name: manifest[name] for name in shared} | {
        "version": 4,
        "scope": "local",
        "predecessor": predecessor,
        "participants": [reference_of(manifest, data)],
        "source_watermarks": {"orders": manifest["checkpoint_watermark"]},
    }


def seal(store: Store, checkpoint: int, **fields: Any) -> None:
    """Leave behind what an aborted attempt leaves: a seal for the manifest and for the data."""
    sealed = {
        "version": 3,
        "artifact_identity_sha256": "a" * 64,
        "chunk": _chunk(checkpoint),
        "original_manifest": None,
    }
    store.write(store.data(checkpoint), canonical(sealed))
    store.write(
        store.manifest(checkpoint), canonical(sealed | {"sink_cleanup_complete": True} | fields)
    )


def seal_index(store: Store, checkpoint: int) -> str:
    """Leave the seal of an aborted index behind; gives its path."""
    candidate = {"epoch": checkpoint, "checkpoint_id": checkpoint, "sha256": "c" * 64, "len": 9}
    sealed = {"version": 1, "deployment_id": store.deployment, "candidate": candidate}
    store.write(store.index_of(candidate), canonical(sealed))
    return store.index_of(candidate)


def unfinished_write(store: Store, checkpoint: int, size: int) -> None:
    """Leave the file behind that a kill found the engine writing."""
    directory = store.data(checkpoint).rpartition("/")[0]
    store.write(f"{directory}/{TEMPORARY_PREFIX}0f", bytes(size))
