"""JSON values to the types of :mod:`oracle.model` and back, as serde's derived code does it.

Everything is derived from the annotations of the model: :func:`decoder` and :func:`encoder` build
one function for each type and contract, once. A struct is an object, or an array of its fields
in declaration order; a tagged enum is an object with ``kind``, or an array that starts with it.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from oracle import model
from oracle.errors import DecodeError, Kind
from oracle.formats import Contract
from oracle.model import BYTE, Bounds, CheckpointAssignmentFence, FrozenDict, Length
from oracle.text import Float, JsonValue

Decode = Callable[[JsonValue], Any]
Encode = Callable[[Any], Any]

_REQUIRED: Any = object()
_LONGEST_QUOTE = 60


@functools.cache
def decoder(wanted: Any, contract: Contract) -> Decode:
    """The function that reads a value of type *wanted*; it raises :class:`DecodeError`."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        base, detail = arguments
        return _integer(detail) if isinstance(detail, Bounds) else _bytes(detail)
    if origin in (Union, types.UnionType):
        if type(None) in arguments:
            (inner,) = (argument for argument in arguments if argument is not type(None))
            return _optional(decoder(inner, contract))
        return _tagged(arguments, contract)
    if origin is tuple:
        return _list(arguments[0], contract)
    if origin is Mapping:
        return _map(decoder(arguments[1], contract))
    if is_dataclass(wanted):
        return _checked_fence(contract) if wanted is CheckpointAssignmentFence else _struct(
            wanted, contract
        )
    if issubclass(wanted, Enum):
        return _names(wanted)
    return _PLAIN[wanted]


# --- scalars ---------------------------------------------------------------------------------


def _integer(bounds: Bounds) -> Decode:
    least, greatest = bounds.least, bounds.greatest

    def decode(value: JsonValue) -> int:
        if type(value) is int and least <= value <= greatest:
            return value
        raise _not_an_integer(value, bounds)

    return decode


def _not_an_integer(value: JsonValue, bounds: Bounds) -> DecodeError:
    wanted = f"an integer in {bounds.least}..={bounds.greatest}"
    if type(value) is int:
        return DecodeError(Kind.RANGE, f"{_show(value)} is not {wanted}")
    kind = Kind.FRACTION if type(value) is Float else Kind.TYPE
    return DecodeError(kind, f"expected {wanted}, found {_show(value)}")


def _string(value: JsonValue) -> str:
    if type(value) is str:
        return value
    raise _wrong_type("a string", value)


def _boolean(value: JsonValue) -> bool:
    if type(value) is bool:
        return value
    raise _wrong_type("a boolean", value)


_HYPHENATED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(
    rf"(?:urn:uuid:)?{_HYPHENATED}|\{{{_HYPHENATED}\}}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII
)


def _uuid(value: JsonValue) -> UUID:
    text = _string(value)
    if _UUID.fullmatch(text):
        return UUID(hex=text)
    raise DecodeError(Kind.UUID, f"{_show(text)} is not a UUID")


_PLAIN: dict[Any, Decode] = {str: _string, bool: _boolean, UUID: _uuid}


def _optional(decode_some: Decode) -> Decode:
    def decode(value: JsonValue) -> Any:
        return None if value is None else decode_some(value)

    return decode


def _names(enumeration: type[Enum]) -> Decode:
    """A unit variant: its name, or an object with that one name and null."""
    by_name = {variant.value: variant for variant in enumeration}

    def decode(value: JsonValue) -> Enum:
        name = value
        if type(value) is tuple and len(value) == 1:
            name, content = value[0]
            if name in by_name and content is not None:
                raise _wrong_type("null", content).inside(name)
        if type(name) is not str:
            raise _wrong_type(f"a name of {enumeration.__name__}", value)
        if name not in by_name:
            raise _unknown_name(name, by_name)
        return by_name[name]

    return decode


# --- collections -----------------------------------------------------------------------------

_INTEGERS_ONLY = {int}


def _integers(value: JsonValue, bounds: Bounds) -> list[int]:
    """A whole array of integers at once; the slow road only finds the culprit."""
    if type(value) is not list:
        raise _wrong_type("an array", value)
    if value and (
        set(map(type, value)) != _INTEGERS_ONLY
        or min(value) < bounds.least
        or max(value) > bounds.greatest
    ):
        for index, item in enumerate(value):
            if type(item) is not int or not bounds.least <= item <= bounds.greatest:
                raise _not_an_integer(item, bounds).inside(index)
    return value


def _byte_string(value: JsonValue) -> bytes:
    return bytes(_integers(value, BYTE))


_PLAIN[bytes] = _byte_string


