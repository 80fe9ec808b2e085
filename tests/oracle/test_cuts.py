"""Cuts: the index by itself, with its manifests and with its predecessor."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from oracle import CheckpointManifest, DecodeError, FrozenDict, Level, OutputSegmentRef, encode
from oracle.cuts import (
    MAX_COMMITTED_CHECKPOINT_INDEX_BYTES,
    RULES,
    Binding,
    CheckpointScope,
    InvalidCut,
    decode_index,
    effective_source_watermarks,
    encode_and_reference,
    encode_index,
    merge_node_subscription_manifests,
    validate_index,
    validate_participant_manifests,
    validate_predecessor_index,
)
from oracle.cuts.registry import CutFinding
from oracle.digests import checkpoint_sha256
from strategies.cut_breakages import BREAKAGES, CutCorruption, Step, corrupted_cuts, full_cut
from strategies.cut_index import WholeCut, whole_cuts
from strategies.subscriptions import seal
from tests.oracle.store_tools import STORES

_UNHURRIED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

STANDALONE = {
    "index.too-large",
    "cut.manifest-decode",
    "merge.participants",
    "merge.owners",
    "merge.attempt",
    "merge.invalid",
    "merge.too-large",
}
"""What no small cut of valid parts can show; each has a test of its own below."""


def faults(cut: WholeCut) -> dict[Step, CutFinding | None]:
    """The fault at each step."""
    predecessor = cut.predecessor
    return {
        Step.INDEX: validate_index(cut.index),
        Step.MANIFESTS: validate_participant_manifests(cut.index, cut.documents),
        Step.PREDECESSOR: None
        if predecessor is None
        else validate_predecessor_index(cut.index, predecessor),
    }


@_UNHURRIED
@given(whole_cuts())
def test_valid_cuts_have_no_fault(cut: WholeCut) -> None:
    """Not at any step."""
    assert faults(cut) == dict.fromkeys(Step)


@settings(_UNHURRIED, max_examples=2)
@given(whole_cuts(min_participants=129, max_participants=129))
def test_a_cluster_of_129_is_valid(cut: WholeCut) -> None:
    """As many participants as a fence may list."""
    assert len(cut.manifests) == 129
    assert faults(cut) == dict.fromkeys(Step)


@settings(_UNHURRIED, max_examples=200)
@given(corrupted_cuts())
def test_a_corruption_breaks_what_it_says(corruption: CutCorruption) -> None:
    """At its step the fault is of the expected rule; before its step there is none."""
    found = faults(corruption.cut)
    fault = found[corruption.step]
    assert fault is not None
    assert fault.rule == corruption.expected
    if corruption.step is not Step.INDEX:
        assert found[Step.INDEX] is None


@pytest.mark.parametrize("rule", dict.fromkeys(breakage.expected for breakage in BREAKAGES))
@settings(_UNHURRIED, max_examples=10)
@given(data=st.data())
def test_each_rule_can_be_broken(rule: str, data: st.DataObject) -> None:
    """And is then what is found."""
    corruption = data.draw(corrupted_cuts(rule))
    fault = faults(corruption.cut)[corruption.step]
    assert fault is not None
    assert fault.rule == rule


def test_every_rule_is_broken_by_a_corruption_or_alone() -> None:
    """No rule stands in the registry that nothing breaks, and none is missing there."""
    assert {breakage.expected for breakage in BREAKAGES} | STANDALONE == RULES.keys()
    assert {breakage.expected for breakage in BREAKAGES}.isdisjoint(STANDALONE)
    assert {rule.level for rule in RULES.values()} == {Level.INDEX, Level.CUT}
    assert all(rule.statement for rule in RULES.values())


def test_cuts_shrink_to_something_small() -> None:
    """A person can read it."""
    cut = find(whole_cuts(), lambda _: True)
    assert cut.index.scope is CheckpointScope.LOCAL
    assert cut.predecessor is None
    assert cut.index.source_names == ()
    assert cut.manifests[0].state_frames == ()


@_UNHURRIED
@given(whole_cuts())
def test_decoding_an_encoding_gives_the_index(cut: WholeCut) -> None:
    """And encoding it again the same bytes; so does the array form."""
    assert decode_index(cut.index_document) == cut.index
    document = json.loads(cut.index_document)
    document.setdefault("source_watermarks", {})
    names = [name for name in cut.index.__dataclass_fields__ if name in document]
    as_array = json.dumps([document[name] for name in names]).encode()
    assert decode_index(as_array) == cut.index
    assert encode_index(decode_index(as_array)) == cut.index_document


@_UNHURRIED
@given(whole_cuts())
def test_the_reference_is_of_the_bytes(cut: WholeCut) -> None:
    """Epoch, id, and the length of what is encoded."""
    data, reference = encode_and_reference(cut.index)
    assert data == cut.index_document
    assert (reference.epoch, reference.checkpoint_id) == (cut.index.epoch, cut.index.epoch)
    assert reference.len == len(data)


@_UNHURRIED
@given(st.binary(max_size=300), st.integers(0, 2_000))
def test_no_bytes_make_decoding_fail_otherwise(data: bytes, at: int) -> None:
    """Neither random bytes nor an index with some in it raise anything but DecodeError."""
    file = next((STORES / "trades" / "committed-checkpoints").rglob("sha256=*"))
    good = file.read_bytes()
    for document in (data, good[:at] + data + good[at + len(data) :], good[: at % len(good)]):
        try:
            index = decode_index(document)
        except DecodeError:
            continue
        validate_index(index)
        assert decode_index(encode_index(index)) == index


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scope", "Local"),
        ("scope", ["local"]),
        ("version", 4.0),
        ("vnode_count", 65_536),
        ("source_watermarks", None),
        ("source_watermarks", {"trades": 2**63}),
        ("participants", {}),
        ("unknown", 1),
    ],
)
def test_what_does_not_decode(field: str, value: Any) -> None:
    """Types are as strict as a manifest's."""
    file = next((STORES / "trades" / "committed-checkpoints").rglob("sha256=*"))
    document = json.loads(file.read_bytes()) | {field: value}
    with pytest.raises(DecodeError) as caught:
        decode_index(json.dumps(document).encode())
    assert caught.value.pointer.startswith(f"/{field}")


