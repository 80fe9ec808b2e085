"""Manifest formats as data: what each format's number is and which features it has.

A feature is a group of fields and rules that came with one format. Fields (in
:mod:`oracle.model`) and rules name the feature that they belong to, or none when they hold in
every format; so a new format is one more row of :data:`CONTRACTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Feature(Enum):
    """Something that not every format has."""

    SINK_ARTIFACT_INTENTS = "sink-artifact-intents"
    SUBSCRIPTION_OUTPUT = "subscription-output"


@dataclass(frozen=True, slots=True)
class Contract:
    """One manifest format.

    ``manifest_version`` and ``pipeline_identity_version`` are the only numbers of the format
    that a manifest itself carries; ``engines`` are the releases of laminar-core that speak it.
    """

    name: str
    manifest_version: int
    pipeline_identity_version: int
    features: frozenset[Feature]
    engines: tuple[str, ...]

    def has(self, feature: Feature | None) -> bool:
        """Whether fields and rules of *feature* hold here; ``None`` holds everywhere."""
        return feature is None or feature in self.features


V9 = Contract(
    name="v9",
    manifest_version=9,
    pipeline_identity_version=6,
    features=frozenset(),
    engines=("0.30.0",),
)
V10 = Contract(
    name="v10",
    manifest_version=10,
    pipeline_identity_version=7,
    features=frozenset({Feature.SINK_ARTIFACT_INTENTS, Feature.SUBSCRIPTION_OUTPUT}),
    engines=("0.31.0", "0.32.0", "0.33.0"),
)

CONTRACTS: dict[str, Contract] = {contract.name: contract for contract in (V9, V10)}
"""Every format by name, oldest first."""


def contract_named(name: str) -> Contract:
    """The contract called *name*; :class:`ValueError` lists the known names."""
    try:
        return CONTRACTS[name]
    except KeyError:
        known = ", ".join(CONTRACTS)
        raise ValueError(f"no contract is called {name!r}; choose one of {known}") from None
