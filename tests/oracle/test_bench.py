"""The benchmark: what it judges, and that the limits hold with room to spare."""

from __future__ import annotations

from oracle import Stage, decode, encode, hazards, judge
from oracle.bench import LIMITS, long_manifest, measure, real_manifest
from oracle.constants import DEFAULT_KEY_GROUP_COUNT, MAX_CHECKPOINT_MANIFEST_BYTES


def test_documents() -> None:
    """Both are valid and canonical; the real one is the one that the limits are about."""
    assert len(real_manifest()) == 62_729
    for data in (real_manifest(), long_manifest(1_000_000)):
        verdict = judge(data, DEFAULT_KEY_GROUP_COUNT)
        assert verdict.findings == ()
        assert verdict.stage is Stage.VALID
        assert encode(decode(data)) == data
        assert hazards(decode(data), data) == []


def test_long_document_has_everything() -> None:
    """Several operators, chunks, channels and sinks; as long as an engine loads, nearly."""
    data = long_manifest()
    assert 0.95 * MAX_CHECKPOINT_MANIFEST_BYTES < len(data) <= MAX_CHECKPOINT_MANIFEST_BYTES
    manifest = decode(data)
    assert len({frame.key.operator_id for frame in manifest.state_frames}) > 100
    assert len({frame.chunk for frame in manifest.state_frames}) == 4
    assert len(manifest.referenced_chunks) == 3
    assert len(manifest.channel_progress) == 512
    assert len(manifest.prepared_sinks) == len(manifest.sink_artifact_intents) == 64


def test_limits_hold() -> None:
    """Measured here and now, with a factor for whatever else this machine is doing."""
    report = measure(repetitions=3)
    for limit in LIMITS:
        assert 0 < report.figure(limit) < 2 * limit.most, limit.statement
    for costs in (report.real, report.long):
        assert min(costs.text, costs.shapes, costs.rules) > 0
        assert costs.verdict > max(costs.text, costs.shapes)
