"""Documents to test with: small valid manifests as plain JSON values, to be changed at will.

They are written down here by hand, field by field, so that nothing of the oracle made them.
"""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

Document = dict[str, Any]

DATA = Path(__file__).parent.parent / "data"

KEY_GROUPS = 4
SHA = "ab" * 32
OTHER_SHA = "cd" * 32
EMPTY = hashlib.sha256().hexdigest()
ABSENT_DESCRIPTOR = hashlib.sha256(b"laminardb-prepared-sink-descriptor-v1\0\0").hexdigest()
ABSENT_INTENT = hashlib.sha256(b"laminardb/checkpoint-sink-artifact-intent/v1\0\0").hexdigest()
BOOT_1 = "11111111-1111-4111-8111-111111111111"
BOOT_2 = "22222222-2222-4222-8222-222222222222"


def chunk(participant: int, checkpoint: int) -> Document:
    """A StateChunkId."""
    return {"participant_id": participant, "checkpoint_id": checkpoint}


def span(offset: int, length: int) -> Document:
    """A ByteRange."""
    return {"offset": offset, "length": length}


def whole(operator: str, offset: int, length: int, of: Document | None = None) -> Document:
    """The state frame of a whole operator, in the current object unless *of* names a chunk."""
    key = {"kind": "operator_whole", "operator_id": operator}
    return {"key": key, "chunk": of or chunk(1, 9), "range": span(offset, length), "sha256": SHA}


def vnode(
    operator: str, number: int, offset: int, length: int, of: Document | None = None
) -> Document:
    """The state frame of one vnode, in the current object unless *of* names a chunk."""
    key = {"kind": "vnode", "operator_id": operator, "vnode": number}
    return {"key": key, "chunk": of or chunk(1, 9), "range": span(offset, length), "sha256": SHA}


def reference(of: Document, length: int, count: int) -> Document:
    """A ReferencedStateChunk."""
    return {"chunk": of, "object_length": length, "sha256": SHA, "ref_count": count}


def channel(source: str, name: list[int], watermark: int | None, idle: bool = False) -> Document:
    """The progress of one input channel."""
    return {
        "participant_id": 1,
        "source_name": source,
        "input_channel": name,
        "watermark": watermark,
        "idle": idle,
    }


def sink(name: str, payload: Document | None, sha256: str) -> Document:
    """A prepared sink, or an intent."""
    return {"sink_name": name, "format_version": 1, "payload": payload, "sha256": sha256}


def connector(channels: list[list[int]] | None = None) -> Document:
    """A source's offsets."""
    return {
        "offsets": {"0": "17"},
        "metadata": {},
        "input_channels": channels,
        "source_assignment_version": None,
    }


def empty() -> Document:
    """The least valid local manifest of format v10: four vnodes, nothing in it."""
    return {
        "version": 10,
        "checkpoint_id": 9,
        "epoch": 9,
        "timestamp_ms": 1_700_000_000_000,
        "participant_id": 1,
        "source_offsets": {},
        "source_names": [],
        "sink_names": [],
        "pipeline_identity": {"canonical_version": 7, "sha256": EMPTY},
        "deployment_id": "abcdef01-2345-4678-9abc-def012345678",
        "partitioning_abi_version": 2,
        "vnode_count": 4,
        "assignment_fence": None,
        "reassignment_portable": False,
        "owned_vnodes": [0, 1, 2, 3],
        "checkpoint_watermark": None,
        "channel_progress": [],
        "node_data": {"chunk": chunk(1, 9), "object_length": 0, "sha256": EMPTY},
        "state_frames": [],
        "prepared_sinks": [],
        "referenced_chunks": [],
    }


def fence() -> Document:
    """A fence of two nodes over four vnodes."""
    return {
        "assignment_version": 5,
        "partitioning_abi_version": 2,
        "vnode_count": 4,
        "assignment_digest": [1] * 32,
        "participants": [
            {"node_id": 1, "boot_incarnation": BOOT_1},
            {"node_id": 2, "boot_incarnation": BOOT_2},
        ],
    }


def cluster() -> Document:
    """The least valid manifest of a cluster: node 1 of two, with vnodes 0 and 2."""
    return empty() | {
        "assignment_fence": fence(),
        "reassignment_portable": True,
        "owned_vnodes": [0, 2],
    }


def local() -> Document:
    """A local manifest with something of everything that a local one may have."""
    return empty() | {
        "source_offsets": {"orders": connector([[1], [1, 0]]), "trades": connector()},
        "source_names": ["orders", "trades"],
        "sink_names": ["lake", "queue"],
        "checkpoint_watermark": 500,
        "channel_progress": [
            channel("orders", [1], 900),
            channel("orders", [1, 0], 500),
            channel("trades", [0], None, idle=True),
        ],
        "node_data": {"chunk": chunk(1, 9), "object_length": 20, "sha256": SHA},
        "state_frames": [
            whole("join", 0, 4),
            whole("sum", 0, 8, of=chunk(1, 7)),
            vnode("sum", 0, 4, 6),
            vnode("sum", 3, 8, 8, of=chunk(1, 7)),
        ],
        "prepared_sinks": [sink("lake", span(16, 4), SHA), sink("queue", None, ABSENT_DESCRIPTOR)],
        "sink_artifact_intents": [
            sink("lake", span(10, 6), SHA),
            sink("queue", None, ABSENT_INTENT),
        ],
        "referenced_chunks": [reference(chunk(1, 7), 64, 2)],
    }


