"""Mutants of the oracle: small mistakes in its rules, each of which a campaign must find.

A mutant is a copy of the oracle with one change in its source. That a campaign finds it says that
the campaign would find the same mistake in either side; one that survives shows where the search
does not look, or that the change changes no verdict.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import oracle
from fuzz.campaign.canary import VARIABLE
from fuzz.campaign.findings import Findings
from fuzz.campaign.supervisor import HANG_SECONDS, MEMORY_MIB
from fuzz.campaign.worker import Job
from fuzz.targets import SEARCH_FLAGS
from oracle import Contract, Level, model, rules_of

_SOURCE = Path(oracle.__file__).parent
_ROOT = _SOURCE.parent
# Where verdicts on a decoded manifest are made.
_MODULES = ("kernels.py", "model.py", "subject.py", "rules")
_TICK = 0.1
_LAST_WORDS = 1000

EQUIVALENT: dict[str, str] = {
    "output.epoch -> checkpoint_id": "where epoch is 0 and checkpoint_id is not, they differ, "
    "which is the other half of the condition",
    "output.participant_id -> checkpoint_id": "a certificate cannot list participant 0, which is "
    "the other half of the condition, and a checkpoint_id of 0 is an earlier fault",
}
"""Why what some mutants change, by its text, changes no verdict."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: its ``kind``, where it is, and the changed source of its module.

    Without a module it is made by switching the rule ``what`` off.
    """

    kind: str
    what: str
    place: str
    module: str | None = None
    source: str = ""

    @property
    def id(self) -> str:
        """A name for people."""
        return (
            f"{self.kind}: {self.what} ({self.place})"
            if self.place
            else f"{self.kind}: {self.what}"
        )


CONTROL = Mutant("control", "no mistake", "")
"""The oracle as it is, which no search may find."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a campaign fared against a mutant.

    ``seconds`` and ``signature`` of the finding, if it was found; if no worker of it even starts,
    ``fault`` says what it died of.
    """

    mutant: Mutant
    seconds: float | None = None
    signature: str = ""
    fault: str = ""


def mutants(contract: Contract) -> list[Mutant]:
    """Every mutant of the rules that hold in *contract*."""
    off = [
        Mutant("rule off", entry.id, "")
        for entry in rules_of(contract, Level.RULE)
        if not any(fault.family == entry.id for fault in rules_of(contract, Level.FAULT))
    ]
    modules = {path: ast.parse(path.read_text("utf-8")) for path in _modules(contract)}
    unused = _unused([*modules.values()])
    return [
        *off,
        *(one for path, tree in modules.items() for one in _mutants_of(path, tree, unused)),
    ]


def _unused(modules: list[ast.Module]) -> set[int]:
    """Nodes of functions that nothing in *modules* names, so that they are no part of a verdict."""
    functions = {
        node.name: node
        for module in modules
        for node in module.body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list
    }
    while True:
        names = {
            node.id if isinstance(node, ast.Name) else node.attr
            for module in modules
            for top in module.body
            if not any(top is unused for unused in functions.values())
            for node in ast.walk(top)
            if isinstance(node, (ast.Name, ast.Attribute))
        }
        used = [name for name in functions if name in names]
        if not used:
            return {id(node) for one in functions.values() for node in ast.walk(one)}
        for name in used:
            del functions[name]


def _modules(contract: Contract) -> Iterator[Path]:
    for name in _MODULES:
        path = _SOURCE / name
        paths = sorted(path.glob("*.py")) if path.is_dir() else [path]
        for module in paths:
            if module.name != "__init__.py" and _holds_in(module, contract):
                yield module


def _holds_in(module: Path, contract: Contract) -> bool:
    """Whether a module's rules are any of *contract*'s; one without rules is of all."""
    ids = {entry.id for entry in oracle.RULES.values() if _module_of(entry.id) == module}
    judging = {entry.id for entry in rules_of(contract, Level.RULE, Level.FAULT)}
    return not ids or not ids.isdisjoint(judging)


@cache
def _module_of(rule: str) -> Path | None:
    text = f'"{rule}"'
    for path in (_SOURCE / "rules").glob("*.py"):
        if text in path.read_text("utf-8"):
            return path
    return None


# --- making them -----------------------------------------------------------------------------

Change = tuple[str, str, Callable[[ast.AST], ast.AST | None]]
"""Kind, what is changed, and the changed node."""


def _mutants_of(path: Path, tree: ast.Module, unused: set[int]) -> Iterator[Mutant]:
    module = str(path.relative_to(_SOURCE))
    faults, told = _faults_in(tree), _told(tree) | unused
    for number, node in enumerate(ast.walk(tree)):
        if not hasattr(node, "lineno") or id(node) in told:
            continue
        for kind, what, change in _changes(node, faults):
            copy = deepcopy(tree)
            place = next(islice(ast.walk(copy), number, None))
            changed = change(place)
            source = ast.unparse(ast.fix_missing_locations(_Replace(place, changed).visit(copy)))
            yield Mutant(kind, what, f"{module}:{node.lineno}", module, source)


class _Replace(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old: ast.AST, new: ast.AST | None) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else super().visit(node)


def _changes(node: ast.AST, faults: dict[str, str]) -> Iterator[Change]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
        yield from _fault_off(node.value, faults)
    elif isinstance(node, ast.Compare):
        yield from _boundaries(node)
    elif isinstance(node, ast.Call):
        yield from _order(node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _field(node)


def _told(tree: ast.Module) -> set[int]:
    """Nodes that only make messages or annotate, and so are no part of a verdict."""
    told: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.JoinedStr):
            parts = [node]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns, node.args, *node.decorator_list]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        for part in parts:
            told.update(id(inner) for inner in (() if part is None else ast.walk(part)))
    return told


def _faults_in(tree: ast.Module) -> dict[str, str]:
    """The module's constants that are faults, with their ids."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            first = node.value.args[0] if node.value.args else None
            name = node.targets[0]
            if isinstance(first, ast.Constant) and first.value in oracle.RULES:
                assert isinstance(name, ast.Name)
                found[name.id] = str(first.value)
    return found


