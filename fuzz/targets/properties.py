"""Properties: the Hypothesis strategies as a target; libFuzzer's bytes are what they draw from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session
    from oracle import CheckpointManifest


def target(session: Session, seed: int) -> Target:
    """Compare on the manifests that the strategies make, which are all valid."""
    from hypothesis import HealthCheck, Phase, given, settings

    from oracle import encode
    from strategies import manifests

    @settings(
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(manifests(session.contract))
    def both_sides_agree(manifest: CheckpointManifest) -> None:
        session.judge(encode(manifest))

    one_input = both_sides_agree.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    return Target(lambda data: one_input(data) and None)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("properties")
