"""What all tests share: the Hypothesis profile, and which releases of the engine are under test.

HYPOTHESIS_PROFILE names the profile. LAMINAR_ORACLE_ENGINES names releases; without it, all are
under test. A test that needs another one is deselected, and pytest says how many were.
"""

import os

import pytest

from fuzz.engines import RELEASES
from strategies.profiles import register

register()

UNDER_TEST = set(os.environ.get("LAMINAR_ORACLE_ENGINES", "").split()) or set(RELEASES)


def pytest_report_header() -> str:
    """Name the releases under test, and those that are not."""
    others = ", ".join(sorted(set(RELEASES) - UNDER_TEST)) or "none"
    return f"engines under test: {', '.join(sorted(UNDER_TEST))}; deselected: {others}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that need a release that is not under test."""
    left_out = [item for item in items if not _releases(item) <= UNDER_TEST]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _releases(item: pytest.Item) -> set[str]:
    """The releases that a test is marked with, or has as a parameter."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    needed = {value for value in parameters if isinstance(value, str) and value in RELEASES}
    return needed.union(*(mark.args for mark in item.iter_markers("releases")))
