"""Decoding: every type in every form, every bound, every kind of rejection."""

from __future__ import annotations

import copy
import dataclasses
import json
import types
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

from oracle import CONTRACTS, V9, V10, DecodeError, Kind, decode, model
from oracle.formats import Contract
from oracle.model import Bounds, CheckpointManifest, Length
from tests.oracle.contract_types import FEATURES, INTEGERS, MODES, STRUCTS, VARIANTS, fields_in
from tests.oracle.documents import BOOT_1, Document, at, cluster, empty, fence, put, text
from tests.oracle.slots import (
    Slot,
    all_slots,
    array_form,
    as_arrays,
    is_integer,
    rich,
    struct_of,
)

FORMATS = [*CONTRACTS]
PLACES = [(contract, slot) for contract in FORMATS for slot in all_slots(contract)]


def _name(place: object) -> str:
    return place.pointer or "root" if isinstance(place, Slot) else str(place)


def places(condition: Any) -> pytest.MarkDecorator:
    """Parametrize over the places of all formats that meet *condition*."""
    chosen = [(contract, slot) for contract, slot in PLACES if condition(slot)]
    assert chosen
    return pytest.mark.parametrize(("contract", "slot"), chosen, ids=_name)


def changed(contract: str, slot: Slot, value: Any) -> Document:
    """The rich document of a format with *value* at a place."""
    document, value = rich(contract), copy.deepcopy(value)
    if slot.pointer:
        put(document, slot.pointer, value)
        return document
    return value  # type: ignore[no-any-return]


def outcome(document: Any, contract: str) -> tuple[Kind, str] | None:
    """Kind and pointer of the rejection, or ``None``."""
    data = document if isinstance(document, bytes) else text(document)
    try:
        decode(data, CONTRACTS[contract])
    except DecodeError as error:
        return error.kind, error.pointer
    return None


def accepted(document: Any, contract: str, slot: Slot) -> bool:
    """Whether a document decodes, but for fences whose *fields* are well-typed and wrong."""
    found = outcome(document, contract)
    fenced = "assignment_fence" in slot.pointer or "assignment_certificate" in slot.pointer
    return found is None or (fenced and found[0] is Kind.FENCE)


# --- the model is the contract's -------------------------------------------------------------


def _written(hint: Any) -> str:
    """A type of the model in the words of :mod:`tests.oracle.contract_types`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        detail = arguments[1]
        if isinstance(detail, Length):
            assert detail.exactly == 32
            return "digest"
        assert isinstance(detail, Bounds)
        bounds = (detail.least, detail.greatest)
        return next(name for name, known in INTEGERS.items() if known == bounds)
    if origin in (Union, types.UnionType):
        some = [_written(item) for item in arguments if item is not type(None)]
        return "|".join(some) + ("?" if type(None) in arguments else "")
    if origin is tuple:
        return f"[{_written(arguments[0])}]"
    if origin is Mapping:
        assert arguments[0] is str
        return f"map {_written(arguments[1])}"
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)
        return str(getattr(hint, "kind", hint.__name__))
    if issubclass(hint, Enum):
        assert tuple(item.value for item in hint) == MODES
        return "mode"
    plain = {str: "string", bool: "bool", bytes: "bytes", UUID: "uuid"}
    return plain[hint]


def _shapes() -> dict[str, Any]:
    return {
        getattr(item, "kind", item.__name__): item
        for item in vars(model).values()
        if isinstance(item, type)
        and dataclasses.is_dataclass(item)
        and item not in (Bounds, Length)
    }


@pytest.mark.parametrize("name", STRUCTS)
def test_model_is_the_contracts(name: str) -> None:
    """Each type has the contract's fields, in its order, with its types and defaults."""
    shape = _shapes()[name]
    hints = get_type_hints(shape, include_extras=True)
    fields = [
        (field.name, _written(hints[field.name]), field.default is not dataclasses.MISSING)
        for field in dataclasses.fields(shape)
    ]
    assert fields == STRUCTS[name]


