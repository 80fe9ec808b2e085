"""The rules that a decoded manifest must keep, grouped by the part they look at.

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
)

__all__ = [
    "frames",
    "header",
    "layout",
    "references",
    "sinks",
    "sources",
    "subscription",
    "topology",
    "view_logs",
]