def _bytes(length: Length) -> Decode:
    def decode(value: JsonValue) -> bytes:
        found = _byte_string(value)
        if len(found) != length.exactly:
            raise DecodeError(
                Kind.LENGTH, f"expected {length.exactly} elements, found {len(found)}"
            )
        return found

    return decode


def _list(item_type: Any, contract: Contract) -> Decode:
    if get_origin(item_type) is Annotated and isinstance(get_args(item_type)[1], Bounds):
        bounds = get_args(item_type)[1]
        return lambda value: tuple(_integers(value, bounds))
    decode_item = decoder(item_type, contract)

    def decode(value: JsonValue) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _wrong_type("an array", value)
        items: list[Any] = []
        try:
            for item in value:
                items.append(decode_item(item))
        except DecodeError as error:
            raise error.inside(len(items))
        return tuple(items)

    return decode


def _map(decode_item: Decode) -> Decode:
    """An object with any names; the last of repeated ones counts, yet each must be of its type."""

    def decode(value: JsonValue) -> FrozenDict[str, Any]:
        if type(value) is not tuple:
            raise _wrong_type("an object", value)
        items: dict[str, Any] = {}
        name = ""
        try:
            for name, item in value:
                items[name] = decode_item(item)
        except DecodeError as error:
            raise error.inside(name)
        return FrozenDict(items)

    return decode


# --- structs and tagged enums ----------------------------------------------------------------


@functools.cache
def field_types(shape: Any, contract: Contract) -> dict[str, tuple[Any, Any]]:
    """The fields that *shape* has in *contract*: name to (type, value when left out).

    An optional field without a default may be left out of an object; see :func:`_array_minimum`.
    """
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.name: (hints[field.name], _when_left_out(field, hints[field.name]))
        for field in fields(shape)
        if contract.has(field.metadata.get("feature"))
    }