def test_no_type_is_forgotten() -> None:
    """The model has no type that the contract does not know, and the documents have them all."""
    bodies = {name for name in _shapes() if name not in STRUCTS}
    assert bodies <= {"NodeSubscriptionBody"}
    found = {struct_of(slot) for _, slot in PLACES}
    assert found - {None} == set(STRUCTS)


# --- forms -----------------------------------------------------------------------------------


def structs(slot: Slot) -> bool:
    """Whether a struct stands at a place."""
    return struct_of(slot) is not None


@pytest.mark.parametrize("contract", FORMATS)
def test_everything_as_arrays(contract: str) -> None:
    """A document with every struct in array form is the same manifest."""
    document = rich(contract)
    arrays = as_arrays(document, "CheckpointManifest", contract)
    assert isinstance(arrays, list)
    found = decode(text(arrays), CONTRACTS[contract])
    assert found == decode(text(document), CONTRACTS[contract])


@places(structs)
def test_array_form(contract: str, slot: Slot) -> None:
    """One struct in array form is the same value; more or fewer elements are rejected."""
    name = struct_of(slot)
    assert name is not None
    form = array_form(slot.value, name, contract)
    expected = decode(text(rich(contract)), CONTRACTS[contract])
    assert decode(text(changed(contract, slot, form)), CONTRACTS[contract]) == expected
    for wrong in ([*form, None], [*form, 0], []):
        assert outcome(changed(contract, slot, wrong), contract) == (Kind.LENGTH, slot.pointer)
    last_is_defaulted = fields_in(name, contract)[-1][2]
    if not last_is_defaulted:
        shorter = changed(contract, slot, form[:-1])
        assert outcome(shorter, contract) == (Kind.LENGTH, slot.pointer)


@pytest.mark.parametrize("contract", FORMATS)
def test_defaulted_fields_at_the_end_of_an_array(contract: str) -> None:
    """Only a format's defaulted fields after its last other one may be left out of the array."""
    document = empty()
    fields = fields_in("CheckpointManifest", contract)
    least = max(index for index, field in enumerate(fields) if not field[2]) + 1
    form = [document.get(name, [] if kind[0] == "[" else None) for name, kind, _ in fields]
    manifests = [decode(text(form[:n]), CONTRACTS[contract]) for n in range(least, len(form) + 1)]
    assert all(found == manifests[0] for found in manifests)
    assert outcome(form[: least - 1], contract) == (Kind.LENGTH, "")


@places(structs)
def test_object_form(contract: str, slot: Slot) -> None:
    """In any order; each field repeated, unknown, or missing unless optional or defaulted."""
    name = struct_of(slot)
    assert name is not None
    expected = decode(text(rich(contract)), CONTRACTS[contract])
    backwards = dict(reversed(slot.value.items()))
    assert decode(text(changed(contract, slot, backwards)), CONTRACTS[contract]) == expected

    unknown = changed(contract, slot, slot.value | {"Version": 1})
    assert outcome(unknown, contract) == (Kind.UNKNOWN, f"{slot.pointer}/Version")

    for field, kind, defaulted in fields_in(name, contract):
        pointer = f"{slot.pointer}/{field}"
        if field in slot.value:
            repeated = _repeated(changed(contract, slot, slot.value), slot.pointer, field)
            assert outcome(repeated, contract) == (Kind.REPEATED, pointer)
        rest = {key: value for key, value in slot.value.items() if key != field}
        without = outcome(changed(contract, slot, rest), contract)
        allowed = kind.endswith("?") or defaulted
        assert without == (None if allowed else (Kind.MISSING, slot.pointer))
    if name in VARIANTS:
        rest = {key: value for key, value in slot.value.items() if key != "kind"}
        assert outcome(changed(contract, slot, rest), contract) == (Kind.MISSING, slot.pointer)
        repeated = _repeated(changed(contract, slot, slot.value), slot.pointer, "kind")
        assert outcome(repeated, contract) == (Kind.REPEATED, f"{slot.pointer}/kind")


