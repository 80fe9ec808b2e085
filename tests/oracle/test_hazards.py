"""Each hazard alone, beside a valid verdict."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from oracle import (
    RULES,
    V10,
    Level,
    Stage,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    decode,
    encode,
    hazards,
    judge,
    registry,
)
from tests.oracle.documents import (
    BOOT_1,
    KEY_GROUPS,
    OTHER_SHA,
    SHA,
    Document,
    at,
    chunk,
    cluster,
    connector,
    empty,
    local,
    put,
    reference,
    sealed,
    sink,
    span,
    subscribed,
    text,
    whole,
)

Change = Callable[[Document], Any]
STREAM = "/subscription_output/streams/0"


def _put(*pairs: tuple[str, Any]) -> Change:
    def change(document: Document) -> None:
        for pointer, value in pairs:
            put(document, pointer, value)

    return change


def _source(name: str, **maps: dict[str, str]) -> Change:
    return _put(("/source_names", [name]), ("/source_offsets", {name: connector() | maps}))


def _older(*frames: Document, length: int = 64, sha256: str = SHA) -> Change:
    def change(document: Document) -> None:
        document["state_frames"] = list(frames)
        document["referenced_chunks"] = [
            reference(chunk(1, 7), length, len(frames)) | {"sha256": sha256}
        ]

    return change


OLD = chunk(1, 7)

HAZARDS: list[tuple[str, Callable[[], Document], Change, str]] = [
    ("hazard.source-name", empty, _put(("/source_names", [""])), "/source_names/0"),
    ("hazard.source-name", empty, _put(("/source_names", ["a\u3000"])), "/source_names/0"),
    (
        "hazard.source-name",
        empty,
        _source("s", offsets={"a": "1", " b": "2", "": "3"}),
        "/source_offsets/s/offsets/ b",
    ),
    (
        "hazard.source-name",
        empty,
        _source("s/t", metadata={"\x85": ""}),
        "/source_offsets/s~1t/metadata/\x85",
    ),
    (
        "hazard.empty-payload",
        empty,
        _put(("/sink_names", ["a"]), ("/prepared_sinks", [sink("a", span(0, 0), SHA)])),
        "/prepared_sinks/0/sha256",
    ),
    (
        "hazard.empty-payload",
        local,
        _put(
            ("/sink_artifact_intents/1", sink("queue", span(16, 0), SHA)),
        ),
        "/sink_artifact_intents/1/sha256",
    ),
    (
        "hazard.empty-object",
        empty,
        _put(("/node_data/sha256", SHA)),
        "/node_data/sha256",
    ),
    (
        "hazard.payload-conflict",
        empty,
        _older(whole("a", 0, 8, of=OLD), whole("b", 0, 8, of=OLD) | {"sha256": OTHER_SHA}),
        "/state_frames/1/sha256",
    ),
    (
        "hazard.payload-conflict",
        empty,
        _older(whole("a", 0, 64, of=OLD), sha256=OTHER_SHA),
        "/state_frames/0/sha256",
    ),
    (
        "hazard.payload-conflict",
        empty,
        _put(
            ("/state_frames", [whole("a", 0, 8)]),
            ("/node_data", {"chunk": chunk(1, 9), "object_length": 8, "sha256": OTHER_SHA}),
        ),
        "/state_frames/0/sha256",
    ),
    (
        "hazard.range-overlap",
        empty,
        _older(whole("a", 0, 8, of=OLD), whole("b", 7, 8, of=OLD)),
        "/state_frames/1/range",
    ),
    (
        "hazard.range-overlap",
        empty,
        _older(whole("a", 0, 20, of=OLD), whole("b", 2, 3, of=OLD), whole("c", 0, 20, of=OLD)),
        "/state_frames/1/range",
    ),
    (
        "hazard.range-overlap",
        empty,
        _older(whole("a", 30, 1, of=OLD), whole("b", 0, 20, of=OLD), whole("c", 0, 5, of=OLD)),
        "/state_frames/1/range",
    ),
    *[
        (
            "hazard.segment-key",
            subscribed,
            _put((f"{STREAM}/segments/0/object_key", f"subscription-output/{key}")),
            f"{STREAM}/segments/0/object_key",
        )
        for key in (
            "d/s/g/0",
            "x",
            "d/s/g/0/a%20b",
            "d/s/g/0/\x00",
            "d/s/g/0/\x7f",
            "d\x1f/s/g/0/a",
        )
    ],
    (
        "hazard.segment-conflict",
        subscribed,
        _put(
            (f"{STREAM}/segments/1/object_key", "subscription-output/d/s/g/0/10.arrow"),
            (f"{STREAM}/segments/1/payload_digest", [8] * 32),
        ),
        f"{STREAM}/segments/1/object_key",
    ),
    (
        "hazard.segment-conflict",
        subscribed,
        _put(
            (f"{STREAM}/segments/1/object_key", "subscription-output/d/s/g/0/10.arrow"),
            (f"{STREAM}/segments/1/encoded_length", 1),
        ),
        f"{STREAM}/segments/1/object_key",
    ),
    (
        "hazard.boot-shared",
        cluster,
        _put(("/assignment_fence/participants/1/boot_incarnation", BOOT_1.upper())),
        "/assignment_fence/participants/1/boot_incarnation",
    ),
    (
        "hazard.pipeline",
        subscribed,
        _put((f"{STREAM}/distribution_certificate/pipeline_identity/sha256", SHA)),
        f"{STREAM}/distribution_certificate/pipeline_identity",
    ),
    (
        "hazard.reference-participant",
        empty,
        _put(
            ("/referenced_chunks", [reference(chunk(0, 7), 64, 1)]),
            ("/state_frames", [whole("a", 0, 1, of=chunk(0, 7))]),
        ),
        "/referenced_chunks/0/chunk/participant_id",
    ),
    ("hazard.encoding", empty, lambda document: None, ""),
]


def check(make: Callable[[], Document], change: Change, expected: tuple[str, str] | None) -> None:
    """The document is valid, and has the expected hazard at its place, and no other."""
    document = copy.deepcopy(make())
    change(document)
    if document.get("subscription_output") is not None:
        sealed(document)
    data = text(document)
    verdict = judge(data, KEY_GROUPS)
    assert verdict.findings == ()
    assert verdict.stage is Stage.VALID
    assert verdict.manifest is not None
    if expected is not None and expected[0] == "hazard.encoding":
        found = hazards(verdict.manifest, data)
    else:
        found = hazards(verdict.manifest)
    assert [(one.rule, one.pointer) for one in found] == ([] if expected is None else [expected])
    for one in found:
        at(json.loads(encode(verdict.manifest)), one.pointer)


@pytest.mark.parametrize(
    ("rule", "make", "change", "pointer"), HAZARDS, ids=[entry[0] for entry in HAZARDS]
)
def test_hazard(rule: str, make: Callable[[], Document], change: Change, pointer: str) -> None:
    """A hazard changes no verdict and is reported beside it, at its place."""
    check(make, change, (rule, pointer))


@pytest.mark.parametrize(
    ("rule", "make", "change", "pointer"), HAZARDS, ids=[entry[0] for entry in HAZARDS]
)
def test_hazard_that_is_switched_off_is_missed(
    rule: str,
    make: Callable[[], Document],
    change: Change,
    pointer: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the hazard's check, each of its tests fails."""
    monkeypatch.setitem(registry.CHECKS, rule, lambda subject: iter(()))
    with pytest.raises(AssertionError):
        test_hazard(rule, make, change, pointer)


