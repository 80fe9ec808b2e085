"""What a campaign starts from where it has no corpus yet."""

from __future__ import annotations

from fuzz.mutator import Mutator
from fuzz.mutator.cuts import seeds as cut_seeds
from fuzz.regression.index import read
from oracle import Contract

_MADE = 32
# Larger documents cost so much for each input that they would take most of the time.
_LARGEST = 100_000


def seeds(contract: Contract, seed: int, target: str) -> list[bytes]:
    """The regression corpus of *contract*, and a few small valid documents besides; or its cuts."""
    if target == "cuts":
        return [*cut_seeds()]
    documents = [case.path.read_bytes() for case in read() if case.contract == contract.name]
    made = Mutator(contract, seed).seeds(_MADE)
    return [*(document for document in documents if len(document) <= _LARGEST), *made]
