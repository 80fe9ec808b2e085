"""The cuts of the corpus: what is said of them, that they are complete, and that they are small."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from corpora import ROOT
from fuzz.corpus_cli import corpus
from fuzz.engines import load
from fuzz.regression import cuts, schema
from fuzz.regression.cases import LARGEST
from fuzz.regression.verify import drift
from oracle import V9, V10
from oracle.cuts import RULES

CASES = cuts.read()
MOST_BYTES = 512 * 1024


def test_oracle_says_what_the_index_says() -> None:
    """Files and expectations, all of them."""
    assert list(cuts.problems(CASES, [])) == []


def test_every_case_counts() -> None:
    """A changed expectation of any one case is found, and so is a changed hash of its bytes."""
    for case in CASES:
        for changed in (
            replace(case, step="index" if case.step == "valid" else "valid"),
            replace(case, rule="index.too-large"),
            replace(case, files={**case.files, "index.json": "0" * 64}),
            replace(case, files={**case.files, "manifest-99.json": "0" * 64}),
        ):
            found = list(cuts.problems_of(changed, []))
            assert [problem.where for problem in found] == [case.directory], case.id


def test_missing_directory_is_found() -> None:
    """A case without its documents."""
    lost = replace(CASES[0], directory="cuts/lost")
    assert "missing" in next(iter(cuts.problems_of(lost, []))).message


def test_edited_index_is_drift() -> None:
    """An index that the tools would write otherwise, and files that no case names."""
    assert list(cuts.drift(CASES)) == []
    edited = [replace(CASES[0], why="edited"), *CASES[1:]]
    assert [problem.where for problem in cuts.drift(edited)] == ["cuts.jsonl"]
    assert len(list(cuts.drift(CASES[1:]))) == 1 + len(CASES[0].files)


def test_index_keeps_its_schema() -> None:
    """Every line, by the schema that is published beside it, which can fail."""
    validator = jsonschema.Draft202012Validator(schema.cut_schema())
    rows = [json.loads(line) for line in cuts.INDEX.read_text("utf-8").splitlines()]
    for row in rows:
        validator.validate(row)
    changes: list[dict[str, object]] = [
        {"step": "perhaps"},
        {"rule": "timestamp"},
        {"files": {}},
        {"more": 1},
    ]
    for change in changes:
        assert not validator.is_valid(rows[0] | change)


def test_schema_is_the_code_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published schema is as the code would write it, and a difference is drift."""
    assert list(drift([])) != []
    names = [problem.where for problem in drift([])]
    assert "cuts.schema.json" not in names
    monkeypatch.setattr(schema, "STEPS", ("index",))
    assert "cuts.schema.json" in [problem.where for problem in drift([])]


def test_every_rule_has_a_case() -> None:
    """No rule of cuts is without one, except those of which it is said why."""
    fired = {case.rule for case in CASES}
    assert RULES.keys() - fired == cuts.NO_CASE.keys()
    assert [row.name for row in cuts.rows(CASES, V10) if row.missing] == []
    assert list(cuts.rows(CASES, V9)) == []


@pytest.mark.parametrize("rule", sorted(RULES.keys() - cuts.NO_CASE.keys()))
def test_coverage_sees_a_hole(rule: str) -> None:
    """Without the cases of one rule there is one."""
    fewer = [case for case in CASES if case.rule != rule]
    assert rule in {row.name for row in cuts.rows(fewer, V10) if row.missing}


def test_coverage_command_fails_for_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1 where a rule of cuts has no case."""
    monkeypatch.setattr("fuzz.corpus_cli._cuts", lambda: CASES[:1])
    result = CliRunner().invoke(corpus, ["coverage", "--contract", "v10"])
    assert result.exit_code == 1
    assert CliRunner().invoke(corpus, ["coverage", "--contract", "v9"]).exit_code == 0


def test_cuts_are_small() -> None:
    """All of them together, and each."""
    sizes = Counter({case.id: cuts.size([case]) for case in CASES})
    assert sum(sizes.values()) < MOST_BYTES
    assert sizes.most_common(1)[0][1] < LARGEST


def test_no_case_twice() -> None:
    """No two cases are the same documents."""
    files = [tuple(sorted(case.files.items())) for case in CASES]
    assert len(set(files)) == len(files)


def test_export_has_the_cuts() -> None:
    """With every document of every cut."""
    made = json.loads(CliRunner().invoke(corpus, ["export", "--one-file"]).stdout)
    assert [case["id"] for case in made["cuts"]] == [case.id for case in CASES]
    assert all(case["documents"].keys() == case["files"].keys() for case in made["cuts"])


@pytest.mark.engine
def test_engines_say_what_the_index_says() -> None:
    """The production engine, on every cut."""
    assert list(cuts.problems(CASES, [load("0.33.0")])) == []


@pytest.mark.engine
def test_a_divergence_that_is_not_there_is_found() -> None:
    """A case may not claim a divergence that the engine does not show, nor hide one."""
    engine = load("0.33.0")
    (case, *_) = (case for case in CASES if case.divergence is not None)
    (hidden,) = cuts.problems_of(replace(case, divergence=None), [engine])
    assert hidden.judge == engine.name
    valid = next(case for case in CASES if case.step == "valid")
    (claimed,) = cuts.problems_of(replace(valid, divergence=case.divergence), [engine])
    assert "any more" in claimed.message


@pytest.mark.engine
def test_verify_tells_of_engines_that_cannot_be_asked() -> None:
    """What was not compared does not read as clean, and a problem has a line that replays it."""
    result = CliRunner().invoke(corpus, ["verify", "--engine", "0.30.0"])
    assert result.exit_code == 0
    assert f"cuts not compared: {len(CASES)}; laminar-core 0.30.0" in result.stderr


@pytest.mark.engine
def test_verify_replays_a_problem_with_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an engine says is replayed with that engine."""
    (case, *_) = (case for case in CASES if case.divergence is not None)
    monkeypatch.setattr("fuzz.corpus_cli._cuts", lambda: [replace(case, divergence=None)])
    result = CliRunner().invoke(corpus, ["verify", "--engine", "0.33.0"])
    assert result.exit_code == 1
    line = f"replay: python -m fuzz diff --engine 0.33.0 {ROOT / case.directory}"
    assert line in result.stdout


def test_verify_command_has_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem with a cut ends with the line that replays it."""
    wrong = [replace(CASES[0], kind="bom"), *CASES[1:]]
    monkeypatch.setattr("fuzz.corpus_cli._cuts", lambda: wrong)
    result = CliRunner().invoke(corpus, ["verify"])
    assert result.exit_code == 1
    assert f"replay: python -m fuzz diff {ROOT / CASES[0].directory}" in result.stdout
