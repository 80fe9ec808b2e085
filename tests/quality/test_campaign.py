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
from fuzz.campaign.current import CurrentInput
from fuzz.campaign.files import corpus_name
from fuzz.campaign.findings import Findings, Origin
from fuzz.campaign.totals import Totals
from fuzz.campaign.worker import Job
from fuzz.could_not_run import CouldNotRun
from fuzz.engines import DEFAULT_RELEASE, STAND_IN, EngineUnavailable, load
from fuzz.targets import TARGETS
from fuzz.targets.session import Disagreement

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


def wait_for(condition: object, seconds: float = 120) -> None:
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
        first = out / "workers" / "worker-0.state.json"
        wait_for(lambda: first.exists() and json.loads(first.read_text())["inputs"] > 100)
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
    # One time in some hundreds the signal comes while an input is being written down.
    assert found.document(found.first) or not found.first.has_input


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


def plan_of_nothing(out: Path) -> supervisor.Plan:
    """A campaign that has no time left, so that nobody is started for one that died."""
    return supervisor.Plan(
        engine=DEFAULT_RELEASE,
        engine_name=f"laminar-core {DEFAULT_RELEASE}",
        contract="v10",
        target="manifests",
        minutes=0,
        workers=1,
        seed=1,
        out=out,
        corpus=out / "corpus",
    )


def dead_worker(out: Path, end: str, *, started: bool = True) -> supervisor._Running:
    """A worker that ended as the line of Python *end* says."""
    states = out / "workers"
    states.mkdir(parents=True, exist_ok=True)
    files = states / "worker-0"
    state, current = f"{files}.state.json", f"{files}.current"
    flags = ("worker-0", "manifests", DEFAULT_RELEASE, "v10", 1, str(out / "findings"))
    job = Job(*flags, state, current, ())
    job.write(Path(f"{files}.job.json"))
    if started:
        Path(state).write_text("null")
    process = subprocess.Popen([sys.executable, "-c", f"import os, sys; {end}"])
    process.wait()
    return supervisor._Running(job, process, time.monotonic())


def nobody(campaign: supervisor.Campaign, total: Totals) -> None:
    """Watches nothing."""


KILLED = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("end", "canary", "expected"),
    [
        (KILLED, None, {"died: killed by SIGKILL"}),
        (KILLED, "timestamp", {"died: killed by SIGKILL", "stage; engine: timestamp"}),
        # With this canary the process that judges the input alone dies of it, too.
        (KILLED, "no-rule", {"died: killed by SIGKILL", "crash: status 1"}),
        ("sys.exit(77)", None, {"died: crash"}),
        ("sys.exit(70)", "timestamp", {"died: hang", "stage; engine: timestamp"}),
        ("sys.exit(71)", None, {"died: memory"}),
    ],
)
def test_a_death_is_a_finding_whatever_its_input_does(
    end: str,
    canary: str | None,
    expected: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A death is a finding with its input; what the input does alone is another."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if canary is not None:
        monkeypatch.setenv(VARIABLE, canary)
    document = (ROOT / "corpora" / "cases" / "v10" / "rules" / "timestamp.json").read_bytes()
    worker = dead_worker(tmp_path, end)
    CurrentInput(Path(worker.job.current)).keep(document, 1)
    running = supervisor.Supervisor(plan_of_nothing(tmp_path), nobody)
    running._ended(worker)
    found = {one.first.signature: one for one in running.campaign.findings}
    assert found.keys() == expected
    assert all(one.document(one.best) == document for one in found.values())
    assert all(one.first.key_groups == 1 for one in found.values())
    assert all("worker-0 died" in one.first.note for one in found.values())


@pytest.mark.parametrize("torn", [False, True])
def test_a_death_without_an_input_is_a_finding(torn: bool, tmp_path: Path) -> None:
    """Killed before an input was kept, or while one was, a worker is a finding that says so."""
    worker = dead_worker(tmp_path, KILLED)
    current = CurrentInput(Path(worker.job.current))
    if torn:
        current.keep(b"document", 1)
        with Path(worker.job.current).open("r+b") as file:
            file.write(bytes(16))
    running = supervisor.Supervisor(plan_of_nothing(tmp_path), nobody)
    running._ended(worker)
    (found,) = running.campaign.findings
    assert found.first.signature == "died: killed by SIGKILL, and its input is not known"
    assert found.document(found.first) == b""
    for command in ("replay", "explain", "reduce"):
        done = fuzz(command, found.directory)
        assert done.returncode == 2
        assert "has no input to judge: worker-0 died" in done.stderr


def test_a_worker_that_does_not_start_is_no_finding(tmp_path: Path) -> None:
    """Where no worker has judged anything, the campaign could not run."""
    worker = dead_worker(tmp_path, KILLED, started=False)
    running = supervisor.Supervisor(plan_of_nothing(tmp_path), nobody)
    with pytest.raises(CouldNotRun, match="a worker did not start"):
        running._ended(worker)
    assert not [*running.campaign.findings]


@pytest.mark.parametrize(("canary", "count"), [(None, 0), ("timestamp", 1)])
def test_an_input_left_behind_is_a_finding_only_if_it_shows_something(
    canary: str | None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that the end of a campaign took along did not die of their inputs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if canary is not None:
        monkeypatch.setenv(VARIABLE, canary)
    document = (ROOT / "corpora" / "cases" / "v10" / "rules" / "timestamp.json").read_bytes()
    current = Path(dead_worker(tmp_path, KILLED).job.current)
    CurrentInput(current).keep(document, 1)
    running = supervisor.Supervisor(plan_of_nothing(tmp_path), nobody)
    running._look_at_left_behind(current)
    assert len([*running.campaign.findings]) == count
    assert not current.exists()


def test_a_finding_is_judged_by_its_own_engine(tmp_path: Path) -> None:
    """Without options, engine and contract are the finding's, or it is said that they are gone."""
    document = next((ROOT / "corpora" / "cases" / "view-log" / "valid").iterdir()).read_bytes()
    found = Disagreement("rules", "rules; engine: timestamp", document, 1, (), ())
    for release in (STAND_IN, "0.33.0+00000000"):
        origin = Origin(f"the engine {release}", release, "view-log", "manifests", 1, "worker-0")
        Findings(tmp_path / release).add(found, origin)
    (known,) = Findings(tmp_path / STAND_IN)
    done = fuzz("replay", known.directory)
    assert done.returncode == 0, done.stderr
    assert STAND_IN in done.stdout
    judged = done.stdout
    (gone,) = Findings(tmp_path / "0.33.0+00000000")
    done = fuzz("replay", gone.directory)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was found on the engine 0.33.0+00000000, which is not here" in done.stderr
    assert "--engine RELEASE|PATH" in done.stderr
    assert fuzz("replay", "--engine", STAND_IN, gone.directory).stdout == judged


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
