"""The oracle's verdict on a document beside the engine's, and one engine's beside another's.

What is compared: how far the document came, the set of broken rules, the canonical encoding,
and the digests. A comparison ends in an :class:`Outcome`; a :class:`Signature` says in a few
words what differs, so that many documents that show one disagreement fall together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any

import oracle
from fuzz.assumptions import contract_with_numbers_of, exports_view_logs
from fuzz.engines.protocol import (
    Engine,
    EngineFailed,
    EngineRefused,
    EngineUnsupported,
    EngineVerdict,
)
from fuzz.ledger import known_divergence
from fuzz.messages import messages_of
from fuzz.outcome import AGREEMENT, Comparison, Outcome, Signature
from oracle import CONTRACTS, CheckpointManifest, Contract, Stage, Verdict

__all__ = [
    "AGREEMENT",
    "Comparison",
    "Outcome",
    "Signature",
    "compare",
    "compare_engines",
    "contract_of",
    "mapped",
]


_NO_RULES: frozenset[str] = frozenset()


def contract_of(engine: Engine) -> Contract:
    """The contract that *engine* is held against, by the manifest format that it speaks.

    An engine that exports the constants of view logs is held against the format that is assumed,
    with its own numbers. :class:`ValueError` when there is none for it.
    """
    for contract in CONTRACTS.values():
        if contract.manifest_version == engine.manifest_version and contract.engines:
            return contract
    if exports_view_logs(engine):
        return contract_with_numbers_of(engine)
    raise ValueError(
        f"{engine.name} speaks format v{engine.manifest_version}, without a contract; choose one "
        f"with --contract: {', '.join(CONTRACTS)}, or a .toml file of facts"
    )


def compare(
    data: bytes, engine: Engine, key_groups: int, contract: Contract, *, deep: bool = True
) -> Comparison:
    """What the oracle and *engine* say of *data*, side by side.

    Both judge for *key_groups* vnodes (1..=65535, else :class:`ValueError`), the oracle by
    *contract*. Without *deep*, verdicts alone are compared, and neither canonical encodings nor
    digests: that is enough to learn whether a document is worth a closer look, at half the cost.
    """
    expected = oracle.judge(data, key_groups, contract)
    found = engine.judge(data, key_groups, canonical=deep)
    if found.messages and found.stage == "invalid":
        rules, unmapped = mapped(found.messages, contract, expected.rules)
    else:
        rules, unmapped = _NO_RULES, ()
    signature = _verdicts(expected, found, rules, unmapped, contract)
    known = None
    if signature is not AGREEMENT:
        known = known_divergence(signature, engine.release, contract)
    manifest = expected.manifest
    if deep and manifest and found.stage in _DECODED_STAGES and (signature is AGREEMENT or known):
        different = _encodings(oracle.encode(manifest, contract), found.canonical)
        if different is AGREEMENT:
            different = _digests(manifest, engine)
        if different is not AGREEMENT:
            signature = different
            known = known_divergence(signature, engine.release, contract)
    outcome = Outcome.KNOWN if known else signature.outcome
    return Comparison(expected, found, rules, outcome, signature, known)


def compare_engines(before: EngineVerdict, after: EngineVerdict, contract: Contract) -> Signature:
    """What differs between two engines of *contract* on one document.

    In the signature that comes out, *before* stands on the oracle's side.
    """
    if not _DECODED_STAGES.issuperset((before.stage, after.stage)):
        if before.stage == after.stage:
            return AGREEMENT
        failed = next((side.stage for side in (after, before) if side.stage in _FAILURES), None)
        outcome = Outcome(failed) if failed else Outcome.STAGE
        return Signature(outcome, _reason(before), _reason(after))
    rules_before, unmapped_before = mapped(before.messages, contract)
    rules_after, unmapped_after = mapped(after.messages, contract)
    if set(unmapped_before) != set(unmapped_after):
        return Signature(Outcome.UNMAPPED, normalised(unmapped_before), normalised(unmapped_after))
    signature = _rules(rules_before, rules_after, contract, before.stage == after.stage)
    if signature is AGREEMENT:
        return _encodings(before.canonical, after.canonical)
    return signature


def mapped(
    texts: Iterable[str], contract: Contract, expected: frozenset[str] = _NO_RULES
) -> tuple[frozenset[str], tuple[str, ...]]:
    """The rules that an engine's messages stand for, and the messages that stand for none.

    Of a text that stands for several rules, the one that is among the *expected* counts;
    without one, their ids joined by ``|``.
    """
    messages = messages_of(contract)
    rules: set[str] = set()
    unmapped: list[str] = []
    for text in texts:
        message = messages.message_of(text)
        if message is None:
            unmapped.append(text)
        elif message.ambiguous:
            rules.update(expected.intersection(message.rules) or ["|".join(message.rules)])
        else:
            rules.add(message.rules[0])
    return frozenset(rules), tuple(unmapped)


_FAILURES = frozenset({"panic", "hang", "crash"})
_DECODED_STAGES = frozenset({"invalid", "valid"})


def _verdicts(
    expected: Verdict,
    found: EngineVerdict,
    rules: frozenset[str],
    unmapped: tuple[str, ...],
    contract: Contract,
) -> Signature:
    if found.stage == "valid" and expected.stage is Stage.VALID:
        return AGREEMENT  # most documents of a healthy search are quickly done
    if found.stage in _FAILURES:
        return Signature(Outcome(found.stage), engine=_reason(found))
    rejection = expected.rejection
    if found.stage == "decode":
        if rejection is not None:
            return AGREEMENT
        return Signature(Outcome.STAGE, (_DECODED,), _reason(found))
    if rejection is not None:
        return Signature(Outcome.STAGE, (f"decode: {rejection.kind.value}",), (_DECODED,))
    if unmapped:
        return Signature(Outcome.UNMAPPED, engine=normalised(unmapped))
    return _rules(expected.rules, rules, contract, expected.stage.value == found.stage)


_DECODED = "decoded"


def _reason(verdict: EngineVerdict) -> tuple[str, ...]:
    """Why an engine did not decode a document, or that it did."""
    if verdict.stage in _DECODED_STAGES:
        return (_DECODED,)
    if verdict.stage == "decode":
        return tuple(f"decode: {text}" for text in normalised(verdict.messages))
    return (verdict.place,) if verdict.place else normalised(verdict.messages)


def _rules(
    expected: frozenset[str], found: frozenset[str], contract: Contract, same_stage: bool
) -> Signature:
    if expected == found and same_stage:
        return AGREEMENT
    both = expected | found
    only_expected = [rule for rule in expected - found if not _unspecified(rule, both, contract)]
    only_found = [rule for rule in found - expected if not _unspecified(rule, both, contract)]
    if not only_expected and not only_found and same_stage:
        return AGREEMENT
    outcome = Outcome.RULES if same_stage else Outcome.STAGE
    return Signature(outcome, tuple(sorted(only_expected)), tuple(sorted(only_found)))


def _unspecified(rule: str, fired: frozenset[str], contract: Contract) -> bool:
    """Whether nobody may rely on *rule* while the rules *fired*; of joined ids, on any of them."""
    causes = _causes(contract)
    return all(not fired.isdisjoint(causes.get(id, ())) for id in rule.split("|"))


@cache
def _causes(contract: Contract) -> Mapping[str, tuple[str, ...]]:
    return {entry.id: entry.unspecified_with for entry in oracle.rules_of(contract)}


def _encodings(expected: bytes | None, found: bytes | None) -> Signature:
    if expected == found:
        return AGREEMENT
    if expected is None or found is None:
        missing, there = ("no encoding",), ("an encoding",)
        sides = (missing, there) if expected is None else (there, missing)
        return Signature(Outcome.ENCODING, *sides)
    place = _first_difference(_tree(expected), _tree(found))
    told = ("spelling" if place is None else place or "the document",)
    return Signature(Outcome.ENCODING, told, told)


def _tree(encoding: bytes) -> Any:
    try:
        return json.loads(encoding)
    except (ValueError, RecursionError):
        return "not JSON"


def fields_in(*modules: ModuleType) -> frozenset[str]:
    """The names of all fields of the structs that *modules* offer."""
    shapes = (shape for module in modules for shape in vars(module).values())
    return frozenset(
        field.name for shape in shapes if is_dataclass(shape) for field in fields(shape)
    )


# What a path may name; every other key is a key of a map, and so a document's own.
_FIELDS = fields_in(oracle) | {"kind"}


def _first_difference(expected: Any, found: Any) -> str | None:
    """The path to the first value that differs, with a star for every index and key of a map."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in {**expected, **found}:
            step = f"/{name}" if name in _FIELDS else "/*"
            if name not in expected or name not in found:
                return step
            inner = _first_difference(expected[name], found[name])
            if inner is not None:
                return step + inner
        return None
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for left, right in zip(expected, found, strict=True):
            inner = _first_difference(left, right)
            if inner is not None:
                return f"/*{inner}"
        return None
    same = type(expected) is type(found) and expected == found
    return None if same else ""


