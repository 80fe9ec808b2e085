"""Hazards: valid manifests that a later stage of the engine refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from oracle import (
    V10,
    CheckpointManifest,
    Contract,
    FrozenDict,
    Level,
    StateFrame,
    ViewLogSegment,
    Vnode,
    encode,
    rules_of,
)
from oracle.constants import OBJECT_KEY_PREFIX
from strategies.breakages.registry import (
    another_sha256,
    edit,
    fresh,
    index_of,
    rechunked,
    with_item,
)
from strategies.breakages.subscription import certified, filled, with_segment
from strategies.dice import Dice, dice
from strategies.manifests import manifests
from strategies.traits import Trait
from strategies.view_logs import segments_of

_BYTES_OF_DICE = 8

M = CheckpointManifest
Endanger = Callable[[M, Dice], M]


@dataclass(frozen=True)
class Hazardous:
    """A valid manifest with exactly the hazard ``hazard``; ``document`` is a text of it."""

    name: str
    hazard: str
    manifest: CheckpointManifest
    document: bytes
    contract: Contract


@dataclass(frozen=True, slots=True)
class _Danger:
    name: str
    hazard: str
    having: frozenset[Trait]
    without: frozenset[Trait]
    apply: Endanger


_DANGERS: dict[str, _Danger] = {}

# Names that are a hazard by themselves.
_TIDY = frozenset({Trait.EMPTY_NAME, Trait.PADDED_NAME})


def _danger(
    hazard: str, way: str = "", *, having: Iterable[Trait] = (), without: Iterable[Trait] = ()
) -> Callable[[Endanger], Endanger]:
    def register(apply: Endanger) -> Endanger:
        name = f"{hazard}/{way}" if way else hazard
        _DANGERS[name] = _Danger(name, hazard, frozenset(having), frozenset(without) | _TIDY, apply)
        return apply

    return register


def hazards(
    contract: Contract = V10, *, ids: Iterable[str] | None = None
) -> SearchStrategy[Hazardous]:
    """Valid manifests with one hazard each, of all in *contract* or of *ids*.

    Shrinks to the first of the hazards, in the smallest manifest that can have it.
    """
    known = [rule.id for rule in rules_of(contract, Level.HAZARD)]
    asked = known if ids is None else list(ids)
    if not asked or not set(asked) <= set(known):
        raise InvalidArgument(f"ids={ids!r}: hazards of format {contract.name} are {known}")
    return st.one_of(
        *(
            _hazardous(danger, contract)
            for danger in _DANGERS.values()
            if danger.hazard in asked
            and all(contract.has(trait.feature) for trait in danger.having)
        )
    )


@cache
def _hazardous(danger: _Danger, contract: Contract) -> SearchStrategy[Hazardous]:
    def endangered(manifest: CheckpointManifest, rolled: Dice) -> Hazardous:
        changed = danger.apply(manifest, rolled)
        document = encode(changed, contract)
        if danger.hazard == "hazard.encoding":
            document = rolled.pick((document + b"\n", b" " + document, document + b"\n\n"))
        return Hazardous(danger.name, danger.hazard, changed, document, contract)

    valid = manifests(contract, having=danger.having, without=danger.without)
    return st.builds(endangered, valid, dice(_BYTES_OF_DICE))


@_danger("hazard.encoding")
def encoding(manifest: M, dice: Dice) -> M:
    """Only the document is changed."""
    return manifest


_UNTIDY = (" a", "a ", "", "\u3000", "a\x85", "\na")


@_danger("hazard.source-name", "source")
def source_name(manifest: M, dice: Dice) -> M:
    """A source of an empty or padded name."""
    names = {*manifest.source_names, dice.pick(_UNTIDY)}
    return replace(manifest, source_names=tuple(sorted(names)))


@_danger("hazard.source-name", "key", having={Trait.OFFSETS})
def offset_key(manifest: M, dice: Dice) -> M:
    """An empty or padded key of offsets or metadata."""
    name = dice.pick(list(manifest.source_offsets))
    found = manifest.source_offsets[name]
    field = dice.pick(("offsets", "metadata"))
    padded = FrozenDict({**getattr(found, field), dice.pick(_UNTIDY): "0"})
    changes: dict[str, Any] = {field: padded}
    changed = replace(found, **changes)
    return replace(manifest, source_offsets=FrozenDict({**manifest.source_offsets, name: changed}))


def _with_other_empty_digest(manifest: M, dice: Dice, field: str) -> M:
    entries = getattr(manifest, field)
    index = index_of(entries, lambda e: e.payload is not None and not e.payload.length, dice)
    return edit(manifest, field, index, sha256=another_sha256(entries[index].sha256))


@_danger("hazard.empty-payload", "sink", having={Trait.SINK_EMPTY})
def empty_payload_of_sink(manifest: M, dice: Dice) -> M:
    """A sink's empty payload with a digest of something else."""
    return _with_other_empty_digest(manifest, dice, "prepared_sinks")


