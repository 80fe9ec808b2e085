"""What a database must say, by what it has acknowledged.

Rows that are pushed are not replayed after a crash: what is durable of them is what the last
committed checkpoint holds. A checkpoint cuts each source's rows somewhere between what was seen
when it was asked for (*floor*) and what was pushed when it was answered (*ceiling*), at the end of
a batch, and at the same place for all views of that source. Recovery starts at a checkpoint that
is committed; that is at least the newest acknowledged one, and may be a later one whose answer
was lost. Nothing more is claimed.

A generator makes its rows again. Its views lose nothing and count nothing twice: at any time they
show its first rows, at least as many as the committed checkpoint says, and all of them in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzz.runtime.pipelines import Row, Rows, Source, View, watermark_ms
from fuzz.runtime.runs import Pipeline

Counts = dict[str, int]
"""For each source: batches of a pushed one, rows of a generator."""


class Violation(Exception):
    """The database, or its store, is not what it must be.

    Attributes:
        kind: in a word or two, the same for every run that shows it.
        step: the number of steps that were begun.

    """

    def __init__(self, kind: str, message: str, step: int = 0):
        super().__init__(message)
        self.kind = kind
        self.step = step


@dataclass(slots=True)
class Attempt:
    """A checkpoint that was asked for, and how it was answered, if it was."""

    floor: Counts
    ceiling: Counts | None = None
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What a stopped store holds.

    Attributes:
        manifests: how many manifests.
        latest: the latest committed checkpoint's id, if there is one.
        offsets: for each generator, how many of its rows that checkpoint holds.
        watermarks: the sources' watermarks in it, in milliseconds.

    """

    manifests: int
    latest: int | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)
    watermarks: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Commit:
    """A committed checkpoint, none at the start; where it cuts each source lies in these bounds."""

    checkpoint_id: int | None
    floor: Counts
    ceiling: Counts


