"""Coverage of the oracle, as libFuzzer sees it; :mod:`fuzz.engines.coverage` is the engine's.

Atheris calls a function for every branch that is taken, which takes several times as long as the
oracle itself. So its instrumentation is used to find the branches, and what stands there is a
store into memory that libFuzzer looks at.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from atheris.instrument_bytecode import (  # type: ignore[import-untyped]
    Instrumentor,
    _generate_instruction,
)

_PACKAGE = "oracle"
# More branches than the oracle has. The room costs a few kilobytes to look through.
_CAPACITY = 8_192


class OracleCoverage:
    """The branches of the oracle that are taken, in counters of libFuzzer's.

    Make one before the oracle is imported; call :meth:`attach` in the first call of the target,
    when libFuzzer runs, and :meth:`remember` at the end of every call. libFuzzer clears the
    counters before every call.
    """

    def __init__(self) -> None:
        if _PACKAGE in sys.modules:
            raise RuntimeError("the oracle was imported before it could be instrumented")
        self.counters = bytearray(_CAPACITY)
        self._used = 0
        self._ever = 0
        self._places = (ctypes.c_size_t * (2 * _CAPACITY))()
        sys.meta_path.insert(0, _Finder(self))

    def new_counter(self) -> int:
        """The index of a counter that no branch has yet."""
        self._used += 1
        assert self._used <= _CAPACITY, "the oracle has more branches than there are counters"
        return self._used - 1

    def attach(self) -> None:
        """Show libFuzzer the counters; it must be running already."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.counters))
        for index in range(_CAPACITY):
            # libFuzzer wants to know of each counter where in the code it is: any name will do.
            self._places[2 * index] = address + index
        table = ctypes.addressof(self._places)
        everything = ctypes.CDLL(None)
        for name, start, size in (
            ("__sanitizer_cov_8bit_counters_init", address, _CAPACITY),
            ("__sanitizer_cov_pcs_init", table, ctypes.sizeof(self._places)),
        ):
            function = everything[name]
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            function.restype = None
            function(start, start + size)

    def remember(self) -> None:
        """Take note of the branches that were taken since libFuzzer cleared the counters."""
        self._ever |= int.from_bytes(self.counters[: self._used], "little")

    @property
    def branches(self) -> int:
        """Number of different branches that were ever taken."""
        return self._ever.bit_count()


class _Finder(MetaPathFinder):
    """Finds the oracle's modules, and has them instrumented."""

    def __init__(self, coverage: OracleCoverage) -> None:
        self._coverage = coverage

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self._coverage)
        return spec


class _Loader(SourceFileLoader):
    """Loads a module from its source, instrumented."""

    def __init__(self, name: str, path: str, coverage: OracleCoverage) -> None:
        super().__init__(name, path)
        self._coverage = coverage

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return None if code is None else _instrumented(code, self._coverage)


def _instrumented(code: CodeType, coverage: OracleCoverage) -> CodeType:
    """*code* and the functions in it with a mark in every branch.

    Comparisons are not traced: the mutator knows the numbers that matter. Comprehensions are left
    alone, as Atheris does: they have no branch that a verdict depends on alone.
    """
    marking = _Marking(code, coverage)
    marking.trace_control_flow()
    for index, constant in enumerate(marking.consts):
        if isinstance(constant, CodeType) and (
            not constant.co_name.startswith("<") or constant.co_name == "<lambda>"
        ):
            marking.consts[index] = _instrumented(constant, coverage)
    made: CodeType = marking.to_code()
    return made


class _Marking(Instrumentor):  # type: ignore[misc]
    """Puts ``counters[index] = 1`` where Atheris would call its function."""

    def __init__(self, code: CodeType, coverage: OracleCoverage) -> None:
        super().__init__(code)
        self._coverage = coverage

    def _generate_trace_branch_invocation(self, copyfrom_instruction: Any) -> list[Any]:
        parts = (1, self._coverage.counters, self._coverage.new_counter())
        loads = [
            _generate_instruction("LOAD_CONST", self._get_const(part), copyfrom_instruction)
            for part in parts
        ]
        return [*loads, _generate_instruction("STORE_SUBSCR", None, copyfrom_instruction)]
