"""The production engine in this process: the built bridge, loaded from its own file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import NoReturn, ParamSpec, Protocol, TypeVar, cast

from fuzz.engines.protocol import (
    EngineFailed,
    EngineRefused,
    EngineUnavailable,
    EngineUnsupported,
    EngineVerdict,
    ProgressClass,
    Stage,
    StoreEngine,
)

P = ParamSpec("P")
Answer = TypeVar("Answer")

# What an older generation or the stand-in may lack.
_OPTIONAL = (
    "checkpoint_artifact_intent_sha256",
    "committed_participant_ref",
    "effective_source_watermarks",
    "index_verdict",
    "load_manifest",
    "load_node_data_ranges",
    "load_prepared_sink_descriptors",
    "merge_node_subscription_manifests",
    "save_checkpoint",
    "seal_node_subscription_manifest",
    "subscription_digest",
    "validate_node_subscription_manifest",
    "validate_participant_manifests",
    "validate_predecessor_index",
    "view_log_segment_limit",
)

# Most documents of a healthy run end here, and a frozen dataclass is not free to make.
_VALID = EngineVerdict("valid")


class _Bridge(StoreEngine, Protocol):
    """The built module: the engine's calls as functions, and what is only of use in process."""

    Panicked: type[Exception]
    Refused: type[Exception]
    coverage_counters: int

    def verdict(
        self, data: bytes, key_groups: int, canonical: bool
    ) -> tuple[Stage, tuple[str, ...], bytes | None]: ...

    def index_verdict(
        self, data: bytes
    ) -> tuple[Stage, str | None, bytes | None, bytes | None]: ...

    def provoke_panic(self, message: str) -> None: ...

    def coverage_snapshot(self) -> bytes: ...

    def reset_coverage(self) -> None: ...


@cache
def _load(library: Path) -> ModuleType:
    """Load a built bridge as a module of its own, once.

    Every engine exports the same module, so each gets its own name, and none is entered in
    `sys.modules`. The dynamic linker keeps their symbols apart too, as long as the interpreter's
    dlopen flags are left alone (see `fuzz.engines.coverage`).
    """
    # The name of the initialisation function comes from the part behind the last dot.
    name = f"engine_{hashlib.sha256(str(library).encode()).hexdigest()[:16]}.bridge"
    loader = ExtensionFileLoader(name, str(library))
    spec = spec_from_file_location(name, library, loader=loader)
    assert spec is not None
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise EngineUnavailable(
            f"{library} does not load ({error}); build it again: "
            "python -m fuzz engine remove --all, then python -m fuzz engine build"
        ) from error
    return module


def _bridge(module: ModuleType, engine: str) -> _Bridge:
    """The calls that *module* has, and for those that it lacks a refusal."""

    def lacking(function: str) -> Callable[..., NoReturn]:
        def refuse(*_: object) -> NoReturn:
            raise EngineUnsupported(f"{engine} has no {function}")

        return refuse

    for function in _OPTIONAL:
        if not hasattr(module, function):
            setattr(module, function, lacking(function))
    return cast(_Bridge, module)


