"""The production engine in process, its builds, and what a fuzzer sees of it."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fuzz.cli import main
from fuzz.engines import (
    DEFAULT_RELEASE,
    RELEASES,
    EngineFailed,
    EngineRefused,
    EngineUnavailable,
    EngineUnsupported,
    EngineVerdict,
    InProcessEngine,
    StoreEngine,
    builds,
    load,
)
from tests.engine.conftest import built_engine as engine_of

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
PIPELINE_VERSION = {9: 6, 10: 7}
WITH_SUBSCRIPTIONS = [release for release in RELEASES if release != "0.30.0"]
FENCE = {
    "assignment_version": 5,
    "partitioning_abi_version": 2,
    "vnode_count": 4,
    "assignment_digest": [7] * 32,
    "participants": [
        {"node_id": 1, "boot_incarnation": "11111111-1111-4111-8111-111111111111"},
        {"node_id": 2, "boot_incarnation": "22222222-2222-4222-8222-222222222222"},
    ],
}


@pytest.fixture
def engine() -> InProcessEngine:
    """The default engine."""
    return engine_of(DEFAULT_RELEASE)


def manifest(version: int = 10, **changes: Any) -> bytes:
    """A small valid manifest for four key groups, with changes."""
    members = {
        "version": version,
        "checkpoint_id": 9,
        "epoch": 9,
        "timestamp_ms": 1_700_000_000_000,
        "participant_id": 1,
        "source_offsets": {},
        "source_names": [],
        "sink_names": [],
        "pipeline_identity": {
            "canonical_version": PIPELINE_VERSION[version],
            "sha256": EMPTY_SHA256,
        },
        "deployment_id": "abcdef01-2345-4678-9abc-def012345678",
        "partitioning_abi_version": 2,
        "vnode_count": 4,
        "assignment_fence": None,
        "reassignment_portable": False,
        "owned_vnodes": [0, 1, 2, 3],
        "checkpoint_watermark": None,
        "channel_progress": [],
        "node_data": {
            "chunk": {"participant_id": 1, "checkpoint_id": 9},
            "object_length": 0,
            "sha256": EMPTY_SHA256,
        },
        "state_frames": [],
        "prepared_sinks": [],
        "referenced_chunks": [],
    }
    return json.dumps(members | changes).encode()


def with_frame(payload: bytes) -> bytes:
    """A valid manifest whose node data is one state frame."""
    digest = hashlib.sha256(payload).hexdigest()
    chunk = {"participant_id": 1, "checkpoint_id": 9}
    return manifest(
        node_data={"chunk": chunk, "object_length": len(payload), "sha256": digest},
        state_frames=[
            {
                "key": {"kind": "vnode", "operator_id": "count", "vnode": 2},
                "chunk": chunk,
                "range": {"offset": 0, "length": len(payload)},
                "sha256": digest,
            }
        ],
    )


def channel(
    source: str, watermark: int | None, *, idle: bool = False, lane: int = 1
) -> dict[str, Any]:
    """One entry of channel progress."""
    return {
        "participant_id": 1,
        "source_name": source,
        "input_channel": [lane],
        "watermark": watermark,
        "idle": idle,
    }


def sha256(*parts: bytes) -> "hashlib._Hash":
    """The hash of the parts, joined."""
    return hashlib.sha256(b"".join(parts))


# Verdicts


def test_valid(engine: InProcessEngine) -> None:
    """A valid manifest has no messages."""
    assert EngineVerdict("valid") == engine.judge(manifest(), 4)


def test_invalid_reports_every_message(engine: InProcessEngine) -> None:
    """Validation goes on behind the first broken rule."""
    verdict = engine.judge(manifest(timestamp_ms=0, owned_vnodes=[]), 4)
    assert verdict.stage == "invalid"
    assert {"timestamp_ms must be nonzero", "owned_vnodes must not be empty"} < set(
        verdict.messages
    )


def test_decode_reports_the_decoder(engine: InProcessEngine) -> None:
    """What is no manifest has the decoder's one message."""
    assert engine.judge(b"[1,", 4) == EngineVerdict(
        "decode", ("EOF while parsing a value at line 1 column 3",)
    )


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[" * 100_000, b" " * (1 << 20), b"\0", b"null"]
)
def test_any_bytes_get_a_verdict(engine: InProcessEngine, data: bytes) -> None:
    """Hostile bytes are a decode rejection like any other."""
    assert engine.judge(data, 4).stage == "decode"


