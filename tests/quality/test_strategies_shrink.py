"""What is found shrinks to something that a person reads at a glance."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, find, settings
from hypothesis.strategies import SearchStrategy

import oracle
from oracle import (
    EMPTY_SHA256,
    V10,
    CheckpointManifest,
    Contract,
    DecodeError,
    Kind,
    NodeDataObject,
    PipelineIdentity,
    StateChunkId,
)
from oracle.model import FrozenDict
from strategies import (
    Corruption,
    Trait,
    corruptions,
    manifests,
    near_misses,
    spellings,
    unspecified,
)
from strategies.breakages import BREAKAGES
from strategies.corruptions import breakages_of, corruptible_rules
from strategies.near_misses import NEEDED
from strategies.parts import byte_ranges, channel_rosters, digest_payloads, fences, name_rosters
from strategies.sampling import sample
from strategies.texts import canonical_tree

# Some of what is hard is long.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

Example = TypeVar("Example")

SHRUNK = settings(
    max_examples=300,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
)


def minimal(
    strategy: SearchStrategy[Example], condition: Callable[[Example], bool] = lambda _: True
) -> Example:
    """The smallest example of *strategy* that meets *condition*."""
    return find(strategy, condition, settings=SHRUNK)


SMALLEST = CheckpointManifest(
    version=10,
    checkpoint_id=1,
    epoch=1,
    timestamp_ms=1,
    participant_id=1,
    source_offsets=FrozenDict(),
    source_names=(),
    sink_names=(),
    pipeline_identity=PipelineIdentity(7, EMPTY_SHA256),
    deployment_id="00000000-0000-0000-0000-000000000001",
    partitioning_abi_version=2,
    vnode_count=1,
    assignment_fence=None,
    reassignment_portable=False,
    owned_vnodes=(0,),
    checkpoint_watermark=None,
    channel_progress=(),
    node_data=NodeDataObject(StateChunkId(1, 1), 0, EMPTY_SHA256),
    state_frames=(),
    prepared_sinks=(),
    referenced_chunks=(),
)


def test_the_smallest_manifest_has_nothing_in_it() -> None:
    """Every manifest shrinks to the one that is written above, leaf for leaf."""
    assert minimal(manifests()) == SMALLEST


@pytest.mark.parametrize("trait", [trait for trait in Trait if V10.has(trait.feature)], ids=repr)
def test_a_manifest_with_one_trait_has_little_else(trait: Trait) -> None:
    """What is asked for shrinks as small as what happens to be found."""
    asked = minimal(manifests(having=[trait]))
    if trait in (Trait.MAX_PARTICIPANTS, Trait.MAX_VNODES):
        asked = replace(asked, owned_vnodes=(0,), assignment_fence=None)
    assert leaves(tree_of(asked)) - leaves(tree_of(SMALLEST)) <= 60


def tree_of(manifest: CheckpointManifest, contract: Contract = V10) -> Any:
    """A manifest as plain JSON values, each digest as one leaf.

    The seal of subscription output follows from what it seals, so of it only stands there
    whether it is right.
    """
    tree = _plain(canonical_tree(manifest, contract)[0])
    output = manifest.subscription_output
    if output is not None:
        right = output.manifest_digest == oracle.node_subscription_digest(output)
        tree["subscription_output"]["manifest_digest"] = right
    return tree


def _plain(node: Any) -> Any:
    if isinstance(node, list) and node and isinstance(node[0], tuple):
        return {name: _plain(value) for name, value in node}
    if isinstance(node, list):
        if len(node) == 32 and all(isinstance(item, int) for item in node):
            return bytes(node)
        return [_plain(item) for item in node]
    return node


def leaves(tree: Any) -> int:
    """The number of single values."""
    if isinstance(tree, dict):
        return sum(map(leaves, tree.values()))
    if isinstance(tree, list):
        return sum(map(leaves, tree))
    return 1


def distance(left: Any, right: Any) -> int:
    """How many leaves were changed, an entry of a list or map that came or went as one."""
    if isinstance(left, dict) and isinstance(right, dict):
        return sum(
            distance(left[name], right[name]) if name in left and name in right else 1
            for name in left.keys() | right.keys()
        )
    if isinstance(left, list) and isinstance(right, list):
        return _list_distance(left, right)
    return int(left != right or type(left) is not type(right))


def _list_distance(left: list[Any], right: list[Any]) -> int:
    """Pairwise where the lengths are equal, else with the difference in the cheapest place."""
    short, long = sorted((left, right), key=len)
    more = len(long) - len(short)
    if not more:
        return sum(map(distance, short, long))
    places = [
        sum(map(distance, short[:at], long[:at]))
        + sum(map(distance, short[at:], long[at + more :]))
        for at in range(len(short) + 1)
    ]
    return more + min(places)


@cache
def smallest_with(having: frozenset[Trait], without: frozenset[Trait]) -> CheckpointManifest:
    """The smallest valid manifest that can be broken in a certain way."""
    return minimal(manifests(having=having, without=without))


LIGHT = [
    rule
    for rule in corruptible_rules(V10)
    if not all(way.heavy for way in breakages_of(V10, rules=[rule]))
]


@pytest.mark.parametrize("rule", LIGHT)
def test_a_planted_fault_shrinks_to_three_changed_leaves(rule: str) -> None:
    """An oracle that is blind for one rule is shown up by a document nearly the smallest."""

    def blind(corruption: Corruption) -> frozenset[str]:
        verdict = oracle.judge(corruption.document, corruption.key_groups)
        return verdict.rules - {rule}

    def shows(corruption: Corruption) -> bool:
        expected = corruption.expected
        return blind(corruption) - unspecified(expected) != expected

    found = minimal(corruptions(rules=[rule]), shows)
    way = BREAKAGES[found.name]
    smallest = smallest_with(way.having, way.without)
    assert tree_of(found.valid) == tree_of(smallest)
    changed = distance(tree_of(smallest), tree_of(found.manifest))
    changed += found.key_groups != found.manifest.vnode_count
    assert 1 <= changed <= 3


def test_too_many_segments_are_as_many_as_it_takes() -> None:
    """What breaks a bound on size is large, and yet no larger than it must be."""
    many = sample(corruptions(names=["subscription.segments-many"]), 1)[0]
    output = many.manifest.subscription_output
    assert output is not None
    assert max(len(stream.segments) for stream in output.streams) == 65_537
    large = sample(corruptions(names=["subscription.too-large"]), 1)[0]
    assert len(large.document) < 9 * 1024 * 1024


def test_a_spelling_shrinks_to_the_canonical_encoding() -> None:
    """And a text that is not canonical to one liberty."""
    assert minimal(spellings(SMALLEST)).document == oracle.encode(SMALLEST)
    found = minimal(spellings(SMALLEST), lambda s: s.document != s.canonical)
    assert len(found.liberties) == 1


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_a_near_miss_shrinks_to_a_small_manifest(kind: Kind) -> None:
    """The manifest that is nearly written has nothing in it but what the kind needs."""

    def rejected(document: bytes) -> bool:
        try:
            oracle.decode(document)
        except DecodeError as error:
            return error.kind is kind
        return False

    having = NEEDED.get(kind, frozenset())
    found = minimal(
        manifests(having=having).flatmap(lambda m: near_misses(m, kinds=[kind])),
        lambda miss: rejected(miss.document),
    )
    assert tree_of(found.manifest) == tree_of(smallest_with(having, frozenset()))


def test_parts_shrink_to_the_plainest() -> None:
    """Each part by itself shrinks to what its docstring says."""
    assert minimal(name_rosters(min_size=2)) == ("a", "b")
    assert minimal(channel_rosters(min_size=2)) == (b"\1", b"\2")
    assert minimal(digest_payloads()) is None
    assert minimal(digest_payloads(), lambda payload: bool(payload)) == b"\0"
    assert minimal(byte_ranges()) == oracle.ByteRange(0, 0)
    assert minimal(byte_ranges(min_length=3)) == oracle.ByteRange(0, 3)
    fence = minimal(fences(min_participants=2))
    assert [member.node_id for member in fence.participants] == [1, 2]
    assert fence.assignment_version == 1
