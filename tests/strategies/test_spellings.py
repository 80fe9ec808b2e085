"""Spellings decode to the manifest, near misses are rejected for the reason they say."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import CONTRACTS, V9, V10, Contract, DecodeError, Kind
from strategies import Liberty, Trait, manifests, near_misses, spellings
from strategies.near_misses import NEEDED
from strategies.sampling import sample

contracts = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))


@contracts
@given(data=st.data())
def test_every_spelling_decodes_to_its_manifest(contract: Contract, data: st.DataObject) -> None:
    """And that encodes to the canonical bytes, whatever the spelling was."""
    manifest = data.draw(manifests(contract))
    spelling = data.draw(spellings(manifest, contract))
    assert oracle.decode(spelling.document, contract) == manifest == spelling.manifest
    assert oracle.encode(manifest, contract) == spelling.canonical
    if not spelling.liberties:
        assert spelling.document == spelling.canonical


@pytest.mark.parametrize("liberty", Liberty)
def test_every_liberty_shows(liberty: Liberty) -> None:
    """Taken alone and often, each makes documents that are not canonical."""
    needed = [Trait.PARTITIONED_STREAM, Trait.OFFSETS, Trait.METADATA]
    manifest = sample(manifests(having=needed), 5)[-1]
    found = sample(spellings(manifest, liberties=[liberty]), 60)
    different = {spelling.document for spelling in found} - {oracle.encode(manifest)}
    assert different
    assert {oracle.decode(document) for document in different} == {manifest}


def test_liberties_can_be_narrowed() -> None:
    """With white space alone, the text is the same but for white space."""
    manifest = sample(manifests(having=[Trait.SUBSCRIPTION]), 3)[-1]
    for spelling in sample(spellings(manifest, liberties=[Liberty.WHITE_SPACE]), 20):
        assert json.loads(spelling.document) == json.loads(spelling.canonical)
    with pytest.raises(InvalidArgument):
        spellings(manifest, liberties=["white-space"])  # type: ignore[list-item]


@contracts
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
@settings(max_examples=25)
@given(data=st.data())
def test_every_near_miss_is_rejected_for_its_reason(
    contract: Contract, kind: Kind, data: st.DataObject
) -> None:
    """Each kind of rejection has near misses, and these are of no other kind."""
    manifest = data.draw(manifests(contract, having=NEEDED.get(kind, ())))
    miss = data.draw(near_misses(manifest, contract, kinds=[kind]))
    with pytest.raises(DecodeError) as caught:
        oracle.decode(miss.document, contract)
    assert (caught.value.kind, miss.kind) == (kind, kind)


def test_every_kind_is_met_without_being_asked_for() -> None:
    """Of a manifest that has what is needed, all kinds of near misses come."""
    having = set().union(*NEEDED.values())
    manifest = sample(manifests(having=having), 3)[-1]
    counts = Counter(miss.kind for miss in sample(near_misses(manifest), 400))
    assert set(counts) == set(Kind)


def test_impossible_kinds_fail_at_the_call() -> None:
    """A local manifest has no fence that could be wrong."""
    local = sample(manifests(having=[Trait.LOCAL]), 1)[0]
    with pytest.raises(InvalidArgument, match="kinds"):
        near_misses(local, kinds=[Kind.FENCE])
    with pytest.raises(InvalidArgument):
        near_misses(local, kinds=[])


def test_fields_of_a_later_format_are_unknown() -> None:
    """What v10 added is a field that v9 does not have."""
    manifest = sample(manifests(V10, having=[Trait.INTENT]), 1)[0]
    with pytest.raises(DecodeError) as caught:
        oracle.decode(oracle.encode(manifest), V9)
    assert caught.value.kind is Kind.UNKNOWN
