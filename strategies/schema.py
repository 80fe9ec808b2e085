"""A JSON Schema of the manifest's type: what a schema can say of it, and no more."""

from __future__ import annotations

from functools import partial
from typing import Any

from oracle import CheckpointManifest, Contract
from oracle.model import BYTE
from oracle.shapes import TAG
from strategies.texts import kind_of, members_of

Schema = dict[str, Any]


def schema_of(contract: Contract) -> Schema:
    """The schema (draft 2020-12) of the object form that canonical encodings of *contract* have."""
    of = partial(_schema, contract=contract)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **of(CheckpointManifest)}


def _schema(wanted: Any, contract: Contract) -> Schema:
    kind, detail = kind_of(wanted)
    if kind == "integer":
        return {"type": "integer", "minimum": detail.least, "maximum": detail.greatest}
    if kind == "bytes":
        byte = {"type": "integer", "minimum": BYTE.least, "maximum": BYTE.greatest}
        sized = {} if detail is None else {"minItems": detail, "maxItems": detail}
        return {"type": "array", "items": byte, **sized}
    if kind == "optional":
        return {"anyOf": [{"type": "null"}, _schema(detail, contract)]}
    if kind == "list":
        return {"type": "array", "items": _schema(detail, contract)}
    if kind == "map":
        return {"type": "object", "additionalProperties": _schema(detail, contract)}
    if kind == "tagged":
        return {"anyOf": [_struct(variant, contract, variant.kind) for variant in detail]}
    if kind == "struct":
        return _struct(detail, contract)
    if kind == "names":
        return {"enum": [variant.value for variant in detail]}
    if kind == "uuid":
        return {"type": "string", "format": "uuid"}
    return {"type": kind}


def _struct(shape: Any, contract: Contract, tag: str | None = None) -> Schema:
    plan = members_of(shape, contract)
    properties = {member.name: _schema(member.wanted, contract) for member in plan}
    required = [member.name for member in plan if not member.defaulted]
    if tag is not None:
        properties[TAG] = {"const": tag}
        required.append(TAG)
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }
