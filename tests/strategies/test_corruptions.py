"""Corruptions: each is reported with exactly the rules that it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import CONTRACTS, RULES, V9, Contract, Level, Stage
from strategies import Corruption, Trait, corruption_pairs, corruptions, unspecified
from strategies.breakages import BREAKAGES
from strategies.corruptions import breakages_of, corruptible_rules, together
from strategies.sampling import sample

FORMATS = list(CONTRACTS.values())
contracts = pytest.mark.parametrize("contract", FORMATS, ids=[c.name for c in FORMATS])


def assert_reported(corruption: Corruption) -> None:
    """The oracle finds what is expected, and before the corruption nothing."""
    contract = corruption.contract
    valid = corruption.valid
    assert oracle.validate(valid, valid.vnode_count, contract) == []
    verdict = oracle.judge(corruption.document, corruption.key_groups, contract)
    assert verdict.stage is Stage.INVALID
    assert verdict.manifest == corruption.manifest
    free = unspecified(corruption.expected)
    assert verdict.rules - free == corruption.expected - free


@contracts
@given(data=st.data())
def test_every_corruption_is_reported_with_its_rules(
    contract: Contract, data: st.DataObject
) -> None:
    """No rule more, no rule less, whatever the manifest was."""
    assert_reported(data.draw(corruptions(contract)))


@contracts
@given(data=st.data())
def test_pairs_are_reported_with_the_rules_of_both(contract: Contract, data: st.DataObject) -> None:
    """The union of what each reports, less what the one hides of the other."""
    assert_reported(data.draw(corruption_pairs(contract)))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"version"}, {"timestamp"}, {"version", "timestamp"}),
        ({"watermark.sentinel"}, {"watermark.mismatch"}, {"watermark.sentinel"}),
        ({"subscription.cut"}, {"subscription.abi"}, {"subscription.cut"}),
        (
            {"subscription.cut"},
            {"subscription.attempt", "attempt"},
            {"subscription.cut", "attempt"},
        ),
        ({"subscription.local"}, {"subscription.cut"}, {"subscription.local"}),
        ({"sink-names.order"}, {"sinks.unknown"}, {"sink-names.order"}),
        ({"owned-vnodes.order"}, {"subscription.digest"}, {"owned-vnodes.order"}),
    ],
)
def test_interactions_hide_what_is_not_examined(
    first: set[str], second: set[str], expected: set[str]
) -> None:
    """Each interaction takes away exactly what it says."""
    assert together(frozenset(first), frozenset(second)) == expected
    assert together(frozenset(second), frozenset(first)) == expected


@pytest.mark.parametrize("name", [name for name, way in BREAKAGES.items() if not way.heavy])
def test_each_corruption_by_name(name: str) -> None:
    """Each way to break a rule works in every format that it belongs to."""
    for contract in FORMATS:
        if BREAKAGES[name].belongs_to(contract):
            found = sample(corruptions(contract, names=[name]), 12)
            assert {corruption.name for corruption in found} == {name}
            for corruption in found:
                assert_reported(corruption)


@pytest.mark.parametrize("name", [name for name, way in BREAKAGES.items() if way.heavy])
def test_each_heavy_corruption(name: str) -> None:
    """Those of many megabytes, once."""
    contract = next(one for one in reversed(FORMATS) if BREAKAGES[name].belongs_to(one))
    for corruption in sample(corruptions(contract, names=[name]), 1):
        assert_reported(corruption)


@contracts
def test_every_rule_and_fault_has_a_corruption(contract: Contract) -> None:
    """The registry of rules and that of breakages fit: no rule without a way to break it."""
    families = {rule.family for rule in RULES.values()}
    wanted = {
        rule.id
        for rule in oracle.rules_of(contract, Level.RULE, Level.FAULT)
        if rule.id not in families
    }
    assert wanted == set(corruptible_rules(contract))
    assert {way.rule for way in BREAKAGES.values() if way.belongs_to(contract)} >= wanted


ALWAYS_IN_COMPANY = {
    # No fence lists 0, and a local manifest is participant 1's.
    "participant",
    # Intents go by the names of the sinks: what is wrong with one list is with the other, or
    # else they differ.
    "intents.order",
    "intents.name",
    "intents.unknown",
    # Nobody owns a vnode that is not there, or else one that is not there is owned.
    "frames.vnode-domain",
    "segments.partition-domain",
    # The current object has no byte that is in no range.
    "sinks.range-end",
    "intents.range-end",
    # The output must fit the manifest before it is looked at: both are wrong together.
    "subscription.attempt",
    "subscription.participant",
}


@contracts
def test_rules_are_broken_alone_where_that_is_possible(contract: Contract) -> None:
    """Only the rules in the list above never come alone."""
    alone = {way.rule for way in breakages_of(contract) if way.expected == {way.rule}}
    alone |= {way.rule for way in BREAKAGES.values() if way.heavy and way.belongs_to(contract)}
    assert set(corruptible_rules(contract)) - alone <= ALWAYS_IN_COMPANY


def test_no_way_expects_what_nobody_can_rely_on() -> None:
    """What a breakage makes unspecified is not among what it expects."""
    for way in BREAKAGES.values():
        assert way.expected.isdisjoint(unspecified(way.expected))


def test_every_way_says_what_it_does() -> None:
    """Each has a docstring, unless it is made by a table."""
    undocumented = {name for name, way in BREAKAGES.items() if not way.apply.__doc__}
    assert {name.split("/")[0] for name in undocumented} <= {"subscription.segment-range"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"rules": ["no-such-rule"]},
        {"rules": ["subscription.invalid"]},
        {"rules": ["hazard.pipeline"]},
        {"rules": "version"},
        {"names": ["version/sideways"]},
        {"names": ["version/above"], "rules": ["timestamp"]},
    ],
    ids=str,
)
def test_bad_arguments_fail_at_the_call(arguments: dict[str, list[str]]) -> None:
    """What is not there is refused before anything is drawn."""
    with pytest.raises(InvalidArgument):
        corruptions(**arguments)  # type: ignore[arg-type]


def test_a_format_has_only_its_own_corruptions() -> None:
    """v9 knows no intents and no subscription output."""
    with pytest.raises(InvalidArgument, match="v9"):
        corruptions(V9, rules=["intents.order"])
    assert not any(rule.startswith(("intents", "subscription")) for rule in corruptible_rules(V9))


def test_manifests_to_corrupt_can_be_narrowed() -> None:
    """Wishes hold for what is corrupted."""
    found = sample(corruptions(having=[Trait.LOCAL], without=[Trait.SINK]), 100)
    assert all(Trait.LOCAL.present(corruption.valid) for corruption in found)
    assert not any(Trait.SINK.present(corruption.valid) for corruption in found)
    assert len({corruption.name for corruption in found}) > 10


def test_divergent_corruptions_come_only_by_name() -> None:
    """What engines are known to judge otherwise does not turn up by itself."""
    divergent = {name for name, way in BREAKAGES.items() if way.divergent}
    assert divergent
    for contract in CONTRACTS.values():
        assert divergent.isdisjoint(way.name for way in breakages_of(contract))
        assert {w.name for w in breakages_of(contract, names=divergent)} == divergent
