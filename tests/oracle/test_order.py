"""Order is that of UTF-8 bytes, and of the contract's tuples, nowhere that of UTF-16 or length."""

from __future__ import annotations

from itertools import combinations

import pytest

from oracle import judge, model
from oracle.kernels import first_disorder, strictly_ascending
from tests.oracle.documents import (
    ABSENT_DESCRIPTOR,
    ABSENT_INTENT,
    KEY_GROUPS,
    Document,
    channel,
    empty,
    sealed,
    sink,
    stream,
    subscribed,
    text,
    vnode,
    whole,
)

NAMES = ["\x01", " ", "A", "Z", "a", "aa", "b", "\x7f", "\xe9", "\ue000", "\uffff", "\U00010000"]
"""In order of their bytes; UTF-16 has the last before the two that precede it here."""

PAIRS = list(combinations(NAMES, 2))


def _names(field: str, first: str, second: str) -> Document:
    return empty() | {field: [first, second]}


def _frames(first: str, second: str) -> Document:
    document = empty() | {"state_frames": [whole(first, 0, 1), whole(second, 1, 1)]}
    document["node_data"]["object_length"] = 2
    return document


def _vnodes(first: str, second: str) -> Document:
    document = empty() | {"state_frames": [vnode(first, 3, 0, 1), vnode(second, 0, 1, 1)]}
    document["node_data"]["object_length"] = 2
    return document


def _channels(first: str, second: str) -> Document:
    entries = [channel(first, [2], 1, idle=True), channel(second, [1], 1, idle=True)]
    return empty() | {
        "channel_progress": entries,
        "source_names": sorted([first, second], key=str.encode),
    }


def _sinks(first: str, second: str) -> Document:
    return empty() | {
        "sink_names": sorted([first, second], key=str.encode),
        "prepared_sinks": [
            sink(first, None, ABSENT_DESCRIPTOR),
            sink(second, None, ABSENT_DESCRIPTOR),
        ],
        "sink_artifact_intents": [
            sink(first, None, ABSENT_INTENT),
            sink(second, None, ABSENT_INTENT),
        ],
    }


@pytest.mark.parametrize(
    ("rules", "make"),
    [
        ({"source-names.order"}, lambda *pair: _names("source_names", *pair)),
        ({"sink-names.order"}, lambda *pair: _names("sink_names", *pair)),
        ({"frames.order"}, _frames),
        ({"frames.order"}, _vnodes),
        ({"channels.order"}, _channels),
        ({"sinks.order", "intents.order"}, _sinks),
    ],
)
def test_names_compare_by_bytes(rules: set[str], make: object) -> None:
    """Every pair of names is in order one way and out of order the other way and doubled."""
    assert callable(make)
    for first, second in PAIRS:
        assert judge(text(make(first, second)), KEY_GROUPS).rules == set()
        assert judge(text(make(second, first)), KEY_GROUPS).rules == rules


def test_streams_compare_by_bytes() -> None:
    """Streams are ordered by the bytes of stream_id."""
    names = [name for name in NAMES if name.strip() == name]
    for first, second in combinations(names, 2):
        document = subscribed()
        output = document["subscription_output"]
        output["streams"] = [stream(first), stream(second)]
        assert judge(text(sealed(document)), KEY_GROUPS).rules == set()
        output["streams"] = [stream(second), stream(first)]
        found = judge(text(sealed(document)), KEY_GROUPS).rules
        assert found == {"subscription.streams-order"}


def test_channels_compare_as_bytes() -> None:
    """Input channels compare by their bytes, a prefix before what it begins."""
    channels = [[0, 0], [0, 255], [1], [1, 0], [1, 1], [2], [255]]
    for first, second in combinations(channels, 2):
        entries = [channel("s", name, 1, idle=True) for name in (first, second)]
        document = empty() | {"channel_progress": entries, "source_names": ["s"]}
        assert judge(text(document), KEY_GROUPS).rules == set()
        entries.reverse()
        assert judge(text(document), KEY_GROUPS).rules == {"channels.order"}


def test_keys_compare_by_kind_operator_vnode() -> None:
    """Whole operators come first, then vnodes by operator, then by number."""
    keys: list[model.StateFrameKey] = [
        model.OperatorWhole("a"),
        model.OperatorWhole("z"),
        model.Vnode("a", 0),
        model.Vnode("a", 65_535),
        model.Vnode("b", 0),
    ]
    assert strictly_ascending([key.order for key in keys])


def test_chunks_compare_by_participant_then_checkpoint() -> None:
    """The participant decides before the checkpoint."""
    assert model.StateChunkId(1, 9) < model.StateChunkId(2, 1) < model.StateChunkId(2, 2)


def test_first_disorder() -> None:
    """It is the item that does not follow the one before it, the first of them."""
    assert first_disorder([]) is None
    assert first_disorder([1]) is None
    assert first_disorder([1, 2, 3]) is None
    assert first_disorder([1, 1, 0]) == 1
    assert first_disorder([1, 2, 0, 0]) == 2
    assert strictly_ascending(["a", "b"])
    assert not strictly_ascending(["a", "a"])
