"""Breakages of who wrote the manifest and which vnodes are whose."""

from __future__ import annotations

from dataclasses import replace

from oracle import MAX_KEY_GROUP_COUNT, CheckpointManifest
from oracle.constants import U16_MAX, U64_MAX
from strategies.breakages.registry import Aspect, breakage, rehomed, repeated, swapped
from strategies.dice import Dice
from strategies.traits import Trait

M = CheckpointManifest


def _above(count: int, dice: Dice) -> int:
    return count + 1 if count < MAX_KEY_GROUP_COUNT else count - 1


def _below(count: int, dice: Dice) -> int:
    return count - 1


@breakage("vnode-count", "above", key_groups=_above)
def vnode_count_above(manifest: M, dice: Dice) -> M:
    """Judged for one key group more, or with no room for that one fewer."""
    return manifest


@breakage("vnode-count", "below", key_groups=_below, having={Trait.SEVERAL_VNODES})
def vnode_count_below(manifest: M, dice: Dice) -> M:
    """Judged for one key group fewer."""
    return manifest


@breakage(
    "participant", "local", also={"local.topology"}, having={Trait.LOCAL}, touches={Aspect.IDENTITY}
)
def participant_local(manifest: M, dice: Dice) -> M:
    """Participant 0, which is not the local node."""
    return rehomed(manifest, participant_id=0)


@breakage(
    "participant",
    "cluster",
    also={"fence.coverage"},
    having={Trait.CLUSTER},
    without={Trait.SUBSCRIPTION},
    touches={Aspect.IDENTITY},
)
def participant_cluster(manifest: M, dice: Dice) -> M:
    """Participant 0, whom no fence lists."""
    return rehomed(manifest, participant_id=0)


_NOT_OF_VNODES = {Trait.VNODE_FRAME, Trait.LOG_SEGMENT, Trait.STREAM}


@breakage(
    "owned-vnodes.empty",
    "cluster",
    having={Trait.CLUSTER},
    without=_NOT_OF_VNODES,
    touches={Aspect.VNODES},
)
def owned_empty(manifest: M, dice: Dice) -> M:
    """No vnode is owned."""
    return replace(manifest, owned_vnodes=())


@breakage(
    "owned-vnodes.empty",
    "local",
    also={"local.topology"},
    having={Trait.LOCAL},
    without=_NOT_OF_VNODES,
    touches={Aspect.VNODES},
)
def owned_empty_local(manifest: M, dice: Dice) -> M:
    """No vnode is owned, though a local manifest owns all."""
    return replace(manifest, owned_vnodes=())


@breakage(
    "owned-vnodes.order",
    "swapped",
    having={Trait.CLUSTER, Trait.SEVERAL_VNODES},
    without={Trait.UNOWNED_VNODE},
    touches={Aspect.VNODES},
)
def owned_swapped(manifest: M, dice: Dice) -> M:
    """Two neighbours are swapped."""
    return replace(manifest, owned_vnodes=swapped(manifest.owned_vnodes, dice))


@breakage("owned-vnodes.order", "repeated", having={Trait.CLUSTER}, touches={Aspect.VNODES})
def owned_repeated(manifest: M, dice: Dice) -> M:
    """One is listed twice."""
    return replace(manifest, owned_vnodes=repeated(manifest.owned_vnodes, dice))


@breakage(
    "owned-vnodes.order",
    "local",
    also={"local.topology"},
    having={Trait.LOCAL},
    touches={Aspect.VNODES},
)
def owned_repeated_local(manifest: M, dice: Dice) -> M:
    """One is listed twice, though a local manifest owns exactly 0..vnode_count."""
    return replace(manifest, owned_vnodes=repeated(manifest.owned_vnodes, dice))


def _with_vnode(manifest: M, vnode: int) -> M:
    return replace(manifest, owned_vnodes=(*manifest.owned_vnodes, vnode))


