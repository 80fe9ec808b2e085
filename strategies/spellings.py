"""Spellings: the many texts that decode to one manifest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from oracle import V10, CheckpointManifest, Contract, encode
from oracle.encoding import escape
from oracle.shapes import TAG
from strategies.texts import Members, Node, kind_of, members_of, no_space, quote, written


class Liberty(Enum):
    """What a spelling may do otherwise than the canonical encoding."""

    ARRAY_FORM = "array-form"
    """Structs and tagged enums as arrays."""
    ORDER = "order"
    """Names in another order, ``kind`` too."""
    ESCAPES = "escapes"
    """Characters of strings and names as escapes that need not be."""
    WHITE_SPACE = "white-space"
    """White space around values."""
    UUID_FORM = "uuid-form"
    """UUIDs without hyphens, in braces, as URN, in capitals."""
    REPEATED_KEYS = "repeated-keys"
    """A key of a map more than once; the last one counts."""
    LEFT_OUT = "left-out"
    """Optional and defaulted fields without a value left out, or written where they need not be."""
    MODE_OBJECT = "mode-object"
    """A changelog mode as an object with null."""


@dataclass(frozen=True)
class Spelling:
    """One text of a manifest: ``document`` decodes to ``manifest``, which encodes to ``canonical``.

    ``liberties`` are those that the text may have taken.
    """

    document: bytes
    manifest: CheckpointManifest
    canonical: bytes
    liberties: frozenset[Liberty]


def spellings(
    manifest: CheckpointManifest,
    contract: Contract = V10,
    *,
    liberties: Iterable[Liberty] = tuple(Liberty),
) -> SearchStrategy[Spelling]:
    """Accepted spellings of *manifest*, valid or not, in *contract*.

    Each takes some of the *liberties*, seldom, often or wherever it can. Shrinks to the canonical
    encoding, and otherwise to few liberties.
    """
    allowed = tuple(liberties)
    if not all(isinstance(liberty, Liberty) for liberty in allowed):
        raise InvalidArgument(f"liberties={liberties!r} is not a collection of Liberty")
    canonical = encode(manifest, contract)

    def spelled(rates: bytes, seed: int) -> Spelling:
        taken = {
            liberty: _RATES[rate % len(_RATES)]
            for liberty, rate in zip(allowed, rates, strict=True)
            if rate % len(_RATES)
        }
        document = _Speller(taken, seed, contract).document(manifest)
        return Spelling(document, manifest, canonical, frozenset(taken))

    return st.builds(spelled, st.binary(min_size=len(allowed), max_size=len(allowed)), _SEEDS)


_SEEDS = st.integers(0, 2**16)
_RATES = (0.0, 0.1, 0.5, 1.0)
_SPACES = (" ", "\n", "\t", "\r", "\r\n  ", "")


class _Speller:
    """Writes one manifest, taking liberties at the given rates."""

    def __init__(self, rates: dict[Liberty, float], seed: int, contract: Contract) -> None:
        self._rates = rates
        self._white_space = rates.get(Liberty.WHITE_SPACE, 0.0)
        self._escapes = rates.get(Liberty.ESCAPES, 0.0)
        self._random = Random(seed)
        self._contract = contract

    def document(self, manifest: CheckpointManifest) -> bytes:
        """The whole text."""
        tree = self._node(CheckpointManifest, manifest)
        space = self._space if self._white_space else no_space
        write_string = self._string if self._escapes else quote
        return f"{space()}{written(tree, write_string, space)}{space()}".encode()

    def _takes(self, liberty: Liberty) -> bool:
        rate = self._rates.get(liberty)
        return rate is not None and self._random.random() < rate

    def _space(self) -> str:
        random = self._random.random
        return _SPACES[int(random() * len(_SPACES))] if random() < self._white_space else ""

    def _string(self, text: str) -> str:
        return f'"{"".join(map(self._character, text))}"'

    def _character(self, character: str) -> str:
        random = self._random.random
        if random() >= self._escapes:
            return escape(character)
        if character == "/" and random() < 0.5:
            return "\\/"
        code = character.encode("utf-16-be").hex()
        if random() < 0.5:
            code = code.upper()
        return "".join(f"\\u{code[start : start + 4]}" for start in range(0, len(code), 4))

    def _node(self, wanted: Any, value: Any) -> Node:
        kind, detail = kind_of(wanted)
        if value is None:
            return None
        if kind == "optional":
            return self._node(detail, value)
        if kind in ("struct", "tagged"):
            return self._struct(value, [value.kind] if kind == "tagged" else [])
        if kind == "list":
            if kind_of(detail)[0] == "integer":
                return list(value)
            return [self._node(detail, item) for item in value]
        if kind == "map":
            return self._map(detail, value)
        if kind == "bytes":
            return list(value)
        if kind == "uuid":
            return self._uuid(value)
        if kind == "names":
            takes = self._takes(Liberty.MODE_OBJECT)
            return Members([(value.value, None)]) if takes else value.value
        return value

    def _struct(self, value: Any, tags: list[str]) -> Node:
        shape: Any = type(value)
        plan = members_of(shape, self._contract)
        contents = [getattr(value, member.attribute) for member in plan]
        if self._takes(Liberty.ARRAY_FORM):
            last = len(plan)
            while (
                last and plan[last - 1].defaulted and contents[last - 1] == plan[last - 1].default
            ):
                if not self._takes(Liberty.LEFT_OUT):
                    break
                last -= 1
            pairs = zip(plan[:last], contents, strict=False)
            return [*tags, *(self._node(member.wanted, content) for member, content in pairs)]
        members = Members((TAG, tag) for tag in tags)
        for member, content in zip(plan, contents, strict=True):
            if member.defaulted and content == member.default:
                # Canonical is to leave it out.
                if not self._takes(Liberty.LEFT_OUT):
                    continue
            elif member.optional and content is None and self._takes(Liberty.LEFT_OUT):
                continue
            members.append((member.name, self._node(member.wanted, content)))
        return self._ordered(members)

    def _ordered(self, members: Members) -> Members:
        if self._takes(Liberty.ORDER):
            self._random.shuffle(members)
        else:
            members.sort(key=lambda member: member[0])
        return members

    def _map(self, item: Any, value: Any) -> Members:
        members = self._ordered(
            Members((name, self._node(item, content)) for name, content in value.items())
        )
        if members and self._takes(Liberty.REPEATED_KEYS):
            name, _ = self._random.choice(members)
            other = value[self._random.choice(list(value))]
            members.insert(0, (name, "unlike" if item is str else self._node(item, other)))
        return members

    def _uuid(self, value: UUID) -> str:
        if not self._takes(Liberty.UUID_FORM):
            return str(value)
        text = self._random.choice((str(value), value.hex, value.urn, f"{{{value}}}"))
        return self._random.choice((text, text.upper(), text.swapcase()))
