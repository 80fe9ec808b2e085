"""Breakages of view logs: of their names, of the rows of their segments, and of how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from oracle import (
    ByteRange,
    CheckpointManifest,
    Contract,
    EventTimeBounds,
    ViewLog,
    ViewLogSegment,
)
from oracle.constants import I64_MAX, I64_MIN, U16_MAX, U64_MAX
from strategies.breakages.objects import overflowing, unknown_chunk
from strategies.breakages.registry import (
    VIEW_LOGS,
    Aspect,
    breakage,
    current_places,
    edit,
    index_of,
    not_sha256,
    relaid,
    with_item,
)
from strategies.dice import Dice
from strategies.traits import Trait
from strategies.view_logs import limit_of, participants_of, retaining, segments_of, with_segments

M = CheckpointManifest
LOG, SEGMENT = Trait.VIEW_LOG, Trait.LOG_SEGMENT
CURRENT, OLDER = Trait.CURRENT_SEGMENT, Trait.OLDER_SEGMENT
_ROWS = {Aspect.LOG_ROWS}


def _with_names(manifest: M, names: list[str]) -> M:
    logs = zip(manifest.view_logs, names, strict=True)
    return replace(manifest, view_logs=tuple(replace(log, view_name=name) for log, name in logs))


def _names(manifest: M) -> list[str]:
    return [log.view_name for log in manifest.view_logs]


# --- logs ------------------------------------------------------------------------------------


@breakage("view-logs.order", "repeated", having={LOG}, touches={Aspect.LOG_NAMES})
def order_repeated(manifest: M, dice: Dice) -> M:
    """Two logs have the same name; the second may have no segments."""
    logs = manifest.view_logs
    if len(logs) == 1:
        return replace(manifest, view_logs=(*logs, ViewLog(logs[0].view_name, ())))
    names = _names(manifest)
    index = dice.roll(1, len(names) - 1)
    names[index] = names[index - 1]
    return _with_names(manifest, names)


@breakage(
    "view-logs.order", "swapped", having={Trait.SEVERAL_VIEW_LOGS}, touches={Aspect.LOG_NAMES}
)
def order_swapped(manifest: M, dice: Dice) -> M:
    """Two neighbours have each other's name."""
    names = _names(manifest)
    index = dice.roll(0, len(names) - 2)
    names[index : index + 2] = names[index + 1], names[index]
    return _with_names(manifest, names)


@breakage("view-logs.order", "utf-16", having={Trait.SEVERAL_VIEW_LOGS}, touches={Aspect.LOG_NAMES})
def order_utf16(manifest: M, dice: Dice) -> M:
    """The last two are in the order of UTF-16 units, and not of UTF-8 bytes."""
    names = _names(manifest)
    common = max(names[:-2], default="") + "\U0010ffff"
    names[-2:] = [common + "\U00010000", common + "\uffff"]
    return _with_names(manifest, names)


@breakage("view-logs.name", having={LOG}, touches={Aspect.LOG_NAMES})
def name_empty(manifest: M, dice: Dice) -> M:
    """The first name is empty, and so in order."""
    names = _names(manifest)
    names[0] = ""
    return _with_names(manifest, names)


# --- rows ------------------------------------------------------------------------------------


def _some(manifest: M, dice: Dice) -> int:
    return dice.roll(0, min(len(segments_of(manifest)) - 1, 255))


def _filled(manifest: M) -> int:
    """Index of the first log that has segments."""
    return next(index for index, log in enumerate(manifest.view_logs) if log.segments)


def _with_rows(manifest: M, change: Callable[[ViewLogSegment], list[ViewLogSegment]]) -> M:
    """Replace the last segment of the first log that has any by what *change* makes of it."""
    index = _filled(manifest)
    *before, last = manifest.view_logs[index].segments
    segments = (*before, *change(last))
    changed = replace(manifest, view_logs=with_item(manifest.view_logs, index, segments=segments))
    return relaid(_recounted(changed))


def _another(segment: ViewLogSegment, manifest: M, **changes: int) -> ViewLogSegment:
    """A segment of one byte in the current object beside *segment*."""
    own = {"chunk": manifest.current_chunk, "range": ByteRange(0, 1)}
    return replace(segment, **own, **changes)  # type: ignore[arg-type]


_WHOLE = {Trait.U64_END, Trait.U64_ROWS}


