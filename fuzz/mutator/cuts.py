"""Makes cuts from cuts: texts that hold an index, its manifests and its predecessor.

A manifest is changed by the mutator of manifests, an index by its form, and a whole cut by being
broken in one of the ways that the strategies know. Any change breaks what binds the documents
together, so most of the time the cut is bound again: the index names the manifests and the
predecessor by what they have become, or is made anew from the manifests.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

import oracle
from fuzz.cut_files import read_cut
from fuzz.cuts import CONTRACT, CutDocuments
from fuzz.mutator import ByteMutation, Mutator
from fuzz.mutator.documents import Tree, read, write
from fuzz.mutator.forms import struct_form
from fuzz.mutator.mutations import Mutations
from fuzz.mutator.seal import UNFIT
from fuzz.mutator.values import Values
from fuzz.regression.cuts import read as read_cases
from oracle import CheckpointManifest, cuts
from oracle.cuts import CommittedCheckpointIndex, encode_index, participant_reference, reference_of
from oracle.cuts.binding import CUT_FIELDS
from strategies.cut_breakages import BREAKAGES, full_cut
from strategies.cut_index import WholeCut, commit
from strategies.dice import Dice

_ROLLS = 12
_LARGEST_SEED = 20_000

Change = Callable[[CutDocuments], CutDocuments]


class CutMutator:
    """Mutates and crosses cuts, reproducibly for a seed."""

    def __init__(self, seed: int, bytewise: ByteMutation | None = None) -> None:
        """Make cuts; *bytewise* is asked for plain byte mutations."""
        self._values = Values(Random(seed))
        self._manifests = Mutator(CONTRACT, seed, bytewise)
        form = struct_form(CommittedCheckpointIndex, CONTRACT)
        self._indexes = Mutations(form, self._values)
        self._bytewise = bytewise
        self._seeds = seeds()

    def mutate(self, text: bytes, most: int) -> bytes:
        """A cut made from *text*, of at most *most* bytes."""
        values = self._values
        if values.chance(0.05) and self._bytewise is not None:
            return self._bytewise(text, most)
        documents = CutDocuments.of_text(text)
        if not _is_json(documents.index) or values.chance(0.1):
            documents = CutDocuments.of_text(values.pick(self._seeds))
        for _ in range(1 + values.below(2)):
            documents = self._changed(documents)
        return self._written(documents, text, most)

    def cross(self, text: bytes, other: bytes, most: int) -> bytes:
        """The cut *text* with a document of the cut *other*."""
        values = self._values
        own, donor = CutDocuments.of_text(text), CutDocuments.of_text(other)
        kind = values.below(4)
        if kind == 0:
            made = replace(own, predecessor=donor.predecessor or donor.index)
        elif kind == 1:
            made = replace(own, index=donor.index)
        elif own.manifests and donor.manifests:
            number = values.below(len(own.manifests))
            taken = values.pick(donor.manifests)
            if kind == 2:
                taken = self._manifests.cross(own.manifests[number], taken, most)
            made = with_manifest(own, number, taken)
        else:
            made = replace(own, manifests=donor.manifests)
        return self._written(self._bound(made), text, most)

    def _written(self, documents: CutDocuments, text: bytes, most: int) -> bytes:
        try:
            made = documents.text()
        except ValueError:  # A document became one of several lines.
            return text
        return made if len(made) <= most else text

    # --- changes -----------------------------------------------------------------------------

    def _changed(self, documents: CutDocuments) -> CutDocuments:
        values = self._values
        kind = values.below(100)
        if kind < 30:
            return self._broken(documents)
        if kind < 50:
            index = self._index_changed(documents.index)
            return replace(documents, index=index)
        if kind < 80:
            return self._bound(self._manifest_changed(documents))
        if kind < 90:
            return self._bound(self._shuffled(documents))
        older = documents.predecessor or documents.index
        return self._bound(replace(documents, predecessor=self._index_changed(older)))

    def _index_changed(self, document: bytes) -> bytes:
        try:
            root: list[Tree] = [read(document)]
        except (ValueError, RecursionError):
            return document
        for _ in range(1 + self._values.below(2)):
            self._indexes.change(self._indexes.somewhere(root))
        return write(root[0])

    def _manifest_changed(self, documents: CutDocuments) -> CutDocuments:
        if not documents.manifests:
            return documents
        number = self._values.below(len(documents.manifests))
        document = documents.manifests[number]
        return with_manifest(
            documents, number, self._manifests.mutate(document, 2 * len(document) + 4_096)
        )

    def _shuffled(self, documents: CutDocuments) -> CutDocuments:
        """Documents lost, taken twice, or in another's place."""
        values, manifests = self._values, [*documents.manifests]
        kind = values.below(6)
        if kind == 0:
            return replace(documents, predecessor=None)
        if kind == 1:
            return replace(documents, predecessor=documents.index)
        if not manifests:
            return documents
        number = values.below(len(manifests))
        if kind == 2:
            del manifests[number]
        elif kind == 3:
            manifests.insert(number, values.pick(manifests))
        elif kind == 4:
            manifests.reverse()
        else:
            manifests[number] = documents.index
        return replace(documents, manifests=tuple(manifests))

    def _broken(self, documents: CutDocuments) -> CutDocuments:
        """Broken in one of the ways that the strategies know, or else another cut that is."""
        values = self._values
        rolled = Dice(bytes(values.below(256) for _ in range(_ROLLS)))
        breakage = values.pick(BREAKAGES)
        for candidate in (documents, CutDocuments.of_text(values.pick(self._seeds))):
            try:
                broken = breakage.break_(_typed(candidate), rolled)
                if broken is not None:
                    return CutDocuments.of_cut(broken)
            except (*UNFIT, oracle.DecodeError):
                continue
        broken = breakage.break_(full_cut(2 * values.below(2)), rolled)
        return documents if broken is None else CutDocuments.of_cut(broken)

    # --- binding -----------------------------------------------------------------------------

    def _bound(self, documents: CutDocuments) -> CutDocuments:
        """Bound again, in one of several ways or not at all."""
        kind = self._values.below(100)
        try:
            if kind < 20:
                return documents
            if kind < 55:
                return named(documents)
            return committed(documents, agreeing=kind < 85)
        except (*UNFIT, oracle.DecodeError):
            return documents


