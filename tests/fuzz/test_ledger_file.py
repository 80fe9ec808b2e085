"""The ledger of known divergences: that it is narrow and well formed."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oracle
from fuzz.comparison import AGREEMENT, Outcome, Signature
from fuzz.ledger import divergences, entries_of, known_divergence
from oracle import CONTRACTS, RULES, V9, V10, cuts

SENTINEL, MISMATCH = ("watermark.sentinel",), ("watermark.mismatch",)
CASES = Path(__file__).parents[1] / "data" / "cases"


def test_reasons_are_rules_that_exist() -> None:
    """An entry names rules of its contracts, or reasons of decoding, by their right names."""
    for entry in divergences():
        for shape in entry.shapes:
            for reason in shape.oracle + shape.engine:
                if shape.key_groups is None:
                    assert reason.split(" ")[0] in cuts.RULES, entry.id
                else:
                    assert reason in RULES or reason.startswith("decode"), entry.id
            assert shape.outcomes <= {outcome.value for outcome in Outcome}


def test_documents_are_all_used() -> None:
    """Every document beside the ledger shows an entry, and every entry's documents are there."""
    named = {
        shape.path(CONTRACTS[name])
        for entry in divergences()
        for shape in entry.shapes
        for name in entry.releases
    }
    here = {path for shape in divergences()[0].shapes for path in shape.path(V10).parent.iterdir()}
    assert named == here


def test_reserved_watermark_is_known_where_it_happens() -> None:
    """The divergence is known in both of its shapes on every release, and on their checkouts."""
    shapes = (
        Signature(Outcome.STAGE, SENTINEL),
        Signature(Outcome.RULES, SENTINEL),
        Signature(Outcome.RULES, SENTINEL, MISMATCH),
    )
    for contract in (V9, V10):
        for release in contract.engines:
            for signature in shapes:
                for name in (release, f"{release}+0123abcd"):
                    assert known_divergence(signature, name, contract) == "reserved-watermark"


@pytest.mark.parametrize(
    "signature",
    [
        AGREEMENT,
        Signature(Outcome.RULES, MISMATCH, SENTINEL),
        Signature(Outcome.RULES, (), SENTINEL),
        Signature(Outcome.RULES, SENTINEL, ("timestamp",)),
        Signature(Outcome.RULES, SENTINEL, (*MISMATCH, "timestamp")),
        Signature(Outcome.RULES, ("timestamp", *SENTINEL)),
        Signature(Outcome.RULES, ("timestamp",)),
        Signature(Outcome.STAGE, SENTINEL, MISMATCH),
        Signature(Outcome.STAGE, ("decoded",), ("decode: no",)),
        Signature(Outcome.UNMAPPED, SENTINEL),
        Signature(Outcome.PANIC, SENTINEL),
    ],
    ids=str,
)
def test_nothing_else_is_known(signature: Signature) -> None:
    """What is not exactly the divergence is a finding."""
    assert known_divergence(signature, "0.33.0", V10) is None


@pytest.mark.parametrize(
    ("release", "contract"), [("0.34.0", V10), ("0.33.0", V9), ("0.30.0", V10), ("", V10)]
)
def test_other_engine_is_not_covered(release: str, contract: oracle.Contract) -> None:
    """An entry says nothing of a release that it does not name, or of another contract."""
    assert known_divergence(Signature(Outcome.STAGE, SENTINEL), release, contract) is None


SOUND: dict[str, Any] = {
    "divergence": [
        {
            "id": "one",
            "reason": "Because.",
            "reference": "https://example.org",
            "releases": {"v10": ["0.33.0"]},
            "shape": [
                {
                    "outcomes": ["stage"],
                    "oracle": ["timestamp"],
                    "engine": [],
                    "documents": {"v10": "one.json"},
                    "key_groups": 4,
                }
            ],
        }
    ]
}


def _shape(content: dict[str, Any]) -> dict[str, Any]:
    shape: dict[str, Any] = content["divergence"][0]["shape"][0]
    return shape


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no reason": lambda c: c["divergence"][0].update(reason=" "),
    "no reference": lambda c: c["divergence"][0].pop("reference"),
    "no shape": lambda c: c["divergence"][0].update(shape=[]),
    "unknown field": lambda c: c["divergence"][0].update(until="2030"),
    "unknown release": lambda c: c["divergence"][0].update(releases={"v10": ["0.29.0"]}),
    "unknown contract": lambda c: c["divergence"][0].update(releases={"v8": []}),
    "id used twice": lambda c: c["divergence"].append(c["divergence"][0]),
    "no document": lambda c: _shape(c).update(documents={}),
    "no key groups": lambda c: _shape(c).update(key_groups=0),
    "unknown outcome": lambda c: _shape(c).update(outcomes=["stages"]),
    "no outcome": lambda c: _shape(c).update(outcomes=[]),
    "unknown table": lambda c: c.update(divergences=[]),
    "covers everything": lambda c: _shape(c).update(oracle=[], engine=[]),
}


def test_ledger_may_be_empty() -> None:
    """The day the last divergence is gone, the file has none."""
    assert entries_of({}) == ()


def test_sound_entry_is_read() -> None:
    """The entry that is damaged below is sound as it stands."""
    (entry,) = entries_of(SOUND)
    assert entry.id == "one"
    assert entry.shapes[0].matches(Signature(Outcome.STAGE, ("timestamp",)))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_unsound_entry_is_refused(damage: Callable[[dict[str, Any]], object]) -> None:
    """A waiver that is not complete is an error, and not a wider waiver."""
    content = copy.deepcopy(SOUND)
    damage(content)
    with pytest.raises(ValueError, match="ledger of known divergences"):
        entries_of(content)
