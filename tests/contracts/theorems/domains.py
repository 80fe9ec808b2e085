"""What the values of a theorem are: numbers of the engine's types, ranges and the bytes in them."""

from oracle.constants import I64_MAX, I64_MIN, U16_MAX, U64_MAX

Channel = tuple[int | None, bool]
"""Watermark and idleness of one input channel."""


def is_u16(value: int) -> bool:
    """Whether *value* is an unsigned 16-bit number."""
    return 0 <= value <= U16_MAX


def is_u64(value: int) -> bool:
    """Whether *value* is an unsigned 64-bit number."""
    return 0 <= value <= U64_MAX


def is_i64(value: int) -> bool:
    """Whether *value* is a signed 64-bit number."""
    return I64_MIN <= value <= I64_MAX


def is_scalar(code_point: int) -> bool:
    """Whether *code_point* is one that UTF-8 can encode: any but a surrogate."""
    return 0 <= code_point <= 0x10FFFF and not 0xD800 <= code_point <= 0xDFFF


def are_ranges(ranges: list[tuple[int, int]]) -> bool:
    """Whether *ranges* are at most three (offset, length) pairs that do not overflow."""
    return len(ranges) <= 3 and all(
        is_u64(offset) and is_u64(length) and is_u64(offset + length) for offset, length in ranges
    )


def holders(ranges: list[tuple[int, int]], byte: int) -> int:
    """How many of the (offset, length) *ranges* the *byte* belongs to."""
    return sum(offset <= byte < offset + length for offset, length in ranges)


def lie_in_order(ranges: list[tuple[int, int]]) -> bool:
    """Whether no range starts before the end of the one before it."""
    return all(
        offset >= before + length
        for (before, length), (offset, _) in zip(ranges, ranges[1:], strict=False)
    )
