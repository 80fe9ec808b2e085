"""The canonical encoding: what it writes, and that it does not depend on the spelling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import CONTRACTS, V9, decode, encode
from oracle.encoding import escape
from tests.oracle.documents import BOOT_1, cluster, empty, local, subscribed, text, v9, view_logs
from tests.oracle.slots import as_arrays, rich


def canonical(document: Any) -> bytes:
    """The canonical text of a document that is written as the engine does, by other means."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("make", [empty, cluster, local, subscribed])
def test_canonical_text(make: Any) -> None:
    """Sorted names, no spaces, none as null, bytes as numbers."""
    document = make()
    assert encode(decode(text(document))) == canonical(document)


def test_fields_that_are_left_out() -> None:
    """Empty intents and no subscription output are not written; other empty things are."""
    document = empty() | {"sink_artifact_intents": [], "subscription_output": None}
    assert encode(decode(text(document))) == canonical(empty())
    assert encode(decode(text(v9(empty())), V9), V9) == canonical(v9(empty()))
    assert encode(decode(text(v9(empty())), V9)) == canonical(v9(empty()))


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_round_trip(contract: Any) -> None:
    """Decoding the encoding gives the manifest again, and encoding that the same bytes."""
    manifest = decode(text(rich(contract.name)), contract)
    data = encode(manifest, contract)
    assert decode(data, contract) == manifest
    assert encode(decode(data, contract), contract) == data


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_spelling_does_not_matter(contract: Any) -> None:
    """Arrays for objects, escapes for characters, spaces and order: the same bytes come out."""
    document = rich(contract.name)
    expected = canonical(document)
    arrays = as_arrays(document, "CheckpointManifest", contract.name)
    spellings = [
        text(arrays),
        json.dumps(document, indent=3).encode(),
        json.dumps(arrays, ensure_ascii=True).encode(),
        json.dumps(document, sort_keys=True, separators=(" ,\n", "\t:\r")).encode(),
    ]
    for spelling in spellings:
        assert encode(decode(spelling, contract), contract) == expected


def test_uuids_are_written_in_lower_case_with_hyphens() -> None:
    """Whatever the spelling, a UUID is written in one; a deployment_id stays as it is."""
    document = cluster() | {"deployment_id": "ABC"}
    document["assignment_fence"]["participants"][0]["boot_incarnation"] = (
        f"urn:uuid:{BOOT_1.upper()}"
    )
    written = json.loads(encode(decode(text(document))))
    assert written["assignment_fence"]["participants"][0]["boot_incarnation"] == BOOT_1
    assert written["deployment_id"] == "ABC"


def test_changelog_modes_are_written_as_names() -> None:
    """The object form of a mode becomes its name."""
    document = subscribed()
    certificate = document["subscription_output"]["streams"][0]["distribution_certificate"]
    certificate["changelog_mode"] = {"append": None}
    written = json.loads(encode(decode(text(document))))
    output = written["subscription_output"]["streams"][0]["distribution_certificate"]
    assert output["changelog_mode"] == "append"


SHORT = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


@pytest.mark.parametrize("code", [*range(0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x10FFFF])
def test_escapes(code: int) -> None:
    """Seven short escapes, the other controls in lower-case hexadecimal, the rest raw."""
    character = chr(code)
    expected = SHORT.get(code)
    if expected is None:
        expected = f"\\u{code:04x}".encode() if code < 0x20 else character.encode()
    document = empty() | {"source_names": [character]}
    found = encode(decode(json.dumps(document).encode()))
    assert b'"source_names":["' + expected + b'"]' in found
    assert escape(character).encode() == expected


def test_keys_are_sorted_by_their_bytes() -> None:
    """Names of maps are sorted as UTF-8 bytes, not as UTF-16, and escaped as strings are."""
    names = ["", "\0", "Z", "a", "a\0", "ab", "z", "\x7f", "\x80", "\ue000", "\uffff", "\U00010000"]
    assert names == sorted(names, key=str.encode)
    offsets = dict.fromkeys(reversed(names), "")
    document = empty() | {"source_offsets": {"s": {"offsets": offsets, "metadata": {}}}}
    found = encode(decode(text(document)))
    written = json.loads(found)["source_offsets"]["s"]["offsets"]
    assert list(written) == names
    assert b'"\\u0000":""' in found


def test_view_logs_are_written_where_there_are_some() -> None:
    """The format with view logs writes them, and leaves them out when empty."""
    contract = CONTRACTS["view-log"]
    assert encode(decode(text(view_logs()), contract), contract) == canonical(view_logs())
    without = local() | {"version": 11, "view_logs": []}
    assert b"view_logs" not in encode(decode(text(without), contract), contract)