@breakage(
    "segments.order",
    "partition",
    having={SEGMENT, Trait.SEVERAL_VNODES, Trait.LOCAL},
    without={Trait.U64_END},
    touches={Aspect.LAYOUT, Aspect.VNODES, *_ROWS},
)
def order_partition(manifest: M, dice: Dice) -> M:
    """A segment of a lower partition comes after one of a higher."""
    last = max(segment.partition for segment in segments_of(manifest))
    high, low = (1, 0) if last == 0 else (last, last - 1)

    index = _filled(manifest)
    *before, end = manifest.view_logs[index].segments
    # Of the higher partition only one is left, so that there is no gap in either.
    left = (*(segment for segment in before if segment.partition < low), end)
    logs = with_item(manifest.view_logs, index, segments=left)
    return _with_rows(
        replace(manifest, view_logs=logs),
        lambda segment: [
            replace(segment, partition=high),
            _another(segment, manifest, partition=low, row_count=1, first_row=0),
        ],
    )


def _recounted(manifest: M) -> M:
    """*manifest* with as many references as its frames and segments make; unused ones are gone."""
    named = [frame.chunk for frame in manifest.state_frames]
    named += [segment.chunk for segment in segments_of(manifest)]
    return replace(
        manifest,
        referenced_chunks=tuple(
            replace(entry, ref_count=named.count(entry.chunk))
            for entry in manifest.referenced_chunks
            if entry.chunk in named
        ),
    )


@breakage(
    "segments.order",
    "backwards",
    having={SEGMENT},
    without={Trait.U64_END},
    touches={Aspect.LAYOUT, *_ROWS},
    also={"segments.gap"},
)
def order_backwards(manifest: M, dice: Dice) -> M:
    """A segment of the same rows comes a second time: it does not continue itself either."""
    return _with_rows(manifest, lambda segment: [segment, _another(segment, manifest)])


@breakage(
    "segments.order",
    "past-u64",
    having={SEGMENT},
    without={Trait.U64_END},
    touches={Aspect.LAYOUT, *_ROWS},
    also={"segments.rows"},
)
def order_past_u64(manifest: M, dice: Dice) -> M:
    """The same rows twice, where they pass u64: nothing can continue them, so there is no gap."""

    def change(segment: ViewLogSegment) -> list[ViewLogSegment]:
        past = replace(segment, first_row=U64_MAX, row_count=1)
        return [past, _another(past, manifest)]

    index = _filled(manifest)
    first = manifest.view_logs[index].segments[:1]
    logs = with_item(manifest.view_logs, index, segments=first)
    return _with_rows(replace(manifest, view_logs=logs), change)


def _gap(step: int) -> Callable[[M, Dice], M]:
    def gap(manifest: M, dice: Dice) -> M:
        def change(segment: ViewLogSegment) -> list[ViewLogSegment]:
            # Two rows, so that the next may start in the middle and still ascend.
            wide = replace(segment, row_count=max(2, segment.row_count))
            row = wide.first_row + wide.row_count + step
            return [wide, _another(wide, manifest, first_row=row, row_count=1)]

        return _with_rows(manifest, change)

    return gap


_gap_after = _gap(1)
_gap_after.__doc__ = "A segment starts one row after the one before ended."
breakage(
    "segments.gap",
    "row-missing",
    having={SEGMENT},
    without=_WHOLE,
    touches={Aspect.LAYOUT, *_ROWS},
)(_gap_after)

_gap_overlap = _gap(-1)
_gap_overlap.__doc__ = "A segment starts one row before the one before ended."
breakage(
    "segments.gap",
    "row-twice",
    having={SEGMENT},
    without=_WHOLE,
    touches={Aspect.LAYOUT, *_ROWS},
)(_gap_overlap)


@breakage(
    "segments.gap",
    "retained",
    having={SEGMENT},
    without=_WHOLE,
    touches={Aspect.LAYOUT, *_ROWS},
)
def gap_from_zero(manifest: M, dice: Dice) -> M:
    """The rows go on far away: only the first segment of a partition may start anywhere."""
    far = {"first_row": U64_MAX - 1, "row_count": 1}
    return _with_rows(manifest, lambda segment: [segment, _another(segment, manifest, **far)])


@breakage("segments.rows", "none", having={SEGMENT}, touches=_ROWS)
def rows_none(manifest: M, dice: Dice) -> M:
    """The last segment has no rows."""
    return edit(manifest, VIEW_LOGS, len(segments_of(manifest)) - 1, row_count=0)


