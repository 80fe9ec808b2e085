"""The corpus is what its index says, complete, small, and of use to those who replay it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from corpora import ROOT
from fuzz.cli import main
from fuzz.corpus_cli import MOST_BYTES, corpus
from fuzz.engines import load
from fuzz.regression import index, schema, vectors
from fuzz.regression.cases import LARGEST, Flag
from fuzz.regression.coverage import rows
from fuzz.regression.minimal import redundant
from fuzz.regression.verify import drift, problems, problems_of
from oracle import CONTRACTS

CASES = index.read()


def test_oracle_says_what_the_corpus_says() -> None:
    """Files, expectations and vectors, all of them."""
    assert list(problems(CASES, [])) == []


def test_every_case_counts() -> None:
    """A changed expectation of any one case is found, and so is a changed hash of its bytes."""
    for case in CASES:
        stage = "valid" if case.stage != "valid" else "invalid"
        changed = replace(case, stage=stage)
        assert any(found.where == case.id for found in problems_of(changed, [])), case.id
        changed = replace(case, sha256="0" * 64)
        assert any(found.judge == "files" for found in problems_of(changed, [])), case.id


def test_changed_bytes_are_found(tmp_path: Path) -> None:
    """One changed byte of a document."""
    case = CASES[0]
    copy = tmp_path / "changed.json"
    copy.write_bytes(case.path.read_bytes().replace(b"1", b"2", 1))
    found = list(problems([replace(case, file=str(copy))], []))
    assert any("other bytes" in problem.message for problem in found)


def test_missing_file_is_found(tmp_path: Path) -> None:
    """A case without its document."""
    lost = replace(CASES[0], file=str(tmp_path / "lost.json"))
    assert any("missing" in problem.message for problem in problems([lost], []))


def test_edited_index_is_drift() -> None:
    """An index that the tools would write otherwise."""
    assert list(drift(CASES)) == []
    edited = [replace(CASES[0], why="edited"), *CASES[1:]]
    assert [problem.where for problem in drift(edited)] == ["index.jsonl"]


def test_index_keeps_its_schema() -> None:
    """Every line, by the schema that is published beside it."""
    validator = jsonschema.Draft202012Validator(schema.case_schema())
    for line in index.INDEX.read_text("utf-8").splitlines():
        validator.validate(json.loads(line))
    jsonschema.validate(json.loads(vectors.FILE.read_text()), schema.vectors_schema())


def test_schema_refuses_what_is_no_case() -> None:
    """The schema can fail."""
    row = CASES[0].row() | {"stage": "perhaps"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(row, schema.case_schema())


@pytest.mark.parametrize("contract", CONTRACTS)
def test_coverage_has_no_hole(contract: str) -> None:
    """Every rule, kind, spelling, hazard and divergence of every format."""
    holes = [row for row in rows(CASES, [CONTRACTS[contract]]) if row.missing]
    assert holes == []


def test_coverage_sees_a_hole() -> None:
    """Without the cases of one rule there is one."""
    fewer = [case for case in CASES if "frames.order" not in case.rules]
    names = {row.name for row in rows(fewer, [CONTRACTS["v10"]]) if row.missing}
    assert "frames.order" in names


def test_corpus_is_small() -> None:
    """At least 500 cases, 5 MB in all, and large ones only about size."""
    assert len(CASES) >= 500
    sizes = {case.id: case.path.stat().st_size for case in CASES}
    assert sum(sizes.values()) < MOST_BYTES
    large = [case for case in CASES if sizes[case.id] > LARGEST]
    assert all(Flag.SIZE.value in case.flags for case in large)
    assert len(large) <= 6


def test_export_has_everything() -> None:
    """One JSON document with the documents and the vectors."""
    result = CliRunner().invoke(corpus, ["export", "--one-file"])
    assert result.exit_code == 0
    made = json.loads(result.stdout)
    assert len(made["cases"]) == len(CASES)
    assert made["vectors"] == json.loads((ROOT / "vectors.json").read_text())


def test_coverage_command_fails_for_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1, and 0 without one."""
    assert CliRunner().invoke(corpus, ["coverage"]).exit_code == 0
    fewer = [case for case in CASES if case.kind != "bom"]
    monkeypatch.setattr("fuzz.corpus_cli._cases", lambda: fewer)
    assert CliRunner().invoke(corpus, ["coverage"]).exit_code == 1


@pytest.mark.engine
def test_engines_say_what_the_corpus_says() -> None:
    """The production engine, on every case of its format."""
    assert list(problems(CASES, [load("0.33.0")])) == []


@pytest.mark.engine
def test_verify_replays_a_problem_with_its_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for the oracle, and one for the engine, each of which shows the verdict again."""
    wrong = next(case for case in CASES if case.id == "v10/rules/timestamp")
    claimed = replace(wrong, stage="valid", rules=(), divergence="reserved-watermark")
    monkeypatch.setattr("fuzz.corpus_cli._cases", lambda: [claimed])
    result = CliRunner().invoke(corpus, ["verify", "--engine", "0.33.0", "--contract", "v10"])
    assert result.exit_code == 1
    facts = f"--contract v10 --key-groups {wrong.key_groups} {wrong.path}"
    lines = {line.strip() for line in result.stdout.splitlines() if "replay" in line}
    assert f"replay: manifest-oracle check {facts}" in lines
    diff = f"replay: python -m fuzz diff --engine 0.33.0 {facts}"
    assert diff in lines
    again = CliRunner().invoke(main, shlex.split(diff)[4:])
    assert (again.exit_code, str(wrong.path) in again.stdout) == (0, True)


def test_a_contract_that_no_engine_speaks_is_not_pruned() -> None:
    """Without the engine's side nobody can say that a case shows no more than another."""
    twin = replace(CASES[0], id=f"{CASES[0].id}-twin")
    assert list(redundant([CASES[0], twin], [])) == []


@pytest.mark.engine
def test_corpus_is_minimal() -> None:
    """No two cases have the same reason, flags and coverage on both sides."""
    engine = load("0.33.0")
    own = [case for case in CASES if case.contract == "v10"]
    assert [(case.id, first.id) for case, first in redundant(own, [engine])] == []
    twin = replace(own[0], id=f"{own[0].id}-twin")
    assert [case.id for case, _ in redundant([*own, twin], [engine])] == [twin.id]
