"""Each rule and each fault alone, and the proof that each is tested."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from oracle import (
    CONTRACTS,
    RULES,
    V10,
    Contract,
    Finding,
    Level,
    Stage,
    encode,
    judge,
    registry,
    rules_of,
)
from oracle.model import NodeSubscriptionManifest
from oracle.rules import subscription
from oracle.subject import Subject
from tests.oracle.broken import BROKEN, Broken
from tests.oracle.documents import (
    KEY_GROUPS,
    Document,
    at,
    cluster,
    empty,
    local,
    sealed,
    segment,
    subscribed,
    text,
    v9,
    view_logs,
)

FAMILY = "subscription.invalid"


def check(broken: Broken) -> None:
    """The verdict names exactly the expected rules, at places that exist."""
    verdict = judge(text(broken.document()), KEY_GROUPS, broken.contract)
    assert verdict.rejection is None
    assert verdict.stage is Stage.INVALID
    assert sorted(verdict.rules) == sorted(broken.expected)
    assert verdict.manifest is not None
    canonical = json.loads(encode(verdict.manifest, broken.contract))
    for finding in verdict.findings:
        at(canonical, finding.pointer)
        assert finding.message


@pytest.mark.parametrize(
    ("make", "contract"),
    [
        (empty, "v10"),
        (cluster, "v10"),
        (local, "v10"),
        (subscribed, "v10"),
        (lambda: v9(empty()), "v9"),
        (lambda: v9(cluster()), "v9"),
        (lambda: v9(local()), "v9"),
        (view_logs, "view-log"),
    ],
)
def test_what_is_broken_is_valid_before(make: object, contract: str) -> None:
    """The documents that the rules are broken in keep every rule."""
    assert callable(make)
    verdict = judge(text(make()), KEY_GROUPS, CONTRACTS[contract])
    assert verdict.rejection is None
    assert verdict.findings == ()
    assert verdict.stage is Stage.VALID


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.rule)
def test_rule_is_broken(broken: Broken) -> None:
    """Breaking a rule makes it fire, and no other that does not have to."""
    check(broken)


def test_every_rule_is_broken() -> None:
    """There is a broken document for every rule and every fault of the registry."""
    entries = {entry.id for entry in RULES.values() if entry.level is not Level.HAZARD}
    assert {broken.rule for broken in BROKEN} == entries - {FAMILY}


def test_most_rules_are_broken_alone() -> None:
    """Only where a rule cannot be broken alone does its every test name others, too."""
    alone = {broken.rule for broken in BROKEN if not broken.beside}
    assert {broken.rule for broken in BROKEN} - alone == {
        "participant",
        "frames.vnode-domain",
        "intents.order",
        "intents.name",
        "intents.unknown",
        "intents.range-end",
        "sinks.range-end",
        "segments.partition-domain",
        "subscription.attempt",
        "subscription.participant",
    }


@pytest.mark.parametrize(
    "rule", [entry.id for entry in RULES.values() if entry.level is Level.RULE]
)
def test_rule_that_is_switched_off_is_missed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule's check, each of its tests fails: none of them is blind."""
    tests = [
        broken
        for broken in BROKEN
        if broken.rule == ("subscription.protocol" if rule == FAMILY else rule)
    ]
    monkeypatch.setitem(registry.CHECKS, rule, lambda subject: iter(()))
    assert tests
    for broken in tests:
        with pytest.raises(AssertionError):
            check(broken)


@pytest.mark.parametrize("fault", [entry.id for entry in rules_of(V10, Level.FAULT)])
def test_fault_that_is_switched_off_is_missed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the fault, each of its tests fails."""
    all_faults = subscription._faults

    def fewer(output: NodeSubscriptionManifest, subject: Subject) -> Iterator[Finding]:
        return (found for found in all_faults(output, subject) if found.rule != fault)

    monkeypatch.setattr(subscription, "_faults", fewer)
    for broken in BROKEN:
        if broken.rule == fault:
            with pytest.raises(AssertionError):
                check(broken)


def test_many_rules_at_once() -> None:
    """Every broken rule is reported, not only the first."""
    document = local()
    document.update(version=9, timestamp_ms=0, epoch=3, deployment_id="", vnode_count=5)
    verdict = judge(text(document), KEY_GROUPS)
    assert sorted(verdict.rules) == [
        "attempt",
        "deployment-id",
        "local.topology",
        "timestamp",
        "version",
        "vnode-count",
    ]


@pytest.mark.parametrize("key_groups", [0, -1, 65_536])
def test_key_groups_out_of_range(key_groups: int) -> None:
    """A key-group count that no engine takes is the caller's mistake, not a verdict."""
    with pytest.raises(ValueError, match="key groups are 1"):
        judge(text(empty()), key_groups)


