"""Manifests at a bound are valid, and one step from a corruption."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from fuzz.comparison import Outcome, compare
from oracle import CONTRACTS, RULES, V9, V10, VIEW_LOG, Contract
from strategies import boundaries
from strategies.boundaries import BOUNDS
from strategies.breakages import BREAKAGES
from strategies.sampling import sample
from tests.engine.conftest import built_engine


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
@given(data=st.data())
def test_what_is_just_inside_is_valid(contract: Contract, data: st.DataObject) -> None:
    """The oracle finds nothing."""
    found = data.draw(boundaries(contract))
    verdict = oracle.judge(found.document, found.manifest.vnode_count, contract)
    assert verdict.rules == frozenset()
    assert verdict.manifest == found.manifest


@pytest.mark.engine
@pytest.mark.parametrize("name", BOUNDS)
def test_the_engine_agrees_at_every_bound(name: str) -> None:
    """And the rule that is one step away can be broken."""
    of_v10 = V10.has(RULES[BOUNDS[name].rule].feature)
    # Of view logs no engine knows: there it is this project's own stand-in.
    contract, release = (V10, "0.33.0") if of_v10 else (VIEW_LOG, "stand-in")
    engine = built_engine(release)
    for found in sample(boundaries(contract, names=[name]), 12):
        comparison = compare(found.document, engine, found.manifest.vnode_count, contract)
        assert comparison.outcome is Outcome.AGREE
        assert comparison.engine.stage == "valid"
    assert BOUNDS[name].rule in {way.rule for way in BREAKAGES.values()}


def test_unknown_bounds_fail_at_the_call() -> None:
    """What is not there, or not in the format, is refused."""
    for names in (["no-such-bound"], []):
        with pytest.raises(InvalidArgument):
            boundaries(names=names)
    with pytest.raises(InvalidArgument):
        boundaries(V9, names=["subscription.object-key/longest"])
