"""Values for the mutator: ordinary ones, and those at and just past a boundary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import oracle
from fuzz.mutator.documents import Tree, literal
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
from oracle import constants
from oracle.kernels import WHITE_SPACE

T = TypeVar("T")
Maker = Callable[[], Tree]

INTEGERS: tuple[int, ...] = tuple(
    sorted(
        {
            number + step
            for number in [
                0,
                *(value for value in vars(constants).values() if type(value) is int),
                *(one.manifest_version for one in oracle.CONTRACTS.values()),
                *(one.pipeline_identity_version for one in oracle.CONTRACTS.values()),
            ]
            for step in (-1, 0, 1)
        }
    )
)
"""Every number that the contract names, with its neighbours."""

# A full-width letter and a letter beyond the first plane: UTF-8 and UTF-16 order them differently.
NAMES = ("a", "b", "c", "source-1", "é", "\uff41", "\U00010400", "~/x")
# Python's own strip also takes away the separators U+001C to U+001F, which Rust's does not.
PADDING = WHITE_SPACE + "\x1c\x1f\u200b\ufeff"

UUIDS = (
    "11111111-2222-4333-8444-555555555555",
    "66666666-7777-4888-9999-aaaaaaaaaaaa",
    "abcdef01-2345-4678-9abc-def012345678",
)
SHA256_TEXTS = (
    oracle.EMPTY_SHA256,
    oracle.checkpoint_descriptor_sha256(None),
    oracle.checkpoint_descriptor_sha256(b""),
    oracle.checkpoint_artifact_intent_sha256(None),
    oracle.checkpoint_artifact_intent_sha256(b""),
    "0123456789abcdef" * 4,
)
_NOT_SHA256 = (
    "",
    "0" * 63,
    "0" * 65,
    "A" * 64,
    "g" * 64,
    "0" * 63 + "F",
    "0" * 63 + "/",
    "0" * 63 + ":",
    "0" * 63 + "`",
    "\uff10" * 64,
    "0" * 63 + "\n",
    " " + "0" * 63,
)
_KEYS = ("subscription-output/d/s/g/p/f", "subscription-output/a")
_NOT_KEYS = (
    "",
    "subscription-output",
    "subscription-output/",
    "subscription-output//a",
    "subscription-output/.",
    "subscription-output/../a",
    "subscription-output/a/",
    "subscription-output/a\\b",
    "/subscription-output/a",
    "subscription-outpuT/a",
    "Subscription-output/a",
    "subscription-output/..a",
    "subscription-output/\x01%2e",
)
_LIMITS = (
    constants.MAX_STREAM_ID_BYTES,
    constants.MAX_OPERATOR_ID_BYTES,
    constants.MAX_OBJECT_KEY_BYTES,
)


class Values:
    """Draws values from a stream of random numbers."""

    def __init__(self, random: Random) -> None:
        self._random = random.random
        self._makers: dict[tuple[Form, str], Maker] = {}

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return self._random() < probability

    def below(self, count: int) -> int:
        """A number in 0..count."""
        return int(self._random() * count)

    def pick(self, among: Sequence[T]) -> T:
        """One of *among*, which is not empty."""
        return among[int(self._random() * len(among))]

    def ordinary(self, form: Form, name: str = "") -> Tree:
        """A small value of *form*, as a field *name* might have it."""
        make = self._makers.get((form, name))
        if make is None:
            make = self._makers[form, name] = self._maker(form, name)
        return make()

    def _maker(self, form: Form, name: str) -> Maker:
        """What makes ordinary values of *form*, with all questions about it answered."""
        random = self._random
        if isinstance(form, Integer):
            numbers = [max(form.least, min(number, form.greatest)) for number in range(4)]
            return lambda: numbers[int(random() * 4)]
        if isinstance(form, Text):
            return lambda: self.text(name)
        if isinstance(form, Boolean):
            return lambda: random() < 0.5
        if isinstance(form, Uuid):
            return lambda: self.pick(UUIDS)
        if isinstance(form, Bytes):
            length = 1 if form.length is None else form.length
            return lambda: [1 + int(random() * 3)] * length
        if isinstance(form, Name):
            names = form.names
            return lambda: self.pick(names)
        if isinstance(form, Maybe):
            inner = self._maker(form.inner, name)
            return lambda: None if random() < 0.3 else inner()
        if isinstance(form, Items):
            item = self._maker(form.item, name)
            return lambda: [item() for _ in range(int(random() * 3))]
        if isinstance(form, Entries):
            value = self._maker(form.value, "")
            return lambda: {self.text(name): value() for _ in range(int(random() * 3))}
        if isinstance(form, Tagged):
            variants = [self._maker(variant, "") for variant in form.variants.values()]
            return lambda: self.pick(variants)()
        assert isinstance(form, Struct)
        fields = [(field, self._maker(inner, field)) for field, inner in form.fields.items()]
        if form.tag is not None:
            fields.insert(0, ("kind", lambda: form.tag))
        return lambda: {field: make() for field, make in fields}

    def text(self, name: str) -> str:
        """A string as the field *name* might have it."""
        if name == "sha256":
            return self.pick(SHA256_TEXTS)
        if name == "deployment_id":
            return self.pick(UUIDS)
        if name == "object_key":
            return self.pick(_KEYS)
        return self.pick(NAMES)

    def odd_text(self, name: str, now: str) -> str:
        """A string at or past a boundary of the field *name*, made from what it has *now*."""
        kind = self.below(8)
        if name == "sha256" and kind < 6:
            return self.pick(_NOT_SHA256) if kind < 4 else self.pick(SHA256_TEXTS)
        if name == "object_key" and kind < 5:
            return self.pick(_NOT_KEYS) if kind < 4 else self.pick(_KEYS)
        if name == "deployment_id" and kind < 5:
            return self.odd_uuid(now)
        if kind == 0:
            return ""
        if kind <= 2:
            pad = self.pick(PADDING)
            return pad + now if self.chance(0.5) else now + pad
        if kind == 3:
            return self.of_length(now, self.pick(_LIMITS) + self.below(3) - 1)
        if kind == 4 and now:
            place = self.below(len(now))
            return now[:place] + chr(self.below(256)) + now[place + 1 :]
        if kind == 5:
            return now.upper()
        return self.pick(NAMES) if kind == 6 else now + self.pick(NAMES)

    def of_length(self, start: str, length: int) -> str:
        """*start*, filled up or cut to *length* bytes of UTF-8."""
        filling = "é" if self.chance(0.3) else "x"
        room = max(0, length - len(start.encode("utf-8", "surrogatepass")))
        text = start + filling * (room // len(filling.encode()))
        text += "x" * (length - len(text.encode("utf-8", "surrogatepass")))
        return text.encode("utf-8", "surrogatepass")[:length].decode("utf-8", "ignore")

    def odd_uuid(self, now: str) -> str:
        """The same UUID in another spelling, or what is none."""
        digits = now.replace("-", "")
        return self.pick(
            (
                now.upper(),
                digits,
                f"urn:uuid:{now}",
                f"URN:UUID:{now.upper()}",
                f"{{{now}}}",
                f"{{{digits}}}",
                f"urn:uuid:{digits}",
                "00000000-0000-0000-0000-000000000000",
                "00000000-0000-0000-0000-000000000001",
                now[1:],
                now + "0",
                f" {now}",
                now.replace("-", "_"),
                now[:9] + "-" + now[9:],
                self.pick(UUIDS),
            )
        )

    def odd_integer(self, form: Integer, now: Tree) -> Tree:
        """A number at, near or just past a boundary, or in a spelling that is none."""
        kind = self.below(16)
        current = now if type(now) is int else 0
        if kind <= 3:
            return current + self.pick((-1, 1, 1, 2))
        if kind <= 6:
            return self.pick(INTEGERS)
        if kind == 7:
            return self.pick((form.least - 1, form.greatest + 1))
        if kind == 8:
            return self.pick((form.least, form.greatest, form.least + 1, form.greatest - 1))
        if kind == 9:
            return current ^ (1 << self.below(64))
        if kind == 10:
            return literal(self.pick(("-0", "1.0", "1e0", "1E+3", "01", "+1", "0x1", "1_0", "-1")))
        return self.below(8) if kind < 15 else -current

    def of_another_type(self) -> Tree:
        """A value that its field is hardly meant to have."""
        return self.pick(
            (None, True, False, 0, 1, -1, "", "0", [], {}, [[]], {"": None}, 10**20, literal("NaN"))
        )
