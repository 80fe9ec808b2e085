"""Subscription output: that it belongs to the cut, and the first fault inside it.

The engine stops at the first fault it meets, so the steps below are in its order and each is
lazy. A fault may be met in several places; its statement covers them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from oracle import kernels
from oracle.constants import (
    MAX_OBJECT_KEY_BYTES,
    MAX_OPERATOR_ID_BYTES,
    MAX_OUTPUT_SEGMENTS_PER_MANIFEST,
    MAX_STREAM_ID_BYTES,
    MAX_SUBSCRIPTION_MANIFEST_BYTES,
    OBJECT_KEY_PREFIX,
    OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION,
    PARTITIONING_ABI_VERSION,
    SUBSCRIPTION_PROTOCOL_VERSION,
)
from oracle.digests import node_subscription_digest
from oracle.encoding import canonical_json_bytes
from oracle.formats import Feature
from oracle.model import (
    NodeSubscriptionManifest,
    NodeSubscriptionStreamManifest,
    OutputDistributionCertificate,
    OutputSegmentRef,
    Singleton,
)
from oracle.registry import Finding, Place, family, fault, rule
from oracle.subject import Subject

OUTPUT = "/subscription_output"
_FEATURE = Feature.SUBSCRIPTION_OUTPUT


@rule("subscription.local", feature=_FEATURE)
def subscription_local(subject: Subject) -> Iterator[Place]:
    """There is subscription output but no fence.

    Then subscription.cut and subscription.invalid are not examined.
    """
    manifest = subject.manifest
    if manifest.subscription_output is not None and manifest.assignment_fence is None:
        yield OUTPUT, "a local manifest cannot have subscription output"


@rule("subscription.cut", feature=_FEATURE)
def subscription_cut(subject: Subject) -> Iterator[Place]:
    """The output's epoch, checkpoint_id, participant_id or certificate is not the manifest's.

    Then subscription.invalid is not examined.
    """
    manifest, output = subject.manifest, subject.manifest.subscription_output
    if output is None or manifest.assignment_fence is None:
        return
    for field in ("epoch", "checkpoint_id", "participant_id"):
        found, wanted = getattr(output, field), getattr(manifest, field)
        if found != wanted:
            yield f"{OUTPUT}/{field}", f"{field} is {found}, the manifest's is {wanted}"
    if output.assignment_certificate != manifest.assignment_fence:
        yield f"{OUTPUT}/assignment_certificate", "the certificate is not the manifest's fence"


@family("subscription.invalid", feature=_FEATURE)
def subscription_invalid(subject: Subject) -> Iterator[Finding]:
    """The output has a fault. Only the first counts, and it is reported under its own id."""
    output = subject.manifest.subscription_output
    if output is None or subject.manifest.assignment_fence is None:
        return
    if any(subscription_cut(subject)):
        return
    first = next(_faults(output, subject), None)
    if first is not None:
        yield first


_fault = partial(fault, family="subscription.invalid")
# The owner of a partition is looked up in owned_vnodes: while that list is out of order the
# outcome of the look-up is unspecified, and so is everything that would have come after it.
_after_owner = partial(_fault, unspecified_with=("owned-vnodes.order",))

PROTOCOL = _after_owner(
    "subscription.protocol", "protocol_version of the output, a certificate or a segment is not 1"
)
ATTEMPT = _fault("subscription.attempt", "epoch is 0, or checkpoint_id differs from it")
PARTICIPANT = _fault(
    "subscription.participant", "participant_id is 0, or the certificate does not list it"
)
STREAMS_ORDER = _fault(
    "subscription.streams-order", "streams is not strictly ascending by stream_id"
)
CERTIFICATE_VERSION = _after_owner(
    "subscription.certificate-version", "a certificate's version is not 1"
)
IDENTITY = _after_owner(
    "subscription.identity",
    "stream_id is not 1..=256 bytes or final_operator_id not 1..=512 bytes of UTF-8, "
    "or one starts or ends with Unicode white space",
)
CATALOG_GENERATION = _after_owner(
    "subscription.catalog-generation", "a certificate's catalog_generation is 0"
)
ZERO_DIGEST = _after_owner(
    "subscription.zero-digest",
    "stream_generation, schema_fingerprint, query_fingerprint, key_expressions_fingerprint "
    "or payload_digest is all zero",
)
PIPELINE_IDENTITY = _after_owner(
    "subscription.pipeline-identity",
    "a certificate's pipeline_identity is not of the format's version with sha256 text",
)
ABI = _after_owner("subscription.abi", "a distribution's partition_abi is not 2")
VNODE_COUNT = _after_owner(
    "subscription.vnode-count",
    "a distribution's vnode_count is not the assignment certificate's",
)
PARTITION_RANGE = _after_owner(
    "subscription.partition-range",
    "a singleton's or a range's partition is not below the certificate's vnode_count, "
    "or a segment's is outside its stream's distribution",
)
SINGLETON = _after_owner("subscription.singleton", "a singleton's partition is not 0")
RANGES_ORDER = _after_owner(
    "subscription.ranges-order",
    "a stream's ranges are empty or not strictly ascending by partition",
)
OWNER = _after_owner(
    "subscription.owner",
    "a range's partition is outside its stream's distribution or not in owned_vnodes",
)
SEQUENCE = _after_owner(
    "subscription.sequence", "a range's first_sequence is above its through_sequence"
)
SEGMENTS_MANY = _after_owner("subscription.segments-many", "a stream has above 65,536 segments")
SEGMENTS_ORDER = _after_owner(
    "subscription.segments-order",
    "a stream's segments are not strictly ascending by (partition, first_sequence), "
    "or one belongs to no range",
)
OBJECT_KEY = _after_owner(
    "subscription.object-key",
    "object_key is empty, above 2,048 bytes, not under subscription-output/, or has a backslash "
    "or an empty, . or .. component",
)
GENERATION = _after_owner(
    "subscription.generation", "a segment's stream_generation is not its certificate's"
)
SCHEMA = _after_owner(
    "subscription.schema", "a segment's schema_fingerprint is not its certificate's"
)
SEGMENT_RANGE = _after_owner(
    "subscription.segment-range",
    "a segment's end is not above its first sequence, frame_count is not their difference or "
    "above 1,024, row_count is 0, or encoded_length is not in 1..=16 MiB",
)
SEQUENCE_GAP = _after_owner(
    "subscription.sequence-gap",
    "the segments of a range leave a gap between its first_sequence and through_sequence",
)
SEGMENT_BEYOND = _after_owner(
    "subscription.segment-beyond", "the segments of a range run past its through_sequence"
)
DIGEST = _after_owner(
    "subscription.digest", "manifest_digest is not the digest of the output without it"
)
TOO_LARGE = _after_owner(
    "subscription.too-large", "the canonical encoding of the output is above 8 MiB"
)


def _faults(output: NodeSubscriptionManifest, subject: Subject) -> Iterator[Finding]:
    """Every fault, in the engine's order."""
    yield from _protocol(OUTPUT, output.protocol_version)
    if output.epoch == 0 or output.checkpoint_id != output.epoch:
        yield ATTEMPT.at(f"{OUTPUT}/epoch", "epoch is 0, or checkpoint_id differs from it")
    if output.participant_id == 0 or not output.assignment_certificate.contains(
        output.participant_id
    ):
        yield PARTICIPANT.at(
            f"{OUTPUT}/participant_id",
            f"participant {output.participant_id} is 0 or not in the certificate",
        )
    names = [stream.distribution_certificate.stream_id for stream in output.streams]
    index = kernels.first_disorder(names)
    if index is not None:
        yield STREAMS_ORDER.at(
            f"{OUTPUT}/streams/{index}",
            f"stream {names[index]!r} does not follow {names[index - 1]!r}",
        )
    for index, stream in enumerate(output.streams):
        pointer = f"{OUTPUT}/streams/{index}"
        yield from _certificate(
            f"{pointer}/distribution_certificate", stream.distribution_certificate, output, subject
        )
        yield from _ranges(pointer, stream, output, subject)
        yield from _segments(pointer, stream)
        yield from _sequences(pointer, stream)
    if output.manifest_digest != node_subscription_digest(output):
        yield DIGEST.at(
            f"{OUTPUT}/manifest_digest", f"the digest is {node_subscription_digest(output).hex()}"
        )
    size = len(canonical_json_bytes(output))
    if size > MAX_SUBSCRIPTION_MANIFEST_BYTES:
        yield TOO_LARGE.at(OUTPUT, f"the output is {size} bytes in canonical encoding")


