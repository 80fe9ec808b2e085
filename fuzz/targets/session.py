"""One process's search: compares inputs, counts what was seen, and tells of disagreements."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from fuzz.comparison import AGREEMENT, Comparison, Outcome, compare
from fuzz.cuts import CutComparison, CutDocuments, compare_cut, lending_cuts
from fuzz.engines.protocol import Engine, StoreEngine
from fuzz.outcome import engine_says, oracle_says
from oracle import Contract

ORACLE_ERROR = "oracle-error"
"""The outcome where the oracle fails in a way of which it says that it never does."""

USUAL_KEY_GROUPS = frozenset((1, 2, 4, 16, 256, 65_535))
DEFAULT_KEY_GROUPS = 4
_NAME = b'"vnode_count"'
_NUMBER = re.compile(rb"\s*:\s*(\d{1,5})")
# In the array form the count follows the deployment's id and the ABI.
_IN_ARRAY = re.compile(rb'"[-0-9a-fA-F]{36}"\s*,\s*2\s*,\s*(\d{1,5})')

# Encodings and digests are compared for one input in so many; verdicts for each.
_DEEP_EVERY = 32


def key_groups_of(document: bytes) -> int:
    """The key-group count that a campaign holds *document* against.

    A count is no part of a document, and replaying one must give the same verdict. So it is the
    first ``vnode_count`` that stands in it where that is a usual one, and else 4.
    """
    place = document.find(_NAME)
    after = place + len(_NAME)
    match = _IN_ARRAY.search(document) if place < 0 else _NUMBER.match(document, after)
    count = int(match[1]) if match else 0
    return count if count in USUAL_KEY_GROUPS else DEFAULT_KEY_GROUPS


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An input on which the two sides differ.

    ``signature`` says how, without what is only true of this one input; ``oracle`` and
    ``engine`` are what each side says. ``key_groups`` is none where the input is no
    manifest.
    """

    outcome: str
    signature: str
    document: bytes
    key_groups: int | None
    oracle: tuple[str, ...]
    engine: tuple[str, ...]


@dataclass(slots=True)
class Counts:
    """What a search has seen so far, by which one can tell that it is not blind."""

    inputs: int = 0
    decoded: int = 0
    valid: int = 0
    rules: dict[str, list[int]] = field(default_factory=dict)
    """How often each rule fired: at the oracle, at the engine, at both, and at both alone."""
    known: Counter[str] = field(default_factory=Counter)
    """Known divergences by id."""
    signatures: Counter[str] = field(default_factory=Counter)
    """Disagreements by signature."""

    def count(self, oracle: frozenset[str], engine: frozenset[str]) -> None:
        """Count a document of which each side finds these rules broken."""
        alone = len(oracle) == 1 and oracle == engine
        for rule in oracle | engine:
            counts = self.rules.setdefault(rule, [0, 0, 0, 0])
            counts[0] += rule in oracle
            counts[1] += rule in engine
            counts[2] += rule in oracle and rule in engine
            counts[3] += alone


Report = Callable[[Disagreement], None]
Keep = Callable[[bytes, int], None]


class Session:
    """Compares the oracle and one engine on one input after another."""

    def __init__(
        self, engine: Engine, contract: Contract, report: Report, keep: Keep | None = None
    ) -> None:
        """Hold *engine* against *contract*.

        *report* is told of each disagreement that is not known; *keep* is given every input
        before it is judged, so that it outlives the process.
        """
        self.engine = engine
        self.contract = contract
        self.counts = Counts()
        self._report = report
        self._keep = keep

    def judge(self, document: bytes) -> None:
        """Compare both sides on *document*."""
        counts = self.counts
        key_groups = key_groups_of(document)
        if self._keep is not None:
            self._keep(document, key_groups)
        counts.inputs += 1
        deep = counts.inputs % _DEEP_EVERY == 0
        try:
            found = compare(document, self.engine, key_groups, self.contract, deep=deep)
        except Exception as error:  # whatever it is, it is a finding
            self._tell(_failed(error, document, key_groups))
            return
        if found.oracle.manifest is not None:
            counts.decoded += 1
            if found.oracle.findings or found.engine_rules:
                counts.count(found.oracle.rules, found.engine_rules)
            else:
                counts.valid += 1
        if found.outcome is not Outcome.AGREE:
            if found.known is not None:
                counts.known[found.known] += 1
            else:
                self._tell(disagreement(found, document, key_groups))

    def judge_cut(self, text: bytes) -> None:
        """Compare both sides on the whole cut whose text is *text*.

        :class:`EngineUnsupported` when the engine cannot be asked about cuts.
        """
        counts = self.counts
        if self._keep is not None:
            self._keep(text, key_groups_of(text))
        counts.inputs += 1
        engine = self._engine_of_cuts
        try:
            found = compare_cut(engine, CutDocuments.of_text(text))
        except Exception as error:  # whatever it is, it is a finding
            self._tell(_failed(error, text, None))
            return
        counts.decoded += found.oracle.rejection is None
        counts.valid += found.oracle.step is None
        counts.count(found.oracle_rules, found.engine_rules)
        if found.is_finding:
            self._tell(cut_disagreement(found, text))
        else:
            counts.known.update({one.known for one in found.differences if one.known is not None})

    @cached_property
    def _engine_of_cuts(self) -> StoreEngine:
        return lending_cuts(self.engine)

    def digest(self, function: str, data: bytes, expected: object, found: object) -> None:
        """Take note of the digests that both sides give for *data*."""
        counts = self.counts
        counts.inputs += 1
        if expected != found:
            signature = f"{Outcome.DIGEST.value}: {function}"
            sides = (f"{function} is {expected!r}",), (f"{function} is {found!r}",)
            self._tell(Disagreement(Outcome.DIGEST.value, signature, data, None, *sides))

    def _tell(self, disagreement: Disagreement) -> None:
        self.counts.signatures[disagreement.signature] += 1
        self._report(disagreement)


def disagreement(found: Comparison, document: bytes, key_groups: int) -> Disagreement:
    """*found* on *document*, in words."""
    return Disagreement(
        found.signature.outcome.value,
        str(found.signature),
        document,
        key_groups,
        oracle_says(found.oracle),
        engine_says(found.engine),
    )


def cut_disagreement(found: CutComparison, text: bytes) -> Disagreement:
    """*found* on the cut whose text is *text*, in words."""
    signature = AGREEMENT if found.first is None else found.first.signature
    return Disagreement(
        signature.outcome.value,
        str(signature),
        text,
        None,
        tuple(f"{one.step}: {one.oracle}" for one in found.differences),
        tuple(f"{one.step}: {one.engine}" for one in found.differences),
    )


def _failed(error: Exception, document: bytes, key_groups: int | None) -> Disagreement:
    place = traceback.extract_tb(error.__traceback__)[-1]
    name = type(error).__name__
    # The line's text and not its number: the number changes with every edit above it.
    signature = f"{ORACLE_ERROR}: {name} at `{place.line}`"
    told = tuple(traceback.format_exception(error))
    return Disagreement(ORACLE_ERROR, signature, document, key_groups, told, ())
