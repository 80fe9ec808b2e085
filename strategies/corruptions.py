"""Corruptions: a valid manifest, broken in one named way, and the rules that must say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy

from oracle import RULES, V10, CheckpointManifest, Contract, Level, encode
from oracle.formats import PAYLOAD_ORDER
from strategies.breakages import BREAKAGES, Breakage
from strategies.dice import Dice, dice
from strategies.manifests import manifests
from strategies.traits import Trait

_BYTES_OF_DICE = 8


@dataclass(frozen=True)
class Corruption:
    """One broken manifest.

    ``manifest`` is ``valid`` but for what ``name`` says, and judged for ``key_groups`` breaks
    exactly the rules ``expected``, but for those that are then unspecified
    (:func:`unspecified`).
    """

    name: str
    expected: frozenset[str]
    valid: CheckpointManifest
    manifest: CheckpointManifest
    key_groups: int
    contract: Contract

    @cached_property
    def document(self) -> bytes:
        """The canonical encoding of the broken manifest."""
        return encode(self.manifest, self.contract)


def unspecified(rules: Iterable[str]) -> frozenset[str]:
    """The rules of which nobody may say whether they are broken while *rules* are."""
    broken = frozenset(rules)
    return frozenset(
        rule.id for rule in RULES.values() if not broken.isdisjoint(rule.unspecified_with)
    )


def corruptible_rules(contract: Contract) -> tuple[str, ...]:
    """Ids of the rules and faults of *contract* that can be broken, in order."""
    return tuple(
        rule.id
        for rule in RULES.values()
        if rule.level in (Level.RULE, Level.FAULT)
        and contract.has(rule.feature)
        and not any(other.family == rule.id for other in RULES.values())
    )


def breakages_of(
    contract: Contract,
    *,
    rules: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
) -> tuple[Breakage, ...]:
    """The breakages of *contract*, all or those of *rules* or with *names*.

    Heavy and divergent ones are left out unless *rules* or *names* ask for them. They know one
    order in which payloads fill an object; a format with another is refused.
    """
    if contract.payload_order != PAYLOAD_ORDER:
        raise InvalidArgument(
            f"corruptions lay payloads out as {', '.join(PAYLOAD_ORDER)}; format {contract.name} "
            "has another order, for which manifests() is all that there is"
        )
    asked_rules = None if rules is None else frozenset(_collection("rules", rules))
    asked_names = None if names is None else frozenset(_collection("names", names))
    _refuse_unknown("rules", asked_rules, corruptible_rules(contract), contract)
    possible = [item for item in BREAKAGES.values() if item.belongs_to(contract)]
    _refuse_unknown("names", asked_names, [item.name for item in possible], contract)
    chosen = [
        item
        for item in possible
        if (asked_rules is None or item.rule in asked_rules)
        and (asked_names is None or item.name in asked_names)
        and (asked_names is not None or not item.divergent)
        and (asked_names is not None or asked_rules is not None or not item.heavy)
    ]
    if not chosen:
        raise InvalidArgument(f"no corruption is left of rules={rules!r} and names={names!r}")
    return tuple(chosen)


def _collection(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InvalidArgument(f"{argument}={given!r} is one text; give a collection of them")
    return tuple(given)


def _refuse_unknown(
    argument: str, asked: frozenset[str] | None, known: Iterable[str], contract: Contract
) -> None:
    unknown = (asked or frozenset()).difference(known)
    if unknown:
        raise InvalidArgument(
            f"{argument}={sorted(unknown)!r}: format {contract.name} has no such corruption"
        )


def corruptions(
    contract: Contract = V10,
    *,
    rules: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
) -> SearchStrategy[Corruption]:
    """One way of breaking a manifest at a time, each of them as often.

    *rules* takes only corruptions of these rules and faults, *names* only the ones of that name
    (:data:`BREAKAGES` lists them). *having* and *without* narrow the manifests; corruptions that
    need something else are left out then. Those that make documents of many megabytes, and those
    that engines are known to judge otherwise, come only when they are asked for: the first by
    rule or name, the others by name.

    Shrinks to the first of the corruptions, of the smallest manifest that it is possible in.
    """
    chosen = breakages_of(contract, rules=rules, names=names)
    wanted, unwanted = frozenset(having), frozenset(without)
    return st.one_of(
        *(
            strategy
            for strategy in (_broken(item, contract, wanted, unwanted) for item in chosen)
            if strategy is not None
        )
    )


@cache
def _broken(
    item: Breakage, contract: Contract, having: frozenset[Trait], without: frozenset[Trait]
) -> SearchStrategy[Corruption] | None:
    """The corruptions of one breakage, unless they cannot be had in such manifests."""
    try:
        valid = manifests(contract, having=item.having | having, without=item.without | without)
    except InvalidArgument:
        return None

    def broken(manifest: CheckpointManifest, rolled: Dice) -> Corruption:
        key_groups = manifest.vnode_count
        if item.key_groups is not None:
            key_groups = item.key_groups(key_groups, rolled)
        return Corruption(
            item.name,
            item.expected,
            manifest,
            item.broken(manifest, rolled, contract),
            key_groups,
            contract,
        )

    return st.builds(broken, valid, dice(_BYTES_OF_DICE))


# --- two at once -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interaction:
    """What happens to what two corruptions would be expected to report each by itself.

    While the rule ``when`` is broken, those of ``hides`` are not examined.
    """

    when: str
    hides: frozenset[str]


_FAULTS = frozenset(rule.id for rule in RULES.values() if rule.level is Level.FAULT)

INTERACTIONS = (
    Interaction("watermark.sentinel", frozenset({"watermark.mismatch"})),
    Interaction("subscription.local", _FAULTS | {"subscription.cut"}),
    Interaction("subscription.cut", _FAULTS),
)
"""The rules that, being broken, keep others from being examined."""


def together(*expectations: frozenset[str]) -> frozenset[str]:
    """What is expected of several corruptions at once: all their rules that can be relied on.

    Those that :data:`INTERACTIONS` hide, and those that the others make unspecified, are not.
    """
    expected = frozenset[str]().union(*expectations)
    hidden = [interaction.hides for interaction in INTERACTIONS if interaction.when in expected]
    return expected.difference(unspecified(expected), *hidden)


@cache
def _pairs(contract: Contract) -> tuple[tuple[Breakage, Breakage], ...]:
    """Every two breakages that one manifest can have and that do not undo each other."""
    ways = breakages_of(contract)
    return tuple(
        (first, second)
        for index, first in enumerate(ways)
        for second in ways[index + 1 :]
        if first.rule != second.rule
        and not first.touches & second.touches
        and _possible(contract, first, second)
    )


def _possible(contract: Contract, first: Breakage, second: Breakage) -> bool:
    having, without = first.having | second.having, first.without | second.without
    if having & without:
        return False
    try:
        _base(contract, having, without)
    except InvalidArgument:
        return False
    return True


@cache
def _base(
    contract: Contract, having: frozenset[Trait], without: frozenset[Trait]
) -> SearchStrategy[CheckpointManifest]:
    return manifests(contract, having=having, without=without)


def corruption_pairs(contract: Contract = V10) -> SearchStrategy[Corruption]:
    """Two corruptions of one manifest, of different rules and such that neither undoes the other.

    ``name`` has both names, and ``expected`` is the union of what each reports, less what
    :data:`INTERACTIONS` hide. Shrinks to the first pair that shows what is looked for.
    """
    pairs = _pairs(contract)

    @st.composite
    def paired(draw: DrawFn) -> Corruption:
        first, second = draw(st.sampled_from(pairs))
        valid = draw(_base(contract, first.having | second.having, first.without | second.without))
        manifest, key_groups = valid, valid.vnode_count
        for way in (first, second):
            rolled = draw(dice(_BYTES_OF_DICE))
            if way.key_groups is not None:
                key_groups = way.key_groups(key_groups, rolled)
            manifest = way.broken(manifest, rolled, contract)
        return Corruption(
            f"{first.name} + {second.name}",
            together(first.expected, second.expected),
            valid,
            manifest,
            key_groups,
            contract,
        )

    return paired()
