"""What is read from CrossHair: one contract of each state, and what must not pass for one."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from tests.contracts.__main__ import main
from tests.contracts.mutants import Mutant, examine_mutant
from tests.contracts.run import CouldNotRunError, Result, examine
from tests.contracts.table import Contract, State, contracts


def contract_named(name: str) -> Contract:
    """The one contract called *name*."""
    (contract,) = (each for each in contracts() if each.name == name)
    return contract


def test_a_theorem_is_confirmed() -> None:
    """A simple theorem is confirmed within its budget."""
    result = examine(contract_named("ranges.an_end_never_wraps"))
    assert (result.state, result.is_loss) == (State.CONFIRMED, False)
    assert result.cpu_seconds > 0


def test_a_canary_is_refuted() -> None:
    """A planted false claim is refuted, with arguments that show it."""
    result = examine(contract_named("canaries.an_end_is_below_the_greatest"))
    assert (result.state, result.is_loss) == (State.REFUTED, False)
    assert "an_end_is_below_the_greatest(" in result.counterexample


def test_a_wrong_restatement_is_refuted() -> None:
    """A planted difference is met, with arguments that show it."""
    result = examine(contract_named("canaries.range_end_below_the_greatest"))
    assert (result.state, result.is_loss) == (State.REFUTED, False)
    assert "Given: " in result.counterexample


def test_a_confirmation_can_be_lost() -> None:
    """A search that is ended too early confirms nothing, and that counts as a loss."""
    contract = contract_named("ranges.a_tiling_holds_each_byte_once")
    result = examine(replace(contract, cpu_seconds=0.05))
    assert (result.state, result.is_loss) == (State.NO_COUNTEREXAMPLE, True)


def test_a_canary_that_lives_is_a_loss() -> None:
    """A contract that should be refuted and is not fails the run."""
    contract = contract_named("canaries.delete_is_escaped")
    for state in (State.CONFIRMED, State.NO_COUNTEREXAMPLE):
        assert Result(contract, state, "", 1.0).is_loss


def test_more_than_expected_is_a_gain() -> None:
    """A contract that is confirmed against expectation is no loss, and is told."""
    contract = contract_named("references.every_payload_counts_once")
    assert Result(contract, State.CONFIRMED, "", 1.0).is_gain
    assert not Result(contract, State.CONFIRMED, "", 1.0).is_loss
    assert Result(contract, State.REFUTED, "", 1.0).is_loss


def test_what_is_no_contract_does_not_pass() -> None:
    """A function that CrossHair cannot find is an error, never a state."""
    contract = contract_named("ranges.an_end_never_wraps")
    with pytest.raises(CouldNotRunError, match="gone"):
        examine(replace(contract, targets=("tests.contracts.theorems.ranges.gone",)))


def test_a_function_without_a_claim_does_not_pass() -> None:
    """CrossHair has nothing to say of a function without asserts, and that is an error."""
    contract = contract_named("ranges.an_end_never_wraps")
    with pytest.raises(CouldNotRunError, match="no checkable functions"):
        examine(replace(contract, targets=("oracle.kernels.range_end",)))


def test_a_stale_mutant_is_told() -> None:
    """A mutant of something that does not stand in the oracle any more is an error."""
    stale = Mutant("stale", "kernels.py", "no such text", "", "ranges.an_end_never_wraps")
    with pytest.raises(ValueError, match="stands 0 times"):
        examine_mutant(stale)


def test_the_command_tells_states_by_its_exit_code() -> None:
    """0 for what is as expected, 2 where nothing was chosen."""
    runner = CliRunner()
    assert runner.invoke(main, ["--only", "ranges.an_end_never_wraps"]).exit_code == 0
    assert runner.invoke(main, ["--only", "no such contract"]).exit_code == 2
