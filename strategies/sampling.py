"""Examples of a strategy outside a test, for reports and measurements."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def sample(strategy: SearchStrategy[T], count: int, start: int = 0) -> list[T]:
    """*count* examples as a test would see them, the same ones for the same seed *start*."""
    found: list[T] = []
    while len(found) < count:
        before = len(found)
        _collect(strategy, count - before, start + before, found)
        if len(found) == before:
            raise ValueError(f"{strategy!r} has no examples")
    return found[:count]


def _collect(strategy: SearchStrategy[T], count: int, start: int, found: list[T]) -> None:
    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    collect()
