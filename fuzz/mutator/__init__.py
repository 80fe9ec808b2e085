"""Makes documents from documents: a mutator that knows what a manifest is.

A mutation changes a few values of a document's tree by their forms (:mod:`fuzz.mutator.mutations`)
and may seal the manifest before or after (:mod:`fuzz.mutator.seal`), so that deep rules are
reached one at a time. Some documents are spelled in another way, some are large, and some are
changed byte by byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from fuzz.mutator.breaks import BREAKS, Break, prepare
from fuzz.mutator.documents import Tree, read, write
from fuzz.mutator.forms import Items, Maybe, Struct, manifest_form
from fuzz.mutator.large import Limits, repeated
from fuzz.mutator.mutations import Mutations, Place, copied
from fuzz.mutator.respell import respell
from fuzz.mutator.seal import UNFIT, Manifest, Sealer
from fuzz.mutator.values import Values
from fuzz.mutator.view_logs import VIEW_LOG_BREAKS
from oracle import V10, Contract

ByteMutation = Callable[[bytes, int], bytes]
"""Changes bytes without knowing what they are, within a length in bytes."""

# Share of the time that large documents may take: while not every limit was tried once, and then.
_FIRST_LARGE_SHARE = 0.25
_LARGE_SHARE = 0.02
_FIRST_LARGE_SECONDS = 8.0


class Mutator:
    """Mutates and crosses documents of one contract, reproducibly for a seed."""

    def __init__(
        self, contract: Contract = V10, seed: int = 0, bytewise: ByteMutation | None = None
    ) -> None:
        """Make documents of *contract*; *bytewise* is asked for plain byte mutations."""
        self._values = Values(Random(seed))
        self._form = manifest_form(contract)
        self._mutations = Mutations(self._form, self._values)
        self._sealer = Sealer(contract, self._values)
        self._bytewise = bytewise or self._some_byte
        known = self._form.fields.keys()
        self._breaks = [one for one in [*BREAKS, *VIEW_LOG_BREAKS] if known >= {*one.needs}]
        self._limits = self._limits_of(contract, self._form)
        self._started = time.monotonic()
        self._large_seconds = 0.0

    def _limits_of(self, contract: Contract, form: Struct) -> Limits | None:
        output = form.fields.get("subscription_output")
        if output is None:
            return None
        assert isinstance(output, Maybe)
        assert isinstance(output.inner, Struct)
        streams = output.inner.fields["streams"]
        assert isinstance(streams, Items)
        assert isinstance(streams.item, Struct)
        segments = streams.item.fields["segments"]
        assert isinstance(segments, Items)
        assert isinstance(segments.item, Struct)
        return Limits(contract, segments.item, self.with_output)

    # --- whole manifests ---------------------------------------------------------------------

    def fresh(self) -> Manifest:
        """A small valid manifest, made from nothing."""
        return self._sealer.seal(self._values.ordinary(self._form))

    def with_output(self) -> Manifest:
        """A small valid manifest that has subscription output with a segment."""
        values, form = self._values, self._form
        manifest: Manifest = values.ordinary(form)
        prepare(manifest, ("assignment_fence", "subscription_output"), form, values)
        del manifest["subscription_output"]["streams"][1:]
        return self._sealer.seal(manifest)

    def seeds(self, count: int) -> list[bytes]:
        """*count* small valid documents, to start from where there is nothing else."""
        return [write(self.fresh()) for _ in range(count)]

    # --- mutation ----------------------------------------------------------------------------

    def mutate(self, document: bytes, most: int) -> bytes:
        """A document made from *document*, of at most *most* bytes."""
        return next(self._made(document, most))

    def offspring(self, document: bytes, most: int) -> list[bytes]:
        """Documents made from *document*, at least one, of at most *most* bytes each.

        Where several changes can be made from one start that took long to make, they are.
        """
        return [*self._made(document, most)]

    def _made(self, document: bytes, most: int) -> Iterator[bytes]:
        values = self._values
        if values.chance(0.2):
            yield self._bytes_changed(document, most)
            return
        try:
            root: list[Tree] = [read(document)]
        except (ValueError, RecursionError):
            if values.chance(0.7):
                yield self._bytes_changed(document, most)
                return
            root = [self.fresh()]
        if values.chance(0.01):
            root = [self.fresh()]
        for tree in self._changed(root):
            made = self._written(tree)
            yield made if len(made) <= most else document[:most]

    def _written(self, tree: Tree) -> bytes:
        made = write(tree)
        return respell(made, self._values) if self._values.chance(0.12) else made

    def _lighten(self, tree: Tree) -> None:
        """Take some parts away, as long as the rest can do without.

        libFuzzer prefers documents that reach much, and left alone every document comes to have
        everything: then each costs several times as much and most changes hit the same part.
        """
        if not isinstance(tree, dict):
            return
        chance = self._values.chance
        for name, empty, probability in _PARTS:
            part = tree.get(name)
            if part and chance(probability):
                tree[name] = copied(empty)
            elif isinstance(part, list) and len(part) > _LONG and chance(_SHORTEN):
                del part[_LONG:]

    def _changed(self, root: list[Tree]) -> Iterator[Tree]:
        """Trees made from the one in *root*, which may be changed on the way."""
        values, sealer = self._values, self._sealer
        kind = values.below(100)
        if kind < 30:
            self._change(root, 1 + values.below(3))
            yield root[0]
            return
        self._lighten(root[0])
        if kind < 60:
            self._change(root, 1 + values.below(4))
            left_out = values.below(len(sealer.parts)) if kind < 45 else None
            yield sealer.seal(root[0], left_out)
            return
        chosen = values.pick(self._breaks) if kind < 80 else None
        if chosen is not None:
            self._prepare(root, chosen)
        elif values.chance(0.5):
            self._change(root, 1 + values.below(3))
        root[0] = sealer.seal(root[0])
        text = write(root[0])
        if chosen is not None:
            self._break(root[0], chosen)
        else:
            self._break_or_change(root)
        yield root[0]
        # Sealing costs more than all the rest, so several trees are made from one that is sealed,
        # and reading its text is the quickest way to copy it.
        try:
            copies = [read(text) for _ in range(_OF_ONE_SEALED - 1)]
        except ValueError:
            return  # It has a spelling that is no JSON.
        for copy in copies:
            again = [copy]
            self._break_or_change(again)
            yield again[0]

    def _prepare(self, root: list[Tree], chosen: Break) -> None:
        """Give the manifest what *chosen* needs, where it does not have it."""
        values, form = self._values, self._form
        try:
            prepare(root[0], chosen.needs, form, values)
        except UNFIT:
            root[0] = self._sealer.conform(root[0], form)
            prepare(root[0], chosen.needs, form, values)

    def _break(self, sealed: Manifest, chosen: Break) -> None:
        # Sealing may take away what the break needs: then this is a sealed manifest.
        with suppress(*UNFIT):
            chosen.change(sealed, self._values)

    def _break_or_change(self, root: list[Tree]) -> None:
        """Break another rule, where the sealed manifest has what it takes, or change a value."""
        chosen = self._values.pick(self._breaks)
        if self._values.chance(0.4) and all(map(root[0].get, chosen.needs)):
            self._break(root[0], chosen)
        else:
            self._change(root, 1)

    def _change(self, root: list[Tree], times: int) -> None:
        for _ in range(times):
            self._mutations.change(self._mutations.somewhere(root))

    def _bytes_changed(self, document: bytes, most: int) -> bytes:
        # A fuzzer makes room for as much as it may write, and clears it, each time.
        return self._bytewise(document, min(most, 2 * len(document) + _BYTES_MORE))

    def _some_byte(self, document: bytes, most: int) -> bytes:
        """The plainest of byte mutations, where no fuzzer's own is at hand."""
        values = self._values
        place = values.below(len(document) + 1)
        made = document[:place] + bytes([values.below(256)]) + document[place + values.below(2) :]
        return made[:most]

    # --- crossing ----------------------------------------------------------------------------

    def cross(self, document: bytes, other: bytes, most: int) -> bytes:
        """*document* with a part of *other* in the place where it has its own."""
        try:
            root: list[Tree] = [read(document)]
            donor: list[Tree] = [read(other)]
        except (ValueError, RecursionError):
            return self.mutate(document, most)
        self._lighten(root[0])
        taken = self._mutations.somewhere(donor)
        place = self._alike(root, taken)
        if place is not None:
            place.value = copied(taken.value)
        if self._values.chance(0.5):
            root[0] = self._sealer.seal(root[0])
        made = write(root[0])
        return made if len(made) <= most else document[:most]

    def _alike(self, root: list[Tree], taken: Place) -> Place | None:
        """A place in *root* of the same form as *taken*, if one is met on a walk or two."""
        for _ in range(_WALKS):
            place = self._mutations.somewhere(root, towards=taken.names)
            if place.form is taken.form and place.name == taken.name:
                return place
        return None

    # --- large documents ---------------------------------------------------------------------

    def large_is_due(self) -> bool:
        """Whether large documents have had less than their share of the time."""
        running = time.monotonic() - self._started
        all_made = self._limits is None or self._limits.all_made
        share = _LARGE_SHARE if all_made else _FIRST_LARGE_SHARE
        return running > _FIRST_LARGE_SECONDS and self._large_seconds < running * share

    def took(self, seconds: float) -> None:
        """Take note that a large document took *seconds* to make and judge."""
        self._large_seconds += seconds

    def large(self, document: bytes, most: int) -> bytes:
        """A large document: one at a limit of the contract, or one made from *document*."""
        limits = self._limits
        if limits is not None and (not limits.all_made or self._values.chance(0.5)):
            return limits.next()
        try:
            manifest = self._sealer.seal(read(document))
        except (ValueError, RecursionError):
            manifest = self.fresh()
        made = write(self._sealer.seal(repeated(manifest, self._values, most)))
        return made if len(made) <= most else document


_WALKS = 3
_OF_ONE_SEALED = 4
_BYTES_MORE = 64

# The parts of a manifest that may be missing, what they are then, and how often they are taken.
_PARTS: tuple[tuple[str, Tree, float], ...] = (
    ("subscription_output", None, 0.7),
    ("view_logs", [], 0.45),
    ("state_frames", [], 0.45),
    ("referenced_chunks", [], 0.45),
    ("prepared_sinks", [], 0.45),
    ("sink_artifact_intents", [], 0.45),
    ("channel_progress", [], 0.45),
    ("source_offsets", {}, 0.45),
)
_SHORTEN = 0.8
# More elements than this are seldom needed to break a rule of a list.
_LONG = 16
