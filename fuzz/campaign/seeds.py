"""What a campaign starts from where it has no corpus yet."""

from __future__ import annotations

from fuzz.mutator import Mutator
from oracle import contract_named

_COUNT = 64


def seeds(contract: str, seed: int) -> list[bytes]:
    """Small valid documents of *contract*."""
    return Mutator(contract_named(contract), seed).seeds(_COUNT)
