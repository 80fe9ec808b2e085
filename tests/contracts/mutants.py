"""Faults planted in the kernels one at a time, each to be refuted by a contract alone."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.contracts.run import ROOT, Result, examine
from tests.contracts.table import contracts

LEAST_SHARE = 0.9
"""At least this share of the mutants must be refuted."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what stands once in a file of the oracle, and what stands there instead."""

    name: str
    file: str
    original: str
    fault: str
    refuted_by: str


MUTANTS = (
    Mutant(
        "a range that ends at u64's greatest value overflows",
        "kernels.py",
        "return end if end <= U64_MAX else None",
        "return end if end < U64_MAX else None",
        "ranges.only_overflow_has_no_end",
    ),
    Mutant(
        "a range that ends with its object is beyond it",
        "kernels.py",
        "end > object_length",
        "end >= object_length",
        "ranges.a_range_beyond_has_its_last_byte_outside",
    ),
    Mutant(
        "an overflowing range moves the expected start",
        "kernels.py",
        "        if end is not None:\n            expected = end\n",
        "        expected = offset + length\n",
        "ranges.overflow_moves_nothing",
    ),
    Mutant(
        "a range may start before the one before it ended",
        "kernels.py",
        "if offset != expected:",
        "if offset > expected:",
        "ranges.a_tiling_holds_each_byte_once",
    ),
    Mutant(
        "equal items are in strict order",
        "kernels.py",
        "from operator import eq, lt",
        "from operator import eq, le as lt",
        "order.strict_order_is_uniqueness",
    ),
    Mutant(
        "the second item is never out of order",
        "kernels.py",
        "for index in range(1, len(items)):\n        if not",
        "for index in range(2, len(items)):\n        if not",
        "order.disorder_is_found",
    ),
    Mutant(
        "vnode keys of one operator are equal",
        "model.py",
        "return (1, self.operator_id, self.vnode)",
        "return (1, self.operator_id, 0)",
        "order.vnode_keys_go_by_operator_then_vnode",
    ),
    Mutant(
        "one initialized channel is enough to be active",
        "kernels.py",
        "if len(known) < len(active):",
        "if not known:",
        "watermarks.active_is_active_and_initialized",
    ),
    Mutant(
        "the furthest active channel counts",
        "kernels.py",
        '"active", min(known)',
        '"active", max(known)',
        "watermarks.the_active_value_is_the_minimum",
    ),
    Mutant(
        "idle channels move the frontier of a source that waits",
        "kernels.py",
        "if watermark is IDLE:",
        "if watermark.value is None:",
        "watermarks.a_frontier_is_no_further_than_an_active_channel",
    ),
    Mutant(
        "payloads of the current chunk are counted",
        "kernels.py",
        "    del uses[current]\n",
        "",
        "references.every_payload_counts_once",
    ),
    Mutant(
        "a vnode that equals the count is inside the domain",
        "kernels.py",
        "max(vnodes) < vnode_count",
        "max(vnodes) <= vnode_count",
        "topology.a_vnode_is_outside_or_below",
    ),
    Mutant(
        "some first vnodes are every vnode",
        "kernels.py",
        "len(owned) == vnode_count and all",
        "all",
        "topology.every_vnode_is_all_of_them_in_order",
    ),
    Mutant(
        "a fence may list node 0",
        "model.py",
        "if self.participants[0].node_id == 0:",
        "if self.participants[-1].node_id == 0:",
        "topology.a_fence_without_defect_has_a_roster",
    ),
    Mutant(
        "segments may end before their range does",
        "kernels.py",
        "        if cursor != through:\n",
        "        if cursor > through:\n",
        "sequences.a_run_holds_each_sequence_once",
    ),
    Mutant(
        "a segment may have no rows",
        "kernels.py",
        "        and row_count >= 1\n",
        "",
        "sequences.a_segment_has_frames_and_an_end",
    ),
    Mutant(
        "rows must go on across partitions",
        "kernels.py",
        "if partition == partition_before and end",
        "if end",
        "sequences.partitions_are_not_compared",
    ),
    Mutant(
        "shares are rounded up",
        "kernels.py",
        "in_cluster // participants",
        "-(-in_cluster // participants)",
        "limits.shares_never_exceed_the_budget",
    ),
    Mutant(
        "an integer field does not take its greatest value",
        "shapes.py",
        "least <= value <= greatest",
        "least <= value < greatest",
        "limits.a_u64_is_taken_exactly_in_its_bounds",
    ),
    Mutant(
        "U+001F stays raw",
        "encoding.py",
        'character < " "',
        'character < "\\x1f"',
        "text.only_what_must_be_is_escaped",
    ),
)


def examine_mutant(mutant: Mutant) -> Result:
    """Let the contract that should refute *mutant* be searched in a copy with the fault.

    Raises :class:`ValueError` where the original does not stand in the oracle exactly once.
    """
    (contract,) = (each for each in contracts() if each.name == mutant.refuted_by)
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        for package in ("oracle", "tests/contracts"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, copy / package, ignore=ignored)
        shutil.copy(ROOT / "tests/__init__.py", copy / "tests/__init__.py")
        source = copy / "oracle" / mutant.file
        text = source.read_text("utf-8")
        if text.count(mutant.original) != 1:
            raise ValueError(
                f"{mutant.original!r} stands {text.count(mutant.original)} times in "
                f"oracle/{mutant.file}, not once; bring the mutant {mutant.name!r} up to date"
            )
        source.write_text(text.replace(mutant.original, mutant.fault), "utf-8")
        return examine(contract, root=copy)
