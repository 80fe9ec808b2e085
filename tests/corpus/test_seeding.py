"""Seeding adds what is missing, and touches nothing that is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis.strategies import just

from corpora import ROOT
from fuzz.regression.seeding import smallest

CONTRACT = "view-log"
RULE = "channels.input-empty"
# All seeds take half a minute: these are some of each kind, among them such as were pruned.
SEED = f"""
from fuzz.regression import seeding

every = seeding.breakages_of
seeding.breakages_of = lambda contract: [
    item for item in every(contract) if item.name in ({RULE!r}, "version/below")
]
seeding.SOURCES = (seeding.of_rules, seeding.of_traits, seeding.of_spellings)

from corpora import ROOT
from fuzz.cli import main
from pathlib import Path

assert ROOT == Path.cwd() / "corpora", ROOT
main(["corpus", "seed", "--contract", {CONTRACT!r}])
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The corpus, in a place of its own."""
    return Path(shutil.copytree(ROOT, tmp_path / "corpora"))


def seed(copy: Path) -> str:
    """Seed *copy*; gives what is told."""
    done = subprocess.run(
        [sys.executable, "-c", SEED],
        cwd=copy.parent,
        env=os.environ | {"PYTHONPATH": f"{copy.parent}:{ROOT.parent}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    assert done.stdout == ""
    return done.stderr


def files(corpus: Path) -> dict[str, bytes]:
    """Every file by its path."""
    found = (path for path in corpus.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(corpus)): path.read_bytes() for path in found}


def test_a_corpus_that_is_there_stays_as_it_is(copy: Path) -> None:
    """No id gets other bytes, no case comes back that would be pruned, and no warning is shown."""
    before = files(copy)
    (told,) = seed(copy).splitlines()
    assert told.startswith("0 cases added; ")
    assert files(copy) == before


def test_what_is_missing_is_added(copy: Path) -> None:
    """Every liberty, and a rule with the valid case beside it, which does not replace another."""
    rule, near = (f"{CONTRACT}/{name}{RULE}" for name in ("rules/", "valid/beside-"))
    index = copy / "index.jsonl"
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()]
    liberties = {row["id"] for row in rows if row["id"].startswith(f"{CONTRACT}/spelling/")}
    kept = [row for row in rows if row["id"] not in liberties and RULE not in row["rules"]]
    for row in rows:
        if row not in kept:
            (copy / row["file"]).unlink()
    (beside,) = (row for row in kept if row["id"] == near)
    other = b'{"version":11}'
    (copy / beside["file"]).write_bytes(other)
    beside["sha256"] = "0" * 64
    index.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in kept), "utf-8")
    assert seed(copy).startswith(f"{len(liberties) + 2} cases added; ")
    after = {row["id"]: row for row in map(json.loads, index.read_text("utf-8").splitlines())}
    assert liberties <= after.keys()
    assert after[rule]["neighbour"] == f"{near}-2"
    assert after[f"{near}-2"]["file"] == f"cases/{near}-2.json"
    assert (copy / after[f"{near}-2"]["file"]).is_file()
    assert (copy / beside["file"]).read_bytes() == other


def test_a_large_example_is_no_warning() -> None:
    """What Hypothesis says to authors of tests about large examples, nobody else has to read."""
    large = "x" * 100_000
    assert smallest(just(large)) == large
