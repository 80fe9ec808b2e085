"""The retained logs of append-only views: assumed rules of the format that is to come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from oracle.constants import I64_MIN
from oracle.formats import Feature
from oracle.kernels import first_disorder, range_end, row_gaps, view_log_segment_limit
from oracle.registry import Place, rule
from oracle.rules.payloads import Payloads, register_payload_rules
from oracle.subject import Subject

_rule = partial(rule, feature=Feature.VIEW_LOGS)


@_rule("view-logs.order", assumption="A6")
def view_logs_order(subject: Subject) -> Iterator[Place]:
    """view_logs is not strictly ascending by view_name."""
    names = [log.view_name for log in subject.manifest.view_logs]
    index = first_disorder(names)
    if index is not None:
        yield (
            f"/view_logs/{index}/view_name",
            f"{names[index]!r} does not follow {names[index - 1]!r}",
        )


@_rule("view-logs.name", assumption="A6")
def view_logs_name(subject: Subject) -> Iterator[Place]:
    """A log's view_name is empty."""
    for index, log in enumerate(subject.manifest.view_logs):
        if not log.view_name:
            yield f"/view_logs/{index}/view_name", "view_name is empty"


@_rule("segments.order", assumption="A7")
def segments_order(subject: Subject) -> Iterator[Place]:
    """A log's segments are not strictly ascending by (partition, first_row)."""
    for number, log in enumerate(subject.manifest.view_logs):
        keys = [(segment.partition, segment.first_row) for segment in log.segments]
        index = first_disorder(keys)
        if index is not None:
            yield (
                f"/view_logs/{number}/segments/{index}",
                f"{keys[index]} does not follow {keys[index - 1]}",
            )


@_rule("segments.gap", assumption="A7")
def segments_gap(subject: Subject) -> Iterator[Place]:
    """Of two segments of one partition in a row, the second does not start where the first ends.

    The first of a partition may start anywhere, since retention drops the oldest rows; nothing
    is expected after one that passes u64.
    """
    for number, log in enumerate(subject.manifest.view_logs):
        runs = [(part.partition, part.first_row, part.row_count) for part in log.segments]
        for index in row_gaps(runs):
            _, first_row, row_count = runs[index - 1]
            yield (
                f"/view_logs/{number}/segments/{index}/first_row",
                f"first_row is {runs[index][1]}, expected {first_row + row_count}",
            )


@_rule("segments.rows", assumption="A7")
def segments_rows(subject: Subject) -> Iterator[Place]:
    """A segment's row_count is 0, or first_row + row_count passes u64."""
    for index, segment in enumerate(subject.segments):
        if segment.row_count == 0:
            yield f"{subject.segment_pointer(index)}/row_count", "row_count is 0"
        elif range_end(segment.first_row, segment.row_count) is None:
            yield (
                f"{subject.segment_pointer(index)}/first_row",
                f"{segment.row_count} rows from {segment.first_row} pass u64",
            )


@_rule("segments.partition-domain", assumption="A8")
def segments_partition_domain(subject: Subject) -> Iterator[Place]:
    """A segment's partition is not below vnode_count."""
    count = subject.manifest.vnode_count
    for index, segment in enumerate(subject.segments):
        if segment.partition >= count:
            yield (
                f"{subject.segment_pointer(index)}/partition",
                f"partition {segment.partition} is not below vnode_count {count}",
            )


@_rule("segments.partition-owned", assumption="A8", unspecified_with=("owned-vnodes.order",))
def segments_partition_owned(subject: Subject) -> Iterator[Place]:
    """A segment's partition is not in owned_vnodes."""
    for index, segment in enumerate(subject.segments):
        if segment.partition not in subject.owned_vnodes:
            yield (
                f"{subject.segment_pointer(index)}/partition",
                f"partition {segment.partition} is not in owned_vnodes",
            )


@_rule("segments.event-time", assumption="A9")
def segments_event_time(subject: Subject) -> Iterator[Place]:
    """A segment's event_time has min above max, or either is i64's minimum, which is reserved."""
    for index, segment in enumerate(subject.segments):
        bounds = segment.event_time
        if bounds is not None and not I64_MIN < bounds.min <= bounds.max:
            yield (
                f"{subject.segment_pointer(index)}/event_time",
                f"event time {bounds.min}..={bounds.max} is reversed or reserved",
            )


SEGMENTS = Payloads(
    "segments",
    Feature.VIEW_LOGS,
    lambda subject: subject.segments,
    Subject.segment_pointer,
    lambda subject: subject.segment_chunks,
)
register_payload_rules(SEGMENTS, assumption="A10")


@_rule("segments.limit", assumption="A12")
def segments_limit(subject: Subject) -> Iterator[Place]:
    """There are more segments than one manifest of its cut may retain.

    The limit is view_log_segment_limit of the number of participants in the fence, 1 when local.
    """
    contract, fence = subject.contract, subject.manifest.assignment_fence
    limit = view_log_segment_limit(
        1 if fence is None else len(fence.participants),
        contract.max_view_log_segments,
        contract.max_cluster_view_log_segments,
    )
    count = len(subject.segments)
    if count > limit:
        yield "/view_logs", f"the manifest retains {count} segments, at most {limit} are allowed"