@_danger("hazard.empty-payload", "intent", having={Trait.INTENT_EMPTY})
def empty_payload_of_intent(manifest: M, dice: Dice) -> M:
    """An intent's empty payload with a digest of something else."""
    return _with_other_empty_digest(manifest, dice, "sink_artifact_intents")


@_danger(
    "hazard.empty-object",
    without={
        Trait.CURRENT_FRAME,
        Trait.CURRENT_SEGMENT,
        Trait.SINK_PAYLOAD,
        Trait.INTENT_PAYLOAD,
    },
)
def empty_object(manifest: M, dice: Dice) -> M:
    """No bytes, with a digest of some."""
    found = manifest.node_data
    return replace(manifest, node_data=replace(found, sha256=another_sha256(found.sha256)))


def _with_more_of(manifest: M, frame: StateFrame) -> M:
    """One frame more, of an older object that is used already."""
    references = manifest.referenced_chunks
    place = next(i for i, reference in enumerate(references) if reference.chunk == frame.chunk)
    return replace(
        manifest,
        state_frames=(*manifest.state_frames, frame),
        referenced_chunks=with_item(references, place, ref_count=references[place].ref_count + 1),
    )


def _another_of(manifest: M, dice: Dice) -> StateFrame:
    """A frame like one of an older object, under a key after all others."""
    frames = manifest.state_frames
    index = index_of(frames, lambda frame: frame.chunk != manifest.current_chunk, dice)
    operator = fresh(frames[-1].key.operator_id, ())
    return replace(frames[index], key=Vnode(operator, manifest.owned_vnodes[0]))


@_danger("hazard.payload-conflict", having={Trait.OLDER_FRAME})
def payload_conflict(manifest: M, dice: Dice) -> M:
    """Two frames of the same bytes with different digests."""
    more = _another_of(manifest, dice)
    return _with_more_of(manifest, replace(more, sha256=another_sha256(more.sha256)))


@_danger("hazard.range-overlap", having={Trait.OLDER_FRAME}, without={Trait.U64_END})
def range_overlap(manifest: M, dice: Dice) -> M:
    """A frame that starts where another does and is one byte longer."""
    more = _another_of(manifest, dice)
    longer = replace(
        more,
        range=replace(more.range, length=more.range.length + 1),
        sha256=another_sha256(more.sha256),
    )
    place = next(i for i, r in enumerate(manifest.referenced_chunks) if r.chunk == more.chunk)
    # Two bytes more, so that the frame is not the whole object.
    length = manifest.referenced_chunks[place].object_length + 2
    roomy = edit(manifest, "referenced_chunks", place, object_length=length)
    return _with_more_of(roomy, longer)


