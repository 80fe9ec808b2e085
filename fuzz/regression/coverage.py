"""What the corpus covers: the rule by kind table, and where it has a hole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import oracle
from fuzz.ledger import divergences
from fuzz.regression.cases import Case
from oracle import Contract, Kind, Level
from strategies import Liberty
from strategies.breakages import BREAKAGES
from strategies.corruptions import corruptible_rules


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that the corpus must show in one contract, and the cases that show it.

    ``missing`` says what the corpus does not show of it; empty means no hole. ``companions`` are
    the rules that cannot be kept from firing beside it. ``note`` says why there is no case and
    no hole either.
    """

    contract: str
    group: str
    name: str
    alone: int
    beside: int
    neighbours: int
    companions: tuple[str, ...]
    missing: str
    note: str = ""


def rows(cases: Iterable[Case], contracts: Iterable[Contract]) -> Iterator[Row]:
    """The table for *contracts*."""
    known = list(cases)
    for contract in contracts:
        own = [case for case in known if case.contract == contract.name]
        yield from _rules(own, contract)
        yield from _kinds(own, contract)
        yield from _hazards(own, contract)
        yield from _spellings(own, contract)
        yield from _divergences(own, contract)


def _rules(cases: list[Case], contract: Contract) -> Iterator[Row]:
    fewest = _fewest_companions(contract)
    heavy = _too_large(contract)
    for rule in corruptible_rules(contract):
        hits = [case for case in cases if rule in case.rules]
        companions = fewest.get(rule, frozenset())
        exact = [case for case in hits if set(case.rules) == {rule, *companions}]
        neighbours = [case for case in exact if case.neighbour is not None]
        missing = note = ""
        if rule in heavy:
            note = "its smallest document has tens of megabytes; the strategies' tests make it"
        elif not exact:
            missing = "no case breaks it alone" if not companions else "no case with the fewest"
        elif not neighbours:
            missing = "no valid case one step away"
        yield Row(
            contract.name,
            "rule",
            rule,
            len(exact),
            len(hits) - len(exact),
            len(neighbours),
            tuple(sorted(companions)),
            missing,
            note,
        )


def _fewest_companions(contract: Contract) -> dict[str, frozenset[str]]:
    """What at least comes with each rule, as the corruptions of it know."""
    fewest: dict[str, frozenset[str]] = {}
    for item in BREAKAGES.values():
        if item.belongs_to(contract):
            companions = item.expected - {item.rule}
            if item.rule not in fewest or len(companions) < len(fewest[item.rule]):
                fewest[item.rule] = companions
    return fewest


def _too_large(contract: Contract) -> set[str]:
    """Rules that only documents of many megabytes break."""
    possible = [item for item in BREAKAGES.values() if item.belongs_to(contract)]
    return {item.rule for item in possible} - {item.rule for item in possible if not item.heavy}


def _kinds(cases: list[Case], contract: Contract) -> Iterator[Row]:
    for kind in Kind:
        hits = sum(case.kind == kind.value for case in cases)
        yield _simple(contract, "decode", kind.value, hits)


def _hazards(cases: list[Case], contract: Contract) -> Iterator[Row]:
    for hazard in oracle.rules_of(contract, Level.HAZARD):
        hits = sum(hazard.id in case.hazards and case.stage == "valid" for case in cases)
        yield _simple(contract, "hazard", hazard.id, hits)


def _spellings(cases: list[Case], contract: Contract) -> Iterator[Row]:
    for liberty in Liberty:
        if not contract.features and liberty is Liberty.MODE_OBJECT:
            continue
        hits = sum(case.id == f"{contract.name}/spelling/{liberty.value}" for case in cases)
        yield _simple(contract, "spelling", liberty.value, hits)


def _divergences(cases: list[Case], contract: Contract) -> Iterator[Row]:
    for entry in divergences():
        if contract.name in entry.releases and not entry.is_of_cuts:
            hits = sum(case.divergence == entry.id for case in cases)
            yield _simple(contract, "divergence", entry.id, hits)


def _simple(contract: Contract, group: str, name: str, hits: int) -> Row:
    return Row(contract.name, group, name, hits, 0, 0, (), "" if hits else "no case")
