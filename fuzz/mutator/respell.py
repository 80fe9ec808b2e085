"""The same document in other letters: escapes, white space, and what is nearly that."""

from __future__ import annotations

import json

from fuzz.mutator.documents import Tree
from fuzz.mutator.values import Values

_SHORT = {'"': '\\"', "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# What stands where only white space may: four kinds that are allowed, and some that are not.
_SPACES = (
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n  ",
    b"\f",
    b"\v",
    b"\xc2\xa0",
    b"\xef\xbb\xbf",
    b"//\n",
)
_STRUCTURAL = b"{}[]:,"


def respell(document: bytes, values: Values) -> bytes:
    """*document* with one part spelled in another way, accepted or just not."""
    kind = values.below(8)
    if kind <= 2:
        return _space(document, values)
    if kind <= 5:
        return _escape(document, values)
    if kind == 6:
        space = values.pick(_SPACES)
        return document + space if values.chance(0.6) else space + document
    return _pretty(document, values)


def _space(document: bytes, values: Values) -> bytes:
    """Insert white space before a structural character, or a letter where none may be."""
    start = values.below(len(document) + 1)
    mark = values.pick(_STRUCTURAL)
    place = document.find(mark, start)
    if place < 0:
        place = start
    return document[:place] + values.pick(_SPACES) + document[place:]


def _escape(document: bytes, values: Values) -> bytes:
    """Write one character as an escape; it may be one that starts or ends a string."""
    start = values.below(len(document) + 1)
    quote = document.find(b'"', start) + 1
    if not 0 < quote < len(document):
        return document
    place = quote + values.below(min(8, len(document) - quote))
    character = document[place : place + 1].decode("ascii", "replace")
    escapes = [
        f"\\u{ord(character):04x}",
        f"\\u{ord(character):04X}",
        _SHORT.get(character, character),
        "\\ud83d\\ude00",
        "\\ud83d",
        "\\ude00\\ud83d",
        f"\\x{ord(character) % 256:02x}",
        f"\\U{ord(character):04x}",
        "\\u0000",
        "\x7f",
        "\x1f",
    ]
    return document[:place] + values.pick(escapes).encode() + document[place + 1 :]


def _pretty(document: bytes, values: Values) -> bytes:
    """Write it as another program might: with spaces, and everything beyond ASCII escaped."""
    try:
        tree: Tree = json.loads(document)
    except (ValueError, RecursionError):
        return document
    indent = values.pick((None, 0, 1, "\t"))
    return json.dumps(tree, indent=indent, sort_keys=values.chance(0.5)).encode(
        "utf-8", "surrogatepass"
    )
