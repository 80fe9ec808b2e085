"""JSON values to the types of :mod:`oracle.model` and back, as serde's derived code does it.

Everything is derived from the annotations of the model: :func:`decoder` and :func:`encoder` build
one reader and one writer for each type and contract, once. A struct is an object, or an array of
its fields in declaration order; a tagged enum is an object with ``kind``, or an array that starts
with it.
"""

from __future__ import annotations

import functools
import json
import re
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from itertools import compress, repeat, takewhile
from operator import attrgetter, call, itemgetter, ne
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from oracle import model
from oracle.errors import DecodeError, Kind
from oracle.formats import Contract
from oracle.model import BYTE, Bounds, CheckpointAssignmentFence, FrozenDict, Length
from oracle.text import LONGEST_INTEGER, Float, JsonValue

ReadOne = Callable[[JsonValue], Any]
ReadMany = Callable[[Sequence[JsonValue]], Sequence[Any]]

TAG = "kind"
"""The member, or the first element of the array form, that tells the variant of a tagged enum."""

_LONGEST_QUOTE = 60


class Decoder(NamedTuple):
    """How values of one type are read.

    ``one`` reads a value in any accepted spelling, or raises :class:`DecodeError`. ``many`` reads
    a whole column of values at the speed of the interpreter's built-in functions; it may give up
    with :class:`_Irregular` on values that are not spelled as the engine writes them, and then
    ``one`` is asked for each.
    """

    one: ReadOne
    many: ReadMany


class _Irregular(Exception):
    """A column has a value in another spelling than the canonical one, or one of a wrong type."""


def _one_by_one(one: ReadOne) -> Decoder:
    return Decoder(one, lambda column: [*map(one, column)])