def _protocol(pointer: str, version: int) -> Iterator[Finding]:
    if version != SUBSCRIPTION_PROTOCOL_VERSION:
        yield PROTOCOL.at(
            f"{pointer}/protocol_version",
            f"protocol_version is {version}, not {SUBSCRIPTION_PROTOCOL_VERSION}",
        )


def _zero_digest(pointer: str, digest: bytes) -> Iterator[Finding]:
    if not any(digest):
        yield ZERO_DIGEST.at(pointer, "the digest is all zero")


def _certificate(
    pointer: str,
    certificate: OutputDistributionCertificate,
    output: NodeSubscriptionManifest,
    subject: Subject,
) -> Iterator[Finding]:
    if certificate.version != OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION:
        yield CERTIFICATE_VERSION.at(
            f"{pointer}/version",
            f"version is {certificate.version}, not {OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION}",
        )
    yield from _protocol(pointer, certificate.protocol_version)
    for field, text, most in (
        ("stream_id", certificate.stream_id, MAX_STREAM_ID_BYTES),
        ("final_operator_id", certificate.final_operator_id, MAX_OPERATOR_ID_BYTES),
    ):
        if not 1 <= len(text.encode()) <= most or not kernels.is_trimmed(text):
            yield IDENTITY.at(
                f"{pointer}/{field}", f"{text!r} is not 1..={most} bytes without outer white space"
            )
    if certificate.catalog_generation == 0:
        yield CATALOG_GENERATION.at(f"{pointer}/catalog_generation", "catalog_generation is 0")
    yield from _zero_digest(f"{pointer}/stream_generation", certificate.stream_generation)
    yield from _zero_digest(f"{pointer}/schema_fingerprint", certificate.schema_fingerprint)
    yield from _zero_digest(f"{pointer}/query_fingerprint", certificate.query_fingerprint)
    identity = certificate.pipeline_identity
    wanted = subject.contract.pipeline_identity_version
    if identity.canonical_version != wanted or not kernels.is_sha256_text(identity.sha256):
        yield PIPELINE_IDENTITY.at(
            f"{pointer}/pipeline_identity", f"{identity} is not of version {wanted}"
        )
    yield from _distribution(f"{pointer}/distribution", certificate, output)


