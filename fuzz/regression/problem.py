"""What a check of the corpus finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as the corpus says; ``where`` is a case's id or a file."""

    where: str
    judge: str
    message: str