@breakage("owned-vnodes.domain", "boundary", having={Trait.CLUSTER}, touches={Aspect.VNODES})
def owned_domain(manifest: M, dice: Dice) -> M:
    """The first vnode that is not in the domain."""
    return _with_vnode(manifest, manifest.vnode_count)


@breakage("owned-vnodes.domain", "largest", having={Trait.CLUSTER}, touches={Aspect.VNODES})
def owned_domain_largest(manifest: M, dice: Dice) -> M:
    """The largest number that a vnode can be written as."""
    return _with_vnode(manifest, U16_MAX)


@breakage(
    "owned-vnodes.domain",
    "local",
    also={"local.topology"},
    having={Trait.LOCAL},
    touches={Aspect.VNODES},
)
def owned_domain_local(manifest: M, dice: Dice) -> M:
    """One vnode too many for a local manifest, which owns exactly 0..vnode_count."""
    return _with_vnode(manifest, manifest.vnode_count)


@breakage("fence.coverage", "vnode-count", having={Trait.CLUSTER}, without={Trait.SUBSCRIPTION})
def fence_vnode_count(manifest: M, dice: Dice) -> M:
    """The fence covers one vnode more, or with no room for that one fewer."""
    assert manifest.assignment_fence is not None
    fence = manifest.assignment_fence
    return replace(
        manifest,
        assignment_fence=replace(fence, vnode_count=_above(fence.vnode_count, dice)),
    )


@breakage(
    "fence.coverage",
    "fewer-vnodes",
    having={Trait.CLUSTER, Trait.SEVERAL_VNODES},
    without={Trait.SUBSCRIPTION},
)
def fence_fewer_vnodes(manifest: M, dice: Dice) -> M:
    """The fence covers one vnode fewer."""
    assert manifest.assignment_fence is not None
    fence = manifest.assignment_fence
    return replace(manifest, assignment_fence=replace(fence, vnode_count=fence.vnode_count - 1))


@breakage(
    "fence.coverage",
    "stranger",
    having={Trait.CLUSTER},
    without={Trait.SUBSCRIPTION},
    touches={Aspect.IDENTITY},
)
def fence_stranger(manifest: M, dice: Dice) -> M:
    """The writer is not listed: it is one that the fence does not know."""
    return rehomed(manifest, participant_id=stranger_to(manifest))


def stranger_to(manifest: M) -> int:
    """The id of a participant that the fence does not list, and no older object is of."""
    assert manifest.assignment_fence is not None
    known = {member.node_id for member in manifest.assignment_fence.participants}
    known |= {reference.chunk.participant_id for reference in manifest.referenced_chunks}
    last = max(known)
    return (
        last + 1
        if last < U64_MAX
        else next(node_id for node_id in range(U64_MAX, 0, -1) if node_id not in known)
    )


@breakage("fence.portability", having={Trait.CLUSTER}, touches={Aspect.IDENTITY})
def fence_portability(manifest: M, dice: Dice) -> M:
    """A cluster's manifest that is not portable."""
    return replace(manifest, reassignment_portable=False)


@breakage("local.topology", "participant", having={Trait.LOCAL}, touches={Aspect.IDENTITY})
def local_participant(manifest: M, dice: Dice) -> M:
    """Another participant than the local node."""
    return rehomed(manifest, participant_id=dice.pick((2, U64_MAX, 1 + 2**32)))


@breakage(
    "local.topology",
    "missing-vnode",
    having={Trait.LOCAL, Trait.SEVERAL_VNODES},
    without=_NOT_OF_VNODES,
    touches={Aspect.VNODES},
)
def local_missing_vnode(manifest: M, dice: Dice) -> M:
    """One vnode is not owned."""
    owned = manifest.owned_vnodes
    index = dice.roll(0, min(len(owned) - 1, 255))
    return replace(manifest, owned_vnodes=(*owned[:index], *owned[index + 1 :]))


@breakage("local.portability", having={Trait.LOCAL})
def local_portability(manifest: M, dice: Dice) -> M:
    """A local manifest that says it is portable."""
    return replace(manifest, reassignment_portable=True)
