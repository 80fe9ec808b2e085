"""For every rule and fault, changes of a valid document that break it.

Each entry says what the whole verdict must be afterwards: the rule alone, wherever that can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oracle import V9, V10, VIEW_LOG, Contract
from oracle.constants import I64_MIN, U64_MAX
from tests.oracle.documents import (
    ABSENT_DESCRIPTOR,
    ABSENT_INTENT,
    BOOT_1,
    OTHER_SHA,
    Document,
    at,
    channel,
    chunk,
    cluster,
    connector,
    empty,
    local,
    put,
    reference,
    sealed,
    segment,
    sink,
    span,
    subscribed,
    v9,
    view_logs,
    vnode,
    whole,
)

Change = Callable[[Document], None]


@dataclass(frozen=True)
class Broken:
    """A way to break *rule*; *beside* are the rules that cannot but break with it."""

    rule: str
    make: Callable[[], Document]
    change: Change
    beside: frozenset[str] = frozenset()
    contract: Contract = V10

    def document(self) -> Document:
        """The broken document."""
        document = self.make()
        self.change(document)
        if self.rule.startswith("subscription.") and self.rule != "subscription.digest":
            return sealed(document)
        return document

    @property
    def expected(self) -> frozenset[str]:
        """Every rule that the verdict must name."""
        return self.beside | {self.rule}


def _set(*pairs: tuple[str, object]) -> Change:
    def change(document: Document) -> None:
        for pointer, value in pairs:
            put(document, pointer, value)

    return change


def _append(pointer: str, *values: object) -> Change:
    return lambda document: at(document, pointer).extend(values)


def _swap(pointer: str) -> Change:
    """Exchange the first two elements of a list."""

    def change(document: Document) -> None:
        items = at(document, pointer)
        items[0], items[1] = items[1], items[0]

    return change


def _double(pointer: str) -> Change:
    """Write the first element of a list twice."""

    def change(document: Document) -> None:
        items = at(document, pointer)
        items.insert(0, items[0])

    return change


def _twice(*changes: Change) -> Change:
    def change(document: Document) -> None:
        for each in changes:
            each(document)

    return change


BROKEN: list[Broken] = []


def _of(
    make: Callable[[], Document],
    rule: str,
    change: Change,
    *beside: str,
    contract: Contract = V10,
) -> None:
    BROKEN.append(Broken(rule, make, change, frozenset(beside), contract))


# --- header ----------------------------------------------------------------------------------

_of(local, "version", _set(("/version", 9)))
_of(local, "version", _set(("/version", 11)))
_of(local, "version", _set(("/version", 2**32 - 1)))
_of(lambda: v9(local()), "version", _set(("/version", 10)), contract=V9)
_of(local, "partitioning-abi", _set(("/partitioning_abi_version", 1)))
_of(local, "partitioning-abi", _set(("/partitioning_abi_version", 3)))
_of(local, "attempt", _set(("/epoch", 8)))
_of(local, "attempt", _set(("/epoch", 0)))
_of(
    empty,
    "attempt",
    _set(("/epoch", 0), ("/checkpoint_id", 0), ("/node_data/chunk/checkpoint_id", 0)),
)
_of(local, "timestamp", _set(("/timestamp_ms", 0)))
_of(local, "pipeline-identity", _set(("/pipeline_identity/canonical_version", 6)))
_of(
    lambda: v9(local()),
    "pipeline-identity",
    _set(("/pipeline_identity/canonical_version", 7)),
    contract=V9,
)
for _text in ("", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 63 + "\n", " " + "a" * 63):
    _of(local, "pipeline-identity", _set(("/pipeline_identity/sha256", _text)))
for _text in (
    "",
    "00000000-0000-0000-0000-000000000000",
    "ABCDEF01-2345-4678-9abc-def012345678",
    "abcdef01234546789abcdef012345678",
    "urn:uuid:abcdef01-2345-4678-9abc-def012345678",
    "{abcdef01-2345-4678-9abc-def012345678}",
    "abcdef01-2345-4678-9abc-def012345678\n",
    "abcdef01-2345-4678-9abc-def01234567",
    "abcdef012-345-4678-9abc-def012345678",
    "abcdef01-2345-4678-9abc-def01234567\uff11",
):
    _of(local, "deployment-id", _set(("/deployment_id", _text)))

# --- topology --------------------------------------------------------------------------------

_of(empty, "vnode-count", _set(("/vnode_count", 5), ("/owned_vnodes", [0, 1, 2, 3, 4])))
_of(
    empty,
    "participant",
    _set(("/participant_id", 0), ("/node_data/chunk/participant_id", 0)),
    "local.topology",
)
_of(
    cluster,
    "participant",
    _set(("/participant_id", 0), ("/node_data/chunk/participant_id", 0)),
    "fence.coverage",
)
_of(cluster, "owned-vnodes.empty", _set(("/owned_vnodes", [])))
_of(cluster, "owned-vnodes.order", _set(("/owned_vnodes", [2, 0])))
_of(cluster, "owned-vnodes.order", _set(("/owned_vnodes", [0, 0, 2])))
_of(cluster, "owned-vnodes.domain", _set(("/owned_vnodes", [0, 4])))
_of(cluster, "owned-vnodes.domain", _set(("/owned_vnodes", [0, 65_535])))
_of(cluster, "fence.coverage", _set(("/assignment_fence/vnode_count", 5)))
_of(cluster, "fence.coverage", _set(("/assignment_fence/vnode_count", 65_535)))
_of(cluster, "fence.coverage", _set(("/partitioning_abi_version", 3)), "partitioning-abi")
_of(
    cluster,
    "fence.coverage",
    _set(
        ("/assignment_fence/participants/0/node_id", 0x1_0000_0001),
        ("/assignment_fence/participants/1/node_id", 0x1_0000_0002),
    ),
)
_of(cluster, "fence.portability", _set(("/reassignment_portable", False)))
_of(
    empty,
    "local.topology",
    _set(("/participant_id", 2), ("/node_data/chunk/participant_id", 2)),
)
_of(empty, "local.topology", _set(("/owned_vnodes", [0, 1, 2])))
_of(empty, "local.topology", _set(("/owned_vnodes", [1, 2, 3])))
_of(empty, "local.portability", _set(("/reassignment_portable", True)))

# --- subscription output ---------------------------------------------------------------------

_OUTPUT = "/subscription_output"
_STREAM = f"{_OUTPUT}/streams/0"
_CERTIFICATE = f"{_STREAM}/distribution_certificate"


def _local_with_output() -> Document:
    return empty() | {"subscription_output": subscribed()["subscription_output"]}


_of(_local_with_output, "subscription.local", lambda document: None)
_of(subscribed, "subscription.cut", _set((f"{_OUTPUT}/epoch", 8)))
_of(subscribed, "subscription.cut", _set((f"{_OUTPUT}/checkpoint_id", 8)))
_of(subscribed, "subscription.cut", _set((f"{_OUTPUT}/participant_id", 2)))
for _field, _value in (
    ("assignment_version", 6),
    ("vnode_count", 5),
    ("assignment_digest", [2] * 32),
    ("participants/1/node_id", 3),
    ("participants/1/boot_incarnation", BOOT_1),
):
    _of(
        subscribed,
        "subscription.cut",
        _set((f"{_OUTPUT}/assignment_certificate/{_field}", _value)),
    )


def _fault(id: str, *pairs: tuple[str, object], beside: tuple[str, ...] = ()) -> None:
    _of(subscribed, f"subscription.{id}", _set(*pairs), *beside)


_fault("protocol", (f"{_OUTPUT}/protocol_version", 2))
_fault("protocol", (f"{_CERTIFICATE}/protocol_version", 0))
_fault("protocol", (f"{_STREAM}/segments/1/protocol_version", 2))
_fault(
    "attempt",
    ("/epoch", 0),
    (f"{_OUTPUT}/epoch", 0),
    beside=("attempt",),
)
_fault(
    "attempt",
    *((f"{where}/{field}", 0) for where in ("", _OUTPUT) for field in ("epoch", "checkpoint_id")),
    ("/node_data/chunk/checkpoint_id", 0),
    beside=("attempt",),
)
_fault(
    "participant",
    *((f"{where}/participant_id", 3) for where in ("", _OUTPUT, "/node_data/chunk")),
    beside=("fence.coverage",),
)
_of(subscribed, "subscription.streams-order", _swap(f"{_OUTPUT}/streams"))
_of(subscribed, "subscription.streams-order", _double(f"{_OUTPUT}/streams"))
_fault("certificate-version", (f"{_CERTIFICATE}/version", 2))
for _number, _value in (
    (0, ""),
    (0, " orders"),
    (0, "a" * 257),
    (1, "\u3000a"),
    (1, "positions\x85"),
    (1, "é" * 129),
):
    _fault(
        "identity",
        (f"{_OUTPUT}/streams/{_number}/distribution_certificate/stream_id", _value),
    )
for _value in ("", "x\t", "x\x85", "a" * 513):
    _fault("identity", (f"{_CERTIFICATE}/final_operator_id", _value))
_fault("catalog-generation", (f"{_CERTIFICATE}/catalog_generation", 0))
for _field in (
    "stream_generation",
    "schema_fingerprint",
    "query_fingerprint",
    "distribution/key_expressions_fingerprint",
):
    _fault("zero-digest", (f"{_CERTIFICATE}/{_field}", [0] * 32))
_fault("zero-digest", (f"{_STREAM}/segments/0/payload_digest", [0] * 32))
_fault("pipeline-identity", (f"{_CERTIFICATE}/pipeline_identity/canonical_version", 6))
_fault("pipeline-identity", (f"{_CERTIFICATE}/pipeline_identity/sha256", "A" * 64))
_fault("abi", (f"{_CERTIFICATE}/distribution/partition_abi", 1))
_fault("vnode-count", (f"{_CERTIFICATE}/distribution/vnode_count", 3))
_fault("vnode-count", (f"{_CERTIFICATE}/distribution/vnode_count", 5))


def _singleton(partition: int) -> Change:
    return _set(
        (f"{_CERTIFICATE}/distribution", {"kind": "singleton", "partition": partition}),
        (f"{_STREAM}/ranges", [{"partition": 0, "first_sequence": 0, "through_sequence": 0}]),
        (f"{_STREAM}/segments", []),
    )


_of(subscribed, "subscription.partition-range", _singleton(4))
_of(subscribed, "subscription.singleton", _singleton(3))
_fault("partition-range", (f"{_STREAM}/ranges/1/partition", 4))
_fault("partition-range", (f"{_STREAM}/segments/1/partition", 4))
_of(
    subscribed,
    "subscription.partition-range",
    _twice(_singleton(0), _set((f"{_STREAM}/segments", [segment(2, 0, 1)]))),
)
_fault("ranges-order", (f"{_STREAM}/ranges", []))
_of(subscribed, "subscription.ranges-order", _swap(f"{_STREAM}/ranges"))
_of(subscribed, "subscription.ranges-order", _double(f"{_STREAM}/ranges"))
_fault("owner", (f"{_STREAM}/ranges/1/partition", 3))
_of(
    subscribed,
    "subscription.owner",
    _twice(
        _singleton(0),
        _append(f"{_STREAM}/ranges", {"partition": 2, "first_sequence": 0, "through_sequence": 0}),
    ),
)
_fault("sequence", (f"{_STREAM}/ranges/1/first_sequence", 6))
_fault(
    "segments-many",
    (f"{_STREAM}/segments", [segment(0, number, number + 1) for number in range(65_537)]),
)
_of(subscribed, "subscription.segments-order", _swap(f"{_STREAM}/segments"))
_of(subscribed, "subscription.segments-order", _double(f"{_STREAM}/segments"))
_of(subscribed, "subscription.segments-order", _append(f"{_STREAM}/segments", segment(1, 0, 1)))
_of(subscribed, "subscription.segments-order", _append(f"{_STREAM}/segments", segment(3, 0, 1)))
for _key in (
    "",
    "subscription-output",
    "subscription-output/",
    "/subscription-output/a",
    "other/a",
    "subscription-output/a//b",
    "subscription-output/./a",
    "subscription-output/../a",
    "subscription-output/a/",
    "subscription-output/a\\b",
    "subscription-output/" + "a" * 2_029,
    "subscription-output/" + "é" * 1_015,
):
    _fault("object-key", (f"{_STREAM}/segments/0/object_key", _key))
_fault("generation", (f"{_STREAM}/segments/0/stream_generation", [9] * 32))
_fault("schema", (f"{_STREAM}/segments/0/schema_fingerprint", [9] * 32))
for _field, _value in (
    ("exclusive_end_sequence", 10),
    ("exclusive_end_sequence", 9),
    ("frame_count", 9),
    ("frame_count", 11),
    ("row_count", 0),
    ("encoded_length", 0),
    ("encoded_length", 16 * 1024 * 1024 + 1),
):
    _fault("segment-range", (f"{_STREAM}/segments/0/{_field}", _value))
_fault(
    "segment-range",
    (f"{_STREAM}/segments", [segment(0, 10, 1_035)]),
    (f"{_STREAM}/ranges/0/through_sequence", 1_035),
)
_fault("sequence-gap", (f"{_STREAM}/ranges/0/first_sequence", 9))
_fault("sequence-gap", (f"{_STREAM}/ranges/0/through_sequence", 31))
_fault("sequence-gap", (f"{_STREAM}/segments", [segment(0, 10, 20), segment(0, 21, 30)]))
_fault("sequence-gap", (f"{_STREAM}/segments", [segment(0, 10, 20), segment(0, 19, 30)]))
_fault("sequence-gap", (f"{_STREAM}/segments", []))
_fault("segment-beyond", (f"{_STREAM}/ranges/0/through_sequence", 29))
_fault("digest", (f"{_OUTPUT}/manifest_digest", [0] * 32))


_RANGE = {"partition": 0, "first_sequence": 0, "through_sequence": 14_000}


def _too_large(document: Document) -> None:
    # Each takes above 430 bytes, so all of them take above 8 MiB.
    segments = [segment(0, number, number + 1) for number in range(20_000)]
    put(document, f"{_STREAM}/segments", segments)
    put(
        document,
        f"{_STREAM}/ranges/0",
        {"partition": 0, "first_sequence": 0, "through_sequence": 20_000},
    )


_of(subscribed, "subscription.too-large", _too_large)

# --- sources ---------------------------------------------------------------------------------

_of(empty, "source-names.order", _set(("/source_names", ["b", "a"])))
_of(empty, "source-names.order", _set(("/source_names", ["a", "a"])))
_of(empty, "source-names.order", _set(("/source_names", ["\U00010000", "\uffff"])))
_of(empty, "sink-names.order", _set(("/sink_names", ["b", "a"])))
_of(empty, "sink-names.order", _set(("/sink_names", ["", ""])))
_of(local, "channels.order", _swap("/channel_progress"))
_of(local, "channels.order", _double("/channel_progress"), "offsets.roster")
_of(
    local,
    "channels.order",
    _set(
        ("/channel_progress/2/source_name", "lines"),
        ("/source_names", ["lines", "orders", "trades"]),
    ),
)
_of(local, "channels.participant", _set(("/channel_progress/2/participant_id", 2)))
_of(
    local,
    "channels.participant",
    _append("/channel_progress", channel("trades", [0], 1, True) | {"participant_id": 2}),
)
_of(
    local,
    "channels.source-empty",
    lambda document: at(document, "/channel_progress").insert(0, channel("", [1], 600)),
)
_of(local, "channels.source-unknown", _append("/channel_progress", channel("zinc", [1], 600)))
_of(local, "channels.input-empty", _set(("/channel_progress/2/input_channel", [])))
_of(local, "channels.mixed", _append("/channel_progress", channel("trades", [0, 0], 600)))
_of(
    local,
    "watermark.sentinel",
    _set(("/channel_progress/1/watermark", I64_MIN)),
)
_of(local, "watermark.sentinel", _set(("/channel_progress/2/watermark", I64_MIN)))
_of(
    local,
    "watermark.sentinel",
    _set(("/channel_progress/0/watermark", None), ("/channel_progress/2/watermark", I64_MIN)),
)
_of(local, "watermark.mismatch", _set(("/checkpoint_watermark", None)))
_of(local, "watermark.mismatch", _set(("/checkpoint_watermark", 900)))
_of(local, "watermark.mismatch", _set(("/channel_progress/0/watermark", None)))
_of(
    local,
    "watermark.mismatch",
    _set(("/channel_progress/0/idle", True), ("/channel_progress/1/idle", True)),
)
_of(empty, "watermark.mismatch", _set(("/checkpoint_watermark", I64_MIN)))
_of(
    empty,
    "offsets.source-unknown",
    _set(("/source_offsets", {"orders": connector()})),
)
_channels: list[list[int]]
for _channels in ([[2], [1]], [[1], [1]], [list[int]()], [[1], [1, 0], [1]]):
    _of(
        empty,
        "offsets.channels-order",
        _set(("/source_offsets", {"s": connector(_channels)}), ("/source_names", ["s"])),
    )
for _channels in ([[0]], [[0], [1]]):
    _of(
        empty,
        "offsets.channels-reserved",
        _set(("/source_offsets", {"s": connector(_channels)}), ("/source_names", ["s"])),
    )
_of(local, "offsets.roster", _set(("/source_offsets/orders/input_channels", [[1]])))
_of(local, "offsets.roster", _set(("/source_offsets/orders/input_channels", [])))
_of(local, "offsets.roster", _set(("/source_offsets/orders/input_channels", [[1], [1, 0], [2]])))

# --- node data and references ----------------------------------------------------------------

_of(empty, "node-data.chunk", _set(("/node_data/chunk/participant_id", 2)))
_of(empty, "node-data.chunk", _set(("/node_data/chunk/checkpoint_id", 8)))
_of(empty, "node-data.digest", _set(("/node_data/sha256", "A" * 64)))


def _with_references(*references: Document) -> Change:
    """Refer to objects, each with one frame in it."""

    def change(document: Document) -> None:
        document["referenced_chunks"] = list(references)
        document["state_frames"] = [
            whole(f"operator {index}", 0, 1, of=entry["chunk"])
            for index, entry in enumerate(references)
        ]

    return change


_of(
    empty,
    "references.order",
    _with_references(reference(chunk(1, 5), 8, 1), reference(chunk(1, 4), 8, 1)),
)
_of(
    empty,
    "references.order",
    _with_references(reference(chunk(2, 1), 8, 1), reference(chunk(1, 4), 8, 1)),
)
_of(
    empty,
    "references.order",
    _with_references(reference(chunk(1, 5), 8, 2), reference(chunk(1, 5), 8, 2)),
)
_of(empty, "references.age", _with_references(reference(chunk(1, 0), 8, 1)))
_of(empty, "references.age", _with_references(reference(chunk(2, 9), 8, 1)))
_of(empty, "references.age", _with_references(reference(chunk(1, 10), 8, 1)))
_of(
    empty,
    "references.age",
    _twice(_with_references(reference(chunk(1, 9), 0, 1)), _set(("/node_data/object_length", 1))),
    "references.count",
)
_of(local, "references.digest", _set(("/referenced_chunks/0/sha256", "")))
_of(local, "references.count", _set(("/referenced_chunks/0/ref_count", 1)))
_of(local, "references.count", _set(("/referenced_chunks/0/ref_count", 3)))
_of(local, "references.count", _append("/referenced_chunks", reference(chunk(1, 8), 8, 1)))

# --- state frames ----------------------------------------------------------------------------


def _frames(*frames: Document, length: int = 2) -> Change:
    """One-byte frames that fill the current object, whatever their order."""

    def change(document: Document) -> None:
        document["state_frames"] = list(frames)
        document["node_data"]["object_length"] = length

    return change


_of(empty, "frames.order", _frames(whole("b", 0, 1), whole("a", 1, 1)))
_of(empty, "frames.order", _frames(whole("a", 0, 1), whole("a", 1, 1)))
_of(empty, "frames.order", _frames(vnode("a", 0, 0, 1), whole("z", 1, 1)))
_of(empty, "frames.order", _frames(vnode("a", 1, 0, 1), vnode("a", 0, 1, 1)))
_of(empty, "frames.order", _frames(vnode("b", 0, 0, 1), vnode("a", 1, 1, 1)))
_of(empty, "frames.order", _frames(whole("\U00010000", 0, 1), whole("\uffff", 1, 1)))
_of(
    empty,
    "frames.vnode-domain",
    _frames(vnode("a", 4, 0, 2)),
    "frames.vnode-owned",
)
_of(
    cluster,
    "frames.vnode-domain",
    _twice(_frames(vnode("a", 4, 0, 2)), _set(("/owned_vnodes", [0, 4]))),
    "owned-vnodes.domain",
)
_of(cluster, "frames.vnode-owned", _frames(vnode("a", 1, 0, 2)))
_of(empty, "frames.empty", _frames(whole("a", 0, 0), whole("b", 0, 2)))
_of(local, "frames.digest", _set(("/state_frames/0/sha256", "AB" * 32)))
_of(local, "frames.digest", _set(("/state_frames/1/sha256", "ab" * 31)))
_of(empty, "frames.untracked", _frames(whole("a", 0, 1, of=chunk(1, 8)), length=0))
_of(local, "frames.range-overflow", _set(("/state_frames/1/range", span(1, U64_MAX))))
_of(
    empty,
    "frames.range-overflow",
    _frames(whole("a", 0, 1), whole("b", 1, U64_MAX), whole("c", 1, 1)),
)
_of(
    empty,
    "frames.range-overflow",
    _frames(whole("a", U64_MAX, U64_MAX, of=chunk(1, 8)), length=0),
    "frames.untracked",
)
_of(local, "frames.range-end", _set(("/referenced_chunks/0/object_length", 15)))
_of(
    empty,
    "frames.range-end",
    _frames(whole("a", 0, 1), whole("b", 1, 2)),
    "layout.length",
)

# --- sinks and intents -----------------------------------------------------------------------


def _sinks(*sinks: Document, names: tuple[str, ...] = ("a", "b"), length: int = 0) -> Change:
    def change(document: Document) -> None:
        document["sink_names"] = list(names)
        document["prepared_sinks"] = list(sinks)
        document["node_data"]["object_length"] = length

    return change


def _intents(*intents: Document, names: tuple[str, ...] = ("a", "b"), length: int = 0) -> Change:
    """Intents, and a sink without a payload for each."""

    def change(document: Document) -> None:
        sinks = [sink(intent["sink_name"], None, ABSENT_DESCRIPTOR) for intent in intents]
        _sinks(*sinks, names=names, length=length)(document)
        document["sink_artifact_intents"] = list(intents)

    return change


for _prefix, _entries, _absent, _wrong_absent in (
    ("sinks", _sinks, ABSENT_DESCRIPTOR, ABSENT_INTENT),
    ("intents", _intents, ABSENT_INTENT, ABSENT_DESCRIPTOR),
):
    _both = ("sinks",) if _prefix == "intents" else ()

    def _beside(suffix: str, both: tuple[str, ...] = _both) -> tuple[str, ...]:
        """What an intent's sink, which must have the same name, breaks as well."""
        return tuple(f"{prefix}.{suffix}" for prefix in both)

    _good = sink("a", None, _absent)
    _of(
        empty,
        f"{_prefix}.order",
        _entries(sink("b", None, _absent), _good),
        *_beside("order"),
    )
    _of(empty, f"{_prefix}.order", _entries(_good, _good), *_beside("order"))
    _of(
        empty,
        f"{_prefix}.name",
        _entries(sink("", None, _absent), names=("", "a")),
        *_beside("name"),
    )
    _of(empty, f"{_prefix}.unknown", _entries(sink("c", None, _absent)), *_beside("unknown"))
    _of(empty, f"{_prefix}.format", _entries(_good | {"format_version": 0}))
    _of(empty, f"{_prefix}.format", _entries(_good | {"format_version": 2}))
    _of(empty, f"{_prefix}.digest", _entries(sink("a", span(0, 2), "A" * 64), length=2))
    _of(
        empty,
        f"{_prefix}.range-overflow",
        _entries(
            sink("a", span(0, 2), OTHER_SHA), sink("b", span(2, U64_MAX), OTHER_SHA), length=2
        ),
    )
    _of(
        empty,
        f"{_prefix}.range-end",
        _entries(sink("a", span(0, 3), OTHER_SHA), length=2),
        "layout.length",
    )
    _of(empty, f"{_prefix}.absent-digest", _entries(sink("a", None, _wrong_absent)))
    _of(empty, f"{_prefix}.absent-digest", _entries(sink("a", None, OTHER_SHA)))
    _of(
        empty,
        f"{_prefix}.absent-digest",
        _entries(sink("a", None, "A" * 64)),
        f"{_prefix}.digest",
    )

