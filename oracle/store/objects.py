"""Node data objects: what manifests say about each, and whether its bytes agree.

Every object is read once, in a buffer of fixed size, and hashed as a whole and in all the parts
that manifests name.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from oracle.digests import ARTIFACT_INTENT_DOMAIN, DESCRIPTOR_DOMAIN
from oracle.model import ByteRange, CheckpointManifest, SinkEntry
from oracle.store import registry
from oracle.store.layout import ChunkKey, Inventory, StoreUnavailable, node_data_path
from oracle.store.registry import StoreFinding
from oracle.subject import chunk_key

BUFFER_BYTES: Final = 256 * 1024
"""Small enough that what is hashed twice comes from the processor's cache the second time."""

Progress = Callable[[int], None]
"""Told how many bytes have been read since it was last told."""


class Part(Enum):
    """What a range of an object is to the manifest that names it."""

    FRAME = "state_frames", registry.OBJECT_FRAME
    INTENT = "sink_artifact_intents", registry.OBJECT_INTENT
    SINK = "prepared_sinks", registry.OBJECT_SINK

    def __init__(self, list_name: str, rule: str) -> None:
        self.list_name = list_name
        self.rule = rule

    def domain(self, length: int) -> bytes:
        """What is hashed before the bytes of a part of *length* bytes."""
        if self is Part.INTENT:
            return ARTIFACT_INTENT_DOMAIN + b"\1"
        if self is Part.SINK:
            return DESCRIPTOR_DOMAIN + b"\1" + length.to_bytes(8, "little")
        return b""


@dataclass(frozen=True, slots=True)
class Claim:
    """Where a digest is named: a manifest's path, a list in it and the number of the entry."""

    file: str
    list_name: str
    number: int | None = None

    @property
    def place(self) -> str:
        """File and JSON Pointer."""
        number = "" if self.number is None else f"/{self.number}"
        return f"{self.file} /{self.list_name}{number}"


Span = tuple[int, int, Part, str]
"""Offset, length and kind of a part, and the digest that it should have."""


@dataclass(slots=True)
class ObjectClaims:
    """All that manifests say about one object, and how many cuts do (two stand for more)."""

    wholes: dict[tuple[int, str], Claim] = field(default_factory=dict)
    spans: dict[Span, Claim] = field(default_factory=dict)
    cuts: int = 0
    latest_cut: int = 0

    def count(self, checkpoint_id: int) -> None:
        """Count the cut *checkpoint_id* as one that names the object."""
        if checkpoint_id != self.latest_cut:
            self.latest_cut = checkpoint_id
            self.cuts += 1


class PendingObjects:
    """Objects that manifests have named and that have not been read yet.

    Manifests come newest first, and name their own object and older ones only. So an object can
    be read, and all that was said about it forgotten, as soon as an older cut's turn has come.
    """

    def __init__(self) -> None:
        self._claims: dict[ChunkKey, ObjectClaims] = {}
        self._newest_first: list[tuple[int, ChunkKey]] = []

    def claim(self, manifest: CheckpointManifest, file: str) -> None:
        """Take down everything that a valid *manifest*, stored in *file*, says about objects."""
        data = manifest.node_data
        current = self._of(chunk_key(data.chunk), manifest)
        current.wholes.setdefault((data.object_length, data.sha256), Claim(file, "node_data"))
        for number, reference in enumerate(manifest.referenced_chunks):
            older = self._of(chunk_key(reference.chunk), manifest)
            older.wholes.setdefault(
                (reference.object_length, reference.sha256),
                Claim(file, "referenced_chunks", number),
            )
        for number, frame in enumerate(manifest.state_frames):
            span = (frame.range.offset, frame.range.length, Part.FRAME, frame.sha256)
            spans = self._claims[chunk_key(frame.chunk)].spans
            if span not in spans:
                spans[span] = Claim(file, Part.FRAME.list_name, number)
        for part in (Part.INTENT, Part.SINK):
            entries: tuple[SinkEntry, ...] = getattr(manifest, part.list_name)
            for number, entry in enumerate(entries):
                if entry.payload is not None:
                    span = (entry.payload.offset, entry.payload.length, part, entry.sha256)
                    current.spans[span] = Claim(file, part.list_name, number)

    def _of(self, key: ChunkKey, manifest: CheckpointManifest) -> ObjectClaims:
        claims = self._claims.get(key)
        if claims is None:
            claims = self._claims[key] = ObjectClaims()
            heapq.heappush(self._newest_first, (-key[1], key))
        claims.count(manifest.checkpoint_id)
        return claims

    def take(self, above: int) -> Iterator[tuple[ChunkKey, ObjectClaims]]:
        """Hand out, and forget, the objects of checkpoints above *above*."""
        while self._newest_first and -self._newest_first[0][0] > above:
            _, key = heapq.heappop(self._newest_first)
            yield key, self._claims.pop(key)


