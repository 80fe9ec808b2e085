"""What is fuzzed: a few lines for each target, none of which knows an engine.

A target is a module with a function ``target(session, seed)`` that gives a :class:`Target`. Each
runs alone, as a libFuzzer program with libFuzzer's own flags and files, and in a campaign:

    python -m fuzz.targets.manifests -max_total_time=60 corpus/
    python -m fuzz.targets.manifests FILE

Nothing here may import the oracle before it is instrumented, so the modules that need it are
imported in functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TARGETS = ("manifests", "cuts", "raw", "digests", "properties")
"""The targets' names."""

MUTATING = frozenset(("manifests", "cuts"))
"""Those that make their inputs themselves, which libFuzzer has to know before it starts."""

MAX_LENGTH = 16 * 1024 * 1024
"""The longest input in bytes, which is the longest manifest that an engine loads."""


SEARCH_FLAGS = (
    # Every input reaches thousands of places in two sides; what libFuzzer would keep about how
    # often, and about how rare each of them is, costs more time than it finds.
    "-use_counters=0",
    "-entropic=0",
)
"""libFuzzer's flags for a search."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is done with an input, and how inputs are made from inputs.

    ``check`` judges an input. ``mutate`` takes an input and the greatest length, ``cross`` two
    inputs and that. Without them libFuzzer changes bytes.
    """

    check: Callable[[bytes], None]
    mutate: Callable[[bytes, int], bytes] | None = None
    cross: Callable[[bytes, bytes, int], bytes] | None = None
