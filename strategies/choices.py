"""Dice that know what is wished for."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from strategies.dice import Dice
from strategies.traits import SMALL_RANGE, Trait, Wishes


class Choices(Dice):
    """Decisions about the traits of one part of a manifest, drawn as *size* bytes."""

    def __init__(self, draw: DrawFn, wished: Wishes, size: int) -> None:
        super().__init__(draw(_bytes(size)))
        self.wished = wished

    def has(self, trait: Trait, odds: int = 2, *, due: bool = True) -> bool:
        """Whether to have *trait*, simplest is not.

        As wished, where what is asked for is *due*; else once in *odds* times where it may be.
        """
        if due and trait in self.wished.having:
            return True
        return trait not in self.wished.without and self.once_in(odds)

    def length(self, most: int) -> int:
        """How long a range is: a number from 1 on of up to *most* bytes, as far as wished."""
        if Trait.LARGE_RANGE in self.wished.without:
            return 1 + self.number(self.roll(0, 1))
        size = self.roll(0, most)
        least = SMALL_RANGE if Trait.LARGE_RANGE in self.wished.having else 0
        return least + 1 + self.number(size)


@cache
def _bytes(size: int) -> SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)
