"""Hypothesis strategies for checkpoint manifests, and for what is nearly one."""

from strategies.checkpoints import Checkpoint, Cut, Damage, DamageKind, checkpoints, cuts, damages
from strategies.corruptions import Corruption, corruption_pairs, corruptions, unspecified
from strategies.manifests import manifests
from strategies.near_misses import NearMiss, near_misses
from strategies.spellings import Liberty, Spelling, spellings
from strategies.traits import Trait

__all__ = [
    "Checkpoint",
    "Corruption",
    "Cut",
    "Damage",
    "DamageKind",
    "Liberty",
    "NearMiss",
    "Spelling",
    "Trait",
    "checkpoints",
    "corruption_pairs",
    "corruptions",
    "cuts",
    "damages",
    "manifests",
    "near_misses",
    "spellings",
    "unspecified",
]
