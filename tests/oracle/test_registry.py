"""The room itself: what it imports, what it exports, what its registry says."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import oracle
from oracle import CONTRACTS, RULES, Feature, Kind, Level
from oracle.assumptions import ASSUMPTIONS

ROOM = Path(oracle.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOM.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOM.rglob("*.py")
}


def _imports(path: Path, top_level: bool) -> set[str]:
    """The modules that the module at *path* imports, at its top level or anywhere."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            name = node.module or ""
            parts = {f"{name}.{alias.name}" for alias in node.names}
            found |= {part if part in MODULES else name for part in parts}
    return found


@pytest.mark.parametrize("name", MODULES)
def test_only_the_standard_library(name: str) -> None:
    """The oracle imports nothing of the other rooms and nothing that must be installed."""
    for imported in _imports(MODULES[name], top_level=False):
        root = imported.split(".")[0]
        assert root == "oracle" or root in sys.stdlib_module_names, imported


def test_imports_have_no_circle() -> None:
    """Taking away the modules that import none of the rest leaves nothing."""
    left = {
        name: {one for one in _imports(path, top_level=True) if one in MODULES and one != name}
        for name, path in MODULES.items()
    }
    while left:
        free = {name for name, imported in left.items() if not imported & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


def test_public_names() -> None:
    """What is listed is there, sorted, and documented."""
    assert len(set(oracle.__all__)) == len(oracle.__all__)
    for name in oracle.__all__:
        item = getattr(oracle, name)
        if callable(item):
            assert item.__doc__, name


def test_entries_are_complete() -> None:
    """Every entry has a statement, and names only entries, features and assumptions that are."""
    for id, entry in RULES.items():
        assert entry.id == id
        assert entry.statement.strip().endswith(".") or entry.level is Level.FAULT
        assert set(entry.unspecified_with) <= set(RULES)
        assert entry.family is None or RULES[entry.family].level is Level.RULE
        assert (entry.family is not None) == (entry.level is Level.FAULT)
        assert (entry.consequence is not None) == (entry.level is Level.HAZARD)
        assert id.startswith("hazard.") == (entry.level is Level.HAZARD)
        assert (entry.assumption is not None) == (entry.feature is Feature.VIEW_LOGS)
        assert entry.assumption is None or entry.assumption in ASSUMPTIONS
        assert entry.feature is None or any(one.has(entry.feature) for one in CONTRACTS.values())


def test_kinds_are_told() -> None:
    """Every kind of rejection has its own name and its own statement."""
    assert len({kind.value for kind in Kind}) == len({kind.statement for kind in Kind}) == len(Kind)
