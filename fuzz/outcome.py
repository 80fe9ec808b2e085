"""How a comparison ends, and what differs."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fuzz.engines.protocol import EngineVerdict
from oracle import Verdict


class Outcome(Enum):
    """How a comparison ended; the value is its name in reports."""

    AGREE = "agree"
    """Nothing differs."""
    STAGE = "stage"
    """One side rejects at decode, finds invalid or finds valid what the other does not."""
    RULES = "rules"
    """Both find it invalid, and for different reasons."""
    ENCODING = "encoding"
    """The canonical encodings differ."""
    DIGEST = "digest"
    """A digest of a part of the manifest differs."""
    PANIC = "panic"
    """The engine panicked."""
    HANG = "hang"
    """The engine did not answer in time."""
    CRASH = "crash"
    """The engine's process ended."""
    UNMAPPED = "unmapped"
    """The engine gives a reason that stands for no known rule."""
    KNOWN = "known"
    """Something differs as the ledger of known divergences says it does."""


class Signature(NamedTuple):
    """What differs, without what is only true of one document.

    ``outcome`` is never ``KNOWN``: it is what it would be without the ledger. ``oracle`` and
    ``engine`` are each side's reasons that the other side does not have, sorted: rule ids,
    ``decode: …`` for a rejection, ``decoded`` where only the other side rejects, the place of a
    panic, an unmapped message, or the place of a difference in the encoding.
    """

    outcome: Outcome
    oracle: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()

    def __str__(self) -> str:
        sides = (("oracle", self.oracle), ("engine", self.engine))
        told = [f"{side}: {', '.join(reasons)}" for side, reasons in sides if reasons]
        return "; ".join([self.outcome.value, *told])


AGREEMENT = Signature(Outcome.AGREE)


class Comparison(NamedTuple):
    """The oracle and an engine on one document.

    ``engine_rules`` are the rules that the engine's messages stand for; where one text stands
    for several rules and none of them is among the oracle's, their ids joined by ``|``.
    ``known`` is the id of the divergence, when the outcome is ``KNOWN``.
    """

    oracle: Verdict
    engine: EngineVerdict
    engine_rules: frozenset[str]
    outcome: Outcome
    signature: Signature
    known: str | None = None

    @property
    def is_finding(self) -> bool:
        """Whether someone should look at it: it is neither agreement nor known."""
        return self.outcome is not Outcome.AGREE and self.outcome is not Outcome.KNOWN


def oracle_says(verdict: Verdict) -> tuple[str, ...]:
    """The oracle's verdict in lines."""
    if verdict.rejection is not None:
        return (verdict.stage.value, str(verdict.rejection))
    findings = (f"{one.rule} {one.pointer}: {one.message}" for one in verdict.findings)
    return (verdict.stage.value, *findings)


def engine_says(verdict: EngineVerdict) -> tuple[str, ...]:
    """The engine's verdict in lines."""
    place = () if verdict.place is None else (verdict.place,)
    return (verdict.stage, *verdict.messages, *place)
