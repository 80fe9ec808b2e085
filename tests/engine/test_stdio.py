"""Engines behind the stdio protocol: one that works, and every way of not working."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fuzz.engines import (
    Engine,
    EngineFailed,
    EngineRefused,
    EngineUnavailable,
    EngineUnsupported,
    EngineVerdict,
    StdioEngine,
    load,
    wire,
)
from fuzz.engines.serve import answer as answer_to

ROOT = Path(__file__).parents[2]

# An engine as somebody might write it: the document tells it what to do.
FAULTY = """
import base64, json, os, signal, sys, time

def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    request = json.loads(line)
    result = {"stage": "valid", "messages": [], "canonical": None, "place": None}
    answer = {"id": request["id"], "result": result}
    call = request["call"]
    if call == "describe":
        answer["result"] = {
            "name": "faulty",
            "release": "1",
            "manifest_version": 10,
            "constants": {"A": 1, "B": "AA=="},
        }
    elif call != "judge":
        del answer["result"]
        answer["error"] = {"kind": "unsupported", "message": "no " + call, "place": None}
    else:
        order = base64.b64decode(request["arguments"]["data"]).decode()
        if order == "hang":
            time.sleep(1000)
        elif order == "panic":
            result |= {"stage": "panic", "messages": ["over the edge"], "place": "engine.py:3:1"}
        elif order == "caught":
            del answer["result"]
            error = {"kind": "panic", "message": "over the edge", "place": "engine.py:3:1"}
            answer["error"] = error
        elif order == "exit":
            print("out of memory", file=sys.stderr)
            sys.exit(7)
        elif order == "abort":
            os.kill(os.getpid(), signal.SIGKILL)
        elif order == "half":
            sys.stdout.write('{"id": ')
            sys.stdout.flush()
            sys.exit(0)
        elif order == "mute":
            os.close(1)
            time.sleep(1000)
        elif order == "deep":
            say("[" * 100_000)
            continue
        elif order == "garbage":
            say("Segmentation fault")
            continue
        elif order == "binary":
            sys.stdout.buffer.write(b"\\xff\\xfe\\n")
            sys.stdout.flush()
            continue
        elif order == "stage":
            result["stage"] = "perhaps"
        elif order == "member":
            result["extra"] = 1
        elif order == "type":
            result["messages"] = "none"
        elif order == "base64":
            result["canonical"] = "?"
        elif order == "letters":
            result["canonical"] = "\u00e9"
        elif order in ("refused", "unsupported", "argument"):
            del answer["result"]
            answer["error"] = {"kind": order, "message": "not this one", "place": None}
        elif order == "id":
            answer["id"] += 1
        elif order == "bare":
            answer = result
        elif order == "both":
            answer["error"] = None
        elif order == "kind":
            answer = {"id": answer["id"], "error": {"kind": "x", "message": "", "place": None}}
        elif order == "twice":
            say(json.dumps(answer) + "\\n" + json.dumps(answer))
            continue
    say(json.dumps(answer))
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[StdioEngine]:
    """An engine with every fault, each on demand."""
    script = tmp_path / "faulty.py"
    script.write_text(FAULTY)
    with StdioEngine([sys.executable, str(script)], time_limit=2.0) as engine:
        yield engine


def test_describes_itself(faulty: StdioEngine) -> None:
    """Name, release, format and constants come from the engine."""
    assert (faulty.name, faulty.release, faulty.manifest_version) == ("faulty", "1", 10)
    assert faulty.constants == {"A": 1, "B": b"\0"}


def test_lacks_what_it_says_it_lacks(faulty: StdioEngine) -> None:
    """An unsupported call is no failure."""
    with pytest.raises(EngineUnsupported, match="no checkpoint_sha256"):
        faulty.checkpoint_sha256(b"")
    assert faulty.judge(b"", 4).stage == "valid"


@pytest.mark.parametrize("order", [b"panic", b"caught"])
def test_panic(faulty: StdioEngine, order: bytes) -> None:
    """A panic is a verdict, told either way."""
    assert faulty.judge(order, 4) == EngineVerdict(
        "panic", ("over the edge",), place="engine.py:3:1"
    )
    assert faulty.judge(b"", 4).stage == "valid"


