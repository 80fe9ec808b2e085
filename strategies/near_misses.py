"""Near misses: texts that are nearly a manifest, and are rejected for one reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from oracle import MAX_KEY_GROUP_COUNT, V10, CheckpointManifest, Contract, Kind
from oracle.constants import MAX_CHECKPOINT_PARTICIPANTS, MAX_JSON_DEPTH, U64_MAX
from oracle.model import CheckpointAssignmentFence
from oracle.shapes import TAG
from strategies.dice import Dice, dice
from strategies.texts import (
    Members,
    Place,
    Raw,
    canonical_tree,
    kind_of,
    members_of,
    places,
    quote,
    variant_of,
    written,
)
from strategies.traits import Trait

_BYTES_OF_DICE = 8


@dataclass(frozen=True)
class NearMiss:
    """A document that is rejected at decode: ``kind`` says why, ``name`` how it was made."""

    kind: Kind
    name: str
    document: bytes
    manifest: CheckpointManifest


NEEDED: dict[Kind, frozenset[Trait]] = {
    Kind.TAG: frozenset({Trait.WHOLE_FRAME}),
    Kind.UUID: frozenset({Trait.CLUSTER}),
    Kind.FENCE: frozenset({Trait.CLUSTER}),
}
"""What a manifest must have for a near miss of a kind; the other kinds are possible in any."""


def near_misses(
    manifest: CheckpointManifest,
    contract: Contract = V10,
    *,
    kinds: Iterable[Kind] | None = None,
) -> SearchStrategy[NearMiss]:
    """Texts that are the canonical encoding of *manifest* but for one thing that is not accepted.

    Of all kinds that are possible in the manifest, or of *kinds*; asking for one that is not
    possible (:data:`NEEDED`) raises :class:`InvalidArgument`. Shrinks to the first kind.
    """
    possible = [kind for kind in Kind if _possible(kind, manifest)]
    asked = possible if kinds is None else list(kinds)
    if not asked or not set(asked) <= set(possible):
        raise InvalidArgument(
            f"kinds={kinds!r}: possible in this manifest are {[kind.name for kind in possible]}"
        )

    def missed(kind: Kind, rolled: Dice) -> NearMiss:
        way = rolled.pick(_WAYS[kind])
        document = way(_Draft(manifest, contract, rolled))
        return NearMiss(kind, f"{kind.value}/{_name(way)}", document, manifest)

    return st.builds(missed, st.sampled_from(asked), dice(_BYTES_OF_DICE))


def _possible(kind: Kind, manifest: CheckpointManifest) -> bool:
    return all(trait.present(manifest) for trait in NEEDED.get(kind, ()))


class _Draft:
    """The canonical text of a manifest, in which one thing is going to be wrong."""

    def __init__(self, manifest: CheckpointManifest, contract: Contract, rolled: Dice) -> None:
        self.contract = contract
        self.dice = rolled
        self.tree = canonical_tree(manifest, contract)
        self._places: list[Place] | None = None

    def text(self) -> bytes:
        """What is written."""
        return written(self.tree[0]).encode()

    def write(self, place: Place, node: Any) -> bytes:
        """The text with *node* at *place*."""
        place.write(node)
        return self.text()

    def place(self, *sorts: str, where: Callable[[Place], bool] = lambda place: True) -> Place:
        """A place whose type is one of *sorts*, see :func:`strategies.texts.kind_of`."""
        if self._places is None:
            self._places = list(places(self.tree, self.contract))
        found = [place for place in self._places if sort_of(place.wanted) in sorts and where(place)]
        return self.dice.pick(found[:256])

    def struct(self) -> tuple[Members, Any]:
        """The members of a struct or of a tagged enum's variant, with its type."""
        place = self.place("struct", "tagged", where=lambda place: place.node is not None)
        return place.node, shape_of(place)


def sort_of(wanted: Any) -> str:
    """The sort of a type, of what is optional the inner one's."""
    sort, detail = kind_of(wanted)
    return sort_of(detail) if sort == "optional" else sort


def shape_of(place: Place) -> Any:
    """The struct, or the tagged enum's variant, that stands at *place*."""
    sort, detail = kind_of(place.wanted)
    while sort == "optional":
        sort, detail = kind_of(detail)
    return detail if sort == "struct" else variant_of(place.node, detail)


def _is_optional(wanted: Any) -> bool:
    return kind_of(wanted)[0] == "optional"


Way = Callable[[_Draft], bytes]
_WAYS: dict[Kind, list[Way]] = {kind: [] for kind in Kind}


