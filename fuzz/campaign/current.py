"""The input that a worker is at, in a file that outlives the worker however it ends."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from fuzz.targets import MAX_LENGTH

_HEADER = struct.Struct("<QQ")


class CurrentInput:
    """A mapped file: the kernel has what was written to it even when the process is gone."""

    def __init__(self, path: Path) -> None:
        """Map *path*, which is made; its room is only taken up on the disk where it is used."""
        with path.open("w+b") as file:
            file.truncate(_HEADER.size + MAX_LENGTH)
            self._map = mmap.mmap(file.fileno(), 0)

    def keep(self, document: bytes, key_groups: int) -> None:
        """Put *document* into the file."""
        length = len(document)
        # While the bytes are being replaced there is no input, rather than half of one.
        self._map[:8] = bytes(8)
        self._map[_HEADER.size : _HEADER.size + length] = document
        self._map[: _HEADER.size] = _HEADER.pack(length, key_groups)


def read_current(path: Path) -> tuple[bytes, int] | None:
    """The document and key groups that stand in *path*, or ``None`` where there is no input."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return None
            length, key_groups = _HEADER.unpack(header)
            document = file.read(length)
    except OSError:
        return None
    return (document, key_groups) if key_groups else None
