"""What a document may look like, as data for the mutator: derived from the oracle's model.

A *form* is the description of one JSON value: which numbers, which names, which elements. It is
made from the same annotations that the oracle's decoder is made from, so a field that the model
gains is a field that the mutator changes.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from oracle import CheckpointManifest, Contract
from oracle.model import Bounds, Length
from oracle.shapes import fields_of, text_name


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One JSON value."""


@dataclass(frozen=True, slots=True, eq=False)
class Integer(Form):
    """An integer in its type's bounds."""

    least: int
    greatest: int


@dataclass(frozen=True, slots=True, eq=False)
class Text(Form):
    """Any string."""


@dataclass(frozen=True, slots=True, eq=False)
class Boolean(Form):
    """``true`` or ``false``."""


@dataclass(frozen=True, slots=True, eq=False)
class Uuid(Form):
    """A string that is a UUID in one of four spellings."""


@dataclass(frozen=True, slots=True, eq=False)
class Bytes(Form):
    """An array of bytes; of exactly ``length`` of them, unless that is ``None``."""

    length: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Name(Form):
    """One of the names of an enumeration."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Maybe(Form):
    """``null`` or a value."""

    inner: Form


@dataclass(frozen=True, slots=True, eq=False)
class Items(Form):
    """An array of alike values."""

    item: Form


@dataclass(frozen=True, slots=True, eq=False)
class Entries(Form):
    """An object with any names."""

    value: Form


@dataclass(frozen=True, slots=True, eq=False)
class Struct(Form):
    """An object with known names, or an array of their values in this order.

    ``tag`` is the variant's name where the struct is one of a tagged enum.
    """

    title: str
    fields: dict[str, Form] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()
    tag: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tagged(Form):
    """One of several structs, told apart by ``kind``."""

    variants: dict[str, Struct]


@cache
def manifest_form(contract: Contract) -> Struct:
    """The form of a manifest of *contract*."""
    return struct_form(CheckpointManifest, contract)


def struct_form(shape: type, contract: Contract) -> Struct:
    """The form of *shape*, which is a struct of the model, in *contract*."""
    form = _form(shape, contract)
    assert isinstance(form, Struct)
    return form


@cache
def _form(wanted: Any, contract: Contract) -> Form:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _annotated(arguments[1])
    if origin in (Union, types.UnionType):
        variants = [item for item in arguments if item is not type(None)]
        if len(variants) < len(arguments):
            return Maybe(_form(variants[0], contract))
        return Tagged({item.kind: _struct(item, contract, item.kind) for item in variants})
    if origin is tuple:
        return Items(_form(arguments[0], contract))
    if origin is Mapping:
        return Entries(_form(arguments[1], contract))
    if is_dataclass(wanted):
        return _struct(wanted, contract)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return Name(tuple(variant.value for variant in wanted))
    return {str: Text(), bool: Boolean(), UUID: Uuid(), bytes: Bytes(None)}[wanted]


def _annotated(detail: Bounds | Length) -> Form:
    if isinstance(detail, Bounds):
        return Integer(detail.least, detail.greatest)
    return Bytes(detail.exactly)


def _struct(shape: Any, contract: Contract, tag: str | None = None) -> Struct:
    hints = get_type_hints(shape, include_extras=True)
    present = [one for one in fields(shape) if contract.has(one.metadata.get("feature"))]
    hint_of = {text_name(shape, one.name, contract): hints[one.name] for one in present}
    plan = fields_of(shape, contract)
    return Struct(
        shape.__name__,
        {one.name: _form(hint_of[one.name], contract) for one in plan},
        frozenset(one.name for one in plan if one.defaulted),
        tag,
    )
