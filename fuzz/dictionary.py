"""The libFuzzer dictionary of a contract: words that its documents and rules are made of.

For byte mutations, which do not know what a manifest is:

    python -m fuzz.dictionary v10 > manifest.dict
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from fuzz.mutator.forms import (
    Entries,
    Form,
    Items,
    Maybe,
    Name,
    Struct,
    Tagged,
    manifest_form,
)
from fuzz.mutator.values import INTEGERS, SHA256_TEXTS, UUIDS
from oracle import Contract, contract_named, digests
from oracle.constants import OBJECT_KEY_PREFIX

_SPELLINGS = ("null", "true", "false", "-0", "1e0", "1.0", "\\u0000", "\\ud83d\\ude00", "{}", "[]")


def dictionary(contract: Contract) -> str:
    """The dictionary's text: one quoted word a line, none twice."""
    words = dict.fromkeys(_words(contract))
    return "".join(f'"{_escaped(word)}"\n' for word in words)


def _words(contract: Contract) -> Iterator[str]:
    for name in _names(manifest_form(contract)):
        yield f'"{name}"'
    yield '"kind"'
    for value in vars(digests).values():
        if isinstance(value, bytes):
            yield value.decode("latin-1")
    yield from (str(number) for number in INTEGERS)
    yield from (*SHA256_TEXTS, *UUIDS, OBJECT_KEY_PREFIX, *_SPELLINGS)


def _names(form: Form) -> Iterator[str]:
    """Every name of a field, tag or variant in *form*."""
    if isinstance(form, Maybe):
        yield from _names(form.inner)
    elif isinstance(form, Items):
        yield from _names(form.item)
    elif isinstance(form, Entries):
        yield from _names(form.value)
    elif isinstance(form, Name):
        yield from form.names
    elif isinstance(form, Tagged):
        for tag, variant in form.variants.items():
            yield tag
            yield from _names(variant)
    elif isinstance(form, Struct):
        for name, inner in form.fields.items():
            yield name
            yield from _names(inner)


def _escaped(word: str) -> str:
    return "".join(
        f"\\{character}"
        if character in '"\\'
        else character
        if " " <= character <= "~"
        else f"\\x{ord(character):02X}"
        for character in word
    )


if __name__ == "__main__":
    sys.stdout.write(dictionary(contract_named(sys.argv[1])))
