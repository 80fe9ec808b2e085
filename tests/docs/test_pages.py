"""What pages show is what commands print, and what they link to is there."""

import difflib
import doctest
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, UnexpectedExit, refreshed

_LINK = re.compile(r"\]\((?!https?://)([^)#]+)(?:#[^)]*)?\)")
_EVERY_PAGE = [path for path in ROOT.glob("**/*.md") if ".tox" not in path.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_what_is_printed(page: Path) -> None:
    """Every command that a page shows with its output prints just that."""
    text = page.read_text("utf-8")
    changed = difflib.unified_diff(
        text.splitlines(), refreshed(text).splitlines(), "page", "now", lineterm="", n=1
    )
    told = "\n".join(changed)
    assert not told, f"{page.name} is out of date; run python -m tests.docs\n{told}"


def test_a_page_out_of_date_is_found() -> None:
    """Output and tables that are not what they should be are replaced."""
    page = "```console\n$ echo new\nold\n```\n<!-- table: formats -->\nold\n<!-- end -->\n"
    now = refreshed(page)
    assert "```console\n$ echo new\nnew\n```\n" in now
    assert "| `v10` | 10 |" in now
    assert "old" not in now


def test_a_page_takes_no_output_of_a_command_that_failed() -> None:
    """Other output is only new where the command ended as the page says."""
    with pytest.raises(UnexpectedExit, match=r"\$ echo no; exit 2\nended with 2, not with 0:\nno"):
        refreshed("```console\n$ echo no; exit 2\nold\n```\n")
    with pytest.raises(UnexpectedExit, match="ended with 0, not with 1"):
        refreshed("```console exit=1\n$ echo well\nold\n```\n")
    page = "```console exit=1\n$ echo found; exit 1\n{}```\n"
    assert refreshed(page.format("old\n")) == page.format("found\n")


def test_python_in_pages_gives_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line behind ``>>>``, in the root of the project."""
    monkeypatch.chdir(ROOT)
    results = [doctest.testfile(str(page), module_relative=False) for page in PAGES]
    assert sum(result.attempted for result in results) > 0
    assert [result.failed for result in results] == [0] * len(PAGES)


@pytest.mark.parametrize("page", _EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that is there."""
    missing = [
        link for link in _LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()
    ]
    assert missing == []
