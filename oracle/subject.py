"""What a rule looks at: a manifest, and what it is expected to be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, chain
from typing import Any, Generic, Self, TypeVar, overload

from oracle.formats import Contract
from oracle.kernels import Tiling, tile
from oracle.model import ByteRange, CheckpointManifest, StateChunkId, ViewLogSegment

T = TypeVar("T")


class _Table(Generic[T]):
    """An attribute that is made when it is first asked for.

    As :func:`functools.cached_property`, but without the lock that costs as much as a rule.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, subject: None, owner: type) -> Self: ...

    @overload
    def __get__(self, subject: Subject, owner: type) -> T: ...

    def __get__(self, subject: Subject | None, owner: type) -> Self | T:
        if subject is None:
            return self
        made = subject.__dict__[self._name] = self._make(subject)
        return made


class Subject:
    """A decoded manifest with the contract and key-group count that it is held against.

    The look-up tables that several rules need are made once, when first asked for.
    """

    def __init__(
        self,
        manifest: CheckpointManifest,
        contract: Contract,
        key_groups: int,
        document: bytes | None = None,
    ) -> None:
        """Hold *manifest* against *contract* and *key_groups*, the expected vnode count.

        *document* is the text that it was decoded from, where a hazard is to look at that too.
        """
        self.document = document
        self.manifest = manifest
        self.contract = contract
        self.key_groups = key_groups

    @_Table
    def source_names(self) -> frozenset[str]:
        """The registered sources, for look-up."""
        return frozenset(self.manifest.source_names)

    @_Table
    def sink_names(self) -> frozenset[str]:
        """The registered sinks, for look-up."""
        return frozenset(self.manifest.sink_names)

    @_Table
    def owned_vnodes(self) -> frozenset[int]:
        """The owned vnodes, for look-up."""
        return frozenset(self.manifest.owned_vnodes)

    @_Table
    def channels_by_source(self) -> dict[str, list[bytes]]:
        """The input channels that each source has progress of."""
        channels: dict[str, list[bytes]] = {}
        for progress in self.manifest.channel_progress:
            channels.setdefault(progress.source_name, []).append(progress.input_channel)
        return channels

    @_Table
    def segments(self) -> tuple[ViewLogSegment, ...]:
        """The segments of all view logs, logs and segments in list order."""
        return tuple(chain.from_iterable(log.segments for log in self.manifest.view_logs))

    @_Table
    def _log_starts(self) -> list[int]:
        """Where each view log's segments start in :attr:`segments`."""
        return [*accumulate((len(log.segments) for log in self.manifest.view_logs), initial=0)]

    def segment_pointer(self, index: int) -> str:
        """JSON Pointer of the segment that stands at *index* of :attr:`segments`."""
        number = bisect_right(self._log_starts, index) - 1
        return f"/view_logs/{number}/segments/{index - self._log_starts[number]}"

    @_Table
    def frame_chunks(self) -> list[ChunkKey]:
        """The chunk of each state frame."""
        return [chunk_key(frame.chunk) for frame in self.manifest.state_frames]

    @_Table
    def segment_chunks(self) -> list[ChunkKey]:
        """The chunk of each of :attr:`segments`."""
        return [chunk_key(segment.chunk) for segment in self.segments]

    @_Table
    def object_lengths(self) -> dict[ChunkKey, int]:
        """The length of every object that the manifest knows.

        Of a chunk that is referenced twice the later entry counts, and the current one before
        any of them.
        """
        manifest = self.manifest
        lengths = {
            chunk_key(reference.chunk): reference.object_length
            for reference in manifest.referenced_chunks
        }
        lengths[chunk_key(manifest.current_chunk)] = manifest.node_data.object_length
        return lengths

    @_Table
    def current_ranges(self) -> list[tuple[str, int, ByteRange]]:
        """Every range in the current object, in the order they must lie in.

        Each with what :meth:`range_pointer` takes to point to it.
        """
        ranges_of = {
            "state_frames": self._frames_in_current,
            "view_logs": self._segments_in_current,
            "sink_artifact_intents": self._sinks_in_current,
            "prepared_sinks": self._sinks_in_current,
        }
        placed: list[tuple[str, int, ByteRange]] = []
        for field in self.contract.payload_order:
            if getattr(self.manifest, field):
                placed += ranges_of[field](field)
        return placed

    def range_pointer(self, field: str, index: int) -> str:
        """JSON Pointer of the range of the payload at *index* among those of a manifest's field."""
        if field == "state_frames":
            return f"/state_frames/{index}/range"
        if field == "view_logs":
            return f"{self.segment_pointer(index)}/range"
        return f"/{field}/{index}/payload"

    @_Table
    def tiling(self) -> Tiling:
        """How :attr:`current_ranges` lie one after another."""
        return tile((part.offset, part.length) for _, _, part in self.current_ranges)

    def _frames_in_current(self, field: str) -> Iterator[tuple[str, int, ByteRange]]:
        current = chunk_key(self.manifest.current_chunk)
        for index, chunk in enumerate(self.frame_chunks):
            if chunk == current:
                yield field, index, self.manifest.state_frames[index].range

    def _segments_in_current(self, field: str) -> Iterator[tuple[str, int, ByteRange]]:
        current = chunk_key(self.manifest.current_chunk)
        for index, chunk in enumerate(self.segment_chunks):
            if chunk == current:
                yield field, index, self.segments[index].range

    def _sinks_in_current(self, field: str) -> Iterator[tuple[str, int, ByteRange]]:
        for index, entry in enumerate(getattr(self.manifest, field)):
            if entry.payload is not None:
                yield field, index, entry.payload


ChunkKey = tuple[int, int]


def chunk_key(chunk: StateChunkId) -> ChunkKey:
    """*chunk* as a plain pair, which is quicker to look up than the dataclass."""
    return (chunk.participant_id, chunk.checkpoint_id)
