"""The oracle's word on a cut beside the engine's: each step of it, and everything it encodes.

A cut is an index with its participants' manifests and, where it has one, its predecessor. The
steps are compared one by one, since each stops at its first fault.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import oracle
from fuzz.engines.protocol import EngineRefused, StoreEngine
from fuzz.messages import Message, Messages
from oracle import CheckpointManifest, DecodeError, cuts
from oracle.constants import I64_MIN
from oracle.cuts import CommittedCheckpointIndex, CutFinding
from oracle.encoding import canonical_json_bytes

_MANIFEST_VERSION = 10
_FILE = "cuts.toml"


@dataclass(frozen=True, slots=True)
class CutDocuments:
    """A cut as it is stored."""

    index: bytes
    manifests: tuple[bytes, ...]
    predecessor: bytes | None = None


@dataclass(frozen=True, slots=True)
class CutDifference:
    """One step at which the two differ; each side's word is text."""

    step: str
    oracle: str
    engine: str

    def __str__(self) -> str:
        return f"{self.step}: the oracle says {self.oracle}; the engine says {self.engine}"


def compare_cut(engine: StoreEngine, documents: CutDocuments) -> list[CutDifference]:
    """Where *engine* and the oracle differ on a cut, step by step.

    Nothing that a document does to the engine raises, but for a panic
    (:class:`EngineFailed`).
    """
    return [*_differences(engine, documents)]


def _differences(engine: StoreEngine, documents: CutDocuments) -> Iterator[CutDifference]:
    index = yield from _index(engine, documents.index)
    if index is None:
        return
    yield from _manifests(engine, index, documents)
    if documents.predecessor is not None:
        yield from _predecessor(engine, index, documents.index, documents.predecessor)


def _index(
    engine: StoreEngine, data: bytes
) -> Generator[CutDifference, None, CommittedCheckpointIndex | None]:
    """Decode, validate, encode and refer to an index; gives it when both decode it."""
    verdict, reference = engine.judge_index(data)
    try:
        index = cuts.decode_index(data)
    except DecodeError as error:
        if verdict.stage != "decode":
            yield CutDifference("index", str(error), _said(verdict.stage, *verdict.messages))
        return None
    fault = cuts.validate_index(index)
    if fault is None and len(cuts.encode_index(index)) > cuts.MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
        return None  # Valid, and refused where it is encoded: the bridge raises that.
    if verdict.stage in ("decode", "panic", "hang", "crash"):
        yield CutDifference("index", str(fault), _said(verdict.stage, *verdict.messages))
        return None
    message = verdict.messages[0] if verdict.messages else None
    yield from _compare("index", index, fault, message, ("index",))
    if fault is None and verdict.stage == "valid":
        encoded, own = cuts.encode_and_reference(index)
        if encoded != verdict.canonical:
            yield CutDifference("encoding", repr(encoded), repr(verdict.canonical))
        if canonical_json_bytes(own) != reference:
            yield CutDifference("reference", str(own), repr(reference))
        theirs = engine.effective_source_watermarks(data)
        if cuts.effective_source_watermarks(index) != theirs:
            ours = cuts.effective_source_watermarks(index)
            yield CutDifference("watermarks", str(ours), str(theirs))
    return index


def _manifests(
    engine: StoreEngine, index: CommittedCheckpointIndex, documents: CutDocuments
) -> Iterator[CutDifference]:
    try:
        message = engine.validate_participant_manifests(documents.index, documents.manifests)
    except EngineRefused as refused:
        if all(map(_decodes, documents.manifests)):
            yield CutDifference("manifests", "every manifest decodes", str(refused))
        return
    fault = cuts.validate_participant_manifests(index, documents.manifests)
    yield from _compare("manifests", index, fault, message, ("index", "manifests"))
    decoded = [oracle.decode(document) for document in documents.manifests]
    for manifest, document in zip(decoded, documents.manifests, strict=True):
        yield from _participant(engine, manifest, document)
    if fault is None and any(manifest.subscription_output for manifest in decoded):
        yield from _merge(engine, index, decoded)


