"""Make a manifest agree with itself again: names, order, ranges, counts and digests.

A random change breaks some shallow rule almost always, and a document that breaks ten rules says
little about any of them. Sealing repairs one part of a manifest after another; leaving one part
out, or changing one thing afterwards, gives the document that breaks one rule alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import orjson

import oracle
from fuzz.mutator.documents import Tree
from fuzz.mutator.forms import (
    Boolean,
    Bytes,
    Entries,
    Form,
    Integer,
    Items,
    Maybe,
    Name,
    Struct,
    Tagged,
    Text,
    Uuid,
    manifest_form,
)
from fuzz.mutator.mutations import copied
from fuzz.mutator.values import SHA256_TEXTS, UUIDS, Values
from oracle import VIEW_LOG, Contract
from oracle.constants import I64_MIN, MAX_OUTPUT_FRAMES_PER_SEGMENT, MAX_OUTPUT_SEGMENT_BYTES
from oracle.digests import NODE_SUBSCRIPTION_DOMAIN
from oracle.kernels import classify, is_canonical_uuid, is_sha256_text, is_trimmed
from oracle.rules.subscription import is_canonical_object_key

Manifest = dict[str, Tree]

UNFIT = (TypeError, LookupError, ValueError, AttributeError, ArithmeticError)
"""What a tree that is not of a manifest's form makes those raise who take it for one."""

KEY_GROUPS = (1, 2, 3, 4, 4, 4, 16)
"""vnode counts that a sealed manifest may have; others are replaced. No campaign expects 3."""

_NO_DESCRIPTOR = oracle.checkpoint_descriptor_sha256(None)
_NO_INTENT = oracle.checkpoint_artifact_intent_sha256(None)
_LARGEST_OBJECT = 2**40
_RESERVED = [0]
# Not made up, because every document with so many vnodes costs more, but not replaced either.
_MANY = 256


