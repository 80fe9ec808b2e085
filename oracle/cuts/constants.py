"""The engine's constants for cuts, under the engine's names. Lengths are bytes."""

from typing import Final

COMMITTED_CHECKPOINT_INDEX_VERSION: Final = 4
LEGACY_COMMITTED_CHECKPOINT_INDEX_VERSION: Final = 3
"""The format before source watermarks; it is still read, and derives them from the channels."""

MAX_COMMITTED_CHECKPOINT_INDEX_BYTES: Final = 8 * 1024 * 1024
"""The longest canonical encoding of an index."""
