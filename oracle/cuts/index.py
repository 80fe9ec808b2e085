"""The committed index by itself: decode, validate, encode, and its reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oracle.constants import I64_MIN, LOCAL_NODE_ID, SINGLETON_WATERMARK_CHANNEL
from oracle.cuts.constants import (
    COMMITTED_CHECKPOINT_INDEX_VERSION,
    LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION,
    MAX_COMMITTED_CHECKPOINT_INDEX_BYTES,
)
from oracle.cuts.document import decode_as
from oracle.cuts.model import (
    CheckpointScope,
    CommittedCheckpointIndex,
    CommittedCheckpointRef,
)
from oracle.cuts.registry import (
    INDEX_CHECKS,
    CutFinding,
    InvalidCut,
    entry,
    found,
    index_rule,
)
from oracle.digests import checkpoint_sha256
from oracle.encoding import canonical_json_bytes
from oracle.errors import json_pointer
from oracle.formats import V10
from oracle.kernels import (
    classify,
    first_disorder,
    frontier,
    has_reserved_watermark,
    is_canonical_uuid,
    is_sha256_text,
    is_trimmed,
    rosters_differ,
    strictly_ascending,
)
from oracle.model import ChannelProgress
from oracle.registry import Level, Place

Index = CommittedCheckpointIndex


def decode_index(data: bytes) -> CommittedCheckpointIndex:
    """The index that *data* spells, valid or not; raises :class:`DecodeError` and nothing else."""
    return decode_as(CommittedCheckpointIndex, data)


def validate_index(index: CommittedCheckpointIndex) -> CutFinding | None:
    """The first fault of *index* in the order of the contract, if it has one."""
    for id, check in INDEX_CHECKS.items():
        for pointer, message in check(index):
            return CutFinding(id, pointer, message)
    return None


def encode_index(index: CommittedCheckpointIndex) -> bytes:
    """The canonical bytes of *index*, valid or not; decoding them gives the index again."""
    return canonical_json_bytes(index)


def encode_and_reference(
    index: CommittedCheckpointIndex,
) -> tuple[bytes, CommittedCheckpointRef]:
    """The canonical bytes of *index* and what they are referred to by.

    Raises :class:`InvalidCut` when the index is invalid or its encoding too long.
    """
    fault = validate_index(index)
    if fault is not None:
        raise InvalidCut(fault)
    data = encode_index(index)
    if len(data) > MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
        raise InvalidCut(found(TOO_LARGE, "", f"the encoding has {len(data)} bytes"))
    return data, reference_of(index, data)


def reference_of(index: CommittedCheckpointIndex, data: bytes) -> CommittedCheckpointRef:
    """The reference of *index* when *data* are its bytes."""
    return CommittedCheckpointRef(
        index.epoch, index.checkpoint_id, checkpoint_sha256(data), len(data)
    )


def reference_defect(reference: CommittedCheckpointRef) -> Place | None:
    """What is wrong with *reference* by itself: a pointer into it and a message, or ``None``."""
    if reference.epoch == 0 or reference.checkpoint_id != reference.epoch:
        return "/epoch", (
            f"epoch {reference.epoch} is 0 or not checkpoint_id {reference.checkpoint_id}"
        )
    if not is_sha256_text(reference.sha256):
        return "/sha256", f"{reference.sha256!r} is not SHA-256 text"
    if not 1 <= reference.len <= MAX_COMMITTED_CHECKPOINT_INDEX_BYTES:
        return "/len", f"{reference.len} is not in 1..={MAX_COMMITTED_CHECKPOINT_INDEX_BYTES}"
    return None


def frontiers_by_source(channels: Sequence[ChannelProgress]) -> dict[str, int | None]:
    """The frontier of each source that has progress, in the order of their names."""
    by_source: dict[str, list[tuple[int | None, bool]]] = {}
    for channel in channels:
        by_source.setdefault(channel.source_name, []).append((channel.watermark, channel.idle))
    return {source: frontier(by_source[source]) for source in sorted(by_source)}


def known_frontiers(index: CommittedCheckpointIndex) -> dict[str, int]:
    """The frontiers of the sources that have one at this cut."""
    frontiers = frontiers_by_source(index.channel_progress)
    return {source: value for source, value in frontiers.items() if value is not None}


def effective_source_watermarks(index: CommittedCheckpointIndex) -> dict[str, int]:
    """The source watermarks that *index* stands for: version 3 derives them from its channels."""
    if index.version == LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION:
        return known_frontiers(index)
    return dict(index.source_watermarks)


# --- the rules, in the order of the contract -------------------------------------------------


@index_rule("index.version")
def _version(index: Index) -> Iterator[Place]:
    """The version is not 3 (older) or 4."""
    known = (LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION, COMMITTED_CHECKPOINT_INDEX_VERSION)
    if index.version not in known:
        yield "/version", f"version is {index.version}, not {known[0]} or {known[1]}"


@index_rule("index.attempt")
def _attempt(index: Index) -> Iterator[Place]:
    """Epoch is 0, or checkpoint_id differs from it."""
    if index.epoch == 0:
        yield "/epoch", "epoch is 0"
    elif index.checkpoint_id != index.epoch:
        yield "/checkpoint_id", f"checkpoint_id is {index.checkpoint_id}, epoch {index.epoch}"


@index_rule("index.deployment-id")
def _deployment_id(index: Index) -> Iterator[Place]:
    """deployment_id is not the canonical text of a non-nil UUID."""
    if not is_canonical_uuid(index.deployment_id):
        yield "/deployment_id", f"{index.deployment_id!r} is not the text of a non-nil UUID"


@index_rule("index.pipeline-identity")
def _pipeline_identity(index: Index) -> Iterator[Place]:
    """pipeline_identity is not of the format's version with sha256 text."""
    identity, wanted = index.pipeline_identity, V10.pipeline_identity_version
    if identity.canonical_version != wanted or not is_sha256_text(identity.sha256):
        yield "/pipeline_identity", f"{identity} is not of version {wanted} with SHA-256 text"


