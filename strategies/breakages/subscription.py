"""Breakages of subscription output, sealed again so that the intended fault is the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from oracle import (
    MAX_OUTPUT_FRAMES_PER_SEGMENT,
    MAX_OUTPUT_SEGMENT_BYTES,
    MAX_OUTPUT_SEGMENTS_PER_MANIFEST,
    CheckpointManifest,
    NodePartitionRange,
    NodeSubscriptionManifest,
    NodeSubscriptionStreamManifest,
    OutputSegmentRef,
    Singleton,
    VnodePartitioned,
)
from oracle.constants import (
    MAX_OBJECT_KEY_BYTES,
    MAX_OPERATOR_ID_BYTES,
    MAX_STREAM_ID_BYTES,
    MAX_SUBSCRIPTION_MANIFEST_BYTES,
    OBJECT_KEY_PREFIX,
    U16_MAX,
    U64_MAX,
)
from strategies.breakages.registry import (
    Aspect,
    breakage,
    index_of,
    not_sha256,
    rehomed,
    with_item,
)
from strategies.breakages.topology import stranger_to
from strategies.dice import Dice
from strategies.subscriptions import seal
from strategies.traits import Trait

M = CheckpointManifest
ZERO_DIGEST = bytes(32)

ChangeOutput = Callable[[NodeSubscriptionManifest, Dice], NodeSubscriptionManifest]
ChangeStream = Callable[[NodeSubscriptionStreamManifest, Dice], NodeSubscriptionStreamManifest]


def _output(manifest: M) -> NodeSubscriptionManifest:
    assert manifest.subscription_output is not None
    return manifest.subscription_output


def _with_output(manifest: M, **changes: Any) -> M:
    """*manifest* with fields of its output changed, and that sealed again."""
    return replace(manifest, subscription_output=seal(replace(_output(manifest), **changes)))


def with_stream(manifest: M, index: int, **changes: Any) -> M:
    """*manifest* with fields of one stream changed, and sealed again."""
    return _with_output(manifest, streams=with_item(_output(manifest).streams, index, **changes))


def certified(manifest: M, index: int, **changes: Any) -> M:
    """*manifest* with fields of one stream's certificate changed."""
    certificate = _output(manifest).streams[index].distribution_certificate
    return with_stream(manifest, index, distribution_certificate=replace(certificate, **changes))


def _distributed(manifest: M, index: int, **changes: Any) -> M:
    """*manifest* with fields of one stream's distribution changed."""
    distribution: Any = _output(manifest).streams[index].distribution_certificate.distribution
    return certified(manifest, index, distribution=replace(distribution, **changes))


def _any_stream(manifest: M, dice: Dice) -> int:
    return dice.roll(0, len(_output(manifest).streams) - 1)


def _stream_of(manifest: M, dice: Dice, kind: type) -> int:
    return index_of(
        _output(manifest).streams,
        lambda stream: isinstance(stream.distribution_certificate.distribution, kind),
        dice,
    )


def _stream_with_segments(manifest: M, dice: Dice) -> int:
    return index_of(_output(manifest).streams, lambda stream: stream.segments, dice)


