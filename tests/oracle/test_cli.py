"""The command line: what it prints where, and its exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oracle import (
    ASSUMPTIONS,
    CONTRACTS,
    RULES,
    Kind,
    cli,
    contract_named,
    cuts,
    decode,
    encode,
    store,
)
from oracle.bench import LIMITS, Costs, Report
from oracle.constants import MAX_CHECKPOINT_MANIFEST_BYTES
from tests.oracle.documents import (
    ABSENT_DESCRIPTOR,
    ABSENT_INTENT,
    EMPTY,
    Document,
    empty,
    local,
    text,
    v9,
    view_logs,
    whole,
)

KEYS = ["file", "contract", "key_groups", "stage", "rejection", "findings", "hazards"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def _canonical(document: Document) -> bytes:
    return encode(decode(text(document)))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A valid manifest, an invalid one, and one that does not decode."""
    broken = empty() | {"version": 9, "timestamp_ms": 0}
    contents = {
        "valid": _canonical(empty()),
        "invalid": _canonical(broken),
        "spaced": text(empty()),
        "broken": b"{}",
        "v9": text(v9(empty())),
        "view-log": text(view_logs()),
    }
    paths = {name: tmp_path / f"{name}.json" for name in contents}
    for name, data in contents.items():
        paths[name].write_bytes(data)
    return paths


# --- check -----------------------------------------------------------------------------------


def test_valid_file(run: Any, files: dict[str, Path]) -> None:
    """Nothing on standard output, a summary on standard error, exit 0."""
    assert run("check", "--key-groups", 4, files["valid"]) == (0, "", "1 file: 1 valid\n")


def test_invalid_file(run: Any, files: dict[str, Path]) -> None:
    """Place, rule, what is wrong, and once what the rule says; exit 1."""
    code, out, err = run("check", "--key-groups", 4, files["invalid"])
    assert code == 1
    assert out.splitlines() == [
        f"{files['invalid']}:/version: version: version is 9, the format's is 10",
        "    broken when: Version is not the format's.",
        f"{files['invalid']}:/timestamp_ms: timestamp: timestamp_ms is 0",
        "    broken when: timestamp_ms is 0.",
    ]
    assert err == "1 file: 1 invalid\n"


def test_undecodable_file(run: Any, files: dict[str, Path]) -> None:
    """The kind stands where a rule would; exit 1."""
    code, out, err = run("check", files["broken"])
    assert code == 1
    assert out.splitlines() == [
        f"{files['broken']}: missing-field: CheckpointManifest must have the field 'version'",
        "    not decoded when: a field that must be written is not",
    ]
    assert err == "1 file: 1 not decoded\n"


def test_hazard_is_a_warning(run: Any, files: dict[str, Path]) -> None:
    """A hazard is told with what happens later, and leaves the exit code alone."""
    code, out, _ = run("check", "--key-groups", 4, files["spaced"])
    assert code == 0
    first, second, third = out.splitlines()
    assert first.startswith(f"{files['spaced']}: warning: hazard.encoding: ")
    assert second.startswith("    warns when: ")
    assert third.startswith("    later: ")


def test_assumed_rule_is_marked(run: Any, files: dict[str, Path]) -> None:
    """A rule of a format that no engine speaks yet names its assumption."""
    document = view_logs()
    document["view_logs"][0]["view_name"] = "c"
    files["view-log"].write_bytes(text(document))
    code, out, _ = run("check", "--contract", "view-log", "--key-groups", 4, files["view-log"])
    assert code == 1
    assert "    assumption A6: no released engine has this rule yet\n" in out


def test_many_findings_are_cut(run: Any, tmp_path: Path) -> None:
    """Twenty of one rule are shown, and how many there are."""
    document = empty()
    document["state_frames"] = [whole(f"{n:04}", n, 1) | {"sha256": ""} for n in range(1_234)]
    document["node_data"]["object_length"] = 1_234
    path = tmp_path / "many.json"
    path.write_bytes(_canonical(document))
    _, out, _ = run("check", "--key-groups", 4, path)
    lines = out.splitlines()
    assert len(lines) == 22
    assert lines[19].startswith(f"{path}:/state_frames/19/sha256: frames.digest: ")
    assert lines[20] == f"{path}: frames.digest: and 1,214 more (1,234 in all)"
    _, out, _ = run("check", "--key-groups", 4, "--format", "json", path)
    assert len(json.loads(out)["findings"]) == 1_234


