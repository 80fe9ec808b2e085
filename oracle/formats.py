"""Manifest formats as data: what each format's numbers are and which features it has.

A feature is a group of fields and rules that came with one format. Fields (in
:mod:`oracle.model`) and rules name the feature that they belong to, or none when they hold in
every format; so a new format is one more row of :data:`CONTRACTS`. What is only assumed of a
format is told in :mod:`oracle.assumptions`; a file of facts (:mod:`oracle.facts`) overrides it
without a change of code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


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
