"""The registry of breakages: each takes a valid manifest and breaks what its name says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from oracle import RULES, CheckpointManifest, Contract, Feature, Level, StateChunkId
from oracle.constants import U64_MAX
from strategies.dice import Dice
from strategies.traits import Trait
from strategies.view_logs import segments_of, with_segments

Break = Callable[..., CheckpointManifest]
"""Breaks a valid manifest that has the breakage's traits; the dice say where.

It takes the manifest and the dice, and where a number of the format matters the contract.
"""


class Aspect(Enum):
    """Something about a manifest as a whole that a breakage changes, or relies on."""

    IDENTITY = "who wrote which checkpoint"
    VNODES = "which vnodes are owned"
    LAYOUT = "where the ranges of the current object lie"
    REFERENCES = "which older objects are used, and by how many frames"
    SINK_NAMES = "which sinks are registered"
    PIPELINE = "which pipeline it is"
    CHANNELS = "which channels there is progress of"
    DECLARED_CHANNELS = "which channels a source declares"
    FRAME_KEYS = "which state the frames are of"
    OLDER_RANGES = "where frames lie in older objects"
    SINK_ENTRIES = "which sinks prepared and which had intents"
    LOG_NAMES = "which view logs there are"
    LOG_ROWS = "which rows of which partitions the segments of view logs have"
    OUTPUT = "the subscription output, of which the first fault counts"


@dataclass(frozen=True, slots=True)
class Breakage:
    """One way to break a rule.

    ``name`` is the rule's id, and where there are several ways a slash and which. ``expected`` is
    exactly what the oracle must report, companions that cannot be avoided included. A manifest
    to break needs the traits ``having`` and none of ``without``. ``key_groups`` gives the count
    to judge by from the manifest's own. Two breakages that have one of ``touches`` in common
    would undo each other. A ``heavy`` one makes a document of many megabytes. A
    ``divergent`` one is judged otherwise by the engines, as the ledger of known divergences says.
    ``by_contract`` says that ``apply`` takes the contract, too.
    """

    name: str
    rule: str
    expected: frozenset[str]
    having: frozenset[Trait]
    without: frozenset[Trait]
    touches: frozenset[Aspect]
    apply: Break
    key_groups: Callable[[int, Dice], int] | None
    heavy: bool
    divergent: bool
    by_contract: bool

    def broken(
        self, manifest: CheckpointManifest, dice: Dice, contract: Contract
    ) -> CheckpointManifest:
        """*manifest* of *contract*, broken."""
        more = (contract,) if self.by_contract else ()
        return self.apply(manifest, dice, *more)

    @property
    def features(self) -> frozenset[Feature]:
        """What a format must have for this breakage to be possible in it."""
        of = {RULES[rule].feature for rule in self.expected}
        of |= {trait.feature for trait in self.having}
        return frozenset(feature for feature in of if feature is not None)

    def belongs_to(self, contract: Contract) -> bool:
        """Whether the breakage is possible in *contract*."""
        return all(map(contract.has, self.features))


BREAKAGES: dict[str, Breakage] = {}
"""Every breakage by name."""


def breakage(
    rule: str,
    way: str = "",
    *,
    also: Iterable[str] = (),
    having: Iterable[Trait] = (),
    without: Iterable[Trait] = (),
    touches: Iterable[Aspect] = (),
    key_groups: Callable[[int, Dice], int] | None = None,
    heavy: bool = False,
    divergent: bool = False,
    by_contract: bool = False,
) -> Callable[[Break], Break]:
    """Register the decorated function as a way to break *rule*, and with it the rules *also*."""
    name = f"{rule}/{way}" if way else rule
    assert name not in BREAKAGES, f"{name} is registered twice"
    expected = frozenset({rule, *also})
    assert expected <= RULES.keys(), f"{expected - RULES.keys()} are no rules"
    aspects = frozenset(touches)
    if RULES[rule].level is Level.FAULT:
        aspects |= {Aspect.OUTPUT}

    def register(apply: Break) -> Break:
        BREAKAGES[name] = Breakage(
            name,
            rule,
            expected,
            frozenset(having),
            frozenset(without),
            aspects,
            apply,
            key_groups,
            heavy,
            divergent,
            by_contract,
        )
        return apply

    return register


# --- what breakages are made of --------------------------------------------------------------

Item = TypeVar("Item")

NOT_SHA256: tuple[Callable[[str], str], ...] = (
    lambda text: text[:-1],
    lambda text: text + "0",
    lambda text: text[:-1] + "g",
    lambda text: text.upper() if text.upper() != text else "A" + text[1:],
    lambda text: "",
    lambda text: text[:-1] + "\n",
    lambda text: text + "\n",
    lambda text: " " + text[1:],
    lambda text: text[:-2] + "_0",
    lambda text: text[:-1] + "\uff10",  # a digit to Python's str.isdigit
    lambda text: "0x" + text[2:],
)
"""Ways to make SHA-256 text something else, each off by little."""


def not_sha256(dice: Dice, text: str) -> str:
    """*text*, no longer SHA-256 text."""
    return dice.pick(NOT_SHA256)(text)


def another_sha256(text: str) -> str:
    """SHA-256 text that is not *text*."""
    return ("1" if text[0] == "0" else "0") + text[1:]


def with_item(items: tuple[Item, ...], index: int, **changes: Any) -> tuple[Item, ...]:
    """*items* with fields of one of them changed."""
    changed: Any = replace(items[index], **changes)  # type: ignore[type-var]
    return (*items[:index], changed, *items[index + 1 :])


def with_list(manifest: CheckpointManifest, field: str, items: Iterable[Any]) -> CheckpointManifest:
    """*manifest* with another list in one of its fields."""
    changed: dict[str, Any] = {field: tuple(items)}
    return replace(manifest, **changed)


def edit(
    manifest: CheckpointManifest, field: str, index: int, **changes: Any
) -> CheckpointManifest:
    """*manifest* with fields of one of the :func:`items_of` a list changed."""
    changed = with_item(tuple(items_of(manifest, field)), index, **changes)
    return with_items(manifest, field, changed)


VIEW_LOGS = "view_logs"


def items_of(manifest: CheckpointManifest, field: str) -> Sequence[Any]:
    """What ranges are of in one of the manifest's lists; of view logs these are the segments."""
    if field == VIEW_LOGS:
        return segments_of(manifest)
    items: tuple[Any, ...] = getattr(manifest, field)
    return items


