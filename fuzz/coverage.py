"""Coverage of the oracle, as libFuzzer sees it; :mod:`fuzz.engines.coverage` is the engine's.

The oracle is instrumented by Atheris while it is imported. What that instrumentation calls is
replaced here: a call into Atheris for every branch takes several times as long as the oracle
itself, so branches are collected in a set and handed over once for each input.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from itertools import repeat

import atheris  # type: ignore[import-untyped]
from atheris.import_hook import AtherisMetaPathFinder  # type: ignore[import-untyped]

_PACKAGES = {"oracle"}
# More branches than the oracle has. The room costs a few kilobytes to look through.
_CAPACITY = 8_192


class OracleCoverage:
    """The branches of the oracle that are taken, in counters of libFuzzer's.

    Make one before the oracle is imported; call :meth:`attach` in the first call of the target,
    when libFuzzer runs, and :meth:`hand_over` at the end of every call.
    """

    def __init__(self) -> None:
        if _PACKAGES & sys.modules.keys():
            raise RuntimeError("the oracle was imported before it could be instrumented")
        self._taken: set[int] = set()
        self._ever: set[int] = set()
        self._counters = (ctypes.c_uint8 * _CAPACITY)()
        self._set = memoryview(self._counters).cast("B").__setitem__
        self._places = (ctypes.c_size_t * (2 * _CAPACITY))()
        # Comparisons are not traced: the mutator knows the numbers that matter.
        sys.meta_path.insert(0, AtherisMetaPathFinder(_PACKAGES, set(), False, False))

    def attach(self) -> None:
        """Show libFuzzer the counters; it must be running already."""
        # Not earlier: when a fuzzer starts, Atheris puts its own function here.
        atheris._trace_branch = self._taken.add
        address = ctypes.addressof(self._counters)
        for index in range(_CAPACITY):
            # libFuzzer wants to know of each counter where in the code it is: any name will do.
            self._places[2 * index] = address + index
        table = ctypes.addressof(self._places)
        everything = ctypes.CDLL(None)
        for function, start, size in (
            (everything["__sanitizer_cov_8bit_counters_init"], address, _CAPACITY),
            (everything["__sanitizer_cov_pcs_init"], table, ctypes.sizeof(self._places)),
        ):
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            function.restype = None
            function(start, start + size)

    def hand_over(self) -> None:
        """Set the counters of the branches taken since the last time."""
        taken = self._taken
        deque(map(self._set, taken, repeat(1)), maxlen=0)
        self._ever |= taken
        taken.clear()

    @property
    def branches(self) -> int:
        """Number of different branches that were ever taken."""
        return len(self._ever)
