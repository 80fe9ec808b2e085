"""Rules that are not asked about an empty part of a manifest would have had nothing to say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import oracle
from oracle import CONTRACTS, Contract, Level, rules_of
from oracle.registry import CHECKS, PARTS, part_of
from oracle.subject import Subject

DATA = Path(__file__).parents[1] / "data"


def manifests(contract: Contract) -> list[oracle.CheckpointManifest]:
    """Every document of the tests' data that decodes."""
    found = []
    for path in sorted(DATA.rglob("*.json")):
        try:
            found.append(oracle.decode(path.read_bytes(), contract))
        except oracle.DecodeError:
            continue
    return found


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())
def test_rules_say_nothing_of_an_empty_part(contract: Contract) -> None:
    """Asked all the same, no rule finds anything where its part is empty."""
    read = manifests(contract)
    for rule in rules_of(contract, Level.RULE):
        part = part_of(rule.id)
        if part is None:
            continue
        for manifest in read:
            empty: Any = {part: None if part == "subscription_output" else ()}
            if part == "source_offsets":
                empty = {part: {}}
            without = replace(manifest, **empty)
            found = list(CHECKS[rule.id](Subject(without, contract, 4)))
            assert found == [], rule.id


def test_parts_are_fields_of_a_manifest() -> None:
    """Each part is there, and some rule looks through it."""
    ids = {rule.id.partition(".")[0] for rule in oracle.RULES.values()}
    names = set(oracle.CheckpointManifest.__dataclass_fields__)
    assert set(PARTS) <= ids
    assert set(PARTS.values()) <= names
