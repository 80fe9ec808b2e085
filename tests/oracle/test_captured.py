"""Checkpoints that a real engine wrote: valid, canonical, and their digests agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpora import ROOT
from oracle import Stage, checkpoint_sha256, decode, encode, hazards, judge
from oracle.bench import real_manifest
from oracle.model import CheckpointManifest

STORES = ROOT / "stores"
MANIFESTS = sorted(STORES.glob("*/nodes/*/checkpoints/*/manifest.json"))
INDEXES = sorted(path for path in STORES.glob("*/committed-checkpoints/*/*/*") if path.is_file())


def _name(path: Path) -> str:
    return "-".join(path.relative_to(STORES).parts[:1] + path.parts[-3:-1])


def _manifest(path: Path) -> CheckpointManifest:
    return decode(path.read_bytes())


def test_there_are_some() -> None:
    """Two manifests of each of five stores, each with its committed index."""
    assert len(MANIFESTS) == len(INDEXES) == 10


@pytest.mark.parametrize("path", MANIFESTS, ids=_name)
def test_manifest_is_valid_and_canonical(path: Path) -> None:
    """It keeps every rule, has no hazard, and is its own canonical encoding."""
    data = path.read_bytes()
    verdict = judge(data, _manifest(path).vnode_count)
    assert verdict.findings == ()
    assert verdict.stage is Stage.VALID
    assert verdict.manifest is not None
    assert encode(verdict.manifest) == data
    assert hazards(verdict.manifest, data) == []


@pytest.mark.parametrize("path", MANIFESTS, ids=_name)
def test_node_data_and_frames(path: Path) -> None:
    """The digests of the object and of every frame in it are those of the bytes beside it."""
    manifest = _manifest(path)
    data = (path.parent / "node-data.bin").read_bytes()
    assert len(data) == manifest.node_data.object_length
    assert checkpoint_sha256(data) == manifest.node_data.sha256
    for frame in manifest.state_frames:
        chunk = f"{frame.chunk.checkpoint_id:020}"
        held = (path.parent.parent / chunk / "node-data.bin").read_bytes()
        assert frame.range.end is not None
        assert checkpoint_sha256(held[frame.range.offset : frame.range.end]) == frame.sha256


@pytest.mark.parametrize("path", MANIFESTS, ids=_name)
def test_referenced_objects(path: Path) -> None:
    """Every older object that is still there has the length and the digest that are named."""
    for reference in _manifest(path).referenced_chunks:
        held = path.parent.parent / f"{reference.chunk.checkpoint_id:020}" / "node-data.bin"
        data = held.read_bytes()
        assert len(data) == reference.object_length
        assert checkpoint_sha256(data) == reference.sha256


@pytest.mark.parametrize("path", INDEXES, ids=_name)
def test_committed_index(path: Path) -> None:
    """The index is named by its digest, and names the manifest and its node data by theirs."""
    data = path.read_bytes()
    assert path.name == f"sha256={checkpoint_sha256(data)}"
    index = json.loads(data)
    for participant in index["participants"]:
        nodes = path.parents[3] / "nodes" / str(participant["participant_id"]) / "checkpoints"
        directory = nodes / f"{index['checkpoint_id']:020}"
        written = (directory / "manifest.json").read_bytes()
        assert participant["manifest_len"] == len(written)
        assert participant["manifest_sha256"] == checkpoint_sha256(written)
        node_data = (directory / "node-data.bin").read_bytes()
        assert participant["node_data_len"] == len(node_data)
        assert participant["node_data_sha256"] == checkpoint_sha256(node_data)


def test_benchmark_is_one_of_them() -> None:
    """The manifest that the benchmark judges is the newest of the trades store."""
    newest = [path for path in MANIFESTS if STORES / "trades" in path.parents][-1]
    assert real_manifest() == newest.read_bytes()
