"""The page ``docs/contracts.md``, made from the table of contracts and that of mutants."""

from __future__ import annotations

from collections.abc import Iterable

from tests.contracts.mutants import LEAST_SHARE, MUTANTS
from tests.contracts.run import ROOT
from tests.contracts.table import (
    CI_CPU_SECONDS,
    NIGHTLY_FACTOR,
    ROOMS,
    Contract,
    Kind,
    State,
    contracts,
)

PAGE = ROOT / "docs" / "contracts.md"


def page() -> str:
    """The whole page."""
    table = contracts()
    theorems = [each for each in table if each.kind is Kind.THEOREM]
    confirmed = sum(each.expected is State.CONFIRMED for each in theorems)
    rooms = "\n".join(
        f"### {room}\n\n{_rows(each for each in theorems if each.name.startswith(room + '.'))}"
        for room in ROOMS
    )
    mutants = "".join(f"| {mutant.name} | {mutant.refuted_by} |\n" for mutant in MUTANTS)
    return f"""\
# Contracts of the kernels

<!-- Made by `python -m tests.contracts --write-docs`; do not edit. -->

The rules stand on small pure functions, the *kernels* (`oracle/kernels.py`, and a few in the
model, the decoder and the encoder). [CrossHair](https://crosshair.readthedocs.io) runs them on
symbolic values and looks for arguments that break a contract.

- **{State.CONFIRMED.value}**: every path through contract and kernel was followed to its end, and
  none breaks the claim. That is as far as CrossHair's model of Python is right, and for lists as
  short as the contract says (two to four items).
- **{State.NO_COUNTEREXAMPLE.value}**: the search ended with its budget, and had found none.
- **{State.REFUTED.value}**: arguments that break the claim are known.

Symbolic execution says a lot about integers, bounds, order and short lists. It says nothing here
about SHA-256, JSON text or long inputs: these are held against the engine instead.

    python -m tests.contracts             every contract, at most {CI_CPU_SECONDS} CPU seconds
    python -m tests.contracts --only X    those with X in their name
    python -m tests.contracts --mutants   faults planted in the kernels, each to be refuted
    python -m tests.contracts --nightly   {NIGHTLY_FACTOR} times the budget
    python -m pytest -m nightly tests/contracts
                                          property tests with CrossHair as Hypothesis's backend

A run fails (exit code 1) when a contract falls short of the state below, and when a planted false
claim is not refuted; it ends with 2 when CrossHair could not run. Budgets are CPU seconds of
search.

## Theorems

{len(theorems)} theorems: {confirmed} {State.CONFIRMED.value}, \
{len(theorems) - confirmed} with {State.NO_COUNTEREXAMPLE.value}.

{rooms}
## Restatements

`crosshair diffbehavior` holds each kernel against a naive restatement of it, for a few values.
*{State.CONFIRMED.value}* means that all paths were followed and no difference was met.

{_rows(each for each in table if each.kind is Kind.RESTATEMENT)}
## Where the engine differs

The engine's classification of channels is transcribed from the words of the contract, in
`tests/contracts/engine_watermarks.py`. These claims are refuted by a concrete pair of channels,
as (watermark, idle); the ledger of known divergences has it as `reserved-watermark`.

{_refuted(each for each in table if each.kind is Kind.DIFFERENCE)}
## Canaries

Planted false claims. A run in which one of them is not refuted fails.

{_refuted(each for each in table if each.kind is Kind.CANARY)}
## Mutants

Faults planted in the kernels one at a time. The contract beside it refutes each alone; at least
{LEAST_SHARE:.0%} must be refuted.

| fault | refuted by |
| --- | --- |
{mutants}"""


def _rows(rows: Iterable[Contract]) -> str:
    lines = "".join(
        f"| {row.name.partition('.')[2]} | {row.statement} | {row.expected.value} "
        f"| {row.cpu_seconds:g} |\n"
        for row in rows
    )
    return f"| contract | what it says | state | budget |\n| --- | --- | --- | ---: |\n{lines}"


def _refuted(rows: Iterable[Contract]) -> str:
    lines = "".join(
        f"| {row.name.partition('.')[2]} | {row.statement} "
        f"| `{', '.join(map(repr, row.example))}` |\n"
        for row in rows
    )
    return f"| false claim | what it says | refuted by |\n| --- | --- | --- |\n{lines}"