@index_rule("index.vnode-count")
def _vnode_count(index: Index) -> Iterator[Place]:
    """vnode_count is 0."""
    if index.vnode_count == 0:
        yield "/vnode_count", "vnode_count is 0"


@index_rule("index.participants-empty")
def _participants_empty(index: Index) -> Iterator[Place]:
    """There are no participants."""
    if not index.participants:
        yield "/participants", "there are no participants"


@index_rule("index.participant")
def _participant(index: Index) -> Iterator[Place]:
    """An entry's participant_id or manifest_len is 0, or a digest is not sha256 text."""
    for number, reference in enumerate(index.participants):
        pointer = f"/participants/{number}"
        for field in ("participant_id", "manifest_len"):
            if getattr(reference, field) == 0:
                yield f"{pointer}/{field}", f"{field} is 0"
        for field in ("manifest_sha256", "node_data_sha256"):
            text = getattr(reference, field)
            if not is_sha256_text(text):
                yield f"{pointer}/{field}", f"{text!r} is not SHA-256 text"


@index_rule("index.participants-order")
def _participants_order(index: Index) -> Iterator[Place]:
    """The participants do not ascend strictly by participant_id."""
    ids = index.participant_ids
    number = first_disorder(ids)
    if number is not None:
        yield f"/participants/{number}", f"{ids[number]} does not follow {ids[number - 1]}"


@index_rule("index.scope")
def _scope(index: Index) -> Iterator[Place]:
    """The scope does not fit the participants.

    Local: there is a fence, the cut is portable, or its participants are not exactly node 1.
    Cluster: there is no fence, the cut is not portable, or the fence is for another vnode_count
    or not of exactly the participants.
    """
    fence = index.assignment_fence
    if index.scope is CheckpointScope.LOCAL:
        if fence is not None:
            yield "/assignment_fence", "a local cut has no fence"
        if index.reassignment_portable:
            yield "/reassignment_portable", "a local cut is not portable"
        if index.participant_ids != (LOCAL_NODE_ID,):
            yield "/participants", f"a local cut is of node {LOCAL_NODE_ID} alone"
        return
    if fence is None:
        yield "/assignment_fence", "a cut of a cluster has a fence"
        return
    if not index.reassignment_portable:
        yield "/reassignment_portable", "a cut of a cluster is portable"
    if fence.vnode_count != index.vnode_count:
        yield (
            "/assignment_fence/vnode_count",
            f"the fence is for {fence.vnode_count} vnodes, the cut has {index.vnode_count}",
        )
    if index.participant_ids != tuple(member.node_id for member in fence.participants):
        yield "/participants", "the participants are not exactly the fence's"


