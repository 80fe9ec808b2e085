"""The production engine: built from its source, called in process or over a pipe."""

from __future__ import annotations

from pathlib import Path

from fuzz.engines.builds import DEFAULT_RELEASE, RELEASES, STAND_IN, Build, built, find
from fuzz.engines.inprocess import InProcessEngine
from fuzz.engines.protocol import (
    Engine,
    EngineError,
    EngineFailed,
    EngineRefused,
    EngineUnavailable,
    EngineUnsupported,
    EngineVerdict,
    StoreEngine,
)
from fuzz.engines.stdio import StdioEngine

__all__ = [
    "DEFAULT_RELEASE",
    "RELEASES",
    "STAND_IN",
    "Build",
    "Engine",
    "EngineError",
    "EngineFailed",
    "EngineRefused",
    "EngineUnavailable",
    "EngineUnsupported",
    "EngineVerdict",
    "InProcessEngine",
    "StdioEngine",
    "StoreEngine",
    "built",
    "load",
]

_loaded: dict[tuple[Path, bool], InProcessEngine] = {}


def load(engine: str | Path = DEFAULT_RELEASE) -> InProcessEngine:
    """Load a built engine into this process; several can be loaded side by side.

    Args:
        engine: a release, a directory with a checkout, a checkout's name in `built()`, or
            `STAND_IN`, which is no engine.

    Raises:
        EngineUnavailable: it is not built; the message says how to build it.

    """
    stand_in = engine == STAND_IN
    build = find(DEFAULT_RELEASE if stand_in else engine)
    key = (build.library, stand_in)
    if key not in _loaded:
        release = STAND_IN if stand_in else build.release
        _loaded[key] = InProcessEngine(build.library, release, stand_in=stand_in)
    return _loaded[key]
