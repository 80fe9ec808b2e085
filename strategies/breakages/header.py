"""Breakages of what a manifest says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from oracle import CheckpointManifest
from oracle.constants import U16_MAX, U32_MAX, U64_MAX
from strategies.breakages.registry import Aspect, breakage, not_sha256, rehomed
from strategies.dice import Dice
from strategies.traits import Trait

M = CheckpointManifest


@breakage("version", "above")
def version_above(manifest: M, dice: Dice) -> M:
    """One format newer."""
    return replace(manifest, version=manifest.version + 1)


@breakage("version", "below")
def version_below(manifest: M, dice: Dice) -> M:
    """One format older."""
    return replace(manifest, version=manifest.version - 1)


@breakage("version", "far")
def version_far(manifest: M, dice: Dice) -> M:
    """None, the largest, or one that a narrower integer would take for the right one."""
    return replace(
        manifest, version=dice.pick((0, U32_MAX, manifest.version + 2**8, manifest.version + 2**16))
    )


_ABI = (1, 3, 0, U16_MAX, 2 + 2**8)


@breakage("partitioning-abi", "local", having={Trait.LOCAL})
def partitioning_abi(manifest: M, dice: Dice) -> M:
    """Another ABI."""
    return replace(manifest, partitioning_abi_version=dice.pick(_ABI))


@breakage(
    "partitioning-abi",
    "cluster",
    also={"fence.coverage"},
    having={Trait.CLUSTER},
    touches={Aspect.IDENTITY},
)
def partitioning_abi_cluster(manifest: M, dice: Dice) -> M:
    """Another ABI, which the fence then cannot have: a fence of it does not decode."""
    return replace(manifest, partitioning_abi_version=dice.pick(_ABI))


@breakage("attempt", "epoch-above", without={Trait.SUBSCRIPTION}, touches={Aspect.IDENTITY})
def epoch_above(manifest: M, dice: Dice) -> M:
    """The epoch one above the checkpoint, or with no room for that one below."""
    step = 1 if manifest.epoch < U64_MAX else -1
    return replace(manifest, epoch=manifest.epoch + step)


@breakage("attempt", "epoch-below", without={Trait.SUBSCRIPTION}, touches={Aspect.IDENTITY})
def epoch_below(manifest: M, dice: Dice) -> M:
    """The epoch one below the checkpoint."""
    return replace(manifest, epoch=manifest.epoch - 1)


@breakage(
    "attempt", "zero", without={Trait.SUBSCRIPTION, Trait.OLDER_FRAME}, touches={Aspect.IDENTITY}
)
def attempt_zero(manifest: M, dice: Dice) -> M:
    """Checkpoint and epoch 0; nothing is older than that."""
    return rehomed(manifest, checkpoint_id=0)


@breakage("timestamp")
def timestamp(manifest: M, dice: Dice) -> M:
    """No time."""
    return replace(manifest, timestamp_ms=0)


@breakage("pipeline-identity", "version-above", touches={Aspect.PIPELINE})
def pipeline_version_above(manifest: M, dice: Dice) -> M:
    """A canonical version one newer."""
    identity = manifest.pipeline_identity
    return replace(
        manifest,
        pipeline_identity=replace(identity, canonical_version=identity.canonical_version + 1),
    )


@breakage("pipeline-identity", "version-below", touches={Aspect.PIPELINE})
def pipeline_version_below(manifest: M, dice: Dice) -> M:
    """A canonical version one older, as the format before had it."""
    identity = manifest.pipeline_identity
    return replace(
        manifest,
        pipeline_identity=replace(identity, canonical_version=identity.canonical_version - 1),
    )


@breakage("pipeline-identity", "digest", touches={Aspect.PIPELINE})
def pipeline_digest(manifest: M, dice: Dice) -> M:
    """A digest that is not SHA-256 text."""
    identity = manifest.pipeline_identity
    return replace(
        manifest, pipeline_identity=replace(identity, sha256=not_sha256(dice, identity.sha256))
    )


_NOT_DEPLOYMENT: tuple[Callable[[str], str], ...] = (
    lambda text: "",
    lambda text: "00000000-0000-0000-0000-000000000000",
    lambda text: text.replace("-", ""),
    lambda text: "A" + text[1:],
    lambda text: f"urn:uuid:{text}",
    lambda text: f"{{{text}}}",
    lambda text: text + "\n",
    lambda text: " " + text,
    lambda text: text[:-1],
    lambda text: text + "0",
    lambda text: text[:-1] + "g",
    lambda text: text[:7] + "-" + text[7:8] + text[9:],
    lambda text: text[:-1] + "\uff11",
)


@breakage("deployment-id")
def deployment_id(manifest: M, dice: Dice) -> M:
    """A text that is no UUID, or another spelling than the canonical one."""
    return replace(manifest, deployment_id=dice.pick(_NOT_DEPLOYMENT)(manifest.deployment_id))
