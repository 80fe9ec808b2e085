"""The real LaminarDB, killed and started again: a few runs, and each check seen to fail."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.engines import EngineUnavailable, InProcessEngine, load
from fuzz.runtime import execution
from fuzz.runtime.build import RELEASE, find
from fuzz.runtime.execution import Execution, Tally
from fuzz.runtime.model import Commit, Held, Model, Violation
from fuzz.runtime.pipelines import START_MS, Generator, Row, Rows, Source, View, pushed
from fuzz.runtime.runs import (
    Checkpoint,
    Crash,
    CrashInRecovery,
    Kill,
    Pipeline,
    Push,
    Run,
    Settle,
    Step,
    Stop,
)
from fuzz.runtime.shrink import shrink
from fuzz.runtime.stores import Examiner

PUSHED = Pipeline(
    sources=(Source("s0", watermark=True),),
    views=(View("v0", "s0", "total"), View("v1", "s0", "grouped"), View("v2", "s0", "windows")),
)
GENERATED = Pipeline(
    sources=(Source("s0", generator=Generator(rows=60, rows_per_second=100)),),
    views=(View("v0", "s0", "total"), View("v1", "s0", "grouped")),
    delivery="exactly_once",
)


def _push(*offsets: int) -> Push:
    return Push("s0", tuple(Row("ab"[offset % 2], offset, offset) for offset in offsets))


Carry = Callable[[Run], Tally]


@pytest.fixture
def carry_out(tmp_path: Path, engine_of: Callable[[str], InProcessEngine]) -> Carry:
    """Carries out a run on the built program."""
    try:
        program = find()
    except EngineUnavailable as error:
        if os.environ.get("LAMINAR_ORACLE_NO_ENGINE") == "1":
            pytest.skip(str(error))
        pytest.fail(str(error), pytrace=False)
    examiner = Examiner(engine_of(RELEASE))

    def carry(run: Run) -> Tally:
        tally = Tally()
        Execution(run, tmp_path, program, examiner, tally).carry_out()
        return tally

    return carry


@pytest.mark.runtime
def test_pushed_rows_survive_as_far_as_they_were_acknowledged(carry_out: Carry) -> None:
    """Kills after, in and between checkpoints, and in recovery, of pushed rows."""
    steps: tuple[Step, ...] = (
        _push(0, 300),
        Settle(),
        Checkpoint(),
        _push(700, 900),
        Kill(0),
        _push(1000, 1700),
        Crash(20),
        CrashInRecovery(3),
        _push(2500),
        Settle(),
        Kill(10, checkpoint=True),
        Stop(),
    )
    tally = carry_out(Run(PUSHED, steps))
    assert tally["recoveries compared"] == 5
    assert tally["kills"] == 5
    assert tally["stores audited"] == 7
    assert tally["checkpoints acknowledged"] >= 1
    assert tally["manifests judged"] >= 1


@pytest.mark.runtime
def test_generated_rows_are_neither_lost_nor_counted_twice(carry_out: Carry) -> None:
    """Kills of a source that makes its rows again, under the strongest delivery guarantee."""
    steps = (Checkpoint(), Crash(30), Kill(30, checkpoint=True), Settle(), Checkpoint(), Kill(0))
    assert carry_out(Run(GENERATED, steps))["recoveries compared"] == 3


def test_run_survives_json() -> None:
    """What is kept of a run is the run."""
    run = Run(GENERATED, (Checkpoint(wait=False), _push(1), Crash(3), Kill(5, True), Stop()))
    assert Run.from_json(run.to_json()) == run


# The model, by hand.


def _model(*batches: Push) -> Model:
    model = Model(PUSHED)
    for batch in batches:
        model.push(batch.source, batch.rows)
    return model


def _held(latest: int | None, *, watermark: int | None = None, **offsets: int) -> Held:
    watermarks = {} if watermark is None else {"s0": watermark}
    return Held(1, latest, offsets, watermarks)


def _readings(model: Model, count: int) -> dict[View, Rows]:
    rows = model.rows(PUSHED.sources[0], count)
    return {view: view.shows(rows) for view in PUSHED.views}


def test_acknowledged_checkpoint_must_be_in_the_store() -> None:
    """An acknowledged checkpoint that the store does not name as committed is lost."""
    model = _model(_push(0))
    model.acknowledge(model.ask(), 1)
    with pytest.raises(Violation, match="checkpoint 1 was acknowledged"):
        model.stopped(_held(None))


def test_checkpoint_nobody_asked_for() -> None:
    """A committed checkpoint that no request explains is a violation."""
    with pytest.raises(Violation, match="nobody asked"):
        _model(_push(0)).stopped(_held(1))


def test_cut_lies_between_what_was_seen_and_what_was_pushed() -> None:
    """A checkpoint holds what was seen when it was asked for, nothing pushed after its answer."""
    model = _model(_push(0))
    model.settled()
    attempt = model.ask()
    model.push("s0", _push(300).rows)
    model.acknowledge(attempt, 1)
    model.push("s0", _push(700).rows)
    commit = model.stopped(_held(1))
    source = PUSHED.sources[0]
    cuts = [model.cut(source, commit, _readings(model, count)) for count in range(4)]
    assert cuts == [None, 1, 2, None]


def test_commit_whose_answer_was_lost() -> None:
    """A checkpoint that was not answered may be committed, with anything pushed by then."""
    model = _model(_push(0))
    model.ask()
    model.push("s0", _push(300).rows)
    commit = model.stopped(_held(7))
    assert (commit.floor, commit.ceiling) == ({"s0": 0}, {"s0": 2})
    model.recovered(commit, {"s0": 1}, _held(7, watermark=START_MS - 1000))
    assert model.stopped(_held(7)) == Commit(7, {"s0": 1}, {"s0": 1})


def test_views_of_one_source_are_cut_at_one_place() -> None:
    """Two views that each show a possible state, of two cuts, are a violation."""
    model = _model(_push(0), _push(300))
    model.ask()
    commit = model.stopped(_held(1))
    torn = _readings(model, 1) | {PUSHED.views[1]: _readings(model, 2)[PUSHED.views[1]]}
    assert model.cut(PUSHED.sources[0], commit, torn) is None


def test_generator_goes_on_from_the_offset_of_its_checkpoint() -> None:
    """Views of a generator show at least the committed rows, and may be further."""
    model = Model(GENERATED)
    model.ask()
    commit = model.stopped(_held(1, s0=20))
    source = GENERATED.sources[0]
    short, far = (
        {view: view.shows(model.rows(source, count)) for view in GENERATED.views}
        for count in (19, 30)
    )
    assert model.cut(source, commit, short) is None
    assert model.cut(source, commit, far) == 30
    model.recovered(commit, {"s0": 30}, _held(1))
    assert model.stopped(_held(1, s0=20)).floor == {"s0": 20}
    with pytest.raises(Violation, match="must hold 20"):
        model.stopped(_held(1, s0=19))


def test_watermark_is_that_of_the_rows_that_are_held() -> None:
    """A checkpoint whose watermark is ahead of its rows, or behind, is a violation."""
    for watermark in (START_MS - 1000 + 3000, START_MS - 1001, None):
        model = _model(_push(0), _push(300))
        model.ask()
        held = _held(1, watermark=watermark)
        with pytest.raises(Violation, match="of the rows that it holds"):
            model.recovered(model.stopped(held), {"s0": 1}, held)


@pytest.mark.runtime
def test_damaged_store_does_not_pass(carry_out: Carry, tmp_path: Path) -> None:
    """The audit after each stop is an audit: a flipped bit of node data is found."""
    carry_out(Run(PUSHED, (_push(0, 300), Settle(), Checkpoint())))
    (data,) = tmp_path.glob("store/nodes/1/checkpoints/*/node-data.bin")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    with pytest.raises(Violation, match="node-data"):
        Examiner(load(RELEASE)).examine(tmp_path / "store", PUSHED.key_groups)


@pytest.mark.runtime
def test_rows_that_differ_are_seen(carry_out: Carry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that shows anything but what was pushed fails the run."""
    monkeypatch.setattr(execution, "SETTLE_SECONDS", 1.0)
    monkeypatch.setattr(execution, "pushed", lambda row: pushed(replace(row, value=0)))
    with pytest.raises(Violation, match="must show") as caught:
        carry_out(Run(PUSHED, (_push(0, 300), Settle())))
    assert (caught.value.kind, caught.value.step) == ("not shown", 2)


def test_shrinking_leaves_what_is_needed() -> None:
    """Of a long run, the steps, views, sources and rows stay that the failure needs."""
    pipeline = replace(PUSHED, sources=(*PUSHED.sources, Source("s1")))
    pipeline = replace(pipeline, views=(*pipeline.views, View("v3", "s1", "total")))
    steps = (_push(1, 2), Checkpoint(), _push(3, 7, 9), Settle(), Crash(3), Stop(), _push(7))

    def fails(run: Run) -> bool:
        rows = [row.offset for step in run.steps if isinstance(step, Push) for row in step.rows]
        return 7 in rows and Crash(3) in run.steps

    least = shrink(Run(pipeline, steps), fails)
    assert least.steps in ((_push(7), Crash(3)), (Crash(3), _push(7)))
    assert [view.name for view in least.pipeline.views] == ["v0"]
    assert [source.name for source in least.pipeline.sources] == ["s0"]