def _when_left_out(field: Any, annotation: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return None if type(None) in get_args(annotation) else _REQUIRED


def _array_minimum(shape: Any, contract: Contract) -> int:
    """How many fields the array form must list: all but the defaulted ones at the end."""
    names = list(field_types(shape, contract))
    defaulted = {field.name for field in fields(shape) if field.default is not MISSING}
    while names and names[-1] in defaulted:
        names.pop()
    return len(names)


def _struct(shape: Any, contract: Contract, tag: str | None = None) -> Decode:
    """The decoder of a struct, or of the fields of one variant beside its *tag*."""
    plan = [
        (name, decoder(annotation, contract), absent)
        for name, (annotation, absent) in field_types(shape, contract).items()
    ]
    names = [name for name, _, _ in plan]
    least = _array_minimum(shape, contract)
    title = shape.__name__ if tag is None else tag

    def from_object(value: JsonValue) -> Any:
        members = dict(value)
        if len(members) != len(value):
            raise _repeated(value)
        arguments: dict[str, Any] = {}
        name = ""
        try:
            for name, decode_field, absent in plan:
                if name in members:
                    arguments[name] = decode_field(members.pop(name))
                elif absent is _REQUIRED:
                    break
                else:
                    arguments[name] = absent
        except DecodeError as error:
            raise error.inside(name)
        if len(arguments) != len(plan) or members:
            raise _wrong_members(title, dict(value), names, name)
        return shape(**arguments)

    def from_array(value: JsonValue, first: int = 0) -> Any:
        found = len(value) - first
        if not least <= found <= len(plan):
            wanted = str(len(plan)) if least == len(plan) else f"{least} to {len(plan)}"
            raise DecodeError(Kind.LENGTH, f"{title} lists {wanted} fields, found {found}")
        arguments = {name: absent for name, _, absent in plan[found:]}
        index = first
        try:
            for index, (name, decode_field, _) in enumerate(plan[:found], first):
                arguments[name] = decode_field(value[index])
        except DecodeError as error:
            raise error.inside(index)
        return shape(**arguments)

    def decode(value: JsonValue) -> Any:
        if type(value) is tuple:
            return from_object(value)
        if type(value) is list:
            return from_array(value)
        raise _wrong_type(f"{title}, an object or an array", value)

    def decode_variant(value: JsonValue) -> Any:
        return from_object(value) if type(value) is tuple else from_array(value, 1)

    return decode if tag is None else decode_variant


def _checked_fence(contract: Contract) -> Decode:
    decode_unchecked = _struct(CheckpointAssignmentFence, contract)

    def decode(value: JsonValue) -> CheckpointAssignmentFence:
        fence: CheckpointAssignmentFence = decode_unchecked(value)
        defect = fence.defect()
        if defect is not None:
            raise DecodeError(Kind.FENCE, defect)
        return fence

    return decode


TAG = "kind"


def _tagged(variants: tuple[Any, ...], contract: Contract) -> Decode:
    by_tag = {variant.kind: _struct(variant, contract, variant.kind) for variant in variants}

    def decode(value: JsonValue) -> Any:
        if type(value) is tuple:
            tags = [content for name, content in value if name == TAG]
            if not tags:
                raise DecodeError(Kind.MISSING, f"{TAG} is missing")
            if len(tags) > 1:
                raise _repeated(value)
            place: str | int = TAG
            tag, content = tags[0], tuple(member for member in value if member[0] != TAG)
        elif type(value) is list:
            if not value:
                raise DecodeError(Kind.LENGTH, f"the array form starts with the {TAG}, found none")
            place, tag, content = 0, value[0], value
        else:
            raise _wrong_type(f"an object with {TAG}, or an array", value)
        if type(tag) is not str:
            raise _wrong_type("a string", tag).inside(place)
        if tag not in by_tag:
            raise _unknown_name(tag, by_tag).inside(place)
        return by_tag[tag](content)

    return decode


# --- what is wrong ---------------------------------------------------------------------------

_JSON_TYPES = {
    list: "an array",
    tuple: "an object",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    type(None): "null",
    Float: "a number that is not an integer",
}


def _show(value: JsonValue) -> str:
    if isinstance(value, (list, tuple)):
        return _JSON_TYPES[type(value)]
    if isinstance(value, Float):
        text = str(value)
    elif isinstance(value, str):
        text = repr(value[: _LONGEST_QUOTE + 1])
    else:
        text = {True: "true", False: "false", None: "null"}.get(value, str(value))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def _wrong_type(wanted: str, value: JsonValue) -> DecodeError:
    shown = _JSON_TYPES[type(value)]
    if not isinstance(value, (list, tuple)) and value is not None:
        shown = f"{shown} ({_show(value)})"
    return DecodeError(Kind.TYPE, f"expected {wanted}, found {shown}")


def _repeated(value: JsonValue) -> DecodeError:
    seen: set[str] = set()
    for name, _ in value:
        if name in seen:
            return DecodeError(Kind.REPEATED, f"{_show(name)} is written twice").inside(name)
        seen.add(name)
    raise AssertionError("no name is repeated")


def _wrong_members(
    title: str, members: dict[str, Any], names: list[str], missing: str
) -> DecodeError:
    for name in members:
        if name not in names:
            return DecodeError(Kind.UNKNOWN, f"{title} has no field {_show(name)}").inside(name)
    return DecodeError(Kind.MISSING, f"{title} must have the field {missing!r}")


def _unknown_name(name: str, known: Mapping[str, Any]) -> DecodeError:
    return DecodeError(Kind.TAG, f"{_show(name)} is not one of {', '.join(known)}")


# --- encoding --------------------------------------------------------------------------------


@functools.cache
def encoder(wanted: Any) -> Encode:
    """The function that turns a value of type *wanted* into plain JSON values.

    Names come out sorted, so the text that is written from them is canonical.
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _unchanged if arguments[0] is int else list
    if origin in (Union, types.UnionType):
        variants = tuple(item for item in arguments if item is not type(None))
        if len(variants) > 1:
            return _encode_tagged(variants)
        inner = encoder(variants[0])
        if inner is _unchanged:
            return inner
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        encode_item = encoder(arguments[0])
        return list if encode_item is _unchanged else lambda value: [*map(encode_item, value)]
    if origin is Mapping:
        encode_value = encoder(arguments[1])
        return lambda value: {name: encode_value(value[name]) for name in sorted(value)}
    if is_dataclass(wanted):
        return _encode_struct(wanted)
    if issubclass(wanted, Enum):
        return lambda value: value.value
    return {bytes: list, UUID: str}.get(wanted, _unchanged)


def _unchanged(value: Any) -> Any:
    return value


def _encode_struct(shape: Any, tag: str | None = None) -> Encode:
    hints = get_type_hints(shape, include_extras=True)
    plan = sorted(
        (field.name, encoder(hints[field.name]), field.default) for field in fields(shape)
    )
    tags = {} if tag is None else {TAG: tag}
    tagged = sorted([*plan, *((name, _unchanged, MISSING) for name in tags)], key=lambda p: p[0])

    def encode(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, encode_field, default in tagged:
            if name in tags:
                members[name] = tags[name]
                continue
            content = getattr(value, name)
            if default is MISSING or content != default:
                members[name] = encode_field(content)
        return members

    return encode


def _encode_tagged(variants: tuple[Any, ...]) -> Encode:
    encoders = {variant: _encode_struct(variant, variant.kind) for variant in variants}
    return lambda value: encoders[type(value)](value)


def decode_manifest(value: JsonValue, contract: Contract) -> model.CheckpointManifest:
    """The manifest that a JSON *value* spells in *contract*; raises :class:`DecodeError`."""
    manifest: model.CheckpointManifest = decoder(model.CheckpointManifest, contract)(value)
    return manifest