def test_a_unit_variant_may_be_written_as_an_object() -> None:
    """As every enumeration without a tag."""
    file = next((STORES / "trades" / "committed-checkpoints").rglob("sha256=*"))
    document = json.loads(file.read_bytes()) | {"scope": {"local": None}}
    index = decode_index(json.dumps(document).encode())
    assert index.scope is CheckpointScope.LOCAL
    assert encode_index(index) == file.read_bytes()


def test_an_index_too_long_has_no_reference() -> None:
    """It is valid, and cannot be encoded."""
    file = next((STORES / "gen_count" / "committed-checkpoints").rglob("sha256=*"))
    index = decode_index(file.read_bytes())
    long = replace(
        index.source_offsets["sensors"],
        offsets=FrozenDict({"seq": "0" * MAX_COMMITTED_CHECKPOINT_INDEX_BYTES}),
    )
    index = replace(index, source_offsets=FrozenDict({"sensors": long}))
    assert validate_index(index) is None
    with pytest.raises(InvalidCut) as caught:
        encode_and_reference(index)
    assert caught.value.finding.rule == "index.too-large"


def test_an_invalid_index_has_no_reference() -> None:
    """The error carries the fault."""
    file = next((STORES / "gen_count" / "committed-checkpoints").rglob("sha256=*"))
    with pytest.raises(InvalidCut) as caught:
        encode_and_reference(replace(decode_index(file.read_bytes()), version=0))
    assert caught.value.finding.rule == "index.version"


def test_version_3_derives_its_source_watermarks() -> None:
    """Version 4 carries them."""
    file = min((STORES / "trades" / "committed-checkpoints").rglob("sha256=*"))
    index = decode_index(file.read_bytes())
    assert effective_source_watermarks(index) == dict(index.source_watermarks)
    older = replace(index, version=3, source_watermarks=FrozenDict())
    assert effective_source_watermarks(older) == effective_source_watermarks(index) != {}


