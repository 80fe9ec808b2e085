"""Make a document smaller, as long as the oracle says the same of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fuzz.regression.cases import Expectation, divergence_of, expectation
from oracle import Contract
from oracle.errors import DecodeError
from oracle.text import Float, parse


def reduced(document: bytes, key_groups: int, contract: Contract) -> bytes:
    """*document* with lists and maps as short as its verdict allows; a text that is not JSON stays.

    The verdict is stage, kind, rules and hazards; the canonical encoding is not among them once
    the document is written anew, and a document whose verdict depends on its spelling stays.
    """

    def verdict(text: bytes) -> tuple[Expectation, str | None]:
        found = expectation(text, key_groups, contract)
        return found, divergence_of(found, text, contract)

    wanted = verdict(document)
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
            if len(text) < len(best) and verdict(text) == wanted:
                tree, best, progress = smaller, text, True
                break
    return best


def _smaller(tree: Any) -> Iterator[Any]:
    """The tree with a part of a list or an object left out, larger parts first."""
    if not isinstance(tree, (list, tuple)):
        return
    kind: Any = type(tree)
    items: list[Any] = list(tree)
    for size in (len(items) // 2, 1):
        for start in range(0, len(items), size or 1):
            yield kind(items[:start] + items[start + size :])
    for index, item in enumerate(items):
        for smaller in _smaller(item[1] if kind is tuple else item):
            changed = (item[0], smaller) if kind is tuple else smaller
            yield kind([*items[:index], changed, *items[index + 1 :]])


def _write(tree: Any) -> str:
    if isinstance(tree, tuple):
        members = (f"{json.dumps(name, ensure_ascii=False)}:{_write(item)}" for name, item in tree)
        return f"{{{','.join(members)}}}"
    if isinstance(tree, list):
        return f"[{','.join(map(_write, tree))}]"
    return str(tree) if isinstance(tree, Float) else json.dumps(tree, ensure_ascii=False)
