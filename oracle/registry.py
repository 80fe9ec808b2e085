"""The registry of rules: what listing, documentation, validation and tests are made from.

A rule or a hazard is a small generator function. Its docstring is its statement: when it fires.
It yields a (pointer, message) pair for each place where it does. The faults of subscription
output are entries with a statement; :mod:`oracle.rules.subscription` finds the first of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import groupby

from oracle.formats import Contract, Feature
from oracle.subject import Subject

Place = tuple[str, str]
"""JSON Pointer into the canonical form of the manifest, and what is wrong there."""

PlaceCheck = Callable[[Subject], Iterator[Place]]


class Level(Enum):
    """What it means when an entry of the registry fires."""

    RULE = "rule"
    """The manifest is invalid."""
    FAULT = "fault"
    """The subscription output, and so the manifest, is invalid; only the first fault counts."""
    HAZARD = "hazard"
    """The manifest may be valid, and a later stage of the engine will refuse it."""
    INDEX = "index"
    """The committed index is invalid; only the first fault counts (:mod:`oracle.cuts`)."""
    CUT = "cut"
    """Index, manifests and predecessor do not make one cut; only the first fault counts."""
    STORE = "store"
    """A checkpoint directory is damaged (:mod:`oracle.store`)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that fired at one place; ``pointer`` points into the canonical form."""

    rule: str
    pointer: str
    message: str


FindingCheck = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """An entry of the registry.

    ``statement`` says when it fires; ``feature`` in which formats it holds (in all, when
    ``None``). ``unspecified_with`` names the rules that make the outcome of this one unspecified,
    the U of the contract: while one of them is broken, nobody may rely on whether this one
    fires. ``family`` is the rule that a fault belongs to. ``consequence`` says, for a hazard,
    what a later stage of the engine does. ``assumption`` names the entry of
    :mod:`oracle.assumptions` that the rule is, when no engine speaks its format yet.
    """

    id: str
    level: Level
    statement: str
    feature: Feature | None = None
    unspecified_with: tuple[str, ...] = ()
    family: str | None = None
    consequence: str | None = None
    assumption: str | None = None

    def at(self, pointer: str, message: str) -> Finding:
        """A finding of this rule."""
        return Finding(self.id, pointer, message)


RULES: dict[str, Rule] = {}
"""Every entry by id, in the order of the contract."""

CHECKS: dict[str, FindingCheck] = {}
"""What finds the places where a rule or hazard fires, by id. Faults have none of their own."""


PARTS = {
    "channels": "channel_progress",
    "offsets": "source_offsets",
    "references": "referenced_chunks",
    "frames": "state_frames",
    "intents": "sink_artifact_intents",
    "sinks": "prepared_sinks",
    "subscription": "subscription_output",
    "view-logs": "view_logs",
    "segments": "view_logs",
}
"""By the first word of rules' ids, the part of a manifest that they look through.

They have nothing to say of one that is empty, so they are not asked, which is most of the work
for a small manifest.
"""


def rule(
    id: str,
    *,
    feature: Feature | None = None,
    unspecified_with: tuple[str, ...] = (),
    assumption: str | None = None,
) -> Callable[[PlaceCheck], PlaceCheck]:
    """Register the decorated function as the rule *id*."""

    def register(check: PlaceCheck) -> PlaceCheck:
        entry = Rule(
            id,
            Level.RULE,
            _statement(check),
            feature,
            unspecified_with,
            assumption=assumption,
        )
        _add(entry, _findings_of(entry, check))
        return check

    return register


def hazard(
    id: str, *, later: str, feature: Feature | None = None
) -> Callable[[PlaceCheck], PlaceCheck]:
    """Register the decorated function as the hazard *id*; *later* says what happens then."""

    def register(check: PlaceCheck) -> PlaceCheck:
        entry = Rule(id, Level.HAZARD, _statement(check), feature, consequence=later)
        _add(entry, _findings_of(entry, check))
        return check

    return register


def family(id: str, *, feature: Feature) -> Callable[[FindingCheck], FindingCheck]:
    """Register the decorated function as the rule *id* that reports faults under their own ids."""

    def register(check: FindingCheck) -> FindingCheck:
        _add(Rule(id, Level.RULE, _statement(check), feature), check)
        return check

    return register


def fault(id: str, statement: str, *, family: str, unspecified_with: tuple[str, ...] = ()) -> Rule:
    """Register *id* as a fault of *family*."""
    entry = Rule(id, Level.FAULT, statement, RULES[family].feature, unspecified_with, family=family)
    _enter(entry)
    return entry


def rules_of(contract: Contract, *levels: Level) -> list[Rule]:
    """The entries of *levels* (of all, when none is given) that hold in *contract*, in order."""
    return [
        entry
        for entry in RULES.values()
        if contract.has(entry.feature) and (not levels or entry.level in levels)
    ]


@cache
def _listed(contract: Contract, level: Level) -> list[tuple[str | None, list[str]]]:
    """The entries in order, as runs of those that look through the same part, with that part."""
    runs = groupby((entry.id for entry in rules_of(contract, level)), part_of)
    return [(part, [*ids]) for part, ids in runs]


def part_of(id: str) -> str | None:
    """The part of a manifest that the rule *id* looks through, if it is one of :data:`PARTS`."""
    return PARTS.get(id.partition(".")[0])


def findings(subject: Subject, level: Level) -> list[Finding]:
    """What the rules or the hazards find in *subject*, in the order of the registry."""
    found: list[Finding] = []
    for part, ids in _listed(subject.contract, level):
        if part is None or getattr(subject.manifest, part):
            for id in ids:
                found += CHECKS[id](subject)
    return found


def _statement(check: Callable[..., object]) -> str:
    statement = inspect.getdoc(check)
    assert statement, f"{check.__name__} has no docstring, so the rule has no statement"
    return statement


def _add(entry: Rule, check: FindingCheck) -> None:
    _enter(entry)
    CHECKS[entry.id] = check


def _enter(entry: Rule) -> None:
    assert entry.id not in RULES, f"{entry.id} is registered twice"
    RULES[entry.id] = entry


def _findings_of(entry: Rule, check: PlaceCheck) -> FindingCheck:
    def findings_of(subject: Subject) -> Iterable[Finding]:
        places = [*check(subject)]
        return [entry.at(*place) for place in places] if places else ()

    return findings_of
