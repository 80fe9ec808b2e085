"""Pages whose commands are run, and whose tables come from the code.

A block that is fenced as ``console`` shows commands behind ``$ `` and what they print; each ends
with 0, or with the N of ``console exit=N``. What stands between ``<!-- table: NAME -->`` and
``<!-- end -->`` is one of :data:`TABLES`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import oracle
from oracle import ASSUMPTIONS, CONTRACTS

ROOT = Path(__file__).parents[2]

# The contracts' page has its own tool.
PAGES = [
    ROOT / "README.md",
    *sorted({*(ROOT / "docs").glob("*.md")} - {ROOT / "docs" / "contracts.md"}),
]

_SESSION = re.compile(r"^(```console(?: exit=(\d+))?\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- table: )(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


class UnexpectedExit(Exception):
    """A command did not end as the page says, so what it printed does not belong there."""


def refreshed(page: str) -> str:
    """The text of a page with all that is generated in it made anew.

    Raises:
        UnexpectedExit: a command of the page ends otherwise than the page says.

    """
    page = _TABLE.sub(lambda match: f"{match[1]} -->\n{TABLES[match[1]]()}", page)
    return _SESSION.sub(lambda match: match[1] + session(match[3], int(match[2] or 0)), page)


def session(text: str, status: int) -> str:
    """The commands in *text*, each with what it prints now; all must end with *status*."""
    lines = [line for line in text.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{printed(line[2:], status)}" for line in lines)


def printed(command: str, status: int = 0) -> str:
    """What *command* prints in the root of the project, on both streams, ending with *status*."""
    scripts = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status:
        raise UnexpectedExit(
            f"$ {command}\nended with {done.returncode}, not with {status}:\n{done.stdout}"
        )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _formats() -> str:
    titles = ["contract", "manifest_version", "engines of laminar-core", "what it has", "rules"]
    return _table(
        titles,
        (
            [
                f"`{contract.name}`",
                str(contract.manifest_version),
                ", ".join(contract.engines) or "none yet",
                ", ".join(sorted(feature.value for feature in contract.features)) or "–",
                str(len(oracle.rules_of(contract))),
            ]
            for contract in CONTRACTS.values()
        ),
    )


def _assumptions() -> str:
    titles = ["", "statement", "basis", "confirmed by"]
    return _table(
        titles, ([a.id, a.statement, a.basis, a.confirmed_by] for a in ASSUMPTIONS.values())
    )


def _rules() -> str:
    return printed("python -m oracle rules --format markdown")


TABLES: dict[str, Callable[[], str]] = {
    "formats": _formats,
    "assumptions": _assumptions,
    "rules": _rules,
}
"""What pages can have between their markers."""
