"""Raw documents: bytes that libFuzzer changes without knowing what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session


def target(session: Session, seed: int) -> Target:
    """Compare on documents as they come."""
    return Target(session.judge)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("raw")
