"""Labelled damage: what one operation does to a store, and exactly what an audit then says.

An operation is called what it does.
"""

# ruff: noqa: D103

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from oracle import owner_map_digest
from tests.oracle.store_tools import (
    GEN_COUNT,
    IDENTITY,
    TRADES,
    Document,
    Store,
    canonical,
    captured,
    declared,
    made,
    seal,
    seal_index,
    unfinished_write,
)

Made = Callable[[Path], Store]
Found = tuple[str, str]
"""File and rule."""

G, T = partial(captured, "gen_count"), partial(captured, "trades")


@dataclass(frozen=True)
class Damage:
    """One operation on one store; it gives what must be found, as (file, rule) pairs."""

    label: str
    store: Made
    operate: Callable[[Store], set[Found]]


DAMAGES: list[Damage] = []
HARMLESS: list[Damage] = []
"""Operations after which a store is what an engine may have left."""


Operation = Callable[[Store], set[Found]]


def damage(store: Made, into: list[Damage] = DAMAGES) -> Callable[[Operation], Operation]:
    """Register the decorated operation, named after itself."""

    def register(operate: Operation) -> Operation:
        into.append(Damage(operate.__name__, store, operate))
        return operate

    return register


def harmless(store: Made) -> Callable[[Operation], Operation]:
    """Register the decorated operation as one that does no damage."""
    return damage(store, HARMLESS)


# --- the deployment identity -----------------------------------------------------------------


@damage(G)
def identity_lost(store: Store) -> set[Found]:
    store.lose(IDENTITY)
    return {(IDENTITY, "identity.missing")}


@damage(G)
def identity_truncated(store: Store) -> set[Found]:
    store.cut(IDENTITY)
    return {(IDENTITY, "identity.decode")}


@damage(G)
def identity_bit_flipped(store: Store) -> set[Found]:
    store.flip(IDENTITY, 3)
    return {(IDENTITY, "identity.decode")}


@damage(G)
def identity_padded_beyond_its_bound(store: Store) -> set[Found]:
    store.write(IDENTITY, store.read(IDENTITY) + b" " * 1024)
    return {(IDENTITY, "identity.decode")}


@damage(G)
def identity_written_in_another_order(store: Store) -> set[Found]:
    store.write(IDENTITY, canonical(store.load(IDENTITY)))
    return {(IDENTITY, "identity.encoding")}


@damage(G)
def identity_of_an_older_version(store: Store) -> set[Found]:
    store.edit(IDENTITY, lambda d: d.update(version=2))
    return {(IDENTITY, "identity.version")}


@damage(G)
def identity_with_a_nil_allocation(store: Store) -> set[Found]:
    store.edit(IDENTITY, lambda d: d.update(allocation_id="00000000-0000-0000-0000-000000000000"))
    return {(IDENTITY, "identity.id")}


@damage(G)
def identity_of_another_deployment(store: Store) -> set[Found]:
    store.edit(IDENTITY, lambda d: d.update(id=TRADES))
    return {(IDENTITY, "identity.foreign")}


@damage(T)
def allocator_set_back(store: Store) -> set[Found]:
    store.edit(IDENTITY, lambda d: d.update(checkpoint_id=65_539))
    return {(IDENTITY, "identity.allocator")}


# --- the decision head -----------------------------------------------------------------------


@damage(G)
def decisions_lost(store: Store) -> set[Found]:
    store.lose(store.decisions)
    return {(store.decisions, "decisions.missing")}


@damage(G)
def decisions_truncated(store: Store) -> set[Found]:
    store.cut(store.decisions, 10)
    return {(store.decisions, "decisions.decode")}


@damage(G)
def decisions_spaced(store: Store) -> set[Found]:
    store.write(store.decisions, store.read(store.decisions) + b"\n")
    return {(store.decisions, "decisions.encoding")}


@damage(G)
def decisions_of_an_older_version(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d.update(version=1))
    return {(store.decisions, "decisions.version")}


