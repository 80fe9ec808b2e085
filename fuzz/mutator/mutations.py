"""Changes to a document's tree, each at one place and by the form of what stands there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzz.mutator.documents import Tree, again
from fuzz.mutator.forms import (
    Boolean,
    Bytes,
    Entries,
    Form,
    Integer,
    Items,
    Maybe,
    Name,
    Struct,
    Tagged,
    Text,
    Uuid,
)
from fuzz.mutator.values import Values


@dataclass(slots=True)
class Place:
    """A value in a tree: ``holder[key]``, of *form*, in the field *name*.

    *names* are the fields on the way to it, from the top.
    """

    holder: Tree
    key: str | int
    form: Form
    name: str
    names: tuple[str, ...] = ()

    @property
    def value(self) -> Tree:
        """What stands here."""
        return self.holder[self.key]

    @value.setter
    def value(self, value: Tree) -> None:
        self.holder[self.key] = value


Path = list[tuple[Form, str | int]]


class Mutations:
    """Finds places in trees and changes what stands there."""

    def __init__(self, form: Struct, values: Values) -> None:
        """Change trees of *form*, with what *values* draws."""
        self._form = form
        self._values = values
        self._by_form: dict[type[Form], Callable[[Place], None]] = {
            Integer: self._integer,
            Text: self._text,
            Boolean: self._boolean,
            Uuid: self._uuid,
            Bytes: self._bytes,
            Name: self._name,
            Maybe: self._maybe,
            Items: self._items,
            Entries: self._entries,
            Struct: self._struct,
            Tagged: self._tagged,
        }

    def somewhere(self, root: list[Tree], towards: tuple[str, ...] | None = None) -> Place:
        """A place in the tree that is the only element of *root*: a walk down from the top.

        Each field of a struct is as likely as its siblings, however much it holds; or the walk
        goes *towards* the fields of these names.
        """
        values = self._values
        place = Place(root, 0, self._form, "")
        while True:
            wanted = None
            if towards is not None:
                depth = len(place.names)
                if depth == len(towards) and place.form is not self._form:
                    return place
                wanted = towards[depth] if depth < len(towards) else None
            inner = self._inside(place, wanted)
            if inner is None:
                return place
            place = inner
            if isinstance(place.form, (Struct, Tagged)) and values.chance(0.06):
                return place

    def _inside(self, place: Place, wanted: str | None = None) -> Place | None:
        """A place one step further down, or ``None`` where this is the one to change.

        In a struct it is the field *wanted*, if that is given.
        """
        values, form, value = self._values, place.form, place.value
        if isinstance(form, Maybe):
            if value is None or values.chance(0.1):
                return None
            form = form.inner
        if isinstance(form, Tagged):
            if not isinstance(value, dict) or value.get("kind") not in form.variants:
                return None
            form = form.variants[value["kind"]]
        if isinstance(form, Struct):
            names = [*form.fields]
            if isinstance(value, dict):
                name = wanted if wanted in form.fields else values.pick(names)
                inner = form.fields[name]
                if name not in value:
                    if name not in form.defaults:
                        return None
                    value[name] = values.ordinary(inner, name)
                return Place(value, name, inner, name, (*place.names, name))
            if isinstance(value, list) and value:
                index = values.below(min(len(value), len(names)))
                name = names[index]
                return Place(value, index, form.fields[name], name, (*place.names, name))
            return None
        if isinstance(form, Items) and isinstance(value, list) and value:
            if values.chance(0.3):
                return None
            return Place(value, values.below(len(value)), form.item, place.name, place.names)
        if isinstance(form, Entries) and isinstance(value, dict) and value:
            if values.chance(0.3):
                return None
            return Place(value, values.pick([*value]), form.value, place.name, place.names)
        if place.form is not form:
            return Place(place.holder, place.key, form, place.name, place.names)
        return None

    def change(self, place: Place) -> None:
        """Change what stands at *place*."""
        if self._values.chance(0.02):
            place.value = self._values.of_another_type()
            return
        self._by_form[type(place.form)](place)

    # --- scalars -----------------------------------------------------------------------------

    def _integer(self, place: Place) -> None:
        assert isinstance(place.form, Integer)
        place.value = self._values.odd_integer(place.form, place.value)

    def _text(self, place: Place) -> None:
        now = place.value if isinstance(place.value, str) else ""
        if self._values.chance(0.3):
            place.value = self._values.text(place.name)
        else:
            place.value = self._values.odd_text(place.name, now)

    def _boolean(self, place: Place) -> None:
        place.value = not place.value

    def _uuid(self, place: Place) -> None:
        now = place.value if isinstance(place.value, str) else ""
        place.value = self._values.odd_uuid(now)

    def _name(self, place: Place) -> None:
        assert isinstance(place.form, Name)
        values, name = self._values, self._values.pick(place.form.names)
        place.value = values.pick((name, name, {name: None}, {name: []}, name.upper(), {}, [name]))

    def _bytes(self, place: Place) -> None:
        assert isinstance(place.form, Bytes)
        values = self._values
        if not isinstance(place.value, list):
            place.value = values.ordinary(place.form)
            return
        now = place.value
        kind = values.below(8)
        if kind == 0:
            place.value = [0] * len(now)
        elif kind == 1:
            place.value = now[:-1]
        elif kind == 2:
            place.value = [*now, values.below(3)]
        elif kind == 3 and place.form.length is None:
            place.value = values.pick(([], [0], [0, 0], [1], [255], [0, 1], [1, 0]))
        elif now:
            now[values.below(len(now))] = values.pick((0, 1, 2, 255, values.below(256), 256, -1))

    # --- collections -------------------------------------------------------------------------

    def _maybe(self, place: Place) -> None:
        assert isinstance(place.form, Maybe)
        if place.value is None:
            place.value = self._values.ordinary(place.form.inner, place.name)
        else:
            place.value = None

    def _items(self, place: Place) -> None:
        assert isinstance(place.form, Items)
        values, items = self._values, place.value
        if not isinstance(items, list):
            place.value = []
            return
        kind = values.below(8)
        if kind <= 2 or not items:
            new = values.ordinary(place.form.item, place.name)
            items.insert(values.below(len(items) + 1), new)
        elif kind == 3:
            del items[values.below(len(items))]
        elif kind == 4:
            items.insert(values.below(len(items) + 1), copied(values.pick(items)))
        elif kind == 5:
            one, other = values.below(len(items)), values.below(len(items))
            items[one], items[other] = items[other], items[one]
        elif kind == 6:
            items.reverse()
        else:
            keep = values.below(len(items))
            del items[keep : keep + 1 + values.below(len(items))]

    def _entries(self, place: Place) -> None:
        assert isinstance(place.form, Entries)
        values, entries = self._values, place.value
        if not isinstance(entries, dict):
            place.value = {}
            return
        kind = values.below(6)
        if kind <= 1 or not entries:
            entries[values.text("")] = values.ordinary(place.form.value)
            return
        name = values.pick([*entries])
        if kind == 2:
            del entries[name]
        elif kind == 3:
            entries[values.odd_text("", name)] = entries.pop(name)
        elif kind == 4:
            entries[again(name, len(entries))] = values.ordinary(place.form.value)
        else:
            place.value = shuffled(entries, values)

    # --- structs -----------------------------------------------------------------------------

    def _struct(self, place: Place) -> None:
        assert isinstance(place.form, Struct)
        values, form, value = self._values, place.form, place.value
        kind = values.below(8)
        if isinstance(value, list) and kind <= 2:
            place.value = as_object(value, form)
        elif not isinstance(value, dict) or not value or kind == 0:
            place.value = values.ordinary(form)
        elif kind <= 2:
            place.value = as_array(value, form)
            if values.chance(0.2) and place.value:
                place.value.pop()
        elif kind == 3:
            del value[values.pick([*value])]
        elif kind == 4:
            value[values.pick(("unknown", "Version", "kind", ""))] = values.of_another_type()
        elif kind == 5:
            name = values.pick([*value])
            value[again(name, len(value))] = copied(value[name])
        else:
            place.value = shuffled(value, values)

    def _tagged(self, place: Place) -> None:
        assert isinstance(place.form, Tagged)
        values, form, value = self._values, place.form, place.value
        tag = value.get("kind") if isinstance(value, dict) else None
        kind = values.below(6)
        if tag not in form.variants or kind <= 1:
            place.value = values.ordinary(form)
        elif kind == 2:
            place.value = [tag, *as_array(value, form.variants[tag])]
        elif kind == 3:
            value["kind"] = values.pick([*form.variants, "", "Vnode"])
        else:
            self._struct(Place(place.holder, place.key, form.variants[tag], place.name))


def copied(tree: Tree) -> Tree:
    """A tree like *tree* that shares nothing with it that can change."""
    if isinstance(tree, dict):
        return {name: copied(value) for name, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


def shuffled(entries: dict[str, Tree], values: Values) -> dict[str, Tree]:
    """*entries* in another order."""
    names = [*entries]
    for place in range(len(names) - 1, 0, -1):
        other = values.below(place + 1)
        names[place], names[other] = names[other], names[place]
    return {name: entries[name] for name in names}


def as_array(value: dict[str, Tree], form: Struct) -> list[Tree]:
    """The array form of a struct that is written as an object."""
    return [value.get(name) for name in form.fields]


def as_object(value: list[Tree], form: Struct) -> dict[str, Tree]:
    """The object form of a struct that is written as an array."""
    return dict(zip(form.fields, value, strict=False))
