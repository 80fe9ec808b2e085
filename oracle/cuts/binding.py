"""The index and the manifests of its participants: that together they are one cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oracle.cuts.index import validate_index
from oracle.cuts.model import CommittedCheckpointIndex, CommittedParticipantRef
from oracle.cuts.registry import CutFinding, InvalidCut, cut_fault, found
from oracle.cuts.subscription import merge_node_subscription_manifests
from oracle.digests import checkpoint_sha256, owner_map_digest
from oracle.encoding import encode
from oracle.errors import DecodeError, json_pointer
from oracle.model import ChannelProgress, CheckpointManifest, ConnectorCheckpoint, FrozenDict
from oracle.registry import Finding
from oracle.verdict import decode, validate

COUNT = cut_fault("cut.count", "There are more or fewer manifests than participants.")
MANIFEST_BYTES = cut_fault(
    "cut.manifest-bytes",
    "A manifest's bytes are not of the length and SHA-256 that the index names.",
)
MANIFEST_DECODE = cut_fault("cut.manifest-decode", "A participant's bytes are not a manifest.")
PARTICIPANT = cut_fault(
    "cut.participant",
    "A manifest's participant, or the participant, length or digest of its node data, is not "
    "what the index names.",
)
MANIFEST = cut_fault(
    "cut.manifest", "A manifest breaks a rule, held against the index's vnode_count."
)
FOREIGN = cut_fault(
    "cut.foreign",
    "A manifest's checkpoint_id, epoch, deployment_id, pipeline_identity, vnode_count, fence or "
    "portability is not the index's.",
)
SOURCE_NAMES = cut_fault("cut.source-names", "A manifest's source_names are not the index's.")
SINK_NAMES = cut_fault("cut.sink-names", "Two manifests have different sink_names.")
VNODE_SHARED = cut_fault("cut.vnode-shared", "A vnode is owned by two participants.")
MERGE = cut_fault(
    "cut.merge",
    "Participants contradict each other about a source: a key of offsets or metadata with "
    "different values, an input channel that two own, input_channels declared by one only, or "
    "different source_assignment_versions.",
)
OFFSETS = cut_fault(
    "cut.offsets", "The offsets merged over the participants are not exactly the index's."
)
CHANNELS = cut_fault(
    "cut.channels", "channel_progress merged over the participants is not exactly the index's."
)
VNODE_MISSING = cut_fault("cut.vnode-missing", "A vnode is owned by no participant.")
OWNER_MAP = cut_fault(
    "cut.owner-map",
    "The fence's assignment_digest is not that of the owners, or they are not exactly its "
    "participants.",
)
SUBSCRIPTION_PRESENCE = cut_fault(
    "cut.subscription-presence", "Some participants have subscription output and others none."
)
SUBSCRIPTION_PIPELINE = cut_fault(
    "cut.subscription-pipeline",
    "A stream's certificate is of another pipeline identity than the index.",
)

CUT_FIELDS = (
    "checkpoint_id",
    "epoch",
    "deployment_id",
    "pipeline_identity",
    "vnode_count",
    "assignment_fence",
    "reassignment_portable",
)
"""What a manifest has in common with its index."""


def validate_participant_manifests(
    index: CommittedCheckpointIndex, documents: Sequence[bytes]
) -> CutFinding | None:
    """The first fault of *index* with its participants' manifests, in participant order.

    It may be one of the index by itself. *documents* are the exact bytes of the manifests.
    """
    return next(_faults(index, documents), None)


def _faults(index: CommittedCheckpointIndex, documents: Sequence[bytes]) -> Iterator[CutFinding]:
    fault = validate_index(index)
    if fault is not None:
        yield fault
        return
    participants = len(index.participants)
    if len(documents) != participants:
        yield found(COUNT, "/participants", f"{participants} entries, {len(documents)} manifests")
        return
    binding = Binding(index)
    for reference, document in zip(index.participants, documents, strict=True):
        yield from binding.add(reference, document)
    yield from binding.finish()


class Binding:
    """The manifests of one cut as they are added, in participant order.

    :meth:`add` and :meth:`finish` find the faults in the order of the contract; after the first,
    what would come later has no meaning and is not to be asked for.
    """

    def __init__(self, index: CommittedCheckpointIndex) -> None:
        """Bind to *index*, which is valid."""
        self.index = index
        self.manifests: list[CheckpointManifest] = []
        self._owners: dict[int, int] = {}

    def add(self, reference: CommittedParticipantRef, document: bytes) -> Iterator[CutFinding]:
        """Look at the manifest that *reference* names, and at what it shares with those before."""
        participant = reference.participant_id
        if len(document) != reference.manifest_len:
            yield found(
                MANIFEST_BYTES,
                "",
                f"it has {len(document)} bytes, the index names {reference.manifest_len}",
                participant,
            )
        elif checkpoint_sha256(document) != reference.manifest_sha256:
            yield found(
                MANIFEST_BYTES,
                "",
                f"its SHA-256 is {checkpoint_sha256(document)}, "
                f"the index names {reference.manifest_sha256}",
                participant,
            )
        try:
            manifest = decode(document)
        except DecodeError as error:
            yield found(MANIFEST_DECODE, error.pointer, error.message, participant)
            return
        self.manifests.append(manifest)
        yield from self._alone(reference, manifest)
        yield from self._beside(manifest)

    def _alone(
        self, reference: CommittedParticipantRef, manifest: CheckpointManifest
    ) -> Iterator[CutFinding]:
        participant, data = reference.participant_id, manifest.node_data
        for pointer, value, wanted in (
            ("/participant_id", manifest.participant_id, participant),
            ("/node_data/chunk/participant_id", data.chunk.participant_id, participant),
            ("/node_data/object_length", data.object_length, reference.node_data_len),
            ("/node_data/sha256", data.sha256, reference.node_data_sha256),
        ):
            if value != wanted:
                yield found(
                    PARTICIPANT, pointer, f"it is {value}, the index names {wanted}", participant
                )
        for broken in self.broken_rules(manifest):
            yield found(MANIFEST, broken.pointer, f"{broken.message} [{broken.rule}]", participant)
        for field in CUT_FIELDS:
            value, wanted = getattr(manifest, field), getattr(self.index, field)
            if value != wanted:
                yield found(
                    FOREIGN, f"/{field}", f"it is {value}, the index's {wanted}", participant
                )
        if manifest.source_names != self.index.source_names:
            yield found(SOURCE_NAMES, "/source_names", "they are not the index's", participant)

    def _beside(self, manifest: CheckpointManifest) -> Iterator[CutFinding]:
        participant, first = manifest.participant_id, self.manifests[0]
        if manifest.sink_names != first.sink_names:
            yield found(
                SINK_NAMES,
                "/sink_names",
                f"they are not those of participant {first.participant_id}",
                participant,
            )
        for number, vnode in enumerate(manifest.owned_vnodes):
            owner = self._owners.setdefault(vnode, participant)
            if owner != participant:
                yield found(
                    VNODE_SHARED,
                    f"/owned_vnodes/{number}",
                    f"vnode {vnode} is owned by participant {owner} too",
                    participant,
                )

    def broken_rules(self, manifest: CheckpointManifest) -> list[Finding]:
        """Every rule of manifests that *manifest* breaks, held against the index's vnode_count."""
        return validate(manifest, self.index.vnode_count)

    def finish(self) -> Iterator[CutFinding]:
        """Look at all manifests together, once each participant's has been added."""
        index = self.index
        offsets = _MergedOffsets()
        channels: list[ChannelProgress] = []
        for manifest in self.manifests:
            yield from offsets.add(manifest)
            channels += manifest.channel_progress
        merged = offsets.value
        if merged != index.source_offsets:
            yield found(OFFSETS, _first_difference(merged, index), "merged it is different")
        channels.sort(key=lambda channel: channel.order)
        if tuple(channels) != index.channel_progress:
            yield found(CHANNELS, "/channel_progress", "merged it is different")
        for vnode in range(index.vnode_count):
            if vnode not in self._owners:
                yield found(VNODE_MISSING, "/participants", f"nobody owns vnode {vnode}")
        yield from self._fence()

    def _fence(self) -> Iterator[CutFinding]:
        index, fence = self.index, self.index.assignment_fence
        if fence is None:
            return
        owners = [self._owners[vnode] for vnode in range(index.vnode_count)]
        digest = owner_map_digest(fence.vnode_count, owners)
        if digest != fence.assignment_digest:
            yield found(
                OWNER_MAP,
                "/assignment_fence/assignment_digest",
                f"the digest of the owners is {digest.hex()}",
            )
        if {*owners} != {member.node_id for member in fence.participants}:
            yield found(OWNER_MAP, "/assignment_fence/participants", "they are not the owners")
        yield from self._subscription()

    def _subscription(self) -> Iterator[CutFinding]:
        index, fence = self.index, self.index.assignment_fence
        if fence is None or not any(manifest.subscription_output for manifest in self.manifests):
            return
        for manifest in self.manifests:
            if manifest.subscription_output is None:
                yield found(
                    SUBSCRIPTION_PRESENCE,
                    "",
                    "it has no subscription output, and others have",
                    manifest.participant_id,
                )
        for manifest in self.manifests:
            yield from self._pipelines(manifest)
        try:
            merge_node_subscription_manifests(
                index.epoch, index.checkpoint_id, fence, self.manifests
            )
        except InvalidCut as invalid:
            yield invalid.finding

    def _pipelines(self, manifest: CheckpointManifest) -> Iterator[CutFinding]:
        output = manifest.subscription_output
        for number, stream in enumerate(() if output is None else output.streams):
            if stream.distribution_certificate.pipeline_identity != self.index.pipeline_identity:
                yield found(
                    SUBSCRIPTION_PIPELINE,
                    f"/subscription_output/streams/{number}"
                    "/distribution_certificate/pipeline_identity",
                    "it is not the index's",
                    manifest.participant_id,
                )


