"""The oracle and the engine on whole cuts: every step, everything that is encoded."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.cuts import CutDifference, CutDocuments, compare_cut, cut_messages
from fuzz.engines import EngineRefused, InProcessEngine
from oracle import cuts
from oracle.cuts import encode_index
from oracle.encoding import canonical_json_bytes
from strategies.cut_breakages import BREAKAGES, CutCorruption, corrupted_cuts, full_cut
from strategies.cut_index import WholeCut, whole_cuts
from tests.oracle.store_tools import STORES

EXAMPLES = int(os.environ.get("LAMINAR_ORACLE_EXAMPLES", "300"))
"""So many of each; 5000 before a release."""

_SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


def documents_of(cut: WholeCut) -> CutDocuments:
    """A cut as it is stored."""
    predecessor = None if cut.predecessor is None else encode_index(cut.predecessor)
    return CutDocuments(cut.index_document, cut.documents, predecessor)


@_SETTINGS
@given(whole_cuts())
def test_valid_cuts(default_engine: InProcessEngine, cut: WholeCut) -> None:
    """Both take every step, and encode, refer to and merge alike."""
    assert compare_cut(default_engine, documents_of(cut)) == []


@_SETTINGS
@given(corrupted_cuts())
def test_corrupted_cuts(default_engine: InProcessEngine, corruption: CutCorruption) -> None:
    """Both refuse at the same step for the same reason."""
    assert compare_cut(default_engine, documents_of(corruption.cut)) == []


@pytest.mark.parametrize("rule", dict.fromkeys(breakage.expected for breakage in BREAKAGES))
@settings(_SETTINGS, max_examples=20)
@given(data=st.data())
def test_each_rule(default_engine: InProcessEngine, rule: str, data: st.DataObject) -> None:
    """Each rule that can be broken is broken often enough to be seen."""
    corruption = data.draw(corrupted_cuts(rule))
    assert compare_cut(default_engine, documents_of(corruption.cut)) == []


@settings(_SETTINGS, max_examples=3)
@given(whole_cuts(min_participants=129, max_participants=129))
def test_as_many_participants_as_there_can_be(
    default_engine: InProcessEngine, cut: WholeCut
) -> None:
    """A cluster of 129."""
    assert compare_cut(default_engine, documents_of(cut)) == []


@_SETTINGS
@given(whole_cuts(max_participants=2), st.binary(max_size=4), st.floats(0, 1))
def test_bytes_of_an_index_changed(
    default_engine: InProcessEngine, cut: WholeCut, patch: bytes, where: float
) -> None:
    """Whatever stands in the index's document, both decode it to the same or neither does."""
    data, documents = cut.index_document, documents_of(cut)
    at = int(where * len(data))
    changed = data[:at] + patch + data[at + len(patch) :]
    assert (
        compare_cut(
            default_engine, CutDocuments(changed, documents.manifests, documents.predecessor)
        )
        == []
    )


@pytest.mark.parametrize("name", ["gen_count", "trades"])
def test_captured_cuts(default_engine: InProcessEngine, name: str) -> None:
    """Cuts that the engine itself wrote, with their predecessors."""
    predecessor = None
    for file in sorted((STORES / name / "committed-checkpoints").rglob("sha256=*")):
        index = file.read_bytes()
        checkpoint = cuts.decode_index(index).checkpoint_id
        manifest = STORES / name / f"nodes/1/checkpoints/{checkpoint:020}/manifest.json"
        cut = CutDocuments(index, (manifest.read_bytes(),), predecessor)
        assert compare_cut(default_engine, cut) == []
        predecessor = index
    assert predecessor is not None


def test_faults_of_merging_outputs(default_engine: InProcessEngine) -> None:
    """What a cut of valid manifests cannot have, the engine refuses to merge, too."""
    cut = full_cut(2)
    one, other = cut.manifests
    index, fence = cut.index, cut.index.assignment_fence
    assert fence is not None
    shared = replace(other, owned_vnodes=one.owned_vnodes)
    elsewhere = replace(fence, assignment_digest=b"\1" * 32)
    for epoch, certificate, manifests in (
        (index.epoch, fence, (one,)),
        (index.epoch, fence, (other, one)),
        (index.epoch, fence, (one, shared)),
        (index.epoch, elsewhere, (one, other)),
        (index.epoch - 1, fence, (one, other)),
    ):
        with pytest.raises(cuts.InvalidCut):
            cuts.merge_node_subscription_manifests(epoch, index.epoch, certificate, manifests)
        parts = [
            (canonical_json_bytes(manifest.subscription_output), manifest.owned_vnodes)
            for manifest in manifests
        ]
        with pytest.raises(EngineRefused):
            default_engine.merge_node_subscription_manifests(
                epoch, index.epoch, canonical_json_bytes(certificate), parts
            )


def test_a_difference_is_seen(default_engine: InProcessEngine) -> None:
    """A comparison that found nothing whatever happens would show here."""

    class Lenient(InProcessEngine):
        """An engine that finds no fault in manifests."""

        def __init__(self) -> None:
            self.__dict__.update(default_engine.__dict__)

        def validate_participant_manifests(self, *_: object) -> None:
            """Find nothing."""

    file = next((STORES / "gen_count" / "committed-checkpoints").rglob("sha256=*"))
    cut = CutDocuments(file.read_bytes(), ())
    (difference,) = compare_cut(Lenient(), cut)
    assert difference == CutDifference("manifests", difference.oracle, "nothing wrong")
    assert "cut.count" in difference.oracle


def test_messages_take_their_samples_and_name_rules() -> None:
    """Each message takes its own sample, and its rules are in the registry."""
    for messages in cut_messages().values():
        for entry in messages.entries:
            assert messages.message_of(entry.sample) == entry
            assert cuts.RULES.keys() >= {*entry.rules}