@functools.cache
def decoder(wanted: Any, contract: Contract) -> Decoder:
    """The reader of values of type *wanted*."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        detail = arguments[1]
        return _integer(detail) if isinstance(detail, Bounds) else _one_by_one(_bytes(detail))
    if origin in (Union, types.UnionType):
        variants = tuple(item for item in arguments if item is not type(None))
        if len(variants) == len(arguments):
            return _tagged(variants, contract)
        return _optional(decoder(variants[0], contract))
    if origin is tuple:
        return _one_by_one(_list(arguments[0], contract))
    if origin is Mapping:
        return _one_by_one(_map(decoder(arguments[1], contract).one))
    if wanted is CheckpointAssignmentFence:
        return _one_by_one(_checked_fence(contract))
    if is_dataclass(wanted):
        return _struct(wanted, contract)
    if issubclass(wanted, Enum):
        return _one_by_one(_names(wanted))
    return _PLAIN[wanted]


# --- scalars ---------------------------------------------------------------------------------


def _integer(bounds: Bounds) -> Decoder:
    least, greatest = bounds.least, bounds.greatest

    def one(value: JsonValue) -> int:
        if type(value) is int and least <= value <= greatest:
            return value
        raise _not_an_integer(value, bounds)

    def many(column: Sequence[JsonValue]) -> Sequence[int]:
        if {*map(type, column)} != {int} or min(column) < least or max(column) > greatest:
            raise _Irregular
        return column

    return Decoder(one, many)


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


def _strings(column: Sequence[JsonValue]) -> Sequence[str]:
    if {*map(type, column)} != {str}:
        raise _Irregular
    return column


def _boolean(value: JsonValue) -> bool:
    if type(value) is bool:
        return value
    raise _wrong_type("a boolean", value)


_HYPHENATED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(
    rf"(?:urn:uuid:)?{_HYPHENATED}|\{{{_HYPHENATED}\}}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII
)
_UUID_DIGITS = 32


def _uuid(value: JsonValue) -> UUID:
    text = _string(value)
    if _UUID.fullmatch(text):
        digits = text.replace("-", "").rstrip("}")[-_UUID_DIGITS:]
        return UUID(int=int(digits, 16))
    raise DecodeError(Kind.UUID, f"{_show(text)} is not a UUID")


_BYTE = _integer(BYTE)


def _byte_string(value: JsonValue) -> bytes:
    items = _array(value)
    if {*map(type, items)} == {int}:
        try:
            return bytes(items)
        except ValueError:
            pass  # One is out of range; the other way of reading says which.
    return bytes(_all(items, _BYTE))


_PLAIN: dict[Any, Decoder] = {
    str: Decoder(_string, _strings),
    bool: _one_by_one(_boolean),
    UUID: _one_by_one(_uuid),
    bytes: _one_by_one(_byte_string),
}


def _optional(some: Decoder) -> Decoder:
    def one(value: JsonValue) -> Any:
        return None if value is None else some.one(value)

    def many(column: Sequence[JsonValue]) -> Sequence[Any]:
        present = [value for value in column if value is not None]
        if not present:
            return column
        read = iter(some.many(present))
        return [None if value is None else next(read) for value in column]

    return Decoder(one, many)


def _names(enumeration: type[Enum]) -> ReadOne:
    """A unit variant: its name, or an object with that one name and null."""
    by_name = {variant.value: variant for variant in enumeration}

    def one(value: JsonValue) -> Enum:
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

    return one


# --- collections -----------------------------------------------------------------------------


def _array(value: JsonValue) -> list[JsonValue]:
    if type(value) is list:
        return value
    raise _wrong_type("an array", value)


def _all(items: Sequence[JsonValue], item: Decoder) -> Sequence[Any]:
    """Read *items*, as a column where that works, else each by itself to find the culprit."""
    read: list[Any] = []
    for start in range(0, len(items), _LONGEST_COLUMN):
        column = items[start : start + _LONGEST_COLUMN]
        if len(column) >= _SHORTEST_COLUMN:
            try:
                read += item.many(column)
                continue
            except (_Irregular, DecodeError):
                pass
        try:
            read += map(item.one, column)
        except DecodeError as error:
            raise error.inside(len(read)) from None
    return read


# Below the one, setting up a column costs more than it saves; above the other, what it works on
# leaves the processor's cache.
_SHORTEST_COLUMN = 4
_LONGEST_COLUMN = 512


def _bytes(length: Length) -> ReadOne:
    def one(value: JsonValue) -> bytes:
        found = _byte_string(value)
        if len(found) != length.exactly:
            raise DecodeError(
                Kind.LENGTH, f"expected {length.exactly} elements, found {len(found)}"
            )
        return found

    return one


def _list(item_type: Any, contract: Contract) -> ReadOne:
    item = decoder(item_type, contract)

    def one(value: JsonValue) -> tuple[Any, ...]:
        items = _array(value)
        return tuple(_all(items, item)) if items else ()

    return one


def _map(read_item: ReadOne) -> ReadOne:
    """An object with any names; the last of repeated ones counts, yet each must be of its type."""

    def one(value: JsonValue) -> FrozenDict[str, Any]:
        if type(value) is not tuple:
            raise _wrong_type("an object", value)
        items: dict[str, Any] = {}
        name = ""
        try:
            for name, item in value:
                items[name] = read_item(item)
        except DecodeError as error:
            raise error.inside(name) from None
        return FrozenDict(items)

    return one


# --- structs and tagged enums ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """How one field of a struct is read.

    ``absent`` is the value of a field that is left out of an object, or :data:`REQUIRED`;
    ``defaulted`` fields may be left out at the end of an array, too. ``assign`` stores the value
    in a new instance, past the constructor, which takes three times as long when frozen.
    """

    name: str
    read: Decoder
    absent: Any
    defaulted: bool
    assign: Callable[[Any, Any], None]


REQUIRED: Any = object()
"""Marks a field that must be written."""


@functools.cache
def fields_of(shape: Any, contract: Contract) -> tuple[Field, ...]:
    """The fields that *shape* has in *contract*, in declaration order."""
    hints = get_type_hints(shape, include_extras=True)
    found = [
        _field(shape, field, hints[field.name], contract)
        for field in fields(shape)
        if contract.has(field.metadata.get("feature"))
    ]
    order = contract.orders.get(shape.__name__)
    if order is not None:
        found.sort(key=lambda field: order.index(field.name))
    return tuple(found)


def text_name(shape: Any, attribute: str, contract: Contract) -> str:
    """How the text of *contract* calls a field of the model."""
    return contract.names.get(f"{shape.__name__}.{attribute}", attribute)


def _field(shape: Any, field: Any, annotation: Any, contract: Contract) -> Field:
    defaulted = field.default is not MISSING
    optional = type(None) in get_args(annotation)
    absent = field.default if defaulted else None if optional else REQUIRED
    assign = getattr(shape, field.name).__set__
    name = text_name(shape, field.name, contract)
    return Field(name, decoder(annotation, contract), absent, defaulted, assign)


def _struct(shape: Any, contract: Contract, tag: str | None = None) -> Decoder:
    """The reader of a struct, or of one variant of an enum whose *tag* was read already.

    Most of the time of a verdict goes by here, so the loops over fields are the interpreter's own.
    """
    plan = fields_of(shape, contract)
    title = tag or shape.__name__
    least = len(plan)
    while least and plan[least - 1].defaulted:
        least -= 1
    # What the array form has before the fields, and an object beside them.
    tags = [] if tag is None else [TAG]
    names = [field.name for field in plan]
    known = {*names, *tags}
    elsewhere = [
        (getattr(shape, field.name).__set__, field.default)
        for field in fields(shape)
        if not contract.has(field.metadata.get("feature"))
    ]
    absent = {
        field.name: _as_written(field.absent) for field in plan if field.absent is not REQUIRED
    }
    reads = [field.read.one for field in plan]
    assigns = [*(field.assign for field in plan), *(assign for assign, _ in elsewhere)]
    of_others = [default for _, default in elsewhere]
    # One name more than there are, because of a single name it would make no tuple.
    pick = itemgetter(*names, names[0])

    def read(contents: Sequence[JsonValue], places: Sequence[str | int]) -> list[Any]:
        """Read the *contents* of the first fields, which stand in *places*."""
        found: list[Any] = []
        try:
            found += map(call, reads, contents)
        except DecodeError as error:
            raise error.inside(places[len(found)]) from None
        return found

    def made(found: list[Any]) -> Any:
        """The struct of what was *found* for all its fields."""
        new = object.__new__(shape)
        _exhaust(map(call, assigns, repeat(new), found + of_others))
        return new

    def from_object(value: JsonValue) -> Any:
        written = dict(value)
        if len(written) != len(value):
            raise _repeated(value)
        members = absent | written if absent else written
        if not known.issuperset(members):
            raise _unknown_member(title, written, known)
        try:
            contents = pick(members)
        except KeyError:
            # What is wrong with the fields before the missing one comes first.
            present = [*takewhile(members.__contains__, names)]
            read([members[name] for name in present], names)
            missing = names[len(present)]
            raise DecodeError(Kind.MISSING, f"{title} must have the field {missing!r}") from None
        return made(read(contents, names))

    def from_array(value: JsonValue) -> Any:
        found = len(value) - len(tags)
        if not least <= found <= len(plan):
            wanted = str(len(plan)) if least == len(plan) else f"{least} to {len(plan)}"
            raise DecodeError(Kind.LENGTH, f"{title} lists {wanted} fields, found {found}")
        contents = [*value[len(tags) :], *map(absent.get, names[found:])]
        return made(read(contents, range(len(tags), len(value))))

    def one(value: JsonValue) -> Any:
        if type(value) is tuple:
            return from_object(value)
        if type(value) is list:
            return from_array(value)
        raise _wrong_type(f"{title}, an object or an array", value)

    by_name = {field.name: field for field in plan}
    canonical = sorted(known)

    def many(column: Sequence[JsonValue]) -> Sequence[Any]:
        """Transpose canonical objects into a column for each field, and fill slot by slot."""
        if {*map(type, column)} != {tuple} or {*map(len, column)} != {len(canonical)}:
            raise _Irregular
        made = [*map(object.__new__, repeat(shape, len(column)))]
        for assign, default in elsewhere:
            _exhaust(map(assign, made, repeat(default)))
        for name, members in zip(canonical, zip(*column, strict=True), strict=True):
            names, values = zip(*members, strict=True)
            if names.count(name) != len(names):
                raise _Irregular
            if name in by_name:
                field = by_name[name]
                _exhaust(map(field.assign, made, field.read.many(values)))
        return made

    return Decoder(one, many)


_exhaust = deque[Any](maxlen=0).extend


def _as_written(absent: Any) -> JsonValue:
    """The value of a field that is left out, as it would be read if it were there."""
    if isinstance(absent, Mapping):
        return tuple(absent.items())
    return list(absent) if isinstance(absent, tuple) else absent


def _checked_fence(contract: Contract) -> ReadOne:
    unchecked = _struct(CheckpointAssignmentFence, contract)

    def one(value: JsonValue) -> CheckpointAssignmentFence:
        fence: CheckpointAssignmentFence = unchecked.one(value)
        defect = fence.defect()
        if defect is not None:
            raise DecodeError(Kind.FENCE, defect)
        return fence

    return one


def _tagged(variants: tuple[Any, ...], contract: Contract) -> Decoder:
    by_tag = {variant.kind: _struct(variant, contract, variant.kind) for variant in variants}

    def one(value: JsonValue) -> Any:
        place: str | int
        if type(value) is tuple:
            place, tag = next((member for member in value if member[0] == TAG), (TAG, REQUIRED))
            if tag is REQUIRED:
                raise DecodeError(Kind.MISSING, f"{TAG} is missing")
        elif type(value) is list:
            if not value:
                raise DecodeError(Kind.LENGTH, f"the array form starts with the {TAG}, found none")
            place, tag = 0, value[0]
        else:
            raise _wrong_type(f"an object with {TAG}, or an array", value)
        if type(tag) is not str:
            raise _wrong_type("a string", tag).inside(place)
        if tag not in by_tag:
            raise _unknown_name(tag, by_tag).inside(place)
        return by_tag[tag].one(value)

    def many(column: Sequence[JsonValue]) -> Sequence[Any]:
        """Sort the column by tag, read each variant's part, and put the parts together again."""
        if {*map(type, column)} != {tuple} or not all(column):
            raise _Irregular
        names, tags = zip(*map(itemgetter(0), column), strict=True)
        if names.count(TAG) != len(names):
            raise _Irregular
        made: list[Any] = [None] * len(column)
        known = 0
        for tag in by_tag:
            places = [place for place, found in enumerate(tags) if found == tag]
            if len(places) == len(column):
                return by_tag[tag].many(column)
            if places:
                known += len(places)
                part = by_tag[tag].many([column[place] for place in places])
                _exhaust(map(made.__setitem__, places, part))
        if known != len(column):
            raise _Irregular
        return made

    return Decoder(one, many)


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
    elif type(value) is int:
        return _shortened(str(value), LONGEST_INTEGER)
    else:
        text = str(value).lower()
    return _shortened(text, _LONGEST_QUOTE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


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


def _unknown_member(title: str, members: dict[str, Any], known: set[str]) -> DecodeError:
    name = next(name for name in members if name not in known)
    return DecodeError(Kind.UNKNOWN, f"{title} has no field {_show(name)}").inside(name)


def _unknown_name(name: str, known: Mapping[str, Any]) -> DecodeError:
    return DecodeError(Kind.TAG, f"{_show(name)} is not one of {', '.join(known)}")


# --- encoding --------------------------------------------------------------------------------

Encode = Callable[[Any], Any]
"""What writes a value as canonical JSON text, or as an integer, which formats as its own text."""

_quote = json.encoder.encode_basestring


@functools.cache
def encoder(wanted: Any, contract: Contract) -> Encode:
    """The writer of values of type *wanted*, with every object's names sorted."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _same if arguments[0] is int else _byte_array
    if origin in (Union, types.UnionType):
        variants = tuple(item for item in arguments if item is not type(None))
        if len(variants) == len(arguments):
            writers = {shape: _struct_text(shape, contract, shape.kind) for shape in variants}
            return lambda value: writers[type(value)](value)
        some = encoder(variants[0], contract)
        return lambda value: "null" if value is None else some(value)
    if origin is tuple:
        item = encoder(arguments[0], contract)
        return lambda value: f"[{','.join(map(str, map(item, value)))}]"
    if origin is Mapping:
        content = encoder(arguments[1], contract)
        return lambda value: _object([(name, content(value[name])) for name in sorted(value)])
    if is_dataclass(wanted):
        return _struct_text(wanted, contract)
    if issubclass(wanted, Enum):
        return lambda value: _quote(value.value)
    return _PLAIN_TEXT[wanted]


def _same(value: Any) -> Any:
    return value


def _byte_array(value: bytes) -> str:
    return f"[{','.join(map(str, value))}]"


_PLAIN_TEXT: dict[Any, Encode] = {
    str: _quote,
    bool: lambda value: "true" if value else "false",
    bytes: _byte_array,
    UUID: lambda value: f'"{value}"',
}


def _object(members: Iterable[tuple[str, Any]]) -> str:
    return f"{{{','.join(f'{_quote(name)}:{text}' for name, text in members)}}}"


def _struct_text(shape: Any, contract: Contract, tag: str | None = None) -> Encode:
    """The writer of a struct, or of one variant of an enum with its *tag*."""
    hints = get_type_hints(shape, include_extras=True)
    plan: list[tuple[str, str, Encode, Any]] = [
        (
            text_name(shape, field.name, contract),
            field.name,
            encoder(hints[field.name], contract),
            field.default,
        )
        for field in fields(shape)
    ]
    if tag is not None:
        plan.append((TAG, "kind", _quote, MISSING))
    plan.sort(key=lambda member: member[0])
    defaults = [default for *_, default in plan]
    attributes = attrgetter(*(at for _, at, *_ in plan), "__class__")

    @functools.cache
    def layout(kept: tuple[bool, ...]) -> tuple[str, list[Encode]]:
        members = [*compress(plan, kept)]
        template = _object((name.replace("%", "%%"), "%s") for name, *_ in members)
        return template, [write for _, _, write, _ in members]

    template, writers = layout((True,) * len(plan))
    if any(default is not MISSING for default in defaults):

        def encode(value: Any) -> str:
            contents = attributes(value)[:-1]
            kept = tuple(map(ne, contents, defaults))
            template, writers = layout(kept)
            return template % tuple(map(_write, writers, compress(contents, kept)))

        return encode
    if all(write is _same for write in writers):
        return lambda value: template % attributes(value)[:-1]
    return lambda value: template % tuple(map(_write, writers, attributes(value)))


def _write(write: Encode, content: Any) -> Any:
    return write(content)


def decode_manifest(value: JsonValue, contract: Contract) -> model.CheckpointManifest:
    """The manifest that a JSON *value* spells in *contract*; raises :class:`DecodeError`."""
    manifest: model.CheckpointManifest = decoder(model.CheckpointManifest, contract).one(value)
    return manifest