@damage(G)
def decisions_of_another_deployment_in_its_place(store: Store) -> set[Found]:
    head = store.read(store.decisions).replace(GEN_COUNT.encode(), TRADES.encode())
    store.write(store.decisions, head)
    return {(store.decisions, "decisions.deployment")}


@damage(G)
def decisions_of_another_deployment_beside_it(store: Store) -> set[Found]:
    other = store.decisions.replace(GEN_COUNT, TRADES)
    store.write(other, store.read(store.decisions))
    return {(other, "store.deployment")}


@damage(G)
def outcome_of_the_cluster(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d["latest_commit"].update(scope="cluster"))
    return {(store.decisions, "decisions.outcome")}


@damage(G)
def outcome_of_another_epoch_than_its_reference(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d["latest_terminal"].update(epoch=5, checkpoint_id=5))
    return {(store.decisions, "decisions.outcome")}


@damage(G)
def abort_with_a_reference(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d["latest_terminal"].update(verdict="abort"))
    return {(store.decisions, "decisions.outcome")}


@damage(G)
def commit_forgotten(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d.update(latest_commit=None))
    return {(store.decisions, "decisions.commit")}


@damage(G)
def attempt_that_has_ended(store: Store) -> set[Found]:
    store.edit(store.decisions, lambda d: d.update(active_artifacts=store.attempt(4)))
    return {(store.decisions, "decisions.artifacts")}


@damage(G)
def decisions_stale(store: Store) -> set[Found]:
    store.decide(store.load(store.index)["predecessor"])
    return {(store.decisions, "decisions.stale")}


@damage(T)
def decisions_behind_retention(store: Store) -> set[Found]:
    store.decide(store.load(store.index)["predecessor"])
    return {(store.decisions, "decisions.stale")}


@damage(partial(made, checkpoints=1))
def local_commit_of_a_clusters_index(store: Store) -> set[Found]:
    fence = {
        "assignment_version": 1,
        "partitioning_abi_version": 2,
        "vnode_count": 4,
        "assignment_digest": [*owner_map_digest(4, [1, 1, 1, 1])],
        "participants": [{"node_id": 1, "boot_incarnation": TRADES}],
    }

    def join(document: Document) -> None:
        document.update(assignment_fence=fence, reassignment_portable=True)
        if "scope" in document:
            document["scope"] = "cluster"

    store.recommit(manifest=join, index=join)
    return {(store.decisions, "decisions.index")}


@damage(G)
def decisions_with_a_bit_flipped_in_the_digest(store: Store) -> set[Found]:
    reference = store.latest
    reference["sha256"] = "0" * 64
    store.decide(reference)
    return {(store.index_of(reference), "committed.missing")}


# --- the retention head ----------------------------------------------------------------------


@damage(G)
def retention_lost(store: Store) -> set[Found]:
    store.lose(store.retention)
    return {(store.retention, "retention.missing")}


@damage(T)
def retention_truncated(store: Store) -> set[Found]:
    store.cut(store.retention)
    return {(store.retention, "retention.decode")}


@damage(T)
def retention_written_in_another_order(store: Store) -> set[Found]:
    store.write(store.retention, canonical(store.load(store.retention)))
    return {(store.retention, "retention.encoding")}


@damage(G)
def retention_of_a_newer_version(store: Store) -> set[Found]:
    store.edit(store.retention, lambda d: d.update(version=2))
    return {(store.retention, "retention.version")}


@damage(G)
def retention_of_another_deployment_in_its_place(store: Store) -> set[Found]:
    store.edit(store.retention, lambda d: d.update(deployment_id=TRADES))
    return {(store.retention, "retention.deployment")}


@damage(G)
def retention_under_another_deployment(store: Store) -> set[Found]:
    other = store.retention.replace(GEN_COUNT, TRADES)
    store.write(other, store.read(store.retention))
    store.lose(store.retention)
    return {(other, "store.deployment")}


