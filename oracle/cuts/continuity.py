"""The index and its predecessor: that recovery may go from the one to the other."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.cuts.constants import COMMITTED_CHECKPOINT_INDEX_VERSION
from oracle.cuts.index import (
    effective_source_watermarks,
    encode_and_reference,
    known_frontiers,
    validate_index,
)
from oracle.cuts.model import CommittedCheckpointIndex
from oracle.cuts.registry import CutFinding, InvalidCut, cut_fault, found
from oracle.errors import json_pointer

INVALID = cut_fault("predecessor.invalid", "The predecessor has a fault of its own.")
VERSION = cut_fault("predecessor.version", "The version is lower than the predecessor's.")
UNDECLARED = cut_fault("predecessor.undeclared", "The index declares no predecessor.")
REFERENCE = cut_fault(
    "predecessor.reference", "The predecessor's reference is not the one that the index declares."
)
FOREIGN = cut_fault(
    "predecessor.foreign",
    "deployment_id, pipeline_identity, scope, vnode_count or source_names is not the "
    "predecessor's.",
)
REGRESSION = cut_fault(
    "predecessor.regression",
    "In version 4 the frontier of a source is below the predecessor's source watermark.",
)
WATERMARKS = cut_fault(
    "predecessor.watermarks",
    "In version 4 source_watermarks are not the predecessor's, raised by this cut's frontiers.",
)

CHAIN_FIELDS = ("deployment_id", "pipeline_identity", "scope", "vnode_count", "source_names")
"""What an index has in common with its predecessor."""


def validate_predecessor_index(
    index: CommittedCheckpointIndex, predecessor: CommittedCheckpointIndex
) -> CutFinding | None:
    """The first fault of *index* beside *predecessor*, if there is one.

    It may be one of the index by itself.
    """
    return next(_faults(index, predecessor), None)


def _faults(
    index: CommittedCheckpointIndex, predecessor: CommittedCheckpointIndex
) -> Iterator[CutFinding]:
    own = validate_index(index)
    if own is not None:
        yield own
    older = validate_index(predecessor)
    if older is not None:
        yield found(INVALID, "/predecessor", str(older))
    if index.version < predecessor.version:
        yield found(
            VERSION, "/version", f"{index.version} is below the predecessor's {predecessor.version}"
        )
    if index.predecessor is None:
        yield found(UNDECLARED, "/predecessor", "no predecessor is declared")
    try:
        _, reference = encode_and_reference(predecessor)
    except InvalidCut as invalid:
        yield found(INVALID, "/predecessor", str(invalid))
        return
    if index.predecessor != reference:
        yield found(REFERENCE, "/predecessor", f"the predecessor's reference is {reference}")
    for field in CHAIN_FIELDS:
        if getattr(index, field) != getattr(predecessor, field):
            yield found(FOREIGN, f"/{field}", "it is not the predecessor's")
    yield from _watermarks(index, predecessor)


def _watermarks(
    index: CommittedCheckpointIndex, predecessor: CommittedCheckpointIndex
) -> Iterator[CutFinding]:
    if index.version != COMMITTED_CHECKPOINT_INDEX_VERSION:
        return
    expected = effective_source_watermarks(predecessor)
    for source, value in known_frontiers(index).items():
        before = expected.get(source)
        if before is not None and value < before:
            yield found(
                REGRESSION,
                json_pointer("source_watermarks", source),
                f"it falls from {before} to {value}",
            )
        expected[source] = value
    if index.source_watermarks != expected:
        yield found(WATERMARKS, "/source_watermarks", f"{expected} continue the predecessor's")
