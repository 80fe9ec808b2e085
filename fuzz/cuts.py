"""The oracle's word on a cut beside the engine's: each step of it, and everything it encodes.

A cut is an index with its participants' manifests and, where it has one, its predecessor. The
steps are compared one by one, since each stops at its first fault: the index by itself, each
manifest by itself, all of them together, the predecessor by itself, and the two indexes. What
rests on something of which the two do not say the same is not looked at any more.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, cast

import oracle
from fuzz.comparison import compare, fields_in, normalised
from fuzz.engines.protocol import (
    Engine,
    EngineFailed,
    EngineRefused,
    EngineUnsupported,
    FailedStage,
    StoreEngine,
)
from fuzz.ledger import known_divergence
from fuzz.messages import Message, Messages
from fuzz.outcome import Outcome, Signature, oracle_says
from oracle import V10, CheckpointManifest, DecodeError, cuts
from oracle.cuts import CommittedCheckpointIndex, CutFinding
from oracle.encoding import canonical_json_bytes

if TYPE_CHECKING:
    from strategies.cut_index import WholeCut

CONTRACT = V10
"""The one manifest format that cuts are described for."""

WRONG_AT = INDEX, MANIFESTS, PREDECESSOR = "index", "manifests", "predecessor"
"""The steps at which a cut can have a fault."""

_FILE = "cuts.toml"
_DECODED = "decoded"


@dataclass(frozen=True, slots=True)
class CutDocuments:
    """A cut as it is stored."""

    index: bytes
    manifests: tuple[bytes, ...]
    predecessor: bytes | None = None

    def text(self) -> bytes:
        """The cut as one document: a line for the index, one for the predecessor, and manifests.

        The predecessor's line is empty where there is none. :class:`ValueError` when one of the
        documents has lines of its own.
        """
        documents = (self.index, self.predecessor or b"", *self.manifests)
        if any(b"\n" in document for document in documents):
            raise ValueError("a document of more than one line cannot stand in a cut's text")
        return b"\n".join(documents)

    @classmethod
    def of_cut(cls, cut: WholeCut) -> CutDocuments:
        """*cut* as it is stored."""
        older = cut.predecessor
        predecessor = None if older is None else cuts.encode_index(older)
        return cls(cut.index_document, cut.documents, predecessor)

    @classmethod
    def of_text(cls, text: bytes) -> CutDocuments:
        """The cut whose text is *text*; any bytes are one."""
        index, _, rest = text.partition(b"\n")
        predecessor, *manifests = rest.split(b"\n")
        return cls(index, tuple(manifests), predecessor or None)


@dataclass(frozen=True, slots=True)
class CutDifference:
    """One step at which the two differ: in short, and in each side's words.

    ``known`` is the id of the known divergence that it is.
    """

    step: str
    signature: Signature
    oracle: str
    engine: str
    known: str | None = None

    def __str__(self) -> str:
        return f"{self.step}: the oracle says {self.oracle}; the engine says {self.engine}"


@dataclass(frozen=True, slots=True)
class CutVerdict:
    """The oracle's word on a cut: the first step at which something is wrong, and what.

    ``step`` is ``None`` for a cut that is valid; ``rejection`` is there instead of ``fault``
    where an index is none.
    """

    step: str | None = None
    fault: CutFinding | None = None
    rejection: DecodeError | None = None

    def __str__(self) -> str:
        if self.step is None:
            return "valid"
        return f"{self.step}: {self.rejection or self.fault}"


@dataclass(frozen=True, slots=True)
class CutComparison:
    """The oracle and an engine on one cut.

    ``oracle_rules`` and ``engine_rules`` are those of cuts that each side says are broken, of
    all steps. What is not known stands for the comparison before what is.
    """

    oracle: CutVerdict
    oracle_rules: frozenset[str]
    engine_rules: frozenset[str]
    differences: tuple[CutDifference, ...]

    @property
    def first(self) -> CutDifference | None:
        """The difference that stands for the comparison, if there is one."""
        unknown = (each for each in self.differences if each.known is None)
        return next(unknown, next(iter(self.differences), None))

    @property
    def outcome(self) -> Outcome:
        """How the comparison ended."""
        first = self.first
        if first is None:
            return Outcome.AGREE
        return Outcome.KNOWN if first.known else first.signature.outcome

    @property
    def known(self) -> str | None:
        """The id of the divergence, when the outcome is ``KNOWN``."""
        return None if self.first is None else self.first.known

    @property
    def is_finding(self) -> bool:
        """Whether someone should look at it: it is neither agreement nor known."""
        return self.first is not None and self.first.known is None


def lending_cuts(engine: Engine) -> StoreEngine:
    """*engine*, if it can be asked about cuts.

    :class:`EngineUnsupported` says why it cannot.
    """
    if engine.manifest_version != CONTRACT.manifest_version:
        raise EngineUnsupported(
            f"{engine.name} speaks manifest format v{engine.manifest_version}, and cuts are "
            f"described for v{CONTRACT.manifest_version}"
        )
    if not hasattr(engine, "judge_index"):
        raise EngineUnsupported(f"{engine.name} judges manifests, and cannot be asked about a cut")
    lending = cast(StoreEngine, engine)
    lending.judge_index(b"")
    return lending


def judge_cut(documents: CutDocuments) -> CutVerdict:
    """The oracle's word on a cut."""
    try:
        index = cuts.decode_index(documents.index)
    except DecodeError as rejection:
        return CutVerdict(INDEX, rejection=rejection)
    fault = cuts.validate_index(index)
    if fault is not None:
        return CutVerdict(INDEX, fault)
    fault = cuts.validate_participant_manifests(index, documents.manifests)
    if fault is not None:
        return CutVerdict(MANIFESTS, fault)
    if documents.predecessor is not None:
        try:
            predecessor = cuts.decode_index(documents.predecessor)
        except DecodeError as rejection:
            return CutVerdict(PREDECESSOR, rejection=rejection)
        fault = cuts.validate_predecessor_index(index, predecessor)
        if fault is not None:
            return CutVerdict(PREDECESSOR, fault)
    return CutVerdict()


