"""Oracle and production engine on the same documents, by way of `python -m fuzz diff`."""

import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import oracle
from fuzz.cli import main
from fuzz.engines import InProcessEngine
from oracle import V9, V10
from tests.engine.next_format import released

ROOT = Path(__file__).parents[2]
EngineOf = Callable[[str], InProcessEngine]


def diff(*arguments: str | Path) -> Result:
    """Run `diff` in this process."""
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


def rows(result: Result) -> list[dict[str, Any]]:
    """The rows that a run with `--format json` wrote."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def outcomes(result: Result) -> Counter[str]:
    """How often each outcome came."""
    return Counter(row["outcome"] for row in rows(result))


@pytest.mark.parametrize("release", V10.engines)
def test_engines_of_v10_agree(engine_of: EngineOf, documents: Path, release: str) -> None:
    """On every document each engine of format v10 says what the oracle says, or what is known."""
    engine_of(release)
    result = diff("--engine", release, "--format", "json", documents)
    assert result.exit_code == 0, result.stdout
    found = outcomes(result)
    assert found.keys() == {"agree", "known"}
    assert found["known"] == 1
    assert found["agree"] > 200
    stages = Counter(row["engine_verdict"]["stage"] for row in rows(result))
    assert min(stages[stage] for stage in ("decode", "invalid", "valid")) > 30


@pytest.mark.parametrize("release", V9.engines)
def test_engines_of_v9_agree(
    engine_of: EngineOf, documents: Path, tmp_path: Path, release: str
) -> None:
    """The same documents as format v9 has them: without the two lists, and under its numbers."""
    engine_of(release)
    converted = [*as_v9(documents, tmp_path)]
    assert len(converted) > 200
    result = diff("--engine", release, "--format", "json", tmp_path)
    assert result.exit_code == 0, result.stdout
    found = outcomes(result)
    assert found.keys() == {"agree", "known"}
    assert found["known"] == 1
    verdicts = [row["engine_verdict"] for row in rows(result)]
    fired = {rule for verdict in verdicts for rule in verdict["rules"]}
    assert len(fired) > 40
    stages = Counter(verdict["stage"] for verdict in verdicts)
    assert min(stages[stage] for stage in ("decode", "invalid", "valid")) > 30


def as_v9(documents: Path, target: Path) -> Iterator[Path]:
    """Write each of *documents* to *target* as format v9 would have it, with its index."""
    for index, file in enumerate(sorted(documents.rglob("*.json"))):
        below = target / str(index)
        below.mkdir()
        (below / file.name).write_bytes(v9_of(file.read_bytes()))
        listed = file.parent / "index.jsonl"
        if listed.is_file():
            shutil.copy(listed, below)
        yield below / file.name


def v9_of(data: bytes) -> bytes:
    """*data* under the numbers of v9 and without its lists; else as it was spelled.

    What general JSON does not read, or spells a manifest as an array, keeps its text.
    """
    data = re.sub(rb'("version"\s*:\s*)10\b', rb"\g<1>9", data)
    data = re.sub(rb'("canonical_version"\s*:\s*)7\b', rb"\g<1>6", data)
    if b"sink_artifact_intents" in data or b"subscription_output" in data:
        try:
            value = json.loads(data)
        except ValueError:
            return data
        if isinstance(value, dict):
            value.pop("sink_artifact_intents", None)
            value.pop("subscription_output", None)
            return json.dumps(value).encode()
    return data


@pytest.mark.releases(*V10.engines)
def test_engines_agree_with_each_other(engine_of: EngineOf, documents: Path) -> None:
    """No verdict and no encoding changed between the releases of format v10."""
    for release in V10.engines:
        engine_of(release)
    named = [word for release in V10.engines for word in ("--engine", release)]
    result = diff(*named, "--format", "json", documents)
    assert result.exit_code == 0, result.stdout
    pairs = Counter((row["before"], row["engine"]) for row in rows(result) if "before" in row)
    first, *others = V10.engines
    assert pairs.keys() == {(first, other) for other in others}
    count = sum("before" not in row for row in rows(result)) // len(V10.engines)
    assert set(pairs.values()) == {count}


@pytest.mark.releases("0.30.0")
def test_engines_of_different_formats_are_not_compared(
    engine_of: EngineOf, documents: Path
) -> None:
    """Engines of two formats are each held against their own contract, and not side by side."""
    engine_of("0.30.0")
    engine_of("0.33.0")
    file = documents / "cases" / "base_local.json"
    result = diff("--engine", "0.30.0", "--engine", "0.33.0", "--format", "json", file)
    assert [(row["engine"], row["contract"]) for row in rows(result)] == [
        ("0.30.0", "v9"),
        ("0.33.0", "v10"),
    ]


@pytest.fixture
def broken_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that has forgotten the rule of the timestamp."""
    monkeypatch.setitem(oracle.registry.CHECKS, "timestamp", lambda subject: iter(()))


