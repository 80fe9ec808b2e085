"""What a campaign keeps on disk is whole, whenever its processes end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.campaign.corpus import adopt, remove_torn
from fuzz.campaign.current import CurrentInput, read_current
from fuzz.campaign.files import corpus_name, write_whole
from fuzz.campaign.findings import Findings, Origin, load
from fuzz.campaign.totals import Moment, RuleCounts, Totals, blindness, rule_ids, totals
from fuzz.targets.session import Disagreement, key_groups_of
from oracle import V10

ORIGIN = Origin("laminar-core 0.33.0", "0.33.0", "v10", "manifests", 1, "worker-0")


def disagreement(document: bytes, signature: str = "rules; engine: timestamp") -> Disagreement:
    """A disagreement on *document*."""
    return Disagreement("rules", signature, document, 4, ("valid",), ("invalid", "no time"))


def test_first_and_smallest_are_kept(tmp_path: Path) -> None:
    """Of many documents with one signature the first and the smallest stay."""
    findings = Findings(tmp_path / "findings")
    for document in (b"four", b"sixsix", b"two", b"threes"):
        findings.add(disagreement(document), ORIGIN)
    (found,) = findings
    assert found.document(found.first) == b"four"
    assert found.document(found.smallest) == b"two"
    assert found.best == found.smallest


def test_each_signature_is_a_finding(tmp_path: Path) -> None:
    """Another signature is another finding, in the order in which they came."""
    findings = Findings(tmp_path / "findings")
    findings.add(disagreement(b"x", "one"), ORIGIN)
    findings.add(disagreement(b"x", "other"), ORIGIN)
    assert [found.first.signature for found in findings] == ["one", "other"]


def test_another_worker_keeps_the_first(tmp_path: Path) -> None:
    """Two processes that find the same agree on which was first."""
    Findings(tmp_path / "findings").add(disagreement(b"first"), ORIGIN)
    Findings(tmp_path / "findings").add(disagreement(b"2nd"), ORIGIN)
    (found,) = Findings(tmp_path / "findings")
    assert found.document(found.first) == b"first"
    assert found.document(found.smallest) == b"2nd"


def test_reduced_document_is_the_best(tmp_path: Path) -> None:
    """A reduced document stands before the smallest that was found."""
    findings = Findings(tmp_path / "findings")
    findings.add(disagreement(b"document"), ORIGIN)
    (found,) = findings
    findings.add_reduced(found, b"doc", disagreement(b"doc"))
    again = load(found.directory)
    assert again is not None
    assert again.document(again.best) == b"doc"


def test_half_a_record_is_no_finding(tmp_path: Path) -> None:
    """A directory without a whole first record is passed over."""
    findings = Findings(tmp_path / "findings")
    half = tmp_path / "findings" / "0123456789abcdef"
    half.mkdir()
    (half / "first.json").write_text('{"outcome": "ru')
    assert list(findings) == []


def test_writing_fails_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last step fails, the old content stays and nothing else is left."""
    path = tmp_path / "file"
    write_whole(path, b"old")

    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="no"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_current_input_outlives_a_killed_process(tmp_path: Path) -> None:
    """What was written before SIGKILL can be read after it."""
    path = tmp_path / "current"
    script = (
        "import os, signal, sys; from pathlib import Path;"
        "from fuzz.campaign.current import CurrentInput;"
        "current = CurrentInput(Path(sys.argv[1]));"
        "current.keep(b'longer than the next', 7); current.keep(b'document', 4);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -9
    assert read_current(path) == (b"document", 4)


def test_no_current_input(tmp_path: Path) -> None:
    """A worker that has not judged anything has no input, and neither has none."""
    CurrentInput(tmp_path / "current")
    assert read_current(tmp_path / "current") is None
    assert read_current(tmp_path / "nothing") is None


def test_a_worker_is_imported_without_the_oracle() -> None:
    """What is imported before the oracle is instrumented must not import it: no edge would show."""
    program = (
        "import sys, fuzz.campaign.worker;"
        "sys.exit(' '.join(name for name in sys.modules if name.split('.')[0] == 'oracle') or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_only_whole_files_are_adopted(tmp_path: Path) -> None:
    """A file that was being written stays out of the corpus until it is whole."""
    live, corpus = tmp_path / "live", tmp_path / "corpus"
    live.mkdir()
    corpus.mkdir()
    whole, torn = b"a whole document", b"a torn document"
    (live / corpus_name(whole)).write_bytes(whole)
    (live / corpus_name(torn)).write_bytes(torn[:5])
    seen: set[str] = set()
    assert adopt(live, corpus, seen) == 1
    assert [file.read_bytes() for file in corpus.iterdir()] == [whole]
    (live / corpus_name(torn)).write_bytes(torn)
    assert adopt(live, corpus, seen) == 1
    assert adopt(live, corpus, seen) == 0


def test_torn_files_are_removed(tmp_path: Path) -> None:
    """What a killed process was writing beside the real file goes away."""
    (tmp_path / ".writing-abc").write_bytes(b"half")
    (tmp_path / "whole").write_bytes(b"whole")
    assert remove_torn(tmp_path) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["whole"]


STATE = {
    "inputs": 10,
    "decoded": 6,
    "valid": 2,
    "rules": {"version": [3, 3, 3, 1]},
    "known": {"reserved-watermark": 1},
    "signatures": {},
    "branches": 700,
    "memory": 1000,
}


def test_totals_are_sums(tmp_path: Path) -> None:
    """Counts add up over workers; coverage and memory are the greatest of one."""
    for number in range(2):
        (tmp_path / f"worker-{number}.state.json").write_text(json.dumps(STATE))
        log = f"#{number + 1}\tNEW    cov: {3000 + number} ft: 1 corp: 1/1b\n"
        (tmp_path / f"worker-{number}.log").write_text(log)
    total = totals(tmp_path)
    assert (total.inputs, total.decoded, total.valid) == (20, 12, 4)
    assert total.rules["version"] == RuleCounts(6, 6, 6, 2)
    assert total.known == {"reserved-watermark": 2}
    assert (total.oracle_coverage, total.engine_coverage) == (700, 2301)


def moments(*coverage: tuple[int, int]) -> list[Moment]:
    """A campaign whose coverage of oracle and engine went this way."""
    return [
        Moment(float(second), 1, 1.0, oracle, engine, 1, 0)
        for second, (oracle, engine) in enumerate(coverage)
    ]


def seeing() -> Totals:
    """Totals in which nothing is missing."""
    rules = {id: RuleCounts(1, 1, 1, 1) for id in rule_ids(V10)}
    return Totals(inputs=9, decoded=5, valid=1, rules=rules)


def test_a_campaign_that_sees_is_not_blind() -> None:
    """With every rule fired and both coverages growing there is nothing to say."""
    assert blindness(seeing(), moments((1, 1), (2, 2)), V10, "manifests") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"inputs": 0}, "no input was judged"),
        ({"decoded": 0}, "no input decoded"),
        ({"valid": 0}, "no input was valid"),
        ({"rules": {}}, "never fired on both sides: version"),
    ],
)
def test_blindness_is_told(change: dict[str, object], told: str) -> None:
    """Whatever a campaign did not see, it says."""
    total = seeing()
    for name, value in change.items():
        setattr(total, name, value)
    found = blindness(total, moments((1, 1), (2, 2)), V10, "manifests")
    assert any(reason.startswith(told) for reason in found)