def compare_cut(engine: StoreEngine, documents: CutDocuments) -> CutComparison:
    """What the oracle and *engine* say of a cut, step by step.

    Nothing that a document does to the engine raises. :class:`EngineUnsupported` when the engine
    cannot be asked; see :func:`lending_cuts`.
    """
    verdict = judge_cut(documents)
    comparing = _Comparing(engine, verdict)
    comparing.run(documents)
    return CutComparison(
        verdict,
        frozenset(comparing.oracle_rules),
        frozenset(comparing.engine_rules),
        tuple(comparing.differences),
    )


class _Comparing:
    """One cut on its way through the steps."""

    def __init__(self, engine: StoreEngine, verdict: CutVerdict) -> None:
        self._engine = engine
        self._verdict = verdict
        self.differences: list[CutDifference] = []
        self.oracle_rules: set[str] = set()
        self.engine_rules: set[str] = set()

    def run(self, documents: CutDocuments) -> None:
        """Compare at every step."""
        index = self._index(INDEX, documents.index)
        if index is None:
            return
        valid = self._verdict.step != INDEX
        if not valid or self._each_manifest(index, documents.manifests):
            with self._answering(MANIFESTS):
                self._manifests(index, documents)
        older = documents.predecessor
        if older is not None and self._index("predecessor's index", older) is not None:
            with self._answering(PREDECESSOR):
                self._predecessor(index, documents.index, older, valid)

    @contextmanager
    def _answering(self, step: str) -> Iterator[None]:
        """An engine that does not answer is a difference at *step*."""
        try:
            yield
        except EngineFailed as failure:
            self._failed(step, failure.stage, failure.message, failure.place)

    def _failed(self, step: str, stage: FailedStage, message: str, place: str | None) -> None:
        signature = Signature(Outcome(stage), engine=(place or normalised([message])[0],))
        self._differ(step, signature, "an engine answers", f"{stage}: {message}")

    def _differ(self, step: str, signature: Signature, ours: str, theirs: str) -> None:
        known = known_divergence(signature, self._engine.release, CONTRACT)
        self.differences.append(CutDifference(step, signature, ours, theirs, known))

    def _unequal(
        self, step: str, outcome: Outcome, what: str, ours: object, theirs: object
    ) -> None:
        """Something that both make is not the same."""
        self._differ(step, Signature(outcome, (what,), (what,)), repr(ours), repr(theirs))

    # --- an index by itself --------------------------------------------------------------------

    def _index(self, step: str, data: bytes) -> CommittedCheckpointIndex | None:
        """Decode, validate, encode and refer to an index; gives it where both say the same."""
        before = len(self.differences)
        index = None
        with self._answering(step):
            index = self._judge_index(step, data)
        return index if len(self.differences) == before else None

    def _judge_index(self, step: str, data: bytes) -> CommittedCheckpointIndex | None:
        try:
            verdict, reference = self._engine.judge_index(data)
        except EngineRefused as refused:
            self._refused_to_encode(step, data, str(refused))
            return None
        if verdict.stage in ("panic", "hang", "crash"):
            self._failed(step, verdict.stage, verdict.messages[0], verdict.place)
            return None
        said = " · ".join((verdict.stage, *verdict.messages))
        try:
            index = cuts.decode_index(data)
        except DecodeError as error:
            if verdict.stage != "decode":
                signature = Signature(Outcome.STAGE, (f"decode: {error.kind.value}",), (_DECODED,))
                self._differ(step, signature, str(error), said)
            return None
        fault = cuts.validate_index(index)
        if verdict.stage == "decode":
            reasons = tuple(f"decode: {text}" for text in normalised(verdict.messages))
            signature = Signature(Outcome.STAGE, (_DECODED,), reasons)
            self._differ(step, signature, str(fault or "valid"), said)
            return None
        message = verdict.messages[0] if verdict.messages else None
        agreed = self._faults(step, fault, message, _rules_of(message, INDEX))
        if agreed and fault is None:
            self._encoded(step, data, index, verdict.canonical, reference)
        return index

    def _refused_to_encode(self, step: str, data: bytes, refusal: str) -> None:
        """A valid index that is too long has no encoding."""
        try:
            cuts.encode_and_reference(cuts.decode_index(data))
        except cuts.InvalidCut as invalid:
            if invalid.finding.rule == "index.too-large":
                return
            ours = str(invalid)
        except DecodeError as error:
            ours = str(error)
        else:
            ours = "it has an encoding"
        self._differ(step, Signature(Outcome.ENCODING, engine=normalised([refusal])), ours, refusal)

    def _encoded(
        self,
        step: str,
        data: bytes,
        index: CommittedCheckpointIndex,
        canonical: bytes | None,
        reference: bytes | None,
    ) -> None:
        encoded, own = cuts.encode_and_reference(index)
        if encoded != canonical:
            self._unequal(step, Outcome.ENCODING, "index", encoded, canonical)
        ours = canonical_json_bytes(own)
        if ours != reference:
            self._unequal(step, Outcome.DIGEST, "reference", ours, reference)
        marks = cuts.effective_source_watermarks(index)
        theirs = self._engine.effective_source_watermarks(data)
        if marks != theirs:
            self._unequal(step, Outcome.RULES, "effective source watermarks", marks, theirs)

    # --- manifests -----------------------------------------------------------------------------

    def _each_manifest(self, index: CommittedCheckpointIndex, documents: Sequence[bytes]) -> bool:
        """Compare each manifest by itself; gives whether both say the same of all."""
        before = len(self.differences)
        for number, document in enumerate(documents):
            found = compare(document, self._engine, index.vnode_count, CONTRACT)
            if found.signature.outcome is not Outcome.AGREE:
                said = " · ".join((found.engine.stage, *found.engine.messages))
                self.differences.append(
                    CutDifference(
                        f"manifest {number + 1}",
                        found.signature,
                        " · ".join(oracle_says(found.oracle)),
                        said,
                        found.known,
                    )
                )
        return len(self.differences) == before

    def _manifests(self, index: CommittedCheckpointIndex, documents: CutDocuments) -> None:
        """Compare the manifests together, beside the index."""
        fault = None if self._verdict.step == PREDECESSOR else self._verdict.fault
        decoded = [_decoded(document) for document in documents.manifests]
        try:
            message = self._engine.validate_participant_manifests(
                documents.index, documents.manifests
            )
        except EngineRefused as refused:
            # The engine is given manifests and not bytes: one that is none, it never sees.
            if fault is None or None not in decoded:
                signature = Signature(Outcome.STAGE, (_DECODED,), normalised([str(refused)]))
                self._differ(MANIFESTS, signature, str(fault or "valid"), str(refused))
            elif fault.rule == "cut.manifest-decode":
                self._count(fault, (fault.rule,))
            return
        rules = _rules_of(message, INDEX, MANIFESTS)
        agreed = self._faults(MANIFESTS, fault, message, rules)
        manifests = [manifest for manifest in decoded if manifest is not None]
        for manifest, document in zip(manifests, documents.manifests, strict=True):
            self._participant(manifest, document)
        if agreed and fault is None and any(each.subscription_output for each in manifests):
            self._merge(index, manifests)

    def _participant(self, manifest: CheckpointManifest, document: bytes) -> None:
        try:
            theirs = self._engine.committed_participant_ref(document)
        except EngineRefused:
            return  # Only a reference that an index would refuse is refused here.
        ours = canonical_json_bytes(cuts.participant_reference(manifest, document))
        if ours != theirs:
            self._unequal(MANIFESTS, Outcome.DIGEST, "participant reference", ours, theirs)

    def _merge(
        self, index: CommittedCheckpointIndex, manifests: Sequence[CheckpointManifest]
    ) -> None:
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
        answer = self._engine.merge_node_subscription_manifests(
            index.epoch, index.checkpoint_id, canonical_json_bytes(fence), parts
        )
        theirs = [
            (manifest, [(r["partition"], r["first_sequence"]) for r in json.loads(ranges)])
            for manifest, ranges in answer
        ]
        if ours != theirs:
            self._unequal(MANIFESTS, Outcome.ENCODING, "merged subscription", ours, theirs)

    # --- the predecessor -----------------------------------------------------------------------

    def _predecessor(
        self, index: CommittedCheckpointIndex, data: bytes, older: bytes, valid: bool
    ) -> None:
        """Compare two indexes of which both sides say the same by themselves."""
        fault = cuts.validate_predecessor_index(index, cuts.decode_index(older))
        message = self._engine.validate_predecessor_index(data, older)
        rules = _rules_of(message, INDEX)
        if rules and valid:
            # The engine says of the predecessor what it would say of the index.
            rules = ("predecessor.invalid",)
        self._faults(PREDECESSOR, fault, message, (*rules, *_rules_of(message, PREDECESSOR)))

    # --- one step's word -----------------------------------------------------------------------

    def _faults(
        self, step: str, fault: CutFinding | None, message: str | None, rules: tuple[str, ...]
    ) -> bool:
        """Compare a fault with a message that may stand for *rules*; gives whether they agree."""
        if message is not None and not rules:
            signature = Signature(Outcome.UNMAPPED, engine=normalised([message]))
            self._differ(step, signature, str(fault or "valid"), message)
            return False
        self._count(fault, rules)
        if fault is None and message is None:
            return True
        if fault is not None and fault.rule in rules:
            return True
        outcome = Outcome.STAGE if fault is None or message is None else Outcome.RULES
        ours = () if fault is None else (_place_of(fault),)
        theirs = ("|".join(rules),) if rules else ()
        said = "valid" if message is None else f"{message} [{'|'.join(rules)}]"
        self._differ(step, Signature(outcome, ours, theirs), str(fault or "valid"), said)
        return False

    def _count(self, fault: CutFinding | None, rules: tuple[str, ...]) -> None:
        if fault is not None:
            self.oracle_rules.add(fault.rule)
        if fault is not None and fault.rule in rules:
            self.engine_rules.add(fault.rule)
        else:
            self.engine_rules.update(rules[:1])


