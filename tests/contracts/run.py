"""Running CrossHair on one contract, and reading what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.contracts.table import Contract, State

ROOT = Path(__file__).parents[2]

PATH_SECONDS = 20
"""What one path may take of a contract that is to be confirmed.

A path that is given up costs the confirmation, and the solver goes by the clock on the wall: with
CrossHair's default, a tenth of this, a busy machine would confirm less than an idle one.
"""


class CouldNotRunError(Exception):
    """CrossHair did not say anything that can be taken for a state."""


@dataclass(frozen=True, slots=True)
class Result:
    """What CrossHair said: the state, the counterexample where there is one, CPU seconds used."""

    contract: Contract
    state: State
    counterexample: str
    cpu_seconds: float

    @property
    def is_loss(self) -> bool:
        """Whether less is known than is expected."""
        if self.contract.expected is State.NO_COUNTEREXAMPLE:
            return self.state is State.REFUTED
        return self.state is not self.contract.expected

    @property
    def is_gain(self) -> bool:
        """Whether a contract is confirmed that is not expected to be."""
        return (
            self.state is State.CONFIRMED
            and not self.is_loss
            and (self.contract.expected is State.NO_COUNTEREXAMPLE)
        )


def examine(contract: Contract, factor: float = 1, root: Path = ROOT) -> Result:
    """Let CrossHair search for a counterexample, for *factor* times the contract's budget.

    *root* is the directory that the contract and the oracle are imported from. Raises
    :class:`CouldNotRunError`.
    """
    if contract.is_comparison:
        command = ["diffbehavior", "--exception_equivalence", "SAME_TYPE"]
    else:
        command = ["check", "--report_all", "--analysis_kind", "asserts"]
    budget = ["--per_condition_timeout", str(contract.cpu_seconds * factor)]
    if contract.expected is State.CONFIRMED:
        budget += ["--per_path_timeout", str(PATH_SECONDS)]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "crosshair", *command, *budget, *contract.targets],
            cwd=root,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        # Not Popen.wait: only this tells the CPU time of the one process.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if process.returncode not in (0, 1):
        raise CouldNotRunError(
            f"{contract.name}: CrossHair ended with {process.returncode}\n{said}"
        )
    return Result(contract, *_read(contract, said), usage.ru_utime + usage.ru_stime)


_ERROR = re.compile(r"^\S+:\d+: error: (.*)", re.DOTALL | re.MULTILINE)


def _read(contract: Contract, output: str) -> tuple[State, str]:
    if contract.is_comparison:
        if "Given: " in output:
            return State.REFUTED, output.strip()
        if "All paths exhausted" in output:
            return State.CONFIRMED, ""
        if "No differences found" in output:
            return State.NO_COUNTEREXAMPLE, ""
    else:
        error = _ERROR.search(output)
        if error:
            return State.REFUTED, " ".join(error.group(1).split())
        if "info: Confirmed over all paths." in output:
            return State.CONFIRMED, ""
        if "info: Not confirmed." in output:
            return State.NO_COUNTEREXAMPLE, ""
    raise CouldNotRunError(f"{contract.name}: CrossHair said {output.strip() or 'nothing'}")
