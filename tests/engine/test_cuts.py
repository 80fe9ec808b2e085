"""The oracle and the engine on whole cuts: every step, everything that is encoded."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import ROOT
from fuzz.cut_files import read_cut
from fuzz.cuts import CutDifference, CutDocuments, compare_cut, cut_messages, lending_cuts
from fuzz.engines import EngineFailed, EngineRefused, EngineUnsupported, InProcessEngine
from fuzz.engines.protocol import EngineVerdict
from fuzz.outcome import Outcome, Signature
from oracle import FrozenDict, cuts
from oracle.cuts import encode_index
from oracle.encoding import canonical_json_bytes
from strategies.cut_breakages import BREAKAGES, CutCorruption, corrupted_cuts, full_cut
from strategies.cut_index import WholeCut, whole_cuts
from tests.engine.conftest import built_engine
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


@_SETTINGS
@given(whole_cuts())
def test_valid_cuts(default_engine: InProcessEngine, cut: WholeCut) -> None:
    """Both take every step, and encode, refer to and merge alike."""
    assert compare_cut(default_engine, CutDocuments.of_cut(cut)).differences == ()


@_SETTINGS
@given(corrupted_cuts())
def test_corrupted_cuts(default_engine: InProcessEngine, corruption: CutCorruption) -> None:
    """Both refuse at the same step for the same reason."""
    found = compare_cut(default_engine, CutDocuments.of_cut(corruption.cut))
    assert found.differences == ()
    assert found.oracle.fault is not None
    assert found.oracle.step == corruption.step.value
    assert found.oracle.fault.rule == corruption.expected


@pytest.mark.parametrize("rule", dict.fromkeys(breakage.expected for breakage in BREAKAGES))
@settings(_SETTINGS, max_examples=20)
@given(data=st.data())
def test_each_rule(default_engine: InProcessEngine, rule: str, data: st.DataObject) -> None:
    """Each rule that can be broken is broken often enough to be seen."""
    corruption = data.draw(corrupted_cuts(rule))
    found = compare_cut(default_engine, CutDocuments.of_cut(corruption.cut))
    assert found.differences == ()
    assert found.oracle.fault is not None
    assert found.oracle.step == corruption.step.value
    assert found.oracle.fault.rule == corruption.expected


@settings(_SETTINGS, max_examples=3)
@given(whole_cuts(min_participants=129, max_participants=129))
def test_as_many_participants_as_there_can_be(
    default_engine: InProcessEngine, cut: WholeCut
) -> None:
    """A cluster of 129."""
    assert compare_cut(default_engine, CutDocuments.of_cut(cut)).differences == ()


@_SETTINGS
@given(whole_cuts(max_participants=2), st.binary(max_size=4), st.floats(0, 1))
def test_bytes_of_an_index_changed(
    default_engine: InProcessEngine, cut: WholeCut, patch: bytes, where: float
) -> None:
    """Whatever stands in the index's document, both decode it to the same or neither does."""
    data, documents = cut.index_document, CutDocuments.of_cut(cut)
    at = int(where * len(data))
    changed = data[:at] + patch + data[at + len(patch) :]
    found = compare_cut(
        default_engine, CutDocuments(changed, documents.manifests, documents.predecessor)
    )
    assert not found.is_finding, found.differences


@pytest.mark.parametrize("name", ["gen_count", "trades"])
def test_captured_cuts(default_engine: InProcessEngine, name: str) -> None:
    """Cuts that the engine itself wrote, with their predecessors."""
    predecessor = None
    for file in sorted((STORES / name / "committed-checkpoints").rglob("sha256=*")):
        index = file.read_bytes()
        checkpoint = cuts.decode_index(index).checkpoint_id
        manifest = STORES / name / f"nodes/1/checkpoints/{checkpoint:020}/manifest.json"
        cut = CutDocuments(index, (manifest.read_bytes(),), predecessor)
        assert compare_cut(default_engine, cut).differences == ()
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
    found = compare_cut(Lenient(), cut)
    signature = Signature(Outcome.STAGE, ("cut.count /participants",))
    assert found.differences == (
        CutDifference("manifests", signature, str(found.oracle.fault), "valid"),
    )
    assert (found.is_finding, found.outcome) == (True, Outcome.STAGE)
    assert found.oracle_rules == {"cut.count"}
    assert found.engine_rules == frozenset()


def _answering(default_engine: InProcessEngine, **methods: object) -> InProcessEngine:
    """The engine with some of its methods replaced, to see what is made of other answers."""
    changed = copy(default_engine)
    changed.__dict__.update(methods)
    return changed


def _fails(*_: object) -> None:
    raise EngineFailed("panic", "index out of bounds: 3", "src/cut.rs:1:2")


@pytest.mark.parametrize(
    ("method", "step"),
    [
        ("validate_participant_manifests", "manifests"),
        ("merge_node_subscription_manifests", "manifests"),
        ("validate_predecessor_index", "predecessor"),
        ("effective_source_watermarks", "index"),
    ],
)
def test_a_failure_is_a_difference(default_engine: InProcessEngine, method: str, step: str) -> None:
    """An engine that panics at a step is a finding at that step, and nothing is raised."""
    found = compare_cut(
        _answering(default_engine, **{method: _fails}), CutDocuments.of_cut(full_cut(2))
    )
    assert found.outcome is Outcome.PANIC
    first = found.differences[0]
    assert (first.step, first.signature.engine) == (step, ("src/cut.rs:1:2",))