def test_canonical_on_request(engine: InProcessEngine) -> None:
    """The canonical encoding is the engine's: sorted keys, no spaces; valid or not."""
    members = json.loads(manifest())
    expected = json.dumps(members, sort_keys=True, separators=(",", ":")).encode()
    assert engine.judge(manifest(), 4, canonical=True) == EngineVerdict("valid", (), expected)
    assert engine.judge(manifest(), 5, canonical=True).canonical == expected
    assert engine.judge(b"{}", 4, canonical=True).canonical is None
    assert engine.checkpoint_manifest_bytes(manifest()) == expected


@pytest.mark.parametrize("count", [-1, 0, 65_536, 1 << 32, 1 << 80])
def test_key_groups_out_of_range(engine: InProcessEngine, count: int) -> None:
    """A count that is none is the caller's error."""
    with pytest.raises(ValueError, match=r"outside 1\.\.=65535"):
        engine.judge(manifest(), count)
    with pytest.raises(ValueError, match=r"outside 1\.\.=65535"):
        engine.key_group_count(count)


@pytest.mark.parametrize("count", [1, 256, 65_535])
def test_key_groups_in_range(engine: InProcessEngine, count: int) -> None:
    """Both bounds belong to the range."""
    assert engine.key_group_count(count) == count
    assert engine.judge(manifest(), count).stage == "invalid"


