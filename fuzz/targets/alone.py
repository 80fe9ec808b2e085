"""A target as a program of its own: libFuzzer's flags and files, and a few options before them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fuzz.coverage import OracleCoverage
from fuzz.engines import DEFAULT_RELEASE
from fuzz.engines.coverage import load_visible
from fuzz.targets.running import run

if TYPE_CHECKING:
    from fuzz.targets.session import Disagreement, Session

# What libFuzzer calls a crash: it keeps the input in a file and ends.
_CRASH_STATUS = 77


def main(name: str) -> None:
    """Run target *name* with the arguments of this process."""

    @click.command(
        help=f"{sys.modules['__main__'].__doc__}\n\nEverything that follows goes to libFuzzer: "
        "its flags (see -help=1), directories of a corpus, or one file to try.",
        context_settings={"ignore_unknown_options": True},
    )
    @click.option(
        "--engine", default=DEFAULT_RELEASE, show_default=True, help="Release or checkout."
    )
    @click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**32 - 1))
    @click.argument("libfuzzer", nargs=-1, type=click.UNPROCESSED)
    def program(engine: str, seed: int, libfuzzer: tuple[str, ...]) -> None:
        def make_session(coverage: OracleCoverage) -> Session:
            from fuzz.comparison import contract_of
            from fuzz.targets.session import Session

            loaded = load_visible(engine)
            return Session(loaded, contract_of(loaded), _stop)

        run(name, seed, list(libfuzzer), make_session)

    program(prog_name=f"python -m fuzz.targets.{name}")


class Disagreed(Exception):
    """Ends the search at the first disagreement, which libFuzzer then writes to a file."""


def _stop(found: Disagreement) -> None:
    told = "\n".join(
        (
            found.signature,
            *(f"  oracle: {line}" for line in found.oracle),
            *(f"  engine: {line}" for line in found.engine),
        )
    )
    raise Disagreed(told)
