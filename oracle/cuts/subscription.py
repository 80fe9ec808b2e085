"""All participants' subscription output merged into one complete cut for each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oracle.constants import (
    MAX_SUBSCRIPTION_MANIFEST_BYTES,
    SUBSCRIPTION_PROTOCOL_VERSION,
)
from oracle.cuts.model import (
    MergedSubscriptionCheckpoint,
    PartitionFrontier,
    SubscriptionCheckpointBody,
    SubscriptionCheckpointManifest,
)
from oracle.cuts.registry import CutFinding, InvalidCut, cut_fault, found
from oracle.digests import owner_map_digest, subscription_digest
from oracle.encoding import canonical_json_bytes
from oracle.formats import V10
from oracle.model import (
    CheckpointAssignmentFence,
    CheckpointManifest,
    NodePartitionRange,
    NodeSubscriptionManifest,
    OutputDistributionCertificate,
    OutputSegmentRef,
    Singleton,
)
from oracle.rules.subscription import subscription_invalid
from oracle.subject import Subject

CHECKPOINT_SUBSCRIPTION_DOMAIN = b"laminardb-subscription-checkpoint-manifest-v1"

PARTICIPANTS = cut_fault(
    "merge.participants",
    "The subscription outputs are not of exactly the fence's participants, in order.",
)
OWNERS = cut_fault(
    "merge.owners",
    "The participants' owned vnodes are not the owner map that the fence certifies.",
)
ATTEMPT = cut_fault(
    "merge.attempt", "An output's epoch, checkpoint_id or certificate is not the cut's."
)
INVALID = cut_fault("merge.invalid", "A participant's subscription output has a fault of its own.")
CERTIFICATE = cut_fault(
    "merge.certificate", "Two participants have different certificates of one stream."
)
TOO_LARGE = cut_fault(
    "merge.too-large", "A stream's merged manifest is above 8 MiB in canonical encoding."
)
MISSING_PARTITION = cut_fault(
    "merge.missing-partition", "A certified partition of a stream is in no participant's output."
)

OUTPUT = "/subscription_output"


def merge_node_subscription_manifests(
    epoch: int,
    checkpoint_id: int,
    fence: CheckpointAssignmentFence,
    manifests: Sequence[CheckpointManifest],
) -> list[MergedSubscriptionCheckpoint]:
    """The streams of a cut, by stream_id, from its participants' *manifests*.

    The manifests without subscription output are passed over. Each of the others is valid by
    itself, or at least its fence is the certificate of its output. Raises :class:`InvalidCut`
    with the first fault, also when a participant's output is missing.
    """
    merge = _Merge(epoch, checkpoint_id, fence)
    for fault in merge.faults(manifests):
        raise InvalidCut(fault)
    return merge.streams


class _Merge:
    """The outputs of one cut on their way to its streams."""

    def __init__(self, epoch: int, checkpoint_id: int, fence: CheckpointAssignmentFence) -> None:
        self.epoch = epoch
        self.checkpoint_id = checkpoint_id
        self.fence = fence
        self.streams: list[MergedSubscriptionCheckpoint] = []

    def faults(self, manifests: Sequence[CheckpointManifest]) -> Iterator[CutFinding]:
        """Merge, and find the faults in the engine's order."""
        outputs = [
            (output, manifest)
            for manifest in manifests
            if (output := manifest.subscription_output) is not None
        ]
        members = [member.node_id for member in self.fence.participants]
        if [output.participant_id for output, _ in outputs] != members:
            yield found(
                PARTICIPANTS, "/assignment_fence/participants", "not all of them have output"
            )
        yield from self._owners(outputs)
        parts: dict[str, _Stream] = {}
        for output, manifest in outputs:
            participant = output.participant_id
            if (output.epoch, output.checkpoint_id, output.assignment_certificate) != (
                self.epoch,
                self.checkpoint_id,
                self.fence,
            ):
                yield found(ATTEMPT, OUTPUT, "it is not of this cut", participant)
            for broken in subscription_invalid(Subject(manifest, V10, manifest.vnode_count)):
                yield found(
                    INVALID, broken.pointer, f"{broken.message} [{broken.rule}]", participant
                )
            for number, stream in enumerate(output.streams):
                certificate = stream.distribution_certificate
                part = parts.setdefault(certificate.stream_id, _Stream(certificate))
                if part.certificate != certificate:
                    yield found(
                        CERTIFICATE,
                        f"{OUTPUT}/streams/{number}/distribution_certificate",
                        "others have another certificate of this stream",
                        participant,
                    )
                part.ranges += stream.ranges
                part.segments += stream.segments
        for stream_id in sorted(parts):
            yield from self._seal(parts[stream_id])

    def _owners(
        self, outputs: Sequence[tuple[NodeSubscriptionManifest, CheckpointManifest]]
    ) -> Iterator[CutFinding]:
        owners = {
            vnode: output.participant_id
            for output, manifest in outputs
            for vnode in manifest.owned_vnodes
        }
        owned = sum(len(manifest.owned_vnodes) for _, manifest in outputs)
        domain = range(self.fence.vnode_count)
        if owned != len(owners) or sorted(owners) != list(domain):
            yield found(OWNERS, "/participants", "not every vnode has exactly one owner")
            return
        digest = owner_map_digest(len(domain), [owners[vnode] for vnode in domain])
        if digest != self.fence.assignment_digest:
            yield found(OWNERS, "/assignment_fence/assignment_digest", "it is of other owners")

    def _seal(self, stream: _Stream) -> Iterator[CutFinding]:
        manifest = stream.manifest(self)
        where = f"stream {stream.certificate.stream_id!r}"
        if _size(manifest) > MAX_SUBSCRIPTION_MANIFEST_BYTES:
            yield found(TOO_LARGE, "", f"{where} is above {MAX_SUBSCRIPTION_MANIFEST_BYTES} bytes")
        missing = stream.missing_partition()
        if missing is not None:
            yield found(MISSING_PARTITION, "", f"{where} has no range of partition {missing}")
        self.streams.append(MergedSubscriptionCheckpoint(manifest, tuple(stream.ranges)))


