"""A case of the corpus: one document, and what every judge of it must say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import oracle
from corpora import ROOT
from oracle import Contract, Kind, Level, Verdict
from oracle.described import Described

LARGEST = 256 * 1024
"""A document of more bytes than this must be about size."""


class Flag(Described):
    """What a case is about; a consumer can leave out what does not concern it."""

    JSON_GRAMMAR = "JSON_GRAMMAR", "the text itself: encoding, grammar, escapes, nesting"
    INTEGER_BOUND = "INTEGER_BOUND", "an integer at, or just past, the bound of its field"
    JSON_TYPE = "JSON_TYPE", "a value of another JSON type than its field"
    STRUCT_FIELDS = "STRUCT_FIELDS", "fields that are missing, unknown or repeated"
    ARRAY_FORM = "ARRAY_FORM", "a struct or tagged enum written as an array"
    SPELLING = "SPELLING", "an accepted text that is not the canonical encoding"
    UUID_FORM = "UUID_FORM", "a spelling of a UUID"
    FENCE = "FENCE", "a fence, checked while decoding or against the manifest"
    IDENTITY = "IDENTITY", "versions, ids, times and digests that the manifest says of itself"
    ORDERING = "ORDERING", "the order of a list, by UTF-8 bytes or by numbers"
    MEMBERSHIP = "MEMBERSHIP", "a name, vnode or chunk that must stand in another list"
    TILING = "TILING", "how ranges fill an object"
    DIGEST = "DIGEST", "SHA-256 text, or a digest in its domain"
    SENTINEL = "SENTINEL", "a reserved value: i64's minimum, the channel [0]"
    WATERMARK = "WATERMARK", "the classification of channel progress"
    SUBSCRIPTION = "SUBSCRIPTION", "subscription output"
    VIEW_LOG = "VIEW_LOG", "view logs, a format that is only assumed"
    HAZARD = "HAZARD", "valid, and a later stage of the engine will refuse it"
    UNSPECIFIED = "UNSPECIFIED", "rules may fire of which nobody may rely on whether they do"
    NEIGHBOUR = "NEIGHBOUR", "valid, and one step away from the invalid case that it is named for"
    CAPTURED = "CAPTURED", "written by a real engine"
    SIZE = "SIZE", "about size: large, or many of something"
    DIVERGENCE = "DIVERGENCE", "engines judge it otherwise, as the ledger of divergences explains"
    JUDGEMENT = "JUDGEMENT", "the expectation is this project's choice and not the engine's word"


@dataclass(frozen=True, slots=True)
class Indexed:
    """What is one line of an index of the corpus."""

    id: str

    def row(self) -> dict[str, Any]:
        """The case as JSON values."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The case that a row of the index describes; :class:`ValueError` when it is none."""
        names = {field.name for field in fields(cls)}
        if row.keys() != names:
            raise ValueError(f"a case has the fields {sorted(names)}, not {sorted(row)}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Case(Indexed):
    """A row of the index.

    ``stage`` is ``decode``, ``invalid`` or ``valid``; ``kind`` is the kind of a rejection at
    decode, else ``None``; ``rules`` are the ids of all rules that must fire, less those that
    ``unspecified`` lists; ``hazards`` those of a document that decodes. ``neighbour`` is the id
    of a valid case one step away. ``divergence`` names the entry of the ledger because of which
    engines judge the case otherwise. ``sha256`` is of the file's bytes.
    """

    file: str
    contract: str
    key_groups: int
    stage: str
    kind: str | None
    rules: tuple[str, ...]
    unspecified: tuple[str, ...]
    hazards: tuple[str, ...]
    flags: tuple[str, ...]
    neighbour: str | None
    divergence: str | None
    origin: str
    why: str
    sha256: str

    @property
    def path(self) -> Path:
        """The file with the document."""
        return ROOT / self.file

    def renamed(self, id: str) -> Case:
        """The same case under another id."""
        return replace(self, id=id, file=_file(id))


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the oracle says of a document, in the terms of the index."""

    stage: str
    kind: str | None
    rules: tuple[str, ...]
    unspecified: tuple[str, ...]
    hazards: tuple[str, ...]


def expectation(document: bytes, key_groups: int, contract: Contract) -> Expectation:
    """The oracle's word on *document*."""
    verdict = oracle.judge(document, key_groups, contract)
    unspecified = unspecified_beside(verdict.rules)
    return Expectation(
        stage=verdict.stage.value,
        kind=verdict.rejection.kind.value if verdict.rejection else None,
        rules=tuple(sorted(verdict.rules - unspecified)),
        unspecified=tuple(sorted(unspecified)),
        hazards=_hazards(verdict, document, contract),
    )


def unspecified_beside(rules: frozenset[str]) -> frozenset[str]:
    """The rules whose outcome is unspecified while *rules* are broken."""
    return frozenset(
        rule.id for rule in oracle.RULES.values() if not rules.isdisjoint(rule.unspecified_with)
    )


def _hazards(verdict: Verdict, document: bytes, contract: Contract) -> tuple[str, ...]:
    if verdict.manifest is None:
        return ()
    found = oracle.hazards(verdict.manifest, document, contract)
    return tuple(sorted({finding.rule for finding in found}))


# What a kind of rejection, or a rule by its family or by the end of its id, is about.
_OF_KINDS = {
    Flag.JSON_GRAMMAR: (
        Kind.ENCODING,
        Kind.BOM,
        Kind.GRAMMAR,
        Kind.CONSTANT,
        Kind.CONTROL,
        Kind.SURROGATE,
        Kind.TRAILING,
        Kind.DEPTH,
    ),
    Flag.INTEGER_BOUND: (Kind.RANGE, Kind.FRACTION),
    Flag.JSON_TYPE: (Kind.TYPE,),
    Flag.STRUCT_FIELDS: (Kind.REPEATED, Kind.UNKNOWN, Kind.MISSING, Kind.TAG),
    Flag.ARRAY_FORM: (Kind.LENGTH,),
    Flag.UUID_FORM: (Kind.UUID,),
    Flag.FENCE: (Kind.FENCE,),
}
_FLAG_OF_KIND = {kind.value: flag for flag, kinds in _OF_KINDS.items() for kind in kinds}
_FLAG_OF_FAMILY = {
    "fence": Flag.FENCE,
    "local": Flag.FENCE,
    "layout": Flag.TILING,
    "watermark": Flag.WATERMARK,
    "subscription": Flag.SUBSCRIPTION,
    "view-logs": Flag.VIEW_LOG,
    "segments": Flag.VIEW_LOG,
    "hazard": Flag.HAZARD,
}
_FLAG_OF_ENDING = {
    "order": Flag.ORDERING,
    "digest": Flag.DIGEST,
    "absent-digest": Flag.DIGEST,
    "zero-digest": Flag.DIGEST,
    "sentinel": Flag.SENTINEL,
    "channels-reserved": Flag.SENTINEL,
    "unknown": Flag.MEMBERSHIP,
    "source-unknown": Flag.MEMBERSHIP,
    "vnode-owned": Flag.MEMBERSHIP,
    "partition-owned": Flag.MEMBERSHIP,
    "untracked": Flag.MEMBERSHIP,
    "roster": Flag.MEMBERSHIP,
    "gap": Flag.TILING,
    "range-end": Flag.TILING,
    "range-overflow": Flag.INTEGER_BOUND,
}


def flags_of(found: Expectation) -> set[Flag]:
    """The flags that a verdict alone tells."""
    flags = {_FLAG_OF_KIND[found.kind]} if found.kind else set()
    for rule in (*found.rules, *found.hazards):
        if rule == "hazard.encoding":
            flags.add(Flag.SPELLING)
            continue
        family, _, ending = rule.partition(".")
        about = {_FLAG_OF_FAMILY.get(family), _FLAG_OF_ENDING.get(ending)} - {None}
        flags |= {flag for flag in about if flag} or {Flag.IDENTITY}
    if found.unspecified and any(_is_fired(rule) for rule in found.unspecified):
        flags.add(Flag.UNSPECIFIED)
    return flags


def _is_fired(rule: str) -> bool:
    return oracle.RULES[rule].level is not Level.HAZARD


def _file(id: str) -> str:
    return f"cases/{id}.json"


def make_case(
    document: bytes,
    *,
    id: str,
    key_groups: int,
    contract: Contract,
    origin: str,
    why: str,
    flags: set[Flag] | None = None,
    neighbour: str | None = None,
) -> Case:
    """The row of the index for *document*, which is to stand under the id."""
    found = expectation(document, key_groups, contract)
    about = (flags or set()) | flags_of(found)
    if contract is oracle.VIEW_LOG:
        about |= {Flag.VIEW_LOG, Flag.JUDGEMENT}
    divergence = divergence_of(found, document, contract)
    if divergence is not None:
        about |= {Flag.DIVERGENCE, Flag.JUDGEMENT}
    return Case(
        id=id,
        file=_file(id),
        contract=contract.name,
        key_groups=key_groups,
        stage=found.stage,
        kind=found.kind,
        rules=found.rules,
        unspecified=found.unspecified,
        hazards=found.hazards,
        flags=tuple(sorted(flag.value for flag in about)),
        neighbour=neighbour,
        divergence=divergence,
        origin=origin,
        why=why,
        sha256=sha256(document).hexdigest(),
    )


def divergence_of(found: Expectation, document: bytes, contract: Contract) -> str | None:
    """The entry of the ledger that *document* falls under, by the engine's described behaviour.

    A reserved watermark that stands after an active channel without one is never seen by it.
    """
    if "watermark.sentinel" not in found.rules:
        return None
    channels = oracle.decode(document, contract).channel_progress
    for channel in channels:
        if channel.watermark == oracle.I64_MIN:
            return None
        if channel.watermark is None and not channel.idle:
            return "reserved-watermark"
    return None
