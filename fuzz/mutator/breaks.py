"""Breaking one rule of a sealed manifest, by the rule's name.

What random changes seldom hit stands here: breaks that need something to be there first, or two
changes that fit together. Everything else the mutations find by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzz.mutator.documents import Tree
from fuzz.mutator.forms import Entries, Form, Items, Maybe, Struct
from fuzz.mutator.seal import Manifest, relay, reseal_output
from fuzz.mutator.values import Values
from oracle.constants import (
    I64_MIN,
    MAX_OBJECT_KEY_BYTES,
    MAX_OPERATOR_ID_BYTES,
    MAX_OUTPUT_FRAMES_PER_SEGMENT,
    MAX_OUTPUT_SEGMENT_BYTES,
    MAX_STREAM_ID_BYTES,
    OBJECT_KEY_PREFIX,
    U64_MAX,
)

Change = Callable[[Manifest, Values], None]


@dataclass(frozen=True, slots=True)
class Break:
    """How one rule is broken: what the manifest must have before it is sealed, and the change."""

    needs: tuple[str, ...]
    change: Change


def prepare(manifest: Manifest, needs: tuple[str, ...], form: Struct, values: Values) -> None:
    """Put what is needed into *manifest*: at least two elements of each of the lists *needs*."""
    for name in needs:
        wanted = form.fields.get(name)
        if isinstance(wanted, Maybe):
            if manifest.get(name) is None:
                manifest[name] = values.ordinary(wanted.inner, name)
            if name == "subscription_output":
                _prepare_output(manifest[name], wanted.inner, values)
        elif isinstance(wanted, Items):
            items = manifest.setdefault(name, [])
            for number in range(2 - len(items)):
                items.append(_numbered(values.ordinary(wanted.item, name), number))
        elif isinstance(wanted, Entries) and not manifest[name]:
            manifest[name] = {"a": values.ordinary(wanted.value)}
    if "view_logs" in needs:
        _prepare_view_logs(manifest, form.fields["view_logs"], values)
    if "referenced_chunks" in needs:
        _prepare_references(manifest)


def _numbered(item: Tree, number: int) -> Tree:
    """*item* under a name of its own, so that sealing does not take it for one it has."""
    name = "b" if number else "a"
    if isinstance(item, dict):
        for field in ("sink_name", "source_name", "view_name"):
            if field in item:
                item[field] = name
        if "key" in item:
            item["key"]["operator_id"] = name
    return item


def _prepare_references(manifest: Manifest) -> None:
    manifest["checkpoint_id"] = max(manifest["checkpoint_id"], 5)
    for number, (frame, entry) in enumerate(
        zip(manifest["state_frames"], manifest["referenced_chunks"], strict=False)
    ):
        entry["chunk"] = {"participant_id": 1, "checkpoint_id": 2 + number}
        frame["chunk"] = dict(entry["chunk"])


def _prepare_view_logs(manifest: Manifest, form: Form, values: Values) -> None:
    """Give every log a segment, and the participant a second vnode."""
    assert isinstance(form, Items)
    assert isinstance(form.item, Struct)
    segments = form.item.fields["segments"]
    assert isinstance(segments, Items)
    for log in manifest["view_logs"]:
        if not log["segments"]:
            log["segments"].append(values.ordinary(segments.item))
    if manifest["vnode_count"] < 4:
        manifest["vnode_count"] = 4
        manifest["owned_vnodes"] = [0, 2]


def _prepare_output(output: Tree, form: Form, values: Values) -> None:
    assert isinstance(form, Struct)
    streams = form.fields["streams"]
    assert isinstance(streams, Items)
    assert isinstance(streams.item, Struct)
    if not output["streams"]:
        output["streams"].append(values.ordinary(streams.item))
    segments = streams.item.fields["segments"]
    assert isinstance(segments, Items)
    stream = output["streams"][0]
    while len(stream["segments"]) < 2:
        stream["segments"].append(values.ordinary(segments.item, "segments"))


def _set(*path: str | int, to: Callable[[Values, Tree], Tree]) -> Change:
    """Give the value at *path* what *to* makes of it; an index beyond a list's end is its last."""

    def change(manifest: Manifest, values: Values) -> None:
        holder: Tree = manifest
        for token in path[:-1]:
            holder = holder[token]
        holder[path[-1]] = to(values, holder[path[-1]])

    return change


