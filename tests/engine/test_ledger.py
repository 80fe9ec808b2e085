"""The ledger of known divergences, replayed on the engines that it names."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from corpora import ROOT
from fuzz import diff_cli, ledger
from fuzz.cli import main
from fuzz.comparison import compare
from fuzz.cut_files import read_cut
from fuzz.cuts import CutDocuments, compare_cut
from fuzz.engines import RELEASES, InProcessEngine
from fuzz.ledger import divergences
from oracle import CONTRACTS

EngineOf = Callable[[str], InProcessEngine]


def entries(*, of_cuts: bool) -> list[Any]:
    """Every shape of every entry that shows in cuts, or else in manifests, on every release."""
    return [
        pytest.param(shape, CONTRACTS[name], release, id=f"{entry.id}-{index}-{release}")
        for entry in divergences()
        if entry.is_of_cuts is of_cuts
        for index, shape in enumerate(entry.shapes)
        for name, releases in entry.releases.items()
        for release in releases
    ]


OF_MANIFESTS, OF_CUTS = entries(of_cuts=False), entries(of_cuts=True)


def check(*arguments: str) -> tuple[int, str, str]:
    """Run `ledger check` in this process."""
    result = CliRunner().invoke(main, ["ledger", "check", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.releases(*RELEASES)
def test_every_entry_holds(engine_of: EngineOf) -> None:
    """Each shape of each entry happens on every release that the entry names."""
    for release in RELEASES:
        engine_of(release)
    status, told, _ = check("--format", "json")
    rows = [json.loads(line) for line in told.splitlines()]
    assert status == 0
    assert [row["holds"] for row in rows] == [True] * len(OF_MANIFESTS + OF_CUTS)


@pytest.mark.usefixtures("default_engine")
def test_without_the_ledger_it_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the ledger knows disagrees as soon as the ledger does not know it."""
    monkeypatch.setattr(ledger, "divergences", lambda: ())
    (first, *_) = divergences()
    file = first.shapes[0].path(CONTRACTS["v10"])
    result = CliRunner().invoke(main, ["diff", "--format", "json", str(file)])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["outcome"] == "stage"


@pytest.mark.parametrize(("shape", "contract", "release"), OF_MANIFESTS)
def test_document_is_the_smallest(
    engine_of: EngineOf, shape: ledger.Shape, contract: Any, release: str
) -> None:
    """No element can be taken out of a list of the document without losing the divergence."""
    engine = engine_of(release)
    assert shape.key_groups is not None
    document = json.loads(shape.path(contract).read_bytes())
    lists = [name for name, value in document.items() if isinstance(value, list) and value]
    assert lists
    for name in lists:
        for index in range(len(document[name])):
            smaller = {**document, name: document[name][:index] + document[name][index + 1 :]}
            data = json.dumps(smaller).encode()
            found = compare(data, engine, shape.key_groups, contract)
            clean = name not in {"owned_vnodes", "source_names"}
            assert (found.known is None and not found.is_finding) == clean, (name, index)


@pytest.mark.parametrize(("shape", "contract", "release"), OF_CUTS)
def test_cut_is_the_smallest(
    engine_of: EngineOf, shape: ledger.Shape, contract: Any, release: str
) -> None:
    """The index stands alone, and nothing can be taken out of its lists or maps."""
    documents = read_cut(shape.path(contract))
    assert documents == CutDocuments(documents.index, ())
    index = json.loads(documents.index)
    for name, value in index.items():
        for part in value if isinstance(value, (list, dict)) and name in LOSABLE else ():
            smaller = {**index, name: without(value, part)}
            data = CutDocuments(json.dumps(smaller).encode(), ())
            first = compare_cut(engine_of(release), data).first
            assert first is None or not shape.matches(first.signature), (name, part)


LOSABLE = (
    *("participants", "source_names", "channel_progress"),
    *("source_offsets", "source_watermarks"),
)


def without(value: Any, part: Any) -> Any:
    """A list without one of its items, or a map without one of its keys."""
    if isinstance(value, list):
        return [item for item in value if item is not part]
    return {key: item for key, item in value.items() if key != part}


@pytest.mark.usefixtures("default_engine")
def test_stale_cut_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry whose cut is agreed upon fails the check, and its replay line agrees, too."""
    entry = next(entry for entry in divergences() if entry.is_of_cuts)
    (tmp_path / "divergences").mkdir()
    monkeypatch.setattr(ledger, "_HERE", tmp_path)
    agreed = tmp_path / "divergences" / entry.shapes[0].documents["v10"]
    agreed.write_bytes(read_cut(ROOT / "cuts/valid/local").text())
    only = dataclasses.replace(entry, releases={"v10": ("0.33.0",)}, shapes=entry.shapes[:1])
    monkeypatch.setattr(diff_cli, "divergences", lambda: (only,))
    status, told, _ = check("--format", "json")
    row = json.loads(told)
    assert (status, row["holds"], row["now"]) == (1, False, "agree")
    assert row["replay"] == f"python -m fuzz diff --engine=0.33.0 {agreed}"
    assert CliRunner().invoke(main, row["replay"].split()[3:]).exit_code == 0


@pytest.mark.usefixtures("default_engine")
def test_stale_entry_fails(documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry whose document is agreed upon, or known as something else, fails the check."""
    (entry, *others) = divergences()
    agreed = dataclasses.replace(
        entry.shapes[0], documents={"v10": str(documents / "cases" / "base_local.json")}
    )
    changed = dataclasses.replace(entry, id="over", releases={"v10": ("0.33.0",)}, shapes=(agreed,))
    monkeypatch.setattr(diff_cli, "divergences", lambda: (*others, changed))
    status, told, _ = check()
    assert status == 1
    assert "stale 0.33.0  over" in told
    assert told.splitlines()[-1].strip().startswith("replay: python -m fuzz diff --engine=0.33.0")


@pytest.mark.usefixtures("default_engine")
def test_release_that_is_not_built_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release without an engine is not passed over in silence."""
    built = diff_cli._built
    monkeypatch.setattr(diff_cli, "_built", lambda name: built(name) if name == "0.33.0" else None)
    status, told, progress = check()
    assert status == 0
    assert "0.33.0" in told
    assert "reserved-watermark: not checked on 0.32.0, it is not built" in progress


def test_without_any_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an engine nothing is checked, and that is not success."""
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path))
    status, told, progress = check()
    assert status == 2
    assert told == ""
    assert "python -m fuzz engine build" in progress