class Sealer:
    """Repairs manifests of one contract."""

    def __init__(self, contract: Contract, values: Values) -> None:
        """Repair to what *contract* asks for; *values* draws what has to be made up."""
        self._contract = contract
        self._values = values
        self._key_groups: tuple[int, ...] = KEY_GROUPS
        self._form = manifest_form(contract)
        self._features = "subscription_output" in self._form.fields
        self.parts: tuple[Callable[[Manifest], None], ...] = (
            self._header,
            self._topology,
            self._names,
            self._channels,
            self._offsets,
            self._references,
            self._frames,
            self._sinks,
            self._view_logs,
            self._layout,
            self._counts,
            self._subscription,
        )

    def seal(
        self, tree: Tree, left_out: int | None = None, key_groups: int | None = None
    ) -> Manifest:
        """Repair *tree*, in place where that works, without the part numbered *left_out*.

        With *key_groups*, it gets as many vnodes.
        """
        self._key_groups = KEY_GROUPS if key_groups is None else (key_groups,)
        parts = [part for number, part in enumerate(self.parts) if number != left_out]
        try:
            if not tree.keys() <= self._form.fields.keys():
                raise KeyError("unknown field")
            for part in parts:
                part(tree)
        except UNFIT:
            tree = self.conform(tree, self._form)
            for part in parts:
                # A format may have other names than those that are known here.
                with suppress(*UNFIT):
                    part(tree)
        made: Manifest = tree
        return made

    def derive(self, tree: Tree) -> None:
        """Make right again what follows from the rest: ranges, counts, watermark and digest.

        What else is wrong in *tree* stays wrong; raises what a tree of other forms makes it raise.
        """
        tree["checkpoint_watermark"] = _watermark(tree)
        self._layout(tree)
        self._counts(tree)
        if tree.get("subscription_output") is not None:
            reseal_output(tree["subscription_output"])

    # --- types -------------------------------------------------------------------------------

    def conform(self, value: Tree, form: Form, name: str = "") -> Tree:
        """*value* where it is of *form*, in the canonical spelling; else something that is."""
        if isinstance(form, Maybe):
            return None if value is None else self.conform(value, form.inner, name)
        if isinstance(form, Items):
            items = value if isinstance(value, list) else []
            return [self.conform(item, form.item, name) for item in items]
        if isinstance(form, Entries):
            entries = value if isinstance(value, dict) else {}
            return {
                key: self.conform(item, form.value)
                for key, item in entries.items()
                if "\0" not in key
            }
        if isinstance(form, Struct):
            return self._conform_struct(value, form)
        if isinstance(form, Tagged):
            tag = value.get("kind") if isinstance(value, dict) else None
            if isinstance(value, list) and value:
                tag, value = value[0], value[1:]
            if not isinstance(tag, str) or tag not in form.variants:
                return self._values.ordinary(form)
            return self._conform_struct(value, form.variants[tag])
        return value if _is_of(value, form) else self._values.ordinary(form, name)

    def _conform_struct(self, value: Tree, form: Struct) -> Tree:
        if isinstance(value, list):
            value = dict(zip(form.fields, value, strict=False))
        elif not isinstance(value, dict):
            value = {}
        made: dict[str, Tree] = {} if form.tag is None else {"kind": form.tag}
        for name, inner in form.fields.items():
            if name in value:
                made[name] = self.conform(value[name], inner, name)
            elif name not in form.defaults:
                absent = isinstance(inner, Maybe)
                made[name] = None if absent else self._values.ordinary(inner, name)
        return made

    # --- parts -------------------------------------------------------------------------------

    def _header(self, m: Manifest) -> None:
        m["version"] = self._contract.manifest_version
        m["partitioning_abi_version"] = oracle.PARTITIONING_ABI_VERSION
        m["checkpoint_id"] = m["epoch"] = m["checkpoint_id"] or 1
        m["timestamp_ms"] = m["timestamp_ms"] or 1
        self._identity(m["pipeline_identity"])
        if not is_canonical_uuid(m["deployment_id"]):
            m["deployment_id"] = self._values.pick(UUIDS)

    def _identity(self, identity: Tree) -> None:
        identity["canonical_version"] = self._contract.pipeline_identity_version
        self._digest(identity)

    def _digest(self, holder: Tree) -> None:
        if not is_sha256_text(holder["sha256"]):
            holder["sha256"] = self._values.pick(SHA256_TEXTS)

    def _topology(self, m: Manifest) -> None:
        count = m["vnode_count"]
        if count not in self._key_groups and count != _MANY:
            count = m["vnode_count"] = self._values.pick(self._key_groups)
        fence = m["assignment_fence"]
        if fence is None:
            m["participant_id"] = oracle.LOCAL_NODE_ID
            m["reassignment_portable"] = False
            m["owned_vnodes"] = [*range(count)]
            m.pop("subscription_output", None)
            return
        own = m["participant_id"] = m["participant_id"] or 1
        m["reassignment_portable"] = True
        m["owned_vnodes"] = sorted({vnode for vnode in m["owned_vnodes"] if vnode < count}) or [0]
        fence["partitioning_abi_version"] = m["partitioning_abi_version"]
        fence["vnode_count"] = count
        fence["assignment_version"] = fence["assignment_version"] or 1
        if not any(fence["assignment_digest"]):
            fence["assignment_digest"][0] = 1
        members = {one["node_id"]: one for one in fence["participants"] if one["node_id"]}
        if own not in members:
            members[own] = {"node_id": own, "boot_incarnation": self._values.pick(UUIDS)}
        most = oracle.MAX_CHECKPOINT_PARTICIPANTS
        roster = [members[node] for node in sorted(members)]
        fence["participants"] = roster if len(roster) <= most else [members[own]]

    def _names(self, m: Manifest) -> None:
        sources = {*m["source_names"], *m["source_offsets"]}
        for channel in m["channel_progress"]:
            channel["source_name"] = channel["source_name"] or "a"
            sources.add(channel["source_name"])
        m["source_names"] = sorted(sources)
        sinks = set(m["sink_names"])
        for entry in [*m["prepared_sinks"], *m.get("sink_artifact_intents", ())]:
            entry["sink_name"] = entry["sink_name"] or "a"
            sinks.add(entry["sink_name"])
        m["sink_names"] = sorted(sinks)

    def _channels(self, m: Manifest) -> None:
        own = m["participant_id"]
        by_key: dict[Any, Tree] = {}
        reserved: dict[str, bool] = {}
        for channel in m["channel_progress"]:
            channel["participant_id"] = own
            source, name = channel["source_name"], channel["input_channel"] or _RESERVED
            if reserved.setdefault(source, name == _RESERVED) != (name == _RESERVED):
                name = _RESERVED if reserved[source] else [1]
            channel["input_channel"] = name
            if channel["watermark"] == I64_MIN:
                channel["watermark"] += 1
            by_key[source, tuple(name)] = channel
        m["channel_progress"] = [by_key[key] for key in sorted(by_key)]
        m["checkpoint_watermark"] = _watermark(m)

    def _offsets(self, m: Manifest) -> None:
        progress: dict[str, list[list[int]]] = {}
        for channel in m["channel_progress"]:
            if channel["input_channel"] != _RESERVED:
                progress.setdefault(channel["source_name"], []).append(channel["input_channel"])
        for name, checkpoint in m["source_offsets"].items():
            declared = checkpoint.get("input_channels")
            if declared is not None:
                found = progress.get(name) or [one for one in declared if one != _RESERVED]
                distinct = {tuple(channel) for channel in found if channel}
                checkpoint["input_channels"] = [[*channel] for channel in sorted(distinct)]

    def _references(self, m: Manifest) -> None:
        own = {"participant_id": m["participant_id"], "checkpoint_id": m["checkpoint_id"]}
        before, m["node_data"]["chunk"] = m["node_data"]["chunk"], own
        self._digest(m["node_data"])
        for one in [*m["state_frames"], *segments_of(m)]:
            if one["chunk"] == before:
                one["chunk"] = dict(own)
        entries: dict[tuple[int, int], Tree] = {}
        current = m["checkpoint_id"]
        for entry in m["referenced_chunks"]:
            chunk = entry["chunk"]
            moved = {**chunk}
            if not 0 < chunk["checkpoint_id"] < current:
                moved["checkpoint_id"] = max(1, current - 1)
            for one in [*m["state_frames"], *segments_of(m)]:
                if one["chunk"] == chunk:
                    one["chunk"] = {**moved}
            entry["chunk"] = moved
            self._digest(entry)
            if moved["checkpoint_id"] < current:
                entries[moved["participant_id"], moved["checkpoint_id"]] = entry
        m["referenced_chunks"] = [entries[chunk] for chunk in sorted(entries)]

    def _frames(self, m: Manifest) -> None:
        owned = m["owned_vnodes"] or [0]
        owns = set(owned)
        lengths = {_chunk(entry["chunk"]): entry for entry in m["referenced_chunks"]}
        frames: dict[Any, Tree] = {}
        for frame in m["state_frames"]:
            key = frame["key"]
            if key["kind"] == "vnode":
                if key["vnode"] not in owns:
                    key["vnode"] = owned[key["vnode"] % len(owned)]
                order = (1, key["operator_id"], key["vnode"])
            else:
                order = (0, key["operator_id"], 0)
            frames[order] = frame
            self._payload(frame, lengths, m)
        m["state_frames"] = [frames[order] for order in sorted(frames)]

    def _payload(self, one: Tree, lengths: dict[tuple[int, int], Tree], m: Manifest) -> None:
        """Put a payload into an object that is there, with a range that the object has."""
        self._digest(one)
        part = one["range"]
        part["length"] = _smaller(part["length"]) or 1
        part["offset"] = _smaller(part["offset"])
        entry = lengths.get(_chunk(one["chunk"]))
        if entry is None:
            one["chunk"] = dict(m["node_data"]["chunk"])
        else:
            end = part["offset"] + part["length"]
            entry["object_length"] = max(entry["object_length"], end)

    def _view_logs(self, m: Manifest) -> None:
        lengths = {_chunk(entry["chunk"]): entry for entry in m["referenced_chunks"]}
        owned = m["owned_vnodes"] or [0]
        logs = {}
        for log in m.get("view_logs", ()):
            logs[log["view_name"] or "a"] = log
            log["view_name"] = log["view_name"] or "a"
            for segment in log["segments"]:
                if segment["partition"] not in owned:
                    segment["partition"] = owned[segment["partition"] % len(owned)]
                segment["row_count"] = _smaller(segment["row_count"]) or 1
                bounds = segment["event_time"]
                if bounds is not None:
                    low, high = sorted((bounds["min"], bounds["max"]))
                    bounds["min"], bounds["max"] = max(low, I64_MIN + 1), max(high, I64_MIN + 1)
                self._payload(segment, lengths, m)
            log["segments"].sort(key=lambda one: (one["partition"], one["first_row"]))
            cursors: dict[int, int] = {}
            for segment in log["segments"]:
                first = cursors.setdefault(segment["partition"], _smaller(segment["first_row"]))
                segment["first_row"] = first
                cursors[segment["partition"]] = first + segment["row_count"]
        if logs:
            m["view_logs"] = [logs[name] for name in sorted(logs)]

    def _sinks(self, m: Manifest) -> None:
        sinks = m["prepared_sinks"] = self._entries(m["prepared_sinks"], _NO_DESCRIPTOR)
        if m.get("sink_artifact_intents"):
            intents = self._entries(m["sink_artifact_intents"], _NO_INTENT)
            by_name = {intent["sink_name"]: intent for intent in intents}
            m["sink_artifact_intents"] = [
                by_name.get(sink["sink_name"]) or {**sink, "payload": None, "sha256": _NO_INTENT}
                for sink in sinks
            ]

    def _entries(self, entries: Tree, no_payload: str) -> list[Tree]:
        by_name = {}
        for entry in entries:
            entry["format_version"] = oracle.PREPARED_SINK_DESCRIPTOR_VERSION
            if entry["payload"] is None:
                entry["sha256"] = no_payload
            else:
                self._digest(entry)
                entry["payload"]["length"] = _smaller(entry["payload"]["length"])
            by_name[entry["sink_name"]] = entry
        return [by_name[name] for name in sorted(by_name)]

    def _layout(self, m: Manifest) -> None:
        relay(m, self._contract)

    def _counts(self, m: Manifest) -> None:
        recount(m)

    # --- subscription output -----------------------------------------------------------------

    def _subscription(self, m: Manifest) -> None:
        output = m.get("subscription_output")
        if output is None:
            return
        for name in ("epoch", "checkpoint_id", "participant_id"):
            output[name] = m[name]
        output["assignment_certificate"] = copied(m["assignment_fence"])
        output["protocol_version"] = oracle.SUBSCRIPTION_PROTOCOL_VERSION
        streams = {}
        for stream in output["streams"]:
            self._certificate(stream["distribution_certificate"], m)
            self._ranges(stream, m)
            streams[stream["distribution_certificate"]["stream_id"]] = stream
        output["streams"] = [streams[name] for name in sorted(streams)]
        reseal_output(output)

    def _certificate(self, certificate: Tree, m: Manifest) -> None:
        certificate["version"] = oracle.OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION
        certificate["protocol_version"] = oracle.SUBSCRIPTION_PROTOCOL_VERSION
        for name, most in (("stream_id", 256), ("final_operator_id", 512)):
            text = certificate[name]
            if not 1 <= len(text.encode()) <= most or not is_trimmed(text):
                certificate[name] = "a"
        certificate["catalog_generation"] = certificate["catalog_generation"] or 1
        for name in ("stream_generation", "schema_fingerprint", "query_fingerprint"):
            if not any(certificate[name]):
                certificate[name][0] = 1
        self._identity(certificate["pipeline_identity"])
        distribution = certificate["distribution"]
        if distribution["kind"] == "singleton":
            if 0 in m["owned_vnodes"]:
                distribution["partition"] = 0
                return
            distribution = certificate["distribution"] = {
                "kind": "vnode_partitioned",
                "key_expressions_fingerprint": [1] * 32,
            }
        if not any(distribution["key_expressions_fingerprint"]):
            distribution["key_expressions_fingerprint"][0] = 1
        distribution["partition_abi"] = oracle.PARTITIONING_ABI_VERSION
        distribution["vnode_count"] = m["vnode_count"]

    def _ranges(self, stream: Tree, m: Manifest) -> None:
        certificate = stream["distribution_certificate"]
        allowed = m["owned_vnodes"] or [0]
        if certificate["distribution"]["kind"] == "singleton":
            allowed = [0]
        ranges: dict[int, Tree] = {}
        for part in stream["ranges"]:
            if part["partition"] not in allowed:
                part["partition"] = allowed[part["partition"] % len(allowed)]
            ranges[part["partition"]] = part
        if not ranges:
            first = allowed[0]
            ranges[first] = {"partition": first, "first_sequence": 0, "through_sequence": 0}
        stream["ranges"] = [ranges[partition] for partition in sorted(ranges)]
        cursors = {partition: part["first_sequence"] for partition, part in ranges.items()}
        segments = []
        for segment in stream["segments"]:
            if segment["partition"] not in ranges:
                segment["partition"] = self._values.pick([*ranges])
            segments.append(segment)
        segments.sort(key=lambda segment: (segment["partition"], segment["first_sequence"]))
        stream["segments"] = segments
        for segment in segments:
            self._segment(segment, certificate, cursors)
        for partition, part in ranges.items():
            part["through_sequence"] = cursors[partition]

    def _segment(self, segment: Tree, certificate: Tree, cursors: dict[int, int]) -> None:
        frames = segment["frame_count"]
        if not 1 <= frames <= MAX_OUTPUT_FRAMES_PER_SEGMENT:
            frames = segment["frame_count"] = 1
        first = segment["first_sequence"] = cursors[segment["partition"]]
        cursors[segment["partition"]] = segment["exclusive_end_sequence"] = first + frames
        segment["protocol_version"] = oracle.SUBSCRIPTION_PROTOCOL_VERSION
        if not is_canonical_object_key(segment["object_key"]):
            segment["object_key"] = "subscription-output/d/s/g/p/f"
        segment["stream_generation"] = [*certificate["stream_generation"]]
        segment["schema_fingerprint"] = [*certificate["schema_fingerprint"]]
        segment["row_count"] = segment["row_count"] or 1
        if not 1 <= segment["encoded_length"] <= MAX_OUTPUT_SEGMENT_BYTES:
            segment["encoded_length"] = 1
        if not any(segment["payload_digest"]):
            segment["payload_digest"][0] = 1


