"""The engine's classification of channels, transcribed from the words of the contract.

"In list order: a watermark of i64's minimum stops it with watermark.sentinel; an idle channel is
passed over; an active channel without a watermark ends it at once as uninitialized; else the
smallest watermark of active channels is the active value; none at all is idle."
"""

from collections.abc import Iterable

from oracle.constants import I64_MIN
from oracle.kernels import IDLE, UNINITIALIZED, CheckpointWatermark

RESERVED = CheckpointWatermark("reserved")
"""Neither a state of channels nor a value: the error of a reserved watermark."""


def engine_classification(channels: Iterable[tuple[int | None, bool]]) -> CheckpointWatermark:
    """What the engine makes of (watermark, idle) pairs in list order."""
    smallest: int | None = None
    for watermark, idle in channels:
        if watermark == I64_MIN:
            return RESERVED
        if idle:
            continue
        if watermark is None:
            return UNINITIALIZED
        if smallest is None or watermark < smallest:
            smallest = watermark
    return IDLE if smallest is None else CheckpointWatermark("active", smallest)
