"""View logs: generated, corrupted and full, and how large they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import (
    MAX_CHECKPOINT_MANIFEST_BYTES,
    RULES,
    V10,
    VIEW_LOG,
    Contract,
    Feature,
    encode,
    judge,
    validate,
)
from oracle.facts import contract_from_facts
from oracle.formats import PAYLOAD_ORDER
from strategies import Trait, corruptions, cuts, manifests
from strategies.corruptions import breakages_of
from strategies.sampling import sample
from strategies.sizes import DOCUMENTED_SEGMENT_BYTES, MIB, sizes_of
from strategies.view_logs import filled_up, limit_of, retaining

TRAITS = [trait for trait in Trait if trait.feature is Feature.VIEW_LOGS]


def rules_of_document(document: bytes, key_groups: int, contract: Contract) -> frozenset[str]:
    """The broken rules of what decodes."""
    verdict = judge(document, key_groups, contract)
    assert verdict.rejection is None
    return verdict.rules


@pytest.mark.parametrize("trait", TRAITS, ids=repr)
def test_a_trait_can_be_asked_for_and_kept_out(trait: Trait) -> None:
    """Every manifest has it, or none, and all are valid."""
    for strategy, wanted in (
        (manifests(VIEW_LOG, having=[trait]), True),
        (manifests(VIEW_LOG, without=[trait]), False),
    ):
        for manifest in sample(strategy, 25):
            assert trait.present(manifest) is wanted
            assert oracle.validate(manifest, manifest.vnode_count, VIEW_LOG) == []


@given(data=st.data())
def test_any_wishes_are_met_or_refused(data: st.DataObject) -> None:
    """Whatever is asked for together is refused at the call or found in the manifest."""
    traits = st.sets(st.sampled_from(TRAITS), max_size=4)
    having, without = data.draw(traits), data.draw(traits)
    try:
        strategy = manifests(VIEW_LOG, having=having, without=without)
    except InvalidArgument:
        return
    manifest = data.draw(strategy)
    assert all(trait.present(manifest) for trait in having)
    assert not any(trait.present(manifest) for trait in without)
    assert oracle.validate(manifest, manifest.vnode_count, VIEW_LOG) == []


def test_a_released_format_has_no_view_logs() -> None:
    """Their traits and corruptions are refused, and nothing is generated."""
    with pytest.raises(InvalidArgument, match="v10"):
        manifests(V10, having=[Trait.VIEW_LOG])
    with pytest.raises(InvalidArgument, match="v10"):
        corruptions(V10, rules=["segments.gap"])
    with pytest.raises(InvalidArgument, match="v10"):
        cuts(V10, full=True)
    assert not any(manifest.view_logs for manifest in sample(manifests(V10), 50))


def test_every_assumed_rule_is_broken_alone() -> None:
    """But for a partition beyond the domain, which nobody owns."""
    assumed = {rule.id for rule in RULES.values() if rule.feature is Feature.VIEW_LOGS}
    alone = {
        way.rule
        for rule in assumed
        for way in breakages_of(VIEW_LOG, rules=[rule])
        if way.expected == {rule}
    }
    assert assumed - alone == {"segments.partition-domain"}


@pytest.mark.parametrize("participants", [0, 1, 2, 3, 129])
def test_manifests_at_the_limit_and_past_it(participants: int) -> None:
    """Full, they are valid and can be loaded; with one segment more only the limit is broken."""
    having = [Trait.CLUSTER] if participants else [Trait.LOCAL]
    without = {Trait.VIEW_LOG, Trait.U64_END, Trait.SUBSCRIPTION}
    if participants == 129:
        having.append(Trait.MAX_PARTICIPANTS)
    strategy = manifests(VIEW_LOG, having=having, without=without)
    manifest = next(
        found
        for found in sample(strategy, 100)
        if participants in (0, 129)
        or (found.assignment_fence and len(found.assignment_fence.participants) == participants)
    )
    limit = limit_of(VIEW_LOG, participants or 1)
    full = filled_up(manifest, VIEW_LOG)
    document = encode(full, VIEW_LOG)
    assert len(full.view_logs[0].segments) == limit
    assert len(document) < MAX_CHECKPOINT_MANIFEST_BYTES
    assert rules_of_document(document, full.vnode_count, VIEW_LOG) == frozenset()
    past = encode(retaining(manifest, limit + 1, logs=3), VIEW_LOG)
    assert rules_of_document(past, full.vnode_count, VIEW_LOG) == {"segments.limit"}


def test_a_full_cut_fills_the_budget() -> None:
    """Each manifest is valid, and together they retain what the cluster may."""
    (cut,) = sample(cuts(VIEW_LOG, min_participants=2, max_participants=2, full=True), 1)
    retained = sum(len(log.segments) for one in cut.manifests for log in one.view_logs)
    assert retained == VIEW_LOG.max_cluster_view_log_segments
    for checkpoint in cut.checkpoints:
        count = checkpoint.manifest.vnode_count
        assert rules_of_document(checkpoint.document, count, VIEW_LOG) == frozenset()


def test_a_format_with_other_numbers_has_other_limits() -> None:
    """Corruptions go by the contract that they are asked for."""
    numbers = {"max_view_log_segments": 5, "max_cluster_view_log_segments": 300}
    contract = contract_from_facts({"numbers": numbers}, "facts")
    for corruption in sample(corruptions(contract, rules=["segments.limit"]), 12):
        verdict = judge(corruption.document, corruption.key_groups, contract)
        assert verdict.rules == {"segments.limit"}
        (finding,) = verdict.findings
        assert finding.message.endswith(("at most 5 are allowed", "at most 2 are allowed"))


@settings(max_examples=50)
@given(order=st.permutations(PAYLOAD_ORDER), data=st.data())
def test_a_format_with_another_order_is_laid_out_in_it(
    order: list[str], data: st.DataObject
) -> None:
    """Manifests fill their object in that order, and corruptions say that they cannot."""
    contract = contract_from_facts({"orders": {"payloads": order}}, "facts")
    manifest = data.draw(manifests(contract))
    assert validate(manifest, manifest.vnode_count, contract) == []
    if tuple(order) != PAYLOAD_ORDER:
        with pytest.raises(InvalidArgument, match="another order"):
            corruptions(contract)


def test_realistic_segments_have_about_the_documented_size() -> None:
    """D5: about 285 bytes each; two cuts at the budget stay near 13 MiB and within 16."""
    found = sizes_of(VIEW_LOG, 500, 0)
    assert found.faults == []
    assert 0.9 < found.segment["mean"] / DOCUMENTED_SEGMENT_BYTES < 1.1
    budget = [row for row in found.cuts if row.segments == VIEW_LOG.max_cluster_view_log_segments]
    assert [row.participants for row in budget] == [2, 3, 16]
    for row in budget:
        assert 12 * MIB < row.two_cuts < 14 * MIB


def test_sizes_that_do_not_fit_are_faults() -> None:
    """Ten times as many segments would not fit, and the report says so."""
    numbers = {"max_view_log_segments": 100_000, "max_cluster_view_log_segments": 100_000}
    contract = contract_from_facts({"numbers": numbers}, "facts")
    found = sizes_of(contract, 100, 0)
    assert any("do not fit" in fault for fault in found.faults)