def _repeated(document: Document, pointer: str, field: str) -> bytes:
    """The text with *field* of the object at *pointer* written twice, once with an escape."""
    holder = at(document, pointer)
    value = holder[field]
    mark = "\x00 the second"
    holder[mark] = value
    twice = text(document).decode()
    escaped = f'"\\u{ord(field[0]):04x}{field[1:]}"'
    return twice.replace(json.dumps(mark), escaped).encode()


@places(lambda slot: struct_of(slot) in VARIANTS)
def test_tags(contract: str, slot: Slot) -> None:
    """A tag is one of the variants' names, a string, and stands first in the array form."""
    for tag in ("Vnode", "", "vnode ", "0"):
        wrong = changed(contract, slot, slot.value | {"kind": tag})
        assert outcome(wrong, contract) == (Kind.TAG, f"{slot.pointer}/kind")
        listed = changed(contract, slot, [tag, "a"])
        assert outcome(listed, contract) == (Kind.TAG, f"{slot.pointer}/0")
    others: list[Any] = [0, None, True, ["vnode"], {"vnode": None}]
    for other in others:
        wrong = changed(contract, slot, slot.value | {"kind": other})
        assert outcome(wrong, contract) == (Kind.TYPE, f"{slot.pointer}/kind")
    name = struct_of(slot)
    external = changed(contract, slot, {name: slot.value})
    assert outcome(external, contract) == (Kind.MISSING, slot.pointer)


def test_tags_of_a_long_list() -> None:
    """Spellings mix within one list, long enough to be read in columns."""
    document = empty()
    frame = rich("v10")["state_frames"][0]
    keys: list[Any] = [{"kind": "operator_whole", "operator_id": str(n)} for n in range(2_000)]
    keys[700] = ["vnode", "700", 3]
    keys[1_400] = {"operator_id": "1400", "kind": "operator_whole"}
    document["state_frames"] = [frame | {"key": key} for key in keys]
    frames = decode(text(document)).state_frames
    assert [found.key.operator_id for found in frames] == [str(n) for n in range(2_000)]
    assert frames[700].key == model.Vnode("700", 3)
    document["state_frames"][1_999]["key"] = {"kind": "vnode", "operator_id": "x"}
    assert outcome(document, "v10") == (Kind.MISSING, "/state_frames/1999/key")
    document["state_frames"][1_999]["key"] = {"kind": "nothing", "operator_id": "x"}
    assert outcome(document, "v10") == (Kind.TAG, "/state_frames/1999/key/kind")


# --- scalars ---------------------------------------------------------------------------------


@places(is_integer)
def test_bounds_of_integers(contract: str, slot: Slot) -> None:
    """The least and the greatest value are taken, the next beyond each is not."""
    least, greatest = INTEGERS[slot.kind]
    for value in (least, greatest):
        assert accepted(changed(contract, slot, value), contract, slot)
    for value in (least - 1, greatest + 1, -(2**64), 2**64, 10**30, -(10**30), 10**5_000):
        if not least <= value <= greatest:
            document = _spelled(contract, slot, _digits(value))
            assert outcome(document, contract) == (Kind.RANGE, slot.pointer)


def _digits(value: int) -> str:
    """A decimal, past the interpreter's limit on digits, too."""
    return "1" + "0" * 5_000 if value == 10**5_000 else str(value)


def _spelled(contract: str, slot: Slot, literal: str) -> bytes:
    """The rich document with the *literal* at a place."""
    document = text(changed(contract, slot, "\x00 here"))
    return document.replace(json.dumps("\x00 here").encode(), literal.encode())


@places(is_integer)
def test_numbers_that_are_not_integers(contract: str, slot: Slot) -> None:
    """A fraction, an exponent and a negative zero are floats; no integer field takes one."""
    for literal in ("-0", "1.0", "1e0", "1E+2", "0.0", "-0.0", "0e0", "1e400", "1e-400"):
        document = _spelled(contract, slot, literal)
        assert outcome(document, contract) == (Kind.FRACTION, slot.pointer)


