"""``python -m tests.contracts``: check every contract, and print the table."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import click

from tests.contracts.documentation import PAGE, page
from tests.contracts.mutants import LEAST_SHARE, MUTANTS, examine_mutant
from tests.contracts.run import CouldNotRunError, Result, examine
from tests.contracts.table import CI_CPU_SECONDS, NIGHTLY_FACTOR, Kind, State, contracts

Task = TypeVar("Task")


@click.command()
@click.option("--only", metavar="TEXT", default="", help="Only contracts with TEXT in their name.")
@click.option("--mutants", is_flag=True, help="Check that contracts refute planted faults instead.")
@click.option("--nightly", is_flag=True, help=f"Search {NIGHTLY_FACTOR} times as long.")
@click.option("--write-docs", is_flag=True, help=f"Only write docs/{PAGE.name} from the table.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def main(only: str, mutants: bool, nightly: bool, write_docs: bool, format_: str) -> None:
    """Check the contracts of the oracle's kernels with CrossHair.

    Exits with 0 when every contract has the state that is expected of it, with 1 when one has
    not, with 2 when CrossHair could not run.
    """
    if write_docs:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(), "utf-8")
        return
    try:
        if mutants:
            failed = _check_mutants(only, format_)
        else:
            failed = _check_contracts(only, NIGHTLY_FACTOR if nightly else 1, format_)
    except CouldNotRunError as error:
        click.echo(f"could not run: {error}", err=True)
        sys.exit(2)
    sys.exit(int(failed))


def _check_contracts(only: str, factor: float, format_: str) -> bool:
    """Print the table of contracts; whether one of them is not as expected."""
    chosen = [contract for contract in contracts() if only in contract.name]
    if not chosen:
        raise CouldNotRunError(f"no contract has {only!r} in its name")
    results = _at_once(lambda contract: examine(contract, factor), chosen)
    if format_ == "json":
        rows = [
            {
                "contract": result.contract.name,
                "kind": result.contract.kind.value,
                "statement": result.contract.statement,
                "expected": result.contract.expected.value,
                "state": result.state.value,
                "counterexample": result.counterexample,
                "cpu_seconds": round(result.cpu_seconds, 1),
            }
            for result in results
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        for result in results:
            click.echo(
                f"{result.state.value:24}  {result.cpu_seconds:6.1f} s  {result.contract.name}"
            )
            if result.counterexample and result.contract.kind is not Kind.CANARY:
                click.echo(f"    {result.counterexample}")
        click.echo(_summary(results))
    for result in results:
        if result.is_loss:
            click.echo(
                f"{result.contract.name}: {result.state.value}, "
                f"expected: {result.contract.expected.value}\n"
                f"    {result.contract.statement}\n"
                f"    python -m tests.contracts --only {result.contract.name}",
                err=True,
            )
        elif result.is_gain:
            click.echo(f"{result.contract.name}: is confirmed, the table may say so", err=True)
    used = sum(result.cpu_seconds for result in results)
    if used > CI_CPU_SECONDS * factor:
        click.echo(
            f"{used:.0f} CPU seconds used, at most {CI_CPU_SECONDS * factor} are allowed; "
            "make the slowest contracts smaller",
            err=True,
        )
        return True
    return any(result.is_loss for result in results)


def _summary(results: Sequence[Result]) -> str:
    counts = Counter((result.contract.kind, result.state) for result in results)
    used = sum(result.cpu_seconds for result in results)
    lines = [f"{count:4} {kind.value}: {state.value}" for (kind, state), count in counts.items()]
    return "\n".join(["", *lines, f"{used:4.0f} CPU seconds"])


def _check_mutants(only: str, format_: str) -> bool:
    """Print the table of mutants; whether too few of them are refuted."""
    chosen = [mutant for mutant in MUTANTS if only in mutant.refuted_by]
    if not chosen:
        raise CouldNotRunError(f"no mutant is refuted by a contract with {only!r} in its name")
    results = _at_once(examine_mutant, chosen)
    refuted = sum(result.state is State.REFUTED for result in results)
    if format_ == "json":
        rows = [
            {
                "mutant": mutant.name,
                "contract": mutant.refuted_by,
                "state": result.state.value,
                "counterexample": result.counterexample,
            }
            for mutant, result in zip(chosen, results, strict=True)
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        for mutant, result in zip(chosen, results, strict=True):
            click.echo(f"{result.state.value:24}  {mutant.name}  ({mutant.refuted_by})")
            click.echo(f"    {result.counterexample}")
        click.echo(f"\n{refuted} of {len(chosen)} mutants refuted")
    return refuted < LEAST_SHARE * len(chosen)


def _at_once(examine_one: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Examine *tasks* on all processors; a bar shows the progress on a terminal."""
    hidden = not sys.stderr.isatty()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        examined = pool.map(examine_one, tasks)
        with click.progressbar(
            examined, length=len(tasks), file=sys.stderr, hidden=hidden
        ) as results:
            return list(results)


if __name__ == "__main__":
    main()