def verify(
    root: Path, inventory: Inventory, key: ChunkKey, claims: ObjectClaims, report: Progress
) -> Iterator[StoreFinding]:
    """What is wrong with the object *key* beside what is claimed of it.

    A part that has not its digest explains that the whole has not; where a part is wrong, it
    alone is reported.
    """
    file = node_data_path(key)
    size = inventory.objects.get(key)
    first = next(iter(claims.wholes.values()))
    if len(claims.wholes) > 1:
        yield StoreFinding(
            file,
            registry.OBJECT_CONFLICT,
            "named differently by " + ", ".join(claim.place for claim in claims.wholes.values()),
        )
    if size is None:
        yield StoreFinding(file, registry.OBJECT_MISSING, f"named by {first.place}")
        return
    lengths = {length: claim for (length, _), claim in claims.wholes.items()}
    if size not in lengths:
        length = next(iter(lengths))
        yield StoreFinding(
            file,
            registry.OBJECT_LENGTH,
            f"it has {size} bytes, {first.place} names {length}",
            range=ByteRange(min(size, length), abs(size - length)),
        )
        return
    spans = sorted(claims.spans, key=_offset)
    whole, parts = digests(root / file, size, spans, report)
    wrong = [pair for pair in zip(spans, parts, strict=True) if pair[0][3] != pair[1]]
    for span, digest in wrong:
        offset, length, part, wanted = span
        yield StoreFinding(
            file,
            part.rule,
            f"its digest is {digest}, {claims.spans[span].place} names {wanted}",
            range=ByteRange(offset, length),
        )
    for (length, wanted), claim in claims.wholes.items():
        if not wrong and length == size and wanted != whole:
            yield StoreFinding(
                file,
                registry.OBJECT_DIGEST,
                f"its SHA-256 is {whole}, {claim.place} names {wanted}",
                range=ByteRange(0, size),
            )


def _offset(span: Span) -> int:
    return span[0]


def digests(
    path: Path, size: int, spans: Sequence[Span], report: Progress
) -> tuple[str, list[str]]:
    """SHA-256 text of the *size* bytes of a file, and the digest text of each of its parts.

    *spans* ascend by offset; of one that ends beyond the file the digest is empty text. Raises
    :class:`StoreUnavailable` when the file has not *size* bytes after all.
    """
    whole = sha256()
    texts = [""] * len(spans)
    running: list[tuple[int, int, Any]] = []
    coming, start = 0, 0
    buffer = memoryview(bytearray(BUFFER_BYTES))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            filled, stop = buffer[:count], start + count
            whole.update(filled)
            for _, end, hasher in running:
                hasher.update(filled[: end - start])
            while coming < len(spans) and spans[coming][0] < stop:
                offset, length, part, _ = spans[coming]
                hasher = sha256(part.domain(length))
                hasher.update(filled[offset - start : offset + length - start])
                running.append((coming, offset + length, hasher))
                coming += 1
            for number, end, hasher in running:
                if end <= stop:
                    texts[number] = hasher.hexdigest()
            running = [item for item in running if item[1] > stop]
            start = stop
            report(count)
    if start != size:
        raise StoreUnavailable(f"{path} changed while it was read; stop the engine and audit again")
    for number in range(coming, len(spans)):
        # What starts at the very end is empty.
        texts[number] = sha256(spans[number][2].domain(0)).hexdigest()
    return whole.hexdigest(), texts
