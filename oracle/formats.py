"""Manifest formats as data: what each format's numbers are and which features it has.

A feature is a group of fields and rules that came with one format. Fields (in
:mod:`oracle.model`) and rules name the feature that they belong to, or none when they hold in
every format; so a new format is one more row of :data:`CONTRACTS`. What is only assumed of a
format is told in :mod:`oracle.assumptions`; a file of facts (:func:`contract_from_file`)
overrides it without a change of code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any


class Feature(Enum):
    """Something that not every format has."""

    SINK_ARTIFACT_INTENTS = "sink-artifact-intents"
    SUBSCRIPTION_OUTPUT = "subscription-output"
    VIEW_LOGS = "view-logs"


PAYLOAD_ORDER = ("state_frames", "view_logs", "sink_artifact_intents", "prepared_sinks")
"""The lists whose ranges fill the current object, in the order in which they do."""


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """One manifest format; contracts are compared by identity.

    ``manifest_version`` and ``pipeline_identity_version`` are the numbers of the format that a
    manifest itself carries; ``engines`` are the releases of laminar-core that speak it. The
    segment limits count segments of view logs, over one manifest and over one cluster cut.
    ``names`` maps ``Type.field`` to the field's name in the text where that differs, ``orders``
    a type to its fields in declaration order where that differs; ``payload_order`` lists the
    manifest's lists of payloads as they lie in the current object.
    """

    name: str
    manifest_version: int
    pipeline_identity_version: int
    features: frozenset[Feature]
    engines: tuple[str, ...] = ()
    max_view_log_segments: int = 0
    max_cluster_view_log_segments: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    payload_order: tuple[str, ...] = PAYLOAD_ORDER

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
VIEW_LOG = Contract(
    name="view-log",
    manifest_version=11,
    pipeline_identity_version=7,
    features=V10.features | {Feature.VIEW_LOGS},
    max_view_log_segments=16_384,
    max_cluster_view_log_segments=24_000,
)
"""The next format, which no released engine speaks: its four numbers are assumption A1."""

CONTRACTS: dict[str, Contract] = {contract.name: contract for contract in (V9, V10, VIEW_LOG)}
"""Every format by name, oldest first."""


def contract_named(name: str) -> Contract:
    """The contract called *name*, or the one that the TOML file *name* describes.

    Raises :class:`ValueError` with the known names, or with what is wrong in the file.
    """
    if name in CONTRACTS:
        return CONTRACTS[name]
    if name.endswith(".toml"):
        return contract_from_file(Path(name))
    known = ", ".join(CONTRACTS)
    raise ValueError(
        f"no contract is called {name!r}; choose one of {known}, or give a .toml file of facts"
    )


_NUMBERS = (
    "manifest_version",
    "pipeline_identity_version",
    "max_view_log_segments",
    "max_cluster_view_log_segments",
)


def contract_from_file(path: Path) -> Contract:
    """The contract that the facts in *path* make of the one that they name as their ``base``.

    The file is TOML: ``base`` (a contract's name) and, each optional, the tables ``numbers``
    (``manifest_version``, ``pipeline_identity_version``, ``max_view_log_segments``,
    ``max_cluster_view_log_segments``), ``names`` (``"Type.field" = "name in the text"``) and
    ``orders`` (``Type = [fields in declaration order]``; ``payloads = [lists in the order in
    which their ranges fill the current object]``). Raises :class:`ValueError`.
    """
    try:
        facts = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a file of facts: {error}") from None
    return contract_from_facts(facts, name=path.stem)


def contract_from_facts(facts: Mapping[str, Any], name: str) -> Contract:
    """The contract *name* that *facts*, as :func:`contract_from_file` reads them, describe."""
    unknown = set(facts) - {"base", "numbers", "names", "orders"}
    if unknown:
        raise ValueError(f"{name}: unknown facts {sorted(unknown)}")
    base = CONTRACTS.get(facts.get("base", VIEW_LOG.name))
    if base is None:
        raise ValueError(f"{name}: base must be one of {', '.join(CONTRACTS)}")
    numbers = facts.get("numbers", {})
    if set(numbers) - set(_NUMBERS) or not all(type(n) is int and n > 0 for n in numbers.values()):
        raise ValueError(f"{name}: numbers are positive integers called {', '.join(_NUMBERS)}")
    orders = {shape: tuple(order) for shape, order in facts.get("orders", {}).items()}
    payloads = orders.pop("payloads", PAYLOAD_ORDER)
    if sorted(payloads) != sorted(PAYLOAD_ORDER):
        raise ValueError(f"{name}: orders.payloads must list {', '.join(PAYLOAD_ORDER)}")
    return replace(
        base,
        name=name,
        names=dict(facts.get("names", {})),
        orders=orders,
        payload_order=payloads,
        **numbers,
    )