@damage(T)
def retention_idle_with_a_cursor(store: Store) -> set[Found]:
    store.edit(store.retention, lambda d: d["state"].update(phase="idle"))
    return {(store.retention, "retention.state")}


@damage(T)
def retention_that_moves_forward(store: Store) -> set[Found]:
    def turn(head: Document) -> None:
        cursor = head["state"]["cursor"]
        cursor["protected"], cursor["current"] = cursor["current"], cursor["protected"]

    store.edit(store.retention, turn)
    return {(store.retention, "retention.state")}


@damage(G)
def retention_of_a_cut_off_the_chain(store: Store) -> set[Found]:
    store.edit(store.retention, lambda d: d["state"]["protected"].update(sha256="0" * 64))
    return {(store.retention, "retention.protected")}


@damage(T)
def retention_cursor_with_another_next(store: Store) -> set[Found]:
    def bend(head: Document) -> None:
        for field in ("next", "stop_before"):
            head["state"]["cursor"][field]["sha256"] = "0" * 64

    store.edit(store.retention, bend)
    return {(store.retention, "retention.cursor")}


@damage(G)
def retention_stale(store: Store) -> set[Found]:
    older = store.load(store.index_of(store.load(store.index)["predecessor"]))["predecessor"]
    store.keep({"phase": "idle", "protected": older})
    return {(store.index_of(older), "committed.missing")}


@damage(T)
def retiring_index_lost_before_its_manifest(store: Store) -> set[Found]:
    store.edit(store.retention, lambda d: d["state"].update(phase="delete_metadata"))
    store.lose(store.index_of(store.load(store.retention)["state"]["cursor"]["current"]))
    return {(store.manifest(65_539), "retention.metadata")}


# --- committed indexes -----------------------------------------------------------------------


@damage(G)
def index_lost(store: Store) -> set[Found]:
    store.lose(store.index)
    return {(store.index, "committed.missing")}


@damage(G)
def older_index_lost(store: Store) -> set[Found]:
    older = store.index_of(store.load(store.index)["predecessor"])
    store.lose(older)
    return {(older, "committed.missing")}


@damage(T)
def retiring_index_lost(store: Store) -> set[Found]:
    retiring = store.index_of(store.load(store.index)["predecessor"])
    store.lose(retiring)
    return {(retiring, "committed.missing")}


@damage(G)
def index_bit_flipped(store: Store) -> set[Found]:
    store.flip(store.index)
    return {(store.index, "committed.digest")}


@damage(G)
def index_truncated(store: Store) -> set[Found]:
    store.cut(store.index)
    return {(store.index, "committed.digest")}


@damage(G)
def index_of_another_cut(store: Store) -> set[Found]:
    older = store.index_of(store.load(store.index)["predecessor"])
    store.write(store.index, store.read(older))
    return {(store.index, "committed.digest")}


@damage(G)
def indexes_swapped(store: Store) -> set[Found]:
    older = store.index_of(store.load(store.index)["predecessor"])
    store.swap(store.index, older)
    return {(store.index, "committed.digest")}


@damage(G)
def index_that_does_not_decode(store: Store) -> set[Found]:
    data = store.read(store.index)
    store.lose(store.index)
    store.decide(store.write_index(data.replace(b'"scope":"local"', b'"scope":"locus"')))
    return {(store.index, "committed.decode")}


@damage(G)
def index_not_canonical(store: Store) -> set[Found]:
    data = store.read(store.index)
    store.lose(store.index)
    store.decide(store.write_index(data.replace(b'"scope":', b'"scope": ')))
    return {(store.index, "committed.encoding")}


@damage(G)
def index_at_the_path_of_another_attempt(store: Store) -> set[Found]:
    data = store.read(store.index)
    store.lose(store.index)
    store.decide(store.write_index(data, 5))
    return {(store.index, "committed.path")}


@damage(G)
def index_of_another_deployment(store: Store) -> set[Found]:
    store.recommit(index=lambda d: d.update(deployment_id=TRADES))
    return {(store.index, "committed.deployment")}