def test_a_panic_is_reported_with_message_and_place(
    engine: InProcessEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    """A panic is an error like others, prints nothing, and leaves the engine usable."""
    with pytest.raises(EngineFailed) as caught:
        engine.provoke_panic("over the edge")
    assert caught.value.stage == "panic"
    assert caught.value.message == "over the edge"
    assert caught.value.place is not None
    assert caught.value.place.split(":")[0].endswith("src/lib.rs")
    assert capfd.readouterr() == ("", "")
    assert engine.judge(manifest(), 4).stage == "valid"


# Several releases


@pytest.mark.parametrize("release", RELEASES)
def test_each_release_judges_its_own_format(release: str) -> None:
    """Every release takes its own format and rejects the other, in one process with the others."""
    engine = engine_of(release)
    other = 19 - engine.manifest_version
    assert engine.manifest_version == (9 if release == "0.30.0" else 10)
    assert engine.judge(manifest(engine.manifest_version), 4).stage == "valid"
    assert (
        f"unsupported manifest version {other}; expected {engine.manifest_version}"
        in engine.judge(manifest(other), 4).messages
    )


@pytest.mark.releases("0.30.0")
def test_releases_do_not_mix() -> None:
    """Calls that alternate between releases stay apart, panics too."""
    old, new = engine_of("0.30.0"), engine_of(DEFAULT_RELEASE)
    for _ in range(3):
        for engine in (old, new):
            assert engine.judge(manifest(engine.manifest_version), 4).stage == "valid"
            with pytest.raises(EngineFailed, match=engine.release):
                engine.provoke_panic(engine.release)


@pytest.mark.releases("0.30.0")
def test_a_format_without_intents_says_so() -> None:
    """What a generation lacks is unsupported, and not an error of the caller."""
    old = engine_of("0.30.0")
    with pytest.raises(EngineUnsupported, match="checkpoint_artifact_intent_sha256"):
        old.checkpoint_artifact_intent_sha256(None)
    with pytest.raises(EngineUnsupported, match="subscription_digest"):
        old.subscription_digest(b"", b"")


@pytest.mark.parametrize("release", RELEASES)
def test_constants(release: str) -> None:
    """The constants are those of the contract."""
    engine = engine_of(release)
    expected = {
        "CHECKPOINT_MANIFEST_VERSION": engine.manifest_version,
        "PIPELINE_IDENTITY_VERSION": PIPELINE_VERSION[engine.manifest_version],
        "PREPARED_SINK_DESCRIPTOR_VERSION": 1,
        "PARTITIONING_ABI_VERSION": 2,
        "MAX_CHECKPOINT_PARTICIPANTS": 129,
        "LOCAL_NODE_ID": 1,
        "DEFAULT_KEY_GROUP_COUNT": 256,
        "MAX_KEY_GROUP_COUNT": 65_535,
        "SINGLETON_WATERMARK_CHANNEL": b"\0",
        "DEFAULT_MAX_CHECKPOINT_NODE_DATA_BYTES": 512 << 20,
        "COMMITTED_CHECKPOINT_INDEX_VERSION": 4,
        "MAX_COMMITTED_CHECKPOINT_INDEX_BYTES": 8 << 20,
    }
    if release in WITH_SUBSCRIPTIONS:
        expected |= {
            "SUBSCRIPTION_PROTOCOL_VERSION": 1,
            "OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION": 1,
            "MAX_OUTPUT_SEGMENTS_PER_MANIFEST": 65_536,
            "MAX_OUTPUT_SEGMENT_BYTES": 16 << 20,
            "MAX_OUTPUT_FRAMES_PER_SEGMENT": 1_024,
            "MAX_SUBSCRIPTION_MANIFEST_BYTES": 8 << 20,
        }
    assert engine.constants == expected


# Digests, against the contract's formulas


def u64(value: int) -> bytes:
    """A number as the digests take it."""
    return value.to_bytes(8, "little")


@pytest.mark.parametrize("release", RELEASES)
def test_payload_digests(release: str) -> None:
    """Absent, empty and present payloads."""
    engine = engine_of(release)
    sink, intent = (
        b"laminardb-prepared-sink-descriptor-v1\0",
        b"laminardb/checkpoint-sink-artifact-intent/v1\0",
    )
    assert engine.checkpoint_sha256(b"abc") == sha256(b"abc").hexdigest()
    assert engine.checkpoint_descriptor_sha256(None) == sha256(sink, b"\0").hexdigest()
    for payload in (b"", b"xyz"):
        expected = sha256(sink, b"\1", u64(len(payload)), payload).hexdigest()
        assert engine.checkpoint_descriptor_sha256(payload) == expected
    if release in WITH_SUBSCRIPTIONS:
        assert engine.checkpoint_artifact_intent_sha256(None) == sha256(intent, b"\0").hexdigest()
        for payload in (b"", b"xyz"):
            expected = sha256(intent, b"\1", payload).hexdigest()
            assert engine.checkpoint_artifact_intent_sha256(payload) == expected


@pytest.mark.parametrize("release", RELEASES)
def test_owner_map_and_fence_digests(release: str) -> None:
    """The digests of an assignment."""
    engine = engine_of(release)
    owners = [1, 2, 1, (1 << 64) - 1]
    abi, count = (2).to_bytes(2, "little"), (4).to_bytes(4, "little")
    expected = sha256(
        b"laminardb-vnode-owner-map-v2\0", abi, count, u64(4), *map(u64, owners)
    ).digest()
    assert engine.owner_map_digest(4, owners) == expected
    expected = sha256(
        b"laminardb-checkpoint-assignment-v3\0",
        u64(5),
        abi,
        count,
        bytes([7] * 32),
        u64(2),
        u64(1),
        bytes.fromhex("11111111111141118111111111111111"),
        u64(2),
        bytes.fromhex("22222222222242228222222222222222"),
    ).digest()
    assert engine.fence_digest(json.dumps(FENCE).encode()) == expected
    with pytest.raises(EngineRefused, match="not canonical"):
        engine.fence_digest(json.dumps(FENCE | {"participants": []}).encode())
    with pytest.raises(ValueError, match=r"\S"):
        engine.owner_map_digest(4, [-1])


@pytest.mark.parametrize("release", WITH_SUBSCRIPTIONS)
def test_subscription_digests(release: str) -> None:
    """A node's subscription manifest is sealed over its canonical encoding without the digest."""
    engine = engine_of(release)
    body = {
        "protocol_version": 1,
        "epoch": 9,
        "checkpoint_id": 9,
        "participant_id": 1,
        "assignment_certificate": FENCE,
        "streams": [],
    }
    domain = b"laminardb-node-subscription-manifest-v1"
    value = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    expected = sha256(u64(len(domain)), domain, u64(len(value)), value).digest()
    assert engine.subscription_digest(domain, value) == expected

    unsealed = json.dumps(body | {"manifest_digest": [0] * 32}).encode()
    assert engine.seal_node_subscription_manifest(unsealed, [0, 2]) == (expected, None)
    assert engine.validate_node_subscription_manifest(unsealed, [0, 2]) is not None
    sealed = json.dumps(body | {"manifest_digest": list(expected)}).encode()
    assert engine.validate_node_subscription_manifest(sealed, [0, 2]) is None
    stranger = json.dumps(body | {"manifest_digest": [0] * 32, "participant_id": 3}).encode()
    digest, fault = engine.seal_node_subscription_manifest(stranger, [0, 2])
    assert digest != expected
    assert fault is not None


# Channel progress


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("channels", "expected", "frontier"),
    [
        ([], ("idle", None), None),
        ([channel("a", 3), channel("b", 2)], ("active", 2), 2),
        ([channel("a", 3, idle=True), channel("b", 2, idle=True)], ("idle", None), 3),
        ([channel("a", 3), channel("b", None)], ("uninitialized", None), None),
    ],
)
def test_channel_progress(
    release: str,
    channels: list[dict[str, Any]],
    expected: tuple[str, int | None],
    frontier: int | None,
) -> None:
    """Every class of event-time state."""
    engine = engine_of(release)
    data = json.dumps(channels).encode()
    assert engine.classify_channel_progress(data) == expected
    assert engine.channel_progress_frontier(data) == frontier


