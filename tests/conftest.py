"""What all tests share: the Hypothesis profile, chosen by HYPOTHESIS_PROFILE."""

from strategies.profiles import register

register()
