"""Hazardous manifests: valid, and with exactly the hazard that they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import CONTRACTS, V9, Contract, Level, Stage
from strategies import hazards
from strategies.sampling import sample

FORMATS = list(CONTRACTS.values())
contracts = pytest.mark.parametrize("contract", FORMATS, ids=[c.name for c in FORMATS])


@contracts
@given(data=st.data())
def test_a_hazardous_manifest_has_its_hazard_alone(contract: Contract, data: st.DataObject) -> None:
    """The rules let it pass, and the oracle warns of one thing."""
    hazardous = data.draw(hazards(contract))
    verdict = oracle.judge(hazardous.document, hazardous.manifest.vnode_count, contract)
    assert verdict.stage is Stage.VALID
    warned = oracle.hazards(hazardous.manifest, hazardous.document, contract)
    assert {finding.rule for finding in warned} == {hazardous.hazard}


@contracts
def test_every_hazard_comes(contract: Contract) -> None:
    """None of the registry is left out."""
    for rule in oracle.rules_of(contract, Level.HAZARD):
        assert sample(hazards(contract, ids=[rule.id]), 3)


def test_unknown_hazards_fail_at_the_call() -> None:
    """Rules are no hazards, and v9 has no subscription output to be a hazard."""
    for ids in (["version"], []):
        with pytest.raises(InvalidArgument):
            hazards(ids=ids)
    with pytest.raises(InvalidArgument):
        hazards(V9, ids=["hazard.segment-key"])
