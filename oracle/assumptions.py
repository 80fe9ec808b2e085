"""What is documented and what is only assumed of the format that is to come: view logs.

No released engine speaks it. Each entry says what would confirm it, and where its fact stands:
numbers, names and orders in the format's row (:data:`oracle.formats.VIEW_LOG`, and a file of
facts overrides them), fields in the model, rules under the ids that carry the assumption.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assumption:
    """One statement about the format.

    ``basis`` is why it is held; ``confirmed_by`` is what an engine would have to show. A
    documented statement (D) comes from the engine's published documentation.
    """

    id: str
    statement: str
    basis: str
    confirmed_by: str


_DOCUMENTED = "the engine's published documentation"

_ENTRIES = (
    Assumption(
        "D1",
        "ViewLog is one append-only view's retained log at the cut",
        _DOCUMENTED,
        "the type in an engine's source",
    ),
    Assumption(
        "D2",
        "ViewLogSegment is one immutable run of rows in a partition of a view's log",
        _DOCUMENTED,
        "the type in an engine's source",
    ),
    Assumption(
        "D3",
        "EventTimeBounds is the inclusive event-time range of one segment's rows",
        _DOCUMENTED,
        "the type in an engine's source",
    ),
    Assumption(
        "D4",
        "MAX_VIEW_LOG_SEGMENTS bounds the segments of one manifest, over all its view logs",
        _DOCUMENTED,
        "the exported constant, and a manifest one past it refused",
    ),
    Assumption(
        "D5",
        "MAX_CLUSTER_VIEW_LOG_SEGMENTS bounds the segments of one cluster cut; at about 285 "
        "encoded bytes a segment two cuts at the budget stay near 13 MiB",
        _DOCUMENTED,
        "the exported constant, and the sizes that `python -m strategies report` measures",
    ),
    Assumption(
        "D6",
        "view_log_segment_limit(participants) bounds one manifest of a cut of that many: an even "
        "share of D5's number, never more than D4's",
        _DOCUMENTED,
        "the exported function at 1, 2, 3 and 129 participants",
    ),
    Assumption(
        "D7",
        "every manifest version but the current one is rejected",
        _DOCUMENTED,
        "a manifest of version 10 refused",
    ),
    Assumption(
        "D8",
        "all other types are those of format v10",
        _DOCUMENTED,
        "every v10 case, with the new version, judged as before",
    ),
    Assumption(
        "A1",
        "format version 11; pipeline identity 7; MAX_CLUSTER_VIEW_LOG_SEGMENTS 24,000; "
        "MAX_VIEW_LOG_SEGMENTS 16,384",
        "two cuts of 24,000 segments of 285 bytes are 13.05 MiB, near D5's 13",
        "the exported constants",
    ),
    Assumption(
        "A2",
        "view_log_segment_limit(n) is min(MAX_VIEW_LOG_SEGMENTS, MAX_CLUSTER_VIEW_LOG_SEGMENTS / n "
        "rounded down) for n of 1 and more; 0 is a caller's error; local manifests have one",
        "rounded down, the shares of a cut never add up past D5's number",
        "the exported function, also at 0",
    ),
    Assumption(
        "A3",
        "CheckpointManifest.view_logs is a list after referenced_chunks, defaulted, and left out "
        "of the encoding when empty",
        "v10 added sink_artifact_intents so",
        "decoding the array form, and the canonical encoding without logs",
    ),
    Assumption(
        "A4",
        "ViewLog: view_name string, segments list of ViewLogSegment",
        "D1",
        "decoding one; the unknown-field message lists the names",
    ),
    Assumption(
        "A5",
        "ViewLogSegment: partition u16, first_row u64, row_count u64, event_time optional "
        "EventTimeBounds, chunk, range, sha256; EventTimeBounds: min i64, max i64",
        "with realistic values these fields encode to about 285 bytes (D5)",
        "decoding one in object and array form",
    ),
    Assumption(
        "A6",
        "view_logs ascends strictly by view_name, and no view_name is empty",
        "as every other list of the manifest",
        "messages for two equal names, and for an empty one",
    ),
    Assumption(
        "A7",
        "a log's segments ascend strictly by partition and first_row; in one partition each "
        "starts where the one before ended, the first anywhere; row_count is not 0 and the rows "
        "do not pass u64",
        "a run of rows is immutable (D2), and a retained log has one contiguous tail",
        "messages for a gap, an overlap, an empty run and one past u64",
    ),
    Assumption(
        "A8",
        "a segment's partition is a vnode: below vnode_count, and owned",
        "partitions are vnodes, as those of subscription output are",
        "messages for a partition outside the domain, and for one of another owner",
    ),
    Assumption(
        "A9",
        "event_time has min not above max, and neither is i64's minimum",
        "D3: the range is inclusive, so min = max is one instant; the minimum is reserved",
        "messages for reversed bounds and for the reserved value",
    ),
    Assumption(
        "A10",
        "a segment's range, digest and chunk keep the rules of a state frame's, and ref_count "
        "counts state frames and segments",
        "segments are payloads in node data objects, and clean-up counts references",
        "messages for an empty range, a bad digest, an unknown chunk and a wrong count",
    ),
    Assumption(
        "A11",
        "in the current object the segments lie after the state frames and before the intents, "
        "logs and segments in list order",
        "one place for each kind, in declaration order of the kinds",
        "a manifest with frames, segments and sinks in this order accepted",
    ),
    Assumption(
        "A12",
        "a manifest has at most view_log_segment_limit(participants in its fence, 1 when local) "
        "segments",
        "D4, D6",
        "manifests at the limit accepted and one past it refused, for 1, 2, 3, 129 and local",
    ),
)

ASSUMPTIONS: dict[str, Assumption] = {entry.id: entry for entry in _ENTRIES}
"""Every entry by id, documented ones first."""
