"""The regression corpus and the digest vectors, as plain data."""

from pathlib import Path

ROOT = Path(__file__).parent
"""The folder with ``index.jsonl``, the cases, the vectors and the stores."""