def relay(m: Manifest, contract: Contract = VIEW_LOG) -> None:
    """Lay the ranges in the current object end to end, and give it the length that they need."""
    own = m["node_data"]["chunk"]
    ranges_of = {
        "state_frames": [one["range"] for one in m["state_frames"] if one["chunk"] == own],
        "view_logs": [one["range"] for one in segments_of(m) if one["chunk"] == own],
        "sink_artifact_intents": _payloads(m.get("sink_artifact_intents", ())),
        "prepared_sinks": _payloads(m["prepared_sinks"]),
    }
    end = 0
    for field in contract.payload_order:
        for part in ranges_of[field]:
            part["offset"] = end
            end += part["length"]
    m["node_data"]["object_length"] = end


def recount(m: Manifest) -> None:
    """Give each reference the number of its uses, and drop those that have none."""
    uses = Counter(_chunk(one["chunk"]) for one in [*m["state_frames"], *segments_of(m)])
    for entry in m["referenced_chunks"]:
        entry["ref_count"] = uses[_chunk(entry["chunk"])]
    m["referenced_chunks"] = [entry for entry in m["referenced_chunks"] if entry["ref_count"]]


def _payloads(entries: Iterable[Tree]) -> list[Tree]:
    return [entry["payload"] for entry in entries if entry["payload"] is not None]


