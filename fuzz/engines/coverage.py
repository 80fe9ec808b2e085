"""Let a fuzzer see into an engine.

An engine is compiled to report where it goes, to functions that the bridge itself has with empty
bodies. In a fuzzing process libFuzzer's own must be found instead, and the dynamic linker decides
that once, while it loads the engine. So the order is: `atheris.Setup`, `show_fuzzer`,
`atheris.Fuzz`, and in the first call of the target `load_visible`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fuzz.engines import DEFAULT_RELEASE, InProcessEngine, load
from fuzz.engines.protocol import EngineUnavailable


def show_fuzzer() -> None:
    """Make what is loaded from now on visible to what is loaded later; `Fuzz` loads libFuzzer."""
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)


def load_visible(engine: str | Path = DEFAULT_RELEASE) -> InProcessEngine:
    """Load an engine that the fuzzer in this process sees into.

    Raises:
        EngineUnavailable: it is not built, or the fuzzer would be blind to it.

    """
    loaded = load(engine)
    if loaded.coverage_counters:
        raise EngineUnavailable(
            f"no fuzzer sees into {loaded.name}: call show_fuzzer just before atheris.Fuzz, "
            "and load the engine in the fuzzed function and nowhere before"
        )
    return loaded
