"""The libFuzzer dictionary has the words that documents are made of."""

from __future__ import annotations

import re

import pytest

from fuzz.dictionary import dictionary
from oracle import V9, V10, Contract

# What libFuzzer accepts as an entry, by its documentation.
ENTRY = re.compile(r'"(?:[^"\\\x00-\x1f\x7f-\uffff]|\\\\|\\"|\\x[0-9A-F]{2})+"')


@pytest.mark.parametrize("contract", [V9, V10], ids=lambda contract: contract.name)
def test_every_line_is_an_entry(contract: Contract) -> None:
    """Each line is a quoted word with libFuzzer's escapes, and none stands twice."""
    lines = dictionary(contract).splitlines()
    assert all(ENTRY.fullmatch(line) for line in lines)
    assert len(lines) == len(set(lines))


def test_words_of_a_contract() -> None:
    """Names of fields, tags and domains are there; those of another contract are not."""
    words = dictionary(V10)
    for word in (r"\"owned_vnodes\"", r"\"vnode_partitioned\"", "laminardb-vnode-owner-map-v2"):
        assert word in words
    assert "subscription_output" in words
    assert "subscription_output" not in dictionary(V9)
