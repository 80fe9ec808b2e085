"""The audit of a store: clean on what an engine wrote, and exactly the damage else."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracle
from oracle import cuts
from oracle.cli import main
from oracle.model import ByteRange
from oracle.store import RULES, StoreUnavailable, audit
from oracle.store.objects import BUFFER_BYTES, Part, digests
from tests.oracle.damages import DAMAGES, HARMLESS, Damage
from tests.oracle.store_tools import (
    IDENTITY,
    STORES,
    TRADES,
    Store,
    captured,
    made,
    seal,
    unfinished_write,
)


def _label(operation: Damage) -> str:
    return operation.label


@pytest.mark.parametrize("operation", DAMAGES, ids=_label)
def test_damage_is_reported_exactly(operation: Damage, tmp_path: Path) -> None:
    """One labelled operation on a clean store: its findings, no fewer and no more."""
    store = operation.store(tmp_path / "store")
    assert audit(store.root).clean
    expected = operation.operate(store)
    found = audit(store.root).findings
    assert {(finding.file, finding.rule) for finding in found} == expected


@pytest.mark.parametrize("operation", HARMLESS, ids=_label)
def test_what_an_engine_may_leave_is_clean(operation: Damage, tmp_path: Path) -> None:
    """A store that stopped at any moment has no findings."""
    store = operation.store(tmp_path / "store")
    operation.operate(store)
    assert audit(store.root).findings == ()


def test_there_are_at_least_forty_kinds_of_damage() -> None:
    """The operations are different, and every rule of a store is broken by one of them."""
    assert len({operation.label for operation in DAMAGES}) == len(DAMAGES) >= 40


def test_every_rule_of_a_store_is_broken_by_a_damage(tmp_path: Path) -> None:
    """No rule stands in the registry that nothing can break."""
    broken = {
        rule
        for number, operation in enumerate(DAMAGES)
        for _, rule in operation.operate(operation.store(tmp_path / str(number)))
    }
    assert RULES.keys() <= broken


def test_ids_are_unique_over_manifests_cuts_and_stores() -> None:
    """A finding's rule is found in one registry only."""
    assert not oracle.RULES.keys() & cuts.RULES.keys()
    assert not (oracle.RULES | cuts.RULES).keys() & RULES.keys()