def with_segment(
    manifest: M, dice: Dice, change: Callable[[OutputSegmentRef], dict[str, Any]]
) -> M:
    """*manifest* with fields of one segment changed."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    place = dice.roll(0, len(segments) - 1)
    return with_stream(
        manifest, index, segments=with_item(segments, place, **change(segments[place]))
    )


# --- beside the output -----------------------------------------------------------------------


@breakage(
    "subscription.local",
    having={Trait.SUBSCRIPTION},
    without={Trait.UNOWNED_VNODE},
    touches={Aspect.IDENTITY, Aspect.VNODES},
)
def subscription_local(manifest: M, dice: Dice) -> M:
    """The manifest is made local, and keeps its output."""
    moved = rehomed(manifest, participant_id=1)
    clash = {r.chunk for r in manifest.referenced_chunks}
    assert moved.current_chunk not in clash
    return replace(moved, assignment_fence=None, reassignment_portable=False)


@breakage("subscription.cut", "checkpoint", having={Trait.SUBSCRIPTION}, touches={Aspect.IDENTITY})
def cut_checkpoint(manifest: M, dice: Dice) -> M:
    """The output is of the checkpoint next to this one."""
    own = manifest.checkpoint_id
    other = own + 1 if own < U64_MAX else own - 1
    return _with_output(manifest, checkpoint_id=other, epoch=other)


@breakage("subscription.cut", "epoch", having={Trait.SUBSCRIPTION}, touches={Aspect.IDENTITY})
def cut_epoch(manifest: M, dice: Dice) -> M:
    """The output's epoch is the one before."""
    return _with_output(manifest, epoch=manifest.epoch - 1)


@breakage("subscription.cut", "participant", having={Trait.SUBSCRIPTION}, touches={Aspect.IDENTITY})
def cut_participant(manifest: M, dice: Dice) -> M:
    """The output is of another participant, listed or not."""
    assert manifest.assignment_fence is not None
    others = [member.node_id for member in manifest.assignment_fence.participants]
    others.remove(manifest.participant_id)
    return _with_output(manifest, participant_id=dice.pick([stranger_to(manifest), 0, *others]))


@breakage("subscription.cut", "certificate", having={Trait.SUBSCRIPTION})
def cut_certificate(manifest: M, dice: Dice) -> M:
    """The output's certificate is of another assignment, by its version or its digest."""
    fence = _output(manifest).assignment_certificate
    version = fence.assignment_version
    other = dice.pick(
        (
            replace(fence, assignment_version=version + 1 if version < U64_MAX else version - 1),
            replace(fence, assignment_digest=bytes([fence.assignment_digest[0] ^ 1]) + b"\1" * 31),
        )
    )
    return _with_output(manifest, assignment_certificate=other)


# --- the output ------------------------------------------------------------------------------

_NOT_ONE = (2, 0, U16_MAX, 1 + 2**8)


@breakage("subscription.protocol", "output", having={Trait.SUBSCRIPTION})
def protocol(manifest: M, dice: Dice) -> M:
    """The output's protocol is another one."""
    return _with_output(manifest, protocol_version=dice.pick(_NOT_ONE))


@breakage("subscription.protocol", "certificate", having={Trait.STREAM})
def protocol_of_certificate(manifest: M, dice: Dice) -> M:
    """A certificate's protocol is another one."""
    index = _any_stream(manifest, dice)
    return certified(manifest, index, protocol_version=dice.pick(_NOT_ONE))


@breakage("subscription.protocol", "segment", having={Trait.SEGMENT})
def protocol_of_segment(manifest: M, dice: Dice) -> M:
    """A segment's protocol is another one."""
    wrong = dice.pick(_NOT_ONE)
    return with_segment(manifest, dice, lambda segment: {"protocol_version": wrong})


@breakage(
    "subscription.attempt",
    "differs",
    also={"attempt"},
    having={Trait.SUBSCRIPTION},
    touches={Aspect.IDENTITY},
)
def attempt_differs(manifest: M, dice: Dice) -> M:
    """Manifest and output have the same epoch, which is not their checkpoint."""
    own = manifest.checkpoint_id
    epoch = own + 1 if own < U64_MAX else own - 1
    return _with_output(replace(manifest, epoch=epoch), epoch=epoch)


@breakage(
    "subscription.attempt",
    "zero",
    also={"attempt"},
    having={Trait.SUBSCRIPTION},
    without={Trait.OLDER_FRAME},
    touches={Aspect.IDENTITY},
)
def attempt_zero(manifest: M, dice: Dice) -> M:
    """Manifest and output are of checkpoint 0."""
    return _with_output(rehomed(manifest, checkpoint_id=0), checkpoint_id=0, epoch=0)


