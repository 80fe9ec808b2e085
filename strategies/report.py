"""What the strategies reach: shares of traits, sizes, and the rules that corruptions break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

from oracle import RULES, Contract, Feature, encode, judge
from strategies.corruptions import breakages_of, corruptible_rules, corruptions, unspecified
from strategies.manifests import manifests
from strategies.sampling import sample
from strategies.sizes import Sizes, sizes_of
from strategies.traits import Trait

LEAST_SHARE = 0.02
"""A trait that fewer manifests have is not reached well enough."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TraitRow:
    """How many of the manifests have a trait, as a share of 1."""

    trait: str
    statement: str
    share: float


@dataclass(frozen=True, slots=True)
class RuleRow:
    """How a rule was broken: in how many ways, how often alone, and with which others.

    ``wrong`` counts corruptions that the oracle did not report as they said.
    """

    rule: str
    ways: int
    fired: int
    alone: int
    companions: tuple[str, ...]
    wrong: int


@dataclass(frozen=True, slots=True)
class Report:
    """Counts over generated manifests and corruptions of one contract. Sizes are in bytes."""

    contract: str
    manifests: int
    invalid: int
    sizes: dict[str, int]
    traits: tuple[TraitRow, ...]
    rules: tuple[RuleRow, ...]
    view_logs: Sizes | None = None

    @property
    def faults(self) -> list[str]:
        """What is not as it must be."""
        found = [f"{self.invalid} generated manifests are invalid"] if self.invalid else []
        found += [
            f"only {row.share:.1%} of the manifests have {row.trait}, less than {LEAST_SHARE:.0%}"
            for row in self.traits
            if row.share < LEAST_SHARE
        ]
        found += [f"no corruption breaks {row.rule}" for row in self.rules if not row.fired]
        found += [
            f"{row.wrong} corruptions of {row.rule} are not reported as expected"
            for row in self.rules
            if row.wrong
        ]
        return found + ([] if self.view_logs is None else self.view_logs.faults)


def report_on(
    contract: Contract, examples: int, each: int, start: int, progress: Progress
) -> Report:
    """Look at *examples* manifests and *each* corruptions of every way to break a rule.

    *start* is the seed; *progress* is told what is under way.
    """
    progress(f"{examples} manifests")
    counts: Counter[Trait] = Counter()
    sizes = []
    invalid = 0
    for manifest in sample(manifests(contract), examples, start):
        document = encode(manifest, contract)
        sizes.append(len(document))
        invalid += bool(judge(document, manifest.vnode_count, contract).findings)
        counts.update(trait for trait in Trait if trait.present(manifest))
    return Report(
        contract=contract.name,
        manifests=examples,
        invalid=invalid,
        sizes=_sizes(sizes),
        traits=tuple(
            TraitRow(trait.value, trait.statement, counts[trait] / examples)
            for trait in Trait
            if contract.has(trait.feature)
        ),
        rules=_rules(contract, each, start, progress),
        view_logs=sizes_of(contract, examples, start) if contract.has(Feature.VIEW_LOGS) else None,
    )


def _sizes(sizes: list[int]) -> dict[str, int]:
    tenths = quantiles(sizes, n=10)
    return {
        "least": min(sizes),
        "tenth": round(tenths[0]),
        "median": round(median(sizes)),
        "nine tenths": round(tenths[-1]),
        "most": max(sizes),
    }


def _rules(contract: Contract, each: int, start: int, progress: Progress) -> tuple[RuleRow, ...]:
    rows = []
    for rule in corruptible_rules(contract):
        progress(rule)
        ways = breakages_of(contract, rules=[rule])
        fired = alone = wrong = 0
        companions: set[str] = set()
        for way in ways:
            count = 1 if way.heavy else each
            for corruption in sample(corruptions(contract, names=[way.name]), count, start):
                verdict = judge(corruption.document, corruption.key_groups, contract)
                found = verdict.rules - unspecified(corruption.expected)
                fired += rule in found
                alone += found == {rule}
                wrong += found != corruption.expected
                companions |= found - {rule}
        in_order = tuple(other for other in RULES if other in companions)
        rows.append(RuleRow(rule, len(ways), fired, alone, in_order, wrong))
    return tuple(rows)