def _way(kind: Kind) -> Callable[[Way], Way]:
    def register(way: Way) -> Way:
        _WAYS[kind].append(way)
        return way

    return register


def _name(way: Way) -> str:
    return way.__name__.strip("_").replace("_", "-")


# --- text ------------------------------------------------------------------------------------


@_way(Kind.ENCODING)
def not_utf8(draft: _Draft) -> bytes:
    """A string with bytes that are not UTF-8: stray, overlong, a surrogate's, cut off, too high."""
    bad = draft.dice.pick(
        (
            b"\xff",
            b"\x80",
            b"\xc0\xaf",
            b"\xc0\x80",
            b"\xed\xa0\x80",
            b"\xe2\x82",
            b"\xf4\x90\x80\x80",
        )
    )
    draft.place("string").write("\x7f\x7f\x7f")
    return draft.text().replace(b"\x7f\x7f\x7f", bad, 1)


@_way(Kind.BOM)
def byte_order_mark(draft: _Draft) -> bytes:
    """A byte-order mark before the document."""
    return b"\xef\xbb\xbf" + draft.text()


@_way(Kind.GRAMMAR)
def trailing_comma(draft: _Draft) -> bytes:
    """A comma after the last member."""
    return draft.text()[:-1] + b",}"


@_way(Kind.GRAMMAR)
def number_grammar(draft: _Draft) -> bytes:
    """A number that RFC 8259 does not have."""
    wrong = draft.dice.pick(("01", "+1", "1.", ".5", "1e", "0x1", "1_0", "-", "\uff11", "--1"))
    return draft.write(draft.place("integer"), Raw(wrong))


@_way(Kind.GRAMMAR)
def literal_grammar(draft: _Draft) -> bytes:
    """A word, a comment or a quote that RFC 8259 does not have."""
    wrong = draft.dice.pick(("True", "nul", "undefined", "/**/false", "'a'", ""))
    return draft.write(draft.place("boolean"), Raw(wrong))


@_way(Kind.GRAMMAR)
def escape_grammar(draft: _Draft) -> bytes:
    """An escape that RFC 8259 does not have."""
    wrong = draft.dice.pick((r'"\x41"', r'"\u12"', r'"\u+041"', r'"\U0041"', r'"\a"', r'"\u 041"'))
    return draft.write(draft.place("string"), Raw(wrong))


