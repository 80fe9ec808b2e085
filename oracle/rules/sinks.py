"""Prepared sinks and the artifact intents before them: the same rules in two digest domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from oracle.constants import PREPARED_SINK_DESCRIPTOR_VERSION
from oracle.digests import checkpoint_artifact_intent_sha256, checkpoint_descriptor_sha256
from oracle.formats import Feature
from oracle.kernels import ends_beyond, first_disorder, is_sha256_text
from oracle.model import SinkEntry
from oracle.registry import Place, PlaceCheck, rule
from oracle.subject import Subject


@dataclass(frozen=True, slots=True)
class Family:
    """Intents or sinks: where they stand and what the digest of an absent payload is."""

    prefix: str
    field: str
    feature: Feature | None
    absent_digest: str

    def entries(self, subject: Subject) -> tuple[SinkEntry, ...]:
        """The family's list."""
        entries: tuple[SinkEntry, ...] = getattr(subject.manifest, self.field)
        return entries


INTENTS = Family(
    "intents",
    "sink_artifact_intents",
    Feature.SINK_ARTIFACT_INTENTS,
    checkpoint_artifact_intent_sha256(None),
)
SINKS = Family("sinks", "prepared_sinks", None, checkpoint_descriptor_sha256(None))


@rule("intents.order", feature=INTENTS.feature)
def intents_order(subject: Subject) -> Iterator[Place]:
    """sink_artifact_intents is not strictly ascending by sink_name."""
    yield from _unordered(INTENTS, subject)


@rule("intents.roster", feature=INTENTS.feature)
def intents_roster(subject: Subject) -> Iterator[Place]:
    """There are intents, and their names, in order, are not the prepared sinks' names, in order."""
    intents = [intent.sink_name for intent in subject.manifest.sink_artifact_intents]
    sinks = [sink.sink_name for sink in subject.manifest.prepared_sinks]
    if not intents or intents == sinks:
        return
    pairs = enumerate(zip_longest(intents, sinks))
    index, (intent, sink) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    yield (
        f"/{INTENTS.field}",
        f"at index {index} the intents have {_named(intent)}, the prepared sinks {_named(sink)}",
    )


def _named(sink_name: str | None) -> str:
    return "none" if sink_name is None else repr(sink_name)


@rule("sinks.order")
def sinks_order(subject: Subject) -> Iterator[Place]:
    """prepared_sinks is not strictly ascending by sink_name."""
    yield from _unordered(SINKS, subject)


def _unordered(family: Family, subject: Subject) -> Iterator[Place]:
    names = [entry.sink_name for entry in family.entries(subject)]
    index = first_disorder(names)
    if index is not None:
        yield (
            f"/{family.field}/{index}/sink_name",
            f"{names[index]!r} does not follow {names[index - 1]!r}",
        )


EntryCheck = Callable[[SinkEntry, Family, Subject], Iterator[Place]]


def _of_both(
    suffix: str, *, unspecified_with: tuple[str, ...] = ()
) -> Callable[[EntryCheck], EntryCheck]:
    """Register the decorated check as the rules intents.*suffix* and sinks.*suffix*."""

    def register(check: EntryCheck) -> EntryCheck:
        for family in (INTENTS, SINKS):
            rule(
                f"{family.prefix}.{suffix}",
                feature=family.feature,
                unspecified_with=unspecified_with,
            )(_over_entries(family, check))
        return check

    return register


def _over_entries(family: Family, check: EntryCheck) -> PlaceCheck:
    def over_entries(subject: Subject) -> Iterator[Place]:
        for index, entry in enumerate(family.entries(subject)):
            for pointer, message in check(entry, family, subject):
                yield f"/{family.field}/{index}{pointer}", message

    over_entries.__doc__ = check.__doc__
    return over_entries


@_of_both("name")
def entry_name(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry's sink_name is empty."""
    if not entry.sink_name:
        yield "/sink_name", "sink_name is empty"


@_of_both("unknown", unspecified_with=("sink-names.order",))
def entry_unknown(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry's sink_name is not in sink_names."""
    if entry.sink_name not in subject.sink_names:
        yield "/sink_name", f"{entry.sink_name!r} is not in sink_names"


@_of_both("format")
def entry_format(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry's format_version is not 1."""
    if entry.format_version != PREPARED_SINK_DESCRIPTOR_VERSION:
        yield (
            "/format_version",
            f"format_version is {entry.format_version}, not {PREPARED_SINK_DESCRIPTOR_VERSION}",
        )


@_of_both("digest")
def entry_digest(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry's sha256 is not sha256 text."""
    if not is_sha256_text(entry.sha256):
        yield "/sha256", f"{entry.sha256!r} is not SHA-256 text"


@_of_both("range-overflow")
def entry_range_overflow(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """Offset + length of an entry's payload passes u64."""
    if entry.payload is not None and entry.payload.end is None:
        yield "/payload", f"{entry.payload} passes u64"


@_of_both("range-end")
def entry_range_end(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry's payload ends beyond node_data.object_length."""
    length, payload = subject.manifest.node_data.object_length, entry.payload
    if payload is not None and ends_beyond(payload.offset, payload.length, length):
        yield "/payload", f"{payload} ends beyond the object of {length} bytes"


@_of_both("absent-digest")
def entry_absent_digest(entry: SinkEntry, family: Family, subject: Subject) -> Iterator[Place]:
    """An entry has no payload, and its sha256 is not the digest of an absent one.

    Intents and sinks have different digests of an absent payload.
    """
    if entry.payload is None and entry.sha256 != family.absent_digest:
        yield "/sha256", f"the digest of an absent payload is {family.absent_digest}"
