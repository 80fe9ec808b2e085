"""Which rule a message of the engine stands for: the patterns are complete and do not overlap."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.messages import Message, messages_of
from oracle import CONTRACTS, Contract, Level, rules_of

FORMATS = list(CONTRACTS.values())
NAME = "orders"  # the name that stands for any name in the samples


def entries(contract: Contract) -> list[Message]:
    """The messages of the engines of *contract*."""
    return list(messages_of(contract).entries)


@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: contract.name)
def test_every_rule_has_a_message(contract: Contract) -> None:
    """Every rule and fault of a format can be recognised, and nothing else is."""
    reported = {entry.id for entry in rules_of(contract, Level.RULE, Level.FAULT)}
    reported -= {entry.family for entry in rules_of(contract, Level.FAULT)}
    assert {rule for entry in entries(contract) for rule in entry.rules} == reported


@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: contract.name)
def test_messages_are_of_the_contract(contract: Contract) -> None:
    """Each format has a file of its own, and so cannot fall back to an older one."""
    assert messages_of(contract).manifest_version == contract.manifest_version


@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: contract.name)
def test_sample_is_taken_by_its_pattern_alone(contract: Contract) -> None:
    """A pattern takes its sample, as a whole, and no other pattern does."""
    for entry in entries(contract):
        takers = [
            other
            for other in entries(contract)
            if re.fullmatch(other.pattern, entry.sample, re.DOTALL)
        ]
        assert takers == [entry]
        assert messages_of(contract).message_of(entry.sample) == entry


@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: contract.name)
def test_pattern_takes_nothing_around_its_sample(contract: Contract) -> None:
    """Something before or behind a message makes it another message."""
    for entry in entries(contract):
        for text in (f"x{entry.sample}", f"{entry.sample}x", f"{entry.sample}\n"):
            assert messages_of(contract).message_of(text) is None


SAMPLES = sorted({entry.sample for contract in FORMATS for entry in entries(contract)})
HOSTILE = st.one_of(
    st.text(),
    st.sampled_from(SAMPLES),
    # What stands around a name in one message, inside a name in another.
    st.sampled_from([part for sample in SAMPLES for part in sample.split(NAME)]),
    st.sampled_from(["", "'", "\n", "' '", '"', "\\", "}", "\u2028"]),
)


@given(HOSTILE)
def test_name_cannot_pass_for_another_message(name: str) -> None:
    """Whatever a source, sink or operator is called, its messages stand for the same rule."""
    for contract in FORMATS:
        for entry in entries(contract):
            if NAME not in entry.sample:
                continue
            text = entry.sample.replace(NAME, name)
            takers = [
                other for other in entries(contract) if re.fullmatch(other.pattern, text, re.DOTALL)
            ]
            assert takers == [entry]
            assert messages_of(contract).message_of(text) == entry


def test_names_of_the_parts_can_be_read() -> None:
    """A pattern names what varies in its message."""
    (entry,) = (e for e in entries(CONTRACTS["v10"]) if e.rules == ("offsets.roster",))
    match = re.fullmatch(entry.pattern, entry.sample, re.DOTALL)
    assert match is not None
    assert match.groupdict() == {"source": NAME}


def test_unknown_message_is_taken_by_none() -> None:
    """A message that no engine is known to write stands for no rule."""
    assert messages_of(CONTRACTS["v10"]).message_of("the manifest is too round") is None


def test_message_of_a_later_format_is_unknown_before() -> None:
    """A generation does not know messages that came after it, or that it worded differently."""
    v9, v10 = messages_of(CONTRACTS["v9"]), messages_of(CONTRACTS["v10"])
    later = "sink artifact intent name must not be empty"
    assert v10.message_of(later) is not None
    assert v9.message_of(later) is None
    earlier = "prepared sink payload byte range overflows"
    assert v9.message_of(earlier) is not None
    assert v10.message_of(earlier) is None


@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: contract.name)
def test_time_is_linear_in_the_length_of_a_name(contract: Contract) -> None:
    """A long name made of pieces of messages does not make looking for the rule take long."""
    messages = messages_of(contract)
    for entry in entries(contract):
        before, name, behind = entry.sample.partition(NAME)
        if name:
            seconds = []
            for count in (500, 4_000):
                text = before + (behind + before) * count
                start = time.process_time()
                messages.message_of(text)
                seconds.append(time.process_time() - start)
            assert seconds[1] < 0.05 + 16 * seconds[0], entry.sample
