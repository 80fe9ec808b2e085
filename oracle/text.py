"""Bytes to JSON values, as strictly as the engine reads them.

The standard library's compiled scanner does the reading. It is laxer than ``serde_json`` in
places, and those are closed here: UTF-8 only and no byte-order mark; no ``NaN`` or infinities; no
unpaired surrogate escape; ``-0`` and everything with a fraction or an exponent is a
:class:`Float`; nesting is bounded; no limit of Python's own, on digits or recursion, shows.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from oracle.constants import MAX_JSON_DEPTH
from oracle.errors import DecodeError, Kind
from oracle.interpreter import has_room_to_recurse, with_room_to_recurse

JsonValue: TypeAlias = Any
"""``None``, ``bool``, ``int``, ``str``, :class:`Float`, a ``list`` of values for an array, or a
``tuple`` of (name, value) pairs, in the order written and with repeats, for an object."""


class Float(str):
    """The literal of a number that is not an integer to the engine."""

    __slots__ = ()


@with_room_to_recurse
def parse(data: bytes) -> JsonValue:
    """Read the one JSON document in *data*.

    Raises :class:`DecodeError` of kind ENCODING, BOM, GRAMMAR, CONSTANT, CONTROL, TRAILING,
    SURROGATE or DEPTH. Time and memory are linear in the length of *data*.
    """
    text = _text(data)
    # The scanner recurses in C, as deep as the interpreter lets it, and its stack has an end.
    if sys.getrecursionlimit() > _SAFE_RECURSION_LIMIT and nests_too_deep(data):
        raise too_deep()
    try:
        value = _scan(text)
    except json.JSONDecodeError as error:
        raise _grammar_error(error) from None
    except RecursionError:
        if has_room_to_recurse():
            raise too_deep() from None
        raise
    if _SURROGATE_ESCAPE.search(text):
        _refuse_unpaired_surrogates(text)
    return value


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8 ({error.reason})"
        raise DecodeError(Kind.ENCODING, message) from None
    if text.startswith("\ufeff"):
        raise DecodeError(Kind.BOM, "the document starts with a byte-order mark")
    return text


# A quarter of what a stack of 8 MiB has room for.
_SAFE_RECURSION_LIMIT = 10_000

# Python refuses to convert more digits than its limit allows; below the limit its own conversion
# is the fastest. Longer literals are out of every field's range, so only the first digits matter.
_DEFAULT_DIGIT_LIMIT = 4_300
LONGEST_INTEGER = len("-9223372036854775808")
"""Characters of an integer that some field may hold, at most."""

# `-0` as a whole value. The literal stands first in the pattern, so that the search is as fast as
# a search for the literal.
_MINUS_ZERO = re.compile(r"-0(?<=[\s:,\[]-0)(?![.eE0-9])")

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")

# Everything up to the first escape of a surrogate that is not half of a pair.
_PAIRED = re.compile(
    r"(?:[^\\]++"
    r"|\\u(?![dD][89a-fA-F])"
    r"|\\[^u]"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r")*+",
    re.DOTALL,
)


def _refuse_constant(name: str) -> NoReturn:
    raise DecodeError(Kind.CONSTANT, f"{name} is not JSON")


def _exact_integer(literal: str) -> int | Float:
    if literal == "-0":
        return Float(literal)
    return int(literal[: LONGEST_INTEGER + 1])


def _decoder(parse_int: Any) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=tuple,
        parse_float=Float,
        parse_int=parse_int,
        parse_constant=_refuse_constant,
    )


_QUICK = _decoder(int)
_EXACT = _decoder(_exact_integer)


def _scan(text: str) -> JsonValue:
    if not 0 < sys.get_int_max_str_digits() <= _DEFAULT_DIGIT_LIMIT or _MINUS_ZERO.search(text):
        return _EXACT.decode(text)
    try:
        return _QUICK.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _EXACT.decode(text)


_KIND_BY_MESSAGE = {
    "Extra data": Kind.TRAILING,
    "Invalid control character at": Kind.CONTROL,
}


def _grammar_error(error: json.JSONDecodeError) -> DecodeError:
    kind = _KIND_BY_MESSAGE.get(error.msg, Kind.GRAMMAR)
    return DecodeError(kind, f"{error.msg.lower()} (line {error.lineno}, column {error.colno})")


def _refuse_unpaired_surrogates(text: str) -> None:
    match = _PAIRED.match(text)
    end = match.end() if match else 0
    if end < len(text):
        raise DecodeError(
            Kind.SURROGATE, f"unpaired surrogate escape {text[end : end + 6]} at character {end}"
        )


def nests_too_deep(data: bytes) -> bool:
    """Whether arrays and objects nest deeper in the document *data* than the engine reads.

    No type of a manifest nests nearly as deep, so only a rejected document needs to be asked.
    What is no JSON is taken for deep where its brackets make it so, in linear time, too.
    """
    # Most documents have too few brackets to nest deep, however these lie.
    if data.count(b"[") + data.count(b"{") <= MAX_JSON_DEPTH:
        return False
    brackets = _STRING.sub(b"", data).translate(None, _NO_BRACKETS)
    depths = accumulate(map(_STEPS.__getitem__, brackets))
    return max(depths, default=0) > MAX_JSON_DEPTH


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _STEPS)


def too_deep() -> DecodeError:
    """The rejection of a document that nests too deep."""
    return DecodeError(Kind.DEPTH, f"arrays and objects nest deeper than {MAX_JSON_DEPTH}")
