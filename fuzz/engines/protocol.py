"""What an engine is: something that says what a checkpoint manifest is worth, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal, Protocol

Stage = Literal["decode", "invalid", "valid", "panic", "hang", "crash"]
FailedStage = Literal["panic", "hang", "crash"]
ProgressClass = Literal["uninitialized", "idle", "active"]


class EngineError(Exception):
    """Any failure of this room; the message says what to do next where something can be done."""


class EngineUnavailable(EngineError):
    """There is no such engine here, or it cannot be built or started."""


class EngineUnsupported(EngineError):
    """The engine is of a generation that does not have this."""


class EngineRefused(EngineError):
    """The engine took the call and refused what was asked; the message is the engine's own."""


class EngineFailed(EngineError):
    """The engine did not answer: it panicked, hung or crashed.

    Attributes:
        stage: which of the three.
        message: the panic's message, or what was seen from outside.
        place: file, line and column of a panic, if the engine told.

    """

    def __init__(self, stage: FailedStage, message: str, place: str | None = None) -> None:
        super().__init__(f"{stage}: {message}" + (f" ({place})" if place else ""))
        self.stage: FailedStage = stage
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True)
class EngineVerdict:
    """An engine's word on one document.

    Attributes:
        stage: where it ended: `decode` (it is no manifest), `invalid`, `valid`, or one of the
            failures `panic`, `hang` and `crash`.
        messages: the decoder's error, or every validation message, in the engine's words and
            order (which it does not promise); or what is known of a failure.
        canonical: the canonical encoding, if it was asked for and the document decoded.
        place: file, line and column of a panic.

    """

    stage: Stage
    messages: tuple[str, ...] = ()
    canonical: bytes | None = None
    place: str | None = None


class Engine(Protocol):
    """A production engine, wherever it runs.

    `judge` never raises for what a document does to the engine: a panic, a hang or a crash is a
    verdict. The other methods raise `EngineRefused`, `EngineFailed` or `EngineUnsupported`, and
    `ValueError` for a number out of range. JSON arguments are bytes.
    """

    @property
    def name(self) -> str:
        """A name for people, such as `laminar-core 0.33.0`."""

    @property
    def release(self) -> str:
        """The release, with a content hash behind a plus sign if it was built from a checkout."""

    @property
    def manifest_version(self) -> int:
        """The one manifest format that this engine speaks."""

    @property
    def constants(self) -> Mapping[str, int | bytes]:
        """The engine's public constants, under the engine's names."""

    def judge(self, data: bytes, key_groups: int, *, canonical: bool = False) -> EngineVerdict:
        """Decode and validate; with `canonical`, also encode canonically.

        Raises:
            ValueError: `key_groups` is not a key-group count.

        """

    def key_group_count(self, value: int) -> int:
        """Give `value` back if it is a key-group count, else raise `ValueError`."""

    def checkpoint_manifest_bytes(self, data: bytes) -> bytes:
        """Decode and encode canonically, valid or not."""

    def checkpoint_sha256(self, data: bytes) -> str:
        """SHA-256 as lower-case hex."""

    def checkpoint_descriptor_sha256(self, payload: bytes | None) -> str:
        """Digest of a prepared sink's payload, or of its absence."""

    def checkpoint_artifact_intent_sha256(self, payload: bytes | None) -> str:
        """Digest of a sink artifact intent's payload, or of its absence."""

    def owner_map_digest(self, vnode_count: int, owners: Sequence[int]) -> bytes:
        """Digest of an ordered map from vnode to owner."""

    def fence_digest(self, fence: bytes) -> bytes:
        """Digest of an assignment fence, given as JSON."""

    def subscription_digest(self, domain: bytes, value: bytes) -> bytes:
        """Digest of a value under a domain."""

    def seal_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> tuple[bytes, str | None]:
        """Digest that belongs into a node's subscription manifest, and the fault then left."""

    def validate_node_subscription_manifest(
        self, data: bytes, owned_vnodes: Sequence[int]
    ) -> str | None:
        """First fault of a node's subscription manifest as it stands."""

    def classify_channel_progress(self, channels: bytes) -> tuple[ProgressClass, int | None]:
        """Class of a JSON array of channel progress, and the value of an active one."""

    def channel_progress_frontier(self, channels: bytes) -> int | None:
        """Numeric frontier of a JSON array of channel progress."""

    def channel_progress_frontiers_by_source(self, channels: bytes) -> dict[str, int | None]:
        """Numeric frontier of each source in a JSON array of channel progress."""

    def view_log_segment_limit(self, participants: int) -> int:
        """Most view-log segments of one manifest in a cut with so many participants."""


class StoreEngine(Engine, Protocol):
    """An engine that also lends its checkpoint store, on a local directory, and its index.

    `root` is the directory above `nodes/`.
    """

    def save_checkpoint(
        self, root: str | PathLike[str], manifest: bytes, node_data: bytes, key_groups: int
    ) -> bytes:
        """Save a manifest and its node data; give the manifest as the engine wrote it."""

    def load_manifest(
        self,
        root: str | PathLike[str],
        participant_id: int,
        checkpoint_id: int,
        key_groups: int,
        expected: tuple[int, str] | None = None,
    ) -> bytes | None:
        """Load a manifest and give its canonical bytes, or none if it is not there.

        With `expected`, the stored bytes must have that length and SHA-256.
        """

    def load_node_data_ranges(
        self,
        root: str | PathLike[str],
        participant_id: int,
        checkpoint_id: int,
        object_length: int,
        ranges: Sequence[tuple[int, int]],
    ) -> list[bytes] | None:
        """Load parts, each an offset and a length, of an object of that exact length."""

    def load_prepared_sink_descriptors(
        self, root: str | PathLike[str], manifest: bytes, key_groups: int
    ) -> list[tuple[str, bytes | None]]:
        """Every prepared sink's name and payload, each verified under its own digest."""

    def judge_index(self, data: bytes) -> tuple[EngineVerdict, bytes | None]:
        """Decode, validate and encode a committed index; of a valid one give its reference too."""

    def validate_participant_manifests(
        self, index: bytes, manifests: Sequence[bytes]
    ) -> str | None:
        """First fault of an index beside its participants' manifests, in participant order."""

    def validate_predecessor_index(self, index: bytes, predecessor: bytes) -> str | None:
        """First fault of an index beside its predecessor."""

    def effective_source_watermarks(self, index: bytes) -> dict[str, int]:
        """Source watermarks that an index stands for."""

    def committed_participant_ref(self, manifest: bytes) -> bytes:
        """The reference, as JSON, by which an index names a participant's manifest."""

    def merge_node_subscription_manifests(
        self,
        epoch: int,
        checkpoint_id: int,
        fence: bytes,
        manifests: Sequence[tuple[bytes, Sequence[int]]],
    ) -> list[tuple[bytes, bytes]]:
        """Merge participants' subscription manifests, each with the vnodes that it owns.

        Gives each stream's merged manifest and ranges, as JSON.
        """
