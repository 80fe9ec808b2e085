"""Corruptions of cuts: a valid cut, broken in one named way, and the rule that must say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, cast
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import (
    LOCAL_NODE_ID,
    SINGLETON_WATERMARK_CHANNEL,
    V10,
    ChannelProgress,
    CheckpointManifest,
    ConnectorCheckpoint,
    FrozenDict,
    NodeSubscriptionManifest,
    StateChunkId,
    owner_map_digest,
)
from oracle.constants import I64_MAX, I64_MIN, U64_MAX
from oracle.cuts import (
    COMMITTED_CHECKPOINT_INDEX_VERSION,
    MAX_COMMITTED_CHECKPOINT_INDEX_BYTES,
    CheckpointScope,
    CommittedCheckpointIndex,
    encode_index,
    frontiers_by_source,
    participant_reference,
    reference_of,
)
from oracle.kernels import classify
from strategies import parts
from strategies.choices import Choices
from strategies.cut_index import (
    CUT_WISHES,
    MOST_DRAWN,
    PART_WISHES,
    WholeCut,
    commit,
    made_up_reference,
    stateless,
    watermarks_after,
    whole_cuts,
    with_output_of,
)
from strategies.dice import Dice, dice
from strategies.manifests import draw_part, pipeline_identity
from strategies.scene import Scene
from strategies.subscriptions import STREAM_IDS, seal


class Step(Enum):
    """Where a fault shows first."""

    INDEX = "index"
    """In the index by itself."""
    MANIFESTS = "manifests"
    """In the index with its manifests."""
    PREDECESSOR = "predecessor"
    """In the index with its predecessor."""


@dataclass(frozen=True)
class CutCorruption:
    """A cut that is valid but for what ``name`` says, and breaks the rule ``expected``."""

    name: str
    expected: str
    step: Step
    cut: WholeCut


Break = Callable[[WholeCut, Dice], WholeCut | None]
"""Breaks a valid cut, or gives ``None`` where the cut has not what would be broken."""


@dataclass(frozen=True)
class Breakage:
    """One way to break a cut: its name, the rule that must say so, and where it shows."""

    name: str
    expected: str
    step: Step
    break_: Break


BREAKAGES: list[Breakage] = []
"""Every way to break a cut."""


def corrupted_cuts(
    rule: str | None = None, *, max_participants: int = MOST_DRAWN
) -> SearchStrategy[CutCorruption]:
    """Cuts that break one rule, each of the rules or only *rule*.

    Shrinks to the first breakage that the smallest cut allows.
    """
    table = tuple(b for b in BREAKAGES if rule in (None, b.expected))
    if not table:
        raise InvalidArgument(f"no corruption breaks {rule!r}")
    return _corrupted_cuts(table, max_participants)


_BYTES_OF_DICE = 12


@cache
def _corrupted_cuts(
    table: tuple[Breakage, ...], max_participants: int
) -> SearchStrategy[CutCorruption]:
    cuts = whole_cuts(max_participants=max_participants)
    return st.builds(lambda cut, rolled: _corrupt(cut, rolled, table), cuts, dice(_BYTES_OF_DICE))


def _corrupt(cut: WholeCut, rolled: Dice, table: tuple[Breakage, ...]) -> CutCorruption:
    """The breakage that the dice choose, on *cut* or else on one that has everything."""
    breakage = table[rolled.number(2) % len(table)]
    for candidate in (cut, *_full_cuts()):
        broken = breakage.break_(candidate, rolled)
        if broken is not None:
            return CutCorruption(breakage.name, breakage.expected, breakage.step, broken)
    raise AssertionError(f"no cut is full enough for {breakage.name}")


@cache
def _full_cuts() -> tuple[WholeCut, ...]:
    """A local cut and a cluster's that have all that can be broken, with a predecessor."""
    return full_cut(0), full_cut(3)


_SIMPLEST = cast(DrawFn, lambda _: b"")
"""Draws no bytes, and so the simplest of everything that is decided by dice."""

_SOURCES = ("logical", "none", "physical")