def test_a_bit_flipped_anywhere_is_found(tmp_path: Path) -> None:
    """In every file that a store needs, at many offsets.

    But for the identity: an allocation's UUID has no copy elsewhere, so another is as good.
    """
    store = captured("gen_count", tmp_path / "store")
    needed = [file for file in store.files() if not file.startswith(("catalog", ".", IDENTITY))]
    for file in needed:
        data = store.read(file)
        for offset in range(0, len(data), max(len(data) // 8, 1)):
            store.flip(file, offset)
            assert not audit(store.root).clean, f"{file} at {offset}"
            store.write(file, data)
    assert audit(store.root).clean


_FILES = Store(STORES / "trades", TRADES).files()


@given(st.sampled_from(_FILES), st.binary(max_size=200), st.integers(0, 400), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bytes_make_it_fail(
    tmp_path_factory: pytest.TempPathFactory, file: str, data: bytes, at: int, whole: bool
) -> None:
    """Whatever stands in a file, an audit ends in a report."""
    store = captured("trades", tmp_path_factory.mktemp("audit") / "store")
    before = store.read(file)
    store.write(file, data if whole else before[:at] + data + before[at + len(data) :])
    report = audit(store.root)
    assert report.clean == (not report.findings)


def test_a_finding_names_the_range_of_a_damaged_frame(tmp_path: Path) -> None:
    """The bytes are those of the frame that the flipped bit lies in, and the line replays it."""
    store = captured("trades", tmp_path / "store")
    store.flip(store.data(65_540), 40_000)
    (finding,) = audit(store.root).findings
    assert finding.range is not None
    assert finding.range.end is not None
    assert finding.range.offset <= 40_000 < finding.range.end
    command = _run_audit(store.root, capture=True).splitlines()[1]
    replayed = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert replayed.stdout.split()[0] in finding.message


def _run_audit(root: Path, *options: str, capture: bool) -> str:
    command = [sys.executable, "-m", "oracle", "audit", str(root), *options]
    done = subprocess.run(command, capture_output=capture, text=True, check=False)
    assert done.returncode in (0, 1)
    assert done.stderr == ""
    return done.stdout


def test_a_finding_points_into_a_broken_record(tmp_path: Path) -> None:
    """JSON Pointers are relative to the file."""
    store = captured("gen_count", tmp_path / "store")
    store.edit(store.decisions, lambda d: d["latest_commit"].update(scope="cluster"))
    (finding,) = audit(store.root).findings
    assert finding.pointer == finding.place == "/latest_commit/scope"


def test_a_truncated_object_names_the_bytes_that_are_missing(tmp_path: Path) -> None:
    """From where it ends to where it should."""
    store = captured("trades", tmp_path / "store")
    store.cut(store.data(65_540), 100)
    (finding,) = audit(store.root).findings
    assert finding.range == ByteRange(57_852, 100)


def test_the_summary_counts_what_is_there(tmp_path: Path) -> None:
    """Cuts, sizes, sharing, and what could be reclaimed."""
    summary = audit(STORES / "gen_count").summary
    assert (summary.cuts, summary.manifests, summary.objects) == (2, 2, 3)
    assert (summary.object_bytes, summary.shared_ratio) == (71_448, 1.0)
    assert summary.reclaimable_bytes == 0

    store = captured("trades", tmp_path / "store")
    unfinished_write(store, 65_541, 1_000)
    seal(store, 65_530)
    summary = audit(store.root).summary
    assert summary.latest_commit == 65_540
    assert summary.shared_bytes == 0
    retired = len(store.read(store.manifest(65_539))) + 950
    assert (summary.retiring_bytes, summary.temporary_bytes) == (retired, 1_000)
    assert summary.reclaimable_bytes == retired + 1_000
    sealed = len(store.read(store.manifest(65_530))) + len(store.read(store.data(65_530)))
    assert summary.sealed_bytes == sealed


def test_an_audit_writes_nothing(tmp_path: Path) -> None:
    """Neither bytes nor times of any file change."""
    store = captured("trades", tmp_path / "store")
    before = {file: (store.root / file).stat() for file in store.files()}
    audit(store.root)
    after = {file: (store.root / file).stat() for file in store.files()}
    assert [(s.st_size, s.st_mtime_ns, s.st_mode) for s in before.values()] == [
        (s.st_size, s.st_mtime_ns, s.st_mode) for s in after.values()
    ]
    assert before.keys() == after.keys()


def test_what_is_no_store_cannot_be_audited(tmp_path: Path) -> None:
    """Neither a missing directory nor one without any room reads as clean."""
    with pytest.raises(StoreUnavailable, match="give the root"):
        audit(tmp_path / "missing")
    with pytest.raises(StoreUnavailable, match="give the directory"):
        audit(tmp_path)


def test_exit_codes_and_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 clean, 1 with findings, 2 when it could not run; JSON is one document."""
    assert main(["audit", str(STORES / "trades")]) == 0
    assert "clean" in capsys.readouterr().out
    assert main(["audit", str(tmp_path)]) == 2
    assert "is no checkpoint store" in capsys.readouterr().err
    store = captured("trades", tmp_path / "store")
    store.flip(store.data(65_540), 0)
    assert main(["audit", str(store.root), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["clean"] is False
    (finding,) = report["findings"]
    assert finding["rule"] == "object.frame"
    assert finding["range"]["offset"] == 0
    assert report["summary"]["cuts"] == 1


@given(
    st.integers(0, 3 * BUFFER_BYTES),
    st.lists(st.tuples(st.integers(0, 3 * BUFFER_BYTES), st.integers(0, 2 * BUFFER_BYTES))),
)
@settings(max_examples=60, deadline=None)
def test_parts_are_hashed_wherever_buffers_end(
    tmp_path_factory: pytest.TempPathFactory, size: int, ranges: list[tuple[int, int]]
) -> None:
    """Digests of a whole and of overlapping, empty and long parts are those of the slices."""
    data = sha256(b"%d" % size).digest() * (size // 32 + 1)
    data = data[:size]
    file = tmp_path_factory.mktemp("objects") / "object"
    file.write_bytes(data)
    spans = [
        (offset, min(length, size - offset), Part.FRAME, "")
        for offset, length in sorted(ranges)
        if offset <= size
    ]
    whole, parts = digests(file, size, spans, lambda _: None)
    assert whole == sha256(data).hexdigest()
    assert parts == [sha256(data[o : o + n]).hexdigest() for o, n, _, _ in spans]


def test_memory_does_not_grow_with_an_object(tmp_path: Path) -> None:
    """An object of 64 MiB is audited in far less."""
    store = made(tmp_path / "store", checkpoints=1, frame_bytes=16 * 1024 * 1024)
    tracemalloc.start()
    try:
        report = audit(store.root)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.clean
    assert report.summary.object_bytes > 64 * 1024 * 1024
    assert peak < 8 * 1024 * 1024


def test_time_is_linear_in_the_number_of_checkpoints(tmp_path: Path) -> None:
    """Four times as many cost about four times as much, far from sixteen."""
    spent = []
    for count in (100, 400):
        store = made(tmp_path / str(count), checkpoints=count)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            report = audit(store.root)
            best = min(best, time.process_time() - start)
        assert report.clean
        assert report.summary.cuts == count
        spent.append(best)
    assert spent[1] < 8 * spent[0]


def test_memory_does_not_grow_with_the_chain(tmp_path: Path) -> None:
    """What was said about an object is forgotten once it is read; little is kept of a cut."""
    peaks = []
    for count in (50, 50, 200):  # the first also makes what is made once
        store = made(tmp_path / str(count), checkpoints=count)
        tracemalloc.start()
        try:
            assert audit(store.root).clean
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[2] - peaks[1] < 150 * 3000