def test_channel_progress_by_source(engine: InProcessEngine) -> None:
    """Each source has its own frontier."""
    channels = [
        channel("a", 3, idle=True),
        channel("a", 5, idle=True, lane=2),
        channel("b", None),
        channel("c", 1),
    ]
    data = json.dumps(channels).encode()
    assert engine.channel_progress_frontiers_by_source(data) == {"a": 5, "b": None, "c": 1}


def test_the_reserved_watermark_is_refused(engine: InProcessEngine) -> None:
    """The engine's own words come along."""
    data = json.dumps([channel("a", -(1 << 63))]).encode()
    with pytest.raises(EngineRefused, match="reserved uninitialized watermark"):
        engine.classify_channel_progress(data)


# The engine's store and index


def test_store_saves_and_loads(engine: InProcessEngine, tmp_path: Path) -> None:
    """The engine's own store writes the canonical encoding and reads it back."""
    store: StoreEngine = engine
    root, payload = str(tmp_path), b"state"
    document = with_frame(payload)
    written = store.save_checkpoint(root, document, payload, 4)
    assert written == engine.checkpoint_manifest_bytes(document)
    directory = tmp_path / "nodes/1/checkpoints/00000000000000000009"
    assert (directory / "manifest.json").read_bytes() == written
    assert (directory / "node-data.bin").read_bytes() == payload
    assert engine.load_manifest(root, 1, 9, 4) == written
    exact = (len(written), hashlib.sha256(written).hexdigest())
    assert engine.load_manifest(root, 1, 9, 4, exact) == written
    assert engine.load_node_data_ranges(root, 1, 9, 5, [(0, 2), (2, 3)]) == [b"st", b"ate"]
    assert engine.load_manifest(root, 1, 8, 4) is None


