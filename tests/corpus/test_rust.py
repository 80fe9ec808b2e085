"""The corpus in Rust alone, as an engine's own tests could have it, and whether these would see."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from corpora import ROOT
from fuzz.engines import DEFAULT_RELEASE, builds
from fuzz.engines.build import test as hold_against
from tests.engine.conftest import built_engine

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.releases(DEFAULT_RELEASE)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A copy of the corpus that may be changed; what the engine's build compiled is used again."""
    built_engine(DEFAULT_RELEASE)
    shutil.copy(ROOT / "index.jsonl", tmp_path)
    shutil.copytree(ROOT / "cases", tmp_path / "cases")
    return tmp_path


def rewrite(corpus: Path, number: int, **changes: object) -> str:
    """Change the row of one case of the engine's format, and give its id."""
    index = corpus / "index.jsonl"
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()]
    own = [row for row in rows if row["contract"] == "v10" and row["divergence"] is None]
    row = own[number]
    row.update(changes)
    index.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    return str(row["id"])


def test_the_engine_takes_the_corpus_for_what_it_is(corpus: Path) -> None:
    """Every case ends where the index says, read by Rust and judged by laminar-core."""
    assert hold_against(builds.target(DEFAULT_RELEASE), corpus)


def test_one_changed_expectation_is_seen(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A stage that is not the engine's fails the test, which names the case."""
    id = rewrite(corpus, 0, stage="decode", kind="type", rules=[], unspecified=[])
    assert not hold_against(builds.target(DEFAULT_RELEASE), corpus)
    assert f"{id}: the engine says" in "".join(capfd.readouterr())


def test_one_changed_byte_is_seen(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A document with a space more fails the test, whatever it is worth now."""
    rows = [json.loads(line) for line in (corpus / "index.jsonl").read_text("utf-8").splitlines()]
    row = [row for row in rows if row["contract"] == "v10"][-1]
    path = corpus / row["file"]
    path.write_bytes(path.read_bytes() + b" ")
    assert not hold_against(builds.target(DEFAULT_RELEASE), corpus)
    assert f"{row['id']}: {row['file']} has other bytes" in "".join(capfd.readouterr())
