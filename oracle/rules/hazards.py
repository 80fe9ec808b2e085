"""Hazards: what validation lets pass and a later stage of the engine refuses.

They change no verdict. Observed with laminar-core 0.33.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oracle.digests import (
    EMPTY_SHA256,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
)
from oracle.encoding import encode
from oracle.errors import json_pointer
from oracle.formats import Feature
from oracle.kernels import is_trimmed
from oracle.model import OutputSegmentRef, Payload, SinkEntry
from oracle.registry import Place, hazard
from oracle.subject import ChunkKey, Subject, chunk_key

_INDEX_REFUSES = "the committed index refuses it"
_NEVER_VERIFIES = "one of them can never verify"


@hazard("hazard.encoding", later="it loads, but sealing it as aborted refuses (not canonical)")
def encoding(subject: Subject) -> Iterator[Place]:
    """The document is not the canonical encoding of what it decodes to."""
    if subject.document is None:
        return
    canonical = encode(subject.manifest, subject.contract)
    if subject.document != canonical:
        differs = _first_difference(subject.document, canonical)
        yield "", f"the document differs from its canonical encoding from byte {differs} on"


def _first_difference(left: bytes, right: bytes) -> int:
    """Length of the common prefix, found by halving so that it takes no Python loop over bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@hazard("hazard.source-name", later=_INDEX_REFUSES)
def source_name(subject: Subject) -> Iterator[Place]:
    """A source name, offset key or metadata key is empty or starts or ends with white space."""
    for index, name in enumerate(subject.manifest.source_names):
        if not name or not is_trimmed(name):
            yield f"/source_names/{index}", f"source name {name!r} is empty or padded"
    for source, checkpoint in subject.manifest.source_offsets.items():
        for field in ("offsets", "metadata"):
            padded = [key for key in getattr(checkpoint, field) if not key or not is_trimmed(key)]
            # One for each map: a pointer repeats the source's name, however long it is.
            for key in padded[:1]:
                pointer = json_pointer("source_offsets", source, field, key)
                more = f", and {len(padded) - 1} more" if padded[1:] else ""
                yield pointer, f"key {key!r} is empty or padded{more}"


@hazard("hazard.empty-payload", later="loading the descriptor always fails")
def empty_payload(subject: Subject) -> Iterator[Place]:
    """A payload range of a sink or an intent is empty with another digest than an empty one's."""
    digest_of_empty = {
        "sink_artifact_intents": checkpoint_artifact_intent_sha256(b""),
        "prepared_sinks": checkpoint_descriptor_sha256(b""),
    }
    for field, digest in digest_of_empty.items():
        entries: tuple[SinkEntry, ...] = getattr(subject.manifest, field)
        for index, entry in enumerate(entries):
            if entry.payload is not None and not entry.payload.length and entry.sha256 != digest:
                yield f"/{field}/{index}/sha256", f"the digest of an empty payload is {digest}"


@hazard("hazard.empty-object", later="no such object can be written and verified")
def empty_object(subject: Subject) -> Iterator[Place]:
    """An object has length 0 with another digest than that of no bytes."""
    manifest = subject.manifest
    objects = [("/node_data", manifest.node_data.object_length, manifest.node_data.sha256)]
    objects += [
        (f"/referenced_chunks/{index}", reference.object_length, reference.sha256)
        for index, reference in enumerate(manifest.referenced_chunks)
    ]
    for pointer, length, digest in objects:
        if length == 0 and digest != EMPTY_SHA256:
            yield f"{pointer}/sha256", f"the digest of an empty object is {EMPTY_SHA256}"


@hazard("hazard.payload-conflict", later=_NEVER_VERIFIES)
def payload_conflict(subject: Subject) -> Iterator[Place]:
    """The same range of the same object, or the whole of it, carries two different digests."""
    manifest = subject.manifest
    current = chunk_key(manifest.current_chunk)
    digests: dict[tuple[ChunkKey, int, int], str] = {
        (chunk_key(reference.chunk), 0, reference.object_length): reference.sha256
        for reference in manifest.referenced_chunks
    }
    digests[current, 0, manifest.node_data.object_length] = manifest.node_data.sha256
    for pointer, chunk, payload in _payloads(subject):
        key = (chunk, payload.range.offset, payload.range.length)
        known = digests.setdefault(key, payload.sha256)
        if known != payload.sha256:
            yield (
                f"{pointer}/sha256",
                f"{payload.range} of {payload.chunk} is also said to have the digest "
                f"{known[: len(EMPTY_SHA256)]}",
            )