@_way(Kind.GRAMMAR)
def cut_off(draft: _Draft) -> bytes:
    """The document ends early, or is empty."""
    text = draft.text().decode()
    return text[: draft.dice.pick((len(text) - 1, len(text) // 2, 1, 0))].encode()


@_way(Kind.GRAMMAR)
def white_space_grammar(draft: _Draft) -> bytes:
    """A space that is none to JSON, before the document."""
    return draft.dice.pick(("\xa0", "\v", "\f", "\u2028", "\x85", "\0")).encode() + draft.text()


@_way(Kind.CONSTANT)
def constant(draft: _Draft) -> bytes:
    """NaN or an infinity."""
    wrong = draft.dice.pick(("NaN", "Infinity", "-Infinity"))
    return draft.write(draft.place("integer"), Raw(wrong))


@_way(Kind.CONTROL)
def raw_control(draft: _Draft) -> bytes:
    """A control character, not escaped, in a string."""
    wrong = draft.dice.pick(("\n", "\t", "\0", "\x1f", "\r"))
    return draft.write(draft.place("string"), Raw(f'"a{wrong}b"'))


@_way(Kind.SURROGATE)
def lone_surrogate(draft: _Draft) -> bytes:
    """Half a surrogate pair, or both in the wrong order."""
    wrong = draft.dice.pick(
        (r"\ud800", r"\udc00", r"\udc00\ud800", r"\ud800\ud800", r"\uD83D ", r"\ud800\u0041")
    )
    return draft.write(draft.place("string"), Raw(f'"{wrong}"'))


@_way(Kind.TRAILING)
def trailing(draft: _Draft) -> bytes:
    """Something after the document."""
    return draft.text() + draft.dice.pick((b"x", b"{}", b",", b"\0", b" \n 1", b"\xc2\xa0", b"//"))


@_way(Kind.DEPTH)
def too_deep(draft: _Draft) -> bytes:
    """One array more than may nest, in the place of a value."""
    place = draft.place("integer", "string", "list", "bytes")
    nested = MAX_JSON_DEPTH + 1 - place.depth
    return draft.write(place, Raw("[" * nested + "]" * nested))


# --- types -----------------------------------------------------------------------------------

_OTHERS: dict[str, tuple[str, ...]] = {
    "integer": ('"1"', "true", "[1]", "{}", '""'),
    "string": ("1", "true", "[]", "{}", '["a"]', "0.5"),
    "boolean": ("0", "1", '"true"', "[]"),
    "list": ('""', "{}", "0", "false"),
    "bytes": ('"00"', "{}", "0", '""'),
    "map": ("[]", '[["a","b"]]', '""', "0"),
    "struct": ('""', "0", "true"),
    "tagged": ('"vnode"', "0", "true"),
    "uuid": ("1", "[1]", "{}", "false"),
    "names": ("1", "[]", "true"),
}


@_way(Kind.TYPE)
def another_type(draft: _Draft) -> bytes:
    """A value of another type than its field."""
    place = draft.place(*_OTHERS)
    return draft.write(place, Raw(draft.dice.pick(_OTHERS[sort_of(place.wanted)])))


@_way(Kind.TYPE)
def null(draft: _Draft) -> bytes:
    """Null for what is not optional."""
    place = draft.place(*_OTHERS, where=lambda place: not _is_optional(place.wanted))
    return draft.write(place, None)


@_way(Kind.FRACTION)
def fraction(draft: _Draft) -> bytes:
    """A number that is an integer to the reader, and a float to the engine."""
    wrong = draft.dice.pick(("1.0", "1e0", "-0", "0.0", "1E3", "10e-1", "-0.0", "1e400"))
    return draft.write(draft.place("integer"), Raw(wrong))


@_way(Kind.RANGE)
def beyond(draft: _Draft) -> bytes:
    """The first number above or below the field's, or one far off."""
    place = draft.place("integer")
    bounds = _bounds(place.wanted)
    wrong = (
        bounds.greatest + 1,
        bounds.least - 1,
        U64_MAX + 1,
        -(2**63) - 1,
        10**40,
        bounds.greatest + 2**64,
    )
    return draft.write(place, draft.dice.pick(wrong))


def _bounds(wanted: Any) -> Any:
    sort, detail = kind_of(wanted)
    return _bounds(detail) if sort == "optional" else detail


# --- structs ---------------------------------------------------------------------------------


@_way(Kind.REPEATED)
def repeated(draft: _Draft) -> bytes:
    """A field, or the tag, is written twice, with the same value."""
    members, _ = draft.struct()
    member = draft.dice.pick(members)
    members.insert(draft.dice.roll(0, len(members)), member)
    return draft.text()


@_way(Kind.REPEATED)
def repeated_escaped(draft: _Draft) -> bytes:
    """A field is written twice, once with its name escaped."""
    members, _ = draft.struct()
    name, value = draft.dice.pick(members)
    members.append((name, value))
    escaped = f'"\\u{ord(name[0]):04x}{name[1:]}"'
    members[-1] = (_MARK, value)
    return draft.text().replace(quote(_MARK).encode(), escaped.encode(), 1)


_MARK = "\x7f\x7f\x7f"


@_way(Kind.UNKNOWN)
def unknown(draft: _Draft) -> bytes:
    """A field that the type does not have, perhaps nearly one that it has."""
    members, shape = draft.struct()
    known = {member.name for member in members_of(shape, draft.contract)} | {TAG}
    name = draft.dice.pick(members)[0]
    near = (f"{name}_", name.capitalize(), "", f"{name} ", "$schema", name.replace("_", "-") + "-")
    wrong = draft.dice.pick([name for name in near if name not in known])
    members.insert(draft.dice.roll(0, len(members)), (wrong, None))
    return draft.text()


@_way(Kind.MISSING)
def missing(draft: _Draft) -> bytes:
    """A field that must be written is not, or the tag."""
    members, shape = draft.struct()
    free = {
        member.name
        for member in members_of(shape, draft.contract)
        if member.optional or member.defaulted
    }
    members.remove(draft.dice.pick([member for member in members if member[0] not in free]))
    return draft.text()


@_way(Kind.TAG)
def unknown_tag(draft: _Draft) -> bytes:
    """A tag that is none, perhaps nearly."""
    members = draft.place("tagged").node
    place = Place(members, [name for name, _ in members].index(TAG), str, 0)
    return draft.write(
        place, draft.dice.pick(("Vnode", "", "operator-whole", "vnode ", place.node.upper()))
    )


@_way(Kind.TAG)
def tag_of_array(draft: _Draft) -> bytes:
    """The array form, with a tag that is none."""
    place = draft.place("tagged")
    return draft.write(place, ["none", *_listed(place, draft)])


def _listed(place: Place, draft: _Draft) -> list[Any]:
    """The fields of a struct or variant in declaration order, those left out with their default."""
    written_members = dict(place.node)
    return [
        written_members.get(member.name, [] if member.default == () else None)
        for member in members_of(shape_of(place), draft.contract)
    ]


def _array_form(draft: _Draft) -> tuple[Place, list[Any]]:
    place = draft.place("struct", "tagged", where=lambda place: place.node is not None)
    tags = [dict(place.node)[TAG]] if sort_of(place.wanted) == "tagged" else []
    return place, [*tags, *_listed(place, draft)]


@_way(Kind.LENGTH)
def array_too_long(draft: _Draft) -> bytes:
    """The array form with one element more."""
    place, items = _array_form(draft)
    return draft.write(place, [*items, None])


@_way(Kind.LENGTH)
def array_too_short(draft: _Draft) -> bytes:
    """The array form without the last field that is not defaulted, be it optional."""
    place, items = _array_form(draft)
    plan = members_of(shape_of(place), draft.contract)
    defaulted = 0
    while defaulted < len(plan) and plan[-1 - defaulted].defaulted:
        defaulted += 1
    return draft.write(place, items[: len(items) - defaulted - 1])


@_way(Kind.LENGTH)
def digest_length(draft: _Draft) -> bytes:
    """A digest of 31 or 33 bytes, or the array form of the whole without its last field."""
    draft_places = [
        place
        for place in places(draft.tree, draft.contract)
        if kind_of(place.wanted)[0] == "bytes" and kind_of(place.wanted)[1] is not None
    ]
    if not draft_places:
        return array_too_long(draft)
    place = draft.dice.pick(draft_places[:256])
    return draft.write(place, draft.dice.pick((place.node[:-1], [*place.node, 0], [])))


_NOT_UUID = (
    "",
    "00000000-0000-4000-8000-00000000000",
    "00000000-0000-4000-8000-0000000000011",
    "00000000-0000-4000-8000-00000000000g",
    "{00000000000040008000000000000001}",
    "urn:uuid:{00000000-0000-4000-8000-000000000001}",
    "urn:00000000-0000-4000-8000-000000000001",
    " 00000000-0000-4000-8000-000000000001",
    "00000000-0000-4000-8000-000000000001\n",
    "0000-00000000-4000-8000-000000000001",
    "{00000000-0000-4000-8000-000000000001",
    "00000000_0000_4000_8000_000000000001",
    "0000000000004000800000000000001\uff10",
)


@_way(Kind.UUID)
def no_uuid(draft: _Draft) -> bytes:
    """A text that is none of the four spellings, though Python may take it."""
    return draft.write(draft.place("uuid"), draft.dice.pick(_NOT_UUID))


# --- fences ----------------------------------------------------------------------------------


def _fence(draft: _Draft) -> Members:
    place = draft.place(
        "struct",
        where=lambda place: place.node is not None and shape_of(place) is CheckpointAssignmentFence,
    )
    members: Members = place.node
    return members


def _field(members: Members, name: str) -> Place:
    return Place(members, [found for found, _ in members].index(name), None, 0)


@_way(Kind.FENCE)
def fence_field(draft: _Draft) -> bytes:
    """A field of a fence that no canonical fence has."""
    wrong: tuple[tuple[str, Any], ...] = (
        ("assignment_version", 0),
        ("partitioning_abi_version", 1),
        ("partitioning_abi_version", 3),
        ("vnode_count", 0),
        ("vnode_count", MAX_KEY_GROUP_COUNT + 1),
        ("assignment_digest", [0] * 32),
        ("participants", []),
    )
    name, value = draft.dice.pick(wrong)
    return draft.write(_field(_fence(draft), name), value)


_NIL = "00000000-0000-0000-0000-000000000000"


@_way(Kind.FENCE)
def fence_participant(draft: _Draft) -> bytes:
    """A participant of node 0 or of the nil boot."""
    participants = _field(_fence(draft), "participants").node
    name, value = draft.dice.pick((("node_id", 0), ("boot_incarnation", _NIL)))
    return draft.write(_field(participants[0], name), value)


@_way(Kind.FENCE)
def fence_order(draft: _Draft) -> bytes:
    """A participant is listed twice."""
    participants = _field(_fence(draft), "participants").node
    participants.insert(0, participants[0])
    return draft.text()


@_way(Kind.FENCE)
def fence_too_many(draft: _Draft) -> bytes:
    """130 participants in order."""
    participants = _field(_fence(draft), "participants").node
    boot = dict(participants[0])["boot_incarnation"]
    participants[:] = [
        Members([("boot_incarnation", boot), ("node_id", node_id)])
        for node_id in range(1, MAX_CHECKPOINT_PARTICIPANTS + 2)
    ]
    return draft.text()
