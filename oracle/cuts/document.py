"""Documents of the cut and the store to the types that describe them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar, cast

from oracle.errors import DecodeError
from oracle.formats import V10
from oracle.interpreter import with_room_to_recurse, without_garbage_collection
from oracle.shapes import decoder
from oracle.text import nests_too_deep, parse, too_deep

T = TypeVar("T")


@with_room_to_recurse
@without_garbage_collection
def decode_as(shape: type[T], data: bytes) -> T:
    """The value of type *shape* that *data* spells.

    Raises :class:`DecodeError` and nothing else, whatever *data* is; time and memory are linear
    in its length.
    """
    value = parse(data)
    try:
        decoded: T = decoder(cast(Hashable, shape), V10).one(value)
    except DecodeError:
        if nests_too_deep(data):
            raise too_deep() from None
        raise
    return decoded
