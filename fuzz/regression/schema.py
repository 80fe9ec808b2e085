"""JSON Schemas of the index and the vectors, made from the code."""

from __future__ import annotations

import json
from typing import Any

from fuzz.cuts import CONTRACT
from fuzz.regression.cases import Case, Flag
from fuzz.regression.cuts import STEPS, CutCase
from fuzz.regression.vectors import DIGESTS, VectorFlag
from oracle import CONTRACTS, MAX_KEY_GROUP_COUNT, RULES, Kind, Level, Stage, cuts

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_RULES = [rule.id for rule in RULES.values() if rule.level in (Level.RULE, Level.FAULT)]
_HAZARDS = [rule.id for rule in RULES.values() if rule.level is Level.HAZARD]


def _list_of(names: list[str]) -> dict[str, Any]:
    return {"type": "array", "items": {"enum": names}, "uniqueItems": True}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT = {"type": "string", "minLength": 1}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def case_schema() -> dict[str, Any]:
    """Schema of one line of ``index.jsonl``."""
    properties: dict[str, Any] = {
        "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9./_-]*$"},
        "file": {"type": "string", "pattern": "^cases/.+\\.json$"},
        "contract": {"enum": list(CONTRACTS)},
        "key_groups": {"type": "integer", "minimum": 1, "maximum": MAX_KEY_GROUP_COUNT},
        "stage": {"enum": [stage.value for stage in Stage]},
        "kind": _or_null({"enum": [kind.value for kind in Kind]}),
        "rules": _list_of(_RULES),
        "unspecified": _list_of(_RULES),
        "hazards": _list_of(_HAZARDS),
        "flags": _list_of([flag.value for flag in Flag]),
        "neighbour": _or_null(_TEXT),
        "divergence": _or_null(_TEXT),
        "origin": _TEXT,
        "why": _TEXT,
        "sha256": _SHA256,
    }
    return {
        "$schema": _DRAFT,
        "title": "A case of the corpus: one line of index.jsonl",
        "description": (Case.__doc__ or "").strip(),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": {
            "flags": {
                flag.value: {"const": flag.value, "description": flag.statement} for flag in Flag
            }
        },
    }


def cut_schema() -> dict[str, Any]:
    """Schema of one line of ``cuts.jsonl``."""
    case = case_schema()
    inherited = ("kind", "flags", "divergence", "origin", "why")
    properties: dict[str, Any] = {
        "id": case["properties"]["id"],
        "directory": {"type": "string", "pattern": "^cuts/.+$"},
        "contract": {"const": CONTRACT.name},
        "step": {"enum": list(STEPS)},
        "rule": _or_null({"enum": list(cuts.RULES)}),
        **{name: case["properties"][name] for name in inherited},
        "files": {
            "type": "object",
            "propertyNames": {
                "pattern": r"^(index|predecessor|manifest-[1-9][0-9]*)\.json$",
            },
            "additionalProperties": _SHA256,
            "required": ["index.json"],
        },
    }
    return {
        **case,
        "title": "A whole cut of the corpus: one line of cuts.jsonl",
        "description": (CutCase.__doc__ or "").strip(),
        "properties": properties,
        "required": list(properties),
    }


def vectors_schema() -> dict[str, Any]:
    """Schema of ``vectors.json``."""
    vector = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "comment": _TEXT,
            "flags": _list_of([flag.value for flag in VectorFlag]),
            "input": {"type": "object"},
            "digest": _SHA256,
            "result": {"enum": ["valid", "invalid"]},
        },
        "required": ["id", "comment", "flags", "input", "digest", "result"],
        "additionalProperties": False,
    }
    group = {
        "type": "object",
        "properties": {
            "digest": {"enum": list(DIGESTS)},
            "input": _TEXT,
            "vectors": {"type": "array", "items": vector},
        },
        "required": ["digest", "input", "vectors"],
        "additionalProperties": False,
    }
    return {
        "$schema": _DRAFT,
        "title": "Digest vectors",
        "type": "object",
        "properties": {
            "flags": {"type": "object", "additionalProperties": {"type": "string"}},
            "groups": {"type": "array", "items": group},
        },
        "required": ["flags", "groups"],
        "additionalProperties": False,
    }


def files() -> dict[str, str]:
    """Every schema with the name of its file below the corpus."""
    made = {
        "index.schema.json": case_schema(),
        "cuts.schema.json": cut_schema(),
        "vectors.schema.json": vectors_schema(),
    }
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in made.items()}
