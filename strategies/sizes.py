"""How large view logs are in the canonical encoding, beside what the engine documents (D5).

The documentation says "about 285" bytes for a segment, and "near 13 MiB" for two cuts at the
cluster's budget, within the 16 MiB that clean-up loads together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import mean, median, quantiles

from oracle import (
    MAX_CHECKPOINT_MANIFEST_BYTES,
    CheckpointManifest,
    Contract,
    ViewLog,
    ViewLogSegment,
    canonical_json_bytes,
    encode,
)
from strategies.manifests import manifests
from strategies.sampling import sample
from strategies.traits import Trait
from strategies.view_logs import limit_of, realistic_segments

DOCUMENTED_SEGMENT_BYTES = 285
"""What the engine's documentation says a segment takes, about."""

DOCUMENTED_TWO_CUTS_MIB = 13
"""What it says two cuts at the budget take, near, in MiB."""

MIB = 1024 * 1024

_MOST_OFF = 0.1
_LOGS = 8
_CUT_SIZES = (1, 2, 3, 16, 129)


@dataclass(frozen=True, slots=True)
class CutRow:
    """A cut of so many participants, each of which retains as many segments as it may.

    ``segments`` is over all of them; ``manifest`` and ``two_cuts`` are bytes of all that is
    encoded, the first of one participant's manifest.
    """

    participants: int
    segments: int
    manifest: int
    two_cuts: int

    @property
    def fits(self) -> bool:
        """Whether two such cuts can be loaded together, and each manifest by itself."""
        return max(self.manifest, self.two_cuts) <= MAX_CHECKPOINT_MANIFEST_BYTES


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a realistic segment with the comma behind it, and of what is full of them."""

    contract: str
    examples: int
    segment: dict[str, int]
    cuts: tuple[CutRow, ...]

    @property
    def faults(self) -> list[str]:
        """Where the assumed fields do not fit what is documented."""
        found = []
        mean_bytes = self.segment["mean"]
        if abs(mean_bytes / DOCUMENTED_SEGMENT_BYTES - 1) > _MOST_OFF:
            found.append(f"a segment has {mean_bytes} bytes, not about {DOCUMENTED_SEGMENT_BYTES}")
        for row in self.cuts:
            if not row.fits:
                found.append(f"two cuts of {row.participants} participants do not fit in 16 MiB")
        return found


def sizes_of(contract: Contract, examples: int, start: int) -> Sizes:
    """Measure *examples* realistic segments, and manifests full of them; *start* is the seed."""
    segments = sample(realistic_segments(), examples, start)
    lengths = [len(canonical_json_bytes(segment)) + 1 for segment in segments]
    tenths = quantiles(lengths, n=10)
    rows = []
    for participants in _CUT_SIZES:
        limit = limit_of(contract, participants)
        size = len(encode(_retaining(segments, limit, contract), contract))
        rows.append(CutRow(participants, participants * limit, size, 2 * participants * size))
    return Sizes(
        contract.name,
        examples,
        {
            "least": min(lengths),
            "tenth": round(tenths[0]),
            "median": round(median(lengths)),
            "mean": round(mean(lengths)),
            "nine tenths": round(tenths[-1]),
            "most": max(lengths),
        },
        tuple(rows),
    )


def _retaining(
    segments: Iterable[ViewLogSegment], count: int, contract: Contract
) -> CheckpointManifest:
    """A plain manifest with *count* of *segments*, over and over; only its size is realistic."""
    plain = sample(manifests(contract, having={Trait.CLUSTER}, without={Trait.VIEW_LOG}), 1)[0]
    known = tuple(segments)
    taken = (known * -(-count // len(known)))[:count]
    share = -(-count // _LOGS)
    logs = (taken[at : at + share] for at in range(0, count, share))
    return replace(
        plain,
        view_logs=tuple(ViewLog(f"view-{number:03}", log) for number, log in enumerate(logs)),
    )
