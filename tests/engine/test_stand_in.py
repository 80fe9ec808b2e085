"""The stand-in for view logs: it judges as the oracle does, and passes for no engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from fuzz.assumptions import contradicted, contradicted_by_exports
from fuzz.cli import main
from fuzz.comparison import Outcome, compare, contract_of
from fuzz.engines import (
    DEFAULT_RELEASE,
    RELEASES,
    STAND_IN,
    EngineRefused,
    EngineUnsupported,
    InProcessEngine,
    builds,
)
from fuzz.messages import messages_of
from fuzz.regression import index
from oracle import RULES, V10, VIEW_LOG, Feature, Stage, encode
from oracle.facts import contract_from_facts
from strategies import (
    Trait,
    boundaries,
    corruption_pairs,
    corruptions,
    manifests,
    near_misses,
    spellings,
)
from strategies.breakages import BREAKAGES
from strategies.sampling import sample
from tests.engine import next_format
from tests.engine.conftest import built_engine

pytestmark = pytest.mark.releases(DEFAULT_RELEASE)


@pytest.fixture
def stand_in() -> InProcessEngine:
    """The stand-in, which is part of the default release's build."""
    return built_engine(STAND_IN)


# --- no engine -------------------------------------------------------------------------------


def test_it_says_that_it_is_no_engine(stand_in: InProcessEngine) -> None:
    """By its name, and by what it is not among."""
    assert stand_in.name == "stand-in (no engine)"
    assert stand_in.release == STAND_IN
    assert STAND_IN not in RELEASES
    assert STAND_IN not in VIEW_LOG.engines
    assert STAND_IN not in {build.release for build in builds.built()}


def test_it_speaks_the_assumed_format(stand_in: InProcessEngine) -> None:
    """Version and numbers are those of the contract that it is held against."""
    assert contract_of(stand_in) is VIEW_LOG
    assert stand_in.manifest_version == VIEW_LOG.manifest_version
    assert [*contradicted_by_exports(stand_in)] == []
    assert [stand_in.view_log_segment_limit(n) for n in (1, 2, 3, 129)] == [
        16_384,
        12_000,
        8_000,
        186,
    ]
    with pytest.raises(ValueError, match="at least 1 participant"):
        stand_in.view_log_segment_limit(0)


def test_it_has_no_store_and_no_index(stand_in: InProcessEngine, tmp_path: Path) -> None:
    """Those of laminar-core are of another format."""
    for call in (
        lambda: stand_in.judge_index(b"{}"),
        lambda: stand_in.load_manifest(tmp_path, 1, 1, 4),
        lambda: stand_in.save_checkpoint(tmp_path, b"{}", b"", 4),
    ):
        with pytest.raises(EngineUnsupported, match=r"stand-in \(no engine\) has no"):
            call()


def test_both_can_be_loaded_side_by_side(stand_in: InProcessEngine) -> None:
    """The engine in the same build goes on to speak its own format."""
    engine = built_engine(DEFAULT_RELEASE)
    assert (engine.manifest_version, stand_in.manifest_version) == (10, 11)
    (manifest,) = sample(manifests(V10, without=[Trait.SUBSCRIPTION]), 1)
    document = encode(manifest, V10)
    assert engine.judge(document, manifest.vnode_count).stage == "valid"
    assert stand_in.judge(document, manifest.vnode_count).messages == (
        "unsupported manifest version 10; expected 11",
    )


# --- agreement -------------------------------------------------------------------------------


def assert_agreed(document: bytes, key_groups: int, engine: InProcessEngine) -> Stage:
    """Oracle and stand-in say the same, for the same reasons; gives where the document ended."""
    found = compare(document, engine, key_groups, VIEW_LOG)
    assert found.outcome is Outcome.AGREE, str(found.signature)
    return found.oracle.stage


@settings(deadline=None)
@given(data=st.data())
def test_manifests_agree(data: st.DataObject) -> None:
    """Valid ones, with the same canonical encoding, however they are spelled."""
    engine = built_engine(STAND_IN)
    manifest = data.draw(manifests(VIEW_LOG))
    count = manifest.vnode_count
    assert assert_agreed(encode(manifest, VIEW_LOG), count, engine) is Stage.VALID
    spelled = data.draw(spellings(manifest, VIEW_LOG))
    assert assert_agreed(spelled.document, count, engine) is Stage.VALID
    missed = data.draw(near_misses(manifest, VIEW_LOG))
    assert assert_agreed(missed.document, count, engine) is Stage.DECODE


@settings(deadline=None)
@given(data=st.data())
def test_corruptions_agree(data: st.DataObject) -> None:
    """One, and two at once."""
    engine = built_engine(STAND_IN)
    for strategy in (corruptions(VIEW_LOG), corruption_pairs(VIEW_LOG)):
        found = data.draw(strategy)
        assert assert_agreed(found.document, found.key_groups, engine) is Stage.INVALID