WRONG: dict[str, list[Any]] = {
    "string": [1, True, [], {}, [1], None],
    "bool": [0, 1, "true", [], {}, None],
    "uuid": [1, True, [], [1] * 16, {}, None],
    "bytes": ["", "ab", 1, True, {}, None],
    "digest": ["ab" * 32, 1, True, {}, None],
    "mode": [1, True, [], None, {"append": None, "x": 1}, {}],
    "integer": ["1", True, False, [], [1], {}, None],
    "list": ["", 1, True, {}, {"0": 1}, None],
    "map": ["", 1, True, [], [["a", "b"]], None],
    "struct": ["", 1, True, None],
}


def _group(kind: str) -> str:
    if kind in INTEGERS:
        return "integer"
    if kind in STRUCTS or "|" in kind:
        return "struct"
    if kind[0] == "[":
        return "list"
    return "map" if kind.startswith("map ") else kind


@places(lambda slot: True)
def test_values_of_another_type(contract: str, slot: Slot) -> None:
    """No value is taken for one of another type; null only where a field is optional."""
    for value in WRONG[_group(slot.kind)]:
        found = outcome(changed(contract, slot, value), contract)
        if value is None and slot.optional:
            assert found is None
        else:
            assert found == (Kind.TYPE, slot.pointer)


@places(lambda slot: slot.kind == "digest")
def test_length_of_digests(contract: str, slot: Slot) -> None:
    """A digest has exactly 32 elements."""
    for length in (0, 1, 31, 33, 64):
        document = changed(contract, slot, [1] * length)
        assert outcome(document, contract) == (Kind.LENGTH, slot.pointer)


@places(lambda slot: slot.kind == "mode")
def test_changelog_modes(contract: str, slot: Slot) -> None:
    """A name, or an object with that one name and null."""
    for mode in MODES:
        assert outcome(changed(contract, slot, mode), contract) is None
        assert outcome(changed(contract, slot, {mode: None}), contract) is None
        wrong = outcome(changed(contract, slot, {mode: 1}), contract)
        assert wrong == (Kind.TYPE, f"{slot.pointer}/{mode}")
        both = changed(contract, slot, {mode: None, "append ": None})
        assert outcome(both, contract) == (Kind.TYPE, slot.pointer)
    for mode in ("Append", "", "upsert"):
        assert outcome(changed(contract, slot, mode), contract) == (Kind.TAG, slot.pointer)


DIGITS = BOOT_1.replace("-", "")


@pytest.mark.parametrize(
    "spelling",
    [
        BOOT_1,
        BOOT_1.upper(),
        DIGITS,
        DIGITS.upper(),
        f"urn:uuid:{BOOT_1}",
        f"URN:UUID:{BOOT_1}",
        f"Urn:uuiD:{BOOT_1}",
        f"{{{BOOT_1}}}",
    ],
)
def test_spellings_of_a_uuid(spelling: str) -> None:
    """All of them are the same value."""
    document = cluster()
    document["assignment_fence"]["participants"][0]["boot_incarnation"] = spelling
    assert decode(text(document)) == decode(text(cluster()))


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        BOOT_1 + "\n",
        " " + BOOT_1,
        BOOT_1[:-1],
        BOOT_1 + "1",
        f"urn:uuid:{DIGITS}",
        f"{{{DIGITS}}}",
        f"urn:uuid:{{{BOOT_1}}}",
        f"{{{BOOT_1}",
        f"{BOOT_1}}}",
        f"urn:{BOOT_1}",
        f"uuid:{BOOT_1}",
        BOOT_1.replace("1", "g", 1),
        BOOT_1.replace("-", "_", 1),
        BOOT_1.replace("-", "", 1),
        "1-1111111-1111-4111-8111-111111111111",
        BOOT_1.replace("1", "\uff11", 1),
        "0x" + DIGITS[2:],
    ],
)
def test_texts_that_are_no_uuid(spelling: str) -> None:
    """Nothing else is a UUID, whatever the standard library takes for one."""
    document = cluster()
    document["assignment_fence"]["participants"][0]["boot_incarnation"] = spelling
    place = "/assignment_fence/participants/0/boot_incarnation"
    assert outcome(document, "v10") == (Kind.UUID, place)


