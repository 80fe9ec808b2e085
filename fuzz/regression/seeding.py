"""Makes the cases that the coverage table asks for, smallest documents first.

Hypothesis finds and shrinks them, with a fixed seed. What is kept is the document and not the
bytes that Hypothesis drew it from, so the corpus outlives every version of Hypothesis.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import HypothesisWarning, InvalidArgument, NoSuchExample
from hypothesis.strategies import SearchStrategy

import oracle
from fuzz.regression.cases import LARGEST, Case, Flag, make_case
from oracle import CheckpointManifest, Contract, Kind
from strategies import Liberty, Trait, corruptions, manifests, near_misses, spellings
from strategies.corruptions import breakages_of
from strategies.hazards import hazards as hazardous
from strategies.near_misses import NEEDED

ORIGIN = "found and shrunk by the strategies of this project"

_SETTINGS = settings(
    max_examples=400,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seed:
    """A case with its document, and the valid one that the case is one step away from."""

    case: Case
    document: bytes
    neighbour: Seed | None = None


def smallest(strategy: SearchStrategy[T], wanted: Callable[[T], bool] = lambda _: True) -> T:
    """The smallest example that is *wanted*; raises when there is none."""
    with warnings.catch_warnings():
        # What it has to say is for the authors of tests: that a large example has a large repr.
        warnings.simplefilter("ignore", HypothesisWarning)
        return find(strategy, wanted, settings=_SETTINGS)


def of_rules(contract: Contract) -> Iterator[Seed]:
    """Every named corruption, each with the valid manifest that it is one step away from."""
    for item in breakages_of(contract):
        found = smallest(corruptions(contract, names=[item.name]))
        statement = oracle.RULES[item.rule].statement.split("\n")[0]
        companions = ", ".join(sorted(item.expected - {item.rule}))
        beside = f" It cannot be broken alone: {companions} come with it." if companions else ""
        name = item.name.replace("/", "-")
        document = oracle.encode(found.valid, contract)
        neighbour = make_case(
            document,
            id=f"{contract.name}/valid/beside-{name}",
            key_groups=found.valid.vnode_count,
            contract=contract,
            origin=ORIGIN,
            why=f"Valid, and one step away from breaking {item.rule} ({item.name}).",
            flags={Flag.NEIGHBOUR},
        )
        broken = make_case(
            found.document,
            id=f"{contract.name}/rules/{name}",
            key_groups=found.key_groups,
            contract=contract,
            origin=ORIGIN,
            why=f"{statement}{beside}",
            neighbour=neighbour.id,
        )
        yield Seed(broken, found.document, Seed(neighbour, document))


def of_traits(contract: Contract) -> Iterator[Seed]:
    """A smallest valid manifest with each trait."""
    for trait in Trait:
        if not contract.has(trait.feature):
            continue
        manifest = smallest(manifests(contract, having={trait}))
        document = oracle.encode(manifest, contract)
        yield Seed(
            make_case(
                document,
                id=f"{contract.name}/valid/{trait.value}",
                key_groups=manifest.vnode_count,
                contract=contract,
                origin=ORIGIN,
                why=f"Valid, with the trait {trait.value}: {trait.statement}.",
                flags={Flag.SIZE} if len(document) > LARGEST else None,
            ),
            document,
        )


def of_kinds(contract: Contract) -> Iterator[Seed]:
    """Every way of nearly being a manifest."""
    seen: set[str] = set()
    for kind in Kind:
        manifest = _rich(contract, NEEDED.get(kind, frozenset()))
        strategy = near_misses(manifest, contract, kinds=[kind])
        while True:
            try:
                found = smallest(strategy, lambda miss: miss.name not in seen)
            except NoSuchExample:
                break
            seen.add(found.name)
            yield Seed(
                make_case(
                    found.document,
                    id=f"{contract.name}/decode/{found.name.replace('/', '-')}",
                    key_groups=manifest.vnode_count,
                    contract=contract,
                    origin=ORIGIN,
                    why=f"Rejected at decode: {kind.statement}.",
                ),
                found.document,
            )


def of_spellings(contract: Contract) -> Iterator[Seed]:
    """Every liberty that an accepted text may take, alone."""
    for liberty in Liberty:
        manifest = _rich(contract)
        try:
            found = smallest(
                spellings(manifest, contract, liberties=[liberty]),
                lambda spelled: spelled.document != spelled.canonical,
            )
        except NoSuchExample:
            continue
        flags = {Flag.ARRAY_FORM} if liberty is Liberty.ARRAY_FORM else set()
        yield Seed(
            make_case(
                found.document,
                id=f"{contract.name}/spelling/{liberty.value}",
                key_groups=manifest.vnode_count,
                contract=contract,
                origin=ORIGIN,
                why=f"Accepted, and not canonical only by the liberty {liberty.value}.",
                flags=flags | {Flag.SPELLING},
            ),
            found.document,
        )


def of_hazards(contract: Contract) -> Iterator[Seed]:
    """Every hazard, in a valid manifest."""
    seen: set[str] = set()
    while True:
        try:
            found = smallest(hazardous(contract), lambda item: item.name not in seen)
        except NoSuchExample:
            return
        seen.add(found.name)
        rule = oracle.RULES[found.hazard]
        name = found.name.removeprefix("hazard.").replace("/", "-")
        yield Seed(
            make_case(
                found.document,
                id=f"{contract.name}/hazards/{name}",
                key_groups=found.manifest.vnode_count,
                contract=contract,
                origin=ORIGIN,
                why=f"{rule.statement.splitlines()[0]} Later: {rule.consequence}.",
                flags={Flag.HAZARD},
            ),
            found.document,
        )


SOURCES = (of_rules, of_traits, of_kinds, of_spellings, of_hazards)


def seeds(contract: Contract) -> Iterator[Seed]:
    """Everything that the strategies have for *contract*."""
    for source in SOURCES:
        yield from source(contract)


def _rich(contract: Contract, having: frozenset[Trait] = frozenset()) -> CheckpointManifest:
    """A small manifest in which every kind of type occurs."""
    wanted = {Trait.CLUSTER, Trait.WHOLE_FRAME, *having}
    for extra in _PLENTY:
        if contract.has(extra.feature):
            try:
                manifests(contract, having={*wanted, extra})
            except InvalidArgument:
                continue
            wanted.add(extra)
    return smallest(manifests(contract, having=wanted))


_PLENTY = (
    Trait.VNODE_FRAME,
    Trait.OLDER_FRAME,
    Trait.SINK_PAYLOAD,
    Trait.INTENT_PAYLOAD,
    Trait.STREAM,
    Trait.SEGMENT,
    Trait.LOG_SEGMENT,
    Trait.EVENT_TIME,
    Trait.PHYSICAL_CHANNEL,
    Trait.OFFSETS,
    Trait.ROSTER,
)
