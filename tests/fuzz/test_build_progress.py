"""What is said while cargo builds, and when it cannot. Cargo is a script here."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from fuzz.cli import main
from fuzz.engine_cli import progress
from fuzz.engines.build import compiled
from fuzz.engines.protocol import EngineUnavailable

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def artifact(package_id: str, kind: str = "lib") -> str:
    """Cargo's message that it has made something of a package."""
    target = {"kind": [kind], "name": "whatever"}
    message = {"reason": "compiler-artifact", "package_id": package_id, "target": target}
    return f"echo '{json.dumps(message)}'\n"


def starts(name: str) -> str:
    """What cargo says when it begins with a crate."""
    return f"echo '   Compiling {name} v1.0.0' >&2\n"


TREE = "if [ $1 = tree ]; then printf 'one v1\\ntwo v1\\ntwo v1\\nthree v1\\n'; exit; fi\n"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a shell script under a name, and put it first on the path."""

    def write(name: str, script: str) -> Path:
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}")
        file.chmod(0o755)
        return file

    return write


def test_the_crate_that_is_being_compiled_is_named(
    program: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """Of two at a time the one that began first, until it is done; a build script is not it."""
    script = TREE + starts("laminar-core") + starts("quick") + artifact(f"{REGISTRY}#quick@1.0.0")
    script += artifact(f"{REGISTRY}#laminar-core@0.33.0", "custom-build")
    script += artifact(f"{REGISTRY}#laminar-core@0.33.0") + starts("bridge")
    script += artifact("path+file:///somewhere/bridge#0.1.0", "cdylib")
    cargo = str(program("cargo", script))
    log = tmp_path / "log"
    told: list[tuple[str, int, int]] = []
    made = compiled(
        "it", [cargo, "build"], [], os.environ, tmp_path, log, lambda *state: told.append(state)
    )
    assert told == [
        ("compiling laminar-core", 0, 3),
        ("compiling laminar-core", 0, 3),
        ("compiling laminar-core", 1, 3),
        ("compiling laminar-core", 2, 3),
        ("", 2, 3),
        ("compiling bridge", 2, 3),
        ("", 3, 3),
    ]
    assert len(made) == 4
    assert log.read_text().count("Compiling") == 3


def test_a_build_that_fails_says_why(program: Callable[[str, str], Path], tmp_path: Path) -> None:
    """With the end of what cargo said, and the file that has all of it."""
    script = TREE + starts("laminar-core") + "echo 'error: no such thing' >&2; exit 101\n"
    cargo = str(program("cargo", script))
    log = tmp_path / "log"
    with pytest.raises(EngineUnavailable) as failed:
        compiled("it", [cargo, "build"], [], os.environ, tmp_path, log, lambda *state: None)
    assert str(failed.value) == (
        f"cargo could not build it; all it said is in {log}, the end of it:\nerror: no such thing"
    )


def test_without_a_terminal_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names what is under way."""
    monkeypatch.setattr("fuzz.engine_cli._LINE_EVERY", 0.01)
    with progress("laminar-core 0.33.0") as report:
        report("compiling laminar-core", 300, 301)
        time.sleep(0.5)
    said = capsys.readouterr().err
    assert "laminar-core 0.33.0: 300 of 301 crates, compiling laminar-core, 0 s\n" in said


def test_a_rustc_that_does_not_run_is_one_sentence(
    program: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rustup's, where no toolchain is the default; its stack is nobody's business."""
    program("cargo", "exit 1\n")
    program(
        "rustc", "printf 'error: no default is configured.\\nStack:\\n 0: main\\n' >&2; exit 1\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("LAMINAR_ORACLE_CACHE", str(tmp_path / "cache"))
    result = CliRunner().invoke(main, ["engine", "build"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: building an engine needs a Rust toolchain, and rustc does not run here "
        "(no default is configured): run: rustup default stable\n"
    )