@damage(G)
def index_with_a_wrong_scope(store: Store) -> set[Found]:
    store.recommit(index=lambda d: d.update(reassignment_portable=True))
    return {(store.index, "index.scope")}


@damage(T)
def index_of_an_unknown_version(store: Store) -> set[Found]:
    store.recommit(index=lambda d: d.update(version=5))
    store.keep({"phase": "idle", "protected": store.latest})
    return {(store.index, "index.version")}


@damage(made)
def watermark_that_falls_back(store: Store) -> set[Found]:
    def lower(document: Document) -> None:
        document["checkpoint_watermark"] = document["channel_progress"][0]["watermark"] = 0
        if "source_watermarks" in document:
            document["source_watermarks"]["orders"] = 0

    store.recommit(manifest=lower, index=lower)
    return {(store.index, "predecessor.regression")}


@damage(made)
def cut_of_other_sources_than_its_predecessor(store: Store) -> set[Found]:
    def add(document: Document) -> None:
        document["source_names"] = ["orders", "trades"]

    store.recommit(manifest=add, index=add)
    return {(store.index, "predecessor.foreign")}


# --- manifests -------------------------------------------------------------------------------


@damage(G)
def manifest_lost(store: Store) -> set[Found]:
    store.lose(store.manifest(4))
    return {(store.manifest(4), "manifest.missing")}


@damage(G)
def manifest_of_the_protected_cut_lost(store: Store) -> set[Found]:
    store.lose(store.manifest(3))
    return {(store.manifest(3), "manifest.missing")}


@damage(T)
def manifest_of_the_retiring_cut_lost(store: Store) -> set[Found]:
    store.lose(store.manifest(65_539))
    return {(store.manifest(65_539), "manifest.missing")}


@damage(G)
def manifest_bit_flipped(store: Store) -> set[Found]:
    store.flip(store.manifest(4), 30_000)
    return {(store.manifest(4), "cut.manifest-bytes")}


@damage(G)
def manifest_truncated(store: Store) -> set[Found]:
    store.cut(store.manifest(4), 5_000)
    return {(store.manifest(4), "cut.manifest-bytes")}


@damage(G)
def manifests_swapped(store: Store) -> set[Found]:
    store.swap(store.manifest(3), store.manifest(4))
    return {(store.manifest(3), "cut.manifest-bytes"), (store.manifest(4), "cut.manifest-bytes")}


@damage(G)
def manifest_grown_beyond_its_bound(store: Store) -> set[Found]:
    os.truncate(store.root / store.manifest(4), 17 * 1024 * 1024)
    return {(store.manifest(4), "manifest.size")}


@damage(G)
def committed_manifest_sealed(store: Store) -> set[Found]:
    data = store.read(store.data(4))
    seal(store, 4)
    store.write(store.data(4), data)
    return {(store.manifest(4), "cut.manifest-bytes")}


@damage(G)
def manifest_that_breaks_rules(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d.update(timestamp_ms=0, partitioning_abi_version=1))
    return {(store.manifest(4), "timestamp"), (store.manifest(4), "partitioning-abi")}


@damage(G)
def manifest_of_another_pipeline(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d["pipeline_identity"].update(sha256="9" * 64))
    return {(store.manifest(4), "cut.foreign")}


@damage(G)
def manifest_of_other_sources(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d.update(source_names=["sensors", "things"]))
    return {(store.manifest(4), "cut.source-names")}


@damage(G)
def offsets_that_are_not_the_manifests(store: Store) -> set[Found]:
    store.recommit(index=lambda d: d["source_offsets"]["sensors"]["offsets"].update(seq="65"))
    return {(store.index, "cut.offsets")}


@damage(made)
def channels_that_are_not_the_manifests(store: Store) -> set[Found]:
    def forget(document: Document) -> None:
        document.update(channel_progress=[], checkpoint_watermark=None)
        document["source_watermarks"]["orders"] -= 1  # the predecessor's

    store.recommit(index=forget)
    return {(store.index, "cut.channels")}


