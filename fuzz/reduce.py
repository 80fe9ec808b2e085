"""Make a document that shows a disagreement as small as it can be and still show the same one.

The document's tree is taken apart, longest lists first. What a manifest says of itself (where its
ranges lie, how often a chunk is used, the digest of its output) is made right again after each
step, so that the small document is broken only where the large one was. A document that is no
JSON is taken apart byte by byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from fuzz.comparison import Comparison, compare
from fuzz.engines.protocol import Engine
from fuzz.mutator.documents import Tree, read_exactly, write
from fuzz.mutator.mutations import copied
from fuzz.mutator.seal import Sealer
from fuzz.mutator.values import Values
from oracle import Contract

SECONDS = 60.0
"""How long a reduction may take."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest document that was found, and the key groups that it is held against."""

    document: bytes
    key_groups: int
    comparison: Comparison
    finished: bool
    """Whether no step was left to be tried."""


def reduce(
    document: bytes,
    key_groups: int,
    engine: Engine,
    contract: Contract,
    seconds: float = SECONDS,
) -> Reduced:
    """Reduce *document* under the signature of its comparison for at most *seconds*."""
    reducer = _Reducer(document, key_groups, engine, contract, time.monotonic() + seconds)
    finished = True
    try:
        reducer.run()
    except _OutOfTime:
        finished = False
    return Reduced(reducer.document, reducer.key_groups, reducer.comparison, finished)


class _OutOfTime(Exception):
    """The time is up; what was found so far counts."""


# A repair that leaves fewer rules broken may cost so many bytes.
_REPAIR_BYTES = 200

# What a value is replaced by, the plainest first.
_PLAIN: tuple[Tree, ...] = (None, [], {}, False, 0, 1, "", "a")


class _Reducer:
    """The state of one reduction: the best document so far."""

    def __init__(
        self, document: bytes, key_groups: int, engine: Engine, contract: Contract, end: float
    ) -> None:
        self.document = document
        self.key_groups = key_groups
        self._engine = engine
        self._contract = contract
        self._end = end
        self._sealer = Sealer(contract, Values(Random(0)))
        self.comparison = compare(document, engine, key_groups, contract)
        self._wanted = self.comparison.signature
        self._rules = self.comparison.oracle.rules
        self._tree: Tree = None

    def run(self) -> None:
        """Reduce until nothing gets smaller."""
        with suppress(ValueError, RecursionError):
            tree = read_exactly(self.document)
            if self._shows(write(tree), self.key_groups, anyway=True):
                self._tree = tree
                self._reduce_tree()
                return
        self._reduce_bytes()

    def _shows(self, document: bytes, key_groups: int, *, anyway: bool = False) -> bool:
        """Whether *document* shows the same and is simpler, or is to be taken *anyway*.

        One that breaks fewer rules is simpler, and of two that break the same the smaller.
        """
        if time.monotonic() > self._end:
            raise _OutOfTime
        if not anyway and len(document) > len(self.document) + _REPAIR_BYTES:
            return False
        found = compare(document, self._engine, key_groups, self._contract)
        rules = found.oracle.rules
        if found.signature != self._wanted or not rules <= self._rules:
            return False
        if not anyway and rules == self._rules and len(document) >= len(self.document):
            return False
        self.document, self.key_groups, self.comparison = document, key_groups, found
        self._rules = found.oracle.rules
        return True

    # --- trees -------------------------------------------------------------------------------

    def _reduce_tree(self) -> None:
        self._repair()
        before = None
        while before != self.document:
            before = self.document
            self._one_vnode()
            self._shorten_lists()
            self._drop_members()
            self._replace_values()

    def _try(self, change: Callable[[Tree], None]) -> bool:
        """Keep what *change* does to the tree, as it is or made right again, if it still shows."""
        for repair in (False, True):
            tree = copied(self._tree)
            try:
                change(tree)
                if repair:
                    self._sealer.derive(tree)
            except (LookupError, TypeError, ValueError, AttributeError):
                return False
            if self._shows(write(tree), self.key_groups):
                self._tree = tree
                return True
        return False

    def _one_vnode(self) -> None:
        """Try the fewest vnodes, which takes several changes at once."""
        for count in (1, 2, 4):
            tree = copied(self._tree)
            with suppress(LookupError, TypeError, ValueError, AttributeError):
                tree["vnode_count"] = count
                if tree.get("assignment_fence") is None:
                    tree["owned_vnodes"] = [*range(count)]
                else:
                    tree["assignment_fence"]["vnode_count"] = count
                    tree["owned_vnodes"] = [v for v in tree["owned_vnodes"] if v < count] or [0]
                tree["state_frames"] = [
                    frame for frame in tree["state_frames"] if frame["key"].get("vnode", 0) < count
                ]
                self._sealer.derive(tree)
                if self._shows(write(tree), count):
                    self._tree = tree
                    return

    def _repair(self) -> None:
        """Try every repair that leaves what differs as it is."""
        for part in self._sealer.parts:
            self._try(part)

    def _shorten_lists(self) -> None:
        paths = [path for path, value in _walk(self._tree) if isinstance(value, list) and value]
        for path in sorted(paths, key=lambda path: -len(write(_at(self._tree, path)))):
            with suppress(LookupError, TypeError):
                self._shorten(path)

    def _shorten(self, path: Path) -> None:
        """Cut parts out of one list: halves first, single elements last."""
        part = len(_at(self._tree, path))
        while part:
            start = 0
            while start < len(_at(self._tree, path)):
                end = start + part

                def cut(tree: Tree, start: int = start, end: int = end) -> None:
                    del _at(tree, path)[start:end]

                if not self._try(cut):
                    start = end
            part = min(part // 2, len(_at(self._tree, path)))

    def _drop_members(self) -> None:
        for path, value in [*_walk(self._tree)]:
            for name in [*value] if isinstance(value, dict) else ():

                def drop(tree: Tree, path: Path = path, name: str = name) -> None:
                    del _at(tree, path)[name]

                self._try(drop)

    def _replace_values(self) -> None:
        for path, value in [*_walk(self._tree)]:
            if not path:
                continue
            for plain in _PLAIN:
                if len(write(plain)) >= len(write(value)):
                    continue

                def put(tree: Tree, path: Path = path, plain: Tree = plain) -> None:
                    _at(tree, path[:-1])[path[-1]] = copied(plain)

                if self._try(put):
                    break

    # --- bytes -------------------------------------------------------------------------------

    def _reduce_bytes(self) -> None:
        """Cut out parts, halves first, until no single byte can go."""
        part = len(self.document) // 2
        while part:
            start, shorter = 0, False
            while start < len(self.document):
                if self._shows(
                    self.document[:start] + self.document[start + part :], self.key_groups
                ):
                    shorter = True
                else:
                    start += part
            if part > 1 or not shorter:
                part //= 2


Path = tuple[str | int, ...]


def _walk(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every value with its path, from the top down."""
    yield path, tree
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _walk(value, (*path, name))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _walk(value, (*path, index))


def _at(tree: Tree, path: Path) -> Tree:
    """The value at *path*; :class:`LookupError` or :class:`TypeError` where there is none."""
    for token in path:
        tree = tree[token]
    return tree
