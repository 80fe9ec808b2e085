"""A chosen few properties with CrossHair as Hypothesis's backend: symbolic draws, real code."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle.constants import I64_MIN, U64_MAX
from oracle.encoding import escape
from oracle.kernels import classify, first_disorder, row_gaps, tile
from tests.contracts.engine_watermarks import engine_classification

pytestmark = pytest.mark.nightly

symbolic = settings(
    backend="crosshair",
    max_examples=200,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

lengths = st.lists(st.integers(0, 2**32), max_size=4)
channels = st.lists(
    st.tuples(st.none() | st.integers(I64_MIN, 2**63 - 1), st.booleans()), max_size=4
)


@symbolic
@given(lengths)
def test_ranges_laid_out_one_after_another_have_no_gap(lengths: list[int]) -> None:
    """Ranges at the running sum of the lengths tile up to the sum."""
    ranges, end = [], 0
    for length in lengths:
        ranges.append((end, length))
        end += length
    assert tile(ranges).gaps == ()
    assert tile(ranges).end == end


@symbolic
@given(lengths, st.integers(0, 3), st.integers(1, U64_MAX))
def test_a_moved_range_is_a_gap(lengths: list[int], index: int, distance: int) -> None:
    """A range that starts later than it should is the first gap."""
    ranges, end = [], 0
    for position, length in enumerate(lengths):
        ranges.append((end + (distance if position == index else 0), length))
        end += length
    gaps = tile(ranges).gaps
    assert [gap.index for gap in gaps[:1]] == ([index] if index < len(ranges) else [])


@symbolic
@given(channels)
def test_reversed_channels_are_classified_alike(channels: list[tuple[int | None, bool]]) -> None:
    """The classification does not depend on the order of the channels."""
    assert classify(channels[::-1]) == classify(channels)


@symbolic
@given(channels)
def test_the_engine_agrees_unless_a_watermark_is_reserved(
    channels: list[tuple[int | None, bool]],
) -> None:
    """As transcribed, the engine classifies as the oracle does where it meets no reserved value."""
    transcribed = engine_classification(channels)
    reserved = I64_MIN in [watermark for watermark, _ in channels]
    assert reserved or transcribed == classify(channels)


@symbolic
@given(st.characters(exclude_categories=["Cs"]))
def test_json_reads_what_is_written_of_a_character(character: str) -> None:
    """The standard library's reader reads an escaped character as itself."""
    assert json.loads(f'"{escape(character)}"') == character


@symbolic
@given(st.lists(st.integers(0, 2**16), max_size=4))
def test_sorted_distinct_numbers_are_in_order(numbers: list[int]) -> None:
    """Numbers, sorted and without repeats, have no disorder."""
    assert first_disorder(sorted(set(numbers))) is None


@symbolic
@given(st.integers(0, 2**32), st.lists(st.integers(1, 2**16), min_size=1, max_size=4))
def test_rows_laid_out_one_after_another_have_no_gap(first_row: int, counts: list[int]) -> None:
    """Runs that go on where the one before ended have no gap."""
    runs = []
    for count in counts:
        runs.append((7, first_row, count))
        first_row += count
    assert row_gaps(runs) == []
