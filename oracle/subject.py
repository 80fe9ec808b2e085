"""What a rule looks at: a manifest, and what it is expected to be."""

from __future__ import annotations

from functools import cached_property

from oracle.formats import Contract
from oracle.model import ByteRange, CheckpointManifest, StateChunkId


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

    @cached_property
    def source_names(self) -> frozenset[str]:
        """The registered sources, for look-up."""
        return frozenset(self.manifest.source_names)

    @cached_property
    def sink_names(self) -> frozenset[str]:
        """The registered sinks, for look-up."""
        return frozenset(self.manifest.sink_names)

    @cached_property
    def owned_vnodes(self) -> frozenset[int]:
        """The owned vnodes, for look-up."""
        return frozenset(self.manifest.owned_vnodes)

    @cached_property
    def channels_by_source(self) -> dict[str, list[bytes]]:
        """The input channels that each source has progress of."""
        channels: dict[str, list[bytes]] = {}
        for progress in self.manifest.channel_progress:
            channels.setdefault(progress.source_name, []).append(progress.input_channel)
        return channels

    @cached_property
    def frame_chunks(self) -> list[ChunkKey]:
        """The chunk of each state frame."""
        return [chunk_key(frame.chunk) for frame in self.manifest.state_frames]

    @cached_property
    def frame_object_lengths(self) -> list[int | None]:
        """The length of each state frame's object; ``None`` of one that the manifest lacks.

        Of a chunk that is referenced twice the later entry counts, and the current one before
        any of them.
        """
        manifest = self.manifest
        lengths = {
            chunk_key(reference.chunk): reference.object_length
            for reference in manifest.referenced_chunks
        }
        lengths[chunk_key(manifest.current_chunk)] = manifest.node_data.object_length
        return [lengths.get(chunk) for chunk in self.frame_chunks]

    @cached_property
    def current_ranges(self) -> list[tuple[str, ByteRange]]:
        """Every range in the current object with its pointer, in the order they must lie in.

        Frames of the current chunk in list order, then intents' payloads, then sinks' payloads.
        """
        manifest = self.manifest
        current = chunk_key(manifest.current_chunk)
        ranges = [
            (f"/state_frames/{index}/range", manifest.state_frames[index].range)
            for index, chunk in enumerate(self.frame_chunks)
            if chunk == current
        ]
        for field, entries in manifest.sink_entries:
            ranges += [
                (f"/{field}/{index}/payload", entry.payload)
                for index, entry in enumerate(entries)
                if entry.payload is not None
            ]
        return ranges


ChunkKey = tuple[int, int]


def chunk_key(chunk: StateChunkId) -> ChunkKey:
    """*chunk* as a plain pair, which is quicker to look up than the dataclass."""
    return (chunk.participant_id, chunk.checkpoint_id)