@pytest.mark.usefixtures("default_engine", "broken_oracle")
def test_finding_is_told(documents: Path) -> None:
    """A disagreement tells both sides, what only one of them has, and exits with 1."""
    file = documents / "rules" / "timestamp.json"
    result = diff("--format", "json", file)
    assert result.exit_code == 1
    (row,) = rows(result)
    assert row == {
        "file": str(file),
        "key_groups": 4,
        "engine": "0.33.0",
        "contract": "v10",
        "outcome": "stage",
        "known": None,
        "oracle": {"stage": "valid", "rules": [], "rejection": None},
        "engine_verdict": {
            "stage": "invalid",
            "rules": ["timestamp"],
            "messages": ["timestamp_ms must be nonzero"],
            "place": None,
        },
        "signature": {"oracle": [], "engine": ["timestamp"]},
        "replay": f"python -m fuzz diff --engine=0.33.0 --key-groups 4 {file}",
    }


@pytest.mark.usefixtures("default_engine", "broken_oracle")
@pytest.mark.parametrize("style", ["text", "json"])
def test_the_end_counts_what_differs(documents: Path, tmp_path: Path, style: str) -> None:
    """On standard error: how many agree and disagree, and each difference with its number."""
    for name in ("one", "two"):
        shutil.copy(documents / "rules" / "timestamp.json", tmp_path / f"{name}.json")
    shutil.copy(documents / "rules" / "version.json", tmp_path / "three.json")
    result = diff("--key-groups", "4", "--format", style, tmp_path)
    assert result.exit_code == 1
    assert result.stderr == (
        "3 documents on 0.33.0, 3 comparisons: 1 agree, 2 disagree\n"
        "     2  0.33.0  stage; only engine: timestamp\n"
    )


@pytest.mark.usefixtures("default_engine", "broken_oracle")
def test_finding_ends_with_the_line_that_replays_it(documents: Path, tmp_path: Path) -> None:
    """As text, a finding's last line is a command that shows the same finding again."""
    file = tmp_path / "a name with 'quotes'.json"
    shutil.copy(documents / "rules" / "timestamp.json", file)
    result = diff("--key-groups", "4", file)
    *_, last = result.stdout.splitlines()
    command = last.strip().removeprefix("replay: ")
    assert command.startswith("python -m fuzz diff --engine=0.33.0 --key-groups 4 ")
    script = (
        "import oracle.registry, fuzz.cli\n"
        "oracle.registry.CHECKS['timestamp'] = lambda subject: iter(())\n"
        "fuzz.cli.main()\n"
    )
    replay = command.replace("python -m fuzz", '"$0" -c "$1"', 1)
    shell = ["sh", "-c", replay, sys.executable, script]
    again = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stderr
    assert again.stdout == result.stdout


@pytest.mark.usefixtures("default_engine")
def test_key_groups(documents: Path, tmp_path: Path) -> None:
    """They come from the command line, else from an index beside the file, else from the file."""
    file = documents / "cases" / "m_kg_mismatch.json"
    (listed,) = rows(diff("--format", "json", file))
    assert listed["engine_verdict"]["rules"] == ["vnode-count"]
    (own,) = rows(diff("--format", "json", "--key-groups", "document", file))
    assert own["engine_verdict"]["stage"] == "valid"
    shutil.copy(file, tmp_path)
    (alone,) = rows(diff("--format", "json", tmp_path))
    assert alone["key_groups"] == own["key_groups"] != listed["key_groups"]
    (given,) = rows(diff("--format", "json", "--key-groups", "7", file))
    assert given["key_groups"] == 7
    (tmp_path / "none.json").write_bytes(b"")
    (default,) = rows(diff("--format", "json", tmp_path / "none.json"))
    assert default["key_groups"] == 256


