"""The executable specification of a checkpoint store, and its audit.

A store is the directory that holds the cuts of one deployment: :mod:`oracle.store.layout` says
what lies where, :mod:`oracle.store.control` reads whose it is and what was decided,
:mod:`oracle.store.chain` follows the committed cuts, :mod:`oracle.store.objects` reads node data,
and :mod:`oracle.store.leftovers` accounts for the rest.
"""

from oracle.store.audit import AuditReport, audit
from oracle.store.layout import StoreUnavailable
from oracle.store.reader import Summary
from oracle.store.registry import RULES, StoreFinding

__all__ = ["RULES", "AuditReport", "StoreFinding", "StoreUnavailable", "Summary", "audit"]