def with_items(
    manifest: CheckpointManifest, field: str, items: Iterable[Any]
) -> CheckpointManifest:
    """*manifest* with other :func:`items_of` one of its lists; of segments, as many as it has."""
    if field == VIEW_LOGS:
        return with_segments(manifest, items)
    return with_list(manifest, field, items)


def swapped(items: tuple[Item, ...], dice: Dice) -> tuple[Item, ...]:
    """*items* with two neighbours swapped."""
    index = dice.roll(0, min(len(items) - 2, 255))
    return (*items[:index], items[index + 1], items[index], *items[index + 2 :])


def repeated(items: tuple[Item, ...], dice: Dice) -> tuple[Item, ...]:
    """*items* with one of them twice."""
    index = dice.roll(0, min(len(items) - 1, 255))
    return (*items[: index + 1], *items[index:])


def index_of(items: Iterable[Any], wanted: Callable[[Any], bool], dice: Dice) -> int:
    """Index of one of *items* that are *wanted*; there is one."""
    return dice.pick([index for index, item in enumerate(items) if wanted(item)][:256])


def fresh(name: str, taken: Iterable[str]) -> str:
    """A name after *name*, with nothing of *taken* in between, and not among these."""
    while True:
        name += "\0"
        if name not in taken:
            return name


def rehomed(
    manifest: CheckpointManifest,
    participant_id: int | None = None,
    checkpoint_id: int | None = None,
) -> CheckpointManifest:
    """*manifest* by another participant or of another checkpoint, everything of its own moved."""
    old = manifest.current_chunk
    new = StateChunkId(
        old.participant_id if participant_id is None else participant_id,
        old.checkpoint_id if checkpoint_id is None else checkpoint_id,
    )
    return replace(
        rechunked(manifest, old, new),
        participant_id=new.participant_id,
        checkpoint_id=new.checkpoint_id,
        epoch=new.checkpoint_id,
        channel_progress=tuple(
            replace(channel, participant_id=new.participant_id)
            for channel in manifest.channel_progress
        ),
        node_data=replace(manifest.node_data, chunk=new),
    )


def rechunked(
    manifest: CheckpointManifest, old: StateChunkId, new: StateChunkId
) -> CheckpointManifest:
    """*manifest* with the frames and segments of the object *old* in *new* instead."""
    for field in ("state_frames", VIEW_LOGS):
        moved = [
            replace(item, chunk=new) if item.chunk == old else item
            for item in items_of(manifest, field)
        ]
        if moved:
            manifest = with_items(manifest, field, moved)
    return manifest


PAYLOAD_FIELDS = ("sink_artifact_intents", "prepared_sinks")


def current_places(manifest: CheckpointManifest) -> list[tuple[str, str, int]]:
    """Every range in the current object in order: field of the list, field of the item, index."""
    places = [
        (field, "range", index)
        for field in ("state_frames", VIEW_LOGS)
        for index, item in enumerate(items_of(manifest, field))
        if item.chunk == manifest.current_chunk
    ]
    for field in PAYLOAD_FIELDS:
        places += [
            (field, "payload", index)
            for index, entry in enumerate(getattr(manifest, field))
            if entry.payload is not None
        ]
    return places


def relaid(manifest: CheckpointManifest, start: int = 0, skip: int = 0) -> CheckpointManifest:
    """*manifest* with its current ranges one after the other again, and the length to match.

    From the range number *skip* on, the first of them at *start*.
    """
    changes: dict[str, list[Any]] = {}
    cursor = start
    for field, part, index in current_places(manifest)[skip:]:
        items = changes.setdefault(field, [])
        if not items:
            items += items_of(manifest, field)
        found = getattr(items[index], part)
        items[index] = replace(items[index], **{part: replace(found, offset=cursor)})
        cursor += found.length
    assert cursor <= U64_MAX, "the ranges do not fit"
    for field, items in changes.items():
        manifest = with_items(manifest, field, items)
    return replace(manifest, node_data=replace(manifest.node_data, object_length=cursor))