def _is(*among: Tree) -> Callable[[Values, Tree], Tree]:
    return lambda values, _: values.pick(among)


def _swap(*path: str | int) -> Change:
    """Exchange the first two elements of the list at *path*, or repeat the first."""

    def change(manifest: Manifest, values: Values) -> None:
        items: Tree = manifest
        for token in path:
            items = items[token]
        if values.chance(0.5):
            items[0], items[1] = items[1], items[0]
        else:
            items[1] = items[0]

    return change


def _output(change: Change) -> Change:
    """Break subscription output and seal it again, so that its digest is right."""

    def changed(manifest: Manifest, values: Values) -> None:
        change(manifest, values)
        reseal_output(manifest["subscription_output"])

    return changed


_STREAM: tuple[str | int, ...] = ("subscription_output", "streams", 0)
_CERTIFICATE = (*_STREAM, "distribution_certificate")
_SEGMENT = (*_STREAM, "segments", 0)


def _around(limit: int) -> Callable[[Values, Tree], str]:
    """A text whose length in bytes is at or just past *limit*."""
    return lambda values, now: values.of_length(now or "x", limit + values.below(2))


def _padded(values: Values, now: Tree) -> str:
    return values.odd_text("", now)


def _key(values: Values, now: Tree) -> str:
    if values.chance(0.3):
        return values.of_length(OBJECT_KEY_PREFIX + "k", MAX_OBJECT_KEY_BYTES + values.below(2))
    return values.odd_text("object_key", now)


def _rename_sink(to: str) -> Change:
    """Rename the first sink, and its intent and its registration with it."""

    def change(manifest: Manifest, values: Values) -> None:
        old = manifest["prepared_sinks"][0]["sink_name"]
        for name in ("prepared_sinks", "sink_artifact_intents"):
            for entry in manifest.get(name, ()):
                if entry["sink_name"] == old:
                    entry["sink_name"] = to
        manifest["sink_names"] = sorted({*manifest["sink_names"], to} - {old})

    return change


def _only_intents(change: Change) -> Change:
    """Do something to a manifest's intents alone, keeping the roster of its sinks."""

    def changed(manifest: Manifest, values: Values) -> None:
        if manifest.get("sink_artifact_intents"):
            change(manifest, values)

    return changed


def _unregister_sink(manifest: Manifest, values: Values) -> None:
    manifest["sink_names"].remove(manifest["prepared_sinks"][-1]["sink_name"])


def _overflow(name: str) -> Change:
    """Let the last payload of a list pass u64, or end exactly at its end."""

    def change(manifest: Manifest, values: Values) -> None:
        payload = {"offset": manifest["node_data"]["object_length"], "length": 0}
        entry = manifest[name][-1]
        if entry.get("payload") is not None:
            payload = entry["payload"]
        entry["payload"] = payload
        payload["length"] = U64_MAX - payload["offset"] + values.below(2)

    return change


def _swap_keys(manifest: Manifest, values: Values) -> None:
    """Exchange the keys of the first two frames, or give both the first, and leave the rest."""
    first, second = manifest["state_frames"][:2]
    if values.chance(0.5):
        first["key"], second["key"] = second["key"], first["key"]
    else:
        second["key"] = first["key"]


def _two_streams(manifest: Manifest, values: Values) -> None:
    """Put a stream behind the first that is like it, under the same name or one beside it."""
    streams = manifest["subscription_output"]["streams"]
    certificate = dict(streams[0]["distribution_certificate"])
    name = certificate["stream_id"]
    certificate["stream_id"] = values.pick((name, name + "a", name[:-1], "Z"))
    streams.insert(1, {**streams[0], "distribution_certificate": certificate})


