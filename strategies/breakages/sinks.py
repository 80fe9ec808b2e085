"""Breakages of prepared sinks and of the artifact intents before them."""

from __future__ import annotations

from dataclasses import replace

from oracle import (
    CheckpointManifest,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
)
from oracle.constants import U16_MAX
from strategies.breakages.objects import overflowing
from strategies.breakages.registry import (
    PAYLOAD_FIELDS,
    Aspect,
    another_sha256,
    breakage,
    current_places,
    edit,
    fresh,
    index_of,
    not_sha256,
    relaid,
    with_list,
)
from strategies.dice import Dice
from strategies.traits import Trait

M = CheckpointManifest
INTENTS, SINKS = PAYLOAD_FIELDS

_ABSENT_DIGESTS = {
    INTENTS: checkpoint_artifact_intent_sha256(None),
    SINKS: checkpoint_descriptor_sha256(None),
}


def _with_names(manifest: M, field: str, names: list[str]) -> M:
    entries = getattr(manifest, field)
    renamed = (replace(entry, sink_name=name) for entry, name in zip(entries, names, strict=True))
    return with_list(manifest, field, renamed)


def _swap_names(manifest: M, *fields: str) -> M:
    for field in fields:
        names = [entry.sink_name for entry in getattr(manifest, field)]
        manifest = _with_names(manifest, field, [*names[1::-1], *names[2:]])
    return manifest


def _repeat_name(manifest: M, *fields: str) -> M:
    for field in fields:
        names = [entry.sink_name for entry in getattr(manifest, field)]
        manifest = _with_names(manifest, field, [names[1], *names[1:]])
    return manifest


_SEVERAL = Trait.SEVERAL_PREPARED_SINKS


@breakage(
    "sinks.order",
    "swapped",
    having={_SEVERAL},
    without={Trait.INTENT},
    touches={Aspect.SINK_ENTRIES},
)
def sinks_swapped(manifest: M, dice: Dice) -> M:
    """The first two sinks have each other's name."""
    return _swap_names(manifest, SINKS)


@breakage(
    "sinks.order",
    "repeated",
    having={_SEVERAL},
    without={Trait.INTENT},
    touches={Aspect.SINK_ENTRIES},
)
def sinks_repeated(manifest: M, dice: Dice) -> M:
    """The first two sinks are the same."""
    return _repeat_name(manifest, SINKS)


@breakage(
    "intents.order",
    "repeated",
    also={"intents.roster"},
    having={_SEVERAL, Trait.INTENT},
    touches={Aspect.SINK_ENTRIES},
)
def intents_repeated(manifest: M, dice: Dice) -> M:
    """The first two intents are of the same sink."""
    return _repeat_name(manifest, INTENTS)


@breakage(
    "intents.order",
    "with-sinks",
    also={"sinks.order"},
    having={_SEVERAL, Trait.INTENT},
    touches={Aspect.SINK_ENTRIES},
)
def both_swapped(manifest: M, dice: Dice) -> M:
    """Sinks and intents are out of order alike."""
    return _swap_names(manifest, SINKS, INTENTS)


@breakage(
    "intents.order",
    "alone",
    also={"intents.roster"},
    having={_SEVERAL, Trait.INTENT},
    touches={Aspect.SINK_ENTRIES},
)
def intents_swapped(manifest: M, dice: Dice) -> M:
    """Intents are out of order, and so not the sinks in their order."""
    return _swap_names(manifest, INTENTS)


def _without(manifest: M, field: str, index: int) -> M:
    entries = getattr(manifest, field)
    return relaid(with_list(manifest, field, (*entries[:index], *entries[index + 1 :])))


@breakage(
    "intents.roster",
    "missing",
    having={_SEVERAL, Trait.INTENT},
    touches={Aspect.LAYOUT, Aspect.SINK_ENTRIES},
)
def intents_missing(manifest: M, dice: Dice) -> M:
    """A prepared sink has no intent, though others have."""
    return _without(manifest, INTENTS, dice.roll(0, len(manifest.sink_artifact_intents) - 1))


@breakage(
    "intents.roster", "extra", having={Trait.INTENT}, touches={Aspect.LAYOUT, Aspect.SINK_ENTRIES}
)
def intents_extra(manifest: M, dice: Dice) -> M:
    """An intent is of a sink that did not prepare."""
    return _without(manifest, SINKS, dice.roll(0, len(manifest.prepared_sinks) - 1))


def _renamed_empty(manifest: M, *fields: str) -> M:
    """Rename the first entries to the empty name, which is registered then."""
    for field in fields:
        manifest = edit(manifest, field, 0, sink_name="")
    names = manifest.sink_names
    return replace(manifest, sink_names=names if names[0] == "" else ("", *names))


