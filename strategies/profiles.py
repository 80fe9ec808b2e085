"""Hypothesis profiles of this project; ``HYPOTHESIS_PROFILE`` in the environment chooses one.

| profile | examples | for |
| --- | --- | --- |
| dev | 100 | a run at the desk |
| ci | 400 | every change; slow machines are no failure |
| nightly | 20,000 | a run that may take its time |
| replay | – | only what failed before, from the example database |
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

DEFAULT_PROFILE = "dev"


def register() -> None:
    """Register the profiles and load the chosen one; an unknown name raises an error."""
    settings.register_profile("dev", max_examples=100, deadline=None)
    settings.register_profile(
        "ci",
        max_examples=400,
        deadline=None,
        derandomize=True,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile("nightly", max_examples=20_000, deadline=None, print_blob=True)
    settings.register_profile("replay", deadline=None, phases=[Phase.explicit, Phase.reuse])
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or DEFAULT_PROFILE)