def _with_last_rows(manifest: M, rows: Callable[[int], int]) -> M:
    """Give the last segment as many *rows* as its first row asks for, which is not row 0."""
    index = len(segments_of(manifest)) - 1
    # A segment that starts at row 0 has none before it that it continues.
    first = segments_of(manifest)[index].first_row or 1
    return edit(manifest, VIEW_LOGS, index, first_row=first, row_count=rows(first))


@breakage("segments.rows", "boundary", having={SEGMENT}, touches=_ROWS)
def rows_boundary(manifest: M, dice: Dice) -> M:
    """The rows of the last segment pass u64 by one."""
    return _with_last_rows(manifest, lambda first: U64_MAX - first + 1)


@breakage("segments.rows", "wrapping", having={SEGMENT}, touches=_ROWS)
def rows_wrapping(manifest: M, dice: Dice) -> M:
    """As many rows as can be written, so that in wrapping arithmetic the end lies before them."""
    return _with_last_rows(manifest, lambda first: U64_MAX)


# --- partitions ------------------------------------------------------------------------------


def _in_partition(manifest: M, partition: int) -> M:
    """Let the last segment of the last log that has any be of *partition*, above all others."""
    return edit(manifest, VIEW_LOGS, len(segments_of(manifest)) - 1, partition=partition)


@breakage(
    "segments.partition-domain",
    "boundary",
    also={"segments.partition-owned"},
    having={SEGMENT},
    touches={Aspect.VNODES, *_ROWS},
)
def domain_boundary(manifest: M, dice: Dice) -> M:
    """The first partition that is not in the domain, and so nobody's."""
    return _in_partition(manifest, manifest.vnode_count)


@breakage(
    "segments.partition-domain",
    "largest",
    also={"segments.partition-owned"},
    having={SEGMENT},
    touches={Aspect.VNODES, *_ROWS},
)
def domain_largest(manifest: M, dice: Dice) -> M:
    """The largest number that a partition can be written as."""
    return _in_partition(manifest, U16_MAX)


@breakage(
    "segments.partition-domain",
    "owned",
    also={"owned-vnodes.domain"},
    having={SEGMENT, Trait.CLUSTER},
    touches={Aspect.VNODES, *_ROWS},
)
def domain_owned(manifest: M, dice: Dice) -> M:
    """A partition that is not in the domain, and yet listed as owned."""
    count = manifest.vnode_count
    return replace(_in_partition(manifest, count), owned_vnodes=(*manifest.owned_vnodes, count))


@breakage(
    "segments.partition-owned",
    having={SEGMENT, Trait.UNOWNED_VNODE},
    without={Trait.SEVERAL_LOG_SEGMENTS},
    touches={Aspect.VNODES, *_ROWS},
)
def partition_owned(manifest: M, dice: Dice) -> M:
    """A partition that is another participant's."""
    owned = set(manifest.owned_vnodes)
    others = [vnode for vnode in range(manifest.vnode_count) if vnode not in owned]
    return _in_partition(manifest, dice.pick(others[:256]))


# --- event time ------------------------------------------------------------------------------


def _timed(manifest: M, dice: Dice, bounds: EventTimeBounds) -> M:
    return edit(manifest, VIEW_LOGS, _some(manifest, dice), event_time=bounds)


@breakage("segments.event-time", "reversed", having={SEGMENT})
def event_time_reversed(manifest: M, dice: Dice) -> M:
    """The last instant is one before the first, or as far before it as can be."""
    last = dice.pick((0, -1, I64_MAX - 1, I64_MIN + 1))
    return _timed(manifest, dice, EventTimeBounds(dice.pick((last + 1, I64_MAX)), last))


@breakage("segments.event-time", "reserved", having={SEGMENT})
def event_time_reserved(manifest: M, dice: Dice) -> M:
    """The first instant is the reserved one, and the last may be, too."""
    last = dice.pick((I64_MIN, 0, I64_MIN + 1, I64_MAX))
    return _timed(manifest, dice, EventTimeBounds(I64_MIN, last))


@breakage("segments.event-time", "reserved-last", having={SEGMENT})
def event_time_reserved_last(manifest: M, dice: Dice) -> M:
    """The last instant alone is the reserved one, which no first one comes before."""
    return _timed(manifest, dice, EventTimeBounds(dice.pick((0, I64_MIN + 1)), I64_MIN))


# --- payloads --------------------------------------------------------------------------------