# --- node data -------------------------------------------------------------------------------


@damage(T)
def object_lost(store: Store) -> set[Found]:
    store.lose(store.data(65_537))
    return {(store.data(65_537), "object.missing")}


@damage(G)
def empty_object_lost(store: Store) -> set[Found]:
    store.lose(store.data(4))
    return {(store.data(4), "object.missing")}


@damage(T)
def object_bit_flipped(store: Store) -> set[Found]:
    store.flip(store.data(65_540), 40_000)
    return {(store.data(65_540), "object.frame")}


@damage(T)
def object_truncated(store: Store) -> set[Found]:
    store.cut(store.data(65_540), 100)
    return {(store.data(65_540), "object.length")}


@damage(G)
def object_grown(store: Store) -> set[Found]:
    store.write(store.data(4), b"\0")
    return {(store.data(4), "object.length")}


@damage(T)
def objects_of_different_lengths_swapped(store: Store) -> set[Found]:
    store.swap(store.data(65_538), store.data(65_540))
    return {(store.data(65_538), "object.length"), (store.data(65_540), "object.length")}


@damage(partial(made, checkpoints=3))
def objects_of_one_length_swapped(store: Store) -> set[Found]:
    store.swap(store.data(2), store.data(3))
    return {
        (store.data(checkpoint), rule)
        for checkpoint in (2, 3)
        for rule in ("object.frame", "object.intent", "object.sink")
    }


@damage(made)
def sink_payload_bit_flipped(store: Store) -> set[Found]:
    store.flip(store.data(2))
    return {(store.data(2), "object.sink")}


@damage(made)
def intent_payload_bit_flipped(store: Store) -> set[Found]:
    store.flip(store.data(2), store.read(store.data(2)).index(b"intent"))
    return {(store.data(2), "object.intent")}


@damage(made)
def frame_digest_that_is_not_the_frames(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d["state_frames"][2].update(sha256="f" * 64))
    return {(store.data(3), "object.frame")}


@damage(made)
def whole_digest_that_is_not_the_objects(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d["node_data"].update(sha256="f" * 64))
    return {(store.data(3), "object.digest")}


@damage(made)
def part_of_an_object_that_no_frame_names(store: Store) -> set[Found]:
    """Vnode 0's first frame is in checkpoint 1 and used by nobody once 2 and 3 are all there is."""
    index = store.load(store.index_of(store.load(store.index)["predecessor"]))
    older = store.index_of(index["predecessor"])
    store.keep({"phase": "idle", "protected": store.load(store.index)["predecessor"]})
    store.lose(older)
    store.lose(store.manifest(1))
    store.flip(store.data(1))
    return {(store.data(1), "object.digest")}


@damage(made)
def object_named_with_two_lengths(store: Store) -> set[Found]:
    store.recommit(manifest=lambda d: d["referenced_chunks"][0].update(object_length=500))
    return {(store.data(2), "object.conflict")}


# --- what nothing names ----------------------------------------------------------------------


@damage(T)
def manifest_left_over(store: Store) -> set[Found]:
    store.write(store.manifest(65_537), store.read(store.manifest(65_540)))
    return {(store.manifest(65_537), "store.unreachable")}


@damage(G)
def object_left_over(store: Store) -> set[Found]:
    store.write(store.data(2), b"once needed")
    return {(store.data(2), "store.unreachable")}


@damage(G)
def object_of_a_stranger(store: Store) -> set[Found]:
    file = store.data(3).replace("nodes/1/", "nodes/2/")
    store.write(file, b"by another participant")
    return {(file, "store.unreachable")}


@damage(G)
def index_left_over(store: Store) -> set[Found]:
    reference = store.write_index(store.read(store.index).replace(b'"64"', b'"65"'))
    return {(store.index_of(reference), "store.unreachable")}


