"""Manifests: documents from the mutator that knows what a manifest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import atheris  # type: ignore[import-untyped]

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session


def target(session: Session, seed: int) -> Target:
    """Compare on documents that the mutator makes."""
    from fuzz.mutator import Mutator

    mutator = Mutator(session.contract, seed, atheris.Mutate)
    session.when_slow(mutator.took)
    return Target(session.judge, mutator.mutate, mutator.cross)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("manifests")
