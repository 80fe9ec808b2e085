"""The format that is only assumed: its limits, and that facts can take the place of guesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from oracle import (
    ASSUMPTIONS,
    MAX_CHECKPOINT_PARTICIPANTS,
    RULES,
    V10,
    VIEW_LOG,
    CheckpointManifest,
    Contract,
    EventTimeBounds,
    Feature,
    Kind,
    Stage,
    ViewLog,
    ViewLogSegment,
    contract_named,
    encode,
    judge,
    view_log_segment_limit,
)
from tests.oracle.documents import (
    KEY_GROUPS,
    SHA,
    Document,
    chunk,
    cluster,
    put,
    span,
    text,
    view_logs,
)

OF_VIEW_LOGS = [rule for rule in RULES.values() if rule.feature is Feature.VIEW_LOGS]


def limit(contract: Contract, participants: int) -> int:
    """The limit of a manifest in a cut of so many."""
    return view_log_segment_limit(
        participants, contract.max_view_log_segments, contract.max_cluster_view_log_segments
    )


def verdict(document: Document, contract: Contract = VIEW_LOG) -> frozenset[str]:
    """The broken rules of a document that decodes."""
    found = judge(text(document), KEY_GROUPS, contract)
    assert found.rejection is None
    return found.rules


def retaining(document: Document, count: int) -> Document:
    """*document* with *count* segments of one byte each before its sinks' payloads."""
    frames = [one["range"] for one in document["state_frames"] if one["chunk"] == chunk(1, 9)]
    start = sum(part["length"] for part in frames)
    segments = [
        {
            "partition": document["owned_vnodes"][0],
            "first_row": row,
            "row_count": 1,
            "event_time": None,
            "chunk": chunk(1, 9),
            "range": span(start + row, 1),
            "sha256": SHA,
        }
        for row in range(count)
    ]
    cursor = start + count
    for field in ("sink_artifact_intents", "prepared_sinks"):
        for entry in document.get(field, ()):
            if entry["payload"] is not None:
                entry["payload"]["offset"] = cursor
                cursor += entry["payload"]["length"]
    document["node_data"]["object_length"] = cursor
    return document | {"version": 11, "view_logs": [{"view_name": "a", "segments": segments}]}


def of_participants(count: int) -> Document:
    """A cluster manifest with so many in its fence, or a local one for none."""
    if count == 0:
        document = view_logs()
        document["referenced_chunks"][0]["ref_count"] = 2
        return document
    document = cluster()
    document["assignment_fence"]["participants"] = [
        {"node_id": node, "boot_incarnation": f"11111111-1111-4111-8111-{node:012}"}
        for node in range(1, count + 1)
    ]
    document.pop("subscription_output", None)
    return document


# --- the limit -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("participants", "expected"), [(1, 16_384), (2, 12_000), (3, 8_000), (128, 187), (129, 186)]
)
def test_the_limit_is_an_even_share(participants: int, expected: int) -> None:
    """Of the cluster's budget, and no more than one manifest may retain."""
    assert limit(VIEW_LOG, participants) == expected


def test_a_cut_without_participants_is_the_callers_mistake() -> None:
    """There is no share of nobody."""
    with pytest.raises(ValueError, match="at least 1"):
        limit(VIEW_LOG, 0)


def test_the_shares_of_a_cut_stay_within_the_budget() -> None:
    """For every number of participants that a fence can have, all shares together fit."""
    for participants in range(1, MAX_CHECKPOINT_PARTICIPANTS + 1):
        together = participants * limit(VIEW_LOG, participants)
        assert together <= VIEW_LOG.max_cluster_view_log_segments
        assert limit(VIEW_LOG, participants) <= VIEW_LOG.max_view_log_segments


@pytest.mark.parametrize("participants", [0, 1, 2, 3, MAX_CHECKPOINT_PARTICIPANTS])
@pytest.mark.parametrize("past", [0, 1])
def test_the_limit_counts_the_participants_of_the_fence(participants: int, past: int) -> None:
    """At the limit a manifest is valid, one past it is not; a local one is a cut of one."""
    count = limit(VIEW_LOG, participants or 1) + past
    document = retaining(of_participants(participants), count)
    assert verdict(document) == ({"segments.limit"} if past else frozenset())