_FIELDS = fields_in(cuts, oracle)


def _place_of(fault: CutFinding) -> str:
    """The rule and the place where it is broken, with a star for what is a document's own."""
    steps = fault.pointer.split("/")[1:]
    # A rule speaks of several places, and a divergence at one of them is none at the others.
    place = "".join(f"/{step if step in _FIELDS else '*'}" for step in steps)
    return f"{fault.rule} {place}" if place else fault.rule


def _rules_of(message: str | None, *tables: str) -> tuple[str, ...]:
    """The rules that a message may stand for; one text may be of two steps."""
    if message is None:
        return ()
    entries = [cut_messages()[table].message_of(message) for table in tables]
    return tuple(rule for entry in entries if entry is not None for rule in entry.rules)


@cache
def cut_messages() -> Mapping[str, Messages]:
    """The engine's messages on cuts, for each step."""
    text = resources.files("fuzz.messages").joinpath(_FILE).read_text("utf-8")
    return {
        table: Messages(
            CONTRACT.manifest_version,
            [Message(tuple(item["rules"]), item["pattern"], item["sample"]) for item in items],
        )
        for table, items in tomllib.loads(text).items()
    }


def _decoded(document: bytes) -> CheckpointManifest | None:
    try:
        return oracle.decode(document)
    except DecodeError:
        return None
