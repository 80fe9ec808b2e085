"""The mutator makes what it says it makes."""

from __future__ import annotations

import json
from dataclasses import fields
from random import Random

import pytest

import oracle
from fuzz.mutator import Mutator
from fuzz.mutator.breaks import BREAKS
from fuzz.mutator.documents import again, literal, read, read_exactly, write
from fuzz.mutator.forms import Items, Maybe, Struct, Tagged, manifest_form
from fuzz.mutator.large import Limits
from fuzz.mutator.respell import respell
from fuzz.mutator.seal import Sealer
from fuzz.mutator.values import INTEGERS, Values
from fuzz.targets.session import key_groups_of
from oracle import CONTRACTS, V9, V10, CheckpointManifest, Contract, Stage

MOST = 16 * 1024 * 1024
CONTRACTS_WITH_ENGINE = [V9, V10]


def stage_of(document: bytes, contract: Contract = V10) -> Stage:
    """The oracle's stage for the document's own number of vnodes."""
    return oracle.judge(document, read(document)["vnode_count"], contract).stage


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())
def test_form_has_the_fields_of_the_model(contract: Contract) -> None:
    """A field of the model that the contract has is a field of the form, in the same order."""
    expected = [
        one.name for one in fields(CheckpointManifest) if contract.has(one.metadata.get("feature"))
    ]
    assert expected == list(manifest_form(contract).fields)


def test_form_knows_tagged_structs() -> None:
    """The variants of a state frame's key are told apart by their tag."""
    frames = manifest_form(V10).fields["state_frames"]
    assert isinstance(frames, Items)
    assert isinstance(frames.item, Struct)
    key = frames.item.fields["key"]
    assert isinstance(key, Tagged)
    assert list(key.variants["vnode"].fields) == ["operator_id", "vnode"]


@pytest.mark.parametrize("contract", CONTRACTS_WITH_ENGINE, ids=lambda contract: contract.name)
def test_fresh_manifests_are_valid(contract: Contract) -> None:
    """What is made from nothing is valid, each time."""
    mutator = Mutator(contract, seed=7)
    for _ in range(300):
        document = write(mutator.fresh())
        verdict = oracle.judge(document, read(document)["vnode_count"], contract)
        assert verdict.stage is Stage.VALID, verdict.findings or verdict.rejection


def test_sealing_repairs_what_mutations_break() -> None:
    """Made to have the right types and sealed, whatever was changed is a valid manifest again."""
    values = Values(Random(3))
    sealer = Sealer(V10, values)
    mutator = Mutator(V10, seed=3)
    for _ in range(300):
        tree = mutator.fresh()
        for _ in range(4):
            root = [tree]
            mutator._change(root, 1)
            tree = root[0]
        document = write(sealer.seal(sealer.conform(tree, manifest_form(V10))))
        assert stage_of(document) is Stage.VALID, document


def test_a_part_left_out_of_sealing_stays_broken() -> None:
    """Sealing without the layout leaves a gap where there is one."""
    values = Values(Random(1))
    sealer = Sealer(V10, values)
    number = [part.__name__ for part in sealer.parts].index("_layout")
    tree = Mutator(V10, seed=1).fresh()
    tree["state_frames"] = [
        {
            "key": {"kind": "operator_whole", "operator_id": "a"},
            "chunk": dict(tree["node_data"]["chunk"]),
            "range": {"offset": 5, "length": 1},
            "sha256": oracle.EMPTY_SHA256,
        }
    ]
    verdict = oracle.judge(write(sealer.seal(tree, number)), tree["vnode_count"])
    assert "layout.gap" in verdict.rules


def test_mutations_are_reproducible() -> None:
    """The same seed makes the same documents, and another one others."""
    start = write(Mutator(seed=1).fresh())

    def chain(seed: int) -> list[bytes]:
        mutator = Mutator(seed=seed)
        documents = [start]
        for _ in range(40):
            documents.append(mutator.mutate(documents[-1], MOST))
        return documents

    assert chain(5) == chain(5)
    assert chain(5) != chain(6)


@pytest.mark.parametrize("most", [1, 100, 800])
def test_mutations_keep_to_the_length(most: int) -> None:
    """No document is longer than it may be."""
    mutator = Mutator(seed=2)
    document = write(mutator.fresh())[:most]
    for _ in range(300):
        document = mutator.mutate(document, most)
        assert len(document) <= most
        assert len(mutator.cross(document, write(mutator.fresh()), most)) <= most


@pytest.mark.parametrize(
    "document",
    [b"", b"\xff", b"[" * 5000, b"1" * 5000, b"null", b"{}", b"[]", b'{"version":', b'"\\ud800"'],
    ids=range(9),
)
def test_any_bytes_can_be_mutated(document: bytes) -> None:
    """What is no manifest or no JSON is mutated all the same."""
    mutator = Mutator(seed=4)
    made = [mutator.mutate(document, MOST) for _ in range(100)]
    made += [mutator.cross(document, made[-1], MOST) for _ in range(20)]
    assert len(set(made)) > 20


