"""How a comparison ends, for every kind of answer that an engine can give."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import oracle
from fuzz.comparison import AGREEMENT, Outcome, Signature, compare, compare_engines, contract_of
from fuzz.engines import EngineFailed, EngineRefused, EngineUnsupported, EngineVerdict
from fuzz.engines.protocol import Stage
from oracle import V10

DATA = Path(__file__).parents[1] / "data"
VALID = (DATA / "cases" / "base_local.json").read_bytes()
FENCED = (DATA / "cases" / "base_cluster.json").read_bytes()
SUBSCRIBED = (DATA / "cases" / "base_sub.json").read_bytes()
NO_TIME = (DATA / "rules" / "timestamp.json").read_bytes()
ONE_BYTE = b"{"
NO_TIME_MESSAGE = "timestamp_ms must be nonzero"
ATTEMPT_MESSAGE = "checkpoint attempt must use one nonzero canonical checkpoint ID"
RANGE_MESSAGE = (
    "subscription output manifest is invalid: "
    "subscription segment has an invalid sequence range or count"
)


@dataclass
class Answers:
    """An engine that says what it was told to say; digests are right unless told otherwise."""

    verdict: EngineVerdict
    digest: bytes | Exception | None = None
    name: str = "answers"
    release: str = "0.33.0"
    manifest_version: int = 10
    constants: dict[str, int | bytes] = field(default_factory=dict)
    judged: bytes = b""

    def judge(self, data: bytes, key_groups: int, *, canonical: bool = False) -> EngineVerdict:
        """Say it."""
        self.judged = data
        return self.verdict

    def _digest(self, right: bytes) -> bytes:
        if isinstance(self.digest, Exception):
            raise self.digest
        return right if self.digest is None else self.digest

    def fence_digest(self, fence: bytes) -> bytes:
        """The digest of the fence in the document."""
        there = oracle.decode(self.judged).assignment_fence
        assert there is not None
        return self._digest(oracle.fence_digest(there))

    def seal_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> tuple[bytes, str | None]:
        """The digest that the document's subscription output should have."""
        output = oracle.decode(self.judged).subscription_output
        assert output is not None
        return self._digest(oracle.node_subscription_digest(output)), None


def verdict(
    stage: Stage, *messages: str, of: bytes | None = None, place: str | None = None
) -> EngineVerdict:
    """An engine's verdict, with the right canonical encoding of the document *of*."""
    encoding = None if of is None else oracle.encode(oracle.decode(of))
    return EngineVerdict(stage, messages, encoding, place)


def signature_of(data: bytes, answer: EngineVerdict, key_groups: int = 4) -> Signature:
    """What differs between the oracle and an engine that gives *answer*."""
    return compare(data, Answers(answer), key_groups, V10).signature  # type: ignore[arg-type]


