"""What a rule looks at: a manifest, and what it is expected to be."""

from __future__ import annotations

from functools import cached_property

from oracle.formats import Contract
from oracle.model import ByteRange, CheckpointManifest, ReferencedStateChunk, StateChunkId


class Subject:
    """A decoded manifest with the contract and key-group count that it is held against.

    The look-up tables that several rules need are made once, when first asked for.
    """

    def __init__(self, manifest: CheckpointManifest, contract: Contract, key_groups: int) -> None:
        """Hold *manifest* against *contract* and *key_groups*, the expected vnode count."""
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
    def older_objects(self) -> dict[StateChunkId, ReferencedStateChunk]:
        """The referenced chunks by identity; of one listed twice, the later entry."""
        return {reference.chunk: reference for reference in self.manifest.referenced_chunks}

    def object_length(self, chunk: StateChunkId) -> int | None:
        """Length of the object *chunk*, or ``None`` when the manifest does not know it."""
        if chunk == self.manifest.current_chunk:
            return self.manifest.node_data.object_length
        reference = self.older_objects.get(chunk)
        return None if reference is None else reference.object_length

    @cached_property
    def current_ranges(self) -> list[tuple[str, ByteRange]]:
        """Every range in the current object with its pointer, in the order they must lie in.

        Frames of the current chunk in list order, then intents' payloads, then sinks' payloads.
        """
        manifest = self.manifest
        current = manifest.current_chunk
        ranges = [
            (f"/state_frames/{index}/range", frame.range)
            for index, frame in enumerate(manifest.state_frames)
            if frame.chunk == current
        ]
        for field, entries in (
            ("sink_artifact_intents", manifest.sink_artifact_intents),
            ("prepared_sinks", manifest.prepared_sinks),
        ):
            ranges += [
                (f"/{field}/{index}/payload", entry.payload)
                for index, entry in enumerate(entries)
                if entry.payload is not None
            ]
        return ranges