def _frame_overflow(manifest: Manifest, values: Values) -> None:
    part = manifest["state_frames"][-1]["range"]
    part["length"] = U64_MAX - part["offset"] + values.below(2)


def _beyond(name: str) -> Change:
    """Let the last payload of a list end at or just past the end of the object."""

    def change(manifest: Manifest, values: Values) -> None:
        entry = manifest[name][-1]
        if entry["payload"] is None:
            entry["payload"] = {"offset": manifest["node_data"]["object_length"], "length": 0}
        entry["payload"]["length"] += values.below(2)

    return change


def _frame_beyond(manifest: Manifest, values: Values) -> None:
    entry = manifest["referenced_chunks"][0]
    for frame in manifest["state_frames"]:
        if frame["chunk"] == entry["chunk"]:
            frame["range"]["offset"] = (
                entry["object_length"] - frame["range"]["length"] + values.below(2)
            )


def _mixed(manifest: Manifest, values: Values) -> None:
    first = manifest["channel_progress"][0]
    reserved = {**first, "input_channel": [0]}
    other = {**first, "input_channel": values.pick(([1], [0, 0], [0, 1]))}
    rest = [
        one for one in manifest["channel_progress"] if one["source_name"] != first["source_name"]
    ]
    manifest["channel_progress"] = [reserved, other, *rest]


def _no_source(manifest: Manifest, values: Values) -> None:
    manifest["channel_progress"][0]["source_name"] = ""


def _no_input(manifest: Manifest, values: Values) -> None:
    first = manifest["channel_progress"][0]
    first["input_channel"] = []
    for name, checkpoint in manifest["source_offsets"].items():
        if name == first["source_name"]:
            checkpoint["input_channels"] = None


def _sentinel(manifest: Manifest, values: Values) -> None:
    values.pick(manifest["channel_progress"])["watermark"] = I64_MIN + values.below(2)


def _roster(channels: list[Tree]) -> Change:
    def change(manifest: Manifest, values: Values) -> None:
        name = values.pick([*manifest["source_offsets"]])
        progress = [one for one in manifest["channel_progress"] if one["source_name"] == name]
        if values.chance(0.7):
            manifest["channel_progress"] = [
                one for one in manifest["channel_progress"] if one not in progress
            ]
            manifest["checkpoint_watermark"] = None
            for one in manifest["channel_progress"]:
                one["idle"] = True
        manifest["source_offsets"][name]["input_channels"] = values.pick(channels)

    return change


def _far_reference(manifest: Manifest, values: Values) -> None:
    entry = manifest["referenced_chunks"][-1]
    new = values.pick((0, manifest["checkpoint_id"], manifest["checkpoint_id"] + 1))
    for frame in manifest["state_frames"]:
        if frame["chunk"] == entry["chunk"]:
            frame["chunk"] = {**entry["chunk"], "checkpoint_id": new}
    entry["chunk"] = {**entry["chunk"], "checkpoint_id": new}
    if values.chance(0.5):
        entry["chunk"]["participant_id"] += 1
        for frame in manifest["state_frames"]:
            if frame["chunk"]["checkpoint_id"] == new:
                frame["chunk"]["participant_id"] = entry["chunk"]["participant_id"]


def _vnode(step: int) -> Change:
    """Give the last vnode frame a vnode at or past the end of the domain."""

    def change(manifest: Manifest, values: Values) -> None:
        frame = manifest["state_frames"][-1]
        vnode = manifest["vnode_count"] - 1 + step
        frame["key"] = {"kind": "vnode", "operator_id": "z", "vnode": vnode}
        if step and manifest["assignment_fence"] is not None and values.chance(0.5):
            manifest["owned_vnodes"].append(vnode)

    return change


def _unowned(manifest: Manifest, values: Values) -> None:
    frame = manifest["state_frames"][-1]
    free = sorted({*range(manifest["vnode_count"])} - {*manifest["owned_vnodes"]}) or [0]
    frame["key"] = {"kind": "vnode", "operator_id": "z", "vnode": values.pick(free)}