@index_rule("index.predecessor")
def _predecessor(index: Index) -> Iterator[Place]:
    """The predecessor's reference is not canonical, or not older in epoch and checkpoint_id.

    Its epoch is 0 or its checkpoint_id another, its digest is not sha256 text, or its len is not
    in 1..=8 MiB.
    """
    if index.predecessor is None:
        return
    defect = reference_defect(index.predecessor)
    if defect is not None:
        yield f"/predecessor{defect[0]}", defect[1]
    elif index.predecessor.epoch >= index.epoch:
        yield "/predecessor/epoch", f"{index.predecessor.epoch} is not before {index.epoch}"


@index_rule("index.source-names")
def _source_names(index: Index) -> Iterator[Place]:
    """A source name is empty or padded; the names do not ascend strictly; or one is missing.

    Missing is the name of a source that has offsets. Padded is text with leading or trailing
    Unicode white space.
    """
    names = index.source_names
    for number, name in enumerate(names):
        if not _is_name(name):
            yield f"/source_names/{number}", f"source name {name!r} is empty or padded"
    disorder = first_disorder(names)
    if disorder is not None:
        yield (
            f"/source_names/{disorder}",
            f"{names[disorder]!r} does not follow {names[disorder - 1]!r}",
        )
    for name in sorted(index.source_offsets.keys() - set(names)):
        yield json_pointer("source_offsets", name), f"source {name!r} is not listed"


def _is_name(text: str) -> bool:
    return text != "" and is_trimmed(text)


@index_rule("index.offsets")
def _offsets(index: Index) -> Iterator[Place]:
    """A source's offsets are not canonical.

    A key of offsets or metadata is empty or padded; input_channels has an empty entry, does not
    ascend strictly, or has the reserved channel; or source_assignment_version is given and not
    the fence's assignment_version.
    """
    for source, checkpoint in index.source_offsets.items():
        for field in ("offsets", "metadata"):
            for key in getattr(checkpoint, field):
                if not _is_name(key):
                    pointer = json_pointer("source_offsets", source, field, key)
                    yield pointer, f"key {key!r} is empty or padded"
        channels = checkpoint.input_channels or ()
        pointer = json_pointer("source_offsets", source, "input_channels")
        if b"" in channels or not strictly_ascending(channels):
            yield pointer, "the channels are not non-empty and strictly ascending"
        if SINGLETON_WATERMARK_CHANNEL in channels:
            yield pointer, "the channels have the reserved channel [0]"
        version, fence = checkpoint.source_assignment_version, index.assignment_fence
        if version is not None and fence is not None and version != fence.assignment_version:
            yield (
                json_pointer("source_offsets", source, "source_assignment_version"),
                f"it is {version}, the fence's assignment_version {fence.assignment_version}",
            )


@index_rule("index.channels")
def _channels(index: Index) -> Iterator[Place]:
    """channel_progress is not canonical, or checkpoint_watermark not what it gives.

    In this order: an entry with participant_id 0, of a source not listed or with a bad name, or
    with an empty input_channel; not strictly ascending; a physical channel of one source owned by
    two participants; one participant's source mixing the reserved and other channels; a watermark
    of i64's minimum; checkpoint_watermark different from the classification.
    """
    channels, listed = index.channel_progress, frozenset(index.source_names)
    for number, channel in enumerate(channels):
        pointer = f"/channel_progress/{number}"
        if channel.participant_id == 0:
            yield f"{pointer}/participant_id", "participant_id is 0"
        if not _is_name(channel.source_name) or channel.source_name not in listed:
            yield f"{pointer}/source_name", f"source {channel.source_name!r} is not listed"
        if not channel.input_channel:
            yield f"{pointer}/input_channel", "input_channel is empty"
    disorder = first_disorder([channel.order for channel in channels])
    if disorder is not None:
        yield f"/channel_progress/{disorder}", "the entry does not follow the one before it"
    yield from _channel_owners(channels)
    for number, channel in enumerate(channels):
        if channel.watermark == I64_MIN:
            yield f"/channel_progress/{number}/watermark", "the watermark is reserved"
    classified = classify((channel.watermark, channel.idle) for channel in channels)
    if index.checkpoint_watermark != classified.value:
        yield (
            "/checkpoint_watermark",
            f"it is {index.checkpoint_watermark}, the channels ({classified.state}) "
            f"give {classified.value}",
        )