def _distribution(
    pointer: str, certificate: OutputDistributionCertificate, output: NodeSubscriptionManifest
) -> Iterator[Finding]:
    distribution = certificate.distribution
    domain = output.assignment_certificate.vnode_count
    if isinstance(distribution, Singleton):
        partition = distribution.partition
        yield from _partition(f"{pointer}/partition", partition, domain)
        if partition != 0:
            yield SINGLETON.at(f"{pointer}/partition", f"the singleton is {partition}, not 0")
        return
    yield from _zero_digest(
        f"{pointer}/key_expressions_fingerprint", distribution.key_expressions_fingerprint
    )
    if distribution.partition_abi != PARTITIONING_ABI_VERSION:
        yield ABI.at(
            f"{pointer}/partition_abi",
            f"partition_abi is {distribution.partition_abi}, not {PARTITIONING_ABI_VERSION}",
        )
    if distribution.vnode_count != domain:
        yield VNODE_COUNT.at(
            f"{pointer}/vnode_count",
            f"vnode_count is {distribution.vnode_count}, the certificate's {domain}",
        )


def _partition(pointer: str, partition: int, domain: int) -> Iterator[Finding]:
    if partition >= domain:
        yield PARTITION_RANGE.at(pointer, f"partition {partition} is not below {domain}")