class InProcessEngine:
    """An engine called directly. A panic is caught; a hang or a crash takes this process along.

    Args:
        library: the built bridge.
        release: what to call the engine.
        stand_in: whether to take the stand-in for view logs that is in the bridge. It is written
            from this project's own assumptions, so its word is no evidence about production.

    """

    def __init__(self, library: Path, release: str, *, stand_in: bool = False) -> None:
        self.release = release
        self.name = f"{release} (no engine)" if stand_in else f"laminar-core {release}"
        module = _load(library)
        self._bridge = bridge = _bridge(module.stand_in if stand_in else module, self.name)
        self._panicked = bridge.Panicked
        self._refused = bridge.Refused
        self._verdict = bridge.verdict
        self.constants: Mapping[str, int | bytes] = bridge.constants
        self.manifest_version = cast(int, bridge.constants["CHECKPOINT_MANIFEST_VERSION"])

    def __repr__(self) -> str:
        return f"<InProcessEngine {self.name}, format v{self.manifest_version}>"

    @property
    def coverage_counters(self) -> int:
        """Number of places in the engine that a fuzzer can see."""
        return self._bridge.coverage_counters

    def coverage_snapshot(self) -> bytes:
        """How often each of these places was reached since the last reset, modulo 256.

        Empty when a fuzzer took the counters. All work of this process counts, on every thread.
        """
        return self._bridge.coverage_snapshot()

    def reset_coverage(self) -> None:
        """Start to count anew."""
        self._bridge.reset_coverage()

    def judge(self, data: bytes, key_groups: int, *, canonical: bool = False) -> EngineVerdict:
        """See `Engine.judge`."""
        try:
            stage, messages, encoded = self._verdict(data, key_groups, canonical)
        except self._panicked as panic:
            return EngineVerdict("panic", panic.args[:1], place=panic.args[1])
        if stage == "valid" and encoded is None:
            return _VALID
        return EngineVerdict(stage, messages, encoded)

    def _call(
        self, function: Callable[P, Answer], *arguments: P.args, **options: P.kwargs
    ) -> Answer:
        try:
            return function(*arguments, **options)
        except self._refused as error:
            raise EngineRefused(str(error)) from None
        except self._panicked as panic:
            raise EngineFailed("panic", *panic.args) from None
        except OverflowError as error:
            raise ValueError(str(error)) from None

    def provoke_panic(self, message: str) -> NoReturn:
        """Panic inside the bridge, to see that a panic is reported as one."""
        self._call(self._bridge.provoke_panic, message)
        raise AssertionError("the bridge did not panic")

    def key_group_count(self, value: int) -> int:
        """See `Engine.key_group_count`."""
        return self._call(self._bridge.key_group_count, value)

    def checkpoint_manifest_bytes(self, data: bytes) -> bytes:
        """See `Engine.checkpoint_manifest_bytes`."""
        return self._call(self._bridge.checkpoint_manifest_bytes, data)

    def checkpoint_sha256(self, data: bytes) -> str:
        """See `Engine.checkpoint_sha256`."""
        return self._call(self._bridge.checkpoint_sha256, data)

    def checkpoint_descriptor_sha256(self, payload: bytes | None) -> str:
        """See `Engine.checkpoint_descriptor_sha256`."""
        return self._call(self._bridge.checkpoint_descriptor_sha256, payload)

    def checkpoint_artifact_intent_sha256(self, payload: bytes | None) -> str:
        """See `Engine.checkpoint_artifact_intent_sha256`."""
        return self._call(self._bridge.checkpoint_artifact_intent_sha256, payload)

    def owner_map_digest(self, vnode_count: int, owners: Sequence[int]) -> bytes:
        """See `Engine.owner_map_digest`."""
        return self._call(self._bridge.owner_map_digest, vnode_count, owners)

    def fence_digest(self, fence: bytes) -> bytes:
        """See `Engine.fence_digest`."""
        return self._call(self._bridge.fence_digest, fence)

    def subscription_digest(self, domain: bytes, value: bytes) -> bytes:
        """See `Engine.subscription_digest`."""
        return self._call(self._bridge.subscription_digest, domain, value)

    def seal_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> tuple[bytes, str | None]:
        """See `Engine.seal_node_subscription_manifest`."""
        return self._call(self._bridge.seal_node_subscription_manifest, data, owned_vnodes)

    def validate_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> str | None:
        """See `Engine.validate_node_subscription_manifest`."""
        return self._call(self._bridge.validate_node_subscription_manifest, data, owned_vnodes)

    def classify_channel_progress(self, channels: bytes) -> tuple[ProgressClass, int | None]:
        """See `Engine.classify_channel_progress`."""
        return self._call(self._bridge.classify_channel_progress, channels)

    def channel_progress_frontier(self, channels: bytes) -> int | None:
        """See `Engine.channel_progress_frontier`."""
        return self._call(self._bridge.channel_progress_frontier, channels)

    def channel_progress_frontiers_by_source(self, channels: bytes) -> dict[str, int | None]:
        """See `Engine.channel_progress_frontiers_by_source`."""
        return self._call(self._bridge.channel_progress_frontiers_by_source, channels)

    def view_log_segment_limit(self, participants: int) -> int:
        """See `Engine.view_log_segment_limit`."""
        return self._call(self._bridge.view_log_segment_limit, participants)

    def save_checkpoint(
        self, root: str | PathLike[str], manifest: bytes, node_data: bytes, key_groups: int
    ) -> bytes:
        """See `StoreEngine.save_checkpoint`."""
        return self._call(self._bridge.save_checkpoint, root, manifest, node_data, key_groups)

    def load_manifest(
        self,
        root: str | PathLike[str],
        participant_id: int,
        checkpoint_id: int,
        key_groups: int,
        expected: tuple[int, str] | None = None,
    ) -> bytes | None:
        """See `StoreEngine.load_manifest`."""
        return self._call(
            self._bridge.load_manifest, root, participant_id, checkpoint_id, key_groups, expected
        )

    def load_node_data_ranges(
        self,
        root: str | PathLike[str],
        participant_id: int,
        checkpoint_id: int,
        object_length: int,
        ranges: Sequence[tuple[int, int]],
    ) -> list[bytes] | None:
        """See `StoreEngine.load_node_data_ranges`."""
        return self._call(
            self._bridge.load_node_data_ranges,
            root,
            participant_id,
            checkpoint_id,
            object_length,
            ranges,
        )

    def load_prepared_sink_descriptors(
        self, root: str | PathLike[str], manifest: bytes, key_groups: int
    ) -> list[tuple[str, bytes | None]]:
        """See `StoreEngine.load_prepared_sink_descriptors`."""
        return self._call(self._bridge.load_prepared_sink_descriptors, root, manifest, key_groups)

    def judge_index(self, data: bytes) -> tuple[EngineVerdict, bytes | None]:
        """See `StoreEngine.judge_index`."""
        try:
            stage, fault, encoded, reference = self._call(self._bridge.index_verdict, data)
        except EngineFailed as failure:
            return EngineVerdict(failure.stage, (failure.message,), place=failure.place), None
        return EngineVerdict(stage, () if fault is None else (fault,), encoded), reference

    def validate_participant_manifests(
        self, index: bytes, manifests: Sequence[bytes]
    ) -> str | None:
        """See `StoreEngine.validate_participant_manifests`."""
        return self._call(self._bridge.validate_participant_manifests, index, manifests)

    def validate_predecessor_index(self, index: bytes, predecessor: bytes) -> str | None:
        """See `StoreEngine.validate_predecessor_index`."""
        return self._call(self._bridge.validate_predecessor_index, index, predecessor)

    def effective_source_watermarks(self, index: bytes) -> dict[str, int]:
        """See `StoreEngine.effective_source_watermarks`."""
        return self._call(self._bridge.effective_source_watermarks, index)

    def committed_participant_ref(self, manifest: bytes) -> bytes:
        """See `StoreEngine.committed_participant_ref`."""
        return self._call(self._bridge.committed_participant_ref, manifest)

    def merge_node_subscription_manifests(
        self,
        epoch: int,
        checkpoint_id: int,
        fence: bytes,
        manifests: Sequence[tuple[bytes, Sequence[int]]],
    ) -> list[tuple[bytes, bytes]]:
        """See `StoreEngine.merge_node_subscription_manifests`."""
        return self._call(
            self._bridge.merge_node_subscription_manifests, epoch, checkpoint_id, fence, manifests
        )
