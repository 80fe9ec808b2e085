"""How the current object is filled: without gap or overlap, from its first byte to its last."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.registry import Place, rule
from oracle.subject import Subject


@rule("layout.gap")
def layout_gap(subject: Subject) -> Iterator[Place]:
    """The ranges in the current object do not each start where the one before ended, from 0.

    Frames of the current chunk in list order, then (assumption A11) segments of view logs, then
    intents' payloads, then sinks' payloads. A range that overflows does not move the expected
    start.
    """
    for gap in subject.tiling.gaps:
        field, index, _ = subject.current_ranges[gap.index]
        yield (
            subject.range_pointer(field, index),
            f"the range starts at {gap.offset}, expected at {gap.expected}",
        )


@rule("layout.length")
def layout_length(subject: Subject) -> Iterator[Place]:
    """Where the last range in the current object ends is not node_data.object_length."""
    end, length = subject.tiling.end, subject.manifest.node_data.object_length
    if end != length:
        yield "/node_data/object_length", f"object_length is {length}, its ranges end at {end}"
