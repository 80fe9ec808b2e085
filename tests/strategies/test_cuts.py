"""Generated cuts can be bound by an index, to the oracle and to the engine."""

import pytest
from hypothesis import given

import oracle
from fuzz.engines import InProcessEngine
from oracle import V10, ChannelProgress, ConnectorCheckpoint, FrozenDict
from oracle.cuts import (
    COMMITTED_CHECKPOINT_INDEX_VERSION,
    CheckpointScope,
    CommittedCheckpointIndex,
    encode_index,
    frontiers_by_source,
    participant_reference,
    validate_participant_manifests,
)
from oracle.kernels import classify
from strategies import Cut, cuts
from tests.engine.conftest import built_engine


def index_of(cut: Cut) -> CommittedCheckpointIndex:
    """The index that binds *cut*, the first of its line."""
    first = cut.manifests[0]
    channels = sorted(
        (channel for manifest in cut.manifests for channel in manifest.channel_progress),
        key=lambda channel: channel.order,
    )
    offsets: dict[str, ConnectorCheckpoint] = {}
    for manifest in cut.manifests:
        for source, part in manifest.source_offsets.items():
            offsets[source] = _merged(offsets[source], part) if source in offsets else part
    frontiers = frontiers_by_source(channels)
    return CommittedCheckpointIndex(
        version=COMMITTED_CHECKPOINT_INDEX_VERSION,
        deployment_id=first.deployment_id,
        pipeline_identity=first.pipeline_identity,
        epoch=first.epoch,
        checkpoint_id=first.checkpoint_id,
        scope=CheckpointScope.CLUSTER,
        vnode_count=first.vnode_count,
        assignment_fence=cut.fence,
        reassignment_portable=True,
        predecessor=None,
        participants=tuple(
            participant_reference(checkpoint.manifest, checkpoint.document)
            for checkpoint in cut.checkpoints
        ),
        source_names=first.source_names,
        source_offsets=FrozenDict(offsets),
        channel_progress=tuple(channels),
        source_watermarks=FrozenDict(
            {source: value for source, value in frontiers.items() if value is not None}
        ),
        checkpoint_watermark=_watermark(channels),
    )


def _merged(left: ConnectorCheckpoint, right: ConnectorCheckpoint) -> ConnectorCheckpoint:
    channels = None
    if left.input_channels is not None and right.input_channels is not None:
        channels = tuple(sorted((*left.input_channels, *right.input_channels)))
    return ConnectorCheckpoint(
        FrozenDict({**left.offsets, **right.offsets}),
        FrozenDict({**left.metadata, **right.metadata}),
        channels,
        left.source_assignment_version,
    )


def _watermark(channels: list[ChannelProgress]) -> int | None:
    return classify((channel.watermark, channel.idle) for channel in channels).value


@given(cuts(max_participants=4))
def test_a_cut_is_bound_by_its_index(cut: Cut) -> None:
    """The oracle finds no fault of the index with the manifests."""
    documents = [checkpoint.document for checkpoint in cut.checkpoints]
    assert validate_participant_manifests(index_of(cut), documents) is None


@pytest.fixture(scope="module")
def engine() -> InProcessEngine:
    """The engine that judges indexes."""
    return built_engine("0.33.0")


@pytest.mark.engine
@given(cut=cuts(V10, max_participants=4))
def test_the_engine_takes_the_cut(engine: InProcessEngine, cut: Cut) -> None:
    """The production engine finds none either, and the merged output is complete."""
    index = encode_index(index_of(cut))
    documents = [checkpoint.document for checkpoint in cut.checkpoints]
    verdict, reference = engine.judge_index(index)
    assert (verdict.stage, verdict.messages) == ("valid", ())
    assert reference is not None
    assert engine.validate_participant_manifests(index, documents) is None


def test_a_cut_without_one_participant_is_not_bound() -> None:
    """The check above can fail: a manifest too few is a fault."""
    from strategies.sampling import sample

    cut = sample(cuts(min_participants=2), 1)[0]
    documents = [checkpoint.document for checkpoint in cut.checkpoints]
    assert validate_participant_manifests(index_of(cut), documents[:-1]) is not None
    assert oracle.owner_map_digest(1, cut.owners[:1]) != cut.fence.assignment_digest
