"""The transcription of the engine's classification, on which contracts rest, against the engine."""

import json
from collections.abc import Callable, Sequence
from itertools import product

import pytest

from fuzz.engines import RELEASES, EngineRefused, InProcessEngine
from oracle.constants import I64_MIN
from oracle.kernels import frontier
from tests.contracts.engine_watermarks import RESERVED, engine_classification
from tests.contracts.table import Kind, contracts

Channel = tuple[int | None, bool]

CHANNELS: list[Channel] = list(product([None, I64_MIN, I64_MIN + 1, 3, 5], [False, True]))
LISTS = [list(channels) for length in range(4) for channels in product(CHANNELS, repeat=length)]


def progress(channels: Sequence[Channel]) -> bytes:
    """The channels of one source as a JSON array of channel progress."""
    return json.dumps(
        [
            {
                "participant_id": 1,
                "source_name": "orders",
                "input_channel": [1, index],
                "watermark": watermark,
                "idle": idle,
            }
            for index, (watermark, idle) in enumerate(channels)
        ]
    ).encode()


def classified(engine: InProcessEngine, channels: Sequence[Channel]) -> tuple[str, int | None]:
    """The engine's class and value of *channels*, or what stands for its refusal."""
    try:
        return engine.classify_channel_progress(progress(channels))
    except EngineRefused:
        return RESERVED.state, None


@pytest.mark.parametrize("release", RELEASES)
def test_the_transcription_is_what_the_engine_does(
    engine_of: Callable[[str], InProcessEngine], release: str
) -> None:
    """Up to three channels of every kind are classified as transcribed."""
    engine = engine_of(release)
    transcribed = [engine_classification(channels) for channels in LISTS]
    assert [classified(engine, channels) for channels in LISTS] == [
        (watermark.state, watermark.value) for watermark in transcribed
    ]


def test_the_exhibited_pair_is_classified_by_its_order(default_engine: InProcessEngine) -> None:
    """The pair of channels that the contracts exhibit: reversed, the engine says another thing."""
    pairs = {each.example for each in contracts() if each.kind is Kind.DIFFERENCE}
    assert pairs == {((None, False), (I64_MIN, False))}
    for first, second in pairs:
        assert classified(default_engine, [first, second]) == ("uninitialized", None)
        assert classified(default_engine, [second, first]) == ("reserved", None)


def test_the_frontier_is_the_engine_s(default_engine: InProcessEngine) -> None:
    """Up to three channels, none of them reserved, have the same frontier in the engine."""
    lists = [channels for channels in LISTS if all(each[0] != I64_MIN for each in channels)]
    assert [default_engine.channel_progress_frontier(progress(each)) for each in lists] == [
        frontier(each) for each in lists
    ]