def test_the_limit_is_over_all_logs() -> None:
    """Two logs that together are one past it break it, though each by itself would not."""
    document = retaining(of_participants(129), 187)
    (log,) = document["view_logs"]
    document["view_logs"] = [
        {"view_name": "a", "segments": log["segments"][:100]},
        {"view_name": "b", "segments": log["segments"][100:]},
    ]
    assert verdict(document) == {"segments.limit"}


# --- decoding --------------------------------------------------------------------------------


def test_other_versions_are_refused() -> None:
    """The version before and the one after, with view logs and without."""
    for version in (9, 10, 12):
        assert verdict(view_logs() | {"version": version}) == {"version"}


def test_the_format_before_has_no_view_logs() -> None:
    """There the field is unknown."""
    found = judge(text(view_logs() | {"version": 10}), KEY_GROUPS, V10)
    assert found.rejection is not None
    assert found.rejection.kind is Kind.UNKNOWN


def test_no_view_logs_are_left_out() -> None:
    """An empty list is the default, and the canonical encoding does not name it."""
    document = view_logs() | {"view_logs": []}
    found = judge(text(document), KEY_GROUPS, VIEW_LOG)
    assert found.manifest is not None
    assert found.manifest.view_logs == ()
    assert b"view_logs" not in encode(found.manifest, VIEW_LOG)


def as_arrays(document: Document) -> Document:
    """*document* with its view logs, and all that is in them, as arrays."""
    logs = []
    for log in document["view_logs"]:
        segments = [
            [list(value.values()) if isinstance(value, dict) else value for value in one.values()]
            for one in log["segments"]
        ]
        logs.append([log["view_name"], segments])
    return document | {"view_logs": logs}


def test_logs_can_be_arrays() -> None:
    """Declaration order is that of the assumption; both forms are one manifest."""
    objects = judge(text(view_logs()), KEY_GROUPS, VIEW_LOG)
    arrays = judge(text(as_arrays(view_logs())), KEY_GROUPS, VIEW_LOG)
    assert arrays.stage is Stage.VALID
    assert arrays.manifest == objects.manifest


SEGMENT = "/view_logs/0/segments/0"


@pytest.mark.parametrize(
    ("pointer", "value", "kind"),
    [
        ("/view_logs", None, Kind.TYPE),
        ("/view_logs/0", [], Kind.LENGTH),
        ("/view_logs/0", ["a"], Kind.LENGTH),
        ("/view_logs/0/more", 1, Kind.UNKNOWN),
        ("/view_logs/0/view_name", 1, Kind.TYPE),
        (f"{SEGMENT}/partition", 65_536, Kind.RANGE),
        (f"{SEGMENT}/first_row", -1, Kind.RANGE),
        (f"{SEGMENT}/row_count", 2**64, Kind.RANGE),
        (f"{SEGMENT}/event_time", [1], Kind.LENGTH),
        (f"{SEGMENT}/event_time/min", -(2**63) - 1, Kind.RANGE),
        (f"{SEGMENT}/event_time/max", 2**63, Kind.RANGE),
        (f"{SEGMENT}/event_time/mean", 0, Kind.UNKNOWN),
        (f"{SEGMENT}/sha256", None, Kind.TYPE),
    ],
)
def test_what_is_no_view_log(pointer: str, value: Any, kind: Kind) -> None:
    """Every new field has its type and its bounds, and there are no others."""
    document = view_logs()
    put(document, pointer, value)
    found = judge(text(document), KEY_GROUPS, VIEW_LOG)
    assert found.rejection is not None
    assert found.rejection.kind is kind
    assert found.rejection.pointer.startswith(pointer.rpartition("/")[0])


@pytest.mark.parametrize("name", [field.name for field in fields(ViewLogSegment)])
def test_a_segment_has_all_its_fields(name: str) -> None:
    """Only the optional event time can be left out, and only of an object."""
    document = view_logs()
    del document["view_logs"][0]["segments"][0][name]
    found = judge(text(document), KEY_GROUPS, VIEW_LOG)
    if name == "event_time":
        assert found.stage is Stage.VALID
        short = as_arrays(view_logs())
        del short["view_logs"][0][1][0][3]
        found = judge(text(short), KEY_GROUPS, VIEW_LOG)
        assert found.stage is Stage.DECODE
    else:
        assert found.rejection is not None
        assert found.rejection.kind is Kind.MISSING


# --- assumptions -----------------------------------------------------------------------------


