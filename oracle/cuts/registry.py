"""The registry of what can be wrong with a cut, in the manner of :mod:`oracle.registry`.

The entries are of the same type, in a listing of their own: a manifest's rules are all examined,
while of a cut's only the first fault in the order of the contract is reported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oracle.cuts.model import CommittedCheckpointIndex
from oracle.registry import Level, Place, Rule


@dataclass(frozen=True, slots=True)
class CutFinding:
    """A fault of a cut.

    ``participant`` is the id of the participant into whose manifest ``pointer`` points, or
    ``None`` where it points into the index.
    """

    rule: str
    pointer: str
    message: str
    participant: int | None = None

    def __str__(self) -> str:
        document = "index" if self.participant is None else f"manifest of {self.participant}"
        return f"{document}{self.pointer and f' {self.pointer}'}: {self.message} [{self.rule}]"


class InvalidCut(Exception):
    """A value cannot be made because the cut has a fault: ``finding`` is the first."""

    def __init__(self, finding: CutFinding) -> None:
        super().__init__(str(finding))
        self.finding = finding


RULES: dict[str, Rule] = {}
"""Every entry by id, in the order of the contract."""

IndexCheck = Callable[[CommittedCheckpointIndex], Iterator[Place]]

INDEX_CHECKS: dict[str, IndexCheck] = {}
"""What finds the places where an index breaks a rule, by id and in the order of the contract."""


def index_rule(id: str) -> Callable[[IndexCheck], IndexCheck]:
    """Register the decorated function as the rule *id* of an index; its docstring says when."""

    def register(check: IndexCheck) -> IndexCheck:
        entry(id, Level.INDEX, inspect.getdoc(check) or "")
        INDEX_CHECKS[id] = check
        return check

    return register


def entry(id: str, level: Level, statement: str) -> Rule:
    """Register *id*."""
    assert statement, f"{id} has no statement"
    assert id not in RULES, f"{id} is registered twice"
    RULES[id] = Rule(id, level, statement)
    return RULES[id]


def cut_fault(id: str, statement: str) -> Rule:
    """Register *id* as a fault between the documents of a cut."""
    return entry(id, Level.CUT, statement)


def found(rule: Rule, pointer: str, message: str, participant: int | None = None) -> CutFinding:
    """A finding of *rule*."""
    return CutFinding(rule.id, pointer, message, participant)
