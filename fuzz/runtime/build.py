"""Build the program that runs LaminarDB."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from pathlib import Path

from fuzz.engines.build import Report, alone, compiled, tools
from fuzz.engines.builds import cache_directory
from fuzz.engines.protocol import EngineUnavailable

PROGRAM = Path(__file__).parent / "program"

RELEASE = "0.33.0"
"""The release of LaminarDB that the program runs, as its `Cargo.toml` says."""


def find() -> Path:
    """The built program.

    Raises:
        EngineUnavailable: it is not built, or was built from other source.

    """
    if not _installed().is_file():
        raise EngineUnavailable(
            f"the program that runs laminar-db {RELEASE} is not built; "
            "run: python -m fuzz runtime --minutes 0"
        )
    return _installed()


def build(report: Report) -> Path:
    """Build the program unless that has been done, and say where it is.

    Args:
        report: told about progress.

    Raises:
        EngineUnavailable: a tool is missing, or the compiler refused.

    """
    if _installed().is_file():
        return _installed()
    with alone(_directory(), report):
        if not _installed().is_file():
            crate = _lay_out()
            cargo, _ = tools(crate)
            program = _compile(cargo, crate, report)
            _installed().parent.mkdir(parents=True, exist_ok=True)
            # Under its name only when whole: its presence says that it is built.
            unfinished = _installed().with_suffix(".part")
            shutil.copy(program, unfinished)
            unfinished.rename(_installed())
    return _installed()


def _directory() -> Path:
    return cache_directory() / "runtime"


def _installed() -> Path:
    return _directory() / f"{RELEASE}-{_key()}" / "runtime"


def _sources() -> list[Path]:
    return [PROGRAM / "Cargo.toml", PROGRAM / "Cargo.lock", *sorted(PROGRAM.glob("src/*.rs"))]


@cache
def _key() -> str:
    digest = hashlib.sha256()
    for source in _sources():
        content = source.read_bytes()
        digest.update(f"{source.relative_to(PROGRAM)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _lay_out() -> Path:
    """Put the crate into the cache: cargo writes beside what it compiles."""
    crate = _directory() / "crate"
    for source in _sources():
        file = crate / source.relative_to(PROGRAM)
        # Cargo goes by modification times: leave alone what has not changed.
        if not file.is_file() or file.read_bytes() != source.read_bytes():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read_bytes())
    return crate


def _compile(cargo: str, crate: Path, report: Report) -> Path:
    made = compiled(
        f"laminar-db {RELEASE}",
        [cargo, "build"],
        ["--manifest-path", str(crate / "Cargo.toml"), "--locked"],
        os.environ | {"CARGO_TARGET_DIR": str(_directory() / "target")},
        crate,
        _directory() / "build.log",
        report,
    )
    return next(Path(message["executable"]) for message in made if message.get("executable"))
