"""Many small decisions from one drawn byte string.

Each choice that Hypothesis draws costs it far more than the decision is worth, so small decisions
are read from the bytes of one choice. The shrinker lowers each byte by itself, and a byte of 0
always means the simplest outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


class Dice:
    """Reads decisions from bytes, one after the other; past their end all are the simplest."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    def number(self, size: int) -> int:
        """An unsigned number of *size* bytes."""
        start = self._next
        self._next = start + size
        return int.from_bytes(self._data[start : self._next], "big")

    def roll(self, least: int, greatest: int) -> int:
        """A number in *least*..=*greatest*, which are at most 255 apart."""
        if least >= greatest:
            return least
        index = self._next
        self._next = index + 1
        byte = self._data[index] if index < len(self._data) else 0
        return least + byte % (greatest - least + 1)

    def once_in(self, odds: int) -> bool:
        """True once in *odds* times."""
        return self.roll(1, odds) == odds

    def pick(self, table: Sequence[T]) -> T:
        """One of *table*, which has at most 256 entries."""
        return table[self.roll(0, len(table) - 1)]

    def subset(self, table: Sequence[T], size: int) -> list[T]:
        """*size* different entries of *table*: where one is taken, the next free one."""
        taken: dict[int, T] = {}
        for _ in range(size):
            index = self.roll(0, len(table) - 1)
            while index in taken:
                index = (index + 1) % len(table)
            taken[index] = table[index]
        return list(taken.values())


@cache
def dice(size: int) -> SearchStrategy[Dice]:
    """Dice for *size* bytes of decisions. Shrinks to all the simplest."""
    return st.binary(min_size=size, max_size=size).map(Dice)
