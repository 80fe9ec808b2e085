"""What the interpreter imposes on every program, kept away from verdicts.

A verdict depends on the document alone, not on how deep the caller's stack is or what its
recursion limit says, and costs the same for each byte of a long document as of a short one.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Frames for the deepest document that the engine reads, and for what looks at it.
_ROOM = 600

# The recursion limit belongs to the whole process: two that raise it must not undo each other.
_limit_lock = Lock()


def with_room_to_recurse(function: Callable[P, T]) -> Callable[P, T]:
    """Call *function* again with more stack, once, when the caller has left it too little.

    *function* must be free of side effects. What it needs beyond that is a
    :class:`RecursionError` as ever.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass
        with _limit_lock:
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(limit + _ROOM)
            try:
                return function(*args, **kwargs)
            finally:
                sys.setrecursionlimit(limit)

    return call


def without_garbage_collection(function: Callable[P, T]) -> Callable[P, T]:
    """Call *function* while only reference counting frees memory.

    A document becomes a tree of a million small objects and no cycle. The collector would walk
    over all of them again and again while the tree grows, for half of the time of a verdict.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            gc.enable()

    return call
