"""The stdio protocol's messages: every call, its arguments and its result, and how each is written.

From this one table come the client, the server and the JSON Schema. PROTOCOL.md says the rest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from fuzz.engines.protocol import (
    EngineFailed,
    EngineRefused,
    EngineUnsupported,
    EngineVerdict,
    ProgressClass,
    Stage,
)

PROTOCOL_VERSION = 1

# A verdict's stages that an engine can tell of itself; a hang or a crash is seen from outside.
_STAGES = ("decode", "invalid", "valid", "panic")
_CLASSES = ("uninitialized", "idle", "active")

T = TypeVar("T")
U = TypeVar("U")


class Malformed(Exception):
    """A message that is not what the protocol asks for."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind of value: its JSON Schema, and the way to JSON and back."""

    schema: Mapping[str, Any]
    to_json: Callable[[T], Any]
    from_json: Callable[[Any], T]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call: a method of `Engine`, its parameters and its result."""

    name: str
    parameters: Mapping[str, Kind[Any]]
    result: Kind[T]

    def request(self, identity: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The message that asks for this call."""
        written = {name: kind.to_json(arguments[name]) for name, kind in self.parameters.items()}
        return {"id": identity, "call": self.name, "arguments": written}

    def arguments(self, written: object) -> dict[str, Any]:
        """The arguments in a request.

        Raises:
            Malformed: they are not this call's.

        """
        if not isinstance(written, dict) or written.keys() != self.parameters.keys():
            wanted = ", ".join(self.parameters) or "none"
            raise Malformed(f"{self.name} takes these arguments: {wanted}")
        return {name: kind.from_json(written[name]) for name, kind in self.parameters.items()}


@dataclass(frozen=True, slots=True)
class Description:
    """What an engine says of itself."""

    name: str
    release: str
    manifest_version: int
    constants: Mapping[str, int | bytes]


def _is(*types: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) not in types:
            raise Malformed(f"{value!r:.80} is not {' or '.join(t.__name__ for t in types)}")
        return value

    return check


def _same(value: T) -> T:
    return value


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(_is(str)(value), validate=True)
    except ValueError as error:
        raise Malformed(f"{value!r:.80} is not base64: {error}") from None


def _to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_INT: Kind[int] = Kind({"type": "integer"}, _same, _is(int))
_FLAG: Kind[bool] = Kind({"type": "boolean"}, _same, _is(bool))
_TEXT: Kind[str] = Kind({"type": "string"}, _same, _is(str))
_BYTES: Kind[bytes] = Kind(
    {"type": "string", "contentEncoding": "base64"}, _to_base64, _from_base64
)


def _optional(kind: Kind[T]) -> Kind[T | None]:
    return Kind(
        {"anyOf": [kind.schema, {"type": "null"}]},
        lambda value: None if value is None else kind.to_json(value),
        lambda value: None if value is None else kind.from_json(value),
    )


def _choice(*names: str) -> Kind[str]:
    def check(value: Any) -> str:
        if value not in names:
            raise Malformed(f"{value!r:.80} is none of {', '.join(names)}")
        return cast(str, value)

    return Kind({"enum": list(names)}, _same, check)


def _list(kind: Kind[T]) -> Kind[list[T]]:
    return Kind(
        {"type": "array", "items": kind.schema},
        lambda values: [kind.to_json(value) for value in values],
        lambda values: [kind.from_json(value) for value in _is(list)(values)],
    )


def _pair(first: Kind[T], second: Kind[U]) -> Kind[tuple[T, U]]:
    def read(value: Any) -> tuple[T, U]:
        if len(_is(list)(value)) != 2:
            raise Malformed(f"{value!r:.80} is not a pair")
        return first.from_json(value[0]), second.from_json(value[1])

    shape = {"type": "array", "prefixItems": [first.schema, second.schema]}
    return Kind(
        {**shape, "items": False, "minItems": 2},
        lambda value: [first.to_json(value[0]), second.to_json(value[1])],
        read,
    )


def _map(kind: Kind[T]) -> Kind[dict[str, T]]:
    return Kind(
        {"type": "object", "additionalProperties": kind.schema},
        lambda values: {name: kind.to_json(value) for name, value in values.items()},
        lambda values: {name: kind.from_json(v) for name, v in _is(dict)(values).items()},
    )


def _record(fields: Mapping[str, Kind[Any]], make: Callable[..., T]) -> Kind[T]:
    def read(value: Any) -> T:
        if _is(dict)(value).keys() != fields.keys():
            raise Malformed(f"{value!r:.80} does not have exactly the members {', '.join(fields)}")
        return make(**{name: kind.from_json(value[name]) for name, kind in fields.items()})

    return Kind(
        _object({name: kind.schema for name, kind in fields.items()}),
        lambda value: {name: kind.to_json(getattr(value, name)) for name, kind in fields.items()},
        read,
    )


def _object(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(members),
        "required": list(members),
        "additionalProperties": False,
    }


def _verdict(
    stage: str, messages: list[str], canonical: bytes | None, place: str | None
) -> EngineVerdict:
    return EngineVerdict(cast(Stage, stage), tuple(messages), canonical, place)


_CONSTANT: Kind[int | bytes] = Kind(
    {"anyOf": [_INT.schema, _BYTES.schema]},
    lambda value: value if isinstance(value, int) else _to_base64(value),
    lambda value: value if type(value) is int else _from_base64(value),
)
_VERDICT = _record(
    {
        "stage": _choice(*_STAGES),
        "messages": _list(_TEXT),
        "canonical": _optional(_BYTES),
        "place": _optional(_TEXT),
    },
    _verdict,
)
_DESCRIPTION = _record(
    {
        "name": _TEXT,
        "release": _TEXT,
        "manifest_version": _INT,
        "constants": _map(_CONSTANT),
    },
    Description,
)
_CLASS = cast(Kind[ProgressClass], _choice(*_CLASSES))