# --- maps ------------------------------------------------------------------------------------


def test_the_last_of_repeated_keys_counts() -> None:
    """A map may repeat a key, also in another spelling; every value must be of its type."""
    names = '"source_names": ["a"]'
    data = text(empty() | {"source_names": ["a"]}).decode()
    one = '{"offsets": {%s}, "metadata": {}}'
    twice = (
        '"source_offsets": {"a": '
        + one % '"x": "1"'
        + ', "\\u0061": '
        + one % ('"x": "1", "\\u0078": "2"')
        + "}"
    )
    document = data.replace('"source_offsets": {}', twice)
    assert names in document
    found = decode(document.encode()).source_offsets
    assert dict(found["a"].offsets) == {"x": "2"}
    wrong = document.replace('"x": "1", ', '"x": 1, ')
    assert outcome(wrong.encode(), "v10") == (Kind.TYPE, "/source_offsets/a/offsets/x")


# --- fences ----------------------------------------------------------------------------------

DEFECTS: list[tuple[str, Any]] = [
    ("/assignment_version", 0),
    ("/partitioning_abi_version", 1),
    ("/partitioning_abi_version", 3),
    ("/vnode_count", 0),
    ("/vnode_count", 65_536),
    ("/vnode_count", 2**32 - 1),
    ("/assignment_digest", [0] * 32),
    ("/participants", []),
    ("/participants", [{"node_id": n, "boot_incarnation": BOOT_1} for n in range(1, 131)]),
    ("/participants/0/node_id", 0),
    ("/participants/0/node_id", 2),
    ("/participants/0/node_id", 3),
    ("/participants/1/boot_incarnation", "00000000-0000-0000-0000-000000000000"),
]


@pytest.mark.parametrize(
    "where", ["assignment_fence", "subscription_output/assignment_certificate"]
)
@pytest.mark.parametrize(("pointer", "value"), DEFECTS)
def test_fence_that_is_not_canonical(where: str, pointer: str, value: Any) -> None:
    """A defect of a fence, or of the certificate in subscription output, rejects the document."""
    document = rich("v10")
    put(document, f"/{where}{pointer}", value)
    assert outcome(document, "v10") == (Kind.FENCE, f"/{where}")


@pytest.mark.parametrize("vnode_count", [1, 65_535])
def test_fence_at_the_bounds(vnode_count: int) -> None:
    """A fence over one vnode, and over as many as there can be."""
    document = cluster() | {"assignment_fence": fence() | {"vnode_count": vnode_count}}
    assert outcome(document, "v10") is None


# --- text ------------------------------------------------------------------------------------

GOOD = text(empty())


def _name_with(string: bytes) -> bytes:
    return GOOD.replace(b'"source_names": []', b'"source_names": ["' + string + b'"]')


def _nested(depth: int) -> bytes:
    """An unknown member that brings the document to *depth* arrays and objects."""
    return GOOD[:-1] + b', "x": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


