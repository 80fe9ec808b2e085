"""Breakages of objects, of the frames in them, and of how the current one is filled."""

from __future__ import annotations

from dataclasses import replace

from oracle import CheckpointManifest, OperatorWhole, ReferencedStateChunk, StateChunkId, Vnode
from oracle.constants import U16_MAX, U32_MAX, U64_MAX
from strategies.breakages.registry import (
    Aspect,
    breakage,
    current_places,
    edit,
    fresh,
    index_of,
    items_of,
    not_sha256,
    rechunked,
    relaid,
    repeated,
    swapped,
    with_item,
)
from strategies.dice import Dice
from strategies.traits import Trait

M = CheckpointManifest
CURRENT, OLDER = Trait.CURRENT_FRAME, Trait.OLDER_FRAME


def _older_frame(manifest: M, dice: Dice) -> int:
    return index_of(manifest.state_frames, lambda f: f.chunk != manifest.current_chunk, dice)


def _current_frame(manifest: M, dice: Dice) -> int:
    return index_of(manifest.state_frames, lambda f: f.chunk == manifest.current_chunk, dice)


def _any_reference(manifest: M, dice: Dice) -> int:
    return dice.roll(0, len(manifest.referenced_chunks) - 1)


# --- objects ---------------------------------------------------------------------------------


def _with_current(manifest: M, chunk: StateChunkId) -> M:
    moved = rechunked(manifest, manifest.current_chunk, chunk)
    return replace(moved, node_data=replace(manifest.node_data, chunk=chunk))


@breakage("node-data.chunk", "participant", touches={Aspect.IDENTITY})
def node_data_participant(manifest: M, dice: Dice) -> M:
    """The object is of another participant, and its frames with it."""
    own = manifest.current_chunk
    other = own.participant_id + 1 if own.participant_id < U64_MAX else own.participant_id - 1
    return _with_current(manifest, replace(own, participant_id=other))


@breakage("node-data.chunk", "checkpoint", without={OLDER}, touches={Aspect.IDENTITY})
def node_data_checkpoint(manifest: M, dice: Dice) -> M:
    """The object is of the checkpoint before, and its frames with it."""
    own = manifest.current_chunk
    return _with_current(manifest, replace(own, checkpoint_id=own.checkpoint_id - 1))


