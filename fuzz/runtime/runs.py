"""Runs: what is done to a database, as data.

A run is generated (:func:`runs`), kept as JSON (:meth:`Run.to_json`), and carried out by
:mod:`fuzz.runtime.execution`, as often as one likes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from hypothesis import strategies as st

from fuzz.runtime.pipelines import LATEST_OFFSET, SHAPES, Generator, Row, Source, View

Delivery = Literal["best_effort", "at_least_once", "exactly_once"]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What runs in the database, and how it is set up; the same in every life of one run.

    Attributes:
        sources: where rows come from.
        views: materialized views, each over one source.
        delivery: the delivery guarantee; pushed rows allow only the weakest.
        key_groups: number of vnodes.
        idle_timeout_ms: when a source without rows counts as idle, or never.
        incremental_emit: whether keyed aggregates emit only what changed.

    """

    sources: tuple[Source, ...]
    views: tuple[View, ...]
    delivery: Delivery = "best_effort"
    key_groups: int = 4
    idle_timeout_ms: int | None = None
    incremental_emit: bool = False

    def source(self, name: str) -> Source:
        """The source of that name."""
        return next(source for source in self.sources if source.name == name)


@dataclass(frozen=True, slots=True)
class Push:
    """Push one batch of rows into a source, and do not wait until they are seen."""

    source: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until every view shows everything that was pushed."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Take a checkpoint; without `wait`, go on while it runs."""

    wait: bool = True


@dataclass(frozen=True, slots=True)
class Pause:
    """Let some time pass."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the process from outside, with SIGKILL, after a time; then start it again.

    Attributes:
        milliseconds: how long to wait first.
        checkpoint: whether a checkpoint is begun before that wait.

    """

    milliseconds: int
    checkpoint: bool = False


@dataclass(frozen=True, slots=True)
class Crash:
    """Take a checkpoint and die in it; then start again.

    Attributes:
        calls: how many of the ordering calls to the file system (fsync, rename, link, unlink)
            are made before the one that the process dies in place of. When the checkpoint and
            what follows it make fewer, the process is killed from outside, after the checkpoint.

    """

    calls: int


@dataclass(frozen=True, slots=True)
class CrashInRecovery:
    """Kill the process, start it again, and let it die while it recovers; then start again.

    As the first step of a run, it dies while it creates the store.

    Attributes:
        calls: as of :class:`Crash`, counted from the start of the new process.

    """

    calls: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Shut down in order; then start again."""


Step = Push | Settle | Checkpoint | Pause | Kill | Crash | CrashInRecovery | Stop
_STEPS: dict[str, type[Step]] = {
    kind.__name__: kind
    for kind in (Push, Settle, Checkpoint, Pause, Kill, Crash, CrashInRecovery, Stop)
}


@dataclass(frozen=True, slots=True)
class Run:
    """A pipeline, and what is done to it."""

    pipeline: Pipeline
    steps: tuple[Step, ...]

    def to_json(self) -> str:
        """The run as JSON, for people too: a line for each step."""
        steps = ",\n".join(
            "    " + json.dumps({"step": type(step).__name__, **asdict(step)})
            for step in self.steps
        )
        pipeline = json.dumps(asdict(self.pipeline), indent=2).replace("\n", "\n  ")
        return f'{{\n  "pipeline": {pipeline},\n  "steps": [\n{steps}\n  ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; ValueError, KeyError or TypeError if it is something else."""
        document = json.loads(text)
        return cls(_pipeline(document["pipeline"]), tuple(map(_step, document["steps"])))


def _pipeline(fields: Mapping[str, Any]) -> Pipeline:
    sources = tuple(
        Source(**{**source, "generator": source["generator"] and Generator(**source["generator"])})
        for source in fields["sources"]
    )
    views = tuple(View(**view) for view in fields["views"])
    return Pipeline(**{**fields, "sources": sources, "views": views})


def _step(fields: Mapping[str, Any]) -> Step:
    rest = dict(fields)
    kind = _STEPS[rest.pop("step")]
    if kind is Push:
        rest["rows"] = tuple(Row(**row) for row in rest["rows"])
    return kind(**rest)


_KEYS = st.sampled_from("abcd")
_VALUES = st.integers(-5, 100)
# A checkpoint makes about 45 ordering calls and retention about 20 after it, a start about 25.
_CHECKPOINT_CALLS = st.integers(0, 70)
_START_CALLS = st.integers(0, 32)

_OTHER_STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Settle),
    st.builds(Checkpoint),
    st.builds(Checkpoint, st.just(False)),
    st.builds(Pause, st.integers(0, 60)),
    st.builds(Crash, _CHECKPOINT_CALLS),
    st.builds(Kill, st.integers(0, 60)),
    st.builds(Kill, st.integers(0, 200), st.just(True)),
    st.builds(CrashInRecovery, _START_CALLS),
    st.builds(Stop),
)


@st.composite
def _pipelines(draw: st.DrawFn) -> Pipeline:
    sources = []
    for number in range(draw(st.integers(1, 3))):
        generator = None
        if draw(st.integers(0, 3)) == 3:
            generator = Generator(draw(st.integers(1, 120)), draw(st.sampled_from((20, 100, 1000))))
        watermark = generator is None and draw(st.booleans())
        sources.append(Source(f"s{number}", watermark, generator))
    views: list[View] = []
    for source in sources:
        # One view of each source has to tell any two cuts apart; see `Model.cut`.
        shapes = [
            "total",
            *draw(st.lists(st.sampled_from(_shapes(source)), max_size=2, unique=True)),
        ]
        views += [View(f"v{len(views) + i}", source.name, shape) for i, shape in enumerate(shapes)]
    any_pushed = any(source.generator is None for source in sources)
    return Pipeline(
        sources=tuple(sources),
        views=tuple(views),
        delivery="best_effort" if any_pushed else draw(st.sampled_from(get_args(Delivery))),
        key_groups=draw(st.sampled_from((4, 1, 16, 256))),
        idle_timeout_ms=draw(st.sampled_from((None, 50))),
        incremental_emit=draw(st.booleans()),
    )


def _shapes(source: Source) -> list[str]:
    """The shapes that a view of a source can have, less the one that is always there."""
    return [
        name
        for name, shape in SHAPES.items()
        if name != "total" and (source.watermark or not shape.windowed)
    ]


@st.composite
def runs(draw: st.DrawFn, *, most_steps: int = 16) -> Run:
    """Runs of up to *most_steps* steps.

    Event time never goes back over all sources together by more than the watermarks' delay, so
    that no row is ever late. Where a source can count as idle, another may overtake it however
    they were pushed; there event time as a whole stays within the delay.
    """
    pipeline = draw(_pipelines())
    pushed = [source.name for source in pipeline.sources if source.generator is None]
    overtaken = pipeline.idle_timeout_ms is not None and len(pipeline.sources) > 1
    clock = 0

    def push() -> Push:
        nonlocal clock
        rows = []
        for _ in range(draw(st.integers(1, 6))):
            clock += draw(st.integers(0, LATEST_OFFSET - clock if overtaken else 400))
            behind = draw(st.integers(0, min(clock, LATEST_OFFSET)))
            rows.append(Row(draw(_KEYS), draw(_VALUES), clock - behind))
        return Push(draw(st.sampled_from(pushed)), tuple(rows))

    steps: list[Step] = []
    for _ in range(draw(st.integers(1, most_steps))):
        if pushed and draw(st.integers(0, 2)) == 0:
            steps.append(push())
        else:
            steps.append(draw(_OTHER_STEPS))
    return Run(pipeline, tuple(steps))
