"""How a campaign is doing, for whoever looks on: live on a terminal, else a line a minute."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fuzz.campaign.supervisor import Campaign
from fuzz.campaign.totals import Moment, Totals

_LINE_EVERY = 60.0
_SHOWN = 8


class View:
    """Shows a campaign on standard error, as a context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._next_line = time.monotonic() + 5

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, campaign: Campaign, total: Totals) -> None:
        """Bring it up to date."""
        if not campaign.moments:
            return
        if self._live is not None:
            self._live.update(_picture(campaign, total))
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY
            print(_line(campaign, total), file=sys.stderr, flush=True)


def _line(campaign: Campaign, total: Totals) -> str:
    now = campaign.moments[-1]
    unseen = len(total.unseen(campaign.contract, campaign.plan.target))
    return (
        f"{_minutes(now.seconds)}: {total.inputs:,} inputs, {_rate(campaign.moments):,.0f}/s, "
        f"coverage oracle {total.oracle_coverage:,} engine {total.engine_coverage:,}, "
        f"corpus {now.corpus:,}, {now.findings} findings, {unseen} rules not seen"
    )


def _picture(campaign: Campaign, total: Totals) -> RenderableType:
    now, plan = campaign.moments[-1], campaign.plan
    table = Table.grid(padding=(0, 2))
    table.add_row(
        "time", f"{_minutes(now.seconds)} of {plan.minutes:g} min, workers: {plan.workers}"
    )
    table.add_row("inputs", f"{total.inputs:,}  ({_rate(campaign.moments):,.0f}/s)")
    table.add_row("decoded, valid", f"{_share(total.decoded, total)}, {_share(total.valid, total)}")
    table.add_row("coverage", f"oracle {total.oracle_coverage:,}  engine {total.engine_coverage:,}")
    table.add_row("corpus", f"{now.corpus:,} documents")
    contract = campaign.contract
    for title, rules in (
        ("rules not seen", total.unseen(contract, plan.target)),
        ("not seen alone", total.never_alone(contract, plan.target)),
    ):
        more = f" and {len(rules) - _SHOWN} more" if len(rules) > _SHOWN else ""
        table.add_row(title, f"{len(rules)}  {' '.join(rules[:_SHOWN])}{more}")
    for id, times in total.known.most_common():
        table.add_row("known", f"{times:,} × {id}")
    rows: list[RenderableType] = [Text(f"{plan.engine_name}, target {plan.target}", "bold"), table]
    rows += [
        Text(f"{times:,} × {signature}", "red")
        for signature, times in total.signatures.most_common(_SHOWN)
    ]
    rows += [Text(note, "yellow") for note in campaign.notes[-3:]]
    return Group(*rows)


def _rate(moments: list[Moment]) -> float:
    return moments[-1].rate


def _share(part: int, total: Totals) -> str:
    return f"{part / total.inputs:.0%}" if total.inputs else "none"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
