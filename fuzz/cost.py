"""What a call costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call costs.

    ``microseconds`` are of processor time; ``times`` is how often that is the cost of ``of``.
    """

    what: str
    microseconds: float
    of: str | None = None
    times: float | None = None