def full_cut(count: int) -> WholeCut:
    """A cut of *count* participants, or a local one, that has all that can be broken.

    Sources of every kind, streams of both, and a predecessor with a watermark of its own.
    """
    nodes = [*range(1, count + 1)] or [LOCAL_NODE_ID]
    owners = [nodes[vnode % len(nodes)] for vnode in range(6)]
    fence = None
    if count:
        fence = replace(
            parts.fence_of(6, count, 1, 1, 1, 1), assignment_digest=owner_map_digest(6, owners)
        )
    scene = Scene(
        V10, 9, 0, 1, str(UUID(int=1)), pipeline_identity(V10, 0), 6, fence, _SOURCES, ("out",), 0
    )
    manifests = []
    for node in nodes:
        owned = tuple(vnode for vnode, owner in enumerate(owners) if owner == node)
        manifests.append(_full_part(scene, node, owned))
    if fence is not None:
        choices = Choices(_SIMPLEST, CUT_WISHES, 0)
        manifests = with_output_of(choices, scene, manifests, STREAM_IDS[:2])
    older = commit(manifests)
    older = replace(
        older,
        epoch=5,
        checkpoint_id=5,
        predecessor=made_up_reference(4),
        source_watermarks=FrozenDict({**older.source_watermarks, "none": 3}),
    )
    return WholeCut(commit(manifests, older), tuple(manifests), older)


def _full_part(scene: Scene, node: int, owned: tuple[int, ...]) -> CheckpointManifest:
    channel = bytes((node,))
    progress = (
        ChannelProgress(node, "logical", SINGLETON_WATERMARK_CHANNEL, 10 + node, False),
        ChannelProgress(node, "physical", channel, 20 + node, True),
    )
    offsets = {
        name: ConnectorCheckpoint(
            FrozenDict({"shared": "0", str(node): "1"}),
            FrozenDict({"connector": "kafka"}),
            roster,
            1,
        )
        for name, roster in (("logical", None), ("physical", (channel,)))
    }
    return replace(
        draw_part(_SIMPLEST, PART_WISHES, scene, node, owned),
        source_offsets=FrozenDict(offsets),
        channel_progress=progress,
        checkpoint_watermark=10 + node,
    )


def breaks(expected: str, step: Step) -> Callable[[Break], Break]:
    """Register the decorated function, under its name, as a way to break the rule *expected*."""

    def register(break_: Break) -> Break:
        BREAKAGES.append(Breakage(break_.__name__.strip("_"), expected, step, break_))
        return break_

    return register


def _index(cut: WholeCut, **fields: Any) -> WholeCut:
    return replace(cut, index=replace(cut.index, **fields))


def _participants(cut: WholeCut, number: int, **fields: Any) -> WholeCut:
    entries = list(cut.index.participants)
    entries[number] = replace(entries[number], **fields)
    return _index(cut, participants=tuple(entries))


def _some(items: Sequence[Any], rolled: Dice) -> int:
    return rolled.roll(0, min(len(items), 256) - 1)


_BAD_SHA256 = ("", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "٠" * 64)


# --- the index by itself


@breaks("index.version", Step.INDEX)
def _version_unknown(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, version=rolled.pick((0, 2, 5, 2**32 - 1)))


@breaks("index.attempt", Step.INDEX)
def _epoch_zero(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, epoch=0, checkpoint_id=rolled.pick((0, cut.index.checkpoint_id)))


@breaks("index.attempt", Step.INDEX)
def _checkpoint_id_differs(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, checkpoint_id=cut.index.epoch - 1)


