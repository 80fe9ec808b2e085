"""Files that are whole or not there, whenever the process is killed."""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: bytes) -> None:
    """Write *content* to *path*: afterwards all of it is on the disk, and before that nothing."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_quickly(path: Path, content: bytes) -> None:
    """Replace what *path* holds in one step; a crash of the machine may undo it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(content)
    os.replace(aside, path)


def read_json(path: Path) -> Any:
    """What *path* holds, or ``None`` where there is no such file or it is not JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def as_json(value: Any) -> bytes:
    """*value* as JSON for people."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )


def content_name(content: bytes) -> str:
    """A short name for *content* that other content does not have."""
    return sha256(content).hexdigest()[:16]


def corpus_name(document: bytes) -> str:
    """The name that libFuzzer gives a file of its corpus."""
    return sha1(document, usedforsecurity=False).hexdigest()