class _Stream:
    """One stream's ranges and segments, from all participants."""

    def __init__(self, certificate: OutputDistributionCertificate) -> None:
        self.certificate = certificate
        self.ranges: list[NodePartitionRange] = []
        self.segments: list[OutputSegmentRef] = []

    def missing_partition(self) -> int | None:
        """A certified partition without a range, if there is one."""
        distribution = self.certificate.distribution
        if isinstance(distribution, Singleton):
            certified = range(distribution.partition, distribution.partition + 1)
        else:
            certified = range(distribution.vnode_count)
        present = {part.partition for part in self.ranges}
        return next((partition for partition in certified if partition not in present), None)

    def manifest(self, merge: _Merge) -> SubscriptionCheckpointManifest:
        """The stream's manifest at the cut, with its digest."""
        self.ranges.sort(key=lambda part: part.partition)
        self.segments.sort(key=lambda segment: (segment.partition, segment.first_sequence))
        body = SubscriptionCheckpointBody(
            protocol_version=SUBSCRIPTION_PROTOCOL_VERSION,
            distribution_certificate=self.certificate,
            stream_generation=self.certificate.stream_generation,
            epoch=merge.epoch,
            checkpoint_id=merge.checkpoint_id,
            assignment_certificate=merge.fence,
            schema_fingerprint=self.certificate.schema_fingerprint,
            frontiers=tuple(
                PartitionFrontier(part.partition, part.through_sequence) for part in self.ranges
            ),
            segments=tuple(self.segments),
        )
        digest = subscription_digest(CHECKPOINT_SUBSCRIPTION_DOMAIN, canonical_json_bytes(body))
        fields = {name: getattr(body, name) for name in body.__slots__}
        return SubscriptionCheckpointManifest(**fields, manifest_digest=digest)


def _size(manifest: SubscriptionCheckpointManifest) -> int:
    return len(canonical_json_bytes(manifest))