@breakage(
    "sinks.name",
    having={Trait.PREPARED_SINK},
    without={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def sinks_name(manifest: M, dice: Dice) -> M:
    """A sink of the empty name, which is registered."""
    return _renamed_empty(manifest, SINKS)


@breakage(
    "intents.name",
    "with-sinks",
    also={"sinks.name"},
    having={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def both_name(manifest: M, dice: Dice) -> M:
    """A sink of the empty name, with its intent."""
    return _renamed_empty(manifest, SINKS, INTENTS)


@breakage(
    "intents.name",
    "alone",
    also={"intents.roster"},
    having={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def intents_name(manifest: M, dice: Dice) -> M:
    """An intent of the empty name, which is not its sink's."""
    return _renamed_empty(manifest, INTENTS)


def _unregistered(manifest: M) -> M:
    last = manifest.prepared_sinks[-1].sink_name
    return replace(manifest, sink_names=tuple(name for name in manifest.sink_names if name != last))


@breakage(
    "sinks.unknown",
    having={Trait.PREPARED_SINK},
    without={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def sinks_unknown(manifest: M, dice: Dice) -> M:
    """A sink that is not registered."""
    return _unregistered(manifest)


@breakage(
    "intents.unknown",
    "with-sinks",
    also={"sinks.unknown"},
    having={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def both_unknown(manifest: M, dice: Dice) -> M:
    """A sink that is not registered, with its intent."""
    return _unregistered(manifest)


@breakage(
    "intents.unknown",
    "alone",
    also={"intents.roster"},
    having={Trait.INTENT},
    touches={Aspect.SINK_NAMES, Aspect.SINK_ENTRIES},
)
def intents_unknown(manifest: M, dice: Dice) -> M:
    """An intent of an unregistered name, which is not its sink's."""
    last = len(manifest.sink_artifact_intents) - 1
    name = fresh(manifest.sink_artifact_intents[last].sink_name, manifest.sink_names)
    return edit(manifest, INTENTS, last, sink_name=name)


def _of(field: str, prefix: str, any_entry: Trait, absent: Trait, filled: Trait) -> None:
    """Register the breakages that both kinds of entries have."""

    def any_index(manifest: M, dice: Dice) -> int:
        return dice.roll(0, len(getattr(manifest, field)) - 1)

    def index_with(manifest: M, dice: Dice, *, payload: bool) -> int:
        return index_of(
            getattr(manifest, field), lambda entry: (entry.payload is not None) is payload, dice
        )

    @breakage(f"{prefix}.format", having={any_entry}, touches={Aspect.SINK_ENTRIES})
    def wrong_format(manifest: M, dice: Dice) -> M:
        """Another envelope version."""
        wrong = dice.pick((2, 0, U16_MAX, 1 + 2**8))
        return edit(manifest, field, any_index(manifest, dice), format_version=wrong)

    @breakage(f"{prefix}.digest", "payload", having={filled}, touches={Aspect.SINK_ENTRIES})
    def wrong_digest(manifest: M, dice: Dice) -> M:
        """A digest that is not SHA-256 text."""
        index = index_with(manifest, dice, payload=True)
        text = not_sha256(dice, getattr(manifest, field)[index].sha256)
        return edit(manifest, field, index, sha256=text)

    @breakage(
        f"{prefix}.digest",
        "absent",
        also={f"{prefix}.absent-digest"},
        having={absent},
        touches={Aspect.SINK_ENTRIES},
    )
    def wrong_digest_of_absent(manifest: M, dice: Dice) -> M:
        """A digest of an absent payload that is not SHA-256 text, and so not the one it must be."""
        index = index_with(manifest, dice, payload=False)
        text = not_sha256(dice, getattr(manifest, field)[index].sha256)
        return edit(manifest, field, index, sha256=text)

    @breakage(f"{prefix}.absent-digest", having={absent}, touches={Aspect.SINK_ENTRIES})
    def other_absent_digest(manifest: M, dice: Dice) -> M:
        """The digest of something else: of the other kind's absent payload, or of none at all."""
        index = index_with(manifest, dice, payload=False)
        other = next(_ABSENT_DIGESTS[kind] for kind in PAYLOAD_FIELDS if kind != field)
        found = getattr(manifest, field)[index].sha256
        return edit(
            manifest, field, index, sha256=dice.pick((other, another_sha256(found), "0" * 64))
        )

    @breakage(
        f"{prefix}.range-overflow",
        having={filled, Trait.CURRENT_FRAME},
        without={Trait.U64_END},
        touches={Aspect.LAYOUT},
    )
    def overflow(manifest: M, dice: Dice) -> M:
        """A payload passes u64 by one byte from where it must start."""
        places = current_places(manifest)
        numbers = [number for number, place in enumerate(places) if place[0] == field]
        return overflowing(manifest, dice.pick(numbers))

    # The object's length is given up with it: whatever lies after the end is beyond it, too.
    after = {Trait.SINK_PAYLOAD, Trait.SINK_EMPTY} if field == INTENTS else set()

    @breakage(
        f"{prefix}.range-end",
        also={"layout.length"},
        having={filled},
        without=after,
        touches={Aspect.LAYOUT},
    )
    def beyond(manifest: M, dice: Dice) -> M:
        """The current object is one byte too short for its last payload."""
        length = manifest.node_data.object_length - 1
        return replace(manifest, node_data=replace(manifest.node_data, object_length=length))


_of(SINKS, "sinks", Trait.PREPARED_SINK, Trait.SINK_ABSENT, Trait.SINK_PAYLOAD)
_of(INTENTS, "intents", Trait.INTENT, Trait.INTENT_ABSENT, Trait.INTENT_PAYLOAD)
