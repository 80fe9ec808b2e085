"""Strict order: of numbers, names, chunks and keys."""

from oracle.kernels import first_disorder, strictly_ascending
from oracle.model import OperatorWhole, StateChunkId, Vnode
from tests.contracts.table import State, theorem
from tests.contracts.theorems.domains import are_scalars, are_u16, are_u64


@theorem(example=([1, 4, 9], 0, 2))
def strict_order_is_uniqueness(items: list[int], earlier: int, later: int) -> None:
    """In a strictly ascending list, of any two items the later is the greater: none is repeated."""
    assert len(items) <= 4
    assert 0 <= earlier < later < len(items)
    assert strictly_ascending(items)
    before, after = items[earlier], items[later]
    assert before < after


@theorem(example=([1, 4, 4],))
def disorder_is_found(items: list[int]) -> None:
    """A list has a first item out of order exactly when it is not strictly ascending."""
    assert len(items) <= 4
    assert (first_disorder(items) is None) == strictly_ascending(items)


@theorem(example=([1, 4, 4, 2],))
def the_first_disorder_is_found(items: list[int]) -> None:
    """What is found out of order is not greater than its neighbour; all before it ascend."""
    assert len(items) <= 4
    assert first_disorder(items) is not None
    index = first_disorder(items)
    assert index is not None
    assert items[index - 1] >= items[index]
    assert strictly_ascending(items[:index])


@theorem(example=([1, 4, 9], 1), cpu_seconds=2.5)
def order_survives_removal(items: list[int], index: int) -> None:
    """A strictly ascending list is one still when any item is taken out."""
    assert len(items) <= 4
    assert 0 <= index < len(items)
    assert strictly_ascending(items)
    rest = items[:index] + items[index + 1 :]
    assert strictly_ascending(rest)


@theorem(example=(1, 7, 2, 3))
def chunks_go_by_participant_then_checkpoint(
    participant: int, checkpoint: int, other_participant: int, other_checkpoint: int
) -> None:
    """Chunks ascend by participant, and by checkpoint of the same participant."""
    assert are_u64(participant, checkpoint)
    assert are_u64(other_participant, other_checkpoint)
    chunks = [
        StateChunkId(participant, checkpoint),
        StateChunkId(other_participant, other_checkpoint),
    ]
    assert strictly_ascending(chunks) == (
        participant < other_participant
        or (participant == other_participant and checkpoint < other_checkpoint)
    )


@theorem(example=("b", "a", 0))
def whole_operators_come_before_vnodes(operator: str, other: str, vnode: int) -> None:
    """The key of a whole operator is before that of any vnode, whatever the operators' names."""
    assert are_u16(vnode)
    keys = [OperatorWhole(operator).order, Vnode(other, vnode).order]
    assert strictly_ascending(keys)


@theorem(example=(0x61, 0x62, 1, 0), cpu_seconds=3)
def vnode_keys_go_by_operator_then_vnode(
    operator: int, other: int, vnode: int, other_vnode: int
) -> None:
    """Keys of vnodes ascend by operator (here of one character), and by vnode of the same one."""
    assert are_scalars(operator, other)
    assert are_u16(vnode, other_vnode)
    keys = [Vnode(chr(operator), vnode).order, Vnode(chr(other), other_vnode).order]
    assert strictly_ascending(keys) == (
        operator < other or (operator == other and vnode < other_vnode)
    )


@theorem(example=(0xFFFF, 0x10000), cpu_seconds=6)
def code_points_go_by_utf8(first: int, second: int) -> None:
    """Characters are ordered as their UTF-8 bytes are (UTF-16 would put U+10000 before U+FFFF)."""
    assert are_scalars(first, second)
    names = [chr(first), chr(second)]
    assert strictly_ascending(names) == (names[0].encode() < names[1].encode())


@theorem(example=("a", "aé"), expected=State.NO_COUNTEREXAMPLE)
def names_go_by_utf8(first: str, second: str) -> None:
    """Names of up to three characters are ordered as their UTF-8 bytes are."""
    assert len(first) <= 3
    assert len(second) <= 3
    assert are_scalars(*map(ord, first + second))
    ordered = strictly_ascending([first, second])
    assert ordered == (first.encode() < second.encode())
