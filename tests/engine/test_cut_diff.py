"""`python -m fuzz diff` on whole cuts: in stores, in directories, and in files of one cut."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from corpora import ROOT
from fuzz import ledger
from fuzz.cli import main
from fuzz.cut_files import read_cut
from fuzz.engines import InProcessEngine
from fuzz.regression import cuts

pytestmark = pytest.mark.usefixtures("default_engine")

STORE = ROOT / "stores" / "trades"
KNOWN = ROOT / "cuts" / "index" / "reserved-watermark-index"


def diff(*arguments: str | Path) -> Result:
    """Run `diff` in this process."""
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows about cuts."""
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return [row for row in rows if "steps" in row]


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine finds nothing wrong with manifests beside an index."""
    monkeypatch.setattr(InProcessEngine, "validate_participant_manifests", lambda *_: None)


def test_store() -> None:
    """Every cut of a store is compared, beside its manifests."""
    result = diff("--format", "json", STORE)
    assert result.exit_code == 0
    rows = rows_of(result)
    assert [row["file"] for row in rows] == sorted(
        str(path) for path in (STORE / "committed-checkpoints").rglob("sha256=*")
    )
    assert [row["outcome"] for row in rows] == ["agree", "agree"]
    assert [row["oracle"]["step"] for row in rows] == ["valid", "valid"]
    assert "and 2 cuts on 0.33.0" in result.stderr


def test_every_cut_of_the_corpus() -> None:
    """Directories of cuts are cuts, and their files no documents of their own."""
    result = diff("--format", "json", ROOT / "cuts")
    assert result.exit_code == 0
    rows = {row["file"]: row for row in rows_of(result)}
    assert len(rows) == len(result.stdout.splitlines())
    for case in cuts.read():
        row = rows[str(case.path)]
        assert (row["oracle"]["step"], row["oracle"]["rule"]) == (case.step, case.rule)
        assert row["known"] == case.divergence


@pytest.mark.usefixtures("lenient")
def test_difference(tmp_path: Path) -> None:
    """It is shown with the step and both sides, and the line that replays it shows it again."""
    store = tmp_path / "store"
    shutil.copytree(STORE, store)
    last = sorted((store / "nodes").rglob("manifest.json"))[-1]
    last.write_bytes(last.read_bytes().replace(b'"timestamp_ms":1', b'"timestamp_ms":2'))
    result = diff("--format", "json", store)
    assert result.exit_code == 1
    (row,) = (row for row in rows_of(result) if row["outcome"] != "agree")
    assert row["oracle"]["rule"] == "cut.manifest-bytes"
    assert row["signature"] == {"oracle": ["cut.manifest-bytes"], "engine": []}
    assert [(step["step"], step["engine"]) for step in row["steps"]] == [("manifests", "valid")]
    again = diff(*shlex.split(row["replay"])[4:])
    assert again.exit_code == 1
    told = again.stdout.splitlines()
    assert told[0].startswith("stage     0.33.0")
    assert [line.strip().partition(" ")[0] for line in told[1:]] == [
        *("manifests", "oracle:", "engine:", "replay:")
    ]
    assert f"{row['replay']}" in told[-1]


def test_known_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger alone makes it known: without its entry it is a finding."""
    result = diff("--format", "json", KNOWN)
    assert result.exit_code == 0
    assert rows_of(result)[0]["outcome"] == "known"
    monkeypatch.setattr(ledger, "divergences", lambda: ())
    result = diff("--format", "json", KNOWN)
    assert result.exit_code == 1
    assert rows_of(result)[0]["outcome"] == "stage"


def test_file_of_one_cut(tmp_path: Path) -> None:
    """What a finding leaves behind can be given again."""
    file = tmp_path / "found.cut"
    file.write_bytes(read_cut(ROOT / "cuts/valid/cluster-predecessor").text())
    result = diff(file)
    assert (result.exit_code, result.stdout) == (0, f"agree     0.33.0  {file}\n")


def test_engine_that_cannot_be_asked(tmp_path: Path) -> None:
    """It is said that cuts were not compared, and that is no success."""
    program = tmp_path / "engine"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fuzz engine serve 0.33.0\n')
    program.chmod(0o755)
    for name, why in ((str(program), "cannot be asked about a cut"), ("0.30.0", "format v9")):
        result = diff("--engine", name, KNOWN)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "cuts not compared: 1; " in result.stderr
        assert why in result.stderr
    both = diff("--engine", "0.30.0", "--engine", "0.33.0", KNOWN)
    assert both.exit_code == 2
    assert both.stdout.startswith("known")


@pytest.mark.usefixtures("lenient")
def test_finding_comes_before_what_was_not_compared() -> None:
    """A finding is exit code 1, also when another engine could not be asked."""
    broken = ROOT / "cuts/manifests/manifest-lost"
    assert diff("--engine", "0.30.0", "--engine", "0.33.0", broken).exit_code == 1


def test_nothing_there(tmp_path: Path) -> None:
    """A directory without documents and cuts is an error."""
    result = diff(tmp_path)
    assert result.exit_code == 2
    assert "no .json file below" in result.stderr
