"""Sources and views: their SQL, and what a view shows of given rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

START_MS = 1_700_000_000_005
"""Event time of a row at offset 0, in milliseconds."""

LATEST_OFFSET = 90
"""How far a row's offset may be behind the largest before it, without being late."""

_DELAY_MS = 1_000
_WINDOW_MS = 5_000


@dataclass(frozen=True, slots=True)
class Row:
    """A pushed row.

    Attributes:
        key: what rows are grouped by.
        value: what is added up.
        offset: event time, in hundredths of a second after `START_MS`. Watermark and window
            boundaries are multiples of this unit that no event time hits, so that it never
            matters on which side of a boundary a row falls.

    """

    key: str
    value: int
    offset: int

    @property
    def timestamp_ms(self) -> int:
        """Event time, in milliseconds."""
        return START_MS + 10 * self.offset


@dataclass(frozen=True, slots=True)
class Generator:
    """A source that makes its own rows, and can make them again: row *i* has sequence number *i*.

    Attributes:
        rows: how many it makes in all.
        rows_per_second: how fast.

    """

    rows: int
    rows_per_second: int

    def emitted(self, count: int) -> list[Row]:
        """The first *count* rows, as rows of other sources are."""
        return [Row(f"v{sequence}", sequence, 0) for sequence in range(count)]


@dataclass(frozen=True, slots=True)
class Source:
    """A source: pushed, unless it has a generator.

    Attributes:
        name: its name in SQL.
        watermark: whether it has a watermark, one second behind the latest row.
        generator: makes the rows, or none if they are pushed.

    """

    name: str
    watermark: bool = False
    generator: Generator | None = None

    @property
    def sql(self) -> str:
        """The statement that creates it."""
        if self.generator:
            return (
                f"CREATE SOURCE {self.name} "
                "(seq BIGINT NOT NULL, ts_ms BIGINT NOT NULL, value VARCHAR NOT NULL) "
                f"FROM GENERATOR ('rows.per.second' = '{self.generator.rows_per_second}', "
                f"'max.rows' = '{self.generator.rows}')"
            )
        watermark = ", WATERMARK FOR ts AS ts - INTERVAL '1' SECOND" if self.watermark else ""
        return f"CREATE SOURCE {self.name} (k VARCHAR, v BIGINT, ts TIMESTAMP{watermark})"

    @property
    def columns(self) -> tuple[str, str]:
        """What its key and its value are called."""
        return ("value", "seq") if self.generator else ("k", "v")


def pushed(row: Row) -> dict[str, Any]:
    """A row as the program takes it; timestamps in SQL are in microseconds."""
    return {"k": row.key, "v": row.value, "ts": row.timestamp_ms * 1000}


Rows = Counter[tuple[Any, ...]]
"""What a view shows: rows in no order, each as often as it occurs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of view.

    Attributes:
        sql: statements that create it; `{name}`, `{source}`, `{key}` and `{value}` are filled in.
        columns: the columns that it shows.
        shows: what it shows of rows, in the order of `columns`.
        windowed: whether it shows closed windows, for which its source needs a watermark.

    """

    sql: tuple[str, ...]
    columns: tuple[str, ...]
    shows: Callable[[Sequence[Row]], Iterable[tuple[Any, ...]]]
    windowed: bool = False


def watermark_ms(rows: Iterable[Row]) -> int | None:
    """The watermark of a source with a watermark that has had *rows*."""
    latest = max((row.timestamp_ms for row in rows), default=None)
    return None if latest is None else latest - _DELAY_MS


def _grouped(rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(row.key, []).append(row.value)
    return [(key, len(v), sum(v), min(v), max(v)) for key, v in groups.items()]


def _total(rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    return [(len(rows), sum(row.value for row in rows))] if rows else []


def _filtered(rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    return [(row.key, row.value) for row in rows if row.value > 0]


def _chained(rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    doubled = [Row(row.key, 2 * row.value, row.offset) for row in rows if row.value > 0]
    return [(key, count, total) for key, count, total, _, _ in _grouped(doubled)]


def _windows(rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    watermark = watermark_ms(rows)
    if watermark is None:
        return []
    windows: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        start = row.timestamp_ms - row.timestamp_ms % _WINDOW_MS
        if start + _WINDOW_MS <= watermark:
            windows.setdefault((start, row.key), []).append(row.value)
    return [(key, len(v), sum(v)) for (_, key), v in windows.items()]


SHAPES: Mapping[str, Shape] = {
    "total": Shape(
        (
            "CREATE MATERIALIZED VIEW {name} AS "
            "SELECT COUNT(*) AS n, SUM({value}) AS s FROM {source}",
        ),
        ("n", "s"),
        _total,
    ),
    "grouped": Shape(
        (
            "CREATE MATERIALIZED VIEW {name} AS SELECT {key} AS k, COUNT(*) AS n, "
            "SUM({value}) AS s, MIN({value}) AS lo, MAX({value}) AS hi "
            "FROM {source} GROUP BY {key}",
        ),
        ("k", "n", "s", "lo", "hi"),
        _grouped,
    ),
    "filtered": Shape(
        (
            "CREATE MATERIALIZED VIEW {name} AS SELECT {key} AS k, {value} AS v "
            "FROM {source} WHERE {value} > 0",
        ),
        ("k", "v"),
        _filtered,
    ),
    "chained": Shape(
        (
            "CREATE STREAM {name}_doubled AS SELECT {key} AS k, {value} * 2 AS w "
            "FROM {source} WHERE {value} > 0",
            "CREATE MATERIALIZED VIEW {name} AS SELECT k, COUNT(*) AS n, SUM(w) AS s "
            "FROM {name}_doubled GROUP BY k",
        ),
        ("k", "n", "s"),
        _chained,
    ),
    "windows": Shape(
        (
            "CREATE MATERIALIZED VIEW {name} AS SELECT TUMBLE(ts, INTERVAL '5' SECOND) AS w, "
            "{key} AS k, COUNT(*) AS n, SUM({value}) AS s FROM {source} "
            "GROUP BY TUMBLE(ts, INTERVAL '5' SECOND), {key} EMIT ON WINDOW CLOSE",
        ),
        ("k", "n", "s"),
        _windows,
        windowed=True,
    ),
}


@dataclass(frozen=True, slots=True)
class View:
    """A materialized view over one source.

    Attributes:
        name: its name in SQL.
        source: the source's name.
        shape: one of `SHAPES`.

    """

    name: str
    source: str
    shape: str

    def sql(self, source: Source) -> list[str]:
        """The statements that create it."""
        key, value = source.columns
        names = {"name": self.name, "source": self.source, "key": key, "value": value}
        return [statement.format(**names) for statement in SHAPES[self.shape].sql]

    def shows(self, rows: Sequence[Row]) -> Rows:
        """What it shows when its source has had *rows* and nothing is under way."""
        return Counter(SHAPES[self.shape].shows(rows))

    def read(self, answer: Iterable[Mapping[str, Any]]) -> Rows:
        """What it shows, from the answer to selecting everything from it."""
        columns = SHAPES[self.shape].columns
        return Counter(tuple(row[column] for column in columns) for row in answer)