def test_store_refuses(engine: InProcessEngine, tmp_path: Path) -> None:
    """What the store refuses, it refuses in its own words."""
    root, payload = str(tmp_path), b"state"
    with pytest.raises(EngineRefused, match="node data is 4 bytes; manifest declares 5"):
        engine.save_checkpoint(root, with_frame(payload), b"stat", 4)
    with pytest.raises(EngineRefused, match="vnode_count mismatch"):
        engine.save_checkpoint(root, with_frame(payload), payload, 5)
    engine.save_checkpoint(root, with_frame(payload), payload, 4)
    with pytest.raises(EngineRefused, match="invalid checkpoint"):
        engine.load_manifest(root, 1, 9, 4, (5, EMPTY_SHA256))


def test_store_loads_sinks(engine: InProcessEngine, tmp_path: Path) -> None:
    """A sink's payload is read under its own digest."""
    payload = b"prepared"
    document = manifest(
        sink_names=["absent", "sink"],
        node_data={
            "chunk": {"participant_id": 1, "checkpoint_id": 9},
            "object_length": len(payload),
            "sha256": hashlib.sha256(payload).hexdigest(),
        },
        prepared_sinks=[
            {
                "sink_name": "absent",
                "format_version": 1,
                "payload": None,
                "sha256": engine.checkpoint_descriptor_sha256(None),
            },
            {
                "sink_name": "sink",
                "format_version": 1,
                "payload": {"offset": 0, "length": len(payload)},
                "sha256": engine.checkpoint_descriptor_sha256(payload),
            },
        ],
    )
    engine.save_checkpoint(str(tmp_path), document, payload, 4)
    loaded = engine.load_prepared_sink_descriptors(str(tmp_path), document, 4)
    assert loaded == [("absent", None), ("sink", payload)]


def index_of(engine: InProcessEngine, document: bytes, **changes: Any) -> bytes:
    """The committed index of a local cut."""
    members = json.loads(document)
    return json.dumps(
        {
            "version": 4,
            "deployment_id": members["deployment_id"],
            "pipeline_identity": members["pipeline_identity"],
            "epoch": members["epoch"],
            "checkpoint_id": members["checkpoint_id"],
            "scope": "local",
            "vnode_count": members["vnode_count"],
            "assignment_fence": None,
            "reassignment_portable": False,
            "predecessor": None,
            "participants": [json.loads(engine.committed_participant_ref(document))],
            "source_names": [],
            "source_offsets": {},
            "channel_progress": [],
            "checkpoint_watermark": None,
        }
        | changes
    ).encode()


@pytest.mark.parametrize("release", RELEASES)
def test_committed_index(release: str) -> None:
    """An index binds a manifest's exact bytes, and its successor binds the index's."""
    engine = engine_of(release)
    document = manifest(engine.manifest_version)
    index = index_of(engine, document)
    verdict, reference = engine.judge_index(index)
    assert verdict.stage == "valid"
    assert verdict.canonical is not None
    assert reference is not None
    assert json.loads(reference) == {
        "epoch": 9,
        "checkpoint_id": 9,
        "len": len(verdict.canonical),
        "sha256": hashlib.sha256(verdict.canonical).hexdigest(),
    }
    assert engine.effective_source_watermarks(index) == {}
    assert engine.validate_participant_manifests(index, [document]) is None
    assert engine.validate_participant_manifests(index, []) is not None
    assert engine.validate_participant_manifests(index, [document + b" "]) is not None

    later = json.loads(document) | {"checkpoint_id": 10, "epoch": 10}
    later["node_data"]["chunk"]["checkpoint_id"] = 10
    after = index_of(engine, json.dumps(later).encode(), predecessor=json.loads(reference))
    assert engine.validate_predecessor_index(after, index) is None
    assert engine.validate_predecessor_index(index, index) is not None