def _untracked(manifest: Manifest, values: Values) -> None:
    frame = manifest["state_frames"][-1]
    frame["chunk"] = {"participant_id": 77, "checkpoint_id": 1}
    if values.chance(0.5):
        frame["range"]["length"] = U64_MAX


def _empty_frame(manifest: Manifest, values: Values) -> None:
    values.pick(manifest["state_frames"])["range"]["length"] = 0
    relay(manifest)


def _certify(name: str, to: Callable[[Values, Tree], Tree]) -> Change:
    return _output(_set(*_CERTIFICATE, name, to=to))


def _segment(name: str, to: Callable[[Values, Tree], Tree]) -> Change:
    return _output(_set(*_SEGMENT, name, to=to))


def _zero_digest(manifest: Manifest, values: Values) -> None:
    stream = manifest["subscription_output"]["streams"][0]
    certificate = stream["distribution_certificate"]
    zero = [0] * 32
    name = values.pick(
        (
            "stream_generation",
            "schema_fingerprint",
            "query_fingerprint",
            "key_expressions_fingerprint",
            "payload_digest",
        )
    )
    if values.chance(0.3):
        zero[values.below(32)] = 1
    if name == "key_expressions_fingerprint":
        if name in certificate["distribution"]:
            certificate["distribution"][name] = zero
    elif name == "payload_digest":
        stream["segments"][0][name] = zero
    else:
        certificate[name] = zero
        for segment in stream["segments"]:
            if name in segment:
                segment[name] = zero


def _distribution(manifest: Manifest, values: Values) -> None:
    certificate = manifest["subscription_output"]["streams"][0]["distribution_certificate"]
    count = manifest["vnode_count"]
    vnodes = {
        "kind": "vnode_partitioned",
        "key_expressions_fingerprint": [1] * 32,
        "partition_abi": values.pick((2, 1, 3)),
        "vnode_count": values.pick((count, count + 1, count - 1)),
    }
    one = {"kind": "singleton", "partition": values.pick((0, 1, count - 1, count, count + 1))}
    certificate["distribution"] = values.pick((vnodes, one))


def _partition(manifest: Manifest, values: Values) -> None:
    stream = manifest["subscription_output"]["streams"][0]
    count = manifest["vnode_count"]
    holder = values.pick((stream["ranges"][-1], stream["segments"][-1]))
    holder["partition"] = values.pick((count, count - 1, count + 1))


def _owner(manifest: Manifest, values: Values) -> None:
    stream = manifest["subscription_output"]["streams"][0]
    if values.chance(0.5):
        manifest["owned_vnodes"] = [
            v for v in manifest["owned_vnodes"] if v != stream["ranges"][0]["partition"]
        ] or [0]
    else:
        stream["ranges"][-1]["partition"] += 1


def _sequences(manifest: Manifest, values: Values) -> None:
    stream = manifest["subscription_output"]["streams"][0]
    kind = values.below(6)
    if kind == 0:
        part = values.pick(stream["ranges"])
        part["first_sequence"] = part["through_sequence"] + values.below(2)
    elif kind == 1:
        values.pick(stream["ranges"])["through_sequence"] += values.pick((1, -1))
    elif kind == 2:
        values.pick(stream["ranges"])["first_sequence"] += 1
    elif kind == 3:
        del stream["segments"][values.below(len(stream["segments"]))]
    elif kind == 4:
        stream["segments"].append(dict(stream["segments"][-1]))
    else:
        del stream["ranges"][-1]


def _segment_range(manifest: Manifest, values: Values) -> None:
    """Give the last segment a number of frames at or past a limit, and let the rest follow."""
    stream = manifest["subscription_output"]["streams"][0]
    segment = stream["segments"][-1]
    frames = values.pick((0, 1, MAX_OUTPUT_FRAMES_PER_SEGMENT, MAX_OUTPUT_FRAMES_PER_SEGMENT + 1))
    segment["frame_count"] = frames
    segment["exclusive_end_sequence"] = segment["first_sequence"] + frames
    for part in stream["ranges"]:
        if part["partition"] == segment["partition"]:
            part["through_sequence"] = segment["exclusive_end_sequence"]