def test_hang(faulty: StdioEngine) -> None:
    """A hang is cut off at the limit, and the next document gets a new engine."""
    start = time.monotonic()
    assert faulty.judge(b"hang", 4) == EngineVerdict("hang", ("no answer within 2 s",))
    assert time.monotonic() - start < 10
    assert faulty.judge(b"", 4).stage == "valid"


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (b"exit", "ended with status 7; its last words: out of memory"),
        (b"abort", "ended with SIGKILL"),
        (b"half", "ended with status 0"),
        (b"mute", "closed its output and lives on"),
        (b"garbage", "'Segmentation fault'"),
        (b"binary", r"'\xff\xfe'"),
        (b"deep", "and 99801 bytes more"),
        (b"stage", "'perhaps' is none of decode, invalid, valid, panic"),
        (b"member", "does not have exactly the members stage, messages, canonical, place"),
        (b"type", "'none' is not list"),
        (b"base64", "'?' is not base64"),
        (b"letters", "'\u00e9' is not base64"),
        (b"refused", "answered with an error, not with a verdict: not this one"),
        (b"unsupported", "answered with an error, not with a verdict: not this one"),
        (b"argument", "answered with an error, not with a verdict: not this one"),
        (b"id", "it does not answer request"),
        (b"bare", "it does not answer request"),
        (b"both", "it has neither a result nor an error beside its id"),
        (b"kind", "'x' is none of refused, unsupported, argument, panic, request"),
        (b"twice", "answered with more than one line"),
    ],
)
def test_crash(faulty: StdioEngine, order: bytes, told: str) -> None:
    """Death and lies are crashes of that document, quoted, and the run goes on."""
    verdict = faulty.judge(order, 4)
    assert verdict.stage == "crash"
    assert told in verdict.messages[0]
    assert faulty.judge(b"", 4).stage == "valid"


def test_failures_of_other_calls_are_raised(tmp_path: Path) -> None:
    """Only a verdict has a place for a failure."""
    script = tmp_path / "mad.py"
    script.write_text(
        FAULTY.replace('elif call != "judge":', 'elif call != "judge":\n        sys.exit(3)')
    )
    with (
        StdioEngine([sys.executable, str(script)]) as engine,
        pytest.raises(EngineFailed, match="crash: ended with status 3"),
    ):
        engine.checkpoint_sha256(b"")


REFUSAL = '{"id": 1, "error": {"kind": "refused", "message": "no licence left", "place": null}}'


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["/no/such/engine"], "No such file"),
        ([sys.executable, "-c", "import sys; sys.exit('no licence')"], "no licence"),
        ([sys.executable, "-c", "print('hello')"], "'hello'"),
        ([sys.executable, "-c", f"input(); print({REFUSAL!r})"], "no licence left"),
        ([sys.executable, "-c", "import time; time.sleep(1000)"], "no answer within 0.5 s"),
    ],
)
def test_what_does_not_start(command: list[str], told: str) -> None:
    """An engine that does not start is no finding."""
    with pytest.raises(EngineUnavailable, match="does not start as an engine") as caught:
        StdioEngine(command, start_limit=0.5 if "sleep" in command[-1] else 60)
    assert told in str(caught.value)


def test_children_end_too(tmp_path: Path) -> None:
    """A hanging engine's children do not outlive it."""
    mark = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(2); pathlib.Path({str(mark)!r}).touch()"
    script = tmp_path / "parent.py"
    start = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])\n"
    script.write_text(start + FAULTY)
    with StdioEngine([sys.executable, str(script)], time_limit=0.2) as engine:
        assert engine.judge(b"hang", 4).stage == "hang"
    time.sleep(2.5)
    assert not mark.exists()


def test_an_engine_that_reads_nothing_hangs(tmp_path: Path) -> None:
    """A document larger than any pipe does not block the caller."""
    script = tmp_path / "deaf.py"
    deaf = FAULTY.replace("for line in sys.stdin:", "for line in [sys.stdin.readline()]:")
    script.write_text(deaf + "\ntime.sleep(1000)\n")
    with StdioEngine([sys.executable, str(script)], time_limit=0.5) as engine:
        assert engine.judge(b" " * (4 << 20), 4).stage == "hang"


# The engine that ships


@pytest.fixture(scope="module")
def served() -> Iterator[StdioEngine]:
    """The default engine, behind the protocol."""
    try:
        load()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import fuzz.cli; fuzz.cli.main()"
    with StdioEngine([sys.executable, "-c", start, "engine", "serve", "0.33.0"]) as engine:
        yield engine


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 200, b" " * (1 << 22), b'{"version": 10}'])
def test_served_verdicts_are_those_in_process(served: StdioEngine, data: bytes) -> None:
    """The protocol changes nothing."""
    assert served.judge(data, 4, canonical=True) == load().judge(data, 4, canonical=True)


