"""The canary: a disagreement that is planted on purpose, to see that it is found.

The environment variable ``LAMINAR_ORACLE_CANARY`` switches a rule of the oracle off, in this
process only; no input can do that. Its value is the rule's id, or 1 for one that takes a
search to reach.
"""

from __future__ import annotations

import os

VARIABLE = "LAMINAR_ORACLE_CANARY"
DEFAULT_RULE = "references.count"


def planted() -> str | None:
    """The rule that the environment switches off, if it does."""
    value = os.environ.get(VARIABLE)
    return DEFAULT_RULE if value == "1" else value or None


def plant_from_environment() -> None:
    """Switch off the rule that the environment names.

    Raises :class:`ValueError` where there is no such rule.
    """
    rule = planted()
    if rule is None:
        return
    from oracle.registry import CHECKS

    if rule not in CHECKS:
        raise ValueError(f"{VARIABLE} is {rule!r}, which is no rule; set it to 1 or a rule's id")
    CHECKS[rule] = lambda subject: ()
