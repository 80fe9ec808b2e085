"""Manifests that stand just inside a bound: one step from a corruption, and valid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from oracle import (
    MAX_OUTPUT_FRAMES_PER_SEGMENT,
    MAX_OUTPUT_SEGMENT_BYTES,
    RULES,
    V10,
    ByteRange,
    CheckpointManifest,
    Contract,
    EventTimeBounds,
    NodePartitionRange,
    Vnode,
    encode,
)
from oracle.constants import (
    I64_MAX,
    I64_MIN,
    MAX_OBJECT_KEY_BYTES,
    MAX_OPERATOR_ID_BYTES,
    MAX_STREAM_ID_BYTES,
    OBJECT_KEY_PREFIX,
    U64_MAX,
)
from strategies.breakages.objects import with_reference
from strategies.breakages.registry import VIEW_LOGS, edit
from strategies.breakages.subscription import (
    certified,
    with_segment,
    with_stream,
)
from strategies.dice import Dice, dice
from strategies.manifests import manifests
from strategies.traits import Trait
from strategies.view_logs import filled_up, segments_of

_BYTES_OF_DICE = 4

M = CheckpointManifest
Step = Callable[..., M]
"""Takes the manifest and the dice, and where a number of the format matters the contract."""


@dataclass(frozen=True)
class Boundary:
    """A valid manifest that one step more would break the rule ``rule`` of."""

    name: str
    rule: str
    manifest: CheckpointManifest
    contract: Contract

    @property
    def document(self) -> bytes:
        """The canonical encoding."""
        return encode(self.manifest, self.contract)


@dataclass(frozen=True, slots=True)
class _Bound:
    rule: str
    having: frozenset[Trait]
    without: frozenset[Trait]
    step: Step
    by_contract: bool


BOUNDS: dict[str, _Bound] = {}
"""Every bound by name: the rule's id and, after a slash, which end of what."""


def _bound(
    rule: str,
    which: str,
    *,
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
    by_contract: bool = False,
) -> Callable[[Step], Step]:
    assert rule in RULES, f"{rule} is no rule"

    def register(step: Step) -> Step:
        BOUNDS[f"{rule}/{which}"] = _Bound(
            rule, frozenset(having), frozenset(without), step, by_contract
        )
        return step

    return register


def boundaries(
    contract: Contract = V10, *, names: Iterable[str] | None = None
) -> SearchStrategy[Boundary]:
    """Valid manifests at a bound, of all in *contract* or of those called *names*.

    A loader that is off by one refuses them. Shrinks to the first of the bounds, in the smallest
    manifest that can stand there.
    """
    known = [
        name
        for name, bound in BOUNDS.items()
        if contract.has(RULES[bound.rule].feature)
        and all(contract.has(trait.feature) for trait in bound.having)
    ]
    asked = known if names is None else list(names)
    if not asked or not set(asked) <= set(known):
        raise InvalidArgument(f"names={names!r}: bounds of format {contract.name} are {known}")
    return st.one_of(*(_at(name, contract) for name in asked))


@cache
def _at(name: str, contract: Contract) -> SearchStrategy[Boundary]:
    bound = BOUNDS[name]

    def stepped(manifest: CheckpointManifest, rolled: Dice) -> Boundary:
        more = (contract,) if bound.by_contract else ()
        return Boundary(name, bound.rule, bound.step(manifest, rolled, *more), contract)

    valid = manifests(contract, having=bound.having, without=bound.without)
    return st.builds(stepped, valid, dice(_BYTES_OF_DICE))


def _as_generated(manifest: M, dice: Dice) -> M:
    return manifest


# What generation reaches by itself.
_bound("vnode-count", "most", having={Trait.MAX_VNODES})(_as_generated)
_bound("fence.coverage", "participants", having={Trait.MAX_PARTICIPANTS})(_as_generated)
_bound("frames.range-overflow", "last-byte", having={Trait.U64_END})(_as_generated)
_bound("segments.rows", "last-row", having={Trait.U64_ROWS})(_as_generated)


@_bound("timestamp", "first")
def timestamp(manifest: M, dice: Dice) -> M:
    """The first millisecond, or the last that can be written."""
    return replace(manifest, timestamp_ms=dice.pick((1, U64_MAX)))


