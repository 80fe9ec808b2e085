"""The search for cuts finds what there is, keeps it, and says when it is blind."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from fuzz.cut_files import is_cut
from tests.quality.test_campaign import ROOT, alone_with_a_fault, fuzz

CANARY = "references.count"


def test_a_finding_is_kept_reduced_and_replayed(tmp_path: Path) -> None:
    """A planted disagreement is found, is a cut on the disk, and differs while it is planted."""
    out = tmp_path / "out"
    done = fuzz(
        "campaign", "--self-test", "--target", "cuts", "--workers", "1", "--out", out, canary=CANARY
    )
    assert done.returncode == 0, done.stderr
    assert f"rule {CANARY} switched off, was found" in done.stdout
    rows = [json.loads(line) for line in (out / "findings.jsonl").read_text().splitlines()]
    (row,) = (row for row in rows if CANARY in row["signature"])
    best = row["best"]
    assert (best["target"], best["key_groups"]) == ("cuts", None)
    assert best["size"] < row["first"]["size"]
    document = Path(row["document"])
    assert is_cut(document)
    assert len(document.read_bytes()) == best["size"]
    replay = row["replay"].split()[3:]
    assert fuzz(*replay, canary=CANARY).returncode == 1
    assert fuzz("diff", document, canary=None).returncode == 0
    agreed = fuzz(*replay, "--format", "json")
    assert (agreed.returncode, json.loads(agreed.stdout)["signature"]) == (0, "agree")


def test_reduce_and_explain_take_a_cut(tmp_path: Path) -> None:
    """The commands of findings take a cut of any kind, or say what to do with it."""
    known = ROOT / "corpora" / "cuts" / "index" / "reserved-watermark-index-roster"
    small = tmp_path / "small.cut"
    done = fuzz("reduce", "--output", small, known)
    assert done.returncode == 0, done.stderr
    assert "index.roster" in done.stderr
    assert small.stat().st_size <= (known / "index.json").stat().st_size + 1
    done = fuzz("reduce", ROOT / "corpora" / "cuts" / "valid" / "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "both sides agree" in done.stderr
    done = fuzz("explain", known)
    assert done.returncode == 2
    assert f"python -m fuzz diff {known}" in done.stderr


def test_a_campaign_that_sees_no_rule_is_blind(tmp_path: Path) -> None:
    """A campaign too short to see the rules of cuts names them, and proves nothing."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "one").write_bytes(b"{}\n")
    out = tmp_path / "out"
    words = ("campaign", "--target", "cuts", "--minutes", "0.05", "--workers", "1")
    done = fuzz(*words, "--corpus", corpus, "--out", out)
    assert done.returncode == 2, done.stdout
    assert "never fired on both sides" in done.stderr
    assert "timestamp" not in done.stderr


def test_an_engine_that_cannot_be_asked(tmp_path: Path) -> None:
    """A search for cuts with an engine of another format does not start."""
    done = fuzz("campaign", "--target", "cuts", "--engine", "0.30.0", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "cuts are described for v10" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_target_alone_keeps_what_it_finds(tmp_path: Path) -> None:
    """Outside a campaign a disagreement ends the search, and its cut is in a file."""
    fault = (
        "from oracle.cuts.registry import INDEX_CHECKS; "
        "INDEX_CHECKS['index.attempt'] = lambda index: iter(())"
    )
    run = partial(alone_with_a_fault, "cuts", fault, cwd=tmp_path)
    done = run("-max_total_time=100", "-artifact_prefix=./found-")
    told = done.stdout + done.stderr
    assert done.returncode != 0
    assert "index.attempt" in told
    (found,) = tmp_path.glob("found-crash-*")
    again = run(found)
    assert again.returncode != 0
    assert "index.attempt" in again.stdout + again.stderr