def segments_of(m: Manifest) -> list[Tree]:
    """The segments of all view logs."""
    return [segment for log in m.get("view_logs", ()) for segment in log["segments"]]


def reseal_output(output: Tree) -> None:
    """Give a subscription output, whose spelling is canonical, the digest that belongs to it."""
    output["manifest_digest"] = [
        *oracle.subscription_digest(NODE_SUBSCRIPTION_DOMAIN, unsealed(output))
    ]


def unsealed(output: Tree) -> bytes:
    """What the digest of a subscription output, whose spelling is canonical, is made from."""
    return canonical({name: value for name, value in output.items() if name != "manifest_digest"})


def canonical(tree: Tree) -> bytes:
    """The canonical text of *tree*, whose integers have at most 64 bits."""
    return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)


def _watermark(m: Manifest) -> int | None:
    channels = m["channel_progress"]
    return classify([(channel["watermark"], channel["idle"]) for channel in channels]).value


def _chunk(chunk: Tree) -> tuple[int, int]:
    return (chunk["participant_id"], chunk["checkpoint_id"])


def _smaller(number: int) -> int:
    """*number*, small enough that some of them can stand one after another."""
    return number if number < _LARGEST_OBJECT else number % _LARGEST_OBJECT


def _is_of(value: Tree, form: Form) -> bool:
    if isinstance(form, Integer):
        return type(value) is int and form.least <= value <= form.greatest
    if isinstance(form, Boolean):
        return type(value) is bool
    if isinstance(form, Text):
        return isinstance(value, str) and "\0" not in value and _is_unicode(value)
    if isinstance(form, Name):
        return value in form.names if isinstance(value, str) else False
    if isinstance(form, Uuid):
        return isinstance(value, str) and is_canonical_uuid(value)
    assert isinstance(form, Bytes)
    return (
        isinstance(value, list)
        and (form.length is None or len(value) == form.length)
        and all(type(byte) is int and 0 <= byte <= 255 for byte in value)
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