def _attempt(manifest: Manifest, values: Values) -> None:
    manifest["epoch"] = manifest["subscription_output"]["epoch"] = values.pick(
        (0, manifest["epoch"] + 1)
    )
    if values.chance(0.3):
        manifest["checkpoint_id"] = manifest["subscription_output"]["checkpoint_id"] = 0


def _participant(manifest: Manifest, values: Values) -> None:
    new = values.pick((0, manifest["participant_id"] + 1, 77))
    manifest["participant_id"] = new
    manifest["node_data"]["chunk"]["participant_id"] = new
    for channel in manifest["channel_progress"]:
        channel["participant_id"] = new
    if manifest.get("subscription_output"):
        manifest["subscription_output"]["participant_id"] = new
        reseal_output(manifest["subscription_output"])


def _localised(manifest: Manifest, values: Values) -> None:
    manifest["assignment_fence"] = None
    if values.chance(0.5):
        manifest["owned_vnodes"] = [*range(manifest["vnode_count"])]
        manifest["reassignment_portable"] = False


def _fence(name: str, to: Callable[[Values, Tree], Tree]) -> Change:
    """Change the fence, and the certificate with it."""

    def change(manifest: Manifest, values: Values) -> None:
        fence = manifest["assignment_fence"]
        fence[name] = to(values, fence[name])
        if manifest.get("subscription_output"):
            certificate = manifest["subscription_output"]["assignment_certificate"]
            certificate[name] = fence[name]
            reseal_output(manifest["subscription_output"])

    return change


_OUTPUT = ("assignment_fence", "subscription_output")
_SINKS = ("prepared_sinks", "sink_artifact_intents")
_REFERENCES = ("state_frames", "referenced_chunks")
_SOURCES = ("channel_progress", "source_offsets")