@breakage(
    "subscription.participant",
    "stranger",
    also={"fence.coverage"},
    having={Trait.SUBSCRIPTION},
    touches={Aspect.IDENTITY},
)
def participant_stranger(manifest: M, dice: Dice) -> M:
    """Manifest and output are of a participant that is not listed."""
    stranger = stranger_to(manifest)
    return _with_output(rehomed(manifest, participant_id=stranger), participant_id=stranger)


@breakage(
    "subscription.participant",
    "zero",
    also={"fence.coverage", "participant"},
    having={Trait.SUBSCRIPTION},
    touches={Aspect.IDENTITY},
)
def participant_zero(manifest: M, dice: Dice) -> M:
    """Manifest and output are of participant 0."""
    return _with_output(rehomed(manifest, participant_id=0), participant_id=0)


@breakage("subscription.streams-order", "repeated", having={Trait.STREAM})
def streams_repeated(manifest: M, dice: Dice) -> M:
    """A stream is listed twice."""
    streams = _output(manifest).streams
    return _with_output(manifest, streams=(streams[0], *streams))


@breakage("subscription.streams-order", "swapped", having={Trait.SEVERAL_STREAMS})
def streams_swapped(manifest: M, dice: Dice) -> M:
    """Two streams are swapped."""
    streams = _output(manifest).streams
    return _with_output(manifest, streams=(streams[1], streams[0], *streams[2:]))


@breakage("subscription.digest", having={Trait.SUBSCRIPTION})
def digest(manifest: M, dice: Dice) -> M:
    """One bit of the digest is another."""
    output = _output(manifest)
    bit = dice.roll(0, 255)
    changed = int.from_bytes(output.manifest_digest, "little") ^ (1 << bit)
    return replace(
        manifest,
        subscription_output=replace(output, manifest_digest=changed.to_bytes(32, "little")),
    )


# --- certificates ----------------------------------------------------------------------------


@breakage("subscription.certificate-version", having={Trait.STREAM})
def certificate_version(manifest: M, dice: Dice) -> M:
    """A certificate's version is another one."""
    return certified(manifest, _any_stream(manifest, dice), version=dice.pick(_NOT_ONE))


_PADDED = ("{} ", " {}", "{}\n", "\u3000{}", "{}\x85", "{}\u2028", "{}\t", "\xa0{}")


