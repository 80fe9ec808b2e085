"""An oracle with one broken rule does not go unnoticed, whichever rule it is."""

import copy
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import oracle
import oracle.rules.subscription
from fuzz.cli import main
from fuzz.diff_cli import listed_key_groups
from oracle import V10, Finding, Level, Stage
from oracle.registry import CHECKS, Rule, part_of
from oracle.subject import Subject

ROOT = Path(__file__).parents[2]

RULES = oracle.rules_of(V10, Level.RULE)
FAULTS = oracle.rules_of(V10, Level.FAULT)
Documents = Mapping[str, list[Path]]


# Faults of size have no document among the others, since no one wants to keep one.
SIZES = {"subscription.segments-many": (65_537, 21), "subscription.too-large": (4_200, 2_048)}


@pytest.fixture(scope="module")
def documents_by_rule(documents: Path) -> Documents:
    """For each rule the documents that break it, as the whole oracle sees them."""
    found: dict[str, list[Path]] = defaultdict(list)
    for file in documents.rglob("*.json"):
        key_groups = listed_key_groups(file.parent).get(file.name, 4)
        for rule in oracle.judge(file.read_bytes(), key_groups).rules:
            found[rule].append(file)
            family = oracle.RULES[rule].family
            if family is not None:
                found[family].append(file)
    return found


def _with_segments(document: dict[str, Any], count: int, key_bytes: int) -> bytes:
    """*document* with *count* one-frame segments under an object key of *key_bytes*, sealed."""
    document = copy.deepcopy(document)
    output = document["subscription_output"]
    (stream,) = output["streams"]
    (segment,) = stream["segments"]
    stream["ranges"] = [
        {"partition": segment["partition"], "first_sequence": 0, "through_sequence": count}
    ]
    segment |= {"object_key": "subscription-output/".ljust(key_bytes, "a"), "frame_count": 1}
    stream["segments"] = [
        {**segment, "first_sequence": index, "exclusive_end_sequence": index + 1}
        for index in range(count)
    ]
    text = json.dumps(document, separators=(",", ":")).encode()
    unsealed = oracle.decode(text).subscription_output
    assert unsealed is not None
    output["manifest_digest"] = [*oracle.node_subscription_digest(unsealed)]
    return json.dumps(document, separators=(",", ":")).encode()


def diff(*files: Path) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and rows of `diff` on the default engine."""
    result = CliRunner().invoke(main, ["diff", "--format", "json", *map(str, files)])
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.usefixtures("default_engine")
@pytest.mark.parametrize(
    "rule", [rule for rule in (*RULES, *FAULTS) if rule.id not in SIZES], ids=lambda rule: rule.id
)
def test_forgotten_rule_is_found(
    rule: Rule, documents_by_rule: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one of its rules, the oracle disagrees with the engine, by that rule."""
    files = documents_by_rule[rule.id]
    assert files, f"no document breaks {rule.id}"
    _assert_missed(rule, files, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("default_engine")
@pytest.mark.parametrize("id", SIZES)
def test_forgotten_fault_of_size_is_found(
    id: str, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a limit on segments or bytes, the oracle disagrees with the engine, by that fault."""
    count, key_bytes = SIZES[id]
    subscribed = json.loads((documents / "cases" / "b_segment_ok.json").read_bytes())
    file = tmp_path / "large.json"
    file.write_bytes(_with_segments(subscribed, count, key_bytes))
    (tmp_path / "index.jsonl").write_text(json.dumps({"file": file.name, "key_groups": 4}))
    _assert_missed(oracle.RULES[id], [file], monkeypatch)


def _assert_missed(rule: Rule, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle and engine agree on *files* until the oracle forgets *rule*, and then differ by it."""
    whole, _ = diff(*files)
    assert whole == 0
    if rule.level is Level.FAULT:
        _forget_fault(rule, monkeypatch)
    else:
        monkeypatch.setitem(CHECKS, rule.id, lambda subject: iter(()))
    status, rows = diff(*files)
    assert status == 1
    signatures = [row["signature"] for row in rows if "signature" in row]
    only_engine = {
        id for signature in signatures for ids in signature["engine"] for id in ids.split("|")
    }
    family = {fault.id for fault in FAULTS if fault.family == rule.id}
    assert only_engine & ({rule.id} | family)


def _forget_fault(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    every = oracle.rules.subscription._faults

    def others(output: Any, subject: Subject) -> Iterator[Finding]:
        return (finding for finding in every(output, subject) if finding.rule != rule.id)

    monkeypatch.setattr(oracle.rules.subscription, "_faults", others)


# A ledger that never looks at a document cannot tell this one from the divergence it knows.
KNOWN_BY_THE_LEDGER = {"watermark.sentinel"}


@pytest.fixture(scope="module")
def valid_documents() -> dict[Path, oracle.CheckpointManifest]:
    """The valid documents of the corpus that have one vnode."""
    found = {}
    for file in sorted((ROOT / "corpora" / "cases" / "v10" / "valid").glob("*.json")):
        verdict = oracle.judge(file.read_bytes(), 1)
        if verdict.stage is Stage.VALID and verdict.manifest is not None:
            found[file] = verdict.manifest
    return found


@pytest.mark.usefixtures("default_engine")
@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.id not in KNOWN_BY_THE_LEDGER], ids=lambda rule: rule.id
)
def test_overeager_rule_is_found(
    rule: Rule,
    valid_documents: dict[Path, oracle.CheckpointManifest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A rule that every manifest breaks makes the oracle disagree, by that rule."""
    part = part_of(rule.id) or "version"
    file = next(file for file, manifest in valid_documents.items() if getattr(manifest, part))
    monkeypatch.setitem(CHECKS, rule.id, lambda subject: iter([rule.at("", "always")]))
    status, rows = diff(file)
    assert status == 1
    assert [row["signature"]["oracle"] for row in rows] == [[rule.id]]
