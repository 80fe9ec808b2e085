"""What a campaign has seen: the sum over its workers, over time, and whether it was blind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.campaign.files import read_json
from fuzz.regression.cuts import NO_CASE
from oracle import Contract, Level, cuts, rules_of

NEVER_ALONE = {
    "participant": "a fence cannot list participant 0, and a local manifest is participant 1's: "
    "fence.coverage or local.topology breaks with it",
    "subscription.attempt": "the output's attempt is the manifest's, or subscription.cut hides it: "
    "attempt breaks with it",
    "subscription.participant": "the output's participant and certificate are the manifest's, or "
    "subscription.cut hides it: fence.coverage breaks with it",
    "frames.vnode-domain": "a vnode beyond the domain is not owned, or owned-vnodes.domain breaks",
    "segments.partition-domain": "a partition beyond the domain is not owned, or "
    "owned-vnodes.domain breaks",
    "intents.order": "the roster must be the sinks': sinks.order or intents.roster breaks with it",
    "intents.name": "the roster must be the sinks': sinks.name or intents.roster breaks with it",
    "intents.unknown": "the roster must be the sinks': sinks.unknown or intents.roster breaks",
    "intents.range-end": "the ranges are laid end to end up to the object's length: layout.gap or "
    "layout.length breaks with it",
    "sinks.range-end": "the ranges are laid end to end up to the object's length: layout.gap or "
    "layout.length breaks with it",
    "predecessor.invalid": "the predecessor by itself breaks a rule of indexes with it",
}
"""Rules that the contract never lets stand alone, and why."""


@dataclass(slots=True)
class RuleCounts:
    """How often a rule fired: at the oracle, at the engine, at both, and at both alone."""

    oracle: int = 0
    engine: int = 0
    both: int = 0
    alone: int = 0


@dataclass(slots=True)
class Totals:
    """The sum over all workers of a campaign, those of earlier runs included."""

    inputs: int = 0
    decoded: int = 0
    valid: int = 0
    rules: dict[str, RuleCounts] = field(default_factory=dict)
    known: Counter[str] = field(default_factory=Counter)
    signatures: Counter[str] = field(default_factory=Counter)
    memory: int = 0
    """The most memory in bytes that any worker ever had."""
    oracle_coverage: int = 0
    """The most branches of the oracle that one worker took."""
    engine_coverage: int = 0
    """The most places of the engine that one worker reached."""

    def unseen(self, contract: Contract, target: str) -> list[str]:
        """Rules that did not fire on both sides."""
        return [id for id in rule_ids(contract, target) if not self._of(id).both]

    def never_alone(self, contract: Contract, target: str) -> list[str]:
        """Rules that could have fired alone and did not."""
        never = [id for id in rule_ids(contract, target) if not self._of(id).alone]
        return [id for id in never if id not in NEVER_ALONE]

    def _of(self, rule: str) -> RuleCounts:
        return self.rules.get(rule, RuleCounts())


def rule_ids(contract: Contract, target: str = "manifests") -> list[str]:
    """Every id that a finding can have, in the contract's order: of cuts, for the target `cuts`."""
    if target == "cuts":
        return [id for id in cuts.RULES if id not in NO_CASE]
    families = {entry.family for entry in rules_of(contract)}
    return [
        entry.id
        for entry in rules_of(contract, Level.RULE, Level.FAULT)
        if entry.id not in families
    ]


def totals(states: Path) -> Totals:
    """The sum over the workers whose states and logs are in *states*."""
    total = Totals()
    for path in sorted(states.glob("*.state.json")):
        state = read_json(path)
        if state is not None:
            _add(total, state)
            reached = coverage_in(path.with_name(path.name.replace(".state.json", ".log")))
            total.oracle_coverage = max(total.oracle_coverage, state["branches"])
            total.engine_coverage = max(total.engine_coverage, reached - state["branches"])
    return total


def _add(total: Totals, state: dict[str, Any]) -> None:
    total.inputs += state["inputs"]
    total.decoded += state["decoded"]
    total.valid += state["valid"]
    total.known.update(state["known"])
    total.signatures.update(state["signatures"])
    total.memory = max(total.memory, state["memory"])
    for rule, counts in state["rules"].items():
        mine = total.rules.setdefault(rule, RuleCounts())
        mine.oracle += counts[0]
        mine.engine += counts[1]
        mine.both += counts[2]
        mine.alone += counts[3]


_COVERAGE = re.compile(rb"^#\d+.*? cov: (\d+) ", re.MULTILINE)
_TAIL = 16_384


def coverage_in(log: Path) -> int:
    """The places on both sides that libFuzzer says were reached, by the last line that tells."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            found = _COVERAGE.findall(file.read())
    except OSError:
        return 0
    return int(found[-1]) if found else 0


@dataclass(frozen=True, slots=True)
class Moment:
    """A campaign at one time: ``seconds`` since it started, not counting pauses."""

    seconds: float
    inputs: int
    rate: float
    oracle_coverage: int
    engine_coverage: int
    corpus: int
    findings: int


def blindness(total: Totals, moments: list[Moment], contract: Contract, target: str) -> list[str]:
    """Why the campaign saw too little to be trusted; empty when it saw enough."""
    reasons = []
    if not total.inputs:
        return ["no input was judged"]
    if target != "digests":
        if not total.decoded:
            reasons.append("no input decoded")
        if not total.valid:
            reasons.append("no input was valid")
    if target in ("manifests", "cuts"):
        unseen = total.unseen(contract, target)
        if unseen:
            reasons.append(f"never fired on both sides: {', '.join(unseen)}")
    for side in ("oracle", "engine"):
        values = [getattr(moment, f"{side}_coverage") for moment in moments]
        grown = [value for value in values if value > 0]
        if not grown:
            reasons.append(f"no coverage of the {side} was seen")
        elif grown[-1] == grown[0] and target != "digests":
            reasons.append(f"coverage of the {side} did not grow")
    return reasons
