"""Hypothesis strategies for checkpoint manifests, and for what is nearly one."""

from strategies.corruptions import Corruption, corruptions, unspecified
from strategies.manifests import manifests
from strategies.traits import Trait

__all__ = ["Corruption", "Trait", "corruptions", "manifests", "unspecified"]
