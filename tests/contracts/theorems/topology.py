"""Vnodes and their owners, the roster of a fence, the channels of a source."""

from uuid import UUID

from oracle.constants import MAX_KEY_GROUP_COUNT, PARTITIONING_ABI_VERSION
from oracle.kernels import outside_domain, owns_every_vnode, rosters_differ, strictly_ascending
from oracle.model import (
    CheckpointAssignmentFence,
    CheckpointParticipant,
    Singleton,
    VnodePartitioned,
)
from tests.contracts.table import State, theorem
from tests.contracts.theorems.domains import are_u16, are_u64

BOOT = UUID("11111111-1111-4111-8111-111111111111")
DIGEST = bytes(31) + b"\1"


def fence(version: int, abi: int, vnodes: int, nodes: list[int]) -> CheckpointAssignmentFence:
    """A fence of these numbers; its digest and its boot incarnations are not zero."""
    participants = tuple(CheckpointParticipant(node, BOOT) for node in nodes)
    return CheckpointAssignmentFence(version, abi, vnodes, DIGEST, participants)


@theorem(example=([0, 1, 2], 3), cpu_seconds=3)
def every_vnode_is_all_of_them_in_order(owned: list[int], vnode_count: int) -> None:
    """Owned are all vnodes exactly when they ascend, are as many, and each is below the count."""
    assert len(owned) <= 4
    assert are_u16(vnode_count)
    assert are_u16(*owned)
    whole = owns_every_vnode(owned, vnode_count)
    assert whole == (
        strictly_ascending(owned)
        and len(owned) == vnode_count
        and all(vnode < vnode_count for vnode in owned)
    )


@theorem(example=([0, 3, 1], 3, 1), cpu_seconds=4)
def a_vnode_is_outside_or_below(vnodes: list[int], vnode_count: int, index: int) -> None:
    """A vnode is reported as outside the domain exactly when it is not below the count."""
    assert len(vnodes) <= 3
    assert are_u16(vnode_count)
    assert are_u16(*vnodes)
    assert 0 <= index < len(vnodes)
    outside = outside_domain(vnodes, vnode_count)
    assert (index in outside) == (vnodes[index] >= vnode_count)


@theorem(example=([0, 1, 2], 3))
def of_ascending_vnodes_the_last_tells(vnodes: list[int], vnode_count: int) -> None:
    """Vnodes in order are all below the count exactly when the last one is."""
    assert 1 <= len(vnodes) <= 3
    assert strictly_ascending(vnodes)
    inside = not outside_domain(vnodes, vnode_count)
    assert inside == (vnodes[-1] < vnode_count)


@theorem(example=(1, 2, 4, [1, 2]), cpu_seconds=3)
def a_fence_without_defect_has_a_roster(
    version: int, abi: int, vnodes: int, nodes: list[int]
) -> None:
    """A fence without defect lists each of its nodes once, none of them 0, and at least one."""
    assert len(nodes) <= 3
    assert are_u64(version, vnodes)
    assert are_u16(abi)
    assert are_u64(*nodes)
    assert fence(version, abi, vnodes, nodes).defect() is None
    listed = len(nodes)
    assert listed >= 1
    assert 0 not in nodes
    assert strictly_ascending(nodes)


@theorem(example=(1, 0, 2, 3))
def a_fence_has_a_defect_or_fits(version: int, abi: int, vnodes: int, node: int) -> None:
    """A fence of one node is faultless exactly when its numbers are in their ranges.

    None is 0, the ABI is the engine's, and there are at most 65,535 vnodes.
    """
    assert are_u64(version, vnodes, node)
    assert are_u16(abi)
    faultless = fence(version, abi, vnodes, [node]).defect() is None
    assert faultless == (
        version != 0
        and abi == PARTITIONING_ABI_VERSION
        and 1 <= vnodes <= MAX_KEY_GROUP_COUNT
        and node != 0
    )


@theorem(example=([1, 2], 2))
def a_fence_contains_whom_it_lists(nodes: list[int], node: int) -> None:
    """A fence contains exactly the nodes that it lists."""
    assert len(nodes) <= 3
    found = fence(1, PARTITIONING_ABI_VERSION, 4, nodes).contains(node)
    assert found == (node in nodes)


@theorem(example=(4, 3))
def a_partition_has_one_kind_of_owner(vnode_count: int, partition: int) -> None:
    """Of a singleton 0 the only partition is 0; of vnodes it is each below their count."""
    assert are_u16(vnode_count, partition)
    by_vnode = VnodePartitioned(DIGEST, PARTITIONING_ABI_VERSION, vnode_count)
    assert Singleton(0).contains(partition) == (partition == 0)
    assert by_vnode.contains(partition) == (not outside_domain([partition], vnode_count))


@theorem(example=([b"a", b"b"], b"b", b"a"), expected=State.NO_COUNTEREXAMPLE)
def a_roster_is_compared_in_any_order(declared: list[bytes], first: bytes, second: bytes) -> None:
    """Whether observed channels are the declared ones does not depend on their order."""
    assert len(declared) <= 2
    differ = rosters_differ(declared, [first, second])
    assert differ == rosters_differ(declared, [second, first])


@theorem(example=([b"a", b"b"],), expected=State.NO_COUNTEREXAMPLE)
def a_roster_in_order_is_its_own(declared: list[bytes]) -> None:
    """Declared channels in strict order do not differ from the same channels observed."""
    assert len(declared) <= 2
    assert strictly_ascending(declared)
    differ = rosters_differ(declared, declared[::-1])
    assert not differ
