"""A stopped store, examined by the oracle and by the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.comparison import Outcome, compare, contract_of
from fuzz.engines import InProcessEngine
from fuzz.runtime.model import Held, Violation
from oracle import Stage
from oracle.store import audit


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines stores, by the oracle and by *engine*."""

    engine: InProcessEngine

    def examine(self, store: Path, key_groups: int) -> Held:
        """Audit a store that nobody writes to.

        Raises:
            Violation: something is wrong with it, or oracle and engine do not agree on it.

        """
        if not (store / "checkpoint-deployment" / "identity.json").is_file():
            return _unborn(store)
        report = audit(store)
        if not report.clean:
            told = [
                f"{one.file} {one.place}: {one.message} ({one.rule})" for one in report.findings
            ]
            raise Violation(f"audit: {report.findings[0].rule}", "; ".join(told))
        manifests = sorted(store.glob("nodes/*/checkpoints/*/manifest.json"))
        for manifest in manifests:
            self._judge(manifest, key_groups)
        latest = _latest_commit(store)
        if latest is None:
            return Held(len(manifests))
        index = self._load(store, latest, key_groups)
        offsets = {
            name: int(position["offsets"]["seq"])
            for name, position in index["source_offsets"].items()
        }
        watermarks = index.get("source_watermarks", {})
        return Held(len(manifests), latest["checkpoint_id"], offsets, watermarks)

    def _judge(self, path: Path, key_groups: int) -> None:
        """A manifest is valid by oracle and engine, or the seal of an attempt that was given up."""
        data = path.read_bytes()
        if b'"artifact_identity_sha256"' in data:
            return
        found = compare(data, self.engine, key_groups, contract_of(self.engine))
        if found.outcome is not Outcome.AGREE:
            raise Violation(f"manifest: {found.signature}", f"{path}: {found.signature}")
        if found.oracle.stage is not Stage.VALID:
            raise Violation("manifest invalid", f"{path}: {sorted(found.oracle.rules)}")

    def _load(self, store: Path, commit: Mapping[str, Any], key_groups: int) -> dict[str, Any]:
        """The index of a committed checkpoint, after the engine loaded all that it names."""
        path = _index(store, commit)
        data = path.read_bytes()
        verdict, reference = self.engine.judge_index(data)
        if reference is None or json.loads(reference) != commit:
            raise Violation("index", f"{path}: the engine says {verdict.messages or reference!r}")
        index: dict[str, Any] = json.loads(data)
        manifests = []
        for participant in index["participants"]:
            expected = participant["manifest_len"], participant["manifest_sha256"]
            manifest = self.engine.load_manifest(
                str(store),
                participant["participant_id"],
                index["checkpoint_id"],
                key_groups,
                expected,
            )
            if manifest is None:
                raise Violation("manifest lost", f"{path} names one that is not there")
            manifests.append(manifest)
        fault = self.engine.validate_participant_manifests(data, manifests)
        if fault is not None:
            raise Violation("index and manifests", f"{path}: the engine says {fault}")
        self._continuity(store, path, data, index["predecessor"])
        return index

    def _continuity(
        self, store: Path, path: Path, data: bytes, predecessor: Mapping[str, Any] | None
    ) -> None:
        before = predecessor and _index(store, predecessor)
        if before and before.is_file():  # Else retention has taken it.
            fault = self.engine.validate_predecessor_index(data, before.read_bytes())
            if fault is not None:
                raise Violation("index and predecessor", f"{path}: the engine says {fault}")


def _unborn(store: Path) -> Held:
    """A store whose creation was cut short holds no checkpoint."""
    begun = [*store.glob("nodes/*/*/*"), *store.glob("committed-checkpoints/*")]
    if begun:
        raise Violation("no identity", f"{store} has checkpoints and no deployment identity")
    return Held(manifests=0)


def _latest_commit(store: Path) -> dict[str, Any] | None:
    """The reference of the latest committed checkpoint."""
    heads = list(_heads(store))
    if not heads or heads[0]["latest_commit"] is None:
        return None
    reference: dict[str, Any] = heads[0]["latest_commit"]["committed_checkpoint"]
    return reference


def _heads(store: Path) -> Iterator[dict[str, Any]]:
    for path in store.glob("checkpoint-decisions/deployment=*/head"):
        yield json.loads(path.read_bytes())


def _index(store: Path, reference: Mapping[str, Any]) -> Path:
    attempt = f"epoch={reference['epoch']:020}/checkpoint={reference['checkpoint_id']:020}"
    return store / "committed-checkpoints" / attempt / f"sha256={reference['sha256']}"
