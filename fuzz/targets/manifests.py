"""Manifests: documents from the mutator that knows what a manifest is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import atheris  # type: ignore[import-untyped]

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session


def target(session: Session, seed: int) -> Target:
    """Compare on documents that the mutator makes."""
    from fuzz.mutator import Mutator

    mutator = Mutator(session.contract, seed, atheris.Mutate)
    made: list[bytes] = []

    def mutate(document: bytes, most: int) -> bytes:
        # libFuzzer would keep a large document and mutate it over and over, seconds each time;
        # so it does not get to see any.
        if mutator.large_is_due():
            start = time.monotonic()
            session.judge(mutator.large(document, most))
            mutator.took(time.monotonic() - start)
        if not made:
            made.extend(mutator.offspring(document, most))
        return made.pop()[:most]

    return Target(session.judge, mutate, mutator.cross)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("manifests")
