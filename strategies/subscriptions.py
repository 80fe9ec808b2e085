"""Subscription output: streams with their certificates, ranges and segments, sealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

from oracle import (
    MAX_OUTPUT_FRAMES_PER_SEGMENT,
    MAX_OUTPUT_SEGMENT_BYTES,
    OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION,
    PARTITIONING_ABI_VERSION,
    SUBSCRIPTION_PROTOCOL_VERSION,
    ChangelogMode,
    NodePartitionRange,
    NodeSubscriptionManifest,
    NodeSubscriptionStreamManifest,
    OutputDistributionCertificate,
    OutputSegmentRef,
    Singleton,
    VnodePartitioned,
    node_subscription_digest,
)
from oracle.constants import (
    MAX_OPERATOR_ID_BYTES,
    MAX_STREAM_ID_BYTES,
    OBJECT_KEY_PREFIX,
    U64_MAX,
)
from strategies.choices import Choices
from strategies.scene import Scene
from strategies.traits import Trait

STREAM_IDS = (
    "a",
    "b",
    "positions",
    "é",
    "\uffff",
    "\U00010000",
    "\u200bx",  # zero width, and yet no white space
    "\x1fx",  # white space to Python alone
    "s" * MAX_STREAM_ID_BYTES,
    "é" * (MAX_STREAM_ID_BYTES // 2),
)
"""Stream ids at the edges of what a certificate takes: length in bytes, trimming, order."""

OPERATOR_IDS = ("a", "stream:a", "o" * MAX_OPERATOR_ID_BYTES, "\U0010ffff")


def seal(output: NodeSubscriptionManifest) -> NodeSubscriptionManifest:
    """*output* with the digest that belongs to it."""
    return replace(output, manifest_digest=node_subscription_digest(output))


@lru_cache(maxsize=2**14)
def digest_of(*of: object) -> bytes:
    """A made-up digest that stands for *of*."""
    return sha256(repr(of).encode()).digest()


_RETENTIONS = (0, 1, 2**30, U64_MAX)
_MODES = tuple(ChangelogMode)
_KINDS = (Trait.PARTITIONED_STREAM, Trait.SINGLETON_STREAM)


def streams_of(
    choices: Choices, scene: Scene, owned: Sequence[int]
) -> list[NodeSubscriptionStreamManifest]:
    """Streams of a participant that owns *owned*, in order of their ids."""
    kinds = _kinds(choices, owned)
    ids = sorted(choices.subset(STREAM_IDS, len(kinds)))
    streams = []
    for number, (stream_id, kind) in enumerate(zip(ids, kinds, strict=True)):
        singleton = kind is Trait.SINGLETON_STREAM
        certificate = certificate_of(choices, scene, stream_id, singleton=singleton)
        partitions = [0] if singleton else _partitions(choices, owned)
        streams.append(stream_of(choices, scene, certificate, partitions, due=not number))
    return streams


def _kinds(choices: Choices, owned: Sequence[int]) -> list[Trait]:
    """What each stream is; without vnode 0, which owns the singletons, no singleton."""
    wished = choices.wished
    kinds = [kind for kind in _KINDS if kind in wished.having]
    least = 2 if wished.demands(Trait.SEVERAL_STREAMS) else int(wished.demands(Trait.STREAM))
    most = 2 if wished.allows(Trait.SEVERAL_STREAMS) else int(wished.allows(Trait.STREAM))
    allowed = [kind for kind in _KINDS if wished.allows(kind)]
    if owned[0] != 0 and Trait.SINGLETON_STREAM in allowed:
        allowed.remove(Trait.SINGLETON_STREAM)
    if allowed:
        more = choices.roll(least, most) - len(kinds)
        kinds += [choices.pick(allowed) for _ in range(more)]
    return kinds


def certificate_of(
    choices: Choices, scene: Scene, stream_id: str, *, singleton: bool
) -> OutputDistributionCertificate:
    """A certificate for the stream *stream_id*."""
    return OutputDistributionCertificate(
        version=OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION,
        protocol_version=SUBSCRIPTION_PROTOCOL_VERSION,
        stream_id=stream_id,
        catalog_generation=1 + choices.number(choices.pick((1, 7))),
        stream_generation=digest_of(scene.salt, "generation", stream_id),
        final_operator_id=choices.pick(OPERATOR_IDS),
        distribution=Singleton(0)
        if singleton
        else VnodePartitioned(
            key_expressions_fingerprint=digest_of(scene.salt, "keys", stream_id),
            partition_abi=PARTITIONING_ABI_VERSION,
            vnode_count=scene.vnode_count,
        ),
        schema_fingerprint=digest_of(scene.salt, "schema", stream_id),
        changelog_mode=choices.pick(_MODES),
        history_retention_bytes=choices.pick(_RETENTIONS),
        query_fingerprint=digest_of(scene.salt, "query", stream_id),
        pipeline_identity=scene.pipeline_identity,
    )


def _partitions(choices: Choices, owned: Sequence[int]) -> Sequence[int]:
    """A run of the owned vnodes."""
    first = choices.roll(0, min(len(owned) - 1, 255))
    return owned[first : first + choices.roll(1, 3)]


_FRAME_COUNTS = (1, 2, 100, MAX_OUTPUT_FRAMES_PER_SEGMENT)
_ROW_COUNTS = (1, 1_000, U64_MAX)
_ENCODED_LENGTHS = (1, 4_096, MAX_OUTPUT_SEGMENT_BYTES)


def stream_of(
    choices: Choices,
    scene: Scene,
    certificate: OutputDistributionCertificate,
    partitions: Sequence[int],
    *,
    due: bool,
) -> NodeSubscriptionStreamManifest:
    """A stream of exactly *partitions*; where *due*, the first has segments if these are wished."""
    ranges: list[NodePartitionRange] = []
    segments: list[OutputSegmentRef] = []
    for partition in partitions:
        frames: list[int] = []
        if choices.has(Trait.SEGMENT, due=due and not ranges):
            frames = [choices.pick(_FRAME_COUNTS) for _ in range(choices.roll(1, 2))]
        latest = U64_MAX - sum(frames)
        first = latest if choices.once_in(8) else choices.number(choices.roll(0, 3))
        cursor = first
        for count in frames:
            segments.append(_segment(choices, scene, certificate, partition, cursor, count))
            cursor += count
        ranges.append(NodePartitionRange(partition, first, cursor))
    return NodeSubscriptionStreamManifest(certificate, tuple(ranges), tuple(segments))


def _segment(
    choices: Choices,
    scene: Scene,
    certificate: OutputDistributionCertificate,
    partition: int,
    first: int,
    frames: int,
) -> OutputSegmentRef:
    stream = certificate.stream_id.encode().hex()[:32]
    generation = certificate.stream_generation.hex()[:8]
    return OutputSegmentRef(
        protocol_version=SUBSCRIPTION_PROTOCOL_VERSION,
        object_key=f"{OBJECT_KEY_PREFIX}{scene.deployment_id}/{stream}/{generation}/"
        f"{partition:05}/{first:020}.seg",
        stream_generation=certificate.stream_generation,
        partition=partition,
        first_sequence=first,
        exclusive_end_sequence=first + frames,
        frame_count=frames,
        row_count=choices.pick(_ROW_COUNTS),
        encoded_length=choices.pick(_ENCODED_LENGTHS),
        schema_fingerprint=certificate.schema_fingerprint,
        payload_digest=digest_of(scene.salt, certificate.stream_id, partition, first),
    )


def output_of(
    scene: Scene, participant_id: int, streams: Sequence[NodeSubscriptionStreamManifest]
) -> NodeSubscriptionManifest:
    """The sealed output of one participant."""
    assert scene.fence is not None, "only a cluster has subscription output"
    return seal(
        NodeSubscriptionManifest(
            protocol_version=SUBSCRIPTION_PROTOCOL_VERSION,
            epoch=scene.checkpoint_id,
            checkpoint_id=scene.checkpoint_id,
            participant_id=participant_id,
            assignment_certificate=scene.fence,
            streams=tuple(streams),
            manifest_digest=b"",
        )
    )
