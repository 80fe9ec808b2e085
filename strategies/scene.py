"""What all participants of one cut share."""

from __future__ import annotations

from dataclasses import dataclass

from oracle import CheckpointAssignmentFence, Contract, PipelineIdentity


@dataclass(frozen=True, slots=True)
class Scene:
    """The attempt, the pipeline and the cluster that a manifest is a part of.

    ``older`` is the number of older objects that each participant uses, below ``checkpoint_id``;
    ``timestamp_ms`` is milliseconds since the Unix epoch. ``fence`` is ``None`` for a local one.
    ``salt`` tells the made-up digests of one scene from those of another.
    """

    contract: Contract
    checkpoint_id: int
    older: int
    timestamp_ms: int
    deployment_id: str
    pipeline_identity: PipelineIdentity
    vnode_count: int
    fence: CheckpointAssignmentFence | None
    source_names: tuple[str, ...]
    sink_names: tuple[str, ...]
    salt: int
