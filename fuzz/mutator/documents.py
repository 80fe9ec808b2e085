"""Documents as trees: what :mod:`json` reads, and marks for what it cannot write.

A tree is made of dictionaries, lists, strings, numbers, booleans and ``None``. Reading and writing
are the standard library's compiled code, because a campaign does both for every input. Two
spellings that no such tree has are written through marks in strings: a literal that stands as it
is, and a repeated name.
"""

from __future__ import annotations

import json
import re
from typing import Any

Tree = Any

_LITERAL = "\0literal:"
_AGAIN = "\0again:"
_MARK = re.compile(r'"\\u0000literal:([^"]*)"|\\u0000again:\d+(?=")')

_WRITER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def read(document: bytes) -> Tree:
    """The tree of *document*; of a repeated name the last value.

    Raises :class:`ValueError` or :class:`RecursionError` where it is not JSON to Python.
    """
    return json.loads(document.decode())


def write(tree: Tree) -> bytes:
    """The text of *tree*, without white space."""
    text = _WRITER.encode(tree)
    if "\\u0000" in text:
        text = _MARK.sub(lambda mark: mark[1] or "", text)
    # A lone surrogate becomes bytes that are not UTF-8: one more thing to ask both sides about.
    return text.encode("utf-8", "surrogatepass")


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
