"""The production engine: built from its source, called in process or over a pipe."""

from __future__ import annotations

from pathlib import Path

from fuzz.engines.builds import DEFAULT_RELEASE, RELEASES, Build, built, find
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

_loaded: dict[Path, InProcessEngine] = {}


def load(engine: str | Path = DEFAULT_RELEASE) -> InProcessEngine:
    """Load a built engine into this process; several can be loaded side by side.

    Args:
        engine: a release, a directory with a checkout, or a checkout's name in `built()`.

    Raises:
        EngineUnavailable: it is not built; the message says how to build it.

    """
    build = find(engine)
    if build.library not in _loaded:
        _loaded[build.library] = InProcessEngine(build.library, build.release)
    return _loaded[build.library]
