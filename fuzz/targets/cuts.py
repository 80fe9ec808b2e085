"""Cuts: whole cuts as texts of several lines, from the mutator that knows what a cut is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import atheris  # type: ignore[import-untyped]

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session


def target(session: Session, seed: int) -> Target:
    """Compare on cuts that the mutator makes."""
    from fuzz.mutator.cuts import CutMutator

    mutator = CutMutator(seed, atheris.Mutate)
    return Target(session.judge_cut, mutator.mutate, mutator.cross)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("cuts")
