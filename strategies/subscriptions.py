"""Subscription output: streams with their certificates, ranges and segments, sealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

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
from strategies.scene import Scene
from strategies.traits import Trait, Wishes

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


@cache
def digest_of(*of: object) -> bytes:
    """A made-up digest that stands for *of*."""
    return sha256(repr(of).encode()).digest()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment before it is placed: so many frames of so many rows in so many bytes."""

    frames: int
    rows: int
    encoded_length: int


def certificates(
    scene: Scene, *, singleton: bool
) -> SearchStrategy[OutputDistributionCertificate]:
    """A certificate of one stream whose id is still to be given."""
    return st.builds(
        lambda catalog_generation, operator, mode, retention: OutputDistributionCertificate(
            version=OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION,
            protocol_version=SUBSCRIPTION_PROTOCOL_VERSION,
            stream_id="",
            catalog_generation=catalog_generation,
            stream_generation=digest_of(scene.salt, "generation", catalog_generation),
            final_operator_id=operator,
            distribution=Singleton(0)
            if singleton
            else VnodePartitioned(
                key_expressions_fingerprint=digest_of(scene.salt, "keys"),
                partition_abi=PARTITIONING_ABI_VERSION,
                vnode_count=scene.vnode_count,
            ),
            schema_fingerprint=digest_of(scene.salt, "schema"),
            changelog_mode=mode,
            history_retention_bytes=retention,
            query_fingerprint=digest_of(scene.salt, "query"),
            pipeline_identity=scene.pipeline_identity,
        ),
        _CATALOG_GENERATIONS,
        _OPERATORS,
        _MODES,
        _RETENTIONS,
    )


_CATALOG_GENERATIONS = st.integers(1, U64_MAX)
_OPERATORS = st.sampled_from(OPERATOR_IDS)
_MODES = st.sampled_from(ChangelogMode)
_RETENTIONS = st.sampled_from((0, 1, 2**30, U64_MAX))
_SEQUENCES = st.one_of(st.integers(0, 2**20), st.sampled_from((U64_MAX,)))
_SEGMENTS = st.builds(
    _Segment,
    st.sampled_from((1, 2, 100, MAX_OUTPUT_FRAMES_PER_SEGMENT)),
    st.sampled_from((1, 1_000, U64_MAX)),
    st.sampled_from((1, 4_096, MAX_OUTPUT_SEGMENT_BYTES)),
)


@cache
def _segment_lists(min_size: int) -> SearchStrategy[list[_Segment]]:
    return st.lists(_SEGMENTS, min_size=min_size, max_size=2)


def draw_streams(
    draw: DrawFn, wishes: Wishes, scene: Scene, owned: Sequence[int]
) -> list[NodeSubscriptionStreamManifest]:
    """Streams of a participant that owns *owned*, in order of their ids."""
    kinds = _draw_kinds(draw, wishes, owned)
    ids = draw(_stream_ids(len(kinds)))
    streams = []
    for number, (stream_id, singleton) in enumerate(zip(sorted(ids), kinds, strict=True)):
        certificate = replace(draw(certificates(scene, singleton=singleton)), stream_id=stream_id)
        partitions = [0] if singleton else _draw_partitions(draw, owned)
        fewest = int(not number and wishes.demands(Trait.SEGMENT))
        streams.append(draw_stream(draw, scene, certificate, partitions, fewest, wishes))
    return streams


@cache
def _stream_ids(size: int) -> SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(STREAM_IDS), min_size=size, max_size=size, unique=True)


@cache
def _numbers(least: int, greatest: int) -> SearchStrategy[int]:
    return st.integers(least, greatest)


def _draw_kinds(draw: DrawFn, wishes: Wishes, owned: Sequence[int]) -> list[bool]:
    """Whether each stream is a singleton; vnode 0 may be someone else's, and so the singleton."""
    kinds = [trait is Trait.SINGLETON_STREAM for trait in _KINDS if trait in wishes.having]
    least = 2 if wishes.demands(Trait.SEVERAL_STREAMS) else int(wishes.demands(Trait.STREAM))
    most = 2 if wishes.allows(Trait.SEVERAL_STREAMS) else int(wishes.allows(Trait.STREAM))
    more = draw(_numbers(least, most)) - len(kinds)
    may_be = [
        trait is Trait.SINGLETON_STREAM
        for trait in _KINDS
        if wishes.allows(trait) and (trait is not Trait.SINGLETON_STREAM or owned[0] == 0)
    ]
    if may_be:
        kinds += [may_be[draw(_numbers(0, len(may_be) - 1))] for _ in range(more)]
    return kinds


_KINDS = (Trait.PARTITIONED_STREAM, Trait.SINGLETON_STREAM)


def _draw_partitions(draw: DrawFn, owned: Sequence[int]) -> Sequence[int]:
    """A run of the owned vnodes."""
    first = draw(_numbers(0, len(owned) - 1))
    return owned[first : first + draw(_numbers(1, 3))]


def draw_stream(
    draw: DrawFn,
    scene: Scene,
    certificate: OutputDistributionCertificate,
    partitions: Sequence[int],
    fewest_segments: int,
    wishes: Wishes,
) -> NodeSubscriptionStreamManifest:
    """One stream, of exactly *partitions*, the first of them with *fewest_segments* at least."""
    ranges: list[NodePartitionRange] = []
    segments: list[OutputSegmentRef] = []
    with_segments = wishes.allows(Trait.SEGMENT)
    for partition in partitions:
        parts = draw(_segment_lists(0 if ranges else fewest_segments)) if with_segments else []
        first = min(draw(_SEQUENCES), U64_MAX - sum(part.frames for part in parts))
        cursor = first
        for part in parts:
            segments.append(_segment(scene, certificate, partition, cursor, part))
            cursor += part.frames
        ranges.append(NodePartitionRange(partition, first, cursor))
    return NodeSubscriptionStreamManifest(certificate, tuple(ranges), tuple(segments))


def _segment(
    scene: Scene,
    certificate: OutputDistributionCertificate,
    partition: int,
    first: int,
    part: _Segment,
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
        exclusive_end_sequence=first + part.frames,
        frame_count=part.frames,
        row_count=part.rows,
        encoded_length=part.encoded_length,
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