def _closed_to(scandir: Callable[[str], Any], name: str) -> Callable[[str], Any]:
    def scan(path: str) -> Any:
        if Path(path).name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    return scan


@pytest.mark.usefixtures("default_engine")
def test_odd_files(documents: Path, tmp_path: Path) -> None:
    """A pipe is read as a file is, and no name of a file reaches the terminal as it is."""
    valid = documents / "cases" / "base_local.json"
    odd = tmp_path / "a\n\x1b[31m\udcff.json"
    shutil.copy(valid, odd)
    result = diff(odd)
    assert result.exit_code == 0
    assert result.stdout == f"agree     0.33.0  {tmp_path}/a\\n\\x1b[31m\\udcff.json\n"
    shell = f'cat {valid} | "{sys.executable}" -m fuzz diff /dev/stdin'
    answer = subprocess.run(["sh", "-c", shell], cwd=ROOT, capture_output=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, b"agree     0.33.0  /dev/stdin\n")


@pytest.mark.usefixtures("default_engine")
def test_output_that_cannot_be_written(documents: Path) -> None:
    """It is no disagreement: exit 2."""
    shell = f'"{sys.executable}" -m fuzz diff {documents / "cases" / "base_local.json"} >/dev/full'
    answer = subprocess.run(
        ["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr == "Error: could not finish: [Errno 28] No space left on device\n"


@pytest.mark.usefixtures("default_engine")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engine", "0.29.0", "."], "0.29.0 is neither a release"),
        (["--key-groups", "0", "."], "1..=65535"),
        (["--key-groups", "65536", "."], "1..=65535"),
        (["--key-groups", "many", "."], "document"),
        (["--key-groups", "9" * 5_000, "."], "1..=65535"),
        (["--engine", "indexed/a.json", "."], "chmod +x indexed/a.json"),
        (["nowhere.json"], "does not exist"),
        (["empty"], "no .json file below"),
        (["indexed"], "is not an index"),
        (["infinite"], "is not an index"),
        (["dangling"], "dangling/a.json cannot be read: No such file"),
        (["closed"], "closed/inside cannot be read: Permission denied"),
    ],
)
def test_could_not_run(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be compared exits with 2 and says why, and never reads as agreement."""
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("indexed").mkdir()
    Path("indexed/index.jsonl").write_text('{"file": "a.json"}\n')
    Path("indexed/a.json").write_text("{}")
    Path("infinite").mkdir()
    Path("infinite/index.jsonl").write_text('{"file": "a.json", "key_groups": Infinity}\n')
    Path("infinite/a.json").write_text("{}")
    Path("dangling").mkdir()
    Path("dangling/a.json").symlink_to("nowhere")
    Path("dangling/b.json").write_text("{}")
    Path("closed/inside").mkdir(parents=True)
    Path("closed/a.json").write_text("{}")
    monkeypatch.setattr(os, "scandir", _closed_to(os.scandir, "inside"))  # root may read anything
    result = diff(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


@pytest.mark.usefixtures("default_engine")
def test_missing_engine(documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an engine nothing is compared; the message says how to get one."""
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path))
    result = diff(documents)
    assert result.exit_code == 2
    assert "python -m fuzz engine build 0.33.0" in result.stderr


BAD_ENGINE = """#!{python}
import base64, json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    result = {{"stage": "decode", "messages": ["no"], "canonical": None, "place": None}}
    if request["call"] == "describe":
        result = {{"name": "bad", "release": "0", "manifest_version": 10, "constants": {{}}}}
    else:
        document = base64.b64decode(request["arguments"]["data"])
        if b"panic" in document:
            result |= {{"stage": "panic", "messages": ["oh"], "place": "bad.rs:1:1"}}
        elif b"hang" in document:
            time.sleep(1000)
        elif b"crash" in document:
            os._exit(3)
        elif b"lie" in document:
            result |= {{"stage": "valid", "messages": []}}
        elif b"unheard" in document:
            result |= {{"stage": "invalid", "messages": ["unheard of"]}}
    print(json.dumps({{"id": request["id"], "result": result}}), flush=True)
"""


