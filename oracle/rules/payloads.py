"""Rules that hold for whatever lies in a range of a node data object under its own digest.

State frames are such payloads, and so are the segments of view logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from oracle.formats import Feature
from oracle.kernels import ends_beyond, is_sha256_text
from oracle.model import Payload
from oracle.registry import Place, PlaceCheck, rule
from oracle.subject import ChunkKey, Subject


@dataclass(frozen=True, slots=True)
class Payloads:
    """One kind of payload: the prefix of its rules, and where the manifest has it.

    ``pointer`` makes the JSON Pointer of the payload with an index, ``chunks`` has the chunk of
    each payload.
    """

    prefix: str
    feature: Feature | None
    all: Callable[[Subject], Sequence[Payload]]
    pointer: Callable[[Subject, int], str]
    chunks: Callable[[Subject], Sequence[ChunkKey]]


PayloadCheck = Callable[[Payloads, Subject], Iterator[tuple[int, str, str]]]
"""Yields the index of a payload, the pointer inside it, and what is wrong there."""

_CHECKS: dict[str, PayloadCheck] = {}


def _payload_rule(suffix: str) -> Callable[[PayloadCheck], PayloadCheck]:
    def remember(check: PayloadCheck) -> PayloadCheck:
        _CHECKS[suffix] = check
        return check

    return remember


def register_payload_rules(kind: Payloads, assumption: str | None = None) -> None:
    """Register the rules of this module for one *kind* of payload, as *kind*.prefix.suffix."""
    for suffix, check in _CHECKS.items():
        rule(f"{kind.prefix}.{suffix}", feature=kind.feature, assumption=assumption)(
            _placed(kind, check)
        )


def _placed(kind: Payloads, check: PayloadCheck) -> PlaceCheck:
    def placed(subject: Subject) -> Iterator[Place]:
        for index, inside, message in check(kind, subject):
            yield f"{kind.pointer(subject, index)}{inside}", message

    placed.__doc__ = check.__doc__
    return placed


@_payload_rule("empty")
def empty(kind: Payloads, subject: Subject) -> Iterator[tuple[int, str, str]]:
    """A range has length 0."""
    for index, payload in enumerate(kind.all(subject)):
        if payload.range.length == 0:
            yield index, "/range/length", "the range is empty"


@_payload_rule("digest")
def digest(kind: Payloads, subject: Subject) -> Iterator[tuple[int, str, str]]:
    """A sha256 is not sha256 text."""
    for index, payload in enumerate(kind.all(subject)):
        if not is_sha256_text(payload.sha256):
            yield index, "/sha256", f"{payload.sha256!r} is not SHA-256 text"


@_payload_rule("untracked")
def untracked(kind: Payloads, subject: Subject) -> Iterator[tuple[int, str, str]]:
    """A chunk is neither the current one nor in referenced_chunks.

    Then only overflow is examined of the range.
    """
    lengths = subject.object_lengths
    for index, chunk in enumerate(kind.chunks(subject)):
        if chunk not in lengths:
            named = kind.all(subject)[index].chunk
            yield index, "/chunk", f"{named} is neither current nor referenced"


@_payload_rule("range-overflow")
def range_overflow(kind: Payloads, subject: Subject) -> Iterator[tuple[int, str, str]]:
    """Offset + length passes u64."""
    for index, payload in enumerate(kind.all(subject)):
        if payload.range.end is None:
            yield index, "/range", f"{payload.range} passes u64"


@_payload_rule("range-end")
def range_end(kind: Payloads, subject: Subject) -> Iterator[tuple[int, str, str]]:
    """A range ends beyond its object's length (of a chunk listed twice, the later entry's)."""
    payloads = kind.all(subject)
    lengths = map(subject.object_lengths.get, kind.chunks(subject))
    for index, length in enumerate(lengths):
        part = payloads[index].range
        if length is not None and ends_beyond(part.offset, part.length, length):
            yield index, "/range", f"{part} ends beyond its object of {length} bytes"
