"""Hypothesis strategies."""

from strategies.manifests import manifests
from strategies.traits import Trait