PICKY_ENGINE = """#!{python}
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {{"id": request["id"]}}
    if request["call"] == "describe":
        description = {{"name": "picky", "release": "0", "manifest_version": 10, "constants": {{}}}}
        answer["result"] = description
    elif request["call"] == "judge":
        canonical = request["arguments"]["data"]
        verdict = {{"stage": "valid", "messages": [], "canonical": canonical, "place": None}}
        answer["result"] = verdict
    else:
        answer["error"] = {{"kind": "argument", "message": "no 1", "place": None}}
    print(json.dumps(answer), flush=True)
"""


def test_digest_that_an_engine_refuses(documents: Path, tmp_path: Path) -> None:
    """An engine that says yes to a document and no to a digest of its part is a finding."""
    program = tmp_path / "picky"
    program.write_text(PICKY_ENGINE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    cluster = oracle.decode((documents / "cases" / "base_cluster.json").read_bytes())
    (tmp_path / "a.json").write_bytes(oracle.encode(cluster))
    result = diff("--engine", program, "--format", "json", tmp_path)
    assert [row["outcome"] for row in rows(result)] == ["digest"]
    assert rows(result)[0]["signature"]["engine"] == ["no *"]


@pytest.mark.slow
def test_bad_engine_is_told_as_what_it_is(documents: Path, tmp_path: Path) -> None:
    """A panic, a hang, a crash and a lie are each told for their document, and the run goes on."""
    program = tmp_path / "bad"
    program.write_text(BAD_ENGINE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    valid = (documents / "cases" / "base_local.json").read_bytes()
    files = {
        "1.json": b"panic",
        "2.json": b"fine",
        "3.json": b"hang",
        "4.json": b"fine",
        "5.json": b"crash",
        "6.json": b"lie",
        "7.json": valid.replace(b'"owned_vnodes"', b'"\\u006fwned_vnodes"'),
        "8.json": valid.replace(b"abcdef01", b"unheard0"),
        "9.json": b"fine",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    result = diff("--engine", program, "--format", "json", tmp_path)
    assert result.exit_code == 1
    assert [row["outcome"] for row in rows(result)] == [
        "panic",
        "agree",
        "hang",
        "agree",
        "crash",
        "stage",
        "stage",
        "unmapped",
        "agree",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("default_engine")
def test_changed_rule_of_a_checkout_is_named(documents: Path, tmp_path: Path) -> None:
    """An engine built from a source in which one rule was changed disagrees by that rule alone."""
    checkout = tmp_path / "laminar-core"
    shutil.copytree(released("0.33.0"), checkout)
    module = checkout / "src" / "checkpoint" / "checkpoint_manifest" / "mod.rs"
    text = module.read_text("utf-8")
    assert text.count("self.timestamp_ms == 0") == 1
    module.write_text(text.replace("self.timestamp_ms == 0", "self.timestamp_ms == 1"), "utf-8")
    built = CliRunner().invoke(main, ["engine", "build", "--path", str(checkout)])
    assert built.exit_code == 0, built.output
    match = re.match(r"laminar-core (\S+):", built.stdout)
    assert match is not None
    try:
        named = ("--engine", "0.33.0", "--engine", str(checkout))
        result = diff(*named, "--format", "json", documents)
        assert result.exit_code == 1
        findings = [row for row in rows(result) if row["outcome"] not in {"agree", "known"}]
        against_oracle = [row for row in findings if "before" not in row]
        between = [row for row in findings if "before" in row]
        assert len(against_oracle) == len(between) >= 1
        for row in findings:
            assert row["engine"] == match[1]
            assert row["signature"] == {"oracle": ["timestamp"], "engine": []}
    finally:
        CliRunner().invoke(main, ["engine", "remove", match[1]])