@breakage("node-data.digest")
def node_data_digest(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    found = manifest.node_data
    return replace(manifest, node_data=replace(found, sha256=not_sha256(dice, found.sha256)))


@breakage("references.order", "repeated", having={OLDER}, touches={Aspect.REFERENCES})
def references_repeated(manifest: M, dice: Dice) -> M:
    """One is listed twice, and so counts the same frames."""
    return replace(manifest, referenced_chunks=repeated(manifest.referenced_chunks, dice))


@breakage(
    "references.order", "swapped", having={Trait.SEVERAL_OLDER_OBJECTS}, touches={Aspect.REFERENCES}
)
def references_swapped(manifest: M, dice: Dice) -> M:
    """Two neighbours are swapped."""
    return replace(manifest, referenced_chunks=swapped(manifest.referenced_chunks, dice))


def with_reference(manifest: M, index: int, chunk: StateChunkId) -> M:
    """Give a reference and its frames another chunk."""
    moved = rechunked(manifest, manifest.referenced_chunks[index].chunk, chunk)
    return edit(moved, "referenced_chunks", index, chunk=chunk)


@breakage("references.age", "zero", having={OLDER}, touches={Aspect.REFERENCES})
def references_zero(manifest: M, dice: Dice) -> M:
    """The first object is of checkpoint 0."""
    chunk = manifest.referenced_chunks[0].chunk
    return with_reference(manifest, 0, replace(chunk, checkpoint_id=0))


@breakage(
    "references.age",
    "same-checkpoint",
    having={OLDER},
    touches={Aspect.IDENTITY, Aspect.REFERENCES},
)
def references_same_checkpoint(manifest: M, dice: Dice) -> M:
    """The last object is of the current checkpoint, by another participant."""
    last = len(manifest.referenced_chunks) - 1
    chunk = manifest.referenced_chunks[last].chunk
    own = manifest.participant_id
    if chunk.participant_id != own:
        return with_reference(manifest, last, replace(chunk, checkpoint_id=manifest.checkpoint_id))
    if own == U64_MAX:  # no participant comes after
        return (
            with_reference(manifest, last, replace(chunk, checkpoint_id=U64_MAX))
            if manifest.checkpoint_id < U64_MAX
            else references_zero(manifest, dice)
        )
    return with_reference(manifest, last, StateChunkId(own + 1, manifest.checkpoint_id))


@breakage("references.age", "newer", having={OLDER}, touches={Aspect.REFERENCES})
def references_newer(manifest: M, dice: Dice) -> M:
    """The last object is of a later checkpoint, or at the end of them of the first, 0."""
    if manifest.checkpoint_id == U64_MAX:
        return references_zero(manifest, dice)
    last = len(manifest.referenced_chunks) - 1
    chunk = manifest.referenced_chunks[last].chunk
    later = dice.pick((manifest.checkpoint_id + 1, U64_MAX))
    return with_reference(manifest, last, replace(chunk, checkpoint_id=later))


def _with_more(manifest: M, chunk: StateChunkId) -> M:
    """A reference more, which no frame uses, though it says that one does."""
    more = ReferencedStateChunk(chunk, 1, "0" * 64, 1)
    references = sorted((*manifest.referenced_chunks, more), key=lambda item: item.chunk)
    return replace(manifest, referenced_chunks=tuple(references))


@breakage(
    "references.age",
    "current",
    also={"references.count"},
    touches={Aspect.IDENTITY, Aspect.REFERENCES},
)
def references_current(manifest: M, dice: Dice) -> M:
    """The current object is listed as an older one; its frames count for none."""
    return _with_more(manifest, manifest.current_chunk)


@breakage("references.digest", having={OLDER}, touches={Aspect.REFERENCES})
def references_digest(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    index = _any_reference(manifest, dice)
    text = not_sha256(dice, manifest.referenced_chunks[index].sha256)
    return edit(manifest, "referenced_chunks", index, sha256=text)


@breakage("references.count", "above", having={OLDER}, touches={Aspect.REFERENCES})
def references_count_above(manifest: M, dice: Dice) -> M:
    """One frame more than there are."""
    index = _any_reference(manifest, dice)
    count = manifest.referenced_chunks[index].ref_count
    return edit(manifest, "referenced_chunks", index, ref_count=count + 1)


@breakage("references.count", "most", having={OLDER}, touches={Aspect.REFERENCES})
def references_count_most(manifest: M, dice: Dice) -> M:
    """As many frames as can be written, or as an 8-bit or 16-bit count would take for right."""
    index = _any_reference(manifest, dice)
    count = manifest.referenced_chunks[index].ref_count
    wrong = dice.pick((U32_MAX, count + 2**8, count + 2**16))
    return edit(manifest, "referenced_chunks", index, ref_count=wrong)


@breakage("references.count", "unused", having={OLDER}, touches={Aspect.REFERENCES})
def references_unused(manifest: M, dice: Dice) -> M:
    """An object that no frame is in."""
    first = manifest.referenced_chunks[0].chunk
    if first.checkpoint_id > 1:
        return _with_more(manifest, replace(first, checkpoint_id=first.checkpoint_id - 1))
    taken = {reference.chunk for reference in manifest.referenced_chunks}
    participant_id = next(
        n for n in range(1, U64_MAX) if StateChunkId(n, first.checkpoint_id) not in taken
    )
    return _with_more(manifest, replace(first, participant_id=participant_id))


# --- frames ----------------------------------------------------------------------------------


@breakage(
    "frames.order",
    "repeated",
    having={CURRENT},
    without={Trait.U64_END},
    touches={Aspect.LAYOUT, Aspect.FRAME_KEYS},
)
def frames_repeated(manifest: M, dice: Dice) -> M:
    """Two frames are of the same key."""
    frames = manifest.state_frames
    if len(frames) > 1:
        index = dice.roll(1, len(frames) - 1)
        return edit(manifest, "state_frames", index, key=frames[index - 1].key)
    more = replace(frames[0], range=replace(frames[0].range, length=1))
    return relaid(replace(manifest, state_frames=(*frames, more)))


@breakage("frames.order", "swapped", having={CURRENT, OLDER}, touches={Aspect.FRAME_KEYS})
def frames_swapped(manifest: M, dice: Dice) -> M:
    """Two neighbours have each other's key."""
    frames = manifest.state_frames
    index = dice.roll(0, len(frames) - 2)
    first = edit(manifest, "state_frames", index, key=frames[index + 1].key)
    return edit(first, "state_frames", index + 1, key=frames[index].key)


@breakage(
    "frames.order",
    "vnode-first",
    having={Trait.WHOLE_FRAME, Trait.VNODE_FRAME},
    touches={Aspect.FRAME_KEYS},
)
def frames_vnode_first(manifest: M, dice: Dice) -> M:
    """The last whole operator comes after the first vnode."""
    frames = manifest.state_frames
    index = sum(isinstance(frame.key, OperatorWhole) for frame in frames)
    first = edit(manifest, "state_frames", index - 1, key=frames[index].key)
    return edit(first, "state_frames", index, key=frames[index - 1].key)


def _with_last_vnode(manifest: M, vnode: int) -> M:
    last = len(manifest.state_frames) - 1
    key = manifest.state_frames[last].key
    return edit(manifest, "state_frames", last, key=Vnode(key.operator_id, vnode))


@breakage(
    "frames.vnode-domain",
    "boundary",
    also={"frames.vnode-owned"},
    having={Trait.VNODE_FRAME},
    touches={Aspect.FRAME_KEYS, Aspect.VNODES},
)
def vnode_domain(manifest: M, dice: Dice) -> M:
    """The first vnode that is not in the domain, and so nobody's."""
    return _with_last_vnode(manifest, manifest.vnode_count)


@breakage(
    "frames.vnode-domain",
    "largest",
    also={"frames.vnode-owned"},
    having={Trait.VNODE_FRAME},
    touches={Aspect.FRAME_KEYS, Aspect.VNODES},
)
def vnode_domain_largest(manifest: M, dice: Dice) -> M:
    """The largest number that a vnode can be written as."""
    return _with_last_vnode(manifest, U16_MAX)


@breakage(
    "frames.vnode-domain",
    "owned",
    also={"owned-vnodes.domain"},
    having={Trait.VNODE_FRAME, Trait.CLUSTER},
    touches={Aspect.VNODES, Aspect.FRAME_KEYS},
)
def vnode_domain_owned(manifest: M, dice: Dice) -> M:
    """A vnode that is not in the domain, and yet listed as owned."""
    count = manifest.vnode_count
    return replace(_with_last_vnode(manifest, count), owned_vnodes=(*manifest.owned_vnodes, count))


@breakage(
    "frames.vnode-owned",
    having={Trait.VNODE_FRAME, Trait.UNOWNED_VNODE},
    touches={Aspect.FRAME_KEYS},
)
def vnode_owned(manifest: M, dice: Dice) -> M:
    """A vnode of another participant, of an operator that comes after all others."""
    owned = set(manifest.owned_vnodes)
    last = len(manifest.state_frames) - 1
    operator = manifest.state_frames[last].key.operator_id
    others = [vnode for vnode in range(manifest.vnode_count) if vnode not in owned]
    above = [vnode for vnode in others if vnode > manifest.owned_vnodes[-1]]
    if above:
        return _with_last_vnode(manifest, above[0])
    key = Vnode(fresh(operator, ()), dice.pick(others[:256]))
    return edit(manifest, "state_frames", last, key=key)


@breakage("frames.empty", "older", having={OLDER}, touches={Aspect.OLDER_RANGES})
def frames_empty_older(manifest: M, dice: Dice) -> M:
    """A frame of no bytes in an older object."""
    index = _older_frame(manifest, dice)
    part = replace(manifest.state_frames[index].range, length=0)
    return edit(manifest, "state_frames", index, range=part)


@breakage("frames.empty", "current", having={CURRENT}, touches={Aspect.LAYOUT})
def frames_empty_current(manifest: M, dice: Dice) -> M:
    """A frame of no bytes in the current object, which is the shorter by it."""
    index = _current_frame(manifest, dice)
    part = replace(manifest.state_frames[index].range, length=0)
    return relaid(edit(manifest, "state_frames", index, range=part))


@breakage("frames.digest", "older", having={OLDER})
def frames_digest_older(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    index = _older_frame(manifest, dice)
    text = not_sha256(dice, manifest.state_frames[index].sha256)
    return edit(manifest, "state_frames", index, sha256=text)


@breakage("frames.digest", "current", having={CURRENT})
def frames_digest_current(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    index = _current_frame(manifest, dice)
    text = not_sha256(dice, manifest.state_frames[index].sha256)
    return edit(manifest, "state_frames", index, sha256=text)


def unknown_chunk(manifest: M) -> StateChunkId:
    """An object that the manifest does not know: the next participant's of this checkpoint."""
    own = manifest.participant_id
    other = own + 1 if own < U64_MAX else own - 1
    return StateChunkId(other, manifest.checkpoint_id)


@breakage(
    "frames.untracked",
    "older",
    having={OLDER},
    touches={Aspect.IDENTITY, Aspect.REFERENCES, Aspect.OLDER_RANGES},
)
def frames_untracked_older(manifest: M, dice: Dice) -> M:
    """A frame of an older object is in an unknown one instead."""
    index = _older_frame(manifest, dice)
    chunk = manifest.state_frames[index].chunk
    strayed = edit(manifest, "state_frames", index, chunk=unknown_chunk(manifest))
    references = manifest.referenced_chunks
    place = next(i for i, reference in enumerate(references) if reference.chunk == chunk)
    left = references[place].ref_count - 1
    return replace(
        strayed,
        referenced_chunks=with_item(references, place, ref_count=left)
        if left
        else (*references[:place], *references[place + 1 :]),
    )


@breakage(
    "frames.untracked",
    "current",
    having={CURRENT},
    touches={Aspect.IDENTITY, Aspect.LAYOUT, Aspect.OLDER_RANGES},
)
def frames_untracked_current(manifest: M, dice: Dice) -> M:
    """A frame of the current object is in an unknown one instead, and leaves no gap."""
    index = _current_frame(manifest, dice)
    return relaid(edit(manifest, "state_frames", index, chunk=unknown_chunk(manifest)))


@breakage(
    "frames.untracked",
    "overflow",
    also={"frames.range-overflow"},
    having={CURRENT},
    touches={Aspect.IDENTITY, Aspect.LAYOUT, Aspect.OLDER_RANGES},
)
def frames_untracked_overflow(manifest: M, dice: Dice) -> M:
    """A frame is in an unknown object, and its range passes u64."""
    index = _current_frame(manifest, dice)
    part = replace(manifest.state_frames[index].range, offset=U64_MAX, length=1)
    return relaid(edit(manifest, "state_frames", index, chunk=unknown_chunk(manifest), range=part))


@breakage("frames.range-overflow", "boundary", having={OLDER}, touches={Aspect.OLDER_RANGES})
def frames_overflow(manifest: M, dice: Dice) -> M:
    """A range in an older object ends one byte past u64's maximum."""
    index = _older_frame(manifest, dice)
    part = manifest.state_frames[index].range
    part = replace(part, offset=U64_MAX - part.length + 1)
    return edit(manifest, "state_frames", index, range=part)


@breakage("frames.range-overflow", "wrapping", having={OLDER}, touches={Aspect.OLDER_RANGES})
def frames_overflow_wrapping(manifest: M, dice: Dice) -> M:
    """A range whose end, in wrapping arithmetic, lies in its object."""
    index = _older_frame(manifest, dice)
    part = replace(
        manifest.state_frames[index].range, offset=U64_MAX, length=dice.pick((2, U64_MAX))
    )
    return edit(manifest, "state_frames", index, range=part)


def overflowing(manifest: M, number: int) -> M:
    """Let the current range *number* start where it must and pass u64 by one byte.

    What comes after it starts where it does: a range that overflows moves nothing.
    """
    places = current_places(manifest)
    field, part, index = places[number]
    found = getattr(items_of(manifest, field)[index], part)
    assert found.offset > 0, "a range at 0 cannot pass u64"
    after = relaid(manifest, start=found.offset, skip=number + 1)
    wide = replace(found, length=U64_MAX - found.offset + 1)
    return edit(after, field, index, **{part: wide})


@breakage(
    "frames.range-overflow",
    "current",
    having={CURRENT, Trait.WHOLE_FRAME},
    without={Trait.U64_END, OLDER},
    touches={Aspect.LAYOUT},
)
def frames_overflow_current(manifest: M, dice: Dice) -> M:
    """The last frame of the current object passes u64 from where it must start."""
    frames = manifest.state_frames
    if len(frames) == 1:
        key = OperatorWhole("")
        first = replace(frames[0], key=key) if frames[0].key != key else frames[0]
        last = frames[0] if frames[0].key != key else replace(frames[0], key=OperatorWhole("a"))
        manifest = relaid(replace(manifest, state_frames=(first, last)))
    return overflowing(manifest, len(manifest.state_frames) - 1)


@breakage("frames.range-end", "older", having={OLDER}, touches={Aspect.OLDER_RANGES})
def frames_range_end(manifest: M, dice: Dice) -> M:
    """A range in an older object ends one byte after it, or the object one before the range."""
    index = _older_frame(manifest, dice)
    frame = manifest.state_frames[index]
    place = next(i for i, r in enumerate(manifest.referenced_chunks) if r.chunk == frame.chunk)
    length = manifest.referenced_chunks[place].object_length
    if length == U64_MAX:
        last = max(
            f.range.offset + f.range.length for f in manifest.state_frames if f.chunk == frame.chunk
        )
        return edit(manifest, "referenced_chunks", place, object_length=last - 1)
    part = replace(frame.range, length=length - frame.range.offset + 1)
    return edit(manifest, "state_frames", index, range=part)


@breakage(
    "frames.range-end",
    "current",
    also={"layout.length"},
    having={CURRENT},
    without={
        Trait.CURRENT_SEGMENT,
        Trait.SINK_EMPTY,
        Trait.SINK_PAYLOAD,
        Trait.INTENT_EMPTY,
        Trait.INTENT_PAYLOAD,
    },
    touches={Aspect.LAYOUT},
)
def frames_range_end_current(manifest: M, dice: Dice) -> M:
    """The current object is one byte too short for its last frame."""
    return _with_length(manifest, manifest.node_data.object_length - 1)


# --- layout ----------------------------------------------------------------------------------


def _with_length(manifest: M, length: int) -> M:
    return replace(manifest, node_data=replace(manifest.node_data, object_length=length))


@breakage(
    "layout.gap", "one-byte", having={CURRENT}, without={Trait.U64_END}, touches={Aspect.LAYOUT}
)
def layout_gap(manifest: M, dice: Dice) -> M:
    """A range starts one byte late, and so do all after it."""
    number = dice.roll(0, min(len(current_places(manifest)) - 1, 255))
    field, part, index = current_places(manifest)[number]
    start = getattr(items_of(manifest, field)[index], part).offset
    return relaid(manifest, start=start + 1, skip=number)


@breakage("layout.gap", "overlap", having={CURRENT, Trait.SINK_PAYLOAD}, touches={Aspect.LAYOUT})
def layout_overlap(manifest: M, dice: Dice) -> M:
    """A range starts one byte early, and so do all after it."""
    places = current_places(manifest)
    ranges = [getattr(items_of(manifest, field)[index], part) for field, part, index in places]
    number = index_of(ranges, lambda found: found.offset and found.length, dice)
    start = ranges[number].offset
    return relaid(manifest, start=start - 1, skip=number)


@breakage("layout.length", "above", without={Trait.U64_END}, touches={Aspect.LAYOUT})
def layout_length_above(manifest: M, dice: Dice) -> M:
    """The object has one byte more than its ranges."""
    return _with_length(manifest, manifest.node_data.object_length + 1)


@breakage("layout.length", "most", without={Trait.U64_END}, touches={Aspect.LAYOUT})
def layout_length_most(manifest: M, dice: Dice) -> M:
    """The object is as long as can be written."""
    return _with_length(manifest, U64_MAX)