@damage(G)
def files_of_an_attempt_that_nobody_announced(store: Store) -> set[Found]:
    store.write(store.data(5), b"new state")
    return {(store.decisions, "decisions.stale")}


@damage(G)
def seal_of_another_checkpoint(store: Store) -> set[Found]:
    seal(store, 2, chunk={"participant_id": 1, "checkpoint_id": 1})
    return {(store.manifest(2), "seal.invalid")}


@damage(G)
def sealed_manifest_beside_data_that_is_not(store: Store) -> set[Found]:
    seal(store, 2)
    store.write(store.data(2), b"state of an aborted attempt")
    return {(store.data(2), "store.unreachable")}


@damage(G)
def seal_of_another_index(store: Store) -> set[Found]:
    file = seal_index(store, 2)
    store.write(file, store.read(file).replace(b'"len":9', b'"len":8').replace(b"ccc", b"ddd"))
    return {(file, "seal.invalid")}


# --- what an engine may have left ------------------------------------------------------------


@harmless(G)
def nothing(store: Store) -> set[Found]:
    return set()


@harmless(T)
def nothing_while_data_is_retired(store: Store) -> set[Found]:
    return set()


@harmless(T)
def killed_while_data_was_deleted(store: Store) -> set[Found]:
    store.lose(store.data(65_539))
    return set()


@harmless(T)
def killed_when_data_had_been_deleted(store: Store) -> set[Found]:
    store.lose(store.data(65_539))
    store.edit(store.retention, lambda d: d["state"].update(phase="delete_metadata"))
    return set()


@harmless(T)
def killed_when_the_manifest_had_been_deleted(store: Store) -> set[Found]:
    killed_when_data_had_been_deleted(store)
    store.lose(store.manifest(65_539))
    return set()


@harmless(T)
def killed_when_the_index_had_been_deleted(store: Store) -> set[Found]:
    killed_when_the_manifest_had_been_deleted(store)
    store.lose(store.index_of(store.load(store.retention)["state"]["cursor"]["current"]))
    return set()


@harmless(T)
def retention_finished(store: Store) -> set[Found]:
    killed_when_the_index_had_been_deleted(store)
    store.keep({"phase": "idle", "protected": store.latest})
    return set()


@harmless(G)
def killed_in_an_attempt(store: Store) -> set[Found]:
    store.write(store.data(5), b"new state")
    store.decide(store.latest, active_artifacts=store.attempt(5))
    return set()


@harmless(G)
def killed_before_the_commit(store: Store) -> set[Found]:
    killed_in_an_attempt(store)
    store.write(store.manifest(5), b"{}")
    store.write_index(store.read(store.index), 5)
    return set()


@harmless(G)
def attempt_aborted(store: Store) -> set[Found]:
    seal(store, 5)
    seal_index(store, 5)
    store.decide(store.latest, latest_terminal=store.outcome(5, None))
    return set()


@harmless(G)
def attempt_aborted_before_the_last_commit(store: Store) -> set[Found]:
    seal(store, 2)
    seal_index(store, 2)
    return set()


@harmless(G)
def write_unfinished(store: Store) -> set[Found]:
    unfinished_write(store, 5, 1_000)
    return set()


@harmless(made)
def chain_from_the_first_cut(store: Store) -> set[Found]:
    return set()


@harmless(partial(made, checkpoints=6))
def several_cuts_to_be_retired(store: Store) -> set[Found]:
    cuts = [store.latest]
    while (predecessor := store.load(store.index_of(cuts[-1]))["predecessor"]) is not None:
        cuts.append(predecessor)
    cursor = {"protected": cuts[0], "current": cuts[1], "next": cuts[2], "stop_before": None}
    store.keep({"phase": "delete_data", "cursor": cursor})
    store.lose(store.data(4))
    return set()


@harmless(made)
def other_files(store: Store) -> set[Found]:
    store.write("catalog/schema-contracts-v1.json", declared({}))
    store.write("nodes/1/notes.txt", b"not this contract's")
    return set()
