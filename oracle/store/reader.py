"""Reading a store: every file through one place, which counts and collects findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oracle.errors import DecodeError
from oracle.store.layout import Inventory
from oracle.store.records import decode_record, record_bytes
from oracle.store.registry import StoreFinding

Progress = Callable[[int, int], None]
"""Told how many bytes have been read, and about how many there are."""

Record = TypeVar("Record")


@dataclass(slots=True)
class Summary:
    """What a store holds. Sizes are bytes.

    ``cuts`` were audited with their ``manifests`` and ``objects``; ``object_bytes`` were read
    and hashed, and ``shared_bytes`` of them belong to objects that more than one cut uses.
    ``retiring_bytes`` are on their way out by the retention state, ``attempt_bytes`` belong to an
    attempt under way, ``sealed_bytes`` to aborted ones, ``temporary_bytes`` to writes that a kill
    ended, ``unreachable_bytes`` to nothing.
    """

    deployment_id: str | None = None
    latest_commit: int | None = None
    cuts: int = 0
    manifests: int = 0
    objects: int = 0
    metadata_bytes: int = 0
    object_bytes: int = 0
    shared_bytes: int = 0
    retiring_bytes: int = 0
    attempt_bytes: int = 0
    sealed_bytes: int = 0
    temporary_bytes: int = 0
    unreachable_bytes: int = 0

    @property
    def shared_ratio(self) -> float:
        """The share, 0 to 1, of the object bytes that more than one cut uses."""
        return self.shared_bytes / self.object_bytes if self.object_bytes else 0.0

    @property
    def reclaimable_bytes(self) -> int:
        """What could be deleted without loss: retiring, temporary and unreachable."""
        return self.retiring_bytes + self.temporary_bytes + self.unreachable_bytes


@dataclass(frozen=True, slots=True)
class Named:
    """What names something: a file and a JSON Pointer into it."""

    file: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.file} {self.pointer}"


class Reader:
    """A store with its inventory, what was found so far, and the summary as it grows.

    ``complete`` falls when something that is named cannot be followed. From then on nobody knows
    of the other files whether something names them.
    """

    def __init__(self, root: Path, inventory: Inventory, progress: Progress) -> None:
        self.root = root
        self.inventory = inventory
        self.findings: list[StoreFinding] = []
        self.summary = Summary(temporary_bytes=sum(inventory.temporary))
        self.complete = True
        self._progress = progress
        self._read_bytes = 0
        self._total_bytes = inventory.total_bytes()

    def find(self, file: str, rule: str, message: str, pointer: str = "") -> None:
        """Enter a finding."""
        self.findings.append(StoreFinding(file, rule, message, pointer))

    def broken(self, file: str, rule: str, message: str, pointer: str = "") -> None:
        """Enter a finding behind which nothing can be followed."""
        self.complete = False
        self.find(file, rule, message, pointer)

    def advance(self, count: int) -> None:
        """Count bytes as read."""
        self._read_bytes += count
        self._progress(self._read_bytes, self._total_bytes)

    def read(self, file: str) -> bytes:
        """The whole of a file that is known to be small."""
        data = (self.root / file).read_bytes()
        self.summary.metadata_bytes += len(data)
        self.advance(len(data))
        return data

    def record(
        self, shape: type[Record], file: str, most: int, decode_rule: str, encoding_rule: str
    ) -> Record | None:
        """A control record, or nothing where it does not decode or is not as the engine writes."""
        size = (self.root / file).stat().st_size
        if size > most:
            self.find(file, decode_rule, f"it has {size} bytes, at most {most} are read")
            return None
        data = self.read(file)
        try:
            record = decode_record(shape, data)
        except DecodeError as error:
            self.find(file, decode_rule, error.message, error.pointer)
            return None
        if record_bytes(record) != data:
            self.find(file, encoding_rule, "the engine would write it otherwise")
            return None
        return record
