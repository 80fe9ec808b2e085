"""The current node data object and the older objects that frames still use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from oracle.kernels import first_disorder, is_sha256_text, uses_by_chunk
from oracle.model import StateChunkId
from oracle.registry import Place, rule
from oracle.subject import Subject, chunk_key


@rule("node-data.chunk")
def node_data_chunk(subject: Subject) -> Iterator[Place]:
    """node_data.chunk is not (participant_id, checkpoint_id) of the manifest."""
    manifest = subject.manifest
    wanted = StateChunkId(manifest.participant_id, manifest.checkpoint_id)
    if manifest.current_chunk != wanted:
        yield "/node_data/chunk", f"{manifest.current_chunk} is not the manifest's own {wanted}"


@rule("node-data.digest")
def node_data_digest(subject: Subject) -> Iterator[Place]:
    """node_data.sha256 is not sha256 text."""
    found = subject.manifest.node_data.sha256
    if not is_sha256_text(found):
        yield "/node_data/sha256", f"{found!r} is not SHA-256 text"


@rule("references.order")
def references_order(subject: Subject) -> Iterator[Place]:
    """referenced_chunks is not strictly ascending by chunk."""
    chunks = [reference.chunk for reference in subject.manifest.referenced_chunks]
    index = first_disorder(chunks)
    if index is not None:
        yield f"/referenced_chunks/{index}", f"{chunks[index]} does not follow {chunks[index - 1]}"


@rule("references.age")
def references_age(subject: Subject) -> Iterator[Place]:
    """An entry's chunk is the current one, or its checkpoint_id not in 1..(the manifest's)."""
    manifest = subject.manifest
    for index, reference in enumerate(manifest.referenced_chunks):
        chunk = reference.chunk
        older = 0 < chunk.checkpoint_id < manifest.checkpoint_id
        if not older or chunk == manifest.current_chunk:
            yield f"/referenced_chunks/{index}/chunk", f"{chunk} is not an older object"


@rule("references.digest")
def references_digest(subject: Subject) -> Iterator[Place]:
    """An entry's sha256 is not sha256 text."""
    for index, reference in enumerate(subject.manifest.referenced_chunks):
        if not is_sha256_text(reference.sha256):
            yield (
                f"/referenced_chunks/{index}/sha256",
                f"{reference.sha256!r} is not SHA-256 text",
            )


@rule("references.count")
def references_count(subject: Subject) -> Iterator[Place]:
    """An entry's ref_count is not the number of state frames (and segments) that name its chunk.

    What names the current chunk counts for no entry. Segments of view logs count in the formats
    that have them (assumption A10).
    """
    manifest = subject.manifest
    named = chain(subject.frame_chunks, subject.segment_chunks)
    uses = uses_by_chunk(named, chunk_key(manifest.current_chunk))
    for index, reference in enumerate(manifest.referenced_chunks):
        used = uses[chunk_key(reference.chunk)]
        if reference.ref_count != used:
            yield (
                f"/referenced_chunks/{index}/ref_count",
                f"ref_count is {reference.ref_count}, {used} payloads name {reference.chunk}",
            )
