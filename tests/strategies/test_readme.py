"""The ten lines of the README are a test that passes, and that can fail."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import oracle
import strategies
from oracle import Stage

README = Path(strategies.__file__).parent / "README.md"

Load = Callable[[bytes, int], None]


def load(document: bytes, key_groups: int) -> None:
    """A loader that does what it should."""
    if oracle.judge(document, key_groups).stage is not Stage.VALID:
        raise ValueError("not a valid manifest")


def load_anything(document: bytes, key_groups: int) -> None:
    """A loader that looks at nothing."""


def load_canonical(document: bytes, key_groups: int) -> None:
    """A loader that takes no spelling but the canonical one."""
    load(document, key_groups)
    if oracle.encode(oracle.decode(document)) != document:
        raise ValueError("not canonical")


def readme_tests(monkeypatch: pytest.MonkeyPatch, loader: Load) -> dict[str, Callable[[], None]]:
    """The tests of the first code block, for *loader*."""
    store = ModuleType("my_store")
    store.load = loader  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_store", store)
    block = re.search("```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    names: dict[str, Callable[[], None]] = {}
    exec(block[1], names)
    return {name: test for name, test in names.items() if name.startswith("test_")}


def test_a_good_loader_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tests run as they stand there."""
    for test in readme_tests(monkeypatch, load).values():
        test()


def test_a_bad_loader_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two tests finds its fault."""
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        readme_tests(monkeypatch, load_anything)["test_refuses_every_corruption"]()
    with pytest.raises(ValueError, match="not canonical"):
        readme_tests(monkeypatch, load_canonical)["test_loads_every_spelling"]()
