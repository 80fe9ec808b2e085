"""Who wrote the manifest, which vnodes are its, and in which cluster."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.constants import LOCAL_NODE_ID
from oracle.kernels import first_disorder, outside_domain, owns_every_vnode
from oracle.registry import Place, rule
from oracle.subject import Subject


@rule("vnode-count")
def vnode_count(subject: Subject) -> Iterator[Place]:
    """vnode_count differs from the expected key-group count."""
    found, wanted = subject.manifest.vnode_count, subject.key_groups
    if found != wanted:
        yield "/vnode_count", f"vnode_count is {found}, expected {wanted} key groups"


@rule("participant")
def participant(subject: Subject) -> Iterator[Place]:
    """participant_id is 0."""
    if subject.manifest.participant_id == 0:
        yield "/participant_id", "participant_id is 0"


@rule("owned-vnodes.empty")
def owned_vnodes_empty(subject: Subject) -> Iterator[Place]:
    """owned_vnodes is empty."""
    if not subject.manifest.owned_vnodes:
        yield "/owned_vnodes", "owned_vnodes is empty"


@rule("owned-vnodes.order")
def owned_vnodes_order(subject: Subject) -> Iterator[Place]:
    """owned_vnodes is not strictly ascending."""
    owned = subject.manifest.owned_vnodes
    index = first_disorder(owned)
    if index is not None:
        yield f"/owned_vnodes/{index}", f"vnode {owned[index]} does not follow {owned[index - 1]}"


@rule("owned-vnodes.domain")
def owned_vnodes_domain(subject: Subject) -> Iterator[Place]:
    """One of owned_vnodes is not below vnode_count."""
    owned, count = subject.manifest.owned_vnodes, subject.manifest.vnode_count
    for index in outside_domain(owned, count):
        yield f"/owned_vnodes/{index}", f"vnode {owned[index]} is not below vnode_count {count}"


@rule("fence.coverage")
def fence_coverage(subject: Subject) -> Iterator[Place]:
    """There is a fence, and its vnode_count or ABI differs from the manifest's.

    It is also broken when the fence does not list participant_id.
    """
    manifest, fence = subject.manifest, subject.manifest.assignment_fence
    if fence is None:
        return
    if fence.vnode_count != manifest.vnode_count:
        yield (
            "/assignment_fence/vnode_count",
            f"the fence covers {fence.vnode_count} vnodes, the manifest {manifest.vnode_count}",
        )
    if fence.partitioning_abi_version != manifest.partitioning_abi_version:
        yield (
            "/assignment_fence/partitioning_abi_version",
            f"the fence's ABI is {fence.partitioning_abi_version}, "
            f"the manifest's {manifest.partitioning_abi_version}",
        )
    if not fence.contains(manifest.participant_id):
        yield (
            "/assignment_fence/participants",
            f"the fence does not list participant {manifest.participant_id}",
        )


@rule("fence.portability")
def fence_portability(subject: Subject) -> Iterator[Place]:
    """There is a fence and reassignment_portable is false."""
    manifest = subject.manifest
    if manifest.assignment_fence is not None and not manifest.reassignment_portable:
        yield "/reassignment_portable", "a cluster manifest must be reassignment_portable"


@rule("local.topology")
def local_topology(subject: Subject) -> Iterator[Place]:
    """There is no fence, and participant_id is not 1 or owned_vnodes is not 0..vnode_count."""
    manifest = subject.manifest
    if manifest.assignment_fence is not None:
        return
    if manifest.participant_id != LOCAL_NODE_ID:
        yield (
            "/participant_id",
            f"a local manifest is participant {LOCAL_NODE_ID}'s, not {manifest.participant_id}'s",
        )
    if not owns_every_vnode(manifest.owned_vnodes, manifest.vnode_count):
        yield "/owned_vnodes", f"a local manifest owns exactly vnodes 0..{manifest.vnode_count}"


@rule("local.portability")
def local_portability(subject: Subject) -> Iterator[Place]:
    """There is no fence and reassignment_portable is true."""
    manifest = subject.manifest
    if manifest.assignment_fence is None and manifest.reassignment_portable:
        yield "/reassignment_portable", "a local manifest cannot be reassignment_portable"
