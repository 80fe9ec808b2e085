"""Known divergences: where oracle and engine differ, and it has been looked into.

The ledger is `divergences.toml`. An entry covers a comparison by its signature alone, exactly and
never by the document; and each way in which a divergence shows has a document that shows it, so
that an entry which outlives its reason can be found out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.engines.builds import STAND_IN
from fuzz.outcome import Outcome, Signature
from oracle import MAX_KEY_GROUP_COUNT, Contract, contract_named

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a divergence shows.

    ``outcomes`` are the outcomes that it may have; ``oracle`` and ``engine`` are each side's
    reasons that the other side does not have, all of them and sorted. ``documents`` holds, for
    the name of each contract, the file below `divergences` with the smallest document that
    shows it; ``key_groups`` is what they are judged for, and ``None`` where they are whole cuts.
    """

    outcomes: frozenset[str]
    oracle: tuple[str, ...]
    engine: tuple[str, ...]
    documents: Mapping[str, str]
    key_groups: int | None

    def matches(self, signature: Signature) -> bool:
        """Whether exactly this is what differs."""
        return (
            signature.outcome.value in self.outcomes
            and signature.oracle == self.oracle
            and signature.engine == self.engine
        )

    def path(self, contract: Contract) -> Path:
        """The document that shows it on engines of *contract*."""
        return _HERE / "divergences" / self.documents[contract.name]


@dataclass(frozen=True, slots=True)
class Divergence:
    """An entry of the ledger: which releases of the engine differ, why, and how it shows.

    ``releases`` holds the releases of laminar-core for the name of each contract.
    """

    id: str
    reason: str
    reference: str
    releases: Mapping[str, tuple[str, ...]]
    shapes: tuple[Shape, ...]

    @property
    def is_of_cuts(self) -> bool:
        """Whether it shows in cuts, and not in manifests."""
        return all(shape.key_groups is None for shape in self.shapes)

    def holds_for(self, release: str, contract: Contract) -> bool:
        """Whether it is an entry for *release*; a checkout goes by the release in its name."""
        return release.partition("+")[0] in self.releases.get(contract.name, ())


@cache
def divergences() -> tuple[Divergence, ...]:
    """Every entry of the ledger.

    :class:`ValueError` says what is wrong in it.
    """
    return entries_of(tomllib.loads((_HERE / "divergences.toml").read_text("utf-8")))


def known_divergence(signature: Signature, release: str, contract: Contract) -> str | None:
    """The id of the entry that covers *signature* on an engine *release* of *contract*."""
    for divergence in divergences():
        if divergence.holds_for(release, contract) and any(
            shape.matches(signature) for shape in divergence.shapes
        ):
            return divergence.id
    return None


def entries_of(content: Mapping[str, Any]) -> tuple[Divergence, ...]:
    """The entries of a ledger as TOML has them, which may be none.

    :class:`ValueError` when something is wrong.
    """
    try:
        if unknown := content.keys() - {"divergence"}:
            raise ValueError(f"unknown tables {sorted(unknown)}")
        entries = tuple(_divergence(**item) for item in content.get("divergence", ()))
        ids = [entry.id for entry in entries]
        if len(set(ids)) < len(ids):
            raise ValueError(f"an id is used twice in {ids}")
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"the ledger of known divergences: {error}") from error
    return entries


def _divergence(
    *,
    id: str,
    reason: str,
    reference: str,
    releases: Mapping[str, list[str]],
    shape: list[Mapping[str, Any]],
) -> Divergence:
    for name, named in releases.items():
        # What the stand-in leaves to laminar-core differs as that does.
        strangers = set(named) - {*contract_named(name).engines, STAND_IN}
        if strangers:
            raise ValueError(f"{id}: no engine of contract {name} is called {sorted(strangers)}")
    shapes = tuple(_shape(**item) for item in shape)
    for item in shapes:
        if item.documents.keys() != releases.keys():
            raise ValueError(f"{id}: every shape needs a document for each of {list(releases)}")
    if not (shapes and releases and reason.strip() and reference.strip()):
        raise ValueError(f"{id}: an entry needs releases, a reason, a reference and a shape")
    return Divergence(
        id, reason.strip(), reference, {k: tuple(v) for k, v in releases.items()}, shapes
    )


def _shape(
    *,
    outcomes: list[str],
    oracle: list[str],
    engine: list[str],
    documents: Mapping[str, str],
    key_groups: int | None = None,
) -> Shape:
    if key_groups is not None and not 1 <= key_groups <= MAX_KEY_GROUP_COUNT:
        raise ValueError(f"key_groups is {key_groups}, not in 1..={MAX_KEY_GROUP_COUNT}")
    if not oracle and not engine:
        raise ValueError("a shape without a reason on either side would cover too much")
    names = {outcome.value for outcome in Outcome}
    if not outcomes or not names.issuperset(outcomes):
        raise ValueError(f"outcomes is {outcomes}, not some of {sorted(names)}")
    return Shape(
        frozenset(outcomes), tuple(sorted(oracle)), tuple(sorted(engine)), documents, key_groups
    )