def _ranges(
    pointer: str,
    stream: NodeSubscriptionStreamManifest,
    output: NodeSubscriptionManifest,
    subject: Subject,
) -> Iterator[Finding]:
    if not stream.ranges or not kernels.strictly_ascending(
        [part.partition for part in stream.ranges]
    ):
        yield RANGES_ORDER.at(f"{pointer}/ranges", "ranges are empty or not strictly ascending")
    distribution = stream.distribution_certificate.distribution
    for index, part in enumerate(stream.ranges):
        place = f"{pointer}/ranges/{index}"
        yield from _partition(
            f"{place}/partition", part.partition, output.assignment_certificate.vnode_count
        )
        if not distribution.contains(part.partition) or (
            part.partition not in subject.owned_vnodes
        ):
            yield OWNER.at(
                f"{place}/partition", f"partition {part.partition} is not this participant's"
            )
        if part.first_sequence > part.through_sequence:
            yield SEQUENCE.at(place, f"{part.first_sequence} is above {part.through_sequence}")


def _segments(pointer: str, stream: NodeSubscriptionStreamManifest) -> Iterator[Finding]:
    count = len(stream.segments)
    if count > MAX_OUTPUT_SEGMENTS_PER_MANIFEST:
        yield SEGMENTS_MANY.at(f"{pointer}/segments", f"the stream has {count} segments")
    keys = [(segment.partition, segment.first_sequence) for segment in stream.segments]
    index = kernels.first_disorder(keys)
    if index is not None:
        yield SEGMENTS_ORDER.at(
            f"{pointer}/segments/{index}", f"{keys[index]} does not follow {keys[index - 1]}"
        )
    for index, segment in enumerate(stream.segments):
        yield from _segment(f"{pointer}/segments/{index}", segment, stream.distribution_certificate)


def _segment(
    pointer: str, segment: OutputSegmentRef, certificate: OutputDistributionCertificate
) -> Iterator[Finding]:
    yield from _protocol(pointer, segment.protocol_version)
    if not is_canonical_object_key(segment.object_key):
        yield OBJECT_KEY.at(f"{pointer}/object_key", f"{segment.object_key!r} is not canonical")
    if segment.stream_generation != certificate.stream_generation:
        yield GENERATION.at(f"{pointer}/stream_generation", "it is not the certificate's")
    if not certificate.distribution.contains(segment.partition):
        yield PARTITION_RANGE.at(
            f"{pointer}/partition", f"partition {segment.partition} is outside the distribution"
        )
    if segment.schema_fingerprint != certificate.schema_fingerprint:
        yield SCHEMA.at(f"{pointer}/schema_fingerprint", "it is not the certificate's")
    yield from _zero_digest(f"{pointer}/payload_digest", segment.payload_digest)
    if not kernels.is_segment_extent(
        segment.first_sequence,
        segment.exclusive_end_sequence,
        segment.frame_count,
        segment.row_count,
        segment.encoded_length,
    ):
        yield SEGMENT_RANGE.at(
            pointer,
            f"{segment.first_sequence}..{segment.exclusive_end_sequence} with "
            f"{segment.frame_count} frames, {segment.row_count} rows and "
            f"{segment.encoded_length} bytes",
        )


def is_canonical_object_key(key: str) -> bool:
    """Whether *key* is a relative path of at most 2,048 bytes below subscription-output/."""
    return (
        key.startswith(OBJECT_KEY_PREFIX)
        and len(key.encode()) <= MAX_OBJECT_KEY_BYTES
        and "\\" not in key
        and not {"", ".", ".."}.intersection(key.split("/"))
    )


_SEQUENCE_FAULTS = {
    "gap": (SEQUENCE_GAP, "the segment starts at {found}, expected {expected}"),
    "beyond": (SEGMENT_BEYOND, "the segment ends at {found}, its range at {expected}"),
    "short": (SEQUENCE_GAP, "the segments end at {found}, expected {expected}"),
    "stray": (SEGMENTS_ORDER, "partition {found} has no range"),
}


def _sequences(pointer: str, stream: NodeSubscriptionStreamManifest) -> Iterator[Finding]:
    ranges = [
        (part.partition, part.first_sequence, part.through_sequence) for part in stream.ranges
    ]
    segments = [
        (segment.partition, segment.first_sequence, segment.exclusive_end_sequence)
        for segment in stream.segments
    ]
    for broken in kernels.sequence_faults(ranges, segments):
        entry, message = _SEQUENCE_FAULTS[broken.kind]
        field = "ranges" if broken.kind == "short" else "segments"
        yield entry.at(
            f"{pointer}/{field}/{broken.index}",
            message.format(found=broken.found, expected=broken.expected),
        )
