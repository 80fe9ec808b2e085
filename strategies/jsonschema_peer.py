"""hypothesis-jsonschema, as the peer that generates from a JSON Schema of the same type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis.internal.conjecture import utils
from hypothesis.strategies import SearchStrategy
from hypothesis_jsonschema import _from_schema, from_schema

from oracle import Contract
from strategies.schema import schema_of


class _Many:
    """The loop control of older Hypothesis releases, on top of the present one.

    hypothesis-jsonschema 0.23.1 asks ``more()`` for the next round, where Hypothesis now wants
    a ``for`` loop in a ``with`` block.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._many = utils.many(*arguments, **options)
        self._rounds: Iterator[None] | None = None

    def more(self) -> bool:
        """Whether there is another round."""
        if self._rounds is None:
            self._rounds = iter(self._many.__enter__())
        for _ in self._rounds:
            return True
        self._many.__exit__(None)
        return False

    def reject(self, why: str | None = None) -> None:
        """Take back what the present round gave."""
        self._many.reject(why)


class _Utils:
    many = _Many


def documents(contract: Contract) -> SearchStrategy[Any]:
    """JSON values that keep the schema of *contract*."""
    if not hasattr(utils.many, "more"):
        vars(_from_schema)["cu"] = _Utils
    return from_schema(schema_of(contract))
