"""Hypothesis strategies for checkpoint manifests, and for what is nearly one.

``README.md`` beside this file starts with a test in ten lines.
"""

from strategies.boundaries import Boundary, boundaries
from strategies.checkpoints import Checkpoint, Cut, Damage, DamageKind, checkpoints, cuts, damages
from strategies.corruptions import Corruption, corruption_pairs, corruptions, unspecified
from strategies.hazards import Hazardous, hazards
from strategies.manifests import manifests
from strategies.near_misses import NearMiss, near_misses
from strategies.parts import (
    byte_ranges,
    channel_rosters,
    digest32s,
    digest_payloads,
    fences,
    key_group_counts,
    name_rosters,
    names,
    sha256_texts,
    uuids,
    watermarks,
)
from strategies.spellings import Liberty, Spelling, spellings
from strategies.traits import Trait

__all__ = [
    "Boundary",
    "Checkpoint",
    "Corruption",
    "Cut",
    "Damage",
    "DamageKind",
    "Hazardous",
    "Liberty",
    "NearMiss",
    "Spelling",
    "Trait",
    "boundaries",
    "byte_ranges",
    "channel_rosters",
    "checkpoints",
    "corruption_pairs",
    "corruptions",
    "cuts",
    "damages",
    "digest32s",
    "digest_payloads",
    "fences",
    "hazards",
    "key_group_counts",
    "manifests",
    "name_rosters",
    "names",
    "near_misses",
    "sha256_texts",
    "spellings",
    "unspecified",
    "uuids",
    "watermarks",
]
