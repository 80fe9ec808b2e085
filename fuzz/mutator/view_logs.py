"""Breaking the rules of view logs, by name."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.mutator.breaks import Break, Change
from fuzz.mutator.documents import Tree
from fuzz.mutator.seal import Manifest, recount, relay, segments_of
from fuzz.mutator.values import Values
from oracle.constants import I64_MIN, U16_MAX, U64_MAX


def _one(change: Callable[[Manifest, Tree, Values], None]) -> Change:
    """Do something to one of the segments."""

    def changed(manifest: Manifest, values: Values) -> None:
        change(manifest, values.pick([*segments_of(manifest)]), values)

    return changed


def _give(**fields: tuple[Tree, ...]) -> Change:
    """Give fields of one segment one of the values that stand here for each of them."""
    return _one(
        lambda _, segment, values: segment.update(
            {name: values.pick(among) for name, among in fields.items()}
        )
    )


def _lone(change: Change) -> Change:
    """Leave one segment of one log, in the current object, and then break it."""

    def changed(manifest: Manifest, values: Values) -> None:
        log = next(log for log in manifest["view_logs"] if log["segments"])
        kept = log["segments"][0]
        manifest["view_logs"] = [log]
        log["segments"] = [kept]
        kept["chunk"] = dict(manifest["node_data"]["chunk"])
        kept["range"]["length"] = 1
        relay(manifest)
        recount(manifest)
        change(manifest, values)

    return changed


def _more(**changes: Callable[[Tree, Values], Tree]) -> Change:
    """Put a segment behind the last one, which it continues but for *changes*."""

    def changed(manifest: Manifest, values: Values) -> None:
        log = manifest["view_logs"][0]
        last = log["segments"][0]
        last["row_count"] = 2
        more = {
            **last,
            "first_row": last["first_row"] + 2,
            "row_count": 1,
            "range": {"offset": 0, "length": 1},
        }
        more |= {name: to(more, values) for name, to in changes.items()}
        log["segments"].append(more)
        relay(manifest)

    return _lone(changed)


def _rename(*names: str) -> Change:
    def changed(manifest: Manifest, values: Values) -> None:
        for log, name in zip(manifest["view_logs"], names, strict=False):
            log["view_name"] = name

    return changed


def _partition(manifest: Manifest, values: Values) -> None:
    segment = manifest["view_logs"][0]["segments"][0]
    count = manifest["vnode_count"]
    others = sorted({*range(count)} - {*manifest["owned_vnodes"]})
    segment["partition"] = values.pick([*others, count, U16_MAX])


def _partition_owned(manifest: Manifest, values: Values) -> None:
    """A partition beyond the domain that is listed as owned."""
    count = manifest["vnode_count"]
    manifest["view_logs"][0]["segments"][0]["partition"] = count
    manifest["owned_vnodes"].append(count)


def _backwards(manifest: Manifest, values: Values) -> None:
    """A lower partition behind a higher one."""
    log = manifest["view_logs"][0]
    owned = manifest["owned_vnodes"]
    (segment,) = log["segments"]
    lower = {**segment, "partition": owned[0], "range": {"offset": 0, "length": 1}}
    segment["partition"] = owned[1]
    log["segments"].append(lower)
    relay(manifest)


def _rows(manifest: Manifest, segment: Tree, values: Values) -> None:
    segment["row_count"] = U64_MAX - segment["first_row"] + values.below(2)


def _empty(manifest: Manifest, segment: Tree, values: Values) -> None:
    segment["range"]["length"] = 0
    relay(manifest)


def _untracked(manifest: Manifest, segment: Tree, values: Values) -> None:
    segment["chunk"] = {"participant_id": 77, "checkpoint_id": 1}
    if values.chance(0.3):
        segment["range"]["length"] = U64_MAX
    relay(manifest)
    recount(manifest)


def _in_older(change: Callable[[Manifest, Tree, Tree, Values], None]) -> Change:
    """Put a segment into an older object, and then break it there."""

    def changed(manifest: Manifest, segment: Tree, values: Values) -> None:
        entry = values.pick(manifest["referenced_chunks"])
        segment["chunk"] = dict(entry["chunk"])
        length = entry["object_length"] = max(1, entry["object_length"])
        segment["range"] = {"offset": length - 1, "length": 1}
        relay(manifest)
        recount(manifest)
        change(manifest, segment, entry, values)

    return _one(changed)


def _beyond(manifest: Manifest, segment: Tree, entry: Tree, values: Values) -> None:
    segment["range"]["length"] += 1


def _overflow(manifest: Manifest, segment: Tree, entry: Tree, values: Values) -> None:
    segment["range"]["length"] = U64_MAX - segment["range"]["offset"] + 1


def _uncounted(manifest: Manifest, segment: Tree, entry: Tree, values: Values) -> None:
    """Count frames alone."""
    chunk = entry["chunk"]
    frames = sum(frame["chunk"] == chunk for frame in manifest["state_frames"])
    entry["ref_count"] = frames or entry["ref_count"] + 1


def _empty_older(manifest: Manifest, segment: Tree, entry: Tree, values: Values) -> None:
    segment["range"]["length"] = 0


_LOGS = ("view_logs",)
_CLUSTER = ("view_logs", "assignment_fence")
_OLDER = ("view_logs", "state_frames", "referenced_chunks")
_NOT_SHA256 = ("", "0" * 63, "0" * 65, "G" * 64, "A" * 64)

VIEW_LOG_BREAKS: tuple[Break, ...] = (
    Break(_LOGS, _rename("")),
    Break(_LOGS, _rename("a", "a")),
    Break(_LOGS, _rename("\U00010400", "\uff41")),
    Break(_LOGS, _lone(_partition)),
    Break(_CLUSTER, _lone(_partition)),
    Break(_CLUSTER, _lone(_partition)),
    Break(_CLUSTER, _lone(_partition_owned)),
    Break(_LOGS, _lone(_backwards)),
    Break(_LOGS, _lone(_backwards)),
    Break(_LOGS, _more(first_row=lambda more, _: more["first_row"] - 2)),
    Break(_LOGS, _more(first_row=lambda more, _: more["first_row"] + 1)),
    Break(_LOGS, _more(first_row=lambda more, _: more["first_row"] - 1)),
    Break(_LOGS, _more(row_count=lambda more, _: U64_MAX)),
    Break(_LOGS, _lone(_give(row_count=(0, 1)))),
    Break(_LOGS, _lone(_one(_rows))),
    Break(_LOGS, _give(event_time=({"min": 1, "max": 0}, {"min": 0, "max": 0}))),
    Break(_LOGS, _give(event_time=({"min": I64_MIN, "max": 0}, {"min": I64_MIN + 1, "max": 0}))),
    Break(_LOGS, _give(event_time=({"min": I64_MIN, "max": I64_MIN},))),
    Break(_LOGS, _give(sha256=_NOT_SHA256)),
    Break(_LOGS, _one(_empty)),
    Break(_LOGS, _one(_untracked)),
    Break(_OLDER, _in_older(_beyond)),
    Break(_OLDER, _in_older(_overflow)),
    Break(_OLDER, _in_older(_uncounted)),
    Break(_OLDER, _in_older(_empty_older)),
)
"""Every break of view logs."""