REJECTED: dict[Kind, list[tuple[bytes, str]]] = {
    Kind.ENCODING: [
        (GOOD + b"\xff", ""),
        (GOOD.decode().encode("utf-16"), ""),
        (GOOD.decode().encode("utf-32"), ""),
        (_name_with(b"\xc0\x80"), ""),
        (_name_with(b"\xed\xa0\x80"), ""),
        (_name_with(b"\xed\xa0\xbd\xed\xb8\x80"), ""),
        (_name_with(b"\xf4\x90\x80\x80"), ""),
        (_name_with(b"\xe2\x82"), ""),
    ],
    Kind.BOM: [(b"\xef\xbb\xbf" + GOOD, ""), (b"\xef\xbb\xbf", "")],
    Kind.GRAMMAR: [
        (b"", ""),
        (b" \n", ""),
        (GOOD[:-1], ""),
        (GOOD.replace(b"[]", b"[,]", 1), ""),
        (GOOD.replace(b"[0, 1", b"[0, 1,", 1).replace(b"3]", b"3,]"), ""),
        (GOOD.replace(b'{"version"', b"{version"), ""),
        (GOOD.replace(b'"', b"'"), ""),
        (GOOD.replace(b": 10", b": 010"), ""),
        (GOOD.replace(b": 10", b": +10"), ""),
        (GOOD.replace(b": 10", b": 0x0a"), ""),
        (GOOD.replace(b": 10", b": 1_0"), ""),
        (GOOD.replace(b": 10", b": .1"), ""),
        (GOOD.replace(b": 10", b": 1."), ""),
        (GOOD.replace(b": 10", b": 1e"), ""),
        (GOOD.replace(b": 10", ": \uff11".encode()), ""),
        (GOOD.replace(b"null", b"None"), ""),
        (GOOD.replace(b"false", b"False"), ""),
        (GOOD.replace(b": 10", b": 10 // ten"), ""),
        (GOOD.replace(b": 10", b": /* ten */ 10"), ""),
        (GOOD.replace(b": 10", b":\x0b10"), ""),
        (GOOD.replace(b": 10", ":\u00a010".encode()), ""),
        (_name_with(rb"\x41"), ""),
        (_name_with(rb"\u12"), ""),
        (_name_with(rb"\u00_1"), ""),
        (_name_with(rb"\U0041"), ""),
    ],
    Kind.CONSTANT: [
        (GOOD.replace(b": 10", b": NaN"), ""),
        (GOOD.replace(b": 10", b": Infinity"), ""),
        (GOOD.replace(b": 10", b": -Infinity"), ""),
    ],
    Kind.CONTROL: [(_name_with(bytes([byte])), "") for byte in range(0x20)],
    Kind.SURROGATE: [
        (_name_with(rb"\ud800"), ""),
        (_name_with(rb"\uDFFF"), ""),
        (_name_with(rb"\udc00\ud800"), ""),
        (_name_with(rb"\ud800\u0041"), ""),
        (_name_with(rb"\ud800\ud800\udc00"), ""),
        (_name_with(rb"\ud800x\udc00"), ""),
        (_name_with(rb"\\\ud800"), ""),
        (GOOD.replace(b'"source_offsets": {}', rb'"source_offsets": {"\ud800": 1}'), ""),
    ],
    Kind.TRAILING: [
        (GOOD + b"0", ""),
        (GOOD + GOOD, ""),
        (GOOD + b"\x00", ""),
        (GOOD + b",", ""),
    ],
    Kind.DEPTH: [
        (_nested(128), ""),
        (_nested(129), ""),
        (_nested(5_000), ""),
        (b"[" * 128 + b"]" * 128, ""),
        (b'{"a":' * 128 + b"0" + b"}" * 128, ""),
        (b"[" * 1_000_000, ""),
    ],
    Kind.TYPE: [(b"null", ""), (b"0", ""), (b'""', ""), (b"true", "")],
    Kind.FRACTION: [(GOOD.replace(b": 10", b": 10.0"), "/version")],
    Kind.RANGE: [(GOOD.replace(b": 10", b": -1"), "/version")],
    Kind.REPEATED: [(GOOD[:-1] + b', "version": 10}', "/version")],
    Kind.UNKNOWN: [(GOOD[:-1] + b', "": 1}', "/"), (_nested(127), "/x")],
    Kind.MISSING: [(b"{}", "")],
    Kind.TAG: [
        (
            GOOD.replace(b'"state_frames": []', b'"state_frames": [[["x"], 1, 2, 3]]'),
            "/state_frames/0/0/0",
        )
    ],
    Kind.LENGTH: [(b"[]", "")],
    Kind.UUID: [
        (
            text(cluster()).replace(BOOT_1.encode(), b""),
            "/assignment_fence/participants/0/boot_incarnation",
        )
    ],
    Kind.FENCE: [
        (
            text(cluster()).replace(b'"assignment_version": 5', b'"assignment_version": 0'),
            "/assignment_fence",
        )
    ],
}