def _channel_owners(channels: Sequence[ChannelProgress]) -> Iterator[Place]:
    physical: set[tuple[str, bytes]] = set()
    kinds: dict[tuple[int, str], bool] = {}
    mixed: list[int] = []
    for number, channel in enumerate(channels):
        reserved = channel.input_channel == SINGLETON_WATERMARK_CHANNEL
        if kinds.setdefault((channel.participant_id, channel.source_name), reserved) != reserved:
            mixed.append(number)
        if reserved:
            continue
        key = (channel.source_name, channel.input_channel)
        if key in physical:
            yield (
                f"/channel_progress/{number}/input_channel",
                f"the channel of {channel.source_name!r} is owned by another participant too",
            )
        physical.add(key)
    for number in mixed:
        yield (
            f"/channel_progress/{number}/input_channel",
            "the source has the reserved channel [0] beside another one",
        )


@index_rule("index.source-watermarks")
def _source_watermarks(index: Index) -> Iterator[Place]:
    """source_watermarks is not what the version and the channels allow.

    Version 3: there are any. Version 4: a source not listed or with a bad name, or i64's minimum;
    a source with a numeric frontier whose entry is missing or different; without a predecessor,
    they are not exactly the frontiers.
    """
    watermarks = index.source_watermarks
    if index.version == LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION:
        if watermarks:
            yield "/source_watermarks", "version 3 has no source watermarks"
        return
    listed = frozenset(index.source_names)
    for source, watermark in watermarks.items():
        pointer = json_pointer("source_watermarks", source)
        if not _is_name(source) or source not in listed:
            yield pointer, f"source {source!r} is not listed"
        if has_reserved_watermark((watermark,)):
            yield pointer, "the watermark is reserved"
    frontiers = known_frontiers(index)
    for source, value in frontiers.items():
        if watermarks.get(source) != value:
            yield (
                json_pointer("source_watermarks", source),
                f"it is {watermarks.get(source)}, the channels of the source give {value}",
            )
    if index.predecessor is None:
        for source in sorted(watermarks.keys() - frontiers.keys()):
            yield (
                json_pointer("source_watermarks", source),
                "a first cut has no watermark of a source without a frontier",
            )


@index_rule("index.roster")
def _roster(index: Index) -> Iterator[Place]:
    """A source's input_channels are given, and are not exactly its physical progress entries.

    Examined when the source has such entries.
    """
    physical: dict[str, list[bytes]] = {}
    for channel in index.channel_progress:
        if channel.input_channel != SINGLETON_WATERMARK_CHANNEL:
            physical.setdefault(channel.source_name, []).append(channel.input_channel)
    for source, checkpoint in index.source_offsets.items():
        declared = checkpoint.input_channels
        if declared is None or source not in physical:
            continue
        if rosters_differ(declared, physical[source]):
            yield (
                json_pointer("source_offsets", source, "input_channels"),
                f"source {source!r} declares other channels than it has progress of",
            )


@index_rule("index.channel-participant")
def _channel_participant(index: Index) -> Iterator[Place]:
    """An entry of channel_progress is by a participant that is not in the cut."""
    known = frozenset(index.participant_ids)
    for number, channel in enumerate(index.channel_progress):
        if channel.participant_id not in known:
            yield (
                f"/channel_progress/{number}/participant_id",
                f"participant {channel.participant_id} is not in the cut",
            )


TOO_LARGE = entry(
    "index.too-large",
    Level.INDEX,
    "The canonical encoding is above 8 MiB. Validation does not look at it; "
    "an index that is so long has no reference.",
)