@_bound("deployment-id", "least")
def deployment_id(manifest: M, dice: Dice) -> M:
    """The UUID after the nil one, or the last."""
    digit = dice.pick(("0", "f"))
    text = "-".join(digit * size for size in (8, 4, 4, 4, 12))
    return replace(manifest, deployment_id=text[:-1] + ("1" if digit == "0" else "f"))


@_bound(
    "owned-vnodes.domain",
    "last",
    having={Trait.CLUSTER},
    without={Trait.VNODE_FRAME, Trait.LOG_SEGMENT, Trait.STREAM},
)
def owned_last(manifest: M, dice: Dice) -> M:
    """The last vnode of the domain alone."""
    return replace(manifest, owned_vnodes=(manifest.vnode_count - 1,))


@_bound("frames.vnode-domain", "last", having={Trait.VNODE_FRAME, Trait.LOCAL})
def frame_of_last_vnode(manifest: M, dice: Dice) -> M:
    """A frame of the last vnode of the domain."""
    last = len(manifest.state_frames) - 1
    operator = manifest.state_frames[last].key.operator_id
    key = Vnode(operator, manifest.vnode_count - 1)
    return edit(manifest, "state_frames", last, key=key)


@_bound(
    "watermark.sentinel", "after", having={Trait.LOGICAL_CHANNEL}, without={Trait.SEVERAL_CHANNELS}
)
def least_watermark(manifest: M, dice: Dice) -> M:
    """The least watermark that is not reserved."""
    channel = edit(manifest, "channel_progress", 0, watermark=I64_MIN + 1, idle=False)
    return replace(channel, checkpoint_watermark=I64_MIN + 1)


@_bound(
    "references.age",
    "previous",
    having={Trait.OLDER_FRAME},
    without={Trait.SEVERAL_OLDER_OBJECTS},
)
def previous_checkpoint(manifest: M, dice: Dice) -> M:
    """An older object of the checkpoint just before, or of the first."""
    chunk = manifest.referenced_chunks[0].chunk
    checkpoint_id = dice.pick((manifest.checkpoint_id - 1, 1))
    return with_reference(manifest, 0, replace(chunk, checkpoint_id=checkpoint_id))


@_bound(
    "frames.range-end",
    "exact",
    having={Trait.OLDER_FRAME},
    without={Trait.U64_END, Trait.OLDER_SEGMENT},
)
def exact_end(manifest: M, dice: Dice) -> M:
    """An older object that ends where its last frame does."""
    chunk = manifest.referenced_chunks[0].chunk
    ends = [
        frame.range.offset + frame.range.length
        for frame in manifest.state_frames
        if frame.chunk == chunk
    ]
    return edit(manifest, "referenced_chunks", 0, object_length=max(ends))


@_bound("frames.empty", "one-byte", having={Trait.OLDER_FRAME})
def one_byte(manifest: M, dice: Dice) -> M:
    """A frame of one byte, the last one that there can be."""
    chunk = manifest.referenced_chunks[0].chunk
    index = next(i for i, frame in enumerate(manifest.state_frames) if frame.chunk == chunk)
    roomy = edit(manifest, "referenced_chunks", 0, object_length=U64_MAX)
    return edit(roomy, "state_frames", index, range=ByteRange(U64_MAX - 1, 1))


@_bound("subscription.identity", "stream", having={Trait.STREAM}, without={Trait.SEVERAL_STREAMS})
def longest_stream_id(manifest: M, dice: Dice) -> M:
    """A stream id of the most bytes, or padded with what is no white space."""
    half = MAX_STREAM_ID_BYTES // 2
    ids = ("s" * MAX_STREAM_ID_BYTES, "é" * half, "\u200b", "\x1f", "a\ufeff", "a")
    return certified(manifest, 0, stream_id=dice.pick(ids))


@_bound("subscription.identity", "operator", having={Trait.STREAM})
def longest_operator_id(manifest: M, dice: Dice) -> M:
    """An operator id of the most bytes."""
    half = MAX_OPERATOR_ID_BYTES // 2
    ids = ("o" * MAX_OPERATOR_ID_BYTES, "é" * half, "\x1c", "o")
    return certified(manifest, 0, final_operator_id=dice.pick(ids))