@pytest.mark.parametrize("count", [1, 65_535])
def test_key_groups_at_the_bounds(count: int) -> None:
    """The least and the greatest count of vnodes are valid."""
    document = empty() | {"vnode_count": count, "owned_vnodes": list(range(count))}
    assert judge(text(document), count).stage is Stage.VALID


@pytest.mark.parametrize("participants", [1, 129])
def test_fence_at_the_bounds(participants: int) -> None:
    """One participant is enough for a fence, and 129 are not too many."""
    document = cluster()
    document["assignment_fence"]["participants"] = [
        {"node_id": number, "boot_incarnation": f"{number:032x}"}
        for number in range(1, participants + 1)
    ]
    assert judge(text(document), KEY_GROUPS).stage is Stage.VALID


def test_bounds_of_subscription_output() -> None:
    """What is as long as it may be, and the largest segment, keep every rule."""
    document = subscribed()
    stream = document["subscription_output"]["streams"][0]
    stream["distribution_certificate"]["stream_id"] = "é" * 128
    stream["distribution_certificate"]["final_operator_id"] = "é" * 256
    document["subscription_output"]["streams"].reverse()
    stream["ranges"][0].update(first_sequence=2**64 - 1_025, through_sequence=2**64 - 1)
    last = segment(0, 2**64 - 1_025, 2**64 - 1)
    last.update(
        object_key="subscription-output/" + "a" * 2_028,
        row_count=1,
        encoded_length=16 * 1024 * 1024,
    )
    stream["segments"] = [last]
    assert judge(text(sealed(document)), KEY_GROUPS).findings == ()


def _features(document: Document) -> Document:
    return document | {"sink_artifact_intents": [], "subscription_output": None}


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_format_lists_its_own_rules_only(contract: Contract) -> None:
    """A format has the rules of its features, in the order of the registry."""
    ids = [entry.id for entry in rules_of(contract)]
    assert ids == [entry.id for entry in RULES.values() if contract.has(entry.feature)]
    assert any(id.startswith("intents.") for id in ids) == (contract.name != "v9")
    assert any(id.startswith("subscription.") for id in ids) == (contract.name != "v9")
    assert any(id.startswith("segments.") for id in ids) == (contract.name == "view-log")


def test_v9_does_not_know_the_fields_of_v10() -> None:
    """What v10 added is an unknown field to v9, even when it is empty."""
    for name in ("sink_artifact_intents", "subscription_output"):
        document = v9(empty()) | {name: _features({})[name]}
        rejection = judge(text(document), KEY_GROUPS, CONTRACTS["v9"]).rejection
        assert rejection is not None
        assert (rejection.kind.value, rejection.pointer) == ("unknown-field", f"/{name}")


def test_a_manifest_of_one_format_breaks_the_others() -> None:
    """A v9 manifest is a v10 manifest with two wrong numbers, and the other way round."""
    assert judge(text(v9(empty())), KEY_GROUPS).rules == {"version", "pipeline-identity"}
    found = judge(text(empty()), KEY_GROUPS, CONTRACTS["v9"]).rules
    assert found == {"version", "pipeline-identity"}


@pytest.mark.parametrize(
    ("rule", "while_broken"),
    [
        ("channels.source-unknown", "source-names.order"),
        ("offsets.source-unknown", "source-names.order"),
        ("frames.vnode-owned", "owned-vnodes.order"),
        ("segments.partition-owned", "owned-vnodes.order"),
        ("sinks.unknown", "sink-names.order"),
        ("intents.unknown", "sink-names.order"),
        ("subscription.owner", "owned-vnodes.order"),
    ],
)
def test_unspecified_consequences(rule: str, while_broken: str) -> None:
    """A look-up's rule is unspecified while the list that it searches is out of order."""
    assert RULES[rule].unspecified_with == (while_broken,)


def test_only_lookups_and_what_follows_them_are_unspecified() -> None:
    """Nothing else is marked, but for the faults that a subscription's look-up comes before."""
    marked = {entry.id for entry in RULES.values() if entry.unspecified_with}
    faults = {id for id in marked if RULES[id].level is Level.FAULT}
    assert marked - faults == {
        "channels.source-unknown",
        "offsets.source-unknown",
        "frames.vnode-owned",
        "segments.partition-owned",
        "sinks.unknown",
        "intents.unknown",
    }
    assert {entry.id for entry in rules_of(V10, Level.FAULT)} - faults == {
        "subscription.attempt",
        "subscription.participant",
        "subscription.streams-order",
    }