TABLE = {
    "both valid": (VALID, verdict("valid", of=VALID), AGREEMENT),
    "both valid, with digests": (SUBSCRIBED, verdict("valid", of=SUBSCRIBED), AGREEMENT),
    "both reject, whatever the reason": (ONE_BYTE, verdict("decode", "no idea"), AGREEMENT),
    "both invalid for the same rule": (
        NO_TIME,
        verdict("invalid", NO_TIME_MESSAGE, of=NO_TIME),
        AGREEMENT,
    ),
    "the engine has another rule too": (
        NO_TIME,
        verdict("invalid", NO_TIME_MESSAGE, ATTEMPT_MESSAGE, of=NO_TIME),
        Signature(Outcome.RULES, engine=("attempt",)),
    ),
    "the engine has another rule instead": (
        NO_TIME,
        verdict("invalid", ATTEMPT_MESSAGE, of=NO_TIME),
        Signature(Outcome.RULES, ("timestamp",), ("attempt",)),
    ),
    "the engine is invalid without a reason": (
        NO_TIME,
        verdict("invalid", of=NO_TIME),
        Signature(Outcome.RULES, ("timestamp",)),
    ),
    "only the oracle is invalid": (
        NO_TIME,
        verdict("valid", of=NO_TIME),
        Signature(Outcome.STAGE, ("timestamp",)),
    ),
    "only the engine is invalid": (
        VALID,
        verdict("invalid", NO_TIME_MESSAGE, of=VALID),
        Signature(Outcome.STAGE, engine=("timestamp",)),
    ),
    "only the engine is invalid, without a reason": (
        VALID,
        verdict("invalid", of=VALID),
        Signature(Outcome.STAGE),
    ),
    "a text that several rules share": (
        VALID,
        verdict("invalid", RANGE_MESSAGE, of=VALID),
        Signature(Outcome.STAGE, engine=("subscription.sequence|subscription.segment-range",)),
    ),
    "only the oracle rejects": (
        ONE_BYTE,
        verdict("invalid", NO_TIME_MESSAGE, of=VALID),
        Signature(Outcome.STAGE, ("decode: grammar",), ("decoded",)),
    ),
    "only the engine rejects": (
        NO_TIME,
        verdict("decode", 'invalid type: string "a\'b", expected u8 at line 1 column 77'),
        Signature(Outcome.STAGE, ("decoded",), ("decode: invalid type: string *, expected u*",)),
    ),
    "a reason that stands for no rule": (
        NO_TIME,
        verdict("invalid", NO_TIME_MESSAGE, "source 'a' is 12 too many", of=NO_TIME),
        Signature(Outcome.UNMAPPED, engine=("source * is * too many",)),
    ),
    "another encoding of a value": (
        VALID,
        EngineVerdict("valid", (), oracle.encode(oracle.decode(VALID)).replace(b"[0,", b"[9,")),
        Signature(Outcome.ENCODING, ("/owned_vnodes/*",), ("/owned_vnodes/*",)),
    ),
    "a field left out of the encoding": (
        VALID,
        EngineVerdict("valid", (), oracle.encode(oracle.decode(VALID)).replace(b'"epoch":9,', b"")),
        Signature(Outcome.ENCODING, ("/epoch",), ("/epoch",)),
    ),
    "another spelling in the encoding": (
        VALID,
        EngineVerdict("valid", (), oracle.encode(oracle.decode(VALID)).replace(b"[0,", b"[0, ")),
        Signature(Outcome.ENCODING, ("spelling",), ("spelling",)),
    ),
    "an encoding that is no JSON": (
        VALID,
        EngineVerdict("valid", (), b"\xff["),
        Signature(Outcome.ENCODING, ("the document",), ("the document",)),
    ),
    "no encoding": (
        VALID,
        verdict("valid"),
        Signature(Outcome.ENCODING, ("an encoding",), ("no encoding",)),
    ),
    "a panic": (
        VALID,
        verdict("panic", "index 7 out of bounds", place="src/lib.rs:3:1"),
        Signature(Outcome.PANIC, engine=("src/lib.rs:3:1",)),
    ),
    "a panic without a place": (
        ONE_BYTE,
        verdict("panic", "index 7 out of bounds"),
        Signature(Outcome.PANIC, engine=("index * out of bounds",)),
    ),
    "a hang": (VALID, verdict("hang", "10 s"), Signature(Outcome.HANG, engine=("* s",))),
    "a crash": (ONE_BYTE, verdict("crash", "SIGSEGV"), Signature(Outcome.CRASH, (), ("SIGSEGV",))),
}


@pytest.mark.parametrize(("data", "answer", "expected"), TABLE.values(), ids=TABLE)
def test_signature(data: bytes, answer: EngineVerdict, expected: Signature) -> None:
    """Each kind of answer gets its outcome, with the reasons that only one side has."""
    found = compare(data, Answers(answer), 4, V10)  # type: ignore[arg-type]
    assert found.signature == expected
    assert found.outcome is expected.outcome
    assert found.known is None
    assert found.is_finding == (expected is not AGREEMENT)


def test_every_outcome_is_in_the_table() -> None:
    """No outcome is without an example; the digest's and the ledger's are below."""
    shown = {expected.outcome for _, _, expected in TABLE.values()}
    assert shown == set(Outcome) - {Outcome.DIGEST, Outcome.KNOWN}


@pytest.mark.parametrize(
    ("data", "part"), [(FENCED, "assignment_fence"), (SUBSCRIBED, "assignment_fence")]
)
def test_other_digest(data: bytes, part: str) -> None:
    """A digest that differs is told with the part of the manifest that it is of."""
    engine = Answers(verdict("valid", of=data), bytes(32))
    found = compare(data, engine, 4, V10)  # type: ignore[arg-type]
    assert found.signature == Signature(Outcome.DIGEST, (part,), (part,))