def participant_reference(
    manifest: CheckpointManifest, document: bytes | None = None
) -> CommittedParticipantRef:
    """The entry by which an index names *manifest*, stored as *document*, or canonically."""
    stored = encode(manifest) if document is None else document
    return CommittedParticipantRef(
        manifest.participant_id,
        len(stored),
        checkpoint_sha256(stored),
        manifest.node_data.object_length,
        manifest.node_data.sha256,
    )


class _MergedOffsets:
    """The offsets of all sources, as manifests are added."""

    def __init__(self) -> None:
        self._parts: dict[str, _MergedSource] = {}

    def add(self, manifest: CheckpointManifest) -> Iterator[CutFinding]:
        """Merge *manifest*'s part, and find what contradicts the parts before."""
        for source, part in sorted(manifest.source_offsets.items()):
            if source not in self._parts:
                self._parts[source] = _MergedSource(part)
                continue
            for field, message in self._parts[source].add(part):
                yield found(
                    MERGE,
                    json_pointer("source_offsets", source, field),
                    message,
                    manifest.participant_id,
                )

    @property
    def value(self) -> Mapping[str, ConnectorCheckpoint]:
        """What has been merged, as it stands in an index."""
        return FrozenDict({source: part.value for source, part in self._parts.items()})


class _MergedSource:
    """One source's offsets, merged over participants."""

    def __init__(self, first: ConnectorCheckpoint) -> None:
        self._maps = {"offsets": dict(first.offsets), "metadata": dict(first.metadata)}
        self._channels = None if first.input_channels is None else {*first.input_channels}
        self._version = first.source_assignment_version

    def add(self, part: ConnectorCheckpoint) -> Iterator[tuple[str, str]]:
        """Merge another participant's *part*; yields field and message of contradictions."""
        if part.source_assignment_version != self._version:
            yield (
                "source_assignment_version",
                f"it is {part.source_assignment_version}, others have {self._version}",
            )
        for field, merged in self._maps.items():
            for key, value in getattr(part, field).items():
                if merged.setdefault(key, value) != value:
                    yield field, f"key {key!r} is {value!r}, others have {merged[key]!r}"
        if (part.input_channels is None) != (self._channels is None):
            yield "input_channels", "they are declared by some participants and not by others"
        elif part.input_channels is not None and self._channels is not None:
            if not self._channels.isdisjoint(part.input_channels):
                yield "input_channels", "another participant owns one of the channels too"
            self._channels.update(part.input_channels)

    @property
    def value(self) -> ConnectorCheckpoint:
        """What has been merged."""
        channels = self._channels
        return ConnectorCheckpoint(
            FrozenDict(self._maps["offsets"]),
            FrozenDict(self._maps["metadata"]),
            None if channels is None else tuple(sorted(channels)),
            self._version,
        )


def _first_difference(
    merged: Mapping[str, ConnectorCheckpoint], index: CommittedCheckpointIndex
) -> str:
    """Pointer to the first source whose merged offsets are not the index's."""
    sources = sorted(merged.keys() | index.source_offsets.keys())
    differing = (
        source for source in sources if merged.get(source) != index.source_offsets.get(source)
    )
    return json_pointer("source_offsets", next(differing))
