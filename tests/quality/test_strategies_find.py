"""Hard values are found: the strategies reach what a search would otherwise never meet."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from oracle import CheckpointManifest, Singleton, StateChunkId, checkpoint_descriptor_sha256
from oracle.constants import I64_MAX, I64_MIN, U64_MAX
from strategies import Trait, checkpoints, cuts, manifests
from strategies.parts import (
    byte_ranges,
    channel_rosters,
    digest_payloads,
    fences,
    key_group_counts,
    name_rosters,
    names,
    watermarks,
)

# Some of what is hard is long.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

Example = TypeVar("Example")

ENOUGH = settings(max_examples=4_000, database=None, deadline=None, phases=[Phase.generate])


def find_any(strategy: SearchStrategy[Example], condition: Callable[[Example], bool]) -> Example:
    """An example of *strategy* that meets *condition*, as it was first met."""
    return find(strategy, condition, settings=ENOUGH)


def _fully_used(manifest: CheckpointManifest) -> bool:
    """Frames use two older objects and the current one, which is filled by frames alone."""
    chunks = {frame.chunk for frame in manifest.state_frames}
    current = sum(
        frame.range.length
        for frame in manifest.state_frames
        if frame.chunk == manifest.current_chunk
    )
    return (
        len(chunks - {manifest.current_chunk}) >= 2
        and current == manifest.node_data.object_length > 0
    )


def _differ_in_one_byte(rosters: tuple[tuple[bytes, ...], tuple[bytes, ...]]) -> bool:
    left, right = rosters
    if len(left) != len(right) or not left:
        return False
    different = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
    return (
        len(different) == 1
        and len(different[0][0]) == len(different[0][1])
        and sum(a != b for a, b in zip(*different[0], strict=True)) == 1
    )


def _orders_differ(found: tuple[str, ...]) -> bool:
    return list(found) != sorted(found, key=lambda name: name.encode("utf-16-be"))


def _shares_range(manifest: CheckpointManifest) -> bool:
    ranges = [(frame.chunk, frame.range) for frame in manifest.state_frames]
    return len(set(ranges)) < len(ranges)


HARD: dict[str, tuple[SearchStrategy[Any], Callable[[Any], bool]]] = {
    "two older objects and a full current one": (manifests(), _fully_used),
    "two frames of one range": (manifests(), _shares_range),
    "current object that ends at u64's maximum": (
        manifests(),
        lambda m: m.node_data.object_length == U64_MAX,
    ),
    "older object that ends at u64's maximum": (
        manifests(),
        lambda m: any(r.object_length == U64_MAX for r in m.referenced_chunks),
    ),
    "129 participants with subscription output": (
        manifests(),
        lambda m: Trait.MAX_PARTICIPANTS.present(m) and Trait.STREAM.present(m),
    ),
    "65535 vnodes in a cluster": (
        manifests(),
        lambda m: Trait.MAX_VNODES.present(m) and Trait.CLUSTER.present(m),
    ),
    "both distributions at once": (
        manifests(),
        lambda m: Trait.SINGLETON_STREAM.present(m) and Trait.PARTITIONED_STREAM.present(m),
    ),
    "segments up to the last sequence": (
        manifests(),
        lambda m: any(
            segment.exclusive_end_sequence == U64_MAX
            for stream in (m.subscription_output.streams if m.subscription_output else ())
            for segment in stream.segments
        ),
    ),
    "names whose order is another in UTF-16": (
        manifests(),
        lambda m: _orders_differ(m.source_names) or _orders_differ(m.sink_names),
    ),
    "empty name that is registered": (manifests(), lambda m: "" in m.source_names),
    "watermarks at both ends": (
        manifests(),
        lambda m: {I64_MIN + 1, I64_MAX} & {c.watermark for c in m.channel_progress} != set(),
    ),
    "idle channel with the least watermark": (
        manifests(),
        lambda m: any(
            c.idle and c.watermark is not None and c.watermark < (m.checkpoint_watermark or 0)
            for c in m.channel_progress
        ),
    ),
    "all three payloads and intents": (
        manifests(),
        lambda m: all(
            trait.present(m) for trait in (Trait.SINK_ABSENT, Trait.SINK_EMPTY, Trait.INTENT)
        ),
    ),
    "rosters that differ in one byte": (
        st.tuples(channel_rosters(), channel_rosters()),
        _differ_in_one_byte,
    ),
    "roster with a beginning of another channel": (
        channel_rosters(min_size=2),
        lambda roster: any(b.startswith(a) for a, b in pairwise(roster)),
    ),
    "range that ends at u64's maximum": (byte_ranges(), lambda r: r.end == U64_MAX),
    "empty range at u64's maximum": (byte_ranges(), lambda r: r.offset == U64_MAX),
    "payload that is absent": (digest_payloads(), lambda p: p is None),
    "payload that is empty, and not absent": (
        digest_payloads(),
        lambda p: (
            p is not None and checkpoint_descriptor_sha256(p) == checkpoint_descriptor_sha256(b"")
        ),
    ),
    "fence of 129": (
        fences(max_participants=129),
        lambda fence: len(fence.participants) == 129,
    ),
    "most key groups": (key_group_counts(), lambda count: count == 65_535),
    "empty name": (names(), lambda name: name == ""),
    "two normal forms of one name": (
        name_rosters(min_size=2),
        lambda found: {"é", "e\u0301"} <= set(found),
    ),
    "least watermark": (watermarks(), lambda watermark: watermark == I64_MIN + 1),
    "checkpoint with two frames in one older object": (
        checkpoints(),
        lambda c: any(r.ref_count > 1 for r in c.manifest.referenced_chunks),
    ),
    "cut whose singleton is not the first participant's": (
        cuts(min_participants=2),
        lambda cut: any(
            isinstance(stream.distribution_certificate.distribution, Singleton)
            for manifest in cut.manifests
            for stream in (
                manifest.subscription_output.streams if manifest.subscription_output else ()
            )
        ),
    ),
}


@pytest.mark.parametrize("what", HARD)
def test_hard_values_are_found(what: str) -> None:
    """Within a few thousand examples, without asking for it."""
    strategy, condition = HARD[what]
    assert condition(find_any(strategy, condition))


def test_chunks_are_ordered_by_participant_first() -> None:
    """Older objects of another participant come with a later checkpoint, too."""

    def crossed(manifest: CheckpointManifest) -> bool:
        chunks = [reference.chunk for reference in manifest.referenced_chunks]
        return [StateChunkId(0, c.checkpoint_id) for c in chunks] != sorted(
            StateChunkId(0, c.checkpoint_id) for c in chunks
        )

    assert crossed(find_any(manifests(), crossed))
