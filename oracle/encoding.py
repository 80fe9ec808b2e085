"""The canonical encoding: JSON without spaces, names sorted, nothing escaped that need not be."""

from __future__ import annotations

from typing import Any

from oracle.formats import V10, Contract
from oracle.interpreter import with_room_to_recurse
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


def escape(character: str) -> str:
    """How the canonical encoding writes one character of a string."""
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < " " else character


def canonical_json_bytes(value: Any, contract: Contract = V10) -> bytes:
    """The canonical encoding of *value*, an instance of one of the model's structs."""
    shape: Any = type(value)
    text: str = encoder(shape, contract)(value)
    return text.encode()


@with_room_to_recurse
def encode(manifest: CheckpointManifest, contract: Contract = V10) -> bytes:
    """The canonical bytes of *manifest*; decoding them gives the manifest again.

    Formats spell the fields that they share alike, so *contract* matters only where a file of
    facts renames some. What a manifest does not have is left out, whatever the format.
    """
    return canonical_json_bytes(manifest, contract)