def test_a_rule_that_fires_on_one_side_only_was_not_seen() -> None:
    """It takes both sides to see a rule."""
    total = seeing()
    total.rules["timestamp"] = RuleCounts(5, 0, 0, 0)
    found = blindness(total, moments((1, 1), (2, 2)), V10, "manifests")
    assert found == ["never fired on both sides: timestamp"]


@pytest.mark.parametrize(
    ("coverage", "told"),
    [
        ([(0, 1), (0, 2)], "no coverage of the oracle was seen"),
        ([(1, 0), (2, 0)], "no coverage of the engine was seen"),
        ([(5, 1), (5, 2)], "coverage of the oracle did not grow"),
        ([(1, 5), (2, 5)], "coverage of the engine did not grow"),
    ],
)
def test_flat_coverage_is_told(coverage: list[tuple[int, int]], told: str) -> None:
    """Coverage of either side that is not there or does not grow is blindness."""
    assert blindness(seeing(), moments(*coverage), V10, "manifests") == [told]


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (b'{"vnode_count":256}', 256),
        (b'{"vnode_count" : 16 }', 16),
        (b'{"vnode_count":3}', 4),
        (b'{"vnode_count":99999999}', 4),
        (b'["11111111-2222-4333-8444-555555555555",2,1,null]', 1),
        (b"", 4),
    ],
)
def test_key_groups_follow_from_the_document(document: bytes, count: int) -> None:
    """The count that a document is judged for depends on nothing but the document."""
    assert key_groups_of(document) == count


def test_a_search_for_cuts_is_held_to_the_rules_of_cuts() -> None:
    """It has to see the rules of cuts, and none of manifests."""
    growing = moments((1, 1), (2, 2))
    (told,) = blindness(seeing(), growing, V10, "cuts")
    assert told.startswith("never fired on both sides: index.version, ")
    assert "timestamp" not in told
    total = seeing()
    total.rules = {id: RuleCounts(1, 1, 1, 1) for id in rule_ids(V10, "cuts")}
    assert blindness(total, growing, V10, "cuts") == []
    assert total.never_alone(V10, "cuts") == []
    total.rules["cut.merge"] = RuleCounts(5, 0, 0, 0)
    assert blindness(total, growing, V10, "cuts") == ["never fired on both sides: cut.merge"]
