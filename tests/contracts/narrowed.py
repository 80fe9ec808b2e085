"""Kernels that take lists, narrowed to a few values whose types say what CrossHair is to make.

The restatements in :mod:`tests.contracts.naive` have the same signatures.
"""

from __future__ import annotations

from oracle import kernels
from oracle.kernels import CheckpointWatermark, Tiling

Channel = tuple[int | None, bool]
Range = tuple[int, int]
Run = tuple[int, int, int]


def strictly_ascending(first: int, second: int, third: int) -> bool:
    """Of three numbers."""
    return kernels.strictly_ascending([first, second, third])


def first_disorder(first: int, second: int, third: int) -> int | None:
    """Of three numbers."""
    return kernels.first_disorder([first, second, third])


def tile(first: Range, second: Range) -> Tiling:
    """Of two ranges."""
    return kernels.tile([first, second])


def classify(first: Channel, second: Channel) -> CheckpointWatermark:
    """Of two channels."""
    return kernels.classify([first, second])


def frontier(first: Channel, second: Channel) -> int | None:
    """Of two channels."""
    return kernels.frontier([first, second])


def view_log_segment_limit(participants: int, in_manifest: int, in_cluster: int) -> int:
    """Of at most four segments in a manifest."""
    if participants < 1 or not 0 <= in_manifest <= 4 or in_cluster < 0:
        raise ValueError
    return kernels.view_log_segment_limit(participants, in_manifest, in_cluster)


def outside_domain(first: int, second: int, vnode_count: int) -> list[int]:
    """Of two vnodes."""
    return kernels.outside_domain([first, second], vnode_count)


def row_gaps(run: Run, after: Run) -> list[int]:
    """Of two runs."""
    return kernels.row_gaps([run, after])


def is_trimmed(first: int, second: int) -> bool:
    """Of two characters."""
    return kernels.is_trimmed(chr(first) + chr(second))


def uses_by_chunk(first: int, second: int, current: int, chunk: int) -> int:
    """Of one chunk, by two payloads."""
    return kernels.uses_by_chunk([first, second], current)[chunk]
