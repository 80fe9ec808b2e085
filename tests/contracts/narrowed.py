"""Kernels that take values of any kind or length, narrowed to what symbolic execution can exhaust.

CrossHair makes arguments after their annotations, so each front says of which type they are; what
is longer than a front allows is an error, of the front and of the restatement alike.
"""

from __future__ import annotations

from collections.abc import Sized

from oracle import kernels
from oracle.kernels import CheckpointWatermark, Tiling


def at_most(count: int, items: Sized) -> None:
    """Refuse more than *count* items."""
    if len(items) > count:
        raise ValueError("too many items")


def deal(participants: int, in_manifest: int, in_cluster: int) -> None:
    """Refuse budgets that take many rounds to deal out."""
    if not (1 <= participants and 0 <= in_manifest <= 4 and 0 <= in_cluster):
        raise ValueError("too many rounds")


def strictly_ascending(items: list[int]) -> bool:
    """Narrowed to at most three integers."""
    at_most(3, items)
    return kernels.strictly_ascending(items)


def first_disorder(items: list[int]) -> int | None:
    """Narrowed to at most three integers."""
    at_most(3, items)
    return kernels.first_disorder(items)


def tile(ranges: list[tuple[int, int]]) -> Tiling:
    """Narrowed to at most two ranges."""
    at_most(2, ranges)
    return kernels.tile(ranges)


def classify(channels: list[tuple[int | None, bool]]) -> CheckpointWatermark:
    """Narrowed to at most two channels."""
    at_most(2, channels)
    return kernels.classify(channels)


def frontier(channels: list[tuple[int | None, bool]]) -> int | None:
    """Narrowed to at most two channels."""
    at_most(2, channels)
    return kernels.frontier(channels)


def view_log_segment_limit(participants: int, in_manifest: int, in_cluster: int) -> int:
    """Narrowed to at most four segments in a manifest."""
    deal(participants, in_manifest, in_cluster)
    return kernels.view_log_segment_limit(participants, in_manifest, in_cluster)


def outside_domain(vnodes: list[int], vnode_count: int) -> list[int]:
    """Narrowed to at most two vnodes."""
    at_most(2, vnodes)
    return kernels.outside_domain(vnodes, vnode_count)


def row_gaps(runs: list[tuple[int, int, int]]) -> list[int]:
    """Narrowed to at most two runs."""
    at_most(2, runs)
    return kernels.row_gaps(runs)


def is_trimmed(text: str) -> bool:
    """Narrowed to at most two characters."""
    at_most(2, text)
    return kernels.is_trimmed(text)


def uses_by_chunk(chunks: list[int], current: int, chunk: int) -> int:
    """Narrowed to the uses of one chunk among at most three integers."""
    at_most(3, chunks)
    return kernels.uses_by_chunk(chunks, current)[chunk]
