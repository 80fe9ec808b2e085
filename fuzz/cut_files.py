"""Cuts on disk: in a store, in a directory of their own, or in one file.

A directory of a cut has `index.json`, the manifests `manifest-1.json`, `manifest-2.json` and so
on in participant order, `predecessor.json` where there is one, and no other `.json` file. One
file, with the ending `.cut`, has all of them as lines (:meth:`fuzz.cuts.CutDocuments.text`).
"""

from __future__ import annotations

import re
from pathlib import Path

from fuzz.cuts import CutDocuments
from oracle import DecodeError, cuts
from oracle.kernels import is_sha256_text
from oracle.store import layout

ENDING = ".cut"
"""How the name of a file with a whole cut ends."""

INDEX, PREDECESSOR = "index.json", "predecessor.json"
_MANIFEST = re.compile(r"manifest-([1-9][0-9]*)\.json")
_LEVELS = layout.index_path((0, 0, "")).count("/") + 1


def is_cut(path: Path) -> bool:
    """Whether *path* is one cut: a directory of one, a file of one, or an index in a store."""
    if path.is_dir():
        names = {file.name for file in path.glob("*.json")}
        others = names - {INDEX, PREDECESSOR}
        return INDEX in names and all(map(_MANIFEST.fullmatch, others))
    return path.suffix == ENDING or _store_of(path) is not None


def read_cut(path: Path) -> CutDocuments:
    """The cut that *path* is; see :func:`is_cut`. Raises :class:`OSError`."""
    root = _store_of(path)
    if root is not None:
        return _cut_in_store(path, root)
    if not path.is_dir():
        return CutDocuments.of_text(path.read_bytes())
    predecessor = path / PREDECESSOR
    return CutDocuments(
        (path / INDEX).read_bytes(),
        tuple(file.read_bytes() for file in _manifests(path)),
        predecessor.read_bytes() if predecessor.is_file() else None,
    )


def files_of(cut: CutDocuments) -> dict[str, bytes]:
    """What stands in a directory of *cut*, by name."""
    files = {INDEX: cut.index}
    files |= {f"manifest-{n}.json": document for n, document in enumerate(cut.manifests, 1)}
    return files if cut.predecessor is None else {**files, PREDECESSOR: cut.predecessor}


def _manifests(directory: Path) -> list[Path]:
    numbered = {
        int(found[1]): file
        for file in directory.glob("*.json")
        if (found := _MANIFEST.fullmatch(file.name))
    }
    return [numbered[number] for number in sorted(numbered)]


def _store_of(path: Path) -> Path | None:
    """The root of the store in which *path* is an index, if it is one."""
    if path.name.startswith("sha256=") and len(path.absolute().parents) > _LEVELS:
        root = path.absolute().parents[_LEVELS - 1]
        if path.absolute().relative_to(root).parts[0] == layout.COMMITTED:
            return root
    return None


def _cut_in_store(path: Path, root: Path) -> CutDocuments:
    """The cut of an index; a manifest or predecessor that is not there any more is left out."""
    data = path.read_bytes()
    try:
        index = cuts.decode_index(data)
    except DecodeError:
        return CutDocuments(data, ())
    parts = ((participant, index.checkpoint_id) for participant in index.participant_ids)
    manifests = (_there(root / layout.manifest_path(part)) for part in parts)
    older = index.predecessor
    # Only a digest that is one cannot lead out of the store.
    known = older is not None and is_sha256_text(older.sha256)
    return CutDocuments(
        data,
        tuple(manifest for manifest in manifests if manifest is not None),
        _there(root / layout.index_path(layout.index_key(older))) if older and known else None,
    )


def _there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
