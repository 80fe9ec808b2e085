"""The one error that decoding raises, and the kinds of it."""

from __future__ import annotations

from oracle.described import Described


class Kind(Described):
    """Why a document is not a manifest; the value is the kind's name in reports."""

    ENCODING = "encoding", "the bytes are not UTF-8"
    BOM = "bom", "the document starts with a byte-order mark"
    GRAMMAR = "grammar", "the text is not JSON by RFC 8259"
    CONSTANT = "constant", "NaN and the infinities are not JSON"
    CONTROL = "control", "a control character stands unescaped in a string"
    SURROGATE = "surrogate", "a \\u escape is half of a surrogate pair without the other half"
    TRAILING = "trailing", "something other than white space follows the document"
    DEPTH = "depth", "arrays and objects nest too deep"
    TYPE = "type", "a value has another JSON type than its field"
    FRACTION = "fraction", "an integer field has a fraction, an exponent or a negative zero"
    RANGE = "range", "an integer is beyond its field's bounds"
    REPEATED = "repeated-field", "a field of a struct, or a tag, is written twice"
    UNKNOWN = "unknown-field", "an object has a field that its type does not have"
    MISSING = "missing-field", "a field that must be written is not"
    TAG = "unknown-tag", "a tag or a name of an enumeration is not one of its variants"
    LENGTH = "length", "an array has more or fewer elements than its type"
    UUID = "uuid", "a text is none of the four spellings of a UUID"
    FENCE = "fence", "an assignment fence or certificate is not canonical"


class DecodeError(Exception):
    """A document that the engine does not decode.

    ``kind`` says why, ``pointer`` is the JSON Pointer (RFC 6901) of the offending value in the
    document as written (empty for the document itself and for text that is not JSON), and
    ``message`` tells about the actual value.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self._reversed_path: list[str | int] = []

    @property
    def pointer(self) -> str:
        """JSON Pointer of the offending value."""
        return json_pointer(*reversed(self._reversed_path))

    def inside(self, token: str | int) -> DecodeError:
        """The same error, seen from the value that holds it under *token*."""
        self._reversed_path.append(token)
        return self

    def __str__(self) -> str:
        place = self.pointer or "the document"
        return f"{place}: {self.message} [{self.kind.value}]"


def json_pointer(*path: str | int) -> str:
    """The JSON Pointer of a path of field names and indices."""
    return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in path)