@breaks("index.deployment-id", Step.INDEX)
def _deployment_id_not_canonical(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    text = cut.index.deployment_id
    nil = str(UUID(int=0))
    return _index(
        cut, deployment_id=rolled.pick((nil, text.replace("-", ""), f"{{{text}}}", "", f"{text} "))
    )


@breaks("index.pipeline-identity", Step.INDEX)
def _pipeline_of_another_version(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    identity = replace(cut.index.pipeline_identity, canonical_version=rolled.pick((0, 6, 8)))
    return _index(cut, pipeline_identity=identity)


@breaks("index.pipeline-identity", Step.INDEX)
def _pipeline_without_digest(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    identity = replace(cut.index.pipeline_identity, sha256=rolled.pick(_BAD_SHA256))
    return _index(cut, pipeline_identity=identity)


@breaks("index.vnode-count", Step.INDEX)
def _no_vnodes(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, vnode_count=0)


@breaks("index.participants-empty", Step.INDEX)
def _no_participants(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, participants=())


@breaks("index.participant", Step.INDEX)
def _participant_zero(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _participants(cut, 0, participant_id=0)


@breaks("index.participant", Step.INDEX)
def _manifest_empty(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _participants(cut, _some(cut.manifests, rolled), manifest_len=0)


@breaks("index.participant", Step.INDEX)
def _digest_not_sha256(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    field = rolled.pick(("manifest_sha256", "node_data_sha256"))
    return _participants(cut, _some(cut.manifests, rolled), **{field: rolled.pick(_BAD_SHA256)})


@breaks("index.participants-order", Step.INDEX)
def _participants_turned(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    return _index(cut, participants=cut.index.participants[::-1])


@breaks("index.participants-order", Step.INDEX)
def _participant_twice(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    entries = cut.index.participants
    return _index(cut, participants=(entries[0], *entries))


@breaks("index.scope", Step.INDEX)
def _scope_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    local = cut.index.scope is CheckpointScope.LOCAL
    return _index(cut, scope=CheckpointScope.CLUSTER if local else CheckpointScope.LOCAL)


@breaks("index.scope", Step.INDEX)
def _portability_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _index(cut, reassignment_portable=not cut.index.reassignment_portable)


@breaks("index.scope", Step.INDEX)
def _fence_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return None if cut.index.assignment_fence is None else _index(cut, assignment_fence=None)


@breaks("index.scope", Step.INDEX)
def _local_cut_of_another_node(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.index.assignment_fence is not None:
        return None
    return _participants(cut, 0, participant_id=2)


@breaks("index.scope", Step.INDEX)
def _vnode_count_not_the_fences(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.index.assignment_fence is None:
        return None
    return _index(cut, vnode_count=cut.index.vnode_count + 1)


@breaks("index.scope", Step.INDEX)
def _participant_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    entries = list(cut.index.participants)
    del entries[_some(entries, rolled)]
    return _index(cut, participants=tuple(entries))


@breaks("index.predecessor", Step.INDEX)
def _predecessor_not_canonical(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    reference = made_up_reference(1)
    change: dict[str, Any] = rolled.pick(
        (
            {"epoch": 0, "checkpoint_id": 0},
            {"checkpoint_id": 2},
            {"sha256": "x"},
            {"len": 0},
            {"len": MAX_COMMITTED_CHECKPOINT_INDEX_BYTES + 1},
        )
    )
    return _index(cut, predecessor=replace(reference, **change))


@breaks("index.predecessor", Step.INDEX)
def _predecessor_not_older(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    epoch = rolled.pick((cut.index.epoch, U64_MAX))
    return _index(cut, predecessor=made_up_reference(epoch))


@breaks("index.source-names", Step.INDEX)
def _source_name_bad(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    bad = rolled.pick(("", " a", "a\u2003", "\n", "\x85"))
    names = sorted({bad, *cut.index.source_names})
    return _index(cut, source_names=tuple(names))


@breaks("index.source-names", Step.INDEX)
def _source_names_turned(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    names = cut.index.source_names
    return _index(cut, source_names=names[::-1] if len(names) > 1 else ("b", "a", *names))


@breaks("index.source-names", Step.INDEX)
def _source_of_offsets_not_listed(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if not cut.index.source_offsets:
        return None
    return _index(cut, source_names=())


def _offsets(cut: WholeCut, rolled: Dice, **fields: Any) -> WholeCut | None:
    """Change one source's offsets."""
    offsets = dict(cut.index.source_offsets)
    if not offsets:
        return None
    source = sorted(offsets)[_some([*offsets], rolled)]
    offsets[source] = replace(offsets[source], **fields)
    return _index(cut, source_offsets=FrozenDict(offsets))


@breaks("index.offsets", Step.INDEX)
def _offset_key_bad(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    field, key = rolled.pick(("offsets", "metadata")), rolled.pick(("", " a", "a\u3000", "\t"))
    return _offsets(cut, rolled, **{field: FrozenDict({"a": "", key: "0"})})


@breaks("index.offsets", Step.INDEX)
def _input_channels_bad(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    channels = rolled.pick(((b"",), (b"a", b"a"), (b"b", b"a"), (b"\0",), (b"\0", b"\0\0")))
    return _offsets(cut, rolled, input_channels=channels)


@breaks("index.offsets", Step.INDEX)
def _assignment_version_not_the_fences(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    fence = cut.index.assignment_fence
    if fence is None:
        return None
    return _offsets(cut, rolled, source_assignment_version=fence.assignment_version % U64_MAX + 1)


def _channel(cut: WholeCut, rolled: Dice, **fields: Any) -> WholeCut | None:
    """Change one channel's progress."""
    channels = list(cut.index.channel_progress)
    if not channels:
        return None
    number = _some(channels, rolled)
    channels[number] = replace(channels[number], **fields)
    return _index(cut, channel_progress=tuple(channels))


@breaks("index.channels", Step.INDEX)
def _channel_of_nobody(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _channel(cut, rolled, participant_id=0)


@breaks("index.channels", Step.INDEX)
def _channel_of_an_unknown_source(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _channel(cut, rolled, source_name=rolled.pick(("", " ", "nobody's")))


@breaks("index.channels", Step.INDEX)
def _channel_empty(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _channel(cut, rolled, input_channel=b"")


@breaks("index.channels", Step.INDEX)
def _channels_turned(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    channels = cut.index.channel_progress
    return _index(cut, channel_progress=channels[::-1]) if len(channels) > 1 else None


@breaks("index.channels", Step.INDEX)
def _channel_twice(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    channels = cut.index.channel_progress
    return _index(cut, channel_progress=(*channels, channels[-1])) if channels else None


@breaks("index.channels", Step.INDEX)
def _channel_owned_by_two(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    channels = cut.index.channel_progress
    for channel in channels:
        for node in cut.index.participant_ids:
            logical = channel.input_channel == SINGLETON_WATERMARK_CHANNEL
            if logical or node == channel.participant_id:
                continue
            again = replace(channel, participant_id=node)
            kinds = {c.input_channel for c in channels if c.order[:2] == again.order[:2]}
            if SINGLETON_WATERMARK_CHANNEL not in kinds:
                both = sorted((*channels, again), key=lambda c: c.order)
                return _index(cut, channel_progress=tuple(both))
    return None


@breaks("index.channels", Step.INDEX)
def _channel_beside_the_reserved_one(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    channels = cut.index.channel_progress
    for number, channel in enumerate(channels, 1):
        if channel.input_channel == SINGLETON_WATERMARK_CHANNEL:
            beside = replace(channel, input_channel=b"\0\0")
            return _index(cut, channel_progress=(*channels[:number], beside, *channels[number:]))
    return None


@breaks("index.channels", Step.INDEX)
def _watermark_reserved(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    """In the first channel, where the engine looks whatever the others are."""
    channels = cut.index.channel_progress
    if not channels:
        return None
    first = replace(channels[0], watermark=I64_MIN)
    return _index(cut, channel_progress=(first, *channels[1:]))


@breaks("index.channels", Step.INDEX)
def _checkpoint_watermark_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    known = cut.index.checkpoint_watermark
    return _index(cut, checkpoint_watermark=0 if known is None else rolled.pick((None, known ^ 1)))


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_in_version_3(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if not cut.index.source_names:
        return None
    watermarks = FrozenDict({cut.index.source_names[0]: 0})
    return _index(cut, version=3, source_watermarks=watermarks)


def _watermark(cut: WholeCut, source: str, value: int) -> WholeCut | None:
    if cut.index.version != COMMITTED_CHECKPOINT_INDEX_VERSION:
        return None
    return _index(cut, source_watermarks=FrozenDict({**cut.index.source_watermarks, source: value}))


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_of_an_unknown_source(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _watermark(cut, rolled.pick(("", " ", "nobody's")), 0)


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_reserved(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    names = cut.index.source_names
    return _watermark(cut, names[_some(names, rolled)], I64_MIN) if names else None


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_not_the_frontier(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    for source, value in frontiers_by_source(cut.index.channel_progress).items():
        if value is not None:
            return _watermark(cut, source, value ^ 1 if value != I64_MAX else 0)
    return None


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    known = {s for s, v in frontiers_by_source(cut.index.channel_progress).items() if v is not None}
    if not known or cut.index.version != COMMITTED_CHECKPOINT_INDEX_VERSION:
        return None
    kept = {s: v for s, v in cut.index.source_watermarks.items() if s != min(known)}
    return _index(cut, source_watermarks=FrozenDict(kept))


@breaks("index.source-watermarks", Step.INDEX)
def _source_watermark_of_a_first_cut_from_nowhere(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    known = frontiers_by_source(cut.index.channel_progress)
    for source in cut.index.source_names:
        if known.get(source) is None:
            broken = _watermark(cut, source, 0)
            return None if broken is None else _index(broken, predecessor=None)
    return None


@breaks("index.roster", Step.INDEX)
def _roster_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    offsets = dict(cut.index.source_offsets)
    for channel in cut.index.channel_progress:
        source = channel.source_name
        if channel.input_channel != SINGLETON_WATERMARK_CHANNEL and source in offsets:
            channels = rolled.pick(((), (b"other",), (channel.input_channel, b"\xff" * 9)))
            offsets[source] = replace(offsets[source], input_channels=channels)
            return _index(cut, source_offsets=FrozenDict(offsets))
    return None


@breaks("index.channel-participant", Step.INDEX)
def _channel_of_a_stranger(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    index = cut.index
    stranger = next(n for n in range(1, 200) if n not in index.participant_ids)
    logical = [c for c in index.channel_progress if c.input_channel == SINGLETON_WATERMARK_CHANNEL]
    if not logical:
        return None
    channels = [*index.channel_progress, replace(logical[0], participant_id=stranger)]
    channels.sort(key=lambda channel: channel.order)
    return _index(cut, channel_progress=tuple(channels))


# --- the index with its manifests


def _with_manifests(cut: WholeCut, manifests: Iterable[CheckpointManifest]) -> WholeCut:
    """The cut with other manifests, which the index names as they are."""
    changed = tuple(manifests)
    index = replace(cut.index, participants=tuple(map(participant_reference, changed)))
    return replace(cut, index=index, manifests=changed)


def _manifest(cut: WholeCut, number: int, **fields: Any) -> WholeCut:
    """The cut with one manifest changed, its output sealed again, and named as it is then."""
    manifests = list(cut.manifests)
    manifests[number] = replace(manifests[number], **fields)
    return _with_manifests(cut, manifests)


@breaks("cut.count", Step.MANIFESTS)
def _manifest_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return replace(cut, manifests=cut.manifests[:-1])


@breaks("cut.count", Step.MANIFESTS)
def _manifest_too_many(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return replace(cut, manifests=(*cut.manifests, cut.manifests[0]))


@breaks("cut.manifest-bytes", Step.MANIFESTS)
def _manifests_swapped(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    one, other, *rest = cut.manifests
    return replace(cut, manifests=(other, one, *rest))


@breaks("cut.manifest-bytes", Step.MANIFESTS)
def _manifest_written_again(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    manifests = list(cut.manifests)
    number = _some(manifests, rolled)
    manifests[number] = replace(manifests[number], timestamp_ms=manifests[number].timestamp_ms ^ 2)
    return replace(cut, manifests=tuple(manifests))


@breaks("cut.participant", Step.MANIFESTS)
def _node_data_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    number = _some(cut.manifests, rolled)
    entry = cut.index.participants[number]
    change: dict[str, Any] = rolled.pick(
        ({"node_data_len": entry.node_data_len ^ 1}, {"node_data_sha256": "e" * 64})
    )
    return _participants(cut, number, **change)


@breaks("cut.participant", Step.MANIFESTS)
def _participants_renamed(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    """The manifests are each other's, and the index names their bytes so."""
    if len(cut.manifests) < 2:
        return None
    one, other, *rest = cut.index.participants
    entries = (
        replace(other, participant_id=one.participant_id),
        replace(one, participant_id=other.participant_id),
        *rest,
    )
    manifests = (cut.manifests[1], cut.manifests[0], *cut.manifests[2:])
    return replace(_index(cut, participants=entries), manifests=manifests)


@breaks("cut.manifest", Step.MANIFESTS)
def _manifest_invalid(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    change: dict[str, Any] = rolled.pick(
        ({"timestamp_ms": 0}, {"partitioning_abi_version": 1}, {"version": 9})
    )
    return _manifest(cut, _some(cut.manifests, rolled), **change)


@breaks("cut.foreign", Step.MANIFESTS)
def _manifest_of_another_deployment(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _manifest(cut, _some(cut.manifests, rolled), deployment_id=str(UUID(int=2**127)))


@breaks("cut.foreign", Step.MANIFESTS)
def _manifest_of_another_pipeline(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    identity = pipeline_identity(V10, 2**20)
    return _manifest(cut, _some(cut.manifests, rolled), pipeline_identity=identity)


@breaks("cut.foreign", Step.MANIFESTS)
def _manifest_of_another_attempt(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    number = _some(cut.manifests, rolled)
    manifest = cut.manifests[number]
    attempt = manifest.epoch + 1
    if manifest.subscription_output is not None or attempt > U64_MAX:
        return None
    data = replace(manifest.node_data, chunk=StateChunkId(manifest.participant_id, attempt))
    frames = tuple(
        replace(f, chunk=data.chunk) if f.chunk == manifest.node_data.chunk else f
        for f in manifest.state_frames
    )
    return _manifest(
        cut, number, epoch=attempt, checkpoint_id=attempt, node_data=data, state_frames=frames
    )


@breaks("cut.source-names", Step.MANIFESTS)
def _manifest_of_more_sources(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    number = _some(cut.manifests, rolled)
    names = sorted({"another", *cut.manifests[number].source_names})
    return _manifest(cut, number, source_names=tuple(names))


@breaks("cut.sink-names", Step.MANIFESTS)
def _manifest_of_more_sinks(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    number = _some(cut.manifests, rolled)
    names = sorted({"another", *cut.manifests[number].sink_names})
    return _manifest(cut, number, sink_names=tuple(names))


@breaks("cut.vnode-shared", Step.MANIFESTS)
def _vnode_owned_by_two(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    one, other = cut.manifests[0], cut.manifests[1]
    owned = tuple(sorted({*other.owned_vnodes, one.owned_vnodes[0]}))
    return _manifest(cut, 1, owned_vnodes=owned)


@breaks("cut.vnode-missing", Step.MANIFESTS)
def _vnode_owned_by_nobody(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    for number, manifest in enumerate(cut.manifests):
        if len(manifest.owned_vnodes) > 1 and cut.index.assignment_fence is not None:
            bare = replace(
                manifest,
                owned_vnodes=manifest.owned_vnodes[:1],
                subscription_output=None,
            )
            manifests = list(cut.manifests)
            manifests[number] = stateless(bare, manifest.participant_id, bare.owned_vnodes)
            return _with_manifests(cut, manifests)
    return None


@breaks("cut.owner-map", Step.MANIFESTS)
def _owners_swapped(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    one, other, *rest = cut.manifests
    if one.owned_vnodes == other.owned_vnodes:
        return None
    changed = [
        stateless(replace(m, subscription_output=None), m.participant_id, owned)
        for m, owned in ((one, other.owned_vnodes), (other, one.owned_vnodes))
    ]
    return _with_manifests(cut, (*changed, *rest))


def _part_of_source(
    cut: WholeCut, number: int, change: Callable[[ConnectorCheckpoint], ConnectorCheckpoint | None]
) -> WholeCut | None:
    """Change one participant's part of a source of which another has a part, too."""
    manifest = cut.manifests[number]
    for source, part in manifest.source_offsets.items():
        others = [m for m in cut.manifests if m is not manifest and source in m.source_offsets]
        changed = change(part) if others else None
        if changed is not None:
            offsets = FrozenDict({**manifest.source_offsets, source: changed})
            return _manifest(cut, number, source_offsets=offsets)
    return None


@breaks("cut.merge", Step.MANIFESTS)
def _offset_with_two_values(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    field = rolled.pick(("offsets", "metadata"))

    def contradict(part: ConnectorCheckpoint) -> ConnectorCheckpoint | None:
        entries: Mapping[str, str] = getattr(part, field)
        shared = {"offsets": "shared", "metadata": "connector"}[field]
        if shared not in entries:
            return None
        changed: dict[str, Any] = {field: FrozenDict({**entries, shared: "another"})}
        return replace(part, **changed)

    return _part_of_source(cut, _some(cut.manifests, rolled), contradict)


@breaks("cut.merge", Step.MANIFESTS)
def _channels_declared_by_one(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _part_of_source(
        cut,
        _some(cut.manifests, rolled),
        lambda part: None if part.input_channels is None else replace(part, input_channels=None),
    )


@breaks("cut.merge", Step.MANIFESTS)
def _assignment_version_by_one(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _part_of_source(
        cut,
        _some(cut.manifests, rolled),
        lambda part: replace(
            part, source_assignment_version=None if part.source_assignment_version else 3
        ),
    )


@breaks("cut.offsets", Step.MANIFESTS)
def _offset_of_the_index_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    return _offsets(cut, rolled, offsets=FrozenDict({"elsewhere": "1"}))


@breaks("cut.offsets", Step.MANIFESTS)
def _offsets_of_a_source_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    offsets = dict(cut.index.source_offsets)
    if not offsets:
        return None
    del offsets[min(offsets)]
    return _index(cut, source_offsets=FrozenDict(offsets))


@breaks("cut.channels", Step.MANIFESTS)
def _channel_of_the_index_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    index = cut.index
    for number, channel in enumerate(index.channel_progress):
        if channel.input_channel == SINGLETON_WATERMARK_CHANNEL:
            kept = (*index.channel_progress[:number], *index.channel_progress[number + 1 :])
            value = classify((c.watermark, c.idle) for c in kept).value
            marks = {s: v for s, v in index.source_watermarks.items() if s != channel.source_name}
            marks |= watermarks_after(kept, None, index.version)
            return _index(
                cut,
                channel_progress=kept,
                checkpoint_watermark=value,
                source_watermarks=FrozenDict(marks),
            )
    return None


@breaks("cut.subscription-presence", Step.MANIFESTS)
def _output_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2 or cut.manifests[0].subscription_output is None:
        return None
    return _manifest(cut, _some(cut.manifests, rolled), subscription_output=None)


def _streams_with(
    cut: WholeCut, number: int, change: Callable[[NodeSubscriptionManifest], dict[str, Any] | None]
) -> WholeCut | None:
    """Change one participant's output, and seal it again."""
    output = cut.manifests[number].subscription_output
    fields = None if output is None else change(output)
    if output is None or fields is None:
        return None
    return _manifest(cut, number, subscription_output=seal(replace(output, **fields)))


def _certificate_with(**fields: Any) -> Callable[[NodeSubscriptionManifest], dict[str, Any] | None]:
    def change(output: NodeSubscriptionManifest) -> dict[str, Any] | None:
        if not output.streams:
            return None
        first, *rest = output.streams
        certificate = replace(first.distribution_certificate, **fields)
        return {"streams": (replace(first, distribution_certificate=certificate), *rest)}

    return change


@breaks("cut.subscription-pipeline", Step.MANIFESTS)
def _stream_of_another_pipeline(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    other = _certificate_with(pipeline_identity=pipeline_identity(V10, 2**20))
    return _streams_with(cut, _some(cut.manifests, rolled), other)


@breaks("merge.certificate", Step.MANIFESTS)
def _stream_with_two_certificates(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    for number, manifest in enumerate(cut.manifests[1:], 1):
        before = {
            stream.distribution_certificate.stream_id
            for m in cut.manifests[:number]
            for stream in (m.subscription_output.streams if m.subscription_output else ())
        }
        output = manifest.subscription_output
        if output is None or not output.streams:
            continue
        if output.streams[0].distribution_certificate.stream_id in before:
            return _streams_with(cut, number, _certificate_with(query_fingerprint=b"\1" * 32))
    return None


@breaks("merge.missing-partition", Step.MANIFESTS)
def _stream_of_one_participant_lost(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if len(cut.manifests) < 2:
        return None
    number = _some(cut.manifests, rolled)
    others = {
        stream.distribution_certificate.stream_id
        for m in cut.manifests
        if m is not cut.manifests[number] and m.subscription_output is not None
        for stream in m.subscription_output.streams
    }

    def lose(output: NodeSubscriptionManifest) -> dict[str, Any] | None:
        for place, stream in enumerate(output.streams):
            if stream.distribution_certificate.stream_id in others:
                return {"streams": (*output.streams[:place], *output.streams[place + 1 :])}
        return None

    return _streams_with(cut, number, lose)


# --- the index with its predecessor


@breaks("predecessor.invalid", Step.PREDECESSOR)
def _predecessor_invalid(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None:
        return None
    return replace(cut, predecessor=replace(cut.predecessor, deployment_id=""))


def _declare(cut: WholeCut, predecessor: CommittedCheckpointIndex) -> WholeCut:
    """The cut with another predecessor, which its index declares."""
    reference = reference_of(predecessor, encode_index(predecessor))
    return replace(_index(cut, predecessor=reference), predecessor=predecessor)


@breaks("predecessor.version", Step.PREDECESSOR)
def _version_falls(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None or cut.predecessor.version == 3:
        return None
    return _index(cut, version=3, source_watermarks=FrozenDict())


@breaks("predecessor.undeclared", Step.PREDECESSOR)
def _predecessor_undeclared(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None:
        return None
    exact = watermarks_after(cut.index.channel_progress, None, cut.index.version)
    return _index(cut, predecessor=None, source_watermarks=exact)


@breaks("predecessor.reference", Step.PREDECESSOR)
def _predecessor_other(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None or cut.index.predecessor is None:
        return None
    change: dict[str, Any] = rolled.pick(({"sha256": "b" * 64}, {"len": 7}))
    return _index(cut, predecessor=replace(cut.index.predecessor, **change))


@breaks("predecessor.foreign", Step.PREDECESSOR)
def _predecessor_of_another_deployment(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None:
        return None
    change: dict[str, Any] = rolled.pick(
        (
            {"deployment_id": str(UUID(int=2**127))},
            {"pipeline_identity": pipeline_identity(V10, 2**20)},
            {"source_names": tuple(sorted({"another", *cut.index.source_names}))},
        )
    )
    return _declare(cut, replace(cut.predecessor, **change))


@breaks("predecessor.regression", Step.PREDECESSOR)
def _watermark_falls_back(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    older, index = cut.predecessor, cut.index
    if older is None or older.version == 3 or older.predecessor is None:
        return None
    for source, value in frontiers_by_source(index.channel_progress).items():
        if value is not None and value != I64_MAX:
            idle = tuple(c for c in older.channel_progress if c.source_name != source)
            marks = FrozenDict({**older.source_watermarks, source: value + 1})
            return _declare(
                cut,
                replace(
                    older,
                    channel_progress=idle,
                    source_watermarks=marks,
                    checkpoint_watermark=classify((c.watermark, c.idle) for c in idle).value,
                ),
            )
    return None


@breaks("predecessor.watermarks", Step.PREDECESSOR)
def _watermark_forgotten(cut: WholeCut, rolled: Dice) -> WholeCut | None:
    if cut.predecessor is None or cut.index.version == 3:
        return None
    known = {s for s, v in frontiers_by_source(cut.index.channel_progress).items() if v is not None}
    inherited = cut.index.source_watermarks.keys() - known
    if not inherited:
        return None
    kept = {s: v for s, v in cut.index.source_watermarks.items() if s != min(inherited)}
    return _index(cut, source_watermarks=FrozenDict(kept))
