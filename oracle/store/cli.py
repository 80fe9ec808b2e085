"""The subcommand ``audit``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

from oracle.store.audit import audit
from oracle.store.layout import StoreUnavailable
from oracle.store.report import as_json, as_text, size

CLEAN: Final = 0
FINDINGS: Final = 1
COULD_NOT_RUN: Final = 2

_FORMATS = {"text": as_text, "json": as_json}
_SECONDS_BETWEEN_UPDATES = 0.2


def add_parser(subparsers: Any) -> None:
    """Add ``audit`` to the subcommands of an argument parser; it sets ``command``."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "audit",
        help="audit a checkpoint store, from its identity to the last byte of node data",
        description="Audit the checkpoint store of a stopped engine. Nothing is written. "
        "Exits with 0 when it is clean, 1 with findings, 2 when it cannot be read.",
    )
    parser.add_argument(
        "root", type=Path, metavar="ROOT", help="the directory that holds nodes/ and the others"
    )
    parser.add_argument(
        "--format", choices=[*_FORMATS], default="text", help="of the output (default: %(default)s)"
    )
    parser.set_defaults(command=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    """Audit ``arguments.root`` and print the report; gives the exit code."""
    line = _ProgressLine()
    try:
        report = audit(arguments.root, line.update)
    except (OSError, StoreUnavailable) as error:
        line.clear()
        print(f"audit: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    line.clear()
    print(_FORMATS[arguments.format](report))
    return CLEAN if report.clean else FINDINGS


class _ProgressLine:
    """One line on standard error that is written over, on a terminal only."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._next = time.monotonic() + _SECONDS_BETWEEN_UPDATES

    def update(self, done: int, total: int) -> None:
        """Show how much has been read."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS_BETWEEN_UPDATES
            share = min(done / total, 1.0) if total else 1.0
            self._write(f"audit: {size(done)} of at most {size(total)} ({share:.0%})")

    def clear(self) -> None:
        """Leave the line empty."""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
