"""The rules that a decoded manifest must keep, by the part they look at, and the hazards.

The order of the imports is the order in which rules are listed and findings reported.
"""

from oracle.rules import (  # noqa: I001 - the order is the listing's
    header,
    topology,
    subscription,
    sources,
    references,
    frames,
    view_logs,
    sinks,
    layout,
    hazards,
)

__all__ = [
    "frames",
    "hazards",
    "header",
    "layout",
    "references",
    "sinks",
    "sources",
    "subscription",
    "topology",
    "view_logs",
]