def seeds() -> tuple[bytes, ...]:
    """The cuts of the corpus, but for large ones and those that have no text."""
    texts = []
    for case in read_cases():
        with suppress(ValueError):
            texts.append(read_cut(case.path).text())
    return tuple(text for text in texts if len(text) <= _LARGEST_SEED)


def named(documents: CutDocuments) -> CutDocuments:
    """*documents* with an index that names its manifests and predecessor as they are.

    Raises :class:`~oracle.DecodeError` where something is not what it should be.
    """
    typed = _typed(documents)
    older = typed.predecessor
    index = replace(
        typed.index,
        participants=tuple(
            participant_reference(manifest, document)
            for manifest, document in zip(typed.manifests, documents.manifests, strict=True)
        ),
        predecessor=None if older is None else reference_of(older, encode_index(older)),
    )
    return replace(documents, index=encode_index(index))


def committed(documents: CutDocuments, *, agreeing: bool) -> CutDocuments:
    """*documents* with the index that is made from the manifests.

    With *agreeing*, the manifests are first given what they must have in common. Raises as
    :func:`named` does, and what documents of other forms make it raise.
    """
    typed = _typed(documents)
    manifests = typed.manifests
    if agreeing:
        manifests = tuple(_like(manifest, manifests[0]) for manifest in manifests)
    index = commit(manifests, typed.predecessor, typed.index.version)
    return CutDocuments.of_cut(WholeCut(index, manifests, typed.predecessor))


_COMMON = (*CUT_FIELDS, "source_names", "sink_names")


def _like(manifest: CheckpointManifest, first: CheckpointManifest) -> CheckpointManifest:
    return replace(manifest, **{name: getattr(first, name) for name in _COMMON})


def _typed(documents: CutDocuments) -> WholeCut:
    older = documents.predecessor
    return WholeCut(
        cuts.decode_index(documents.index),
        tuple(map(oracle.decode, documents.manifests)),
        None if older is None else cuts.decode_index(older),
    )


def with_manifest(documents: CutDocuments, number: int, document: bytes) -> CutDocuments:
    """*documents* with *document* for the manifest *number*, counted from 0."""
    manifests = [*documents.manifests]
    manifests[number] = document
    return replace(documents, manifests=tuple(manifests))


def _is_json(document: bytes) -> bool:
    try:
        read(document)
    except (ValueError, RecursionError):
        return False
    return True
