"""From bytes to a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import oracle.rules  # noqa: F401 - registers the rules and hazards
from oracle.constants import MAX_KEY_GROUP_COUNT
from oracle.errors import DecodeError
from oracle.formats import V10, Contract
from oracle.interpreter import with_room_to_recurse, without_garbage_collection
from oracle.model import CheckpointManifest
from oracle.registry import Finding, Level, findings
from oracle.shapes import decode_manifest
from oracle.subject import Subject
from oracle.text import nests_too_deep, parse, too_deep


class Stage(Enum):
    """How far a document came."""

    DECODE = "decode"
    """It is not a manifest of the contract."""
    INVALID = "invalid"
    """It is a manifest, and breaks rules."""
    VALID = "valid"
    """It keeps every rule."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a document is worth: ``rejection`` at decode, else the broken rules, if any."""

    stage: Stage
    rejection: DecodeError | None = None
    findings: tuple[Finding, ...] = ()
    manifest: CheckpointManifest | None = None

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that are broken."""
        return frozenset(finding.rule for finding in self.findings)


@with_room_to_recurse
@without_garbage_collection
def decode(data: bytes, contract: Contract = V10) -> CheckpointManifest:
    """The manifest that *data* spells, valid or not.

    Raises :class:`DecodeError` and nothing else, whatever *data* is; time and memory are linear
    in its length.
    """
    value = parse(data)
    try:
        return decode_manifest(value, contract)
    except DecodeError:
        if nests_too_deep(data):
            raise too_deep() from None
        raise


@with_room_to_recurse
def validate(
    manifest: CheckpointManifest, key_groups: int, contract: Contract = V10
) -> list[Finding]:
    """Every rule of *contract* that *manifest* breaks, held against *key_groups* vnodes.

    *key_groups* is in 1..=65535, else :class:`ValueError`.
    """
    return findings(Subject(manifest, contract, _checked(key_groups)), Level.RULE)


@with_room_to_recurse
def hazards(
    manifest: CheckpointManifest, document: bytes | None = None, contract: Contract = V10
) -> list[Finding]:
    """What a later stage of the engine will refuse in *manifest*, though its rules allow it.

    *document* is what it was decoded from; without it, the spelling is not looked at.
    """
    subject = Subject(manifest, contract, manifest.vnode_count, document)
    return findings(subject, Level.HAZARD)


@with_room_to_recurse
@without_garbage_collection
def judge(data: bytes, key_groups: int, contract: Contract = V10) -> Verdict:
    """The verdict on *data*; it raises nothing, whatever bytes it is given.

    *key_groups* is in 1..=65535, else :class:`ValueError`: that is the caller's mistake.
    """
    _checked(key_groups)
    try:
        manifest = decode(data, contract)
    except DecodeError as error:
        # A traceback holds the frames of all callers, and one of them will hold this verdict:
        # without it no cycle is left for the collector.
        error.__traceback__ = error.__context__ = None
        return Verdict(Stage.DECODE, rejection=error)
    found = tuple(validate(manifest, key_groups, contract))
    return Verdict(Stage.INVALID if found else Stage.VALID, findings=found, manifest=manifest)


def _checked(key_groups: int) -> int:
    if not 1 <= key_groups <= MAX_KEY_GROUP_COUNT:
        raise ValueError(f"key groups are 1..={MAX_KEY_GROUP_COUNT}, not {key_groups}")
    return key_groups