@pytest.mark.parametrize(
    ("kind", "data", "pointer"),
    [(kind, data, pointer) for kind, entries in REJECTED.items() for data, pointer in entries],
    ids=lambda value: value.value if isinstance(value, Kind) else "",
)
def test_rejection(kind: Kind, data: bytes, pointer: str) -> None:
    """Every kind of rejection, at its place."""
    assert outcome(data, "v10") == (kind, pointer)


def test_every_kind_is_rejected() -> None:
    """There is a document for every kind."""
    assert set(REJECTED) == set(Kind)


@pytest.mark.parametrize(
    "data",
    [
        b" \t\r\n" + GOOD + b" \t\r\n",
        GOOD.replace(b" ", b""),
        GOOD.replace(b" ", b"\n\t\r "),
        GOOD.replace(b'"version"', rb'"\u0076ersio\u006E"'),
        GOOD.replace(b'"version": 10, ', b"")[:-1] + b', "version": 10}',
    ],
)
def test_spellings_of_the_same_document(data: bytes) -> None:
    """White space, escapes and the order of members do not matter."""
    assert decode(data) == decode(GOOD)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\\ud800", "\\ud800"),
        (rb"\uD83D\uDE00", "\U0001f600"),
        (rb"\/", "/"),
        (rb"\u0000\u001f\u007f", "\0\x1f\x7f"),
        (b"\x7f", "\x7f"),
        ("\ufeff\ufffe\uffff".encode(), "\ufeff\ufffe\uffff"),
        (rb"\ufeff", "\ufeff"),
        (rb"\b\f\n\r\t\"\\", '\b\f\n\r\t"\\'),
        ("e\u0301 \u00e9".encode(), "e\u0301 \u00e9"),
        (b": -0 ", ": -0 "),
        (b"[-0, NaN", "[-0, NaN"),
    ],
)
def test_strings_that_are_taken(written: bytes, name: str) -> None:
    """A string is what is written, without any normalization."""
    assert decode(_name_with(written)).source_names == (name,)


def test_pointers_of_odd_names() -> None:
    """A pointer escapes what RFC 6901 escapes, and names the member as it reads."""
    document = empty() | {"source_offsets": {"a/b~c": {"offsets": {"": 1}, "metadata": {}}}}
    assert outcome(document, "v10") == (Kind.TYPE, "/source_offsets/a~1b~0c/offsets/")


def test_errors_are_told() -> None:
    """The error's text names the place, what is wrong there, and the kind."""
    with pytest.raises(DecodeError) as caught:
        decode(GOOD.replace(b": 10", b": 1.5"))
    assert str(caught.value) == (
        "/version: expected an integer in 0..=4294967295, found 1.5 [fraction]"
    )
    with pytest.raises(DecodeError) as caught:
        decode(b"")
    assert str(caught.value).startswith("the document: ")


@pytest.mark.parametrize("contract", [V9, V10])
def test_manifests_cannot_be_changed(contract: Contract) -> None:
    """Every value of a manifest is immutable and can be hashed."""
    manifest: CheckpointManifest = decode(text(rich(contract.name)), contract)
    assert hash(manifest) == hash(decode(text(rich(contract.name)), contract))
    with pytest.raises(dataclasses.FrozenInstanceError):
        manifest.version = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="make a new manifest"):
        manifest.source_offsets["x"] = None  # type: ignore[index]


def test_formats_are_the_contracts() -> None:
    """The tests know every format of the oracle, and no other."""
    assert list(FEATURES) == FORMATS
