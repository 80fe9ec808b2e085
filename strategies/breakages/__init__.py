"""Ways to break a valid manifest, grouped as the rules are.

The order of the imports is the order in which they are listed, and that in which two of them are
applied to one manifest: who wrote it comes before what was written.
"""

from strategies.breakages import (  # noqa: I001 - the order is the listing's
    header,
    topology,
    sources,
    objects,
    sinks,
    subscription,
    view_logs,
)
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
    "view_logs",
]
