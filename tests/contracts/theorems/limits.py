"""Shares of the cluster's segment budget, bounds of integers, gates of formats."""

from oracle.constants import I64_MAX, I64_MIN, MAX_CHECKPOINT_PARTICIPANTS, U16_MAX, U64_MAX
from oracle.errors import DecodeError
from oracle.formats import CONTRACTS, VIEW_LOG, Feature
from oracle.kernels import view_log_segment_limit
from oracle.model import I64, U16, U64
from oracle.shapes import decoder
from tests.contracts.table import theorem
from tests.contracts.theorems.domains import are_u64

FORMATS = list(CONTRACTS.values())
FEATURES = list(Feature)


def limit(participants: int) -> int:
    """The segment limit of the view-log format."""
    return view_log_segment_limit(
        participants, VIEW_LOG.max_view_log_segments, VIEW_LOG.max_cluster_view_log_segments
    )


@theorem(example=(129,))
def every_participant_has_a_share(participants: int) -> None:
    """Up to 129 participants, each may retain at least 1 segment."""
    assert 1 <= participants <= MAX_CHECKPOINT_PARTICIPANTS
    assert limit(participants) >= 1


@theorem(example=(3, 100, 20))
def shares_never_exceed_the_budget(participants: int, in_manifest: int, in_cluster: int) -> None:
    """The shares of all participants together are within the cluster's budget."""
    assert 1 <= participants <= MAX_CHECKPOINT_PARTICIPANTS
    assert are_u64(in_manifest, in_cluster)
    assert (
        participants * view_log_segment_limit(participants, in_manifest, in_cluster) <= in_cluster
    )


@theorem(example=(3, 100, 20))
def a_share_never_grows(participants: int, in_manifest: int, in_cluster: int) -> None:
    """With one participant more, no share is larger."""
    assert 1 <= participants < MAX_CHECKPOINT_PARTICIPANTS
    assert are_u64(in_manifest, in_cluster)
    share = view_log_segment_limit(participants, in_manifest, in_cluster)
    assert view_log_segment_limit(participants + 1, in_manifest, in_cluster) <= share


@theorem(example=(3, 100, 20))
def a_share_wastes_nothing(participants: int, in_manifest: int, in_cluster: int) -> None:
    """A share is the manifest's own limit, or one segment more for each passes the budget."""
    assert 1 <= participants <= MAX_CHECKPOINT_PARTICIPANTS
    assert are_u64(in_manifest, in_cluster)
    share = view_log_segment_limit(participants, in_manifest, in_cluster)
    assert share <= in_manifest
    assert share == in_manifest or participants * (share + 1) > in_cluster


@theorem(example=(U64_MAX + 1,), cpu_seconds=2.5)
def a_u64_is_taken_exactly_in_its_bounds(value: int) -> None:
    """A u64 field takes an integer exactly when it is in 0..=18446744073709551615."""
    assert -(2**70) < value < 2**70
    assert taken(U64, value) == (0 <= value <= U64_MAX)


@theorem(example=(I64_MIN,), cpu_seconds=2.5)
def an_i64_is_taken_exactly_in_its_bounds(value: int) -> None:
    """An i64 field takes an integer exactly when it is in -2^63..=2^63-1."""
    assert -(2**70) < value < 2**70
    assert taken(I64, value) == (I64_MIN <= value <= I64_MAX)


@theorem(example=(U16_MAX,), cpu_seconds=2.5)
def a_u16_is_taken_exactly_in_its_bounds(value: int) -> None:
    """A u16 field takes an integer exactly when it is in 0..=65535."""
    assert -(2**70) < value < 2**70
    assert taken(U16, value) == (0 <= value <= U16_MAX)


def taken(shape: object, value: int) -> bool:
    """Whether a field of *shape* takes the integer *value*."""
    try:
        read: int = decoder(shape, VIEW_LOG).one(value)
    except DecodeError:
        return False
    return read == value


@theorem(example=(0, 1, 0))
def a_feature_never_goes_away(older: int, newer: int, feature: int) -> None:
    """What an older format has, every newer one has; what holds everywhere needs no feature."""
    assert 0 <= older <= newer < len(FORMATS)
    assert 0 <= feature < len(FEATURES)
    gate = FEATURES[feature]
    assert not FORMATS[older].has(gate) or FORMATS[newer].has(gate)
    assert FORMATS[older].has(None)


@theorem(example=(0, 1))
def formats_have_ascending_versions(older: int, newer: int) -> None:
    """A newer format has a greater version, and no older pipeline identity."""
    assert 0 <= older < newer < len(FORMATS)
    before, after = FORMATS[older], FORMATS[newer]
    assert before.manifest_version < after.manifest_version
    assert before.pipeline_identity_version <= after.pipeline_identity_version
