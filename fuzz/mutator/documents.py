"""Documents as trees: what :mod:`json` reads, and marks for what it cannot write.

A tree is made of dictionaries, lists, strings, numbers, booleans and ``None``. Reading and writing
are compiled code, because a campaign does both for every input. Two spellings that no such tree
has are written through marks in strings: a literal that stands as it is, and a repeated name.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

Tree = Any

_LITERAL = "\0literal:"
_AGAIN = "\0again:"
_MARK = re.compile(rb'"\\u0000literal:([^"]*)"|\\u0000again:\d+(?=")')

_WRITER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def read(document: bytes) -> Tree:
    """The tree of *document*; of a repeated name the last value.

    An integer beyond 64 bits becomes a float. Raises :class:`ValueError` where it is not JSON.
    """
    return orjson.loads(document)


def write(tree: Tree) -> bytes:
    """The text of *tree*, without white space."""
    try:
        text = orjson.dumps(tree)
    except TypeError:
        # An integer beyond 64 bits; or a lone surrogate, which becomes bytes that are not UTF-8:
        # one more thing to ask both sides about.
        text = _WRITER.encode(tree).encode("utf-8", "surrogatepass")
    return _MARK.sub(rb"\1", text) if b"\\u0000" in text else text


def literal(text: str) -> str:
    """A value that is written as *text*, which has no quotation mark, without quotes."""
    return _LITERAL + text


def again(name: str, number: int) -> str:
    """A name that is written as *name*, beside another that is."""
    return f"{name}{_AGAIN}{number}"


def read_exactly(document: bytes) -> Tree:
    """The tree of *document* with its repeated names and the spelling of its numbers.

    Written again, only white space and the spelling of strings may differ. Raises as
    :func:`read` does.
    """

    def members(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
        made: dict[str, Tree] = {}
        for number, (name, value) in enumerate(pairs):
            made[again(name, number) if name in made else name] = value
        return made

    def integer(text: str) -> Tree:
        return int(text) if len(text) <= _EXACT_DIGITS and str(int(text)) == text else literal(text)

    return json.loads(
        document.decode(),
        object_pairs_hook=members,
        parse_float=literal,
        parse_int=integer,
        parse_constant=literal,
    )


_EXACT_DIGITS = 40