@breakage("subscription.identity", "stream", having={Trait.STREAM}, without={Trait.SEVERAL_STREAMS})
def identity_of_stream(manifest: M, dice: Dice) -> M:
    """The stream's id is empty, one byte too long, or padded with white space."""
    wrong = (
        "",
        "s" * (MAX_STREAM_ID_BYTES + 1),
        "é" * (MAX_STREAM_ID_BYTES // 2) + "s",
        *(padded.format("a") for padded in _PADDED),
    )
    return certified(manifest, 0, stream_id=dice.pick(wrong))


@breakage("subscription.identity", "operator", having={Trait.STREAM})
def identity_of_operator(manifest: M, dice: Dice) -> M:
    """The final operator's id is empty, one byte too long, or padded with white space."""
    wrong = (
        "",
        "o" * (MAX_OPERATOR_ID_BYTES + 1),
        "é" * (MAX_OPERATOR_ID_BYTES // 2) + "o",
        *(padded.format("a") for padded in _PADDED),
    )
    return certified(manifest, _any_stream(manifest, dice), final_operator_id=dice.pick(wrong))


@breakage("subscription.catalog-generation", having={Trait.STREAM})
def catalog_generation(manifest: M, dice: Dice) -> M:
    """The generation 0."""
    return certified(manifest, _any_stream(manifest, dice), catalog_generation=0)


@breakage("subscription.zero-digest", "certificate", having={Trait.STREAM})
def zero_digest_of_certificate(manifest: M, dice: Dice) -> M:
    """A digest of a certificate is all zero."""
    field = dice.pick(("stream_generation", "schema_fingerprint", "query_fingerprint"))
    return certified(manifest, _any_stream(manifest, dice), **{field: ZERO_DIGEST})


@breakage("subscription.zero-digest", "distribution", having={Trait.PARTITIONED_STREAM})
def zero_digest_of_distribution(manifest: M, dice: Dice) -> M:
    """The digest of a stream's key expressions is all zero."""
    index = _stream_of(manifest, dice, VnodePartitioned)
    return _distributed(manifest, index, key_expressions_fingerprint=ZERO_DIGEST)


@breakage("subscription.zero-digest", "segment", having={Trait.SEGMENT})
def zero_digest_of_segment(manifest: M, dice: Dice) -> M:
    """The digest of a segment's payload is all zero."""
    return with_segment(manifest, dice, lambda segment: {"payload_digest": ZERO_DIGEST})


@breakage(
    "subscription.pipeline-identity", "version", having={Trait.STREAM}, touches={Aspect.PIPELINE}
)
def pipeline_version(manifest: M, dice: Dice) -> M:
    """A certificate's pipeline is of another canonical version."""
    identity = manifest.pipeline_identity
    version = identity.canonical_version
    return certified(
        manifest,
        _any_stream(manifest, dice),
        pipeline_identity=replace(
            identity, canonical_version=dice.pick((version + 1, version - 1, 0))
        ),
    )


@breakage(
    "subscription.pipeline-identity", "digest", having={Trait.STREAM}, touches={Aspect.PIPELINE}
)
def pipeline_digest(manifest: M, dice: Dice) -> M:
    """A certificate's pipeline has a digest that is not SHA-256 text."""
    identity = manifest.pipeline_identity
    return certified(
        manifest,
        _any_stream(manifest, dice),
        pipeline_identity=replace(identity, sha256=not_sha256(dice, identity.sha256)),
    )


# --- distributions ---------------------------------------------------------------------------


@breakage("subscription.abi", having={Trait.PARTITIONED_STREAM})
def abi(manifest: M, dice: Dice) -> M:
    """A stream is partitioned by another ABI."""
    index = _stream_of(manifest, dice, VnodePartitioned)
    return _distributed(manifest, index, partition_abi=dice.pick((1, 3, 0, U16_MAX)))


@breakage("subscription.vnode-count", having={Trait.PARTITIONED_STREAM})
def vnode_count(manifest: M, dice: Dice) -> M:
    """A stream is partitioned over one vnode fewer or, where there is room, more."""
    index = _stream_of(manifest, dice, VnodePartitioned)
    count = manifest.vnode_count
    wrong = [count - 1] if count == U16_MAX else [count + 1, count - 1]
    return _distributed(manifest, index, vnode_count=dice.pick(wrong))


@breakage("subscription.partition-range", "singleton", having={Trait.SINGLETON_STREAM})
def singleton_beyond(manifest: M, dice: Dice) -> M:
    """A singleton's partition is the first that is not in the domain."""
    index = _stream_of(manifest, dice, Singleton)
    return _distributed(manifest, index, partition=manifest.vnode_count)


@breakage("subscription.singleton", having={Trait.SINGLETON_STREAM, Trait.SEVERAL_VNODES})
def singleton_elsewhere(manifest: M, dice: Dice) -> M:
    """A singleton's partition is in the domain, and not 0."""
    index = _stream_of(manifest, dice, Singleton)
    return _distributed(manifest, index, partition=dice.pick((1, manifest.vnode_count - 1)))


# --- ranges ----------------------------------------------------------------------------------


def _any_range(manifest: M, dice: Dice, index: int) -> int:
    return dice.roll(0, len(_output(manifest).streams[index].ranges) - 1)


def _with_range(manifest: M, index: int, place: int, **changes: Any) -> M:
    ranges = _output(manifest).streams[index].ranges
    return with_stream(manifest, index, ranges=with_item(ranges, place, **changes))


@breakage("subscription.ranges-order", "empty", having={Trait.STREAM})
def ranges_empty(manifest: M, dice: Dice) -> M:
    """A stream has no range."""
    return with_stream(manifest, _any_stream(manifest, dice), ranges=())


@breakage("subscription.ranges-order", "repeated", having={Trait.STREAM})
def ranges_repeated(manifest: M, dice: Dice) -> M:
    """A partition has two ranges."""
    index = _any_stream(manifest, dice)
    ranges = _output(manifest).streams[index].ranges
    return with_stream(manifest, index, ranges=(ranges[0], *ranges))


@breakage("subscription.ranges-order", "swapped", having={Trait.STREAM})
def ranges_swapped(manifest: M, dice: Dice) -> M:
    """A range stands before one of a lesser partition."""
    index = _any_stream(manifest, dice)
    ranges = _output(manifest).streams[index].ranges
    last = replace(ranges[-1], partition=ranges[-1].partition + 1)
    return with_stream(manifest, index, ranges=(*ranges[:-1], last, ranges[-1]))


@breakage("subscription.partition-range", "range", having={Trait.STREAM})
def range_beyond(manifest: M, dice: Dice) -> M:
    """The last range is of the first partition that is not in the domain."""
    index = _any_stream(manifest, dice)
    last = len(_output(manifest).streams[index].ranges) - 1
    return _with_range(manifest, index, last, partition=manifest.vnode_count)


@breakage(
    "subscription.owner",
    "not-owned",
    having={Trait.PARTITIONED_STREAM, Trait.UNOWNED_VNODE},
)
def range_not_owned(manifest: M, dice: Dice) -> M:
    """The only range is of another participant's partition."""
    index = _stream_of(manifest, dice, VnodePartitioned)
    owned = set(manifest.owned_vnodes)
    others = [vnode for vnode in range(manifest.vnode_count) if vnode not in owned][:256]
    part = replace(_output(manifest).streams[index].ranges[0], partition=dice.pick(others))
    return with_stream(manifest, index, ranges=(part,))


@breakage("subscription.owner", "singleton", having={Trait.SINGLETON_STREAM, Trait.SEVERAL_VNODES})
def range_not_of_singleton(manifest: M, dice: Dice) -> M:
    """A range of a singleton is of another partition than 0."""
    index = _stream_of(manifest, dice, Singleton)
    return _with_range(manifest, index, 0, partition=dice.pick((1, manifest.vnode_count - 1)))


@breakage("subscription.sequence", having={Trait.STREAM})
def range_reversed(manifest: M, dice: Dice) -> M:
    """A range ends one before it starts."""
    index = _any_stream(manifest, dice)
    place = _any_range(manifest, dice, index)
    part = _output(manifest).streams[index].ranges[place]
    if part.through_sequence == U64_MAX:
        return _with_range(manifest, index, place, first_sequence=1, through_sequence=0)
    return _with_range(manifest, index, place, first_sequence=part.through_sequence + 1)


# --- segments --------------------------------------------------------------------------------


@breakage("subscription.segments-order", "repeated", having={Trait.SEGMENT})
def segments_repeated(manifest: M, dice: Dice) -> M:
    """A segment is listed twice."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    return with_stream(manifest, index, segments=(segments[0], *segments))


@breakage("subscription.segments-order", "swapped", having={Trait.SEGMENT})
def segments_swapped(manifest: M, dice: Dice) -> M:
    """A segment stands before one of its partition that starts earlier."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    first = segments[0].first_sequence
    early = replace(segments[0], first_sequence=first - 1) if first else segments[0]
    late = segments[0] if first else replace(segments[0], first_sequence=1)
    return with_stream(manifest, index, segments=(late, early, *segments[1:]))


@breakage(
    "subscription.segments-order",
    "left-over",
    having={Trait.PARTITIONED_STREAM, Trait.SEGMENT, Trait.SEVERAL_VNODES},
    without={Trait.SINGLETON_STREAM, Trait.UNOWNED_VNODE},
)
def segments_left_over(manifest: M, dice: Dice) -> M:
    """The only range is of another partition than the segments."""
    index = _stream_with_segments(manifest, dice)
    partition = _output(manifest).streams[index].segments[0].partition
    other = next(vnode for vnode in manifest.owned_vnodes if vnode != partition)
    return with_stream(
        manifest,
        index,
        ranges=(NodePartitionRange(other, 0, 0),),
        segments=_output(manifest).streams[index].segments[:1],
    )


def _object_keys(key: str) -> tuple[str, ...]:
    """Keys that are not canonical, each by one of the rules."""
    longest = MAX_OBJECT_KEY_BYTES + 1
    return (
        "",
        key[1:],
        "/" + key,
        OBJECT_KEY_PREFIX,
        OBJECT_KEY_PREFIX.removesuffix("/"),
        key + "/",
        key + "/..",
        key + "/./x",
        key.replace(OBJECT_KEY_PREFIX, OBJECT_KEY_PREFIX + "/"),
        key.replace(OBJECT_KEY_PREFIX, OBJECT_KEY_PREFIX + "../"),
        key + "\\x",
        key + "k" * (longest - len(key.encode())),
        key + "é" * ((longest - len(key.encode()) + 1) // 2),
        key.capitalize(),
    )


@breakage("subscription.object-key", having={Trait.SEGMENT})
def object_key(manifest: M, dice: Dice) -> M:
    """A segment's key is not canonical, by one of the rules for it."""
    number = dice.roll(0, len(_object_keys("")) - 1)
    return with_segment(
        manifest, dice, lambda segment: {"object_key": _object_keys(segment.object_key)[number]}
    )


@breakage("subscription.generation", having={Trait.SEGMENT})
def generation(manifest: M, dice: Dice) -> M:
    """A segment is of another generation of the stream."""
    return with_segment(manifest, dice, lambda segment: {"stream_generation": b"\xff" * 32})


@breakage("subscription.schema", having={Trait.SEGMENT})
def schema(manifest: M, dice: Dice) -> M:
    """A segment is of another schema."""
    return with_segment(manifest, dice, lambda segment: {"schema_fingerprint": b"\xff" * 32})


@breakage("subscription.partition-range", "segment", having={Trait.SEGMENT})
def segment_beyond_domain(manifest: M, dice: Dice) -> M:
    """The last segment is of a partition outside its stream's distribution."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    return with_stream(
        manifest,
        index,
        segments=with_item(segments, len(segments) - 1, partition=manifest.vnode_count),
    )


def _segment_range(way: str, change: Callable[[OutputSegmentRef], dict[str, Any]]) -> None:
    @breakage("subscription.segment-range", way, having={Trait.SEGMENT})
    def segment_range(manifest: M, dice: Dice) -> M:
        return with_segment(manifest, dice, change)


_segment_range("rows", lambda segment: {"row_count": 0})
_segment_range("empty-encoding", lambda segment: {"encoded_length": 0})
_segment_range("long-encoding", lambda segment: {"encoded_length": MAX_OUTPUT_SEGMENT_BYTES + 1})
_segment_range("frames-above", lambda segment: {"frame_count": segment.frame_count + 1})
_segment_range("frames-below", lambda segment: {"frame_count": segment.frame_count - 1})
_segment_range(
    "no-frames", lambda s: {"exclusive_end_sequence": s.first_sequence, "frame_count": 0}
)


@breakage("subscription.segment-range", "many-frames", having={Trait.SEGMENT})
def segment_many_frames(manifest: M, dice: Dice) -> M:
    """A segment of one frame more than a segment may have; its count is right."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    most = MAX_OUTPUT_FRAMES_PER_SEGMENT + 1
    last = segments[-1]
    end = min(last.first_sequence + most, U64_MAX)
    return with_stream(
        manifest,
        index,
        segments=with_item(
            segments,
            len(segments) - 1,
            first_sequence=max(end - most, segments[-1].first_sequence)
            if end - most >= last.first_sequence
            else last.first_sequence,
            exclusive_end_sequence=end,
            frame_count=most,
        ),
    )


def _part_of_segment(manifest: M, dice: Dice) -> tuple[int, int]:
    """A stream with segments, and the place of the range of its first one."""
    index = _stream_with_segments(manifest, dice)
    stream = _output(manifest).streams[index]
    partition = stream.segments[0].partition
    place = next(i for i, part in enumerate(stream.ranges) if part.partition == partition)
    return index, place


@breakage("subscription.sequence-gap", "end", having={Trait.STREAM})
def gap_at_end(manifest: M, dice: Dice) -> M:
    """A range goes on for one sequence that no segment has, or starts one before they do."""
    index = _any_stream(manifest, dice)
    place = _any_range(manifest, dice, index)
    part = _output(manifest).streams[index].ranges[place]
    if part.through_sequence == U64_MAX:
        return _with_range(manifest, index, place, first_sequence=part.first_sequence - 1)
    return _with_range(manifest, index, place, through_sequence=part.through_sequence + 1)


@breakage("subscription.sequence-gap", "missing", having={Trait.SEGMENT})
def gap_of_segment(manifest: M, dice: Dice) -> M:
    """A segment is missing."""
    index = _stream_with_segments(manifest, dice)
    segments = _output(manifest).streams[index].segments
    place = dice.roll(0, len(segments) - 1)
    return with_stream(manifest, index, segments=(*segments[:place], *segments[place + 1 :]))


@breakage("subscription.segment-beyond", having={Trait.SEGMENT})
def segment_beyond(manifest: M, dice: Dice) -> M:
    """The segments of a range go on for one sequence after it."""
    index, place = _part_of_segment(manifest, dice)
    part = _output(manifest).streams[index].ranges[place]
    return _with_range(manifest, index, place, through_sequence=part.through_sequence - 1)


# --- too much of it --------------------------------------------------------------------------


def filled(
    manifest: M,
    dice: Dice,
    count: int,
    key: Callable[[int], str],
    digest: Callable[[int], bytes] = lambda number: b"\1" * 32,
) -> M:
    """Give a stream *count* segments of one frame each, all of its first partition."""
    index = _stream_with_segments(manifest, dice)
    stream = _output(manifest).streams[index]
    template = replace(stream.segments[0], frame_count=1)
    segments = tuple(
        replace(
            template,
            object_key=key(number),
            first_sequence=number,
            exclusive_end_sequence=number + 1,
            payload_digest=digest(number),
        )
        for number in range(count)
    )
    part = NodePartitionRange(template.partition, 0, count)
    return with_stream(manifest, index, ranges=(part,), segments=segments)


@breakage("subscription.segments-many", having={Trait.SEGMENT}, heavy=True)
def segments_many(manifest: M, dice: Dice) -> M:
    """One segment more than a stream may have."""
    return filled(
        manifest,
        dice,
        MAX_OUTPUT_SEGMENTS_PER_MANIFEST + 1,
        lambda number: f"{OBJECT_KEY_PREFIX}{number}",
    )


@breakage("subscription.too-large", having={Trait.SEGMENT}, heavy=True)
def too_large(manifest: M, dice: Dice) -> M:
    """Above 8 MiB in canonical encoding, by keys of control characters, six bytes each."""
    room = MAX_OBJECT_KEY_BYTES - len(OBJECT_KEY_PREFIX) - len("00000")
    count = MAX_SUBSCRIPTION_MANIFEST_BYTES // (6 * room)
    return filled(
        manifest, dice, count + 1, lambda number: f"{OBJECT_KEY_PREFIX}{number:05}" + "\1" * room
    )