def test_other_subscription_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of the subscription output is compared too."""
    engine = Answers(verdict("valid", of=SUBSCRIBED))
    other = (bytes(32), None)
    monkeypatch.setattr(engine, "seal_node_subscription_manifest", lambda *_: other)
    found = compare(SUBSCRIBED, engine, 4, V10)  # type: ignore[arg-type]
    assert found.signature.outcome is Outcome.DIGEST
    assert found.signature.engine == ("subscription_output",)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (EngineFailed("panic", "no", "a.rs:1:2"), Signature(Outcome.PANIC, (), ("a.rs:1:2",))),
        (EngineFailed("hang", "10 s"), Signature(Outcome.HANG, (), ("* s",))),
        (EngineRefused("not `this`"), Signature(Outcome.DIGEST, (), ("not *",))),
        (EngineUnsupported("no digests here"), AGREEMENT),
    ],
)
def test_failing_digest(failure: Exception, expected: Signature) -> None:
    """An engine that fails over a digest is told; one that has none only judges."""
    engine = Answers(verdict("valid", of=FENCED), failure)
    found = compare(FENCED, engine, 4, V10)  # type: ignore[arg-type]
    assert found.signature == expected


def test_shallow_comparison_looks_at_verdicts_only() -> None:
    """Without depth, an encoding that differs is not seen, and a verdict is."""
    engine = Answers(EngineVerdict("valid", (), b"{}"))
    assert not compare(VALID, engine, 4, V10, deep=False).is_finding  # type: ignore[arg-type]
    assert compare(NO_TIME, engine, 4, V10, deep=False).is_finding  # type: ignore[arg-type]


DISORDERED = (DATA / "cases" / "m_bs_vnode_miss.json").read_bytes()
UNOWNED_MESSAGE = "state frame vnode 1 is not owned by participant 1"
DISORDER_MESSAGE = "owned_vnodes must be strictly ordered and unique"


def test_unspecified_rule_is_not_compared() -> None:
    """While owned_vnodes is out of order, whether a vnode is found in it means nothing."""
    expected = oracle.judge(DISORDERED, 4).rules
    assert "owned-vnodes.order" in expected
    for messages in ((DISORDER_MESSAGE,), (DISORDER_MESSAGE, UNOWNED_MESSAGE)):
        found = signature_of(DISORDERED, verdict("invalid", *messages, of=DISORDERED))
        assert "frames.vnode-owned" not in found.oracle + found.engine


def test_rule_is_compared_when_its_cause_is_not_there() -> None:
    """The same rule counts in a manifest whose owned_vnodes are in order."""
    unowned = (DATA / "rules" / "frames.vnode-owned.json").read_bytes()
    found = signature_of(unowned, verdict("valid", of=unowned))
    assert found == Signature(Outcome.STAGE, ("frames.vnode-owned",))


def test_shared_text_agrees_with_either_of_its_rules() -> None:
    """A text that stands for two rules agrees with whichever of them the oracle found."""
    for name in ("b_range_reversed", "b_segment_1025"):
        data = (DATA / "cases" / f"{name}.json").read_bytes()
        assert oracle.judge(data, 4).rules <= {
            "subscription.sequence",
            "subscription.segment-range",
        }
        assert signature_of(data, verdict("invalid", RANGE_MESSAGE, of=data)) == AGREEMENT


ENGINES = {
    "same": (verdict("valid", of=VALID), verdict("valid", of=VALID), AGREEMENT),
    "both reject": (verdict("decode", "a"), verdict("decode", "b"), AGREEMENT),
    "both hang": (verdict("hang"), verdict("hang"), AGREEMENT),
    "one rejects now": (
        verdict("invalid", NO_TIME_MESSAGE),
        verdict("decode", "why 5"),
        Signature(Outcome.STAGE, ("decoded",), ("decode: why *",)),
    ),
    "one panics now": (
        verdict("valid"),
        verdict("panic", "no", place="a.rs:1:2"),
        Signature(Outcome.PANIC, ("decoded",), ("a.rs:1:2",)),
    ),
    "one panicked before": (
        verdict("panic", "no", place="a.rs:1:2"),
        verdict("decode", "why"),
        Signature(Outcome.PANIC, ("a.rs:1:2",), ("decode: why",)),
    ),
    "one rule less": (
        verdict("invalid", NO_TIME_MESSAGE, ATTEMPT_MESSAGE),
        verdict("invalid", ATTEMPT_MESSAGE),
        Signature(Outcome.RULES, ("timestamp",)),
    ),
    "valid now": (
        verdict("invalid", RANGE_MESSAGE),
        verdict("valid"),
        Signature(Outcome.STAGE, ("subscription.sequence|subscription.segment-range",)),
    ),
    "a new message": (
        verdict("valid"),
        verdict("invalid", "something 1"),
        Signature(Outcome.UNMAPPED, (), ("something *",)),
    ),
    "another encoding": (
        EngineVerdict("valid", (), b'{"epoch":1}'),
        EngineVerdict("valid", (), b'{"epoch":2}'),
        Signature(Outcome.ENCODING, ("/epoch",), ("/epoch",)),
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), ENGINES.values(), ids=ENGINES)
def test_two_engines(before: EngineVerdict, after: EngineVerdict, expected: Signature) -> None:
    """Two engines are compared as oracle and engine are, without the ledger."""
    assert compare_engines(before, after, V10) == expected


def test_contract_is_that_of_the_engines_format() -> None:
    """An engine is held against the contract of its own format; an unknown one against none."""
    assert contract_of(Answers(verdict("valid"))) is V10  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="format v77"):
        contract_of(Answers(verdict("valid"), manifest_version=77))  # type: ignore[arg-type]


def test_signature_reads_as_a_sentence() -> None:
    """A signature tells what differs."""
    assert str(AGREEMENT) == "agree"
    signature = Signature(Outcome.RULES, ("a", "b"), ("c",))
    assert str(signature) == "rules; oracle: a, b; engine: c"