def _digests(manifest: CheckpointManifest, engine: Engine) -> Signature:
    """Compare the digests of those parts of *manifest* that an engine computes from the part."""
    try:
        fence = manifest.assignment_fence
        if fence is not None:
            encoded = oracle.canonical_json_bytes(fence)
            if engine.fence_digest(encoded) != oracle.fence_digest(fence):
                return Signature(Outcome.DIGEST, ("assignment_fence",), ("assignment_fence",))
        output = manifest.subscription_output
        if output is not None:
            encoded = oracle.canonical_json_bytes(output)
            digest, _ = engine.seal_node_subscription_manifest(encoded, manifest.owned_vnodes)
            if digest != oracle.node_subscription_digest(output):
                return Signature(Outcome.DIGEST, ("subscription_output",), ("subscription_output",))
    except EngineFailed as failure:
        return Signature(
            Outcome(failure.stage), engine=(failure.place or _without_values(failure.message),)
        )
    except (EngineRefused, ValueError) as refusal:
        return Signature(Outcome.DIGEST, engine=(_without_values(str(refusal)),))
    except EngineUnsupported:
        return AGREEMENT  # an engine may judge documents and do nothing else
    return AGREEMENT


_VALUES = re.compile(
    r" at line \d+ column \d+\Z" r'|"(?:\\.|[^"\\])*"' r"|'.*'" r"|`.*`" r"|\d+", re.DOTALL
)


def _without_values(message: str) -> str:
    """*message* without positions, and with a star for each number and quoted text in it."""
    return _VALUES.sub(lambda value: "" if value[0].startswith(" at") else "*", message)


def normalised(texts: Iterable[str]) -> tuple[str, ...]:
    """*texts* without what is only true of one document, each once and sorted."""
    return tuple(sorted({_without_values(text) for text in texts}))