def test_every_rule_of_view_logs_is_an_assumption() -> None:
    """And of the assumptions about rules none is without one, but for what older rules carry."""
    carried = {rule.assumption for rule in OF_VIEW_LOGS}
    assert None not in carried
    # A11 is the order in which the older rules of the layout take the ranges.
    assert carried == {"A6", "A7", "A8", "A9", "A10", "A12"}
    assert not [rule for rule in RULES.values() if rule.assumption and rule not in OF_VIEW_LOGS]


def test_assumptions_say_what_the_code_does() -> None:
    """Their numbers and the names of their fields are those of format and model."""
    for number in (VIEW_LOG.max_cluster_view_log_segments, VIEW_LOG.max_view_log_segments):
        assert f"{number:,}" in ASSUMPTIONS["A1"].statement
    assert f"version {VIEW_LOG.manifest_version};" in ASSUMPTIONS["A1"].statement
    shapes: list[tuple[str, Any]] = [
        ("A4", ViewLog),
        ("A5", ViewLogSegment),
        ("A5", EventTimeBounds),
    ]
    for id, shape in shapes:
        for field in fields(shape):
            assert field.name in ASSUMPTIONS[id].statement
    names = [field.name for field in fields(CheckpointManifest)]
    assert names.index("view_logs") == names.index("referenced_chunks") + 1


def test_each_assumption_can_be_confirmed() -> None:
    """Every entry says why it is held, and what an engine would have to show."""
    assert [*ASSUMPTIONS] == [f"D{n}" for n in range(1, 9)] + [f"A{n}" for n in range(1, 13)]
    for entry in ASSUMPTIONS.values():
        assert entry.statement
        assert entry.basis
        assert entry.confirmed_by


# --- facts -----------------------------------------------------------------------------------


@pytest.fixture
def facts(tmp_path: Path) -> Callable[[str], Contract]:
    """Reads a contract from a file of facts."""

    def read(content: str) -> Contract:
        path = tmp_path / "engine.toml"
        path.write_text(content)
        return contract_named(str(path))

    return read


def test_numbers_are_facts(facts: Callable[[str], Contract]) -> None:
    """Another version and another budget change the verdict, and nothing else has to change."""
    contract = facts(
        "[numbers]\nmanifest_version = 12\nmax_view_log_segments = 2\n"
        "max_cluster_view_log_segments = 3\n"
    )
    assert verdict(view_logs() | {"version": 12}, contract) == {"segments.limit"}
    assert verdict(view_logs(), contract) == {"segments.limit", "version"}


def test_names_are_facts(facts: Callable[[str], Contract]) -> None:
    """A field's other name is read and written, and the assumed one is unknown then."""
    contract = facts('[names]\n"ViewLogSegment.row_count" = "rows"\n')
    document = view_logs()
    for log in document["view_logs"]:
        for one in log["segments"]:
            one["rows"] = one.pop("row_count")
    found = judge(text(document), KEY_GROUPS, contract)
    assert found.stage is Stage.VALID
    assert found.manifest is not None
    assert b'"rows":10' in encode(found.manifest, contract)
    assert judge(text(view_logs()), KEY_GROUPS, contract).stage is Stage.DECODE


def test_the_order_of_fields_is_a_fact(facts: Callable[[str], Contract]) -> None:
    """It is what the array form goes by."""
    contract = facts('[orders]\nEventTimeBounds = ["max", "min"]\n')
    document = view_logs()
    document["view_logs"][0]["segments"][0]["event_time"] = [7, 3]
    assert verdict(document, contract) == frozenset()
    assert verdict(document) == {"segments.event-time"}


def test_the_order_of_payloads_is_a_fact(facts: Callable[[str], Contract]) -> None:
    """Where segments lie in the current object is one line of a file."""
    contract = facts(
        '[orders]\npayloads = ["state_frames", "sink_artifact_intents", "prepared_sinks", '
        '"view_logs"]\n'
    )
    assert verdict(view_logs(), contract) == {"layout.gap", "layout.length"}
    document = view_logs()
    put(document, "/sink_artifact_intents/0/payload", span(10, 6))
    put(document, "/prepared_sinks/0/payload", span(16, 4))
    put(document, "/view_logs/0/segments/1/range", span(20, 3))
    put(document, "/view_logs/1/segments/0/range", span(23, 1))
    assert verdict(document, contract) == frozenset()
    assert "layout.gap" in verdict(document)
