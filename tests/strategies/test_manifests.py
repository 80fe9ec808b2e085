"""Generated manifests: valid, without hazards, and with what was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import CONTRACTS, V9, V10, CheckpointManifest, Contract
from strategies import Trait, manifests
from strategies.sampling import sample
from strategies.traits import NAME_TRAITS, wishes

contracts = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))


@contracts
@given(data=st.data())
def test_every_manifest_is_valid(contract: Contract, data: st.DataObject) -> None:
    """The oracle finds nothing, and decoding gives the manifest again."""
    manifest = data.draw(manifests(contract))
    document = oracle.encode(manifest, contract)
    assert oracle.decode(document, contract) == manifest
    assert oracle.validate(manifest, manifest.vnode_count, contract) == []


@given(manifests(without=[Trait.EMPTY_NAME, Trait.PADDED_NAME]))
def test_no_manifest_has_a_hazard(manifest: CheckpointManifest) -> None:
    """But for names, which can be kept out, nothing that a later stage refuses is generated."""
    assert oracle.hazards(manifest, oracle.encode(manifest)) == []


@pytest.mark.parametrize("trait", [trait for trait in Trait if V10.has(trait.feature)], ids=repr)
def test_a_trait_can_be_asked_for(trait: Trait) -> None:
    """With `having`, every manifest has the trait, and is valid."""
    for manifest in sample(manifests(having=[trait]), 12):
        assert trait.present(manifest)
        assert oracle.validate(manifest, manifest.vnode_count) == []


@pytest.mark.parametrize("trait", [trait for trait in Trait if V10.has(trait.feature)], ids=repr)
def test_a_trait_can_be_kept_out(trait: Trait) -> None:
    """With `without`, no manifest has the trait, and all are valid."""
    for manifest in sample(manifests(without=[trait]), 40):
        assert not trait.present(manifest)
        assert oracle.validate(manifest, manifest.vnode_count) == []


@given(data=st.data())
def test_any_wishes_are_met_or_refused(data: st.DataObject) -> None:
    """Whatever is asked for together is refused at the call or found in the manifest."""
    traits = st.sets(st.sampled_from(Trait), max_size=5)
    having, without = data.draw(traits), data.draw(traits)
    try:
        strategy = manifests(having=having, without=without)
    except InvalidArgument:
        return
    manifest = data.draw(strategy)
    assert {trait for trait in having if not trait.present(manifest)} == set()
    assert {trait for trait in without if trait.present(manifest)} == set()
    assert oracle.validate(manifest, manifest.vnode_count) == []


@pytest.mark.parametrize("key_groups", [1, 2, 256, 65_535])
def test_key_groups_can_be_fixed(key_groups: int) -> None:
    """Every manifest is of that many vnodes."""
    for manifest in sample(manifests(key_groups=key_groups), 12):
        assert manifest.vnode_count == key_groups
        assert oracle.validate(manifest, key_groups) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"key_groups": 0},
        {"key_groups": 65_536},
        {"key_groups": "1"},
        {"having": [Trait.LOCAL, Trait.CLUSTER]},
        {"having": [Trait.LOCAL, Trait.SUBSCRIPTION]},
        {"having": [Trait.WATERMARK, Trait.UNINITIALIZED_CHANNEL]},
        {"having": [Trait.SEGMENT], "without": [Trait.STREAM]},
        {"having": [Trait.SEVERAL_VNODES], "key_groups": 1},
        {"without": [Trait.LOCAL, Trait.CLUSTER]},
        {"having": [Trait.WHOLE_FRAME], "without": [Trait.CURRENT_FRAME, Trait.OLDER_FRAME]},
        {"having": ["local"]},
        {"having": 1},
        {
            "having": [Trait.LOGICAL_CHANNEL, Trait.PHYSICAL_CHANNEL],
            "without": [Trait.SEVERAL_CHANNELS],
        },
    ],
    ids=str,
)
def test_bad_arguments_fail_at_the_call(arguments: dict[str, object]) -> None:
    """What cannot be met is refused before anything is drawn."""
    with pytest.raises(InvalidArgument):
        manifests(**arguments)  # type: ignore[arg-type]


def test_a_format_refuses_traits_of_later_ones() -> None:
    """Asking v9 for subscription output is a mistake; not asking gives none."""
    with pytest.raises(InvalidArgument, match="v9"):
        manifests(V9, having=[Trait.SUBSCRIPTION])
    assert Trait.SUBSCRIPTION in wishes(V9).without


def test_names_can_be_kept_plain() -> None:
    """Without any of the traits of names, names are plain, and there still are some."""
    found = sample(manifests(without=NAME_TRAITS, having=[Trait.SOURCE, Trait.WHOLE_FRAME]), 40)
    names = {name for manifest in found for name in manifest.source_names}
    assert len(names) > 5
    assert all(name.strip() == name and name for name in names)


def test_examples_print_as_they_are_made() -> None:
    """The representation of a manifest is an expression that makes it again."""
    for manifest in sample(manifests(), 30):
        assert eval(repr(manifest), {**vars(oracle), "UUID": __import__("uuid").UUID}) == manifest