def _fault_off(node: ast.Yield, faults: dict[str, str]) -> Iterator[Change]:
    call = node.value
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in faults
    ):
        # Still a generator, but one that yields nothing here.
        nothing = ast.parse("if False:\n    yield").body[0]
        yield "rule off", faults[call.func.value.id], lambda _: nothing


_SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def _boundaries(node: ast.Compare) -> Iterator[Change]:
    """Shift each boundary of a comparison by one."""
    for index, operator in enumerate(node.ops):
        what = ast.unparse(node) + (f", operator {index + 1}" if len(node.ops) > 1 else "")
        shifted = _SHIFTED.get(type(operator))
        if shifted is not None:
            yield "boundary", what, partial(_shift, index, shifted)
        elif isinstance(operator, (ast.Eq, ast.NotEq)) and _is_number(node.comparators[index]):
            yield "boundary", what, partial(_another_number, index)


def _shift(index: int, shifted: type[ast.cmpop], place: ast.AST) -> ast.AST:
    assert isinstance(place, ast.Compare)
    place.ops[index] = shifted()
    return place


def _another_number(index: int, place: ast.AST) -> ast.AST:
    assert isinstance(place, ast.Compare)
    place.comparators[index] = ast.BinOp(place.comparators[index], ast.Add(), ast.Constant(1))
    return place


def _is_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if not isinstance(node, ast.Name):
        return False
    return type(getattr(oracle.constants, node.id, None)) is int


_NOT_STRICT = {
    "first_disorder": "(lambda items: next((index for index in range(1, len(items)) "
    "if items[index - 1] > items[index]), None))",
    "strictly_ascending": "(lambda items: all(one <= other "
    "for one, other in zip(items, items[1:])))",
}


def _order(node: ast.Call) -> Iterator[Change]:
    """Let an order that must be strict allow equals."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in _NOT_STRICT:

        def allow(place: ast.AST) -> ast.AST:
            assert isinstance(place, ast.Call)
            place.func = ast.parse(_NOT_STRICT[name], mode="eval").body
            return place

        yield "order not strict", ast.unparse(node), allow


def _siblings() -> dict[str, str]:
    """For the name of each field, another field of the same type that some struct has beside it."""
    found: dict[str, str] = {}
    for shape in vars(model).values():
        if (
            not isinstance(shape, type)
            or not is_dataclass(shape)
            or shape.__module__ != model.__name__
        ):
            continue
        hints = get_type_hints(shape, include_extras=True)
        names = [field.name for field in fields(shape)]
        for index, name in enumerate(names):
            for other in [*names[index + 1 :], *names[:index]]:
                if hints[other] == hints[name]:
                    found.setdefault(name, other)
                    break
    return found


_SIBLINGS = _siblings()


def _field(node: ast.Attribute) -> Iterator[Change]:
    """Look at another field of the same type."""
    other = _SIBLINGS.get(node.attr)
    if other is not None:

        def look(place: ast.AST) -> ast.AST:
            assert isinstance(place, ast.Attribute)
            place.attr = other
            return place

        yield "wrong field", f"{ast.unparse(node)} -> {other}", look


# --- hunting them ----------------------------------------------------------------------------


def hunt(
    mutant: Mutant, engine: str, contract: str, corpus: Path, seconds: float, seed: int
) -> Result:
    """Let one worker search for *mutant* from the documents in *corpus*.

    *seconds* are those in which the worker computes: on a core of its own they are those that
    pass, and on a busy machine they still say how much of a search it took.
    """
    with TemporaryDirectory(prefix="mutant-") as name:
        room = Path(name)
        shutil.copytree(_SOURCE, room / "oracle", ignore=shutil.ignore_patterns("__pycache__"))
        environment = os.environ | {"PYTHONPATH": str(_ROOT), "PYTHONHASHSEED": "0"}
        if mutant.module is not None:
            (room / "oracle" / mutant.module).write_text(mutant.source, "utf-8")
        elif mutant is not CONTROL:
            environment[VARIABLE] = mutant.what
        (room / "live").mkdir()
        findings = Findings(room / "findings")
        job = Job(
            name="worker",
            target="manifests",
            engine=engine,
            contract=contract,
            seed=seed,
            findings=str(room / "findings"),
            state=str(room / "state.json"),
            current=str(room / "current"),
            flags=(
                "-max_total_time=0",
                *SEARCH_FLAGS,
                f"-timeout={HANG_SECONDS}",
                f"-rss_limit_mb={MEMORY_MIB}",
                str(room / "live"),
                str(corpus.resolve()),
            ),
        )
        job.write(room / "job.json")
        took = 0.0
        with (room / "log").open("wb") as log:
            process = subprocess.Popen(
                # From this directory, so that its oracle is the one that is imported.
                [sys.executable, "-m", "fuzz.campaign.worker", "job.json"],
                cwd=room,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            try:
                while process.poll() is None and (took := _seconds_of(process.pid)) < seconds:
                    if any(findings):
                        break
                    time.sleep(_TICK)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                process.wait()
        for finding in findings:
            return Result(mutant, took, finding.first.signature)
        if not (room / "state.json").exists():
            words = (room / "log").read_text("utf-8", "replace")[-_LAST_WORDS:]
            return Result(mutant, fault=f"no worker starts: {words.strip()}")
    return Result(mutant)


def _seconds_of(process: int) -> float:
    """Seconds for which a process computed so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