def test_every_hazard_is_tested() -> None:
    """There is a document for every hazard, and each says what happens later."""
    entries = [entry for entry in RULES.values() if entry.level is Level.HAZARD]
    assert {entry[0] for entry in HAZARDS} == {entry.id for entry in entries}
    assert all(entry.consequence for entry in entries)


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (local, lambda document: None),
        (subscribed, lambda document: None),
        (empty, _put(("/source_names", ["\x1ca", "a\x1f", "\u200b"]))),
        (empty, _older(whole("a", 0, 8, of=OLD), whole("b", 0, 8, of=OLD))),
        (empty, _older(whole("a", 0, 8, of=OLD), whole("b", 8, 8, of=OLD))),
        (
            empty,
            lambda document: document.update(
                sink_names=["a"],
                prepared_sinks=[sink("a", span(0, 0), checkpoint_descriptor_sha256(b""))],
                sink_artifact_intents=[
                    sink("a", span(0, 0), checkpoint_artifact_intent_sha256(b""))
                ],
            ),
        ),
        (
            subscribed,
            _put((f"{STREAM}/segments/1/object_key", "subscription-output/d/s/g/0/20 é.arrow")),
        ),
    ],
)
def test_what_is_no_hazard(make: Callable[[], Document], change: Change) -> None:
    """Near misses of the hazards."""
    check(make, change, None)


def test_canonical_document_is_no_hazard() -> None:
    """A document that is its own canonical encoding has nothing to warn of."""
    manifest = decode(text(local()))
    assert hazards(manifest, encode(manifest)) == []
    found = hazards(manifest, encode(manifest) + b"\n")
    assert [one.rule for one in found] == ["hazard.encoding"]
    assert str(len(encode(manifest))) in found[0].message


def test_hazards_of_an_invalid_manifest() -> None:
    """Hazards are looked for whatever the rules say."""
    document = empty() | {"version": 9, "vnode_count": 0}
    document["node_data"]["sha256"] = ""
    found = hazards(decode(text(document)), contract=V10)
    assert [one.rule for one in found] == ["hazard.empty-object"]
