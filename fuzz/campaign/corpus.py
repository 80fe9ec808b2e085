"""The corpus of a campaign: whole files, named by their content, and not too many."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.campaign.files import corpus_name, write_quickly
from fuzz.campaign.worker import Job

if TYPE_CHECKING:
    from oracle import Contract

MOST_BYTES = 64 * 1024 * 1024
"""A corpus that is larger than this is minimised at the end of a campaign."""


def write_seeds(corpus: Path, contract: Contract, seed: int, target: str = "manifests") -> None:
    """Put the built-in seeds of *target* into *corpus*."""
    from fuzz.campaign.seeds import seeds

    for document in seeds(contract, seed, target):
        write_quickly(corpus / corpus_name(document), document)


class MinimiseFailed(Exception):
    """The corpus could not be minimised, and is as it was."""


def adopt(live: Path, corpus: Path, seen: set[str]) -> int:
    """Take into *corpus* what libFuzzer left in *live*; gives the number of new documents.

    libFuzzer names a file by its content and may be killed while it writes one, so a file whose
    name is not its content's is left for next time. *seen* are names that need no second look.
    """
    new = 0
    for file in live.iterdir():
        if file.name in seen or (corpus / file.name).exists():
            seen.add(file.name)
            continue
        try:
            document = file.read_bytes()
        except FileNotFoundError:
            continue
        if corpus_name(document) == file.name:
            write_quickly(corpus / file.name, document)
            seen.add(file.name)
            new += 1
    return new


def remove_torn(corpus: Path) -> int:
    """Remove what a killed process left half written; gives the number of files."""
    torn = [*corpus.glob(".*")]
    for file in torn:
        file.unlink()
    return len(torn)


def size(corpus: Path) -> tuple[int, int]:
    """Number of documents, and of their bytes."""
    sizes = [file.stat().st_size for file in corpus.iterdir() if file.is_file()]
    return len(sizes), sum(sizes)


def minimise(corpus: Path, engine: str, contract: str, target: str) -> tuple[int, int]:
    """Keep of *corpus* what the coverage of both sides needs; gives the sizes before and after.

    Raises :class:`MinimiseFailed`, and then the corpus is as it was.
    """
    before, _ = size(corpus)
    with tempfile.TemporaryDirectory(dir=corpus.parent, prefix=".minimise-") as name:
        room = Path(name)
        kept = room / "kept"
        kept.mkdir()
        program = room / "again"
        job = Job(
            name="minimise",
            target=target,
            engine=engine,
            contract=contract,
            seed=1,
            findings=str(room / "findings"),
            state=str(room / "state.json"),
            current=str(room / "current"),
            flags=("-merge=1", "-timeout=60", "-rss_limit_mb=2048", str(kept), str(corpus)),
            program=str(program),
        )
        job.write(room / "job.json")
        # libFuzzer runs the inputs in a process of its own, which it starts by this name.
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m fuzz.campaign.worker "{room}/job.json" "$@"\n'
        )
        program.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "fuzz.campaign.worker", str(room / "job.json")],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        documents = [*kept.iterdir()]
        if done.returncode != 0 or not documents:
            said = "\n".join(done.stderr.splitlines()[-10:])
            raise MinimiseFailed(f"libFuzzer could not merge the corpus; it said:\n{said}")
        names = {file.name for file in documents}
        for file in documents:
            write_quickly(corpus / file.name, file.read_bytes())
        for file in [*corpus.iterdir()]:
            if file.is_file() and file.name not in names:
                file.unlink()
    return before, len(names)
