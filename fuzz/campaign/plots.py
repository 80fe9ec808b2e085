"""Lines over time as SVG, to stand inside a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 14, 14, 36
_STEPS = 4
_UNITS = ((3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its value at each time."""

    name: str
    values: Sequence[float]


def plot(title: str, seconds: Sequence[float], lines: Sequence[Line]) -> Markup:
    """A plot of *lines* over *seconds*; the page's style colours the first, second, … line."""
    end = max(seconds, default=0.0) or 1.0
    most = _round_up(max((value for line in lines for value in line.values), default=0.0) or 1.0)

    def x(second: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * second / end, 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / most, 1)

    parts = []
    for step in range(_STEPS + 1):
        value = most * step / _STEPS
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" '
            f'y1="{y(value)}" y2="{y(value)}"/>'
            f'<text class="axis" x="{_LEFT - 6}" y="{y(value) + 4}" '
            f'text-anchor="end">{value:,.0f}</text>'
        )
    unit, name = next((unit for unit in _UNITS if end >= 2 * unit[0]), _UNITS[-1])
    every = _round_up(end / unit / _STEPS) * unit
    for step in range(int(end / every) + 1):
        second = every * step
        anchor = "end" if x(second) > _WIDTH - 2 * _RIGHT else "middle"
        parts.append(
            f'<text class="axis" x="{x(second)}" y="{_HEIGHT - 10}" '
            f'text-anchor="{anchor}">{second / unit:g} {name}</text>'
        )
    for number, line in enumerate(lines):
        points = " ".join(
            f"{x(second)},{y(value)}" for second, value in zip(seconds, line.values, strict=True)
        )
        parts.append(f'<polyline class="line line-{number}" points="{points}"/>')
    names = ", ".join(line.name for line in lines)
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}: {names} over time">'
        f"{''.join(parts)}</svg>"
    )


def _round_up(value: float) -> float:
    """The next number that is one digit and zeros, so that an axis reads well."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * factor for factor in (1, 2, 3, 4, 6, 8, 10) if unit * factor >= value)