def _participant(
    engine: StoreEngine, manifest: CheckpointManifest, document: bytes
) -> Iterator[CutDifference]:
    ours = cuts.participant_reference(manifest, document)
    try:
        theirs = engine.committed_participant_ref(document)
    except EngineRefused:
        return  # Only a reference that an index would refuse is refused here.
    if canonical_json_bytes(ours) != theirs:
        yield CutDifference("participant", str(ours), repr(theirs))


def _merge(
    engine: StoreEngine, index: CommittedCheckpointIndex, manifests: Sequence[CheckpointManifest]
) -> Iterator[CutDifference]:
    fence = index.assignment_fence
    assert fence is not None
    merged = cuts.merge_node_subscription_manifests(
        index.epoch, index.checkpoint_id, fence, manifests
    )
    ours = [
        (
            canonical_json_bytes(stream.manifest),
            [(r.partition, r.first_sequence) for r in stream.ranges],
        )
        for stream in merged
    ]
    parts = [
        (canonical_json_bytes(manifest.subscription_output), manifest.owned_vnodes)
        for manifest in manifests
    ]
    answer = engine.merge_node_subscription_manifests(
        index.epoch, index.checkpoint_id, canonical_json_bytes(fence), parts
    )
    theirs = [
        (manifest, [(r["partition"], r["first_sequence"]) for r in json.loads(ranges)])
        for manifest, ranges in answer
    ]
    if ours != theirs:
        yield CutDifference("merge", repr(ours), repr(theirs))


def _predecessor(
    engine: StoreEngine, index: CommittedCheckpointIndex, data: bytes, older: bytes
) -> Iterator[CutDifference]:
    try:
        message = engine.validate_predecessor_index(data, older)
    except EngineRefused as refused:
        if _decodes_index(older):
            yield CutDifference("predecessor", "both decode", str(refused))
        return
    fault = cuts.validate_predecessor_index(index, cuts.decode_index(older))
    yield from _compare("predecessor", index, fault, message, ("index", "predecessor"))


def _compare(
    step: str,
    index: CommittedCheckpointIndex,
    fault: CutFinding | None,
    message: str | None,
    tables: tuple[str, ...],
) -> Iterator[CutDifference]:
    """One step's fault beside the engine's message."""
    rules = _rules_of(message, tables)
    if fault is None and message is None:
        return
    expected = "nothing wrong" if fault is None else fault.rule
    if expected == "predecessor.invalid":
        # The engine says of the predecessor what it would say of the index.
        if any(rule.startswith("index.") for rule in rules):
            return
    elif expected in rules or _known(index, expected):
        return
    yield CutDifference(step, str(fault), _said(message or "nothing wrong", *rules))


def _known(index: CommittedCheckpointIndex, rule: str) -> bool:
    """The known divergence: a reserved watermark behind an active channel without one.

    As for a manifest, the oracle follows the engine's documentation, and the engine's code ends
    at the first active channel that has not reported.
    """
    marks = [(channel.watermark, channel.idle) for channel in index.channel_progress]
    unreported = next((n for n, mark in enumerate(marks) if mark == (None, False)), None)
    if rule != "index.channels" or unreported is None:
        return False
    reserved = [n for n, (watermark, _) in enumerate(marks) if watermark == I64_MIN]
    return bool(reserved) and min(reserved) > unreported


def _rules_of(message: str | None, tables: tuple[str, ...]) -> tuple[str, ...]:
    """The rules that a message may stand for; one text may be of two steps."""
    if message is None:
        return ()
    entries = [cut_messages()[table].message_of(message) for table in tables]
    return tuple(rule for entry in entries if entry is not None for rule in entry.rules)


@cache
def cut_messages() -> Mapping[str, Messages]:
    """The engine's messages on cuts, for each of ``index``, ``manifests``, ``predecessor``."""
    text = resources.files("fuzz.messages").joinpath(_FILE).read_text("utf-8")
    return {
        table: Messages(
            _MANIFEST_VERSION,
            [Message(tuple(item["rules"]), item["pattern"], item["sample"]) for item in items],
        )
        for table, items in tomllib.loads(text).items()
    }


def _decodes(document: bytes) -> bool:
    try:
        oracle.decode(document)
    except DecodeError:
        return False
    return True


def _decodes_index(document: bytes) -> bool:
    try:
        cuts.decode_index(document)
    except DecodeError:
        return False
    return True


def _said(*words: str) -> str:
    return " · ".join(words)