_of(local, "intents.roster", lambda document: at(document, "/sink_artifact_intents").pop())
_of(
    local,
    "intents.roster",
    _set(("/prepared_sinks/1/sink_name", "lazy"), ("/sink_names", ["lake", "lazy", "queue"])),
)

# --- layout ----------------------------------------------------------------------------------

_of(empty, "layout.gap", _frames(whole("a", 1, 1)))
_of(empty, "layout.gap", _frames(whole("a", 0, 1), whole("b", 0, 2)))
_of(empty, "layout.gap", _frames(whole("a", 0, 1), whole("b", 2, 1), length=3))
_of(
    local,
    "layout.gap",
    _set(
        ("/prepared_sinks/0/payload", span(10, 10)),
        ("/sink_artifact_intents/0/payload", span(0, 10)),
    ),
)
_of(empty, "layout.length", _set(("/node_data/object_length", 1)))
_of(empty, "layout.length", _frames(whole("a", 0, 1)))
_of(local, "layout.length", _set(("/node_data/object_length", 21)))

# --- view logs -------------------------------------------------------------------------------

_LOG = "/view_logs/0"


def _view(rule: str, change: Change, *beside: str) -> None:
    _of(view_logs, rule, change, *beside, contract=VIEW_LOG)


_view("view-logs.order", _set(("/view_logs/0/view_name", "c")))
_view("view-logs.order", _set(("/view_logs/0/view_name", "b")))
_view("view-logs.name", _set(("/view_logs/0/view_name", "")))
_view(
    "segments.order",
    _set((f"{_LOG}/segments/1/first_row", 100), (f"{_LOG}/segments/0/row_count", U64_MAX)),
    "segments.rows",
)
_view("segments.order", _set((f"{_LOG}/segments/0/partition", 1)))
_view("segments.gap", _set((f"{_LOG}/segments/1/first_row", 111)))
_view("segments.gap", _set((f"{_LOG}/segments/1/first_row", 109)))
_view("segments.rows", _set((f"{_LOG}/segments/1/row_count", 0)))
_view("segments.rows", _set((f"{_LOG}/segments/1/row_count", U64_MAX)))
_view(
    "segments.partition-domain",
    _set(("/view_logs/1/segments/0/partition", 4)),
    "segments.partition-owned",
)
_of(
    lambda: cluster() | {"version": 11, "view_logs": view_logs()["view_logs"][1:]},
    "segments.partition-owned",
    _set(("/view_logs/0/segments/0/range", span(0, 1)), ("/node_data/object_length", 1)),
    contract=VIEW_LOG,
)
_view("segments.event-time", _set((f"{_LOG}/segments/0/event_time", {"min": 1, "max": 0})))
_view("segments.event-time", _set((f"{_LOG}/segments/0/event_time/min", I64_MIN)))
_view("segments.empty", _set((f"{_LOG}/segments/0/range", span(0, 0))))
_view("segments.digest", _set((f"{_LOG}/segments/0/sha256", "A" * 64)))
_view(
    "segments.untracked",
    _set((f"{_LOG}/segments/0/chunk", chunk(1, 6)), ("/referenced_chunks/0/ref_count", 2)),
)
_view("segments.range-overflow", _set((f"{_LOG}/segments/0/range", span(1, U64_MAX))))
_view("segments.range-end", _set((f"{_LOG}/segments/0/range", span(60, 5))))
_view("references.count", _set(("/referenced_chunks/0/ref_count", 2)))


def _many_segments(document: Document) -> None:
    one = view_logs()["view_logs"][0]["segments"][0]
    document["view_logs"] = [
        {"view_name": "a", "segments": [one | {"first_row": 10 * n} for n in range(16_385)]}
    ]
    document["referenced_chunks"][0]["ref_count"] = 16_387
    document["sink_artifact_intents"][0]["payload"] = span(10, 6)
    document["prepared_sinks"][0]["payload"] = span(16, 4)
    document["node_data"]["object_length"] = 20


_view("segments.limit", _many_segments)