@_bound("subscription.object-key", "longest", having={Trait.SEGMENT})
def longest_key(manifest: M, dice: Dice) -> M:
    """A key of the most bytes, or of components that only look like dots."""
    room = MAX_OBJECT_KEY_BYTES - len(OBJECT_KEY_PREFIX)
    keys = ("k" * room, "é" * (room // 2), "...", "..a/a..", " ", "a")
    key = OBJECT_KEY_PREFIX + dice.pick(keys)
    return with_segment(manifest, dice, lambda segment: {"object_key": key})


@_bound(
    "subscription.segment-range",
    "most",
    having={Trait.PARTITIONED_STREAM, Trait.SEGMENT},
    without={Trait.SINGLETON_STREAM, Trait.SEVERAL_STREAMS},
)
def fullest_segment(manifest: M, dice: Dice) -> M:
    """One segment of the most frames and bytes, up to the last sequence that there is."""
    output = manifest.subscription_output
    assert output is not None
    frames = MAX_OUTPUT_FRAMES_PER_SEGMENT
    first = dice.pick((0, U64_MAX - frames))
    segment = replace(
        output.streams[0].segments[0],
        first_sequence=first,
        exclusive_end_sequence=first + frames,
        frame_count=frames,
        encoded_length=MAX_OUTPUT_SEGMENT_BYTES,
    )
    part = NodePartitionRange(segment.partition, first, first + frames)
    return with_stream(manifest, 0, ranges=(part,), segments=(segment,))


# --- view logs -------------------------------------------------------------------------------


@_bound("view-logs.name", "shortest", having={Trait.VIEW_LOG}, without={Trait.SEVERAL_VIEW_LOGS})
def shortest_view_name(manifest: M, dice: Dice) -> M:
    """A name of one character, white space too."""
    (log,) = manifest.view_logs
    return replace(
        manifest, view_logs=(replace(log, view_name=dice.pick(("\0", " ", "\U0010ffff"))),)
    )


@_bound("segments.partition-domain", "last", having={Trait.LOG_SEGMENT, Trait.LOCAL})
def segment_of_last_partition(manifest: M, dice: Dice) -> M:
    """A segment of the last vnode of the domain."""
    last = len(segments_of(manifest)) - 1
    return edit(manifest, VIEW_LOGS, last, partition=manifest.vnode_count - 1)


@_bound(
    "segments.gap", "anywhere", having={Trait.LOG_SEGMENT}, without={Trait.SEVERAL_LOG_SEGMENTS}
)
def rows_from_anywhere(manifest: M, dice: Dice) -> M:
    """A partition's first segment starts at the last row but one that there can be."""
    return edit(manifest, VIEW_LOGS, 0, first_row=U64_MAX - 1, row_count=1)


@_bound("segments.event-time", "least", having={Trait.LOG_SEGMENT})
def widest_event_time(manifest: M, dice: Dice) -> M:
    """From the least instant that is not reserved, to itself or to the last."""
    bounds = EventTimeBounds(I64_MIN + 1, dice.pick((I64_MIN + 1, I64_MAX)))
    return edit(manifest, VIEW_LOGS, 0, event_time=bounds)


@_bound("segments.range-overflow", "last-byte", having={Trait.OLDER_SEGMENT})
def segment_of_last_byte(manifest: M, dice: Dice) -> M:
    """A segment of the last byte that there can be, and so the shortest, in an older object."""
    current = manifest.current_chunk
    segments = segments_of(manifest)
    index = next(i for i, segment in enumerate(segments) if segment.chunk != current)
    entries = manifest.referenced_chunks
    place = next(i for i, entry in enumerate(entries) if entry.chunk == segments[index].chunk)
    roomy = edit(manifest, "referenced_chunks", place, object_length=U64_MAX)
    return edit(roomy, VIEW_LOGS, index, range=ByteRange(U64_MAX - 1, 1))


@_bound(
    "segments.limit",
    "most-participants",
    having={Trait.MAX_PARTICIPANTS},
    without={Trait.VIEW_LOG, Trait.U64_END},
    by_contract=True,
)
def fullest_share(manifest: M, dice: Dice, contract: Contract) -> M:
    """As many segments as a share among the most participants allows."""
    return filled_up(manifest, contract)
