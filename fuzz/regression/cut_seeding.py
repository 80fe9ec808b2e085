"""Makes the cases that are whole cuts: every named corruption of one, and valid ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from random import Random

from fuzz.cut_files import read_cut
from fuzz.cuts import CONTRACT, CutDocuments
from fuzz.ledger import divergences
from fuzz.regression.cases import Flag
from fuzz.regression.cuts import CutCase, make_case
from fuzz.regression.seeding import ORIGIN, smallest
from oracle import cuts
from oracle.cuts import encode_index
from oracle.digests import checkpoint_sha256
from strategies.cut_breakages import BREAKAGES, Breakage, corrupted_cuts, full_cut
from strategies.cut_index import WholeCut, whole_cuts
from strategies.dice import Dice

_MOST_PARTICIPANTS = 2
_ATTEMPTS = 32

Seed = tuple[CutCase, CutDocuments]


def seeds() -> Iterator[Seed]:
    """Everything that the strategies know of cuts, and what is told of in the ledger."""
    for source in (_broken, _valid, _undecodable, _not_a_manifest, _known):
        yield from source()


def _broken() -> Iterator[Seed]:
    for breakage in BREAKAGES:
        documents = _smallest_broken(breakage)
        name = breakage.name.replace("_", "-")
        statement = cuts.RULES[breakage.expected].statement.split("\n")[0]
        case = make_case(
            documents, id=f"{breakage.step.value}/{name}", origin=ORIGIN, why=statement
        )
        assert (case.step, case.rule) == (breakage.step.value, breakage.expected), case.id
        yield case, documents


def _smallest_broken(breakage: Breakage) -> CutDocuments:
    """The smallest of the cuts that the strategies break so, of which the full one is large."""
    found = [_of_corruption(breakage)]
    for base in _bases():
        for number in range(_ATTEMPTS):
            broken = breakage.break_(base, Dice(Random(number).randbytes(8) if number else b""))
            if broken is not None:
                documents = CutDocuments.of_cut(broken)
                step, rule = breakage.step.value, breakage.expected
                case = make_case(documents, id="tried", origin=ORIGIN, why=ORIGIN)
                if (case.step, case.rule) == (step, rule):
                    found.append(documents)
    return min(found, key=lambda documents: len(documents.text()))


def _of_corruption(breakage: Breakage) -> CutDocuments:
    strategy = corrupted_cuts(breakage.expected, max_participants=_MOST_PARTICIPANTS)
    return CutDocuments.of_cut(smallest(strategy, lambda found: found.name == breakage.name).cut)


@cache
def _bases() -> tuple[WholeCut, ...]:
    """Small valid cuts, each with something that can be broken."""
    strategy = whole_cuts(max_participants=_MOST_PARTICIPANTS)
    return (*(smallest(strategy, wanted) for wanted in _WANTED), full_cut(0), full_cut(2))


def _has(*wanted: Callable[[WholeCut], object]) -> Callable[[WholeCut], bool]:
    return lambda cut: all(condition(cut) for condition in wanted)


def _is_local(cut: WholeCut) -> bool:
    return cut.index.assignment_fence is None


def _is_cluster(cut: WholeCut) -> bool:
    return not _is_local(cut)


def _has_sources(cut: WholeCut) -> bool:
    return bool(cut.index.source_offsets and cut.index.channel_progress)


def _has_predecessor(cut: WholeCut) -> bool:
    return cut.predecessor is not None


def _has_output(cut: WholeCut) -> bool:
    return any(
        manifest.subscription_output is not None and manifest.subscription_output.streams
        for manifest in cut.manifests
    )


_WANTED = (
    _has(_is_local),
    _has(_is_local, _has_sources),
    _has(_is_local, _has_predecessor),
    _has(_is_cluster),
    _has(lambda cut: len(cut.manifests) == 2),
    _has(lambda cut: len(cut.manifests) == 2, _has_sources),
)


# --- valid cuts ------------------------------------------------------------------------------

_MANY_PARTICIPANTS = 8

_VALID: dict[str, tuple[str, Callable[[WholeCut], bool]]] = {
    "local": ("a local cut with nothing in it", _has(_is_local)),
    "local-sources": ("a local cut with offsets and channels", _has(_is_local, _has_sources)),
    "local-predecessor": ("a local cut after another", _has(_is_local, _has_predecessor)),
    "local-older-version": (
        "a local cut whose index is of version 3",
        _has(_is_local, _has_sources, lambda cut: cut.index.version == 3),
    ),
    "local-after-older-version": (
        "a local cut of version 4 after one of version 3, which has no source watermarks to raise",
        _has(
            _is_local,
            lambda cut: cut.index.version == 4 and cut.index.source_watermarks,
            lambda cut: cut.predecessor is not None and cut.predecessor.version == 3,
        ),
    ),
    "cluster-of-one": ("a cluster of one participant", _has(_is_cluster)),
    "cluster-of-two": (
        "two participants that share a source",
        _has(lambda cut: len(cut.manifests) == 2, _has_sources),
    ),
    "cluster-subscription": (
        "two participants with subscription output that is one complete cut of each stream",
        _has(lambda cut: len(cut.manifests) == 2, _has_output),
    ),
    "cluster-predecessor": (
        "two participants after another cut",
        _has(lambda cut: len(cut.manifests) == 2, _has_predecessor),
    ),
}


def _valid() -> Iterator[Seed]:
    for name, (what, wanted) in _VALID.items():
        made = CutDocuments.of_cut(
            smallest(whole_cuts(max_participants=_MOST_PARTICIPANTS), wanted)
        )
        yield _case_of(made, f"valid/{name}", f"Valid: {what}.")
    many = smallest(
        whole_cuts(min_participants=_MANY_PARTICIPANTS, max_participants=_MANY_PARTICIPANTS)
    )
    yield _case_of(
        CutDocuments.of_cut(many),
        "valid/cluster-of-many",
        f"Valid: {_MANY_PARTICIPANTS} participants.",
    )
    simple = CutDocuments.of_cut(smallest(whole_cuts()))
    spelled = json.dumps(json.loads(simple.index), indent=1).encode()
    yield _case_of(
        replace(simple, index=spelled),
        "valid/local-spelled-otherwise",
        "Valid: an index need not be canonical to be one; its reference is of the canonical bytes.",
        Flag.SPELLING,
    )


def _case_of(documents: CutDocuments, id: str, why: str, *flags: Flag) -> Seed:
    return make_case(documents, id=id, origin=ORIGIN, why=why, flags=flags), documents


# --- what is not even read -------------------------------------------------------------------


def _undecodable() -> Iterator[Seed]:
    simple = CutDocuments.of_cut(smallest(whole_cuts()))
    index = json.loads(simple.index)
    changed: dict[str, tuple[object, Flag]] = {
        "unknown-field": ({**index, "unknown": None}, Flag.STRUCT_FIELDS),
        "missing-field": ({k: v for k, v in index.items() if k != "scope"}, Flag.STRUCT_FIELDS),
        "scope-unknown": ({**index, "scope": "Local"}, Flag.JSON_TYPE),
        "vnode-count-too-large": ({**index, "vnode_count": 2**16}, Flag.INTEGER_BOUND),
    }
    for name, (tree, flag) in changed.items():
        text = json.dumps(tree, separators=(",", ":")).encode()
        why = f"The index is rejected at decode: {name.replace('-', ' ')}."
        yield _case_of(replace(simple, index=text), f"decode/{name}", why, flag)


def _not_a_manifest() -> Iterator[Seed]:
    """The index names bytes that are no manifest, and they are there."""
    cut = smallest(whole_cuts())
    document = b"{}"
    (entry,) = cut.index.participants
    entry = replace(entry, manifest_len=len(document), manifest_sha256=checkpoint_sha256(document))
    index = encode_index(replace(cut.index, participants=(entry,)))
    yield _case_of(
        CutDocuments(index, (document,)),
        "manifests/manifest-not-decoded",
        cuts.RULES["cut.manifest-decode"].statement,
        Flag.STRUCT_FIELDS,
    )


# --- known divergences -----------------------------------------------------------------------


def _known() -> Iterator[Seed]:
    """The documents of the ledger."""
    for entry in divergences():
        for shape in entry.shapes if entry.is_of_cuts else ():
            path = shape.path(CONTRACT)
            documents = read_cut(path)
            case = make_case(
                documents,
                id=f"index/{path.name.partition('.')[0]}",
                origin="the ledger of known divergences",
                why="A reserved watermark behind an active channel that has none is reserved, too.",
                divergence=entry.id,
            )
            yield case, documents