OF_VIEW_LOGS = [
    name
    for name, way in BREAKAGES.items()
    if Feature.VIEW_LOGS in way.features and not (way.heavy and way.rule != "segments.limit")
]


@pytest.mark.parametrize("name", OF_VIEW_LOGS)
def test_every_way_to_break_view_logs_agrees(name: str, stand_in: InProcessEngine) -> None:
    """Alone and at the boundary, each by name."""
    count = 1 if BREAKAGES[name].heavy else 12
    for found in sample(corruptions(VIEW_LOG, names=[name]), count):
        assert assert_agreed(found.document, found.key_groups, stand_in) is Stage.INVALID


def test_bounds_agree(stand_in: InProcessEngine) -> None:
    """Just inside every bound."""
    for found in sample(boundaries(VIEW_LOG), 100):
        count = found.manifest.vnode_count
        assert assert_agreed(found.document, count, stand_in) is Stage.VALID


def test_every_released_case_is_judged_as_before(stand_in: InProcessEngine) -> None:
    """D8: with the new version, each case of the corpus for v10 ends where it did, and why."""
    version = re.compile(rb'("version"\s*:\s*)10\b')
    seen = 0
    for case in index.read():
        # The array of all fields has one more now.
        if case.contract != V10.name or case.path.read_bytes().lstrip().startswith(b"["):
            continue
        document = version.sub(rb"\g<1>11", case.path.read_bytes(), count=1)
        found = compare(document, stand_in, case.key_groups, VIEW_LOG)
        assert found.outcome in (Outcome.AGREE, Outcome.KNOWN), f"{case.id}: {found.signature}"
        assert found.oracle.stage.value == case.stage or "version" in case.rules, case.id
        if "version" not in case.rules:
            assert set(case.rules) <= found.oracle.rules, case.id
        seen += 1
    assert seen > 100


def test_every_assumed_rule_has_its_message(stand_in: InProcessEngine) -> None:
    """The patterns take what it writes: each message is seen to be written."""
    written: set[str] = set()
    for name in OF_VIEW_LOGS:
        (found,) = sample(corruptions(VIEW_LOG, names=[name]), 1)
        for text in stand_in.judge(found.document, found.key_groups).messages:
            message = messages_of(VIEW_LOG).message_of(text)
            assert message is not None, text
            written.update(message.rules)
    assert written >= {rule.id for rule in RULES.values() if rule.feature is Feature.VIEW_LOGS}


def test_encoding_refuses_what_does_not_decode(stand_in: InProcessEngine) -> None:
    """The text is the decoder's own, and it knows the new fields."""
    (manifest,) = sample(manifests(VIEW_LOG, having=[Trait.LOG_SEGMENT]), 1)
    document = encode(manifest, VIEW_LOG).replace(b'"row_count"', b'"rows"')
    with pytest.raises(EngineRefused, match="unknown field `rows`, expected one of `partition`"):
        stand_in.checkpoint_manifest_bytes(document)


# --- coverage --------------------------------------------------------------------------------


def test_coverage_tells_documents_apart() -> None:
    """Outside a fuzzer an engine's own counters say where a document led it."""
    engine = built_engine(DEFAULT_RELEASE)

    def reached(document: bytes) -> set[int]:
        engine.reset_coverage()
        engine.judge(document, 4)
        return {place for place, count in enumerate(engine.coverage_snapshot()) if count}

    assert len(engine.coverage_snapshot()) == engine.coverage_counters > 10_000
    (manifest,) = sample(manifests(V10, having=[Trait.SINK_PAYLOAD]), 1)
    document = encode(manifest, V10)
    none, some = reached(b"null"), reached(document)
    assert reached(b"null") == none
    assert len(some - none) > 100
    engine.reset_coverage()
    assert sum(engine.coverage_snapshot()) < sum(1 for _ in some)


# --- a checkout that speaks it ---------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The released engine's source with the new fields in it, built for as long as it is used."""
    built_engine(DEFAULT_RELEASE)
    directory = next_format.write_checkout(tmp_path_factory.mktemp("engine") / "laminar-core")
    result = run("engine", "build", "--path", str(directory))
    assert result.exit_code == 0, result.stderr
    assert f"format v{next_format.VERSION}" in result.stdout
    yield directory
    builds.remove(builds.find(directory))


def run(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, arguments)