def _with_more_rows(manifest: M, like: ViewLogSegment, **changes: Any) -> M:
    """One segment more, with the payload of *like* but for *changes*, after all other rows."""
    index = max(number for number, log in enumerate(manifest.view_logs) if log.segments)
    log = manifest.view_logs[index]
    last = log.segments[-1]
    more = replace(
        like,
        partition=last.partition,
        first_row=last.first_row + last.row_count,
        row_count=1,
        **changes,
    )
    entries = manifest.referenced_chunks
    place = next(i for i, entry in enumerate(entries) if entry.chunk == like.chunk)
    return replace(
        edit(manifest, "referenced_chunks", place, ref_count=entries[place].ref_count + 1),
        view_logs=with_item(manifest.view_logs, index, segments=(*log.segments, more)),
    )


def _older_segment(manifest: M, dice: Dice) -> ViewLogSegment:
    segments, current = segments_of(manifest), manifest.current_chunk
    return segments[index_of(segments, lambda segment: segment.chunk != current, dice)]


@_danger(
    "hazard.payload-conflict", "segment", having={Trait.OLDER_SEGMENT}, without={Trait.U64_ROWS}
)
def segment_payload_conflict(manifest: M, dice: Dice) -> M:
    """Two segments of the same bytes with different digests."""
    found = _older_segment(manifest, dice)
    return _with_more_rows(manifest, found, sha256=another_sha256(found.sha256))


@_danger(
    "hazard.range-overlap",
    "segment",
    having={Trait.OLDER_SEGMENT},
    without={Trait.U64_END, Trait.U64_ROWS},
)
def segment_range_overlap(manifest: M, dice: Dice) -> M:
    """A segment that starts where another does and is one byte longer."""
    found = _older_segment(manifest, dice)
    entries = manifest.referenced_chunks
    place = next(i for i, entry in enumerate(entries) if entry.chunk == found.chunk)
    length = entries[place].object_length + 2
    roomy = edit(manifest, "referenced_chunks", place, object_length=length)
    longer = replace(found.range, length=found.range.length + 1)
    return _with_more_rows(roomy, found, range=longer, sha256=another_sha256(found.sha256))


@_danger("hazard.segment-key", having={Trait.SEGMENT})
def segment_key(manifest: M, dice: Dice) -> M:
    """A key with a control or a per-cent sign, or of too few components."""
    number = dice.roll(0, 3)

    def keys(key: str) -> tuple[str, ...]:
        return (f"{OBJECT_KEY_PREFIX}a", f"{key}%20", f"{key}\x7f", f"{key}\0")

    return with_segment(
        manifest, dice, lambda segment: {"object_key": keys(segment.object_key)[number]}
    )


@_danger("hazard.segment-conflict", having={Trait.SEGMENT})
def segment_conflict(manifest: M, dice: Dice) -> M:
    """Two segments of one key with different digests."""
    key = f"{OBJECT_KEY_PREFIX}a/b/c/d/e"
    return filled(manifest, dice, 2, lambda number: key, lambda number: bytes([1 + number]) * 32)


@_danger("hazard.boot-shared", having={Trait.SEVERAL_PARTICIPANTS}, without={Trait.SUBSCRIPTION})
def boot_shared(manifest: M, dice: Dice) -> M:
    """Two participants booted as one."""
    fence = manifest.assignment_fence
    assert fence is not None
    boot = fence.participants[0].boot_incarnation
    index = dice.roll(1, len(fence.participants) - 1)
    participants = with_item(fence.participants, index, boot_incarnation=boot)
    return replace(manifest, assignment_fence=replace(fence, participants=participants))


@_danger("hazard.pipeline", having={Trait.STREAM})
def pipeline(manifest: M, dice: Dice) -> M:
    """A stream of another pipeline."""
    identity = manifest.pipeline_identity
    other = replace(identity, sha256=another_sha256(identity.sha256))
    return certified(manifest, 0, pipeline_identity=other)


@_danger("hazard.reference-participant", having={Trait.OLDER_FRAME})
def reference_participant(manifest: M, dice: Dice) -> M:
    """An older object of participant 0."""
    chunk = manifest.referenced_chunks[0].chunk
    nobodys = replace(chunk, participant_id=0)
    return edit(rechunked(manifest, chunk, nobodys), "referenced_chunks", 0, chunk=nobodys)
