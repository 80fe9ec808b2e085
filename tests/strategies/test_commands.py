"""The report and the bench: what they count, and how they end."""

import json
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from oracle import CONTRACTS, V9, V10, encode
from strategies import Trait, manifests
from strategies.bench import Bench, Row
from strategies.cli import main
from strategies.corruptions import corruptible_rules
from strategies.report import Report, report_on
from strategies.sampling import sample
from strategies.schema import schema_of


@pytest.fixture(scope="module")
def report() -> Report:
    """A small report."""
    return report_on(V9, examples=400, each=2, start=0, progress=lambda step: None)


def test_the_report_has_every_trait_and_every_rule(report: Report) -> None:
    """Of the format, and of no other."""
    traits = [trait.value for trait in Trait if V9.has(trait.feature)]
    assert [row.trait for row in report.traits] == traits
    assert tuple(row.rule for row in report.rules) == corruptible_rules(V9)
    assert report.invalid == 0
    assert all(row.fired and not row.wrong for row in report.rules)


def test_the_report_names_what_is_missing(report: Report) -> None:
    """Too small a share, a rule that nothing breaks and a wrong expectation are faults."""
    assert replace(report, traits=(), invalid=0).faults == []
    seldom = replace(report.traits[0], share=0.01)
    unbroken = replace(report.rules[0], fired=0)
    wrong = replace(report.rules[1], wrong=2)
    faults = replace(report, invalid=1, traits=(seldom,), rules=(unbroken, wrong)).faults
    assert len(faults) == 4


def test_the_command_prints_data_and_says_how_it_ended() -> None:
    """JSON on standard output, exit code 1 exactly where there are faults."""
    arguments = [
        "report",
        "--contract",
        "v9",
        "--examples",
        "60",
        "--each",
        "1",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(main, arguments)
    told = json.loads(result.stdout)
    assert told["contract"] == "v9"
    assert result.exit_code == (1 if told["faults"] else 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "--contract", "v8"],
        ["bench", "--contract", "view-log"],
        ["bench", "--engine", "0.0.0"],
    ],
    ids=" ".join,
)
def test_what_cannot_run_is_not_clean(arguments: list[str]) -> None:
    """An unknown format or a missing engine ends with exit code 2, and says what to do."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "cannot run" in result.stderr
    assert result.stdout == ""


ROW = Row("", 1, rate=200.0, median_size=2048, decoded=1.0, valid=1.0, engine_accepts=1.0)
BROKEN = replace(ROW, rate=100.0, valid=0.0, engine_accepts=0.0)
SCHEMA = replace(ROW, rate=2.0, valid=0.0, engine_accepts=0.0)


def test_the_bench_knows_its_bounds() -> None:
    """Each bound is a fault as soon as it is missed."""
    good = Bench(ROW, BROKEN, SCHEMA)
    assert good.faults == []
    assert good.ratio == 0.5
    assert good.speed_up is None
    assert replace(good, jsonschema=replace(SCHEMA, engine_accepts=0.5)).speed_up == 200.0
    assert replace(good, manifests=replace(ROW, rate=149.0)).faults
    assert replace(good, manifests=replace(ROW, median_size=2047)).faults
    assert replace(good, manifests=replace(ROW, engine_accepts=0.9)).faults
    assert replace(good, corruptions=replace(BROKEN, rate=99.0)).faults
    assert replace(good, corruptions=replace(BROKEN, valid=0.1)).faults


def test_the_bench_shows_progress_and_no_infinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal a line now and then; a schema that yields nothing is told in words."""
    monkeypatch.setattr("strategies.cli._LINE_EVERY", 0.0)
    monkeypatch.setattr("strategies.cli._engine", lambda contract, release: lambda *asked: False)
    result = CliRunner().invoke(main, ["bench", "--examples", "10", "--of-schema", "2"])
    lines = result.stderr.splitlines()
    assert "manifests(): 10 of 10" in lines
    assert "hypothesis-jsonschema: 2 of 2" in lines
    assert "hypothesis-jsonschema: 2 being judged" in lines
    assert "against the schema: none of it accepted" in result.stdout


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_every_manifest_keeps_the_schema(contract) -> None:  # type: ignore[no-untyped-def]
    """The schema is of the same type, and not of something else."""
    schema = schema_of(contract)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for manifest in sample(manifests(contract, without=[Trait.MAX_VNODES]), 40):
        document = json.loads(encode(manifest, contract))
        assert list(validator.iter_errors(document)) == []
        document["unknown"] = 0
        assert list(validator.iter_errors(document))


def test_the_schema_of_a_format_is_its_own() -> None:
    """v9 does not know what v10 added."""
    assert "subscription_output" in schema_of(V10)["properties"]
    assert "subscription_output" not in schema_of(V9)["properties"]