def _older_segment(manifest: M, dice: Dice) -> int:
    current = manifest.current_chunk
    return index_of(segments_of(manifest), lambda segment: segment.chunk != current, dice)


def _current_segment(manifest: M, dice: Dice) -> int:
    current = manifest.current_chunk
    return index_of(segments_of(manifest), lambda segment: segment.chunk == current, dice)


def _ranged(manifest: M, index: int, **changes: int) -> M:
    part = replace(segments_of(manifest)[index].range, **changes)
    return edit(manifest, VIEW_LOGS, index, range=part)


@breakage("segments.empty", "older", having={OLDER}, touches={Aspect.OLDER_RANGES})
def empty_older(manifest: M, dice: Dice) -> M:
    """A segment of no bytes in an older object."""
    return _ranged(manifest, _older_segment(manifest, dice), length=0)


@breakage("segments.empty", "current", having={CURRENT}, touches={Aspect.LAYOUT})
def empty_current(manifest: M, dice: Dice) -> M:
    """A segment of no bytes in the current object, which is the shorter by it."""
    return relaid(_ranged(manifest, _current_segment(manifest, dice), length=0))


@breakage("segments.digest", having={SEGMENT})
def digest(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    index = _some(manifest, dice)
    text = not_sha256(dice, segments_of(manifest)[index].sha256)
    return edit(manifest, VIEW_LOGS, index, sha256=text)


@breakage(
    "segments.untracked",
    "older",
    having={OLDER},
    touches={Aspect.IDENTITY, Aspect.REFERENCES, Aspect.OLDER_RANGES},
)
def untracked_older(manifest: M, dice: Dice) -> M:
    """A segment of an older object is in an unknown one instead."""
    index = _older_segment(manifest, dice)
    return _recounted(edit(manifest, VIEW_LOGS, index, chunk=unknown_chunk(manifest)))


@breakage(
    "segments.untracked",
    "current",
    having={CURRENT},
    touches={Aspect.IDENTITY, Aspect.LAYOUT, Aspect.OLDER_RANGES},
)
def untracked_current(manifest: M, dice: Dice) -> M:
    """A segment of the current object is in an unknown one instead, and leaves no gap."""
    index = _current_segment(manifest, dice)
    return relaid(edit(manifest, VIEW_LOGS, index, chunk=unknown_chunk(manifest)))


@breakage(
    "segments.untracked",
    "overflow",
    also={"segments.range-overflow"},
    having={CURRENT},
    touches={Aspect.IDENTITY, Aspect.LAYOUT, Aspect.OLDER_RANGES},
)
def untracked_overflow(manifest: M, dice: Dice) -> M:
    """A segment is in an unknown object, and its range passes u64."""
    index = _current_segment(manifest, dice)
    far = _ranged(manifest, index, offset=U64_MAX, length=1)
    return relaid(edit(far, VIEW_LOGS, index, chunk=unknown_chunk(manifest)))


@breakage("segments.range-overflow", "boundary", having={OLDER}, touches={Aspect.OLDER_RANGES})
def overflow(manifest: M, dice: Dice) -> M:
    """A range in an older object ends one byte past u64's maximum."""
    index = _older_segment(manifest, dice)
    length = segments_of(manifest)[index].range.length
    return _ranged(manifest, index, offset=U64_MAX - length + 1)


@breakage("segments.range-overflow", "wrapping", having={OLDER}, touches={Aspect.OLDER_RANGES})
def overflow_wrapping(manifest: M, dice: Dice) -> M:
    """A range whose end, in wrapping arithmetic, lies in its object."""
    index = _older_segment(manifest, dice)
    return _ranged(manifest, index, offset=U64_MAX, length=dice.pick((2, U64_MAX)))


@breakage(
    "segments.range-overflow",
    "current",
    having={CURRENT, Trait.CURRENT_FRAME},
    without={Trait.U64_END},
    touches={Aspect.LAYOUT},
)
def overflow_current(manifest: M, dice: Dice) -> M:
    """A segment of the current object passes u64 from where it must start."""
    places = current_places(manifest)
    numbers = [number for number, place in enumerate(places) if place[0] == VIEW_LOGS]
    return overflowing(manifest, dice.pick(numbers))


@breakage("segments.range-end", "older", having={OLDER}, touches={Aspect.OLDER_RANGES})
def range_end(manifest: M, dice: Dice) -> M:
    """A range in an older object ends one byte after it."""
    index = _older_segment(manifest, dice)
    segment = segments_of(manifest)[index]
    entries = manifest.referenced_chunks
    place = next(i for i, entry in enumerate(entries) if entry.chunk == segment.chunk)
    length = entries[place].object_length
    if length == U64_MAX:
        ends = (other for other in segments_of(manifest) if other.chunk == segment.chunk)
        last = max(other.range.offset + other.range.length for other in ends)
        return edit(manifest, "referenced_chunks", place, object_length=last - 1)
    return _ranged(manifest, index, length=length - segment.range.offset + 1)


@breakage(
    "segments.range-end",
    "current",
    also={"layout.length"},
    having={CURRENT},
    without={
        Trait.SINK_EMPTY,
        Trait.SINK_PAYLOAD,
        Trait.INTENT_EMPTY,
        Trait.INTENT_PAYLOAD,
    },
    touches={Aspect.LAYOUT},
)
def range_end_current(manifest: M, dice: Dice) -> M:
    """The current object is one byte too short for its last segment."""
    data = manifest.node_data
    return replace(manifest, node_data=replace(data, object_length=data.object_length - 1))


@breakage(
    "references.count",
    "segment",
    having={OLDER},
    touches={Aspect.REFERENCES, Aspect.OLDER_RANGES},
)
def count_without_segments(manifest: M, dice: Dice) -> M:
    """A count of frames alone, where segments count too; at least one there must be."""
    chunk = segments_of(manifest)[_older_segment(manifest, dice)].chunk
    frames = sum(frame.chunk == chunk for frame in manifest.state_frames)
    entries = manifest.referenced_chunks
    place = next(i for i, entry in enumerate(entries) if entry.chunk == chunk)
    wrong = frames or entries[place].ref_count + 1
    return edit(manifest, "referenced_chunks", place, ref_count=wrong)


@breakage(
    "layout.gap",
    "segments-first",
    having={CURRENT, Trait.CURRENT_FRAME, Trait.SINK_PAYLOAD},
    without={Trait.U64_END, Trait.SEVERAL_LOG_SEGMENTS},
    touches={Aspect.LAYOUT},
)
def segments_first(manifest: M, dice: Dice) -> M:
    """The segments lie before the frames."""
    current = manifest.current_chunk
    (segment,) = segments_of(manifest)
    frames = tuple(
        replace(frame, range=_moved(frame.range, segment.range.length))
        if frame.chunk == current
        else frame
        for frame in manifest.state_frames
    )
    first = with_segments(manifest, [replace(segment, range=replace(segment.range, offset=0))])
    return replace(first, state_frames=frames)


def _moved(part: ByteRange, by: int) -> ByteRange:
    return replace(part, offset=part.offset + by)


# --- the limit -------------------------------------------------------------------------------

_PLAIN = {LOG, Trait.U64_END, Trait.SUBSCRIPTION}


_MANY = {Aspect.LAYOUT, Aspect.LOG_NAMES, Aspect.VNODES, *_ROWS}


def _one_more(manifest: M, dice: Dice, contract: Contract) -> M:
    """One segment more than a manifest of so many participants may retain, in up to three logs."""
    limit = limit_of(contract, participants_of(manifest))
    return retaining(manifest, limit + 1, logs=dice.roll(1, 3))


for _way, _having, _without in (
    ("local", {Trait.LOCAL}, _PLAIN),
    ("cluster", {Trait.SEVERAL_PARTICIPANTS}, _PLAIN | {Trait.MAX_PARTICIPANTS}),
    ("most-participants", {Trait.MAX_PARTICIPANTS}, _PLAIN),
):
    breakage(
        "segments.limit",
        _way,
        having=_having,
        without=_without,
        touches=_MANY,
        heavy=_way != "most-participants",
        by_contract=True,
    )(_one_more)


@breakage(
    "segments.limit",
    "one-participant-less",
    having={Trait.MAX_PARTICIPANTS},
    without=_PLAIN,
    touches=_MANY,
    by_contract=True,
)
def limit_of_fewer(manifest: M, dice: Dice, contract: Contract) -> M:
    """As many as one participant less would allow: the others of the fence count, not all."""
    participants = participants_of(manifest)
    fewer = limit_of(contract, participants - 1)
    # With other numbers than the assumed ones the two may be the same.
    return retaining(manifest, max(fewer, limit_of(contract, participants) + 1))
