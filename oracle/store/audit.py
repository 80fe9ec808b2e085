"""The audit of a store: from the deployment identity to the last byte of node data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oracle.store.chain import Chain
from oracle.store.control import Control
from oracle.store.layout import take_inventory
from oracle.store.leftovers import sort_leftovers
from oracle.store.reader import Progress, Reader, Summary
from oracle.store.registry import StoreFinding


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit found, in the order in which a store is read."""

    root: Path
    findings: tuple[StoreFinding, ...]
    summary: Summary

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit(root: Path, progress: Progress = lambda _done, _total: None) -> AuditReport:
    """Read the store at *root* and report everything that must hold of it and does not.

    A damage is reported where it is, and what only follows from it is not: behind an index that
    cannot be read the chain is not followed, and then nothing is called unreachable. The engine
    must not be running on the store. Nothing is written. Time is linear in the bytes of what the
    store must hold, memory in its number of files and in the largest cut's manifests.

    Raises :class:`StoreUnavailable` or :class:`OSError` when the store cannot be read.
    """
    reader = Reader(root, take_inventory(root), progress)
    control = Control(reader)
    chain = Chain(reader, control)
    if reader.complete and control.head is not None:
        sort_leftovers(reader, chain, control.head)
    reader.summary.deployment_id = control.deployment
    return AuditReport(root, tuple(reader.findings), reader.summary)
