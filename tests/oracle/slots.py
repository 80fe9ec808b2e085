"""Every place of a document with the type that the contract gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.oracle.contract_types import INTEGERS, STRUCTS, VARIANTS, fields_in
from tests.oracle.documents import Document, local, subscribed, view_logs


class Slot(NamedTuple):
    """A place: its JSON Pointer, its type, whether it is optional, and what stands there."""

    pointer: str
    kind: str
    optional: bool
    value: Any


def rich(contract: str) -> Document:
    """A document of the format that has every type, not all of it valid together."""
    document = view_logs() if contract == "view-log" else local()
    document["source_offsets"]["orders"]["source_assignment_version"] = 3
    output = subscribed()
    document["assignment_fence"] = output["assignment_fence"]
    if contract == "v9":
        del document["sink_artifact_intents"]
    else:
        document["subscription_output"] = output["subscription_output"]
        streams = document["subscription_output"]["streams"]
        streams[1]["distribution_certificate"]["distribution"] = {
            "kind": "singleton",
            "partition": 0,
        }
    # Without objects that stand in two places, so that a change changes one.
    separate: Document = json.loads(json.dumps(document))
    return separate


def slots(value: Any, kind: str, contract: str, pointer: str = "") -> Iterator[Slot]:
    """The place at *pointer* and every one inside it."""
    optional, kind = kind.endswith("?"), kind.rstrip("?")
    yield Slot(pointer, kind, optional, value)
    if value is None:
        return
    if "|" in kind:
        kind = value["kind"]
    if kind in STRUCTS:
        for name, inner, _ in fields_in(kind, contract):
            if name in value:
                yield from slots(value[name], inner, contract, f"{pointer}/{name}")
    elif kind.startswith("["):
        for index, item in enumerate(value):
            yield from slots(item, kind[1:-1], contract, f"{pointer}/{index}")
    elif kind.startswith("map "):
        for name, item in value.items():
            yield from slots(item, kind[4:], contract, f"{pointer}/{name}")
    elif kind in ("bytes", "digest"):
        yield Slot(f"{pointer}/0", "u8", False, value[0])


def all_slots(contract: str) -> list[Slot]:
    """A place of the rich document of a format for each type and field, wherever both differ."""
    found: dict[object, Slot] = {}
    for slot in slots(rich(contract), "CheckpointManifest", contract):
        key = (re.sub(r"/\d+", "/*", slot.pointer), struct_of(slot), slot.value is None)
        found.setdefault(key, slot)
    return list(found.values())


def struct_of(slot: Slot) -> str | None:
    """The struct or variant that stands at a place."""
    name: str = slot.value["kind"] if "|" in slot.kind and slot.value else slot.kind
    return name if name in STRUCTS and slot.value is not None else None


def array_form(value: Any, name: str, contract: str) -> list[Any]:
    """A struct as an array of its fields in declaration order, with the tag before them."""
    fields = [value[field] for field, _, _ in fields_in(name, contract) if field in value]
    return [name, *fields] if name in VARIANTS else fields


def as_arrays(value: Any, kind: str, contract: str) -> Any:
    """The value with every struct inside it in array form."""
    kind = kind.rstrip("?")
    if value is None:
        return None
    if "|" in kind:
        kind = value["kind"]
    if kind in STRUCTS:
        inner = {
            field: as_arrays(value[field], type_, contract)
            for field, type_, _ in fields_in(kind, contract)
            if field in value
        }
        return array_form(inner, kind, contract)
    if kind.startswith("["):
        return [as_arrays(item, kind[1:-1], contract) for item in value]
    if kind.startswith("map "):
        return {name: as_arrays(item, kind[4:], contract) for name, item in value.items()}
    return value


def is_integer(slot: Slot) -> bool:
    """Whether an integer stands at a place."""
    return slot.kind in INTEGERS
