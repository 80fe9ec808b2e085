"""The table of contracts: each is declared where it is stated, with what is expected of it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

ROOMS = ("ranges", "order", "watermarks", "references", "topology", "sequences", "limits", "text")
"""The modules of :mod:`tests.contracts.theorems`, in the order of the table."""

CI_CPU_SECONDS = 300
"""What all contracts together may use in continuous integration."""

NIGHTLY_FACTOR = 20
"""How many times its budget a contract has in a nightly run."""

START_SECONDS = 0.5
"""What CrossHair needs to start, which no contract's own budget counts."""

F = TypeVar("F", bound=Callable[..., Any])


class State(Enum):
    """What CrossHair says of a contract."""

    CONFIRMED = "confirmed over all paths"
    NO_COUNTEREXAMPLE = "no counterexample"
    REFUTED = "refuted"


class Kind(Enum):
    """What a contract is there for."""

    THEOREM = "theorem"
    RESTATEMENT = "restatement"
    DIFFERENCE = "difference"
    CANARY = "canary"


@dataclass(frozen=True, slots=True)
class Contract:
    """One row of the table.

    ``targets`` are qualified names: a theorem's, or those of a kernel and of its restatement.
    ``cpu_seconds`` is the budget of the search in continuous integration. ``example`` holds
    values that a theorem is about, so that it cannot be true of nothing, or that break the claim
    where it is expected to be refuted; of a restatement it is empty.
    """

    name: str
    kind: Kind
    statement: str
    targets: tuple[str, ...]
    expected: State
    cpu_seconds: float
    example: tuple[Any, ...]

    @property
    def is_comparison(self) -> bool:
        """Whether two functions are compared, rather than one claim checked."""
        return len(self.targets) == 2


_declared: list[Contract] = []


def theorem(
    *,
    example: tuple[Any, ...],
    expected: State = State.CONFIRMED,
    cpu_seconds: float = 1.5,
) -> Callable[[F], F]:
    """Enter the decorated theorem into the table; its docstring is the statement."""
    return _entering(Kind.THEOREM, expected, cpu_seconds, example)


def difference(*, example: tuple[Any, ...]) -> Callable[[F], F]:
    """Enter a claim that the engine's behaviour, as transcribed, is expected to refute."""
    return _entering(Kind.DIFFERENCE, State.REFUTED, 3, example)


def canary(
    *, example: tuple[Any, ...], kernel: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Enter a planted false claim, or a wrong restatement of *kernel*.

    CrossHair is blind if it does not refute it.
    """
    return _entering(Kind.CANARY, State.REFUTED, 3, example, kernel)


def restates(
    kernel: Callable[..., Any],
    *,
    expected: State = State.CONFIRMED,
    cpu_seconds: float = 1.5,
) -> Callable[[F], F]:
    """Enter the decorated naive restatement of *kernel*: both must behave alike.

    Here ``CONFIRMED`` means that CrossHair went through all paths and met no difference.
    """
    return _entering(Kind.RESTATEMENT, expected, cpu_seconds, kernel=kernel)


def _entering(
    kind: Kind,
    expected: State,
    cpu_seconds: float,
    example: tuple[Any, ...] = (),
    kernel: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    def enter(function: F) -> F:
        room = function.__module__.rpartition(".")[2]
        functions = (function,) if kernel is None else (kernel, function)
        _declared.append(
            Contract(
                name=f"{room}.{function.__name__}",
                kind=kind,
                statement=" ".join(inspect.getdoc(function).split()),  # type: ignore[union-attr]
                targets=tuple(f"{each.__module__}.{each.__name__}" for each in functions),
                expected=expected,
                cpu_seconds=cpu_seconds,
                example=example,
            )
        )
        return function

    return enter


def contracts() -> tuple[Contract, ...]:
    """Every contract: theorems room by room, then restatements and canaries."""
    for module in (*(f"theorems.{room}" for room in ROOMS), "naive", "canaries"):
        importlib.import_module(f"{__package__}.{module}")
    return tuple(_declared)