@pytest.mark.parametrize(
    ("method", "answer", "outcome"),
    [
        ("validate_participant_manifests", "a new message 17", Outcome.UNMAPPED),
        ("validate_predecessor_index", "a new message 17", Outcome.UNMAPPED),
        ("committed_participant_ref", b"{}", Outcome.DIGEST),
        ("merge_node_subscription_manifests", [], Outcome.ENCODING),
        ("effective_source_watermarks", {}, Outcome.RULES),
    ],
)
def test_another_answer_is_a_difference(
    default_engine: InProcessEngine, method: str, answer: object, outcome: Outcome
) -> None:
    """Whatever the engine says otherwise of a valid cut, it is seen, and how."""
    engine = _answering(default_engine, **{method: lambda *_: answer})
    assert compare_cut(engine, CutDocuments.of_cut(full_cut(2))).outcome is outcome


_CANONICAL, _REFERENCE = b"{}", b"{}"
_VALID, _DECODE = EngineVerdict("valid", (), _CANONICAL), EngineVerdict("decode", ("no",))


@pytest.mark.parametrize(
    ("index", "answer", "outcomes"),
    [
        (b"", (_VALID, _REFERENCE), [Outcome.ENCODING, Outcome.DIGEST]),
        (b"", (_DECODE, None), [Outcome.STAGE]),
        (b"", (EngineVerdict("invalid", ("a new message",)), None), [Outcome.UNMAPPED]),
        (b"", (EngineVerdict("panic", ("it fell over 7 times",)), None), [Outcome.PANIC]),
        (b"{}", (_VALID, _REFERENCE), [Outcome.STAGE]),
        (b"{}", (EngineVerdict("invalid", ("a new message",)), None), [Outcome.STAGE]),
    ],
)
def test_another_word_on_an_index_is_a_difference(
    default_engine: InProcessEngine, index: bytes, answer: object, outcomes: list[Outcome]
) -> None:
    """Each part of the engine's word on an index is compared, and nothing that rests on it."""
    engine = _answering(default_engine, judge_index=lambda _: answer)
    data = index or CutDocuments.of_cut(full_cut(0)).index
    found = compare_cut(engine, CutDocuments(data, ()))
    assert [each.signature.outcome for each in found.differences] == outcomes
    assert {each.step for each in found.differences} == {"index"}


def test_another_word_on_a_manifest_is_a_difference(default_engine: InProcessEngine) -> None:
    """A manifest of a cut is compared by itself first, and is then the only difference."""
    valid = EngineVerdict("valid")
    engine = _answering(default_engine, judge=lambda *_, **__: valid)
    cut = read_cut(ROOT / "cuts" / "manifests" / "manifest-invalid")
    (difference,) = compare_cut(engine, cut).differences
    assert (difference.step, difference.signature.outcome) == ("manifest 1", Outcome.STAGE)


def test_a_refusal_of_manifests_is_a_difference(default_engine: InProcessEngine) -> None:
    """An engine may refuse manifests where one does not decode, and only there."""

    def refuse(*_: object) -> None:
        raise EngineRefused("missing field")

    engine = _answering(default_engine, validate_participant_manifests=refuse)
    (difference,) = compare_cut(engine, CutDocuments.of_cut(full_cut(0))).differences
    assert (difference.step, difference.signature.outcome) == ("manifests", Outcome.STAGE)
    undecoded = read_cut(ROOT / "cuts" / "manifests" / "manifest-not-decoded")
    assert compare_cut(engine, undecoded).differences == ()


def test_faults_of_a_predecessor_by_itself(default_engine: InProcessEngine) -> None:
    """The engine says the index's messages of a predecessor; they stand for its being invalid."""
    cut = full_cut(0)
    assert cut.predecessor is not None
    broken = replace(cut, predecessor=replace(cut.predecessor, vnode_count=0))
    found = compare_cut(default_engine, CutDocuments.of_cut(broken))
    assert found.differences == ()
    assert found.oracle_rules == found.engine_rules == {"index.vnode-count", "predecessor.invalid"}


def test_an_index_that_has_no_encoding(default_engine: InProcessEngine) -> None:
    """Valid and above 8 MiB: both refuse to encode it."""
    index = full_cut(0).index
    (name, *_) = index.source_offsets
    long = replace(index.source_offsets[name], metadata=FrozenDict({"k": "0" * 2**23}))
    changed = replace(index, source_offsets=FrozenDict({**index.source_offsets, name: long}))
    found = compare_cut(default_engine, CutDocuments(encode_index(changed), ()))
    assert found.differences == ()


def test_engines_that_cannot_be_asked(default_engine: InProcessEngine) -> None:
    """An engine without the interface, or of another format, says so and is not taken for clean."""
    assert lending_cuts(default_engine) is default_engine
    for release, why in (("0.30.0", "format v9"), ("stand-in", "format v11")):
        with pytest.raises(EngineUnsupported, match=why):
            lending_cuts(built_engine(release))


def test_messages_take_their_samples_and_name_rules() -> None:
    """Each message takes its own sample, and its rules are in the registry."""
    for messages in cut_messages().values():
        for entry in messages.entries:
            assert messages.message_of(entry.sample) == entry
            assert cuts.RULES.keys() >= {*entry.rules}