@dataclass(slots=True)
class Model:
    """A pipeline's rows, through all lives of one run."""

    pipeline: Pipeline
    batches: dict[str, list[tuple[Row, ...]]] = field(init=False)
    shown: Counts = field(init=False)
    """What all views of a source are known to have shown, in this life."""
    last: Commit = field(init=False)
    """The newest checkpoint that is known to be committed."""
    attempts: list[Attempt] = field(init=False, default_factory=list)
    """Checkpoints asked for in this life."""

    def __post_init__(self) -> None:
        nothing = {source.name: 0 for source in self.pipeline.sources}
        self.batches = {source.name: [] for source in self.pipeline.sources}
        self.shown = dict(nothing)
        self.last = Commit(None, dict(nothing), dict(nothing))

    @property
    def pushed(self) -> Counts:
        """The most that a checkpoint taken now can hold."""
        return {
            source.name: source.generator.rows
            if source.generator
            else len(self.batches[source.name])
            for source in self.pipeline.sources
        }

    def rows(self, source: Source, count: int) -> Sequence[Row]:
        """A source's rows up to a count."""
        if source.generator:
            return source.generator.emitted(count)
        return [row for batch in self.batches[source.name][:count] for row in batch]

    def push(self, source: str, rows: tuple[Row, ...]) -> None:
        """A batch may from now on be seen."""
        self.batches[source].append(rows)

    def settled(self) -> None:
        """Every view showed everything."""
        self.shown = self.pushed

    def ask(self) -> Attempt:
        """A checkpoint is asked for."""
        self.attempts.append(Attempt(dict(self.shown)))
        return self.attempts[-1]

    def acknowledge(self, attempt: Attempt, checkpoint_id: int) -> None:
        """A checkpoint was answered: it is committed."""
        attempt.checkpoint_id, attempt.ceiling = checkpoint_id, self.pushed

    def stopped(self, held: Held) -> Commit:
        """The process ended, and left a store.

        Returns:
            What recovery starts at.

        Raises:
            Violation: that cannot be.

        """
        latest = held.latest
        commits: dict[int, Commit] = {}
        for attempt in self.attempts:
            if attempt.checkpoint_id is not None and attempt.ceiling is not None:
                commit = Commit(attempt.checkpoint_id, attempt.floor, attempt.ceiling)
                # Of two that share one checkpoint, the first may have cut before the second asked.
                commits.setdefault(attempt.checkpoint_id, commit).ceiling = attempt.ceiling
        unanswered = [attempt for attempt in self.attempts if attempt.checkpoint_id is None]
        newest = max(commits, default=self.last.checkpoint_id)
        if newest is not None and (latest is None or latest < newest):
            raise Violation(
                "acknowledged checkpoint lost",
                f"checkpoint {newest} was acknowledged, "
                f"and the store's latest committed one is {latest}",
            )
        if latest is None or latest == self.last.checkpoint_id:
            commit = self.last
        elif latest in commits:
            commit = commits[latest]
        elif unanswered:
            commit = Commit(latest, unanswered[0].floor, self.pushed)
        else:
            raise Violation(
                "unasked checkpoint",
                f"the store's latest committed checkpoint is {latest}, "
                f"and nobody asked for one after {newest}",
            )
        for name, offset in held.offsets.items():
            if not commit.floor[name] <= offset <= commit.ceiling[name]:
                raise Violation(
                    "offset outside the cut",
                    f"checkpoint {latest} holds {offset} rows of {name}, and must hold "
                    f"{commit.floor[name]} to {commit.ceiling[name]}",
                )
        return Commit(latest, {**commit.floor, **held.offsets}, commit.ceiling)

    def answer_was_lost(self, commit: Commit) -> bool:
        """Whether *commit*, of this life, is a checkpoint that was committed and not answered."""
        answered = {attempt.checkpoint_id for attempt in self.attempts}
        return commit.checkpoint_id not in {*answered, self.last.checkpoint_id}

    def recovered(self, commit: Commit, found: Counts, held: Held) -> None:
        """Recovery started at *commit*, and found so much of each source in what was *held*.

        Raises:
            Violation: the checkpoint's watermarks are not those of the rows that it held.

        """
        for name, batches in self.batches.items():
            del batches[found[name] :]
        # A pushed source is now known exactly; a generator goes on from the same offset again.
        generators = {source.name for source in self.pipeline.sources if source.generator}
        exact = {name: count for name, count in found.items() if name not in generators}
        self.last = Commit(commit.checkpoint_id, commit.floor | exact, commit.ceiling | exact)
        self.shown = dict(found)
        self.attempts = []
        self._check_watermarks(held.watermarks)

    def _check_watermarks(self, committed: Mapping[str, int]) -> None:
        """A source's watermark is that of its own rows, or above.

        When a source gets rows, its watermark is raised to that of the whole pipeline, which is
        at most the highest of all sources.
        """
        own = {}
        for source in self.pipeline.sources:
            watermark = watermark_ms(self.rows(source, self.last.floor[source.name]))
            if source.watermark and watermark is not None:
                own[source.name] = watermark
        highest = max(own.values(), default=0)
        if committed.keys() != own.keys() or not all(
            own[name] <= watermark <= highest for name, watermark in committed.items()
        ):
            raise Violation(
                "watermarks",
                f"checkpoint {self.last.checkpoint_id} has the watermarks {dict(committed)}; "
                f"of the rows that it holds they are {own}",
            )

    def cut(self, source: Source, commit: Commit, readings: Mapping[View, Rows]) -> int | None:
        """Where a commit must have cut a source for its views to show what was read, if it can.

        *readings* holds all views of the source. A generator goes on while they are read, so
        that each of its views may be further than the others; the least of them counts.
        """
        cuts = range(commit.floor[source.name], commit.ceiling[source.name] + 1)
        if source.generator:
            cuts = range(commit.floor[source.name], source.generator.rows + 1)
            places = [
                next((n for n in cuts if view.shows(self.rows(source, n)) == read), None)
                for view, read in readings.items()
            ]
            known = [place for place in places if place is not None]
            return min(known) if len(known) == len(places) else None
        for count in cuts:
            rows = self.rows(source, count)
            if all(view.shows(rows) == read for view, read in readings.items()):
                return count
        return None
