"""The canonical encoding: JSON without spaces, names sorted, nothing escaped that need not be."""

from __future__ import annotations

import json
from typing import Any

from oracle.model import CheckpointManifest
from oracle.shapes import encoder

# Two-letter escapes; every other control character becomes \u00xx, everything else stays raw.
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}

_WRITER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
)


def escape(character: str) -> str:
    """How the canonical encoding writes one character of a string."""
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < " " else character


def canonical_json_bytes(value: Any, without: str | None = None) -> bytes:
    """The canonical encoding of *value*, an instance of one of the model's structs.

    *without* names a field of the struct itself that is left out.
    """
    shape: Any = type(value)
    members = encoder(shape)(value)
    if without is not None:
        del members[without]
    return _WRITER.encode(members).encode()


def encode(manifest: CheckpointManifest) -> bytes:
    """The canonical bytes of *manifest*; decoding them gives the manifest again."""
    return canonical_json_bytes(manifest)
