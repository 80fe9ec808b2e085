"""Find a short run that shows the same as a long one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fuzz.runtime.pipelines import Row, View
from fuzz.runtime.runs import Push, Run

_T = TypeVar("_T")


def shrink(run: Run, fails: Callable[[Run], bool]) -> Run:
    """Leave out of a run what it fails without: steps, then views, sources and rows.

    Args:
        run: one that fails.
        fails: carries out a run, and says whether it still fails in the same way.

    Returns:
        A run that fails, from which no single step, view, source or row can be left out, as
        far as *fails* said.

    """

    def keeps(change: Callable[[Run, Sequence[_T]], Run]) -> Callable[[Sequence[_T]], bool]:
        def tried(items: Sequence[_T]) -> bool:
            nonlocal run
            shorter = change(run, items)
            if not fails(shorter):
                return False
            run = shorter
            return True

        return tried

    _fewest(run.steps, keeps(lambda run, steps: replace(run, steps=tuple(steps))))
    # What tells a source's cuts apart has to stay as long as the source does.
    more = [view for view in run.pipeline.views if view.shape != "total"]
    _fewest(more, keeps(_with_views))
    _fewest(_idle_sources(run), keeps(_with_idle_sources))
    for place, step in enumerate(run.steps):
        if isinstance(step, Push):
            _fewest(step.rows, keeps(partial(_with_rows, place=place)))
    return run


def _fewest(items: Sequence[_T], enough: Callable[[Sequence[_T]], bool]) -> None:
    """Leave out halves, then quarters, and so on down to single items, while it is enough."""
    size = len(items)
    while size:
        start = 0
        while start < len(items):
            rest = [*items[:start], *items[start + size :]]
            if enough(rest):
                items = rest
            else:
                start += size
        size //= 2


def _with_views(run: Run, more: Sequence[View]) -> Run:
    views = [view for view in run.pipeline.views if view.shape == "total" or view in more]
    return replace(run, pipeline=replace(run.pipeline, views=tuple(views)))


def _with_rows(run: Run, rows: Sequence[Row], *, place: int) -> Run:
    step = run.steps[place]
    assert isinstance(step, Push)
    changed = replace(step, rows=tuple(rows))
    return replace(run, steps=(*run.steps[:place], changed, *run.steps[place + 1 :]))


def _idle_sources(run: Run) -> list[str]:
    pushed = {step.source for step in run.steps if isinstance(step, Push)}
    return [source.name for source in run.pipeline.sources if source.name not in pushed]


def _with_idle_sources(run: Run, names: Sequence[str]) -> Run:
    gone = set(_idle_sources(run)) - set(names)
    pipeline = run.pipeline
    return replace(
        run,
        pipeline=replace(
            pipeline,
            sources=tuple(source for source in pipeline.sources if source.name not in gone),
            views=tuple(view for view in pipeline.views if view.source not in gone),
        ),
    )
