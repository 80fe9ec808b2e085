"""The shared cases: each gets the stage that the engine gave it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import decode, encode, judge
from tests.oracle.documents import DATA

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "cases" / "index.jsonl").read_text().splitlines()
]

KNOWN_DIVERGENCE = "w_min_idle_after_uninit"
"""The engine stops at the uninitialized channel and does not see the reserved watermark."""

RULES = {
    "u_dep_upper": "deployment-id",
    "u_dep_urn": "deployment-id",
    "u_dep_newline": "deployment-id",
    "x_sha_upper": "pipeline-identity",
    "x_sha_underscore": "pipeline-identity",
    "o_astral_before_bmp": "source-names.order",
    "o_dup_name": "sink-names.order",
    "o_channel_dup": "channels.order",
    "m_bs_unsorted_miss": "source-names.order",
    "m_bs_dup_hit": "sink-names.order",
    "m_bs_vnode_miss": "owned-vnodes.order",
    "m_vnode_outside": "frames.vnode-domain frames.vnode-owned",
    "m_kg_mismatch": "vnode-count",
    "m_vnode_zero_domain": "owned-vnodes.empty vnode-count",
    "m_local_partial": "local.topology",
    "m_fence_vnode_differs": "fence.coverage",
    "r_overflow": "frames.range-overflow layout.gap layout.length",
    "r_overflow_wrap_fit": "frames.range-overflow",
    "r_zero_frame_old": "frames.empty",
    "r_gap": "layout.gap",
    "r_overlap": "layout.gap",
    "r_order_vs_offset": "layout.gap layout.length",
    "r_ref_count_low": "references.count",
    "r_ref_same_checkpoint": "references.age",
    "r_ref_zero_checkpoint": "references.age",
    "r_sink_before_intent": "layout.gap layout.length",
    "r_frame_sha_bad_only": "frames.digest",
    "w_min_alone": "watermark.sentinel",
    "w_min_before_uninit": "watermark.sentinel",
    "w_min_after_idle_uninit": "watermark.sentinel",
    "w_cp_min_no_channels": "watermark.mismatch",
    "w_mixed_channels": "channels.mixed",
    "w_roster_mismatch": "offsets.roster",
    "b_uuid_digest_raw": "subscription.digest",
    "b_stream_id_nel": "subscription.identity",
    "b_streams_utf16": "subscription.streams-order",
    "b_range_reversed": "subscription.sequence",
    "b_segment_gap": "subscription.sequence-gap",
    "b_segment_1025": "subscription.segment-range",
    "b_segment_sub_underflow": "subscription.segment-range",
    "b_segment_extra_partition": "subscription.segments-order",
    "b_key_prefix_only": "subscription.object-key",
    "b_key_backslash": "subscription.object-key",
    "b_singleton1": "subscription.singleton",
    "z_many": "attempt deployment-id local.portability local.topology node-data.chunk "
    "owned-vnodes.empty participant timestamp version",
}
"""The rules that the engine's messages tell of, unspecified ones aside, by case."""


def _data(case: dict[str, Any]) -> bytes:
    data: bytes = (DATA / "cases" / case["file"]).read_bytes()
    return data


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_stage(case: dict[str, Any]) -> None:
    """The oracle's stage is the engine's, and its rules are those of the engine's messages."""
    verdict = judge(_data(case), case["key_groups"])
    if case["id"] == KNOWN_DIVERGENCE:
        assert case["stage"] == "valid"
        assert verdict.rules == {"watermark.sentinel"}
        return
    assert verdict.stage.value == case["stage"], (verdict.rejection, verdict.findings, case["why"])
    assert (verdict.rejection is None) == (case["stage"] != "decode")
    assert verdict.rules == set(RULES.get(case["id"], "").split())


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["stage"] != "decode"],
    ids=[case["id"] for case in CASES if case["stage"] != "decode"],
)
def test_round_trip(case: dict[str, Any]) -> None:
    """What decodes is encoded canonically, and that decodes to the same manifest."""
    manifest = decode(_data(case))
    canonical = encode(manifest)
    assert decode(canonical) == manifest
    assert encode(decode(canonical)) == canonical


def test_there_are_enough() -> None:
    """The index lists every file, and has some of each stage."""
    files = {path.name for path in (DATA / "cases").glob("*.json")}
    assert {case["file"] for case in CASES} == files
    assert {case["stage"] for case in CASES} == {"decode", "invalid", "valid"}
    assert len(CASES) > 150
    assert set(RULES) == {case["id"] for case in CASES if case["stage"] == "invalid"}
