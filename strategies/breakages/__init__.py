"""Ways to break a valid manifest, grouped as the rules are."""

from strategies.breakages import header, objects, sinks, sources, subscription, topology
from strategies.breakages.registry import BREAKAGES, Breakage

__all__ = [
    "BREAKAGES",
    "Breakage",
    "header",
    "objects",
    "sinks",
    "sources",
    "subscription",
    "topology",
]