DESCRIBE = Call("describe", {}, _DESCRIPTION)
JUDGE = Call("judge", {"data": _BYTES, "key_groups": _INT, "canonical": _FLAG}, _VERDICT)
KEY_GROUP_COUNT = Call("key_group_count", {"value": _INT}, _INT)
CHECKPOINT_MANIFEST_BYTES = Call("checkpoint_manifest_bytes", {"data": _BYTES}, _BYTES)
CHECKPOINT_SHA256 = Call("checkpoint_sha256", {"data": _BYTES}, _TEXT)
CHECKPOINT_DESCRIPTOR_SHA256 = Call(
    "checkpoint_descriptor_sha256", {"payload": _optional(_BYTES)}, _TEXT
)
CHECKPOINT_ARTIFACT_INTENT_SHA256 = Call(
    "checkpoint_artifact_intent_sha256", {"payload": _optional(_BYTES)}, _TEXT
)
OWNER_MAP_DIGEST = Call("owner_map_digest", {"vnode_count": _INT, "owners": _list(_INT)}, _BYTES)
FENCE_DIGEST = Call("fence_digest", {"fence": _BYTES}, _BYTES)
SUBSCRIPTION_DIGEST = Call("subscription_digest", {"domain": _BYTES, "value": _BYTES}, _BYTES)
SEAL_NODE_SUBSCRIPTION_MANIFEST = Call(
    "seal_node_subscription_manifest",
    {"data": _BYTES, "owned_vnodes": _list(_INT)},
    _pair(_BYTES, _optional(_TEXT)),
)
VALIDATE_NODE_SUBSCRIPTION_MANIFEST = Call(
    "validate_node_subscription_manifest",
    {"data": _BYTES, "owned_vnodes": _list(_INT)},
    _optional(_TEXT),
)
CLASSIFY_CHANNEL_PROGRESS = Call(
    "classify_channel_progress", {"channels": _BYTES}, _pair(_CLASS, _optional(_INT))
)
CHANNEL_PROGRESS_FRONTIER = Call("channel_progress_frontier", {"channels": _BYTES}, _optional(_INT))
CHANNEL_PROGRESS_FRONTIERS_BY_SOURCE = Call(
    "channel_progress_frontiers_by_source", {"channels": _BYTES}, _map(_optional(_INT))
)
VIEW_LOG_SEGMENT_LIMIT = Call("view_log_segment_limit", {"participants": _INT}, _INT)

CALLS: Mapping[str, Call[Any]] = {
    call.name: call for call in list(globals().values()) if isinstance(call, Call)
}


def read_json(line: bytes) -> Any:
    """The value in a line.

    Raises:
        Malformed: it is not JSON.

    """
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON ({error})") from None


def answer(identity: int | None, call: Call[T], result: T) -> dict[str, Any]:
    """The message that carries a result."""
    return {"id": identity, "result": call.result.to_json(result)}


def failure(identity: int | None, error: Exception) -> dict[str, Any]:
    """The message that carries an error."""
    kind = next((name for name, raised in _ERRORS.items() if isinstance(error, raised)), "request")
    message, place = str(error), None
    if isinstance(error, EngineFailed):
        kind, message, place = "panic", error.message, error.place
    return {"id": identity, "error": {"kind": kind, "message": message, "place": place}}


def read_answer(identity: int, call: Call[T], message: object) -> T:
    """The result in the answer to a request.

    Raises:
        Malformed: it is no such answer.
        EngineError: it is an error; of the same class as in process.
        ValueError: it is an error about an argument.

    """
    members = _is(dict)(message)
    if members.get("id") != identity or type(members["id"]) is not int:
        raise Malformed(f"it does not answer request {identity}")
    if members.keys() == {"id", "result"}:
        return call.result.from_json(members["result"])
    if members.keys() != {"id", "error"}:
        raise Malformed("it has neither a result nor an error beside its id")
    error = _ERROR.from_json(members["error"])
    if error.kind == "panic":
        raise EngineFailed("panic", error.message, error.place)
    if error.kind == "request":
        raise Malformed(f"it did not understand the request: {error.message}")
    raise _ERRORS[error.kind](error.message)


@dataclass(frozen=True, slots=True)
class _Error:
    kind: str
    message: str
    place: str | None


_ERRORS: Mapping[str, type[Exception]] = {
    "refused": EngineRefused,
    "unsupported": EngineUnsupported,
    "argument": ValueError,
}
_ERROR = _record(
    {
        "kind": _choice(*_ERRORS, "panic", "request"),
        "message": _TEXT,
        "place": _optional(_TEXT),
    },
    _Error,
)


def schema() -> dict[str, Any]:
    """The JSON Schema of a line, in either direction."""
    identity = {"type": "integer"}
    requests = []
    for call in CALLS.values():
        arguments = _object({name: kind.schema for name, kind in call.parameters.items()})
        requests.append(
            _object({"id": identity, "call": {"const": call.name}, "arguments": arguments})
        )
    results = {call.name: call.result.schema for call in CALLS.values()}
    any_result = {"anyOf": [{"$ref": f"#/$defs/results/{name}"} for name in results]}
    nobody = {"anyOf": [identity, {"type": "null"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of the engine protocol, version {PROTOCOL_VERSION}",
        "anyOf": [{"$ref": "#/$defs/request"}, {"$ref": "#/$defs/answer"}],
        "$defs": {
            "request": {"oneOf": requests},
            "answer": {
                "oneOf": [
                    _object({"id": identity, "result": any_result}),
                    _object({"id": nobody, "error": _ERROR.schema}),
                ]
            },
            "results": results,
        },
    }
