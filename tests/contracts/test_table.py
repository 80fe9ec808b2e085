"""The table of contracts: what it promises, and that its rows mean something."""

import ast
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts.documentation import PAGE, page
from tests.contracts.mutants import MUTANTS
from tests.contracts.table import (
    CI_CPU_SECONDS,
    START_SECONDS,
    Contract,
    Kind,
    State,
    contracts,
)

TABLE = contracts()
THEOREMS = [contract for contract in TABLE if contract.kind is Kind.THEOREM]
CLAIMS = [contract for contract in TABLE if not contract.is_comparison]
COMPARISONS = [contract for contract in TABLE if contract.is_comparison]


def function_named(target: str) -> Callable[..., Any]:
    """The function with the qualified name *target*."""
    module, _, name = target.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def name_of(contract: Contract) -> str:
    """What a test is called after."""
    return contract.name


def test_at_least_half_of_the_theorems_are_confirmed() -> None:
    """There are at least 25, most expected to be confirmed and none to be refuted."""
    confirmed = [each for each in THEOREMS if each.expected is State.CONFIRMED]
    assert len(THEOREMS) >= 25
    assert len(confirmed) * 2 >= len(THEOREMS)
    assert State.REFUTED not in {each.expected for each in THEOREMS}


def test_all_budgets_together_are_within_the_limit() -> None:
    """Even if no search ends before its budget does, a run uses no more than five minutes."""
    total = sum(contract.cpu_seconds + START_SECONDS for contract in TABLE)
    assert CI_CPU_SECONDS <= 300
    assert total <= CI_CPU_SECONDS


def test_names_are_unique() -> None:
    """A name means one contract."""
    names = [contract.name for contract in TABLE]
    assert len(names) == len(set(names))


def test_canaries_and_differences_are_expected_to_be_refuted() -> None:
    """What is planted is false."""
    planted = [each for each in TABLE if each.kind in (Kind.CANARY, Kind.DIFFERENCE)]
    assert {each.expected for each in planted} == {State.REFUTED}
    assert {each.kind for each in planted} == {Kind.CANARY, Kind.DIFFERENCE}
    assert {each.is_comparison for each in planted} == {True, False}


@pytest.mark.parametrize("contract", THEOREMS, ids=name_of)
def test_a_theorem_holds_for_its_example(contract: Contract) -> None:
    """Its example meets what the theorem assumes, so it is not true of nothing."""
    function_named(contract.targets[0])(*contract.example)


@pytest.mark.parametrize(
    "contract", [each for each in CLAIMS if each.expected is State.REFUTED], ids=name_of
)
def test_a_false_claim_breaks_on_its_example(contract: Contract) -> None:
    """Its example is a counterexample, without CrossHair's help."""
    with pytest.raises(AssertionError):
        function_named(contract.targets[0])(*contract.example)


@pytest.mark.parametrize("contract", CLAIMS, ids=name_of)
def test_assumptions_are_told_from_claims(contract: Contract) -> None:
    """The leading asserts are assumptions: something else, or the last assert, comes after them.

    CrossHair takes asserts at the start of a function for assumptions, all of them up to the
    first other statement; where there is no other, the last one is the claim.
    """
    source = inspect.getsource(function_named(contract.targets[0]))
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    statements = function.body[1:]
    leading = next(
        (index for index, each in enumerate(statements) if not isinstance(each, ast.Assert)),
        len(statements) - 1,
    )
    assert leading >= 1, "without an assumption CrossHair does not take it for a contract"
    assert any(
        isinstance(each, ast.Assert) for each in ast.walk(ast.Module(statements[leading:], []))
    )


@pytest.mark.parametrize("contract", COMPARISONS, ids=name_of)
def test_a_restatement_has_the_signature_of_its_kernel(contract: Contract) -> None:
    """Both take the same arguments, so the comparison compares what it says."""
    kernel, restatement = (inspect.signature(function_named(each)) for each in contract.targets)
    assert list(kernel.parameters) == list(restatement.parameters)


def test_the_canary_restatement_differs_on_its_example() -> None:
    """The planted restatement is wrong where it says."""
    (planted,) = (each for each in COMPARISONS if each.kind is Kind.CANARY)
    kernel, restatement = map(function_named, planted.targets)
    assert kernel(*planted.example) != restatement(*planted.example)


def test_at_least_ten_mutants_name_a_theorem() -> None:
    """Each mutant is to be refuted by a theorem of the table."""
    assert len(MUTANTS) >= 10
    assert {mutant.refuted_by for mutant in MUTANTS} <= {theorem.name for theorem in THEOREMS}


def test_the_page_is_up_to_date() -> None:
    """The documentation is what the table makes of it."""
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.contracts --write-docs"