def segment(partition: int, first: int, end: int) -> Document:
    """One segment of a stream's output."""
    return {
        "protocol_version": 1,
        "object_key": f"subscription-output/d/s/g/{partition}/{first}.arrow",
        "stream_generation": [2] * 32,
        "partition": partition,
        "first_sequence": first,
        "exclusive_end_sequence": end,
        "frame_count": end - first,
        "row_count": 100,
        "encoded_length": 4_096,
        "schema_fingerprint": [3] * 32,
        "payload_digest": [4] * 32,
    }


def stream(name: str) -> Document:
    """A stream with two ranges, the second of them empty."""
    return {
        "distribution_certificate": {
            "version": 1,
            "protocol_version": 1,
            "stream_id": name,
            "catalog_generation": 1,
            "stream_generation": [2] * 32,
            "final_operator_id": f"stream:{name}",
            "distribution": {
                "kind": "vnode_partitioned",
                "key_expressions_fingerprint": [5] * 32,
                "partition_abi": 2,
                "vnode_count": 4,
            },
            "schema_fingerprint": [3] * 32,
            "changelog_mode": "weighted_retract_insert",
            "history_retention_bytes": 0,
            "query_fingerprint": [6] * 32,
            "pipeline_identity": {"canonical_version": 7, "sha256": EMPTY},
        },
        "ranges": [
            {"partition": 0, "first_sequence": 10, "through_sequence": 30},
            {"partition": 2, "first_sequence": 5, "through_sequence": 5},
        ],
        "segments": [segment(0, 10, 20), segment(0, 20, 30)],
    }


def subscribed() -> Document:
    """A valid manifest of a cluster with the output of two streams."""
    output = {
        "protocol_version": 1,
        "epoch": 9,
        "checkpoint_id": 9,
        "participant_id": 1,
        "assignment_certificate": fence(),
        "streams": [stream("orders"), stream("positions")],
        "manifest_digest": [0] * 32,
    }
    return sealed(cluster() | {"subscription_output": output})


def sealed(document: Document) -> Document:
    """The same document with the digest that its subscription output must carry."""
    output = document["subscription_output"]
    body = {name: value for name, value in output.items() if name != "manifest_digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    domain = b"laminardb-node-subscription-manifest-v1"
    parts = b"".join(len(part).to_bytes(8, "little") + part for part in (domain, text))
    output["manifest_digest"] = list(hashlib.sha256(parts).digest())
    return document


def v9(document: Document) -> Document:
    """The same document in format v9, which has neither intents nor subscription output.

    The bytes of an intent's payload go to the sink's.
    """
    changed = copy.deepcopy(document)
    if changed.get("sink_artifact_intents"):
        changed["prepared_sinks"][0]["payload"] = span(10, 10)
    changed["version"] = 9
    changed["pipeline_identity"]["canonical_version"] = 6
    changed.pop("sink_artifact_intents", None)
    changed.pop("subscription_output", None)
    return changed


def view_logs() -> Document:
    """A valid local manifest of the format with view logs: two logs, one of them in two runs."""
    document = local() | {"version": 11}

    def run(partition: int, first: int, rows: int, at: Document, of: Document) -> Document:
        return {
            "partition": partition,
            "first_row": first,
            "row_count": rows,
            "event_time": {"min": -5, "max": 5},
            "chunk": of,
            "range": at,
            "sha256": SHA,
        }

    older, current = chunk(1, 7), chunk(1, 9)
    document["view_logs"] = [
        {
            "view_name": "a",
            "segments": [run(0, 100, 10, span(16, 8), older), run(0, 110, 5, span(10, 3), current)],
        },
        {"view_name": "b", "segments": [run(3, 0, 1, span(13, 1), current)]},
    ]
    document["referenced_chunks"][0]["ref_count"] = 3
    document["sink_artifact_intents"][0]["payload"] = span(14, 6)
    document["prepared_sinks"][0]["payload"] = span(20, 4)
    document["node_data"]["object_length"] = 24
    return document


def at(document: Any, pointer: str) -> Any:
    """What stands at a JSON Pointer; :class:`KeyError` and the like when nothing does."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def put(document: Any, pointer: str, value: Any) -> None:
    """Write *value* at a JSON Pointer."""
    parent, _, token = pointer.rpartition("/")
    holder = at(document, parent)
    if isinstance(holder, list):
        holder[int(token)] = value
    else:
        holder[token.replace("~1", "/").replace("~0", "~")] = value


def text(document: Any) -> bytes:
    """The document as JSON, non-ASCII raw, in the order of its members."""
    return json.dumps(document, ensure_ascii=False).encode()