def test_json(run: Any, files: dict[str, Path]) -> None:
    """One object a line for each file, in order, with exactly the documented members."""
    names = ["valid", "broken", "invalid", "spaced"]
    code, out, err = run(
        "check", "--key-groups", 4, "--format", "json", *[files[name] for name in names]
    )
    assert code == 1
    assert err == "4 files: 2 valid, 1 invalid, 1 not decoded\n"
    found = [json.loads(line) for line in out.splitlines()]
    assert [list(one) for one in found] == [KEYS] * 4
    assert [one["file"] for one in found] == [str(files[name]) for name in names]
    assert [one["stage"] for one in found] == ["valid", "decode", "invalid", "valid"]
    assert all(one["contract"] == "v10" and one["key_groups"] == 4 for one in found)
    assert found[1]["rejection"] == {
        "kind": "missing-field",
        "pointer": "",
        "message": "CheckpointManifest must have the field 'version'",
    }
    assert found[2]["findings"][0] == {
        "rule": "version",
        "pointer": "/version",
        "message": "version is 9, the format's is 10",
    }
    assert [hazard["rule"] for hazard in found[3]["hazards"]] == ["hazard.encoding"]
    assert found[0]["rejection"] is None
    assert found[0]["findings"] == found[0]["hazards"] == []


def test_key_groups(run: Any, files: dict[str, Path]) -> None:
    """256 unless told; with 'document' the manifest's own, and none without a manifest."""
    assert run("check", files["valid"])[0] == 1
    own = ["check", "--format", "json", "--key-groups", "document"]
    code, out, _ = run(*own, files["valid"], files["broken"])
    assert code == 1
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["key_groups"] for one in found] == [4, None]
    assert [one["stage"] for one in found] == ["valid", "decode"]
    files["valid"].write_bytes(text(empty() | {"vnode_count": 0}))
    found = [json.loads(run(*own, files["valid"])[1])]
    assert found[0]["key_groups"] == 256
    assert "vnode-count" in {one["rule"] for one in found[0]["findings"]}


