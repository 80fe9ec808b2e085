"""The mutator of cuts reaches every rule of them, and binds again what it has changed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from corpora import ROOT
from fuzz.cut_files import read_cut
from fuzz.cuts import CutDocuments, judge_cut
from fuzz.mutator.cuts import CutMutator, committed, named, seeds
from fuzz.regression.cuts import NO_CASE, VALID, expectation, read
from oracle import DecodeError
from oracle.cuts import RULES

VALID_CUTS = [read_cut(case.path) for case in read() if case.step == VALID]
MOST = 1 << 20
INPUTS = 30_000


def test_every_rule_is_reached() -> None:
    """From valid cuts alone, every rule that a cut can break is broken, and some stay valid."""
    mutator, choose = CutMutator(7), random.Random(7)
    pool = [cut.text() for cut in VALID_CUTS if b"\n" not in cut.index]
    wanted = {*(RULES.keys() - NO_CASE.keys()), None}
    for _ in range(INPUTS):
        text = choose.choice(pool)
        made = (
            mutator.mutate(text, MOST)
            if choose.random() < 0.9
            else mutator.cross(text, choose.choice(pool), MOST)
        )
        fault = judge_cut(CutDocuments.of_text(made)).fault
        wanted.discard(fault and fault.rule)
        if not wanted:
            break
    assert wanted == set()


def test_many_changes_are_bound_again() -> None:
    """Changed manifests are looked into, and not only found to have other bytes."""
    mutator = CutMutator(7)
    faults = Counter[str]()
    for _ in range(1_500):
        made = CutDocuments.of_text(mutator.mutate(VALID_CUTS[0].text(), MOST))
        step, rule, _ = expectation(made)
        faults[rule or step] += 1
    assert faults[VALID] > 30
    assert faults["cut.manifest"] > 70
    assert faults["cut.manifest-bytes"] > 70


def test_mutations_are_reproducible() -> None:
    """The same seed makes the same cuts, and another seed others."""
    text = VALID_CUTS[0].text()

    def made(seed: int) -> list[bytes]:
        mutator = CutMutator(seed)
        return [mutator.mutate(text, MOST) for _ in range(40)]

    assert made(1) == made(1) != made(2)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"{}", b"\xff", b"{}\n{}\n{}\n\xff", b"[]\n[]\n1"])
def test_any_bytes_can_be_mutated(text: bytes) -> None:
    """No text stops the search, and no text becomes longer than it may."""
    mutator = CutMutator(3, lambda data, most: data[: most // 2])
    for _ in range(300):
        assert len(mutator.mutate(text, 3_000)) <= 3_000
        assert len(mutator.cross(text, VALID_CUTS[1].text(), 3_000)) <= 3_000


@pytest.mark.parametrize("cut", VALID_CUTS, ids=lambda cut: str(len(cut.index)))
def test_a_bound_cut_stays_valid(cut: CutDocuments) -> None:
    """Binding a valid cut again breaks nothing."""
    assert expectation(named(cut))[0] == VALID
    assert expectation(committed(cut, agreeing=True))[0] == VALID


@pytest.mark.parametrize(
    "name",
    [
        "manifests/manifest-written-again",
        "manifests/node-data-other",
        "predecessor/predecessor-other",
    ],
)
def test_an_index_names_what_is_there(name: str) -> None:
    """What an index said wrong of its documents is right when they are named again."""
    broken = read_cut(ROOT / "cuts" / name)
    assert expectation(broken)[0] != VALID
    assert expectation(named(broken))[0] == VALID


@pytest.mark.parametrize(
    "name", ["manifests/offset-of-the-index-other", "manifests/manifest-of-another-deployment"]
)
def test_an_index_is_made_of_its_manifests(name: str) -> None:
    """What naming alone does not repair is right in an index that is made anew."""
    broken = read_cut(ROOT / "cuts" / name)
    assert expectation(named(broken))[0] != VALID
    assert expectation(committed(broken, agreeing=True))[0] == VALID


def test_binding_refuses_what_is_no_cut() -> None:
    """Where a document is not what it should be, there is nothing to bind."""
    with pytest.raises(DecodeError):
        named(CutDocuments(b"{}", ()))


def test_seeds_are_cuts_of_the_corpus() -> None:
    """Every small case that has a text is one."""
    texts = seeds()
    assert len(texts) > 80
    assert {expectation(CutDocuments.of_text(text))[0] for text in texts} == {
        *("index", "manifests", "predecessor", VALID)
    }