def _payloads(subject: Subject) -> Iterator[tuple[str, ChunkKey, Payload]]:
    """State frames and segments of view logs."""
    for index, frame in enumerate(subject.manifest.state_frames):
        yield f"/state_frames/{index}", subject.frame_chunks[index], frame
    for number, log in enumerate(subject.manifest.view_logs):
        for index, segment in enumerate(log.segments):
            pointer = f"/view_logs/{number}/segments/{index}"
            yield pointer, chunk_key(segment.chunk), segment


@hazard("hazard.range-overlap", later="older objects were tiled without overlap when written")
def range_overlap(subject: Subject) -> Iterator[Place]:
    """Two payloads of an older object (frames, segments) overlap without being equal."""
    current = chunk_key(subject.manifest.current_chunk)
    spans = sorted(
        (chunk, payload.range.offset, payload.range.offset + payload.range.length, pointer)
        for pointer, chunk, payload in _payloads(subject)
        if chunk != current
    )
    # The one that reaches furthest so far: whatever starts before its end overlaps it.
    widest: tuple[ChunkKey, int, int, str] | None = None
    for span in spans:
        chunk, offset, end, pointer = span
        if widest is None or widest[0] != chunk or offset >= widest[2]:
            widest = span
            continue
        if (offset, end) != widest[1:3]:
            yield (
                f"{pointer}/range",
                f"bytes {offset}..{end} overlap {widest[1]}..{widest[2]} of {widest[3]}",
            )
        if end > widest[2]:
            widest = span


_UNLISTABLE = re.compile(r"[\x00-\x1f\x7f%]")
_KEY_COMPONENTS = 6


def _segments(subject: Subject) -> Iterator[tuple[str, OutputSegmentRef]]:
    output = subject.manifest.subscription_output
    for number, stream in enumerate(() if output is None else output.streams):
        for index, segment in enumerate(stream.segments):
            yield f"/subscription_output/streams/{number}/segments/{index}", segment


@hazard(
    "hazard.segment-key",
    feature=Feature.SUBSCRIPTION_OUTPUT,
    later="clean-up of orphans fails as soon as it lists the object",
)
def segment_key(subject: Subject) -> Iterator[Place]:
    """An object_key of a segment is not a path that the store can list back.

    It has a control character or a per-cent sign, or fewer components below
    subscription-output/ than deployment/stream/generation/partition/file.
    """
    for pointer, segment in _segments(subject):
        components = segment.object_key.count("/") + 1
        if _UNLISTABLE.search(segment.object_key) or components < _KEY_COMPONENTS:
            yield f"{pointer}/object_key", f"{segment.object_key!r} cannot be listed back"


@hazard("hazard.segment-conflict", feature=Feature.SUBSCRIPTION_OUTPUT, later=_NEVER_VERIFIES)
def segment_conflict(subject: Subject) -> Iterator[Place]:
    """Two segments share an object_key and differ in digest or length."""
    known: dict[str, tuple[bytes, int]] = {}
    for pointer, segment in _segments(subject):
        content = (segment.payload_digest, segment.encoded_length)
        if known.setdefault(segment.object_key, content) != content:
            yield f"{pointer}/object_key", f"{segment.object_key!r} names another object before"


@hazard("hazard.boot-shared", later="not a fact of one cut of separate processes")
def boot_shared(subject: Subject) -> Iterator[Place]:
    """Two participants of the fence share a boot_incarnation."""
    fence = subject.manifest.assignment_fence
    seen: dict[int, int] = {}
    for index, member in enumerate(() if fence is None else fence.participants):
        first = seen.setdefault(member.boot_incarnation.int, member.node_id)
        if first != member.node_id:
            yield (
                f"/assignment_fence/participants/{index}/boot_incarnation",
                f"node {member.node_id} shares it with node {first}",
            )


@hazard("hazard.pipeline", feature=Feature.SUBSCRIPTION_OUTPUT, later=_INDEX_REFUSES)
def pipeline(subject: Subject) -> Iterator[Place]:
    """A subscription certificate's pipeline identity differs from the manifest's."""
    output = subject.manifest.subscription_output
    for index, stream in enumerate(() if output is None else output.streams):
        found = stream.distribution_certificate.pipeline_identity
        if found != subject.manifest.pipeline_identity:
            yield (
                f"/subscription_output/streams/{index}/distribution_certificate/pipeline_identity",
                f"{found} is not the manifest's",
            )


@hazard("hazard.reference-participant", later="no node writes under id 0")
def reference_participant(subject: Subject) -> Iterator[Place]:
    """A referenced chunk's participant_id is 0."""
    for index, reference in enumerate(subject.manifest.referenced_chunks):
        if reference.chunk.participant_id == 0:
            yield f"/referenced_chunks/{index}/chunk/participant_id", "participant_id is 0"
