"""What the values of a theorem are: numbers of the engine's types, ranges and the bytes in them."""

from itertools import pairwise

from oracle.constants import U16_MAX, U64_MAX

Channel = tuple[int | None, bool]
"""Watermark and idleness of one input channel."""


def are_u16(*values: int) -> bool:
    """Whether all *values* are unsigned 16-bit numbers."""
    return all(0 <= value <= U16_MAX for value in values)


def are_u64(*values: int) -> bool:
    """Whether all *values* are unsigned 64-bit numbers."""
    return all(0 <= value <= U64_MAX for value in values)


def are_scalars(*code_points: int) -> bool:
    """Whether UTF-8 can encode all *code_points*: none of them is a surrogate."""
    return all(
        0 <= code_point <= 0x10FFFF and not 0xD800 <= code_point <= 0xDFFF
        for code_point in code_points
    )


def are_ranges(ranges: list[tuple[int, int]], most: int) -> bool:
    """Whether *ranges* are at most so many (offset, length) pairs that do not overflow."""
    return len(ranges) <= most and all(
        are_u64(offset, length, offset + length) for offset, length in ranges
    )


def holders(ranges: list[tuple[int, int]], byte: int) -> int:
    """How many of the (offset, length) *ranges* the *byte* belongs to."""
    return sum(offset <= byte < offset + length for offset, length in ranges)


def lie_in_order(ranges: list[tuple[int, int]]) -> bool:
    """Whether no range starts before the end of the one before it."""
    return all(offset >= before + length for (before, length), (offset, _) in pairwise(ranges))
