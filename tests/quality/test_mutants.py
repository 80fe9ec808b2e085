"""The search for mistakes in the oracle does not find what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.campaign.corpus import write_seeds
from fuzz.engines import DEFAULT_RELEASE
from fuzz.mutants import CONTROL, Mutant, hunt
from oracle import V10

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in seeds of a campaign."""
    directory = tmp_path_factory.mktemp("seeds")
    write_seeds(directory, V10, 1)
    return directory


def test_the_oracle_as_it_is_is_not_found(seeds: Path) -> None:
    """Its worker starts, and goes on until its time is up."""
    result = hunt(CONTROL, DEFAULT_RELEASE, V10.name, seeds, 10, 1)
    assert result.seconds is None
    assert (result.signature, result.fault) == ("", "")


def test_a_rule_that_is_off_is_found(seeds: Path) -> None:
    """And it is that rule which the two sides differ in."""
    result = hunt(Mutant("rule off", "version", ""), DEFAULT_RELEASE, V10.name, seeds, 60, 1)
    assert result.seconds is not None
    assert result.signature == "rules; engine: version"


def test_a_mutant_that_does_not_start_is_not_found(seeds: Path) -> None:
    """What its worker died of is told instead."""
    broken = Mutant("broken", "syntax", "", "kernels.py", "raise SystemExit('no kernels')")
    result = hunt(broken, DEFAULT_RELEASE, V10.name, seeds, 60, 1)
    assert result.seconds is None
    assert "no kernels" in result.fault
