"""Make a cut that shows a disagreement as small as it can be and still show the same one.

Documents are left out, and then what stands in them, one list and map after another. A document
that became another is named anew by the index, so that the small cut is broken only where the
large one was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import oracle
from fuzz.cuts import CutComparison, CutDocuments, compare_cut
from fuzz.engines.protocol import StoreEngine
from fuzz.mutator.cuts import committed, named, with_manifest
from fuzz.mutator.documents import Tree, read_exactly, write
from fuzz.mutator.seal import UNFIT
from fuzz.outcome import Signature
from fuzz.reduce import SECONDS

Put = Callable[[CutDocuments, bytes], CutDocuments]


@dataclass(frozen=True, slots=True)
class ReducedCut:
    """The smallest cut that was found; ``finished`` is false where there was no time for all."""

    documents: CutDocuments
    comparison: CutComparison
    finished: bool


def reduce_cut(
    documents: CutDocuments, engine: StoreEngine, seconds: float = SECONDS
) -> ReducedCut:
    """Reduce *documents*, on which the two differ, for at most *seconds*."""
    reducer = _Reducer(documents, engine, time.monotonic() + seconds)
    finished = True
    try:
        while reducer.makes_progress():
            pass
    except TimeoutError:
        finished = False
    return ReducedCut(reducer.documents, reducer.comparison, finished)


class _Reducer:
    """The state of one reduction: the best cut so far."""

    def __init__(self, documents: CutDocuments, engine: StoreEngine, end: float) -> None:
        self.documents = documents
        self._engine = engine
        self._end = end
        self.comparison = compare_cut(engine, documents)
        self._wanted = _signature(self.comparison)

    def makes_progress(self) -> bool:
        """Try everything once; gives whether something got smaller."""
        before = self.documents
        self._take(replace(self.documents, predecessor=None))
        for number in reversed(range(len(self.documents.manifests))):
            fewer = (*self.documents.manifests[:number], *self.documents.manifests[number + 1 :])
            self._take(replace(self.documents, manifests=fewer))
        for number in range(len(self.documents.manifests)):
            put = partial(_put_manifest, number)
            self._thin_out(self.documents.manifests[number], put)
        if self.documents.predecessor is not None:
            self._thin_out(self.documents.predecessor, _put_predecessor)
        self._thin_out(self.documents.index, _put_index)
        return self.documents != before

    def _thin_out(self, document: bytes, put: Put) -> None:
        """Take out what can be taken out of the lists and maps of *document*."""
        try:
            tree = read_exactly(document)
        except (ValueError, RecursionError):
            return
        for smaller in _thinner(tree):
            smaller.keep(self._take(put(self.documents, write(tree))))

    def _take(self, smaller: CutDocuments) -> bool:
        """Take *smaller* for the best, as it is or bound again, if it shows the same."""
        return any(self._shows(candidate) for candidate in _bindings(smaller))

    def _shows(self, candidate: CutDocuments) -> bool:
        if time.monotonic() > self._end:
            raise TimeoutError
        if _size(candidate) >= _size(self.documents):
            return False
        found = compare_cut(self._engine, candidate)
        if _signature(found) != self._wanted:
            return False
        self.documents, self.comparison = candidate, found
        return True


def _signature(found: CutComparison) -> Signature | None:
    return None if found.first is None else found.first.signature


def _size(documents: CutDocuments) -> int:
    parts = (documents.index, documents.predecessor or b"", *documents.manifests)
    return sum(len(part) + 1 for part in parts)


def _bindings(documents: CutDocuments) -> Iterator[CutDocuments]:
    yield documents
    for bind in (named, partial(committed, agreeing=False)):
        try:
            yield bind(documents)
        except (*UNFIT, oracle.DecodeError):
            continue


def _put_index(documents: CutDocuments, document: bytes) -> CutDocuments:
    return replace(documents, index=document)


def _put_predecessor(documents: CutDocuments, document: bytes) -> CutDocuments:
    return replace(documents, predecessor=document)


def _put_manifest(number: int, documents: CutDocuments, document: bytes) -> CutDocuments:
    return with_manifest(documents, number, document)


class _Removal:
    """One part that is out of a list or map of a tree, until it is said whether it stays out."""

    def __init__(self, holder: Tree, key: Tree) -> None:
        self._holder = holder
        self._before = holder.copy()
        del holder[key]

    def keep(self, is_kept: bool) -> None:
        """Leave it out, or put it back."""
        if is_kept:
            return
        self._holder.clear()
        if isinstance(self._holder, dict):
            self._holder.update(self._before)
        else:
            self._holder.extend(self._before)


def _thinner(tree: Tree) -> Iterator[_Removal]:
    """Take one part after another out of *tree*, from the top down."""
    if not isinstance(tree, (list, dict)):
        return
    keys = range(len(tree)) if isinstance(tree, list) else tree.keys()
    for key in reversed([*keys]):
        yield _Removal(tree, key)
    for inner in tree if isinstance(tree, list) else tree.values():
        yield from _thinner(inner)
