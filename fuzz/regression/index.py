"""An index: one JSON object a line, sorted by id, written by these tools alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from corpora import ROOT
from fuzz.regression.cases import Case, Indexed

T = TypeVar("T", bound=Indexed)

INDEX = ROOT / "index.jsonl"


class Drift(Exception):
    """The corpus on disk is not what the tools would write; the message says where."""


def read(path: Path = INDEX) -> list[Case]:
    """Every case in the order of the index; :class:`Drift` when a line is no case."""
    return read_rows(path, Case)


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """Every case of the index in *path*, whose rows are of one *kind*."""
    cases: list[T] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            cases.append(kind.from_row(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise Drift(f"{path.name}:{number}: {error}") from None
    return cases


def text(cases: Iterable[Indexed]) -> str:
    """The index of *cases*."""
    rows = sorted((case.row() for case in cases), key=lambda row: str(row["id"]))
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def write(cases: Iterable[Indexed], path: Path = INDEX) -> None:
    """Replace the index."""
    path.write_text(text(cases), "utf-8")


def orphans(cases: Iterable[Case]) -> list[str]:
    """Files below ``cases`` that no case names."""
    named = {case.path for case in cases}
    found = (path for path in (ROOT / "cases").rglob("*") if path.is_file())
    return sorted(str(path.relative_to(ROOT)) for path in found if path not in named)