@pytest.mark.slow
def test_a_checkout_is_held_against_the_assumed_format(checkout: Path, tmp_path: Path) -> None:
    """Its version and constants are reported, and what they and its verdicts contradict."""
    documents = {
        "none": manifests(VIEW_LOG, without=[Trait.VIEW_LOG]),
        "segment": manifests(VIEW_LOG, having=[Trait.CURRENT_SEGMENT], without=[Trait.OLDER_FRAME]),
    }
    for name, strategy in documents.items():
        (manifest,) = sample(strategy, 1)
        changed = replace(manifest, version=next_format.VERSION)
        (tmp_path / f"{name}.json").write_bytes(encode(changed, VIEW_LOG))
    (manifest,) = sample(
        manifests(VIEW_LOG, having=[Trait.EMPTY_VIEW_LOG], without=[Trait.LOG_SEGMENT]), 1
    )
    nameless = replace(manifest.view_logs[0], view_name="")
    changed = replace(manifest, version=next_format.VERSION, view_logs=(nameless,))
    (tmp_path / "nameless.json").write_bytes(encode(changed, VIEW_LOG))

    result = run("diff", "--engine", str(checkout), "--format", "json", str(tmp_path))
    assert result.exit_code == 1
    rows = {Path(row["file"]).stem: row for row in map(json.loads, result.stdout.splitlines())}
    assert rows["none"]["outcome"] == "agree"
    assert rows["segment"]["contradicts"] == ["A5"]
    assert next_format.ROWS in rows["segment"]["engine_verdict"]["messages"][0]
    assert rows["nameless"]["contradicts"] == ["A6"]
    assert "A1: CHECKPOINT_MANIFEST_VERSION is 12, assumed is 11" in result.stderr
    assert "A1: MAX_VIEW_LOG_SEGMENTS is 10,000, assumed is 16,384" in result.stderr
    assert "contradicted: A5 1 times, A6 1 times" in result.stderr


@pytest.mark.slow
def test_facts_take_the_place_of_the_guess(checkout: Path, tmp_path: Path) -> None:
    """With a file of facts the next disagreement is about the next assumption."""
    content: dict[str, dict[str, Any]] = {
        "numbers": {"manifest_version": next_format.VERSION},
        "names": {"ViewLogSegment.row_count": next_format.ROWS},
    }
    lines = [
        f"[{table}]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in of)
        for table, of in ((table, entries.items()) for table, entries in content.items())
    ]
    facts = tmp_path / "facts.toml"
    facts.write_text("".join(lines))
    contract = contract_from_facts(content, "facts")
    (manifest,) = sample(
        manifests(contract, having=[Trait.CURRENT_SEGMENT], without=[Trait.OLDER_FRAME]), 1
    )
    document = tmp_path / "segment.json"
    document.write_bytes(encode(manifest, contract))
    result = run(
        *("diff", "--engine", str(checkout), "--contract", str(facts)),
        *("--format", "json", str(document)),
    )
    (row,) = map(json.loads, result.stdout.splitlines())
    # That engine does not know that segments take room in the current object.
    assert row["engine_verdict"]["stage"] == "invalid"
    assert row["contradicts"] == ["A11"]
    assert f"--contract={facts}" in row["replay"]


def test_what_a_disagreement_contradicts(stand_in: InProcessEngine) -> None:
    """Held against other facts than its own, the stand-in shows which of them are wrong."""
    facts: dict[str, dict[str, Any]] = {
        "A1": {"numbers": {"manifest_version": 12}},
        "A5": {"names": {"EventTimeBounds.min": "least"}},
        "A4": {"names": {"ViewLog.view_name": "view"}},
        "A3": {"names": {"CheckpointManifest.view_logs": "logs"}},
        "A12": {"numbers": {"max_view_log_segments": 1}},
    }
    having = [Trait.EVENT_TIME, Trait.SEVERAL_LOG_SEGMENTS]
    (manifest,) = sample(manifests(VIEW_LOG, having=having), 1)
    for id, content in facts.items():
        contract = contract_from_facts(content, "facts")
        changed = replace(manifest, version=contract.manifest_version)
        for document in (encode(manifest, VIEW_LOG), encode(changed, contract)):
            found = compare(document, stand_in, manifest.vnode_count, contract)
            assert found.is_finding
            assert contradicted(found, contract) == (id,), (id, found.signature)
    agreed = compare(encode(manifest, VIEW_LOG), stand_in, manifest.vnode_count, VIEW_LOG)
    assert contradicted(agreed, VIEW_LOG) == ()


def test_what_is_older_than_view_logs_is_not_assumed(stand_in: InProcessEngine) -> None:
    """A disagreement about anything else contradicts that all else is as it was."""
    (manifest,) = sample(manifests(VIEW_LOG, having=[Trait.SINK], without=[Trait.VIEW_LOG]), 1)
    found = compare(encode(manifest, VIEW_LOG), stand_in, manifest.vnode_count, VIEW_LOG)
    rejected = oracle.judge(b"null", 4, VIEW_LOG)
    shown = compare(b"null", stand_in, 4, VIEW_LOG)
    assert (found.outcome, shown.outcome) == (Outcome.AGREE, Outcome.AGREE)
    signature = found._replace(oracle=rejected).signature._replace(
        outcome=Outcome.RULES, oracle=("timestamp",)
    )
    assert contradicted(found._replace(signature=signature), VIEW_LOG) == ("D8",)
    assert contradicted(found._replace(signature=signature), V10) == ()
