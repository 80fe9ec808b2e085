"""What tests that meet the production engine share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.engines import DEFAULT_RELEASE, EngineUnavailable, InProcessEngine, load

DATA = Path(__file__).parents[1] / "data"


def built_engine(release: str) -> InProcessEngine:
    """The engine *release*; without it the test fails, since unseen is not the same as passed.

    The environment variable LAMINAR_ORACLE_NO_ENGINE=1 makes it a skipped test, for machines
    that cannot build one.
    """
    try:
        return load(release)
    except EngineUnavailable as error:
        why = str(error)
    if os.environ.get("LAMINAR_ORACLE_NO_ENGINE") == "1":
        pytest.skip(why)
    pytest.fail(why, pytrace=False)


@pytest.fixture
def engine_of() -> Callable[[str], InProcessEngine]:
    """Gives the built engine of a release."""
    return built_engine


@pytest.fixture
def default_engine() -> InProcessEngine:
    """The engine that is used when none is named."""
    return built_engine(DEFAULT_RELEASE)


@pytest.fixture(scope="session")
def documents() -> Path:
    """The directory of documents whose verdicts are compared."""
    return DATA
