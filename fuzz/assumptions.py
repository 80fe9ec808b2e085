"""Which assumptions about the format that is to come an engine contradicts.

An engine whose format no release speaks is held against the contract ``view-log``, with the
numbers that it exports itself. What then differs contradicts assumptions, which are named here;
a file of facts, or a change in the model or a rule, is what they call for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

from fuzz.engines.protocol import Engine, EngineUnsupported
from fuzz.outcome import Comparison, Outcome
from oracle import (
    ASSUMPTIONS,
    RULES,
    VIEW_LOG,
    CheckpointManifest,
    Contract,
    EventTimeBounds,
    Feature,
    ViewLog,
    ViewLogSegment,
    model,
    view_log_segment_limit,
)
from oracle.facts import contract_from_facts

# Where a contract has what an engine exports under a name of its own.
_CONSTANTS = {
    "manifest_version": "CHECKPOINT_MANIFEST_VERSION",
    "pipeline_identity_version": "PIPELINE_IDENTITY_VERSION",
    "max_view_log_segments": "MAX_VIEW_LOG_SEGMENTS",
    "max_cluster_view_log_segments": "MAX_CLUSTER_VIEW_LOG_SEGMENTS",
}
_PARTICIPANTS = (1, 2, 3, 129)


def exports_view_logs(engine: Engine) -> bool:
    """Whether *engine* has the constants that came with view logs."""
    return "MAX_VIEW_LOG_SEGMENTS" in engine.constants


def contract_with_numbers_of(engine: Engine) -> Contract:
    """The contract ``view-log`` with the numbers that *engine* exports; the same object each time.

    It is :data:`oracle.VIEW_LOG` itself where the numbers are.
    """
    numbers = {
        name: value
        for name, constant in _CONSTANTS.items()
        if isinstance(value := engine.constants.get(constant), int)
        and value != getattr(VIEW_LOG, name)
    }
    return _with_numbers(f"{VIEW_LOG.name}@{engine.release}", tuple(numbers.items()))


@cache
def _with_numbers(name: str, numbers: tuple[tuple[str, int], ...]) -> Contract:
    if not numbers:
        return VIEW_LOG
    return contract_from_facts({"base": VIEW_LOG.name, "numbers": dict(numbers)}, name)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An assumption by its id, and what an engine shows instead."""

    assumption: str
    shown: str


def contradicted_by_exports(engine: Engine) -> Iterator[Contradiction]:
    """What *engine* exports otherwise than it is assumed."""
    for name, constant in _CONSTANTS.items():
        value, assumed = engine.constants.get(constant), getattr(VIEW_LOG, name)
        if isinstance(value, int) and value != assumed:
            yield Contradiction("A1", f"{constant} is {value:,}, assumed is {assumed:,}")
    contract = contract_with_numbers_of(engine)
    for participants in _PARTICIPANTS:
        assumed = view_log_segment_limit(
            participants, contract.max_view_log_segments, contract.max_cluster_view_log_segments
        )
        try:
            found = engine.view_log_segment_limit(participants)
        except EngineUnsupported:
            return
        if found != assumed:
            shown = f"view_log_segment_limit({participants}) is {found:,}, assumed is {assumed:,}"
            yield Contradiction("A2", shown)


def contradicted(found: Comparison, contract: Contract) -> tuple[str, ...]:
    """The ids of the assumptions that a disagreement on *contract* may contradict, in order.

    Where it is not about what came with view logs, that is D8: all else is as it was. Nothing,
    for a contract without view logs and where both sides agree.
    """
    if found.signature.outcome is Outcome.AGREE or not contract.has(Feature.VIEW_LOGS):
        return ()
    ids = set(_reasons(found))
    return tuple(id for id in ASSUMPTIONS if id in ids) or ("D8",)


# Rules that are older than view logs and that they, or a number of the format, change.
_OF_OLDER_RULES = {
    "version": "A1",
    "pipeline-identity": "A1",
    "references.count": "A10",
    "layout.gap": "A11",
    "layout.length": "A11",
}


def _of_rules(rules: Iterable[str]) -> Iterator[str]:
    for joined in rules:
        for rule in joined.split("|"):
            entry = RULES.get(rule)
            assumption = _OF_OLDER_RULES.get(rule) or (entry.assumption if entry else None)
            if assumption is not None:
                yield assumption


_OF_SHAPES = {
    CheckpointManifest: "A3",
    ViewLog: "A4",
    ViewLogSegment: "A5",
    EventTimeBounds: "A5",
}
_FIELDS = ("A3", "A4", "A5")
_NAMES_OF = {
    shape: frozenset(field.name for field in fields(shape))
    for shape in vars(model).values()
    if isinstance(shape, type) and is_dataclass(shape)
}
_NAME = re.compile(r"`(\w+)`")


def _of_decoder(message: str) -> str | None:
    """The assumption about the type whose fields a decoder's *message* names, if it is one."""
    wrong, *listed = _NAME.findall(message) or [""]
    if not listed:
        named = [shape for shape, names in _NAMES_OF.items() if wrong in names]
        return _OF_SHAPES.get(named[0]) if len(named) == 1 else None

    def likeness(shape: type) -> float:
        names = _NAMES_OF[shape]
        return len(names.intersection(listed)) / len(names.union(listed))

    return _OF_SHAPES.get(max(_NAMES_OF, key=likeness))


def _reasons(found: Comparison) -> Iterator[str]:
    signature, expected = found.signature, found.oracle
    yield from _of_rules((*signature.oracle, *signature.engine))
    if signature.outcome is Outcome.UNMAPPED:
        # A message of its own stands for no rule yet: what the oracle finds is what it may mean.
        yield from _of_rules(expected.rules - found.engine_rules)
    if signature.outcome is Outcome.ENCODING:
        yield from _of_pointer(signature.oracle[0])
    if signature.outcome is Outcome.STAGE and expected.rejection is not None:
        yield from _of_pointer(expected.rejection.pointer)
    elif signature.outcome is Outcome.STAGE and found.engine.stage == "decode":
        assumption = _of_decoder(found.engine.messages[0])
        if assumption is not None:
            yield assumption
        elif expected.manifest is not None and expected.manifest.view_logs:
            yield from _FIELDS


def _of_pointer(pointer: str) -> Iterator[str]:
    """The assumption about the field at *pointer*, by how deep it is in the view logs."""
    steps = pointer.split("/")[1:]
    if steps[:1] == ["view_logs"]:
        # The list; a log and its fields; a segment and what is in it.
        yield _FIELDS[0 if len(steps) < 2 else 1 if len(steps) < 4 else 2]