def test_served_calls_are_those_in_process(served: StdioEngine) -> None:
    """Every other call too, its errors included."""
    direct = load()
    fence = json.dumps(
        {
            "assignment_version": 1,
            "partitioning_abi_version": 2,
            "vnode_count": 1,
            "assignment_digest": [1] * 32,
            "participants": [
                {"node_id": 1, "boot_incarnation": "11111111-1111-4111-8111-111111111111"}
            ],
        }
    ).encode()
    node = json.dumps(
        {
            "protocol_version": 1,
            "epoch": 1,
            "checkpoint_id": 1,
            "participant_id": 1,
            "assignment_certificate": json.loads(fence),
            "streams": [],
            "manifest_digest": [0] * 32,
        }
    ).encode()
    channels = (
        b'[{"participant_id":1,"source_name":"a","input_channel":[1],"watermark":-5,"idle":false}]'
    )
    assert (served.name, served.release) == (direct.name, direct.release)
    assert served.manifest_version == direct.manifest_version
    assert served.constants == direct.constants
    both: tuple[Engine, Engine] = (served, direct)
    for engine in both:
        assert engine.key_group_count(7) == 7
        with pytest.raises(ValueError, match="outside"):
            engine.key_group_count(0)
        with pytest.raises(ValueError, match="outside"):
            engine.judge(b"", 1 << 70)
        with pytest.raises(ValueError, match=r"\S"):
            engine.owner_map_digest(-1, [])
        with pytest.raises(EngineRefused, match="EOF"):
            engine.checkpoint_manifest_bytes(b"")
        with pytest.raises(EngineUnsupported, match="view_log_segment_limit"):
            engine.view_log_segment_limit(1)
    assert served.checkpoint_sha256(b"a") == direct.checkpoint_sha256(b"a")
    for payload in (None, b"", b"\xff"):
        assert served.checkpoint_descriptor_sha256(payload) == direct.checkpoint_descriptor_sha256(
            payload
        )
        assert served.checkpoint_artifact_intent_sha256(
            payload
        ) == direct.checkpoint_artifact_intent_sha256(payload)
    owners = [1, (1 << 64) - 1]
    assert served.owner_map_digest(2, owners) == direct.owner_map_digest(2, owners)
    assert served.fence_digest(fence) == direct.fence_digest(fence)
    assert served.subscription_digest(b"d", b"v") == direct.subscription_digest(b"d", b"v")
    sealed = served.seal_node_subscription_manifest(node, [0])
    assert sealed == direct.seal_node_subscription_manifest(node, [0])
    fault = served.validate_node_subscription_manifest(node, [0])
    assert fault == direct.validate_node_subscription_manifest(node, [0])
    assert served.classify_channel_progress(channels) == ("active", -5)
    assert served.channel_progress_frontier(channels) == -5
    assert served.channel_progress_frontiers_by_source(channels) == {"a": -5}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\n",
        b"[]\n",
        b"[" * 100_000,
        b'{"id": "1", "call": "describe", "arguments": {}}\n',
        b'{"id": 1, "call": "judge", "arguments": {}}\n',
        b'{"id": 1, "call": ["judge"], "arguments": {}}\n',
        b'{"id": 1, "call": "describe", "arguments": null}\n',
        b'{"id": 1, "call": "checkpoint_sha256", "arguments": {"data": "?"}}\n',
    ],
)
def test_senseless_requests_are_answered(served: StdioEngine, line: bytes) -> None:
    """The served engine survives whatever it is asked, and its answer fits the schema."""
    answer = answer_to(load(), line)
    assert "error" in answer
    jsonschema.validate(answer, wire.schema())
    assert answer["error"]["kind"] == "request"


# The schema


def test_the_schema_is_the_committed_one() -> None:
    """Renew it with: python -m fuzz engine protocol > fuzz/engines/protocol.schema.json."""
    committed = (ROOT / "fuzz/engines/protocol.schema.json").read_text()
    assert json.loads(committed) == wire.schema()
    jsonschema.Draft202012Validator.check_schema(wire.schema())


def test_every_call_is_described() -> None:
    """PROTOCOL.md names every call."""
    text = (ROOT / "fuzz/engines/PROTOCOL.md").read_text()
    assert [name for name in wire.CALLS if f"`{name}`" not in text] == []


def test_messages_fit_the_schema(served: StdioEngine) -> None:
    """A conversation's two sides both hold to the schema."""
    validator = jsonschema.Draft202012Validator(wire.schema())
    exchanges: list[tuple[wire.Call[Any], dict[str, Any]]] = [
        (wire.DESCRIBE, {}),
        (wire.JUDGE, {"data": b"{}", "key_groups": 4, "canonical": True}),
        (wire.JUDGE, {"data": b"{}", "key_groups": 0, "canonical": True}),
        (wire.CLASSIFY_CHANNEL_PROGRESS, {"channels": b"[]"}),
        (wire.VIEW_LOG_SEGMENT_LIMIT, {"participants": 1}),
    ]
    for call, arguments in exchanges:
        request = call.request(1, arguments)
        validator.validate(request)
        validator.validate(answer_to(load(), json.dumps(request).encode()))
    assert not validator.is_valid({"id": 1, "call": "judge", "arguments": {}})
    assert not validator.is_valid({"id": 1, "result": {"stage": "hang"}})
    assert not validator.is_valid({"id": 1})
