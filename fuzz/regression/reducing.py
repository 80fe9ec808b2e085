"""Make a document smaller, as long as the oracle says the same of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fuzz.regression.cases import Expectation, expectation
from oracle import Contract
from oracle.errors import DecodeError
from oracle.text import Float, parse


def reduced(document: bytes, key_groups: int, contract: Contract) -> bytes:
    """*document* with lists and maps as short as its verdict allows; a text that is not JSON stays.

    The verdict is stage, kind, rules and hazards; the canonical encoding is not among them once
    the document is written anew, and a document whose verdict depends on its spelling stays.
    """
    wanted = expectation(document, key_groups, contract)
    try:
        tree = parse(document)
    except DecodeError:
        return document
    best = document
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(tree):
            text = _write(smaller).encode("utf-8", "surrogatepass")
            if len(text) < len(best) and _same(expectation(text, key_groups, contract), wanted):
                tree, best, progress = smaller, text, True
                break
    return best


def _same(found: Expectation, wanted: Expectation) -> bool:
    return found == wanted


def _smaller(tree: Any) -> Iterator[Any]:
    """The tree with one element of a list, or one member of an object, left out; large parts first."""
    if isinstance(tree, (list, tuple)):
        for size in (len(tree) // 2, 1):
            if size:
                for start in range(0, len(tree), size):
                    yield tree[:start] + tree[start + size :]
        for index, item in enumerate(tree):
            inner = item[1] if isinstance(tree, tuple) else item
            for smaller in _smaller(inner):
                changed = (item[0], smaller) if isinstance(tree, tuple) else smaller
                part: Any = (changed,) if isinstance(tree, tuple) else [changed]
                yield tree[:index] + part + tree[index + 1 :]


def _write(tree: Any) -> str:
    if isinstance(tree, tuple):
        members = (f"{json.dumps(name, ensure_ascii=False)}:{_write(item)}" for name, item in tree)
        return f"{{{','.join(members)}}}"
    if isinstance(tree, list):
        return f"[{','.join(map(_write, tree))}]"
    return str(tree) if isinstance(tree, Float) else json.dumps(tree, ensure_ascii=False)
