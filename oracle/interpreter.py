"""What the interpreter imposes on every program, kept away from verdicts.

A verdict depends on the document alone, not on how deep the caller's stack is or what its
recursion limit says, and costs the same for each byte of a long document as of a short one.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Frames for the deepest document that the engine reads, and for what looks at it.
_ROOM = 600


class _Here(threading.local):
    """What this thread is doing."""

    inside = False
    has_room = False


class _Limit:
    """The limit of all threads: the first that needs room raises it, the last restores it."""

    lock = threading.Lock()
    users = 0
    before = 0


_here = _Here()


def has_room_to_recurse() -> bool:
    """Whether the caller's stack cannot be what a :class:`RecursionError` comes from."""
    return _here.has_room


def with_room_to_recurse(function: Callable[P, T]) -> Callable[P, T]:
    """Call *function* once more, with room, when the caller's stack has left it too little.

    *function* must be free of side effects. A call from inside another one is just a call. What
    the second call raises is raised. Nothing here calls a function of Python's own, so that a
    caller needs no more than the one frame.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if _here.inside:
            return function(*args, **kwargs)
        _here.inside = True
        try:
            return function(*args, **kwargs)
        except RecursionError:
            with _Limit.lock:
                limit = _Limit.before if _Limit.users else sys.getrecursionlimit()
                sys.setrecursionlimit(limit)  # raises where it could not be restored
                sys.setrecursionlimit(limit + _ROOM)
                _Limit.before = limit
                _Limit.users += 1
            _here.has_room = True
            try:
                return function(*args, **kwargs)
            finally:
                _here.has_room = False
                with _Limit.lock:
                    _Limit.users -= 1
                    if not _Limit.users:
                        sys.setrecursionlimit(limit)
        finally:
            _here.inside = False

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