def test_contracts(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    """Each format by its name, and one from a file of facts."""
    for name in ("v9", "view-log"):
        assert run("check", "--contract", name, "--key-groups", 4, files[name])[0] == 0
        assert run("check", "--key-groups", 4, files[name])[0] == 1
    facts = tmp_path / "engine.toml"
    facts.write_text('base = "v10"\n[numbers]\nmanifest_version = 12\n')
    files["valid"].write_bytes(text(empty() | {"version": 12}))
    assert run("check", "--contract", facts, "--key-groups", 4, files["valid"])[0] == 0


def test_standard_input(run: Any, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, once."""
    stream = io.TextIOWrapper(io.BytesIO(files["valid"].read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    code, out, _ = run("check", "--key-groups", 4, "--format", "json", "-", files["valid"])
    assert code == 0
    assert [json.loads(line)["file"] for line in out.splitlines()] == ["-", str(files["valid"])]
    code, _, err = run("check", "-", "-")
    assert code == 2
    assert "standard input can be read only once" in err


def test_files_that_cannot_be_read(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    """They are told with what to do, the others are judged still, and the exit code is 2."""
    missing = tmp_path / "missing.json"
    code, out, err = run(
        "check", "--format", "json", "--key-groups", 4, missing, tmp_path, files["valid"]
    )
    assert code == 2
    assert [json.loads(line)["stage"] for line in out.splitlines()] == ["valid"]
    assert err.splitlines() == [
        f"{missing}: there is no such file; check the path",
        f"{tmp_path}: this is a directory; name the manifest.json in it",
        "3 files: 1 valid, 2 not read",
    ]


def test_file_above_what_engines_load(run: Any, tmp_path: Path) -> None:
    """It is judged and warned of; the verdict does not change."""
    path = tmp_path / "long.json"
    path.write_bytes(_canonical(empty()) + b" " * MAX_CHECKPOINT_MANIFEST_BYTES)
    code, _, err = run("check", "--key-groups", 4, path)
    assert code == 0
    assert err.startswith(f"{path}: warning: 16,777,")
    assert "an engine loads no manifest above 16,777,216" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check"], "FILE"),
        (["check", "--key-groups", "0", "x"], "give 1..=65535 or 'document'"),
        (["check", "--key-groups", "65536", "x"], "give 1..=65535 or 'document'"),
        (["check", "--key-groups", "\uff11", "x"], "give 1..=65535 or 'document'"),
        (["check", "--key-groups", "9" * 10_000, "x"], "give 1..=65535 or 'document'"),
        (["check", "--contract", "v8", "x"], "choose one of v9, v10"),
        (["check", "--contract", "none.toml", "x"], "cannot be read as a file of facts"),
        (["check", "--format", "xml", "x"], "choose from"),
        (["digest", "bytes", "--absent"], "give a FILE"),
        (["digest", "intent"], "required"),
        (["digest", "intent", "--absent", "x"], "x"),
        (["digest", "sha1", "x"], "choose from"),
        ([], "COMMAND"),
    ],
)
def test_bad_options(run: Any, arguments: list[str], told: str) -> None:
    """Exit 2, with what would be right, and nothing on standard output."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert told in err


NONSENSE = [
    ("base = [1]", "base must be one of v9, v10, view-log"),
    ('base = "v8"', "base must be one of"),
    ("deep = " + "[" * 100_000, "nests too deep"),
    ("numbers = " + "9" * 5_000, "cannot be read as a file of facts"),
    ("extra = 1", "unknown facts ['extra']"),
    ("numbers = 5", "numbers must be a table"),
    ("numbers.manifest_version = true", "positive integers"),
    ("numbers.manifest_version = 0", "positive integers"),
    ("numbers.vnode_count = 1", "positive integers called manifest_version"),
    ("names = []", "names must be a table"),
    ('names."Nothing.offset" = "x"', "'Nothing.offset' is no Type.field"),
    ('names."ByteRange.start" = "x"', "'ByteRange.start' is no Type.field"),
    ('names."Length.exactly" = "x"', "'Length.exactly' is no Type.field"),
    ('names."ByteRange.offset" = 5', "must be a string"),
    ('names."ByteRange.offset" = "length"', "two fields of ByteRange"),
    ('names."Vnode.vnode" = "kind"', "two fields of Vnode"),
    ("orders = 5", "orders must be a table"),
    ("orders.ByteRange = 5", "orders.ByteRange must be a list of names"),
    ('orders.ByteRange = "offset"', "orders.ByteRange must be a list of names"),
    ('orders.ByteRange = ["offset"]', "orders.ByteRange must list offset, length"),
    ('orders.ByteRange = ["offset", "length", "end"]', "must list offset, length"),
    ('orders.Nothing = ["a"]', "'Nothing' is no type"),
    ("orders.payloads = [1]", "orders.payloads must be a list of names"),
    ('orders.payloads = ["state_frames"]', "orders.payloads must list"),
    ('base = "v10"\norders.CheckpointManifest = ["view_logs"]', "must list version, "),
]


@pytest.mark.parametrize(("facts", "told"), NONSENSE)
def test_nonsense_for_facts(
    run: Any, files: dict[str, Path], tmp_path: Path, facts: str, told: str
) -> None:
    """A file that describes no format is told with its path and with what is wrong in it."""
    path = tmp_path / "facts.toml"
    path.write_text(facts)
    code, out, err = run("check", "--contract", path, files["valid"])
    assert (code, out) == (2, "")
    assert told in err
    assert str(path) in err


def test_renamed_and_reordered_fields(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    """Facts hold for both forms of a struct and for the canonical encoding, whatever the name."""
    facts = tmp_path / "facts.toml"
    facts.write_text(
        'base = "v10"\n'
        '[names]\n"StateFrame.sha256" = "100%s"\n'
        '[orders]\nStateChunkId = ["checkpoint_id", "participant_id"]\n'
    )
    document = local()
    for frame in document["state_frames"]:
        frame["100%s"] = frame.pop("sha256")
        frame["chunk"] = [frame["chunk"]["checkpoint_id"], frame["chunk"]["participant_id"]]
    own = contract_named(str(facts))
    files["valid"].write_bytes(encode(decode(text(document), own), own))
    answer = run("check", "--contract", facts, "--key-groups", "document", files["valid"])
    assert answer[:2] == (0, "")
    assert b'"100%s":"' in files["valid"].read_bytes()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("check - <&-", "standard input is closed"),
        ("check {valid} >&-", "standard output is closed"),
        ("check {invalid} >/dev/full", "could not finish"),
        ("encode {valid} >/dev/full", "could not finish"),
        ("rules >/dev/full", "could not finish"),
    ],
)
def test_streams_that_do_not_work(files: dict[str, Path], command: str, told: str) -> None:
    """They are no verdict: exit 2, and one line that says why."""
    shell = f'"{sys.executable}" -m oracle {command.format(**files)}'
    answer = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert told in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_fault_of_its_own_is_no_verdict(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 2, never with the 1 that says that something is wrong with the manifest."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "decode", fail)
    assert cli.main(["encode", str(files["valid"])]) == 2
    told = capsys.readouterr().err
    assert "ZeroDivisionError" in told
    assert "fault of the command" in told


def test_without_standard_error(files: dict[str, Path]) -> None:
    """What is for standard error does not get among the data."""
    shell = f'"{sys.executable}" -m oracle check --format json {files["valid"]} 2>&-'
    answer = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert [json.loads(line)["stage"] for line in answer.stdout.splitlines()] == ["invalid"]


def test_hostile_names_stay_on_their_line(run: Any, tmp_path: Path) -> None:
    """Control characters of a document reach no terminal."""
    name = "a\n\x1b[31m\u2028b"
    document = empty() | {"source_offsets": {name: {"offsets": {}, "metadata": {}}}}
    path = tmp_path / "odd.json"
    path.write_bytes(_canonical(document))
    _, out, _ = run("check", "--key-groups", 4, path)
    assert out.splitlines()[0] == (
        f"{path}:/source_offsets/a\\n\\x1b[31m\\u2028b: offsets.source-unknown: "
        f"{name!r} is not in source_names"
    )


def test_narrow_output(files: dict[str, Path]) -> None:
    """A stream that cannot print a character prints its escape; a closed one ends it quietly."""
    document = empty() | {"source_names": ["\u00e9", "\u00e8"]}
    files["valid"].write_bytes(_canonical(document))
    command = [sys.executable, "-m", "oracle", "check", "--key-groups", "4", str(files["valid"])]
    answer = subprocess.run(
        command, capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=False
    )
    assert answer.returncode == 1
    assert rb"'\xe8' does not follow '\xe9'" in answer.stdout


# --- rules -----------------------------------------------------------------------------------


def test_rules_as_json(run: Any) -> None:
    """Every kind and every entry of the registry, each with what a reader needs."""
    code, out, err = run("rules", "--format", "json")
    assert (code, err) == (0, "")
    found = {entry["id"]: entry for entry in map(json.loads, out.splitlines())}
    registry = [*RULES, *cuts.RULES, *store.RULES]
    assert [*found] == [*(kind.value for kind in Kind), *registry, *ASSUMPTIONS]
    assert found["fraction"]["level"] == "decode"
    assert found["frames.vnode-owned"] == {
        "id": "frames.vnode-owned",
        "level": "rule",
        "formats": ["v9", "v10", "view-log"],
        "statement": "A vnode key is not in owned_vnodes.",
        "unspecified_with": ["owned-vnodes.order"],
        "family": None,
        "consequence": None,
        "assumption": None,
    }
    assert found["intents.name"]["formats"] == ["v10", "view-log"]
    assert found["subscription.owner"]["family"] == "subscription.invalid"
    assert found["hazard.encoding"]["consequence"]
    assert found["segments.gap"]["assumption"] == "A7"
    assert found["A7"]["confirmed_by"] == ASSUMPTIONS["A7"].confirmed_by


def test_rules_as_markdown(run: Any) -> None:
    """Tables that are whole: every row has as many cells as its heading, every id a row."""
    code, out, _ = run("rules", "--format", "markdown")
    assert code == 0
    tables = [line for line in out.splitlines() if line.startswith("|")]
    rows = {line.split("|")[1].strip().strip("`") for line in tables}
    assert rows >= {*RULES} | {kind.value for kind in Kind}
    assert rows >= {*cuts.RULES} | {*store.RULES}
    for table in out.split("\n\n"):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1
    headings = [line for line in out.splitlines() if line.startswith("#")]
    assert headings[:4] == [
        "### Decode: the document is not a manifest",
        "### Rules: the manifest is invalid",
        "### Faults of subscription output: the first one makes the manifest invalid",
        "### Hazards: the manifest may be valid, and a later stage refuses it",
    ]


def test_rules_as_text(run: Any) -> None:
    """Every id on a line of its own, with its formats, its statement below."""
    code, out, _ = run("rules")
    assert code == 0
    lines = out.splitlines()
    for rule in RULES.values():
        formats = " ".join(name for name, one in CONTRACTS.items() if one.has(rule.feature))
        place = lines.index(f"{rule.id}  [{formats}]")
        assert lines[place + 1] == f"    {' '.join(rule.statement.split())}"


# --- encode, digest, bench -------------------------------------------------------------------


def test_encode(files: dict[str, Path], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The canonical bytes, and nothing else, go to standard output."""
    assert cli.main(["encode", str(files["spaced"])]) == 0
    out, err = capfdbinary.readouterr()
    assert out == files["valid"].read_bytes()
    assert err == b""
    assert cli.main(["encode", "--contract", "view-log", str(files["view-log"])]) == 0
    assert b'"view_logs"' in capfdbinary.readouterr().out


def test_encode_what_does_not_decode(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    """Exit 1 with the reason, 2 without a file."""
    code, out, err = run("encode", files["broken"])
    assert (code, out) == (1, "")
    assert "missing-field" in err
    assert run("encode", tmp_path / "none")[0] == 2


@pytest.mark.parametrize(
    ("domain", "absent"), [("descriptor", ABSENT_DESCRIPTOR), ("intent", ABSENT_INTENT)]
)
def test_digest_of_payloads(run: Any, tmp_path: Path, domain: str, absent: str) -> None:
    """Absent and present payloads, in both domains."""
    path = tmp_path / "payload"
    path.write_bytes(b"")
    assert run("digest", domain, "--absent") == (0, f"{absent}\n", "")
    code, out, _ = run("digest", domain, path)
    assert code == 0
    assert out.strip() not in (absent, EMPTY)


def test_digest_of_bytes(run: Any, tmp_path: Path) -> None:
    """Plain SHA-256; exit 2 without a file."""
    path = tmp_path / "object"
    path.write_bytes(b"")
    assert run("digest", "bytes", path) == (0, f"{EMPTY}\n", "")
    code, out, err = run("digest", "bytes", tmp_path / "none")
    assert (code, out) == (2, "")
    assert "there is no such file" in err


def _report(verdict: float) -> Report:
    costs = Costs(bytes=62_729, verdict=verdict, text=1.0, shapes=2.0, rules=1.0)
    return Report(real=costs, long=costs, growth=1.0, memory=7.0)


@pytest.mark.parametrize(("verdict", "code"), [(8.0, 0), (8.01, 1)])
def test_bench(run: Any, monkeypatch: pytest.MonkeyPatch, verdict: float, code: int) -> None:
    """The figures and the limits; exit 1 when one of them does not hold."""
    monkeypatch.setattr("oracle.bench.measure", lambda: _report(verdict))
    found, out, _ = run("bench")
    assert found == code
    assert all(limit.statement in out for limit in LIMITS)
    assert ("ABOVE" in out) == (code == 1)
    found, out, _ = run("bench", "--format", "json")
    assert found == code
    report = json.loads(out)
    assert report["real"]["verdict"] == verdict
    assert report["limits"] == {"verdict": 8.0, "growth": 1.5, "memory": 30.0}


def test_module_is_the_command(files: dict[str, Path]) -> None:
    """``python -m oracle`` is the same program, with its exit code."""
    command = [sys.executable, "-m", "oracle", "check", "--key-groups", "4"]
    for name, code in (("valid", 0), ("invalid", 1)):
        answer = subprocess.run([*command, str(files[name])], capture_output=True, check=False)
        assert answer.returncode == code