BREAKS: tuple[Break, ...] = (
    Break(("assignment_fence",), _set("owned_vnodes", to=_is([]))),
    Break(("assignment_fence",), _fence("vnode_count", lambda _, now: now + 1)),
    Break(("assignment_fence",), _fence("partitioning_abi_version", _is(1, 3))),
    Break(("assignment_fence",), _participant),
    Break(_OUTPUT, _participant),
    Break(_OUTPUT, _localised),
    Break(_OUTPUT, _output(_attempt)),
    Break(_OUTPUT, _set("subscription_output", "epoch", to=lambda _, now: now + 1)),
    Break(_OUTPUT, _set("subscription_output", "manifest_digest", 0, to=lambda _, now: now ^ 1)),
    Break(_OUTPUT, _output(_set("subscription_output", "protocol_version", to=_is(0, 2)))),
    Break(_OUTPUT, _output(_swap(*_STREAM, "segments"))),
    Break(_OUTPUT, _output(_two_streams)),
    Break(_OUTPUT, _certify("version", _is(0, 2))),
    Break(_OUTPUT, _certify("protocol_version", _is(0, 2))),
    Break(_OUTPUT, _certify("stream_id", _around(MAX_STREAM_ID_BYTES))),
    Break(_OUTPUT, _certify("stream_id", _padded)),
    Break(_OUTPUT, _certify("final_operator_id", _around(MAX_OPERATOR_ID_BYTES))),
    Break(_OUTPUT, _certify("final_operator_id", _padded)),
    Break(_OUTPUT, _certify("catalog_generation", _is(0, 1))),
    Break(_OUTPUT, _certify("pipeline_identity", lambda values, now: {**now, "sha256": "x"})),
    Break(_OUTPUT, _certify("pipeline_identity", lambda _, now: {**now, "canonical_version": 6})),
    Break(_OUTPUT, _output(_zero_digest)),
    Break(_OUTPUT, _output(_zero_digest)),
    Break(_OUTPUT, _output(_distribution)),
    Break(_OUTPUT, _output(_distribution)),
    Break(_OUTPUT, _output(_partition)),
    Break(_OUTPUT, _output(_partition)),
    Break(_OUTPUT, _output(_owner)),
    Break(_OUTPUT, _output(_sequences)),
    Break(_OUTPUT, _output(_sequences)),
    Break(_OUTPUT, _output(_sequences)),
    Break(_OUTPUT, _output(_segment_range)),
    Break(_OUTPUT, _segment("object_key", _key)),
    Break(_OUTPUT, _segment("object_key", _key)),
    Break(_OUTPUT, _segment("protocol_version", _is(0, 2))),
    Break(_OUTPUT, _segment("stream_generation", _is([9] * 32))),
    Break(_OUTPUT, _segment("schema_fingerprint", _is([9] * 32))),
    Break(_OUTPUT, _segment("frame_count", lambda values, now: now + 1 - 2 * values.below(2))),
    Break(_OUTPUT, _segment("row_count", _is(0, 1))),
    Break(
        _OUTPUT,
        _segment(
            "encoded_length", _is(0, 1, MAX_OUTPUT_SEGMENT_BYTES, MAX_OUTPUT_SEGMENT_BYTES + 1)
        ),
    ),
    Break(("channel_progress",), _swap("channel_progress")),
    Break(("channel_progress",), _mixed),
    Break(("channel_progress",), _no_source),
    Break(_SOURCES, _no_input),
    Break(("channel_progress",), _sentinel),
    Break(("channel_progress",), _sentinel),
    Break(
        _SOURCES, _roster([[[0]], [[0], [1]], [[], [1]], [[2], [1]], [[1], [1]], [], [[1], [2]]])
    ),
    Break(
        _SOURCES, _roster([[[0]], [[0], [1]], [[], [1]], [[2], [1]], [[1], [1]], [], [[1], [2]]])
    ),
    Break(_REFERENCES, _swap("referenced_chunks")),
    Break(_REFERENCES, _far_reference),
    Break(_REFERENCES, _set("referenced_chunks", 0, "sha256", to=_is("", "0" * 63, "G" * 64))),
    Break(_REFERENCES, _set("referenced_chunks", 0, "ref_count", to=lambda _, now: now + 1)),
    Break(_REFERENCES, _frame_beyond),
    Break(("state_frames",), _swap("state_frames")),
    Break(("state_frames",), _swap_keys),
    Break(("state_frames",), _vnode(0)),
    Break(("state_frames", "assignment_fence"), _vnode(1)),
    Break(("state_frames", "assignment_fence"), _unowned),
    Break(("state_frames",), _empty_frame),
    Break(_REFERENCES, _frame_overflow),
    Break(("state_frames",), _untracked),
    Break(("state_frames",), _set("state_frames", 0, "sha256", to=_is("", "0" * 65, "G" * 64))),
    Break(("prepared_sinks",), _rename_sink("")),
    Break(_SINKS, _rename_sink("")),
    Break(("prepared_sinks",), _unregister_sink),
    Break(_SINKS, _unregister_sink),
    Break(("prepared_sinks",), _swap("prepared_sinks")),
    Break(_SINKS, _only_intents(_swap("sink_artifact_intents"))),
    Break(_SINKS, _only_intents(lambda m, _: m["sink_artifact_intents"].pop())),
    Break(("prepared_sinks",), _overflow("prepared_sinks")),
    Break(_SINKS, _only_intents(_overflow("sink_artifact_intents"))),
    Break(("prepared_sinks",), _beyond("prepared_sinks")),
    Break(_SINKS, _only_intents(_beyond("sink_artifact_intents"))),
    Break(("prepared_sinks",), _set("prepared_sinks", 0, "sha256", to=_is("", "0" * 64, "G" * 64))),
    Break(
        _SINKS,
        _only_intents(_set("sink_artifact_intents", 0, "sha256", to=_is("", "0" * 64, "G" * 64))),
    ),
    Break(_SINKS, _only_intents(_set("sink_artifact_intents", 0, "format_version", to=_is(0, 2)))),
    Break(("prepared_sinks",), _set("prepared_sinks", 0, "format_version", to=_is(0, 2))),
)
"""Every break. Each is as likely as any other, and some stand here more than once."""
