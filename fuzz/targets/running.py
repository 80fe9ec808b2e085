"""Run a target under libFuzzer, with the coverage of both sides."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import atheris  # type: ignore[import-untyped]

from fuzz.coverage import OracleCoverage
from fuzz.engines.coverage import show_fuzzer
from fuzz.targets import MAX_LENGTH, MUTATING, Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session

MakeSession = Callable[[OracleCoverage], "Session"]
"""Makes the session, in the first call of the target: engine and oracle are loaded then."""

AfterInput = Callable[[], None]

# Looking for cycles after every few hundred objects would take a tenth of the time.
_INPUTS_PER_COLLECTION = 20_000


def run(
    name: str,
    seed: int,
    flags: list[str],
    make_session: MakeSession,
    after_input: AfterInput = lambda: None,
    program: str = sys.argv[0],
) -> None:
    """Run target *name* with libFuzzer's *flags* and files; it ends the process.

    *after_input* is called after each input, when nothing about it is left to be done. *program*
    is what libFuzzer starts where it starts processes like this one.
    """
    coverage = OracleCoverage()
    target: Target | None = None
    inputs = 0

    def prepare() -> Target:
        coverage.attach()
        made: Target = import_module(f"fuzz.targets.{name}").target(make_session(coverage), seed)
        gc.collect()
        gc.freeze()
        gc.disable()
        return made

    def one_input(data: bytes) -> None:
        nonlocal target, inputs
        if target is None:
            target = prepare()
        target.check(data)
        coverage.remember()
        if not inputs and not coverage.branches:
            raise RuntimeError("no branch of the oracle was recorded, so the search would be blind")
        after_input()
        inputs += 1
        if inputs % _INPUTS_PER_COLLECTION == 0:
            gc.collect()

    def mutate(data: bytes, most: int, _seed: int) -> bytes:
        if target is None or target.mutate is None:
            changed: bytes = atheris.Mutate(data, most)
            return changed
        return target.mutate(data, most)

    def cross(data: bytes, other: bytes, most: int, _seed: int) -> bytes:
        if target is None or target.cross is None:
            return data
        return target.cross(data, other, most)

    own = {"custom_mutator": mutate, "custom_crossover": cross} if name in MUTATING else {}
    arguments = [program, f"-max_len={MAX_LENGTH}", f"-seed={seed}", *flags]
    atheris.Setup(arguments, one_input, **own)
    show_fuzzer()
    _fuzz()


def _fuzz() -> None:
    atheris.Fuzz()


# CPython keeps frames in pieces of 16 KiB, and maps one and gives it back each time that a call
# crosses from one into the next, thousands of times a second. A frame of half a mebibyte, never
# touched, gets a piece of a mebibyte, and the other half has room for all that is called from it.
_fuzz.__code__ = _fuzz.__code__.replace(co_stacksize=2**16)
