"""JSON texts of a manifest: a tree that says what is written where, and the writer of it."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from oracle import CheckpointManifest, Contract
from oracle.model import BYTE, Bounds
from oracle.shapes import TAG, fields_of, text_name

Node: TypeAlias = Any
"""``None``, a boolean, an integer, a string, a list of nodes, :class:`Members` or :class:`Raw`."""


class Members(list[tuple[str, Node]]):
    """An object: its members in the order in which they are written, repeats and all."""


class Raw(str):
    """A text that is written as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a struct: its name in the text and in the model, its type, and its default.

    ``optional`` fields may be left out of an object where they are ``None``, ``defaulted`` ones
    where they have their default.
    """

    name: str
    attribute: str
    wanted: Any
    optional: bool
    defaulted: bool
    default: Any


@cache
def members_of(shape: Any, contract: Contract) -> tuple[Member, ...]:
    """The fields that *shape* has in *contract*, in declaration order."""
    hints = get_type_hints(shape, include_extras=True)
    attributes = {text_name(shape, field.name, contract): field.name for field in fields(shape)}
    return tuple(
        Member(
            field.name,
            attributes[field.name],
            hints[attributes[field.name]],
            type(None) in get_args(hints[attributes[field.name]]),
            field.defaulted,
            field.absent if field.defaulted else None,
        )
        for field in fields_of(shape, contract)
    )


@cache
def kind_of(wanted: Any) -> tuple[str, Any]:
    """What sort of type *wanted* is, with what it is made of.

    One of ``integer`` (bounds), ``bytes`` (length or ``None``), ``optional`` (the type),
    ``tagged`` (the variants), ``list`` (the item), ``map`` (the value), ``struct``, ``names``,
    ``string``, ``boolean`` and ``uuid`` (the type itself).
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        detail = arguments[1]
        return ("integer", detail) if isinstance(detail, Bounds) else ("bytes", detail.exactly)
    if origin in (Union, types.UnionType):
        variants = tuple(item for item in arguments if item is not type(None))
        if len(variants) == len(arguments):
            return "tagged", variants
        return "optional", variants[0] if len(variants) == 1 else Union[variants]  # noqa: UP007
    if origin is tuple:
        return "list", arguments[0]
    if origin is Mapping:
        return "map", arguments[1]
    if is_dataclass(wanted):
        return "struct", wanted
    if issubclass(wanted, Enum):
        return "names", wanted
    return {str: "string", bool: "boolean", UUID: "uuid", bytes: "bytes"}[wanted], (
        None if wanted is bytes else wanted
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value of the manifest stands in the tree.

    ``holder[index]`` is the node, or the member whose second half it is. ``depth`` is the number
    of arrays and objects around it.
    """

    holder: list[Any]
    index: int
    wanted: Any
    depth: int

    @property
    def node(self) -> Node:
        """What is written here."""
        found = self.holder[self.index]
        return found[1] if isinstance(self.holder, Members) else found

    def write(self, node: Node) -> None:
        """Write something else here."""
        if isinstance(self.holder, Members):
            node = (self.holder[self.index][0], node)
        self.holder[self.index] = node


def canonical_tree(manifest: CheckpointManifest, contract: Contract) -> list[Node]:
    """What the canonical encoding writes, in a list of one; lists at any depth can be changed."""
    return [_canonical(CheckpointManifest, manifest, contract)]


def _canonical(wanted: Any, value: Any, contract: Contract) -> Node:
    kind, detail = kind_of(wanted)
    if value is None:
        return None
    if kind == "optional":
        return _canonical(detail, value, contract)
    if kind == "list":
        if kind_of(detail)[0] == "integer":
            return list(value)
        return [_canonical(detail, item, contract) for item in value]
    if kind == "bytes":
        return list(value)
    if kind == "map":
        return Members((name, _canonical(detail, value[name], contract)) for name in sorted(value))
    if kind in ("struct", "tagged"):
        members = Members(
            (member.name, _canonical(member.wanted, getattr(value, member.attribute), contract))
            for member in members_of(_shape(value), contract)
            if not member.defaulted or getattr(value, member.attribute) != member.default
        )
        if kind == "tagged":
            members.append((TAG, value.kind))
        members.sort(key=lambda member: member[0])
        return members
    if kind == "names":
        return value.value
    return str(value) if kind == "uuid" else value


def _shape(value: Any) -> Any:
    return type(value)


_MOST_ITEMS = 6


def places(tree: list[Node], contract: Contract) -> Iterator[Place]:
    """Every place of a canonical tree, outer before inner; of a long list the first few."""
    yield from _places(Place(tree, 0, CheckpointManifest, 0), contract)


def _places(place: Place, contract: Contract) -> Iterator[Place]:
    yield place
    node, inner = place.node, place.depth + 1
    kind, detail = kind_of(place.wanted)
    if kind == "optional" and node is not None:
        kind, detail = kind_of(detail)
    if kind == "list" and node is not None:
        for index in range(min(len(node), _MOST_ITEMS)):
            yield from _places(Place(node, index, detail, inner), contract)
    elif kind == "bytes" and node:
        yield Place(node, 0, BYTE_TYPE, inner)
    elif kind == "map":
        for index in range(len(node)):
            yield from _places(Place(node, index, detail, inner), contract)
    elif kind in ("struct", "tagged") and node is not None:
        shape = detail if kind == "struct" else variant_of(node, detail)
        wanted = {member.name: member.wanted for member in members_of(shape, contract)}
        for index, (name, _) in enumerate(node):
            if name in wanted:
                yield from _places(Place(node, index, wanted[name], inner), contract)


BYTE_TYPE = Annotated[int, BYTE]


def variant_of(node: Members, variants: tuple[Any, ...]) -> Any:
    """Which of *variants* a canonical node of a tagged enum is."""
    tag = dict(node)[TAG]
    return next(variant for variant in variants if variant.kind == tag)


# --- writing ---------------------------------------------------------------------------------

Quote = Callable[[str], str]
Space = Callable[[], str]


def quote(text: str) -> str:
    """A string as the canonical encoding writes it."""
    return json.dumps(text, ensure_ascii=False)


def no_space() -> str:
    """What stands between tokens in the canonical encoding."""
    return ""


def written(node: Node, write_string: Quote = quote, space: Space = no_space) -> str:
    """The text of *node*, without what is around it."""
    if isinstance(node, Raw):
        return str(node)
    if isinstance(node, str):
        return write_string(node)
    if isinstance(node, Members):
        return _between(
            "{",
            (
                f"{write_string(name)}{space()}:{space()}{written(item, write_string, space)}"
                for name, item in node
            ),
            "}",
            space,
        )
    if isinstance(node, list):
        if node and set(map(type, node)) == {int}:
            # Lists of numbers are long: what is between two of them, is between all.
            between = f"{space()},{space()}".join(map(str, node))
            return f"[{space()}{between}{space()}]"
        return _between("[", (written(item, write_string, space) for item in node), "]", space)
    if node is None:
        return "null"
    return str(node).lower() if isinstance(node, bool) else str(node)


def _between(start: str, items: Iterator[str], end: str, space: Space) -> str:
    inner = ",".join(f"{space()}{item}{space()}" for item in items)
    return f"{start}{inner or space()}{end}"
