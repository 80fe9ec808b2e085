"""The rooms depend on each other in one direction only, and no modules in a circle."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "corpora": set[str](),
    "oracle": set[str](),
    "strategies": {"oracle"},
    "fuzz": {"oracle", "strategies", "corpora"},
}
"""Each room, and the rooms that it may import."""


def modules() -> dict[str, Path]:
    """Every module of the rooms, by its name."""
    found = {}
    for room in ALLOWED:
        for path in (ROOT / room).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Mapping[str, object]) -> Iterator[str]:
    """The names of all modules that the file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                # `from room import module` is about the module, and else about the room.
                module = f"{node.module}.{alias.name}"
                yield module if module in known else str(node.module)


MODULES = modules()
GRAPH = {name: set(imported(path, MODULES)) for name, path in MODULES.items()}


def test_the_project_has_no_circle() -> None:
    """Not even of imports that happen late, inside functions."""
    known = {name: needs & MODULES.keys() for name, needs in GRAPH.items()}
    try:
        list(TopologicalSorter(known).static_order())
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    """Room by room; of the others, only what :data:`ALLOWED` says."""
    wrong = {
        f"{module} imports {need}"
        for module, needs in GRAPH.items()
        for need in needs
        if module.split(".")[0] == room
        and need.split(".")[0] in (ALLOWED.keys() | {"tests"}) - ALLOWED[room] - {room}
    }
    assert wrong == set()


@pytest.mark.parametrize("room", ["oracle", "corpora"])
def test_a_room_needs_nothing_but_the_standard_library(room: str) -> None:
    """So that it runs wherever Python does."""
    needs = {
        need.split(".")[0]
        for module, needs in GRAPH.items()
        if module.split(".")[0] == room
        for need in needs
    }
    assert needs - {room} - sys.stdlib_module_names == set()


def test_a_fuzzing_process_instruments_the_oracle() -> None:
    """What starts it imports the oracle nowhere: that must happen under the instrumentation."""
    program = "import sys, fuzz.campaign.worker, fuzz.targets.alone; print('oracle' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
