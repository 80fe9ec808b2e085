"""How fast the strategies are, and how far a JSON Schema of the same type gets."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import thread_time
from typing import Any

from hypothesis.strategies import SearchStrategy

from oracle import Contract, Stage, encode, judge
from strategies.corruptions import corruptions
from strategies.manifests import manifests
from strategies.report import Progress
from strategies.sampling import sample

LEAST_RATE = 150.0
"""Valid manifests a second on one core."""
LEAST_MEDIAN = 2 * 1024
"""Bytes of canonical encoding."""
LEAST_RATIO = 0.5
"""Corruptions against manifests."""

Accepts = Callable[[bytes, int], bool]
"""Whether an engine takes a document for a valid manifest of so many vnodes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy: examples per second of processor time, and what they are worth.

    ``median_size`` is in bytes; ``decoded``, ``valid`` and ``engine_accepts`` are shares of 1.
    """

    strategy: str
    examples: int
    rate: float
    median_size: int
    decoded: float
    valid: float
    engine_accepts: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Manifests, corruptions, and documents of a JSON Schema side by side."""

    manifests: Row
    corruptions: Row
    jsonschema: Row

    @property
    def ratio(self) -> float:
        """Rate of corruptions by rate of manifests."""
        return self.corruptions.rate / self.manifests.rate

    @property
    def speed_up(self) -> float | None:
        """Manifests accepted by the engine per second, by those of the schema; None without any."""
        schema = self.jsonschema.rate * self.jsonschema.engine_accepts
        ours = self.manifests.rate * self.manifests.engine_accepts
        return ours / schema if schema else None

    @property
    def faults(self) -> list[str]:
        """What is not as fast, as large or as valid as it must be."""
        found = []
        if self.manifests.rate < LEAST_RATE:
            found.append(f"{self.manifests.rate:.0f} manifests a second, below {LEAST_RATE:.0f}")
        if self.manifests.median_size < LEAST_MEDIAN:
            found.append(f"a median of {self.manifests.median_size} bytes, below {LEAST_MEDIAN}")
        if self.ratio < LEAST_RATIO:
            found.append(f"corruptions at {self.ratio:.2f} of the rate, below {LEAST_RATIO}")
        if self.manifests.valid < 1 or self.manifests.engine_accepts < 1:
            found.append("not every manifest is valid")
        if self.corruptions.valid > 0 or self.corruptions.engine_accepts > 0:
            found.append("not every corruption is invalid")
        return found


def bench(
    contract: Contract,
    accepts: Accepts,
    examples: int,
    of_schema: int,
    start: int,
    progress: Progress,
) -> Bench:
    """Draw *examples* of each strategy, and *of_schema* documents of the schema.

    *progress* is told what is under way.
    """
    # It is an extra of its own, and of use nowhere else.
    from strategies.jsonschema_peer import documents

    return Bench(
        _row(
            "manifests()",
            manifests(contract),
            examples,
            start,
            contract,
            accepts,
            progress,
            lambda manifest: (encode(manifest, contract), manifest.vnode_count),
        ),
        _row(
            "corruptions()",
            corruptions(contract),
            examples,
            start,
            contract,
            accepts,
            progress,
            lambda corruption: (corruption.document, corruption.key_groups),
        ),
        _row(
            "hypothesis-jsonschema",
            documents(contract),
            of_schema,
            start,
            contract,
            accepts,
            progress,
            lambda document: (
                json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass"),
                # Whatever count it is for, if it is for one.
                max(1, document["vnode_count"]),
            ),
        ),
    )


def _row(
    name: str,
    strategy: SearchStrategy[Any],
    count: int,
    start: int,
    contract: Contract,
    accepts: Accepts,
    progress: Progress,
    document_of: Callable[[Any], tuple[bytes, int]],
) -> Row:
    drawn = itertools.count(1)

    def told(example: Any) -> Any:
        progress(f"{name}: {next(drawn):,} of {count:,}")
        return example

    sample(strategy, 20, start)  # what is built once, before the clock runs
    # Of this thread, so that showing progress does not count.
    started = thread_time()
    found = sample(strategy.map(told), count, start)
    rate = count / (thread_time() - started)
    progress(f"{name}: {count:,} being judged")
    documents = [document_of(example) for example in found]
    verdicts = [judge(document, key_groups, contract) for document, key_groups in documents]
    return Row(
        name,
        count,
        rate,
        round(median(len(document) for document, _ in documents)),
        sum(verdict.stage is not Stage.DECODE for verdict in verdicts) / count,
        sum(verdict.stage is Stage.VALID for verdict in verdicts) / count,
        sum(accepts(document, key_groups) for document, key_groups in documents) / count,
    )
