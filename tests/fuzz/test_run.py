"""The main job says what it did, and why it could not do the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fuzz.run_cli import Step, _summarise, run


def test_without_rust_it_repeats_why_nothing_was_fuzzed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an engine, and nothing to build one with, the last line has the reason."""
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("fuzz.run_cli.stores", list)
    result = CliRunner().invoke(run, ["--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert result.stdout.splitlines()[-1].startswith(
        "nothing was fuzzed, so there is no report: building an engine needs Rust"
    )
    assert "clean" in result.stdout  # the corpus, by the oracle


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("there is a campaign in out\nmore", "there is a campaign in out"),
        ("", "its command failed"),
    ],
)
def test_a_campaign_that_could_not_run_is_told_of(
    reason: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an engine, it was the campaign that could not run, and one line of why is repeated."""
    steps = [Step("engine build", 0, 1.0), Step("campaign", 2, 1.0, reason)]
    _summarise(steps, tmp_path / "report.html")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"nothing was fuzzed, so there is no report: {told}")