def test_committed_index_is_judged(engine: InProcessEngine) -> None:
    """An index that is none, and one that breaks a rule."""
    verdict, reference = engine.judge_index(b"{}")
    assert (verdict.stage, reference) == ("decode", None)
    verdict, reference = engine.judge_index(index_of(engine, manifest(), participants=[]))
    assert (verdict.stage, len(verdict.messages), reference) == ("invalid", 1, None)


@pytest.mark.parametrize("release", WITH_SUBSCRIPTIONS)
def test_merged_subscriptions_need_the_whole_roster(release: str) -> None:
    """A participant without a manifest fails the merge."""
    engine = engine_of(release)
    owners = [1, 2, 1, 2]
    fence = FENCE | {"assignment_digest": list(engine.owner_map_digest(4, owners))}

    def node(participant: int, owned: list[int]) -> tuple[bytes, list[int]]:
        body = {
            "protocol_version": 1,
            "epoch": 9,
            "checkpoint_id": 9,
            "participant_id": participant,
            "assignment_certificate": fence,
            "streams": [],
            "manifest_digest": [0] * 32,
        }
        digest, fault = engine.seal_node_subscription_manifest(json.dumps(body).encode(), owned)
        assert fault is None
        return json.dumps(body | {"manifest_digest": list(digest)}).encode(), owned

    both = [node(1, [0, 2]), node(2, [1, 3])]
    certificate = json.dumps(fence).encode()
    assert engine.merge_node_subscription_manifests(9, 9, certificate, both) == []
    with pytest.raises(EngineRefused, match=r"\S"):
        engine.merge_node_subscription_manifests(9, 9, certificate, both[:1])


# Builds


def checkout(directory: Path, source: str, *, workspace: bool = False) -> Path:
    """Lay out what looks like the engine's source."""
    crate = directory / "crates/laminar-core" if workspace else directory
    (crate / "src").mkdir(parents=True)
    version = "version.workspace = true" if workspace else 'version = "0.40.0"'
    (crate / "Cargo.toml").write_text(f'[package]\nname = "laminar-core"\n{version}\n')
    (crate / "src/lib.rs").write_text(source)
    if workspace:
        (directory / "Cargo.toml").write_text('[workspace.package]\nversion = "0.41.0"\n')
    return directory


def test_a_checkout_is_known_by_its_content(tmp_path: Path) -> None:
    """The same source is the same target wherever it lies; another source is another."""
    one = builds.target(checkout(tmp_path / "one", "pub struct NodeSubscriptionManifest;"))
    two = builds.target(checkout(tmp_path / "two", "pub struct NodeSubscriptionManifest;"))
    other = builds.target(checkout(tmp_path / "three", "pub struct Other;"))
    assert (one.key, one.release) == (two.key, two.release)
    assert one.key != other.key
    assert one.release.startswith("0.40.0+")
    assert (one.features, other.features) == (("subscription",), ())


def test_a_checkout_may_be_a_workspace(tmp_path: Path) -> None:
    """The crate is found below, its version above; features come from the source."""
    source = (
        "pub const MAX_VIEW_LOG_SEGMENTS: usize = 1;\n"
        "pub const MAX_CLUSTER_VIEW_LOG_SEGMENTS: usize = 1;\n"
        "pub fn view_log_segment_limit() {}\n"
    )
    target = builds.target(checkout(tmp_path / "tree", source, workspace=True))
    assert target.release.startswith("0.41.0+")
    assert target.features == ("view-logs",)
    assert "crates/laminar-core" in target.dependency


@pytest.mark.parametrize("release", RELEASES)
def test_each_release_has_a_lock(release: str) -> None:
    """The committed lock pins the release."""
    lock = builds.target(release).lock.read_text()
    assert f'name = "laminar-core"\nversion = "{release}"\n' in lock