def test_a_manifest_that_does_not_decode() -> None:
    """With the length and digest that the index names, the bytes are still no manifest."""
    cut = full_cut(0)
    entry = replace(
        cut.index.participants[0], manifest_len=2, manifest_sha256=checkpoint_sha256(b"{}")
    )
    index = replace(cut.index, participants=(entry,))
    fault = validate_participant_manifests(index, [b"{}"])
    assert fault is not None
    assert (fault.rule, fault.participant) == ("cut.manifest-decode", 1)


def test_manifests_are_not_kept_while_they_are_bound() -> None:
    """They are asked for one by one."""
    cut = full_cut(3)
    binding = Binding(cut.index)
    for reference, document in zip(cut.index.participants, cut.documents, strict=True):
        assert [*binding.add(reference, document)] == []
    assert [*binding.finish()] == []


def _merge_fault(cut: WholeCut, **changes: Any) -> str:
    index = cut.index
    arguments = {
        "epoch": index.epoch,
        "checkpoint_id": index.checkpoint_id,
        "fence": index.assignment_fence,
        "manifests": cut.manifests,
    }
    with pytest.raises(InvalidCut) as caught:
        merge_node_subscription_manifests(**(arguments | changes))
    return caught.value.finding.rule


def test_faults_of_merging_outputs() -> None:
    """Those that a cut of valid manifests cannot have."""
    cut = full_cut(2)
    one, other = cut.manifests
    fence = cut.index.assignment_fence
    assert fence is not None
    assert _merge_fault(cut, manifests=(one,)) == "merge.participants"
    assert _merge_fault(cut, manifests=(other, one)) == "merge.participants"
    shared = replace(other, owned_vnodes=one.owned_vnodes)
    assert _merge_fault(cut, manifests=(one, shared)) == "merge.owners"
    elsewhere = replace(fence, assignment_digest=b"\1" * 32)
    assert _merge_fault(cut, fence=elsewhere) == "merge.owners"
    assert _merge_fault(cut, epoch=cut.index.epoch - 1) == "merge.attempt"
    assert one.subscription_output is not None
    unsealed = replace(
        one, subscription_output=replace(one.subscription_output, manifest_digest=bytes(32))
    )
    assert _merge_fault(cut, manifests=(unsealed, other)) == "merge.invalid"


def _with_segments(cut: WholeCut, count: int) -> list[CheckpointManifest]:
    """The manifests with *count* segments on each participant's first vnode of the last stream."""
    manifests = []
    for manifest in cut.manifests:
        output = manifest.subscription_output
        assert output is not None
        stream = output.streams[-1]
        generation = stream.distribution_certificate.stream_generation
        segments = tuple(
            OutputSegmentRef(
                protocol_version=1,
                object_key=f"subscription-output/{number}",
                stream_generation=generation,
                partition=stream.ranges[0].partition,
                first_sequence=number,
                exclusive_end_sequence=number + 1,
                frame_count=1,
                row_count=1,
                encoded_length=1,
                schema_fingerprint=stream.distribution_certificate.schema_fingerprint,
                payload_digest=b"\1" * 32,
            )
            for number in range(count)
        )
        first = replace(stream.ranges[0], first_sequence=0, through_sequence=count)
        changed = replace(stream, ranges=(first, *stream.ranges[1:]), segments=segments)
        sealed = seal(replace(output, streams=(*output.streams[:-1], changed)))
        manifests.append(replace(manifest, subscription_output=sealed))
    return manifests


def test_merged_streams_are_in_order() -> None:
    """Frontiers and segments of all participants, by partition."""
    cut = full_cut(2)
    index = cut.index
    assert index.assignment_fence is not None
    *_, merged = merge_node_subscription_manifests(
        index.epoch, index.checkpoint_id, index.assignment_fence, _with_segments(cut, 3)
    )
    assert [f.partition for f in merged.manifest.frontiers] == [*range(index.vnode_count)]
    places = [(s.partition, s.first_sequence) for s in merged.manifest.segments]
    assert places == [(vnode, number) for vnode in (0, 1) for number in range(3)]


def test_a_merged_stream_has_a_bound() -> None:
    """Each participant's output is within the bound of 8 MiB, and all together are not."""
    cut = full_cut(2)
    manifests = _with_segments(cut, 9_000)
    assert all(len(encode(manifest)) < 8 * 1024 * 1024 for manifest in manifests)
    assert _merge_fault(cut, manifests=manifests) == "merge.too-large"