def test_mutations_reach_every_rule_alone_that_can_stand_alone() -> None:
    """From a few fresh manifests every rule is broken soon, most of them alone.

    What takes documents of many megabytes is left to the campaign.
    """
    from fuzz.campaign.totals import NEVER_ALONE, rule_ids

    mutator = Mutator(seed=11)
    pool = mutator.seeds(40)
    random = Random(11)
    fired: set[str] = set()
    alone: set[str] = set()
    wanted = {*rule_ids(V10)} - {"subscription.segments-many", "subscription.too-large"}
    for _ in range(60_000):
        document = mutator.mutate(pool[random.randrange(len(pool))], 20_000)
        verdict = oracle.judge(document, key_groups_of(document))
        fired |= verdict.rules
        if len(verdict.rules) == 1:
            alone |= verdict.rules
        if verdict.stage is Stage.VALID and len(pool) < 300:
            pool.append(document)
        if wanted <= fired and wanted - NEVER_ALONE.keys() <= alone:
            break
    assert wanted - fired == set()
    assert wanted - NEVER_ALONE.keys() - alone == set()
    assert alone & NEVER_ALONE.keys() == set()


def test_every_break_breaks_something() -> None:
    """Each named break makes a sealed manifest invalid, or stands on a boundary and does not."""
    from fuzz.mutator.breaks import prepare

    for number, one in enumerate(BREAKS):
        stages = set()
        for seed in range(60):
            mutator = Mutator(V10, seed=seed)
            manifest = mutator.fresh()
            prepare(manifest, one.needs, mutator._form, mutator._values)
            manifest = mutator._sealer.seal(manifest)
            try:
                one.change(manifest, mutator._values)
            except (IndexError, KeyError, TypeError, ValueError):
                continue
            stages.add(oracle.judge(write(manifest), manifest["vnode_count"]).stage)
        assert stages & {Stage.INVALID, Stage.DECODE}, number


def test_limits_are_exact() -> None:
    """The documents at the limits stand just at and just past them."""
    mutator = Mutator(V10, seed=1)
    limits = mutator._limits
    assert isinstance(limits, Limits)
    found = []
    for _ in range(6):
        document = limits.next()
        assert len(document) <= MOST
        verdict = oracle.judge(document, read(document)["vnode_count"])
        found.append(sorted(verdict.rules) or [verdict.stage.value])
    assert found == [
        ["decode"],  # 130 participants
        ["subscription.segments-many"],
        ["subscription.too-large"],
        ["valid"],  # 129 participants
        ["valid"],  # 8 MiB
        ["subscription.segments-order"],  # 65,536 segments, the first two exchanged
    ]
    assert limits.all_made


def test_repetition_reaches_large_documents() -> None:
    """A list is made long, up to the length that is asked for, and no longer."""
    mutator = Mutator(V10, seed=1)
    mutator._limits = None
    document = write(mutator.fresh())
    lengths = [len(mutator.large(document, 2_000_000)) for _ in range(60)]
    assert max(lengths) > 400_000
    assert max(lengths) <= 2_000_000


def test_v9_has_no_output_to_make() -> None:
    """Where a contract lacks a feature, the mutator makes no document that has it."""
    mutator = Mutator(V9, seed=1)
    assert mutator._limits is None
    for _ in range(50):
        assert "subscription_output" not in mutator.fresh()


def test_documents_keep_odd_spellings() -> None:
    """Repeated names and odd numbers survive reading and writing; white space does not."""
    document = b'{"a":1,"a":-0,"b":[1e3,1.50,01]}'.replace(b"01", b"0")
    assert write(read_exactly(document)) == document
    assert write(read_exactly(b'{ "a" : 1 }')) == b'{"a":1}'


def test_marks_are_written_as_they_are() -> None:
    """A literal has no quotes, and a repeated name is the name."""
    tree = {"a": literal("01"), again("a", 1): 2}
    assert write(tree) == b'{"a":01,"a":2}'


def test_respelling_often_keeps_the_meaning() -> None:
    """Some spellings are another text for the same document, and some are none."""
    values = Values(Random(5))
    document = write(Mutator(seed=5).fresh())
    same = other = 0
    for _ in range(400):
        made = respell(document, values)
        try:
            kept = made != document and json.loads(made) == json.loads(document)
        except ValueError:
            kept = False
        same += kept
        other += not kept
    assert same > 100
    assert other > 50


def test_numbers_have_the_neighbours_of_limits() -> None:
    """Limits of the contract are among the numbers, with the numbers beside them."""
    for limit in (oracle.MAX_OUTPUT_SEGMENT_BYTES, oracle.MAX_OUTPUT_FRAMES_PER_SEGMENT):
        assert {limit - 1, limit, limit + 1} <= {*INTEGERS}


def test_optional_forms_are_maybes() -> None:
    """A field that may be null is one in the form."""
    assert isinstance(manifest_form(V10).fields["assignment_fence"], Maybe)