def test_what_is_no_engine(tmp_path: Path) -> None:
    """The message lists what there is."""
    with pytest.raises(EngineUnavailable, match=r"neither a release .*0\.33\.0.* nor a directory"):
        load("0.1.0")
    with pytest.raises(EngineUnavailable, match="no crate laminar-core in"):
        load(tmp_path)


def test_what_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to build it."""
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"run: python -m fuzz engine build 0\.33\.0"):
        load()
    assert builds.built() == []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command line over an empty cache."""
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path / "cache"))

    def invoke(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, ["engine", *arguments])
        return result.exit_code, result.stdout, result.stderr

    return invoke


def test_list_says_what_to_do_when_there_is_nothing(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    """Nothing on standard output, a hint on standard error."""
    assert run("list") == (0, "", "no engine is built; run: python -m fuzz engine build\n")
    assert run("list", "--format", "json") == (0, "", "")


def test_list_and_remove(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """A built engine is listed, and is gone when it is removed."""
    target = builds.target(DEFAULT_RELEASE)
    target.directory.mkdir(parents=True)
    build = builds.Build(
        DEFAULT_RELEASE, 10, 12_345, target.key, target.features, "rustc 1", 1.5, None
    )
    build.library.write_bytes(b"12345")
    build.write()
    status, out, _ = run("list", "--format", "json")
    row = json.loads(out)
    assert status == 0
    assert (row["release"], row["manifest_version"], row["coverage_counters"]) == (
        DEFAULT_RELEASE,
        10,
        12_345,
    )
    assert (row["size"], row["current"]) == (5, True)
    assert "12,345" in run("list")[1]
    status, _, error = run("remove", "0.1.0")
    assert status == 2
    assert "not built: 0.1.0" in error
    assert run("remove", DEFAULT_RELEASE)[0] == 0
    assert builds.built() == []
    assert run("remove")[0] == 2
    assert run("remove", "--all")[0] == 0


@pytest.mark.parametrize(("tools", "hint"), [((), "rustup.rs"), (("cargo", "rustc"), "gcc")])
def test_build_says_what_is_missing(
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tools: tuple[str, ...],
    hint: str,
) -> None:
    """Without a compiler the build ends with 2 and a sentence."""
    (tmp_path / "bin").mkdir()
    for tool in tools:
        (tmp_path / "bin" / tool).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CC", raising=False)
    status, out, error = run("build")
    assert (status, out) == (2, "")
    assert hint in error


def test_build_of_what_is_built(engine: InProcessEngine) -> None:
    """A second build is no build."""
    result = CliRunner().invoke(main, ["engine", "build", engine.release])
    assert result.exit_code == 0, result.stderr
    assert "was built before, format v10" in result.stdout


# Coverage

FUZZER = """
import sys, atheris
from fuzz.engines.coverage import load_visible, show_fuzzer
engine = None
def target(data):
    global engine
    if engine is None:
        engine = load_visible()
    engine.judge(data, 4)
atheris.Setup(sys.argv, target)
show_fuzzer()
atheris.Fuzz()
"""

BLIND = """
import sys
from fuzz.engines.coverage import load_visible
load_visible()
"""


def test_a_fuzzer_sees_into_the_engine(engine: InProcessEngine, tmp_path: Path) -> None:
    """The engine's coverage reaches libFuzzer, and its corpus grows."""
    pytest.importorskip("atheris")
    assert engine.coverage_counters > 10_000
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(manifest())
    arguments = ["-runs=20000", "-seed=1", "-print_final_stats=1", str(corpus)]
    done = subprocess.run(
        [sys.executable, "-c", FUZZER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert " cov: " in done.stderr
    assert len(list(corpus.iterdir())) > 20


def test_a_blind_fuzzer_is_told(engine: InProcessEngine) -> None:
    """An engine that was loaded out of a fuzzer's sight is an error, not a search without eyes."""
    done = subprocess.run(
        [sys.executable, "-c", BLIND],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 1
    assert "no fuzzer sees into laminar-core" in done.stderr
