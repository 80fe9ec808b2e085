"""Findings on disk: one directory for each signature.

    findings/<id>/first.json        the first document that showed it, both verdicts, versions
    findings/<id>/smallest.json     the same of the smallest
    findings/<id>/reduced.json      and of the one that was made smaller still
    findings/<id>/<name>.document   the documents, byte for byte; with .cut for a whole cut

A ``.json`` file is written after the document that it names, so what it names is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.campaign.files import as_json, content_name, read_json, write_whole

if TYPE_CHECKING:
    from fuzz.targets.session import Disagreement

FIRST, SMALLEST, REDUCED = "first", "smallest", "reduced"
NO_INPUT = ", and its input is not known"
"""What the signature ends with where a worker died and nobody knows what of."""


@dataclass(frozen=True, slots=True)
class Record:
    """One document that shows a disagreement, and what is needed to see it again.

    ``seed`` and ``worker`` tell which search found it; ``found`` is when, in seconds since the
    Unix epoch; ``note`` is what else a person should know. ``release`` and ``contract`` are what
    ``--engine`` and ``--contract`` take to have the same ones again.
    """

    outcome: str
    signature: str
    document: str
    size: int
    key_groups: int | None
    oracle: tuple[str, ...]
    engine: tuple[str, ...]
    engine_name: str
    contract: str
    target: str
    seed: int
    worker: str
    found: float
    note: str = ""
    release: str = ""

    @property
    def has_input(self) -> bool:
        """Whether the document is the input, and not empty because there was none to keep."""
        return not self.signature.endswith(NO_INPUT)


@dataclass(frozen=True, slots=True)
class Finding:
    """A signature with its documents."""

    directory: Path
    first: Record
    smallest: Record
    reduced: Record | None

    @property
    def id(self) -> str:
        """A short name, the same in every campaign."""
        return self.directory.name

    @property
    def best(self) -> Record:
        """The record that a person should look at."""
        return self.reduced or self.smallest

    def document(self, record: Record) -> bytes:
        """The document of *record*."""
        return (self.directory / record.document).read_bytes()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who finds: what all records of one worker have in common."""

    engine_name: str
    release: str
    contract: str
    target: str
    seed: int
    worker: str


class Findings:
    """The findings of a campaign; several processes may write to them at once."""

    def __init__(self, directory: Path) -> None:
        """Keep findings in *directory*, which is made."""
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._smallest: dict[str, int] = {}

    def add(self, found: Disagreement, origin: Origin, note: str = "") -> None:
        """Write *found* to the disk if its signature is new, or its document the smallest."""
        known = self._smallest.get(found.signature)
        if known is not None and known <= len(found.document):
            return
        directory = self._of(found.signature)
        directory.mkdir(exist_ok=True)
        record = Record(
            outcome=found.outcome,
            signature=found.signature,
            document=_name(found.document, origin.target),
            size=len(found.document),
            key_groups=found.key_groups,
            oracle=found.oracle,
            engine=found.engine,
            **asdict(origin),
            found=time.time(),
            note=note,
        )
        write_whole(directory / record.document, found.document)
        if known is None:
            self._write_first(directory, record)
        smallest = _record(directory / f"{SMALLEST}.json")
        if smallest is None or smallest.size > record.size:
            _write(directory, SMALLEST, record)
        self._smallest[found.signature] = min(len(found.document), known or len(found.document))

    def _of(self, signature: str) -> Path:
        return self._directory / content_name(signature.encode("utf-8", "backslashreplace"))

    def _write_first(self, directory: Path, record: Record) -> None:
        """Write the first record, unless another process was first."""
        first = directory / f"{FIRST}.json"
        if first.exists():
            return
        aside = directory / f".first-{record.worker}.json"
        write_whole(aside, as_json(asdict(record)))
        try:
            os.link(aside, first)
        except FileExistsError:
            pass
        finally:
            aside.unlink()

    def add_reduced(self, finding: Finding, document: bytes, found: Disagreement) -> None:
        """Keep *document* as what *finding* was reduced to."""
        record = replace(
            finding.smallest,
            document=_name(document, finding.smallest.target),
            size=len(document),
            key_groups=found.key_groups,
            oracle=found.oracle,
            engine=found.engine,
        )
        write_whole(finding.directory / record.document, document)
        _write(finding.directory, REDUCED, record)

    def __iter__(self) -> Iterator[Finding]:
        """Every finding, the earliest first."""
        found = [finding for path in self._directory.iterdir() if (finding := load(path))]
        return iter(sorted(found, key=lambda finding: finding.first.found))


def _name(document: bytes, target: str) -> str:
    from fuzz.cut_files import ENDING  # not before the oracle may be imported

    return f"{content_name(document)}{ENDING if target == 'cuts' else '.document'}"


def load(directory: Path) -> Finding | None:
    """The finding in *directory*, or ``None`` where there is none."""
    first = _record(directory / f"{FIRST}.json")
    if first is None:
        return None
    smallest = _record(directory / f"{SMALLEST}.json") or first
    return Finding(directory, first, smallest, _record(directory / f"{REDUCED}.json"))


def _write(directory: Path, name: str, record: Record) -> None:
    write_whole(directory / f"{name}.json", as_json(asdict(record)))


def _record(path: Path) -> Record | None:
    fields = read_json(path)
    if fields is None:
        return None
    for side in ("oracle", "engine"):
        fields[side] = tuple(fields[side])
    return Record(**fields)
