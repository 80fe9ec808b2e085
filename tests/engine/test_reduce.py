"""Documents that show a disagreement come down to what matters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import oracle
from fuzz.cli import main
from fuzz.comparison import compare
from fuzz.engines import InProcessEngine
from fuzz.explain import nearest_valid
from fuzz.reduce import reduce
from oracle import V10
from oracle.registry import CHECKS

CAPTURED = Path(__file__).parents[1] / "data" / "captured"
KEY_GROUPS = 256


def captured() -> bytes:
    """A real manifest of 62 KB."""
    return max(CAPTURED.rglob("manifest.json"), key=lambda path: path.stat().st_size).read_bytes()


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Switches a rule of the oracle off."""

    def switch(rule: str) -> None:
        monkeypatch.setitem(CHECKS, rule, lambda subject: ())

    return switch


def test_a_large_document_comes_down_to_a_frame(
    default_engine: InProcessEngine, off: Callable[[str], None]
) -> None:
    """Of 62 KB with one bad digest a manifest with one frame is left, in less than a minute."""
    off("frames.digest")
    tree = json.loads(captured())
    assert len(tree["state_frames"]) > 2
    tree["state_frames"][-1]["sha256"] = "A" * 64
    document = json.dumps(tree).encode()
    start = time.monotonic()
    made = reduce(document, KEY_GROUPS, default_engine, V10)
    assert time.monotonic() - start < 60
    assert made.finished
    assert len(made.document) < 1_500
    left = json.loads(made.document)
    assert len(left["state_frames"]) == 1
    assert left["channel_progress"] == left["source_names"] == left["prepared_sinks"] == []
    assert made.comparison.signature == compare(document, default_engine, KEY_GROUPS, V10).signature
    # Nothing else was broken on the way, so the document shows this and only this.
    assert made.comparison.oracle.rules == frozenset()
    assert made.comparison.engine_rules == {"frames.digest"}


def test_bytes_are_reduced_where_there_is_no_tree(default_engine: InProcessEngine) -> None:
    """What is no JSON is reduced too."""
    made = reduce(b"\xff" * 300, 4, default_engine, V10, seconds=20)
    assert made.finished
    assert len(made.document) <= 1


def test_time_is_kept(default_engine: InProcessEngine, off: Callable[[str], None]) -> None:
    """When the time is up the best so far comes back."""
    off("timestamp")
    tree = json.loads(captured()) | {"timestamp_ms": 0}
    made = reduce(json.dumps(tree).encode(), KEY_GROUPS, default_engine, V10, seconds=0.01)
    assert not made.finished
    assert made.comparison.engine_rules == {"timestamp"}


def test_reduce_from_the_command_line(
    default_engine: InProcessEngine, off: Callable[[str], None], tmp_path: Path
) -> None:
    """`reduce FILE` writes the small document, and `replay` ends with 1 on it."""
    off("timestamp")
    path, small = tmp_path / "document", tmp_path / "small"
    tree = json.loads(captured()) | {"timestamp_ms": 0}
    path.write_bytes(json.dumps(tree).encode())
    arguments = ["reduce", "--seconds", "40", "--output", str(small), str(path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert small.stat().st_size < 1_200
    again = CliRunner().invoke(main, ["replay", "--key-groups", "1", str(small)])
    assert again.exit_code == 1, again.output
    assert again.stdout.startswith("stage; engine: timestamp")


def test_reduce_needs_a_disagreement(default_engine: InProcessEngine, tmp_path: Path) -> None:
    """Where both sides agree there is nothing to reduce, which is said."""
    path = tmp_path / "document"
    path.write_bytes(captured())
    done = CliRunner().invoke(main, ["reduce", str(path)])
    assert done.exit_code == 2
    assert "both sides agree" in done.stderr


def test_replay_of_agreement(default_engine: InProcessEngine, tmp_path: Path) -> None:
    """A document on which both sides agree ends with 0."""
    path = tmp_path / "document"
    path.write_bytes(captured())
    done = CliRunner().invoke(main, ["replay", "--format", "json", str(path)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["key_groups"] == KEY_GROUPS


def test_explain_shows_both_sides(default_engine: InProcessEngine, tmp_path: Path) -> None:
    """`explain` has the rule's statement, both sides' words, and what a valid document has."""
    path = tmp_path / "document"
    tree = json.loads(captured()) | {"timestamp_ms": 0}
    path.write_bytes(json.dumps(tree).encode())
    done = CliRunner().invoke(main, ["explain", str(path)])
    assert done.exit_code == 0, done.output
    for part in ("timestamp_ms is 0", "stage", '- "timestamp_ms": 0', '+ "timestamp_ms": 1'):
        assert part in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp_ms": 0},
        {"owned_vnodes": []},
        {"sink_names": ["z", "a"]},
        {"vnode_count": 9},
        {"reassignment_portable": True, "epoch": 1},
    ],
    ids=str,
)
def test_nearest_valid_document_is_valid(change: dict[str, object]) -> None:
    """Whatever is broken, there is a valid document near it."""
    tree = json.loads(captured()) | change
    made = nearest_valid(json.dumps(tree).encode(), KEY_GROUPS, V10)
    assert made is not None
    assert oracle.judge(made, KEY_GROUPS).stage is oracle.Stage.VALID
