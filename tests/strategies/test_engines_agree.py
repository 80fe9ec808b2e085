"""The production engines judge what is generated as the oracle does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.comparison import Outcome, compare
from fuzz.engines import InProcessEngine
from oracle import V9, V10, VIEW_LOG, Contract, Kind, Stage, Verdict, encode
from strategies import (
    Corruption,
    checkpoints,
    corruption_pairs,
    corruptions,
    manifests,
    near_misses,
    spellings,
    unspecified,
)
from strategies.hazards import hazards
from strategies.near_misses import NEEDED
from tests.engine.conftest import built_engine

pytestmark = pytest.mark.engine

# The stand-in is no engine; it is here to find this project's own slips.
peers = pytest.mark.parametrize(
    ("contract", "release"),
    [(V9, "0.30.0"), (V10, "0.33.0"), (VIEW_LOG, "stand-in")],
    ids=["v9", "v10", "stand-in"],
)


def assert_agreed(
    document: bytes, key_groups: int, contract: Contract, engine: InProcessEngine, stage: Stage
) -> Verdict:
    """The oracle comes to *stage*, and the engine to the same, for the same reasons."""
    comparison = compare(document, engine, key_groups, contract)
    assert comparison.oracle.stage is stage
    assert comparison.outcome is Outcome.AGREE, str(comparison.signature)
    return comparison.oracle


def assert_reported(corruption: Corruption, release: str) -> None:
    """Oracle and engine report exactly the rules that the corruption says."""
    engine = built_engine(release)
    verdict = assert_agreed(
        corruption.document, corruption.key_groups, corruption.contract, engine, Stage.INVALID
    )
    assert verdict.manifest == corruption.manifest
    assert verdict.rules - unspecified(corruption.expected) == corruption.expected


@peers
@given(data=st.data())
def test_manifests_are_valid_to_the_engine(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """With the same canonical encoding and digests."""
    manifest = data.draw(manifests(contract))
    document = encode(manifest, contract)
    engine = built_engine(release)
    verdict = assert_agreed(document, manifest.vnode_count, contract, engine, Stage.VALID)
    assert verdict.manifest == manifest


@peers
@given(data=st.data())
def test_the_engine_reports_corruptions_with_their_rules(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """Its messages stand for exactly the rules that the corruption says."""
    assert_reported(data.draw(corruptions(contract)), release)


@peers
@given(data=st.data())
def test_the_engine_reports_pairs_of_corruptions(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """Two at once are judged alike, too: the rules of both, less those that are hidden."""
    assert_reported(data.draw(corruption_pairs(contract)), release)


@peers
@given(data=st.data())
def test_the_engine_takes_every_spelling(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """And encodes it to the canonical bytes."""
    spelling = data.draw(manifests(contract).flatmap(lambda found: spellings(found, contract)))
    engine = built_engine(release)
    key_groups = spelling.manifest.vnode_count
    verdict = assert_agreed(spelling.document, key_groups, contract, engine, Stage.VALID)
    assert verdict.manifest == spelling.manifest
    assert engine.checkpoint_manifest_bytes(spelling.document) == spelling.canonical


@peers
@given(data=st.data())
def test_the_engine_rejects_every_near_miss(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """At decode, as the oracle does, and that for the reason that the near miss says."""
    kind = data.draw(st.sampled_from(Kind))
    manifest = data.draw(manifests(contract, having=NEEDED.get(kind, ())))
    miss = data.draw(near_misses(manifest, contract, kinds=[kind]))
    engine = built_engine(release)
    verdict = assert_agreed(miss.document, manifest.vnode_count, contract, engine, Stage.DECODE)
    assert verdict.rejection is not None
    assert verdict.rejection.kind is miss.kind is kind


@peers
@given(data=st.data())
def test_checkpoints_and_hazards_are_valid_to_the_engine(
    contract: Contract, release: str, data: st.DataObject
) -> None:
    """Real digests and hazards change no verdict."""
    engine = built_engine(release)
    checkpoint = data.draw(checkpoints(contract))
    key_groups = checkpoint.manifest.vnode_count
    assert_agreed(checkpoint.document, key_groups, contract, engine, Stage.VALID)
    hazardous = data.draw(hazards(contract))
    key_groups = hazardous.manifest.vnode_count
    assert_agreed(hazardous.document, key_groups, contract, engine, Stage.VALID)
