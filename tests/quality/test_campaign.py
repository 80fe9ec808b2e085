"""Campaigns find what there is, lose nothing, and say when they are blind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fuzz.campaign import supervisor
from fuzz.campaign.canary import VARIABLE
from fuzz.campaign.files import corpus_name
from fuzz.campaign.findings import Findings
from fuzz.campaign.totals import Totals
from fuzz.engines import DEFAULT_RELEASE, EngineUnavailable, load
from fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _engine() -> None:
    """There must be an engine to search."""
    try:
        load(DEFAULT_RELEASE)
    except EngineUnavailable as error:
        if os.environ.get("LAMINAR_ORACLE_NO_ENGINE") == "1":
            pytest.skip(str(error))
        pytest.fail(str(error), pytrace=False)


def fuzz(*words: str | Path, canary: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python -m fuzz` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment(canary),
        timeout=300,
    )


def environment(canary: str | None) -> dict[str, str]:
    """The environment of this process with a canary or without one."""
    mine = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return mine if canary is None else mine | {VARIABLE: canary}


def test_the_canary_is_found(tmp_path: Path) -> None:
    """The self-test finds its planted disagreement and ends with 0."""
    done = fuzz("campaign", "--self-test", "--workers", "1", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "rule references.count switched off, was found" in done.stdout


def test_findings_and_reports(tmp_path: Path) -> None:
    """A disagreement is reported in every form, with a line that shows it again."""
    out = tmp_path / "out"
    words = ("campaign", "--minutes", "0.3", "--workers", "1", "--out", out)
    done = fuzz(*words, canary="timestamp")
    assert done.returncode == 1, done.stderr
    rows = [json.loads(line) for line in (out / "findings.jsonl").read_text().splitlines()]
    assert any(row["signature"] == "stage; engine: timestamp" for row in rows)
    (row,) = [row for row in rows if row["signature"] == "stage; engine: timestamp"]
    assert row["count"] >= 1
    assert row["best"]["engine"][0] == "invalid"
    assert row["best"]["size"] < 1_200  # it was reduced
    assert Path(row["document"]).stat().st_size == row["best"]["size"]
    replay = row["replay"].removeprefix("python -m fuzz ").split()
    assert fuzz(*replay, canary="timestamp").returncode == 1
    assert fuzz(*replay).returncode == 0
    suites = ET.parse(out / "junit.xml").getroot()
    assert suites.find(".//failure") is not None
    page = (out / "report.html").read_text()
    assert "stage; engine: timestamp" in page
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is loaded from elsewhere
    assert "## Findings" in (out / "summary.md").read_text()
    moments = [json.loads(line) for line in (out / "progress.jsonl").read_text().splitlines()]
    for side in ("oracle_coverage", "engine_coverage"):
        assert moments[-1][side] > 500


def test_a_blind_campaign_is_not_green(tmp_path: Path) -> None:
    """A campaign that is too short to have seen every rule ends with 2 and says so."""
    out, corpus = tmp_path / "out", tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "nothing").write_bytes(b"null")
    words = ("campaign", "--minutes", "0.1", "--workers", "1", "--target", "raw")
    done = fuzz(*words, "--out", out, "--corpus", corpus)
    assert done.returncode == 2, done.stderr
    assert "no input was valid" in done.stderr
    assert "blind" in (out / "summary.md").read_text()


def test_an_unknown_engine_cannot_run(tmp_path: Path) -> None:
    """Without its engine a campaign ends with 2 and says what to do."""
    done = fuzz("campaign", "--engine", "0.1.0", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "neither a release" in done.stderr


def test_a_campaign_is_not_overwritten(tmp_path: Path) -> None:
    """A directory with a campaign is only taken with --resume, and one without only without."""
    out = tmp_path / "out"
    assert "leave --resume out" in fuzz("campaign", "--resume", "--out", out).stderr
    out.mkdir()
    (out / "campaign.json").write_text("{}")
    done = fuzz("campaign", "--out", out)
    assert done.returncode == 2
    assert "--resume" in done.stderr


def start(out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a campaign that finds something in a process group of its own."""
    words = ["campaign", "--minutes", "5", "--workers", "2", "--out", str(out), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "fuzz", *words],
        cwd=ROOT,
        env=environment("sinks.unknown"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(condition: object, seconds: float = 60) -> None:
    """Wait until *condition* holds."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.2)


def counted(out: Path) -> set[str]:
    """Signatures that workers have counted."""
    found: set[str] = set()
    for path in (out / "workers").glob("*.state.json"):
        found |= set(json.loads(path.read_text())["signatures"])
    return found


def inputs(out: Path) -> int:
    """How many inputs workers have judged."""
    states = (out / "workers").glob("*.state.json")
    return sum(json.loads(path.read_text())["inputs"] for path in states)


def test_nothing_is_lost_to_kill(tmp_path: Path) -> None:
    """Killed in the middle, a campaign has all that it counted, and goes on where it was."""
    out = tmp_path / "out"
    seen: set[str] = set()
    before = 0
    for more in ((), ("--resume",), ("--resume",)):
        process = start(out, *more)
        wait_for(lambda before=before: inputs(out) > before + 200 and counted(out))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        on_disk = {finding.first.signature for finding in Findings(out / "findings")}
        assert counted(out) | seen <= on_disk
        for finding in Findings(out / "findings"):
            for record in (finding.first, finding.smallest):
                assert len(finding.document(record)) == record.size
        for file in (out / "corpus").iterdir():
            assert file.name.startswith(".") or corpus_name(file.read_bytes()) == file.name
        seen, before = on_disk, inputs(out)
    workers = subprocess.run(
        ["pgrep", "-f", f"campaign.worker {out}"], capture_output=True, check=False
    )
    assert workers.stdout == b""


def signal_worker(number: signal.Signals, job: Path) -> None:
    """Send a signal to the first worker whose job's path starts with *job*."""
    found = subprocess.run(
        ["pgrep", "-f", f"campaign.worker {job}"], capture_output=True, text=True, check=True
    )
    os.kill(int(found.stdout.split()[0]), number)


def test_a_dead_worker_is_a_finding_and_replaced(tmp_path: Path) -> None:
    """A worker that is killed leaves its input as a finding, and another one goes on."""
    out = tmp_path / "out"
    process = start(out)
    try:
        wait_for(lambda: (out / "workers" / "worker-0.state.json").exists())
        signal_worker(signal.SIGKILL, out / "workers" / "worker-0.job")
        wait_for(lambda: (out / "workers" / "worker-2.state.json").exists())

        def died() -> bool:
            return any(one.first.outcome == "died" for one in Findings(out / "findings"))

        wait_for(died)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (found,) = [one for one in Findings(out / "findings") if one.first.outcome == "died"]
    assert "SIGKILL" in found.first.signature
    assert found.document(found.first)


def test_a_hanging_worker_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that stops writing is killed, and its input written down as a hang."""
    monkeypatch.setattr(supervisor, "_SILENT_SECONDS", 12.0)
    engine = load(DEFAULT_RELEASE)
    plan = supervisor.Plan(
        engine=DEFAULT_RELEASE,
        engine_name=engine.name,
        contract="v10",
        target="manifests",
        minutes=2,
        workers=1,
        seed=1,
        out=tmp_path / "out",
        corpus=tmp_path / "corpus",
    )
    stopped = False

    def watch(campaign: supervisor.Campaign, total: Totals) -> None:
        nonlocal stopped
        if not stopped and total.inputs > 100:
            signal_worker(signal.SIGSTOP, campaign.states)
            stopped = True
        if any(campaign.findings):
            running.stop()

    running = supervisor.Supervisor(plan, watch)
    campaign = running.run()
    (found,) = campaign.findings
    assert found.first.signature == "died: hang"


def test_targets_run_alone(tmp_path: Path) -> None:
    """Each target is a libFuzzer program, and tries a single file."""
    document = tmp_path / "document"
    document.write_bytes(b'{"version":10}')
    for target in TARGETS:
        done = subprocess.run(
            [sys.executable, "-m", f"fuzz.targets.{target}", str(document)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment(None),
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "Executed" in done.stderr


def alone_with_a_fault(
    target: str, fault: str, *words: str | Path, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run *target* outside a campaign, with *fault*, a line of Python, in its oracle."""
    program = (
        "from fuzz.targets.running import run; from fuzz.engines.coverage import load_visible\n"
        "import sys\n"
        "def make(coverage):\n"
        "    from fuzz.comparison import contract_of; from fuzz.targets.session import Session\n"
        "    from fuzz.targets.alone import _stop\n"
        f"    {fault}\n"
        "    engine = load_visible()\n"
        "    return Session(engine, contract_of(engine), _stop)\n"
        f"run({target!r}, 1, sys.argv[1:], make)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment(None) | {"PYTHONPATH": str(ROOT)},
        timeout=200,
    )


def test_a_target_alone_stops_at_a_disagreement(tmp_path: Path) -> None:
    """Outside a campaign a disagreement ends the search, and the input is in a file."""
    source = max((ROOT / "tests" / "data" / "captured").rglob("manifest.json"), key=os.path.getsize)
    document = tmp_path / "document"
    document.write_bytes(source.read_bytes())
    fault = (
        "import oracle.registry as found; "
        "found.CHECKS['version'] = lambda subject: [found.RULES['version'].at('', 'planted')]"
    )
    done = alone_with_a_fault("raw", fault, document, cwd=tmp_path)
    assert done.returncode != 0
    assert "stage; oracle: version" in done.stdout + done.stderr
