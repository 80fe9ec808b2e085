"""Build an engine with cargo."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fuzz.engines.builds import (
    BRIDGE,
    RUST_FLAGS,
    Build,
    Target,
    bridge_sources,
    build_in,
    cache_directory,
)
from fuzz.engines.inprocess import InProcessEngine
from fuzz.engines.protocol import EngineUnavailable

Report = Callable[[str, int, int], None]
"""Called with what is under way, how many crates are compiled, and about how many there are."""

_DEPENDENCY = re.compile(r"^laminar-core = .*$", re.MULTILINE)
_COMPILING = re.compile(r"\s*Compiling (\S+) ")
# A package's id is `SOURCE#NAME@VERSION`, or `SOURCE/NAME#VERSION`.
_NAME = re.compile(r"[/#]([^/#@]+)[#@][^/#@]*$")


def build(target: Target, report: Report, *, again: bool = False) -> tuple[Build, bool]:
    """Build a target unless that has been done.

    Args:
        target: what to build.
        report: told about progress.
        again: build even so.

    Returns:
        The build, and whether it was made just now.

    Raises:
        EngineUnavailable: a tool is missing, or the compiler refused.

    """
    cargo, version = tools(_directory(target))
    compiler = version.splitlines()[0]

    def present() -> Build | None:
        found = build_in(target.directory)
        return found if found is not None and found.rustc == compiler else None

    if not again and (found := present()) is not None:
        return found, False
    with alone(cache_directory(), report):
        # Another process may have built it in the meantime.
        if not again and (found := present()) is not None:
            return found, False
        start = time.monotonic()
        crate = _lay_out(target)
        library = _compile(cargo, crate, target, _host(version), report)
        return _install(target, library, compiler, time.monotonic() - start), True


def tools(directory: Path) -> tuple[str, str]:
    """Where cargo is, and what `rustc -vV` says in *directory*, which may choose its toolchain.

    Raises:
        EngineUnavailable: one of them or a linker is missing, or rustc does not run.

    """
    cargo, rustc = shutil.which("cargo"), shutil.which("rustc")
    if cargo is None or rustc is None:
        raise EngineUnavailable(
            "building an engine needs Rust, and there is no cargo here: "
            "install it from https://rustup.rs"
        )
    if shutil.which("cc") is None:
        raise EngineUnavailable(
            "building an engine needs a C compiler to link with, and there is no cc here: "
            "install gcc or clang (on Debian and Ubuntu: apt-get install build-essential)"
        )
    done = subprocess.run(
        [rustc, "-vV"], cwd=directory, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        # Where rustup has no toolchain, and RUST_BACKTRACE is set, a page of text follows.
        why = done.stderr.strip().partition("\n")[0].removeprefix("error: ").rstrip(".")
        raise EngineUnavailable(
            f"building an engine needs a Rust toolchain, and rustc does not run here ({why}): "
            "run: rustup default stable"
        )
    return cargo, done.stdout


def _directory(target: Target) -> Path:
    """Where to run the tools: a checkout may choose its toolchain and its registries."""
    cache_directory().mkdir(parents=True, exist_ok=True)
    return target.checkout or cache_directory()


def _host(version: str) -> str:
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))


@contextmanager
def alone(directory: Path, report: Report | None = None) -> Iterator[None]:
    """Let one build in a directory run at a time: they share the compiled dependencies."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if report is not None:
                report("waiting for another build to end", 0, 1)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lay_out(target: Target) -> Path:
    """Put the bridge's crate for this target into the cache."""
    crate = cache_directory() / "crates" / target.release.partition("+")[0]
    if target.checkout is not None:
        crate = crate.with_name(f"{crate.name}-checkout")
    manifest = (BRIDGE / "Cargo.toml").read_text()
    manifest, replaced = _DEPENDENCY.subn(lambda _: f"laminar-core = {target.dependency}", manifest)
    assert replaced == 1, "the bridge's Cargo.toml has one line for laminar-core"
    sources = [*bridge_sources(), *(BRIDGE / "tests").glob("*.rs")]
    wanted = {source.relative_to(BRIDGE): source.read_text() for source in sources}
    wanted[Path("Cargo.toml")] = manifest
    wanted[Path("Cargo.lock")] = target.lock.read_text()
    for name, text in wanted.items():
        file = crate / name
        # Cargo goes by modification times: leave alone what has not changed.
        if not file.is_file() or file.read_text() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    for stray in crate.glob("*/**/*.rs"):
        if stray.relative_to(crate) not in wanted:
            stray.unlink()
    return crate


def _cargo(crate: Path, target: Target, host: str) -> tuple[list[str], dict[str, str]]:
    """The options and the environment of whatever cargo does with the crate."""
    environment = os.environ | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(RUST_FLAGS),
        "CARGO_TARGET_DIR": str(cache_directory() / "target"),
        # An extension module for any interpreter, not for the one that happens to run this.
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_NO_PYTHON": "1",
    }
    # With a target given, build scripts and macros stay without the flags.
    options = ["--manifest-path", str(crate / "Cargo.toml"), "--target", host]
    if target.features:
        options += ["--features", ",".join(target.features)]
    if target.checkout is None:
        options.append("--locked")
    return options, environment


def _compile(cargo: str, crate: Path, target: Target, host: str, report: Report) -> Path:
    options, environment = _cargo(crate, target, host)
    made = compiled(
        f"laminar-core {target.release}",
        [cargo, "build", "--release"],
        options,
        environment,
        _directory(target),
        cache_directory() / "build.log",
        report,
    )
    return next(
        Path(message["filenames"][0])
        for message in made
        if message["target"]["kind"] == ["cdylib"] and message["target"]["name"] == "bridge"
    )


def test(target: Target, corpus: Path) -> bool:
    """Let the bridge's own Rust test hold an engine against the corpus; it says what it finds.

    Args:
        target: the engine; what is compiled for its build is used again.
        corpus: the directory with the index.

    Returns:
        Whether every case of the engine's format ended where the index says.

    Raises:
        EngineUnavailable: a tool is missing.

    """
    cargo, version = tools(_directory(target))
    with alone(cache_directory()):
        crate = _lay_out(target)
        options, environment = _cargo(crate, target, _host(version))
        done = subprocess.run(
            [cargo, "test", "--release", "--test", "corpus", *options, "--", "--nocapture"],
            env=environment | {"LAMINAR_CORPUS": str(corpus.resolve())},
            cwd=_directory(target),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    return done.returncode == 0


def compiled(
    what: str,
    build: Sequence[str],
    options: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    log: Path,
    report: Report,
) -> list[dict[str, Any]]:
    """Let cargo build, and report which crate it is at.

    Args:
        what: what is built, for people.
        build: cargo, and how it is told to build.
        options: what to build; `cargo tree` takes them, too.
        environment: the variables that cargo sees.
        directory: where it runs.
        log: the file for what it says.
        report: told about progress.

    Returns:
        Cargo's message about each artifact.

    Raises:
        EngineUnavailable: cargo failed; the message has the end of what it said.

    """
    about = _count_crates(build[0], options, environment, directory)
    with (
        log.open("w") as said,
        subprocess.Popen(
            [*build, "--message-format=json-render-diagnostics", *options],
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        made = _follow(process.stdout, about, said, report)
    if process.returncode != 0:
        lines = [line for line in log.read_text().splitlines() if not _COMPILING.match(line)]
        end = "\n".join(lines)[-3000:].strip()
        raise EngineUnavailable(
            f"cargo could not build {what}; all it said is in {log}, the end of it:\n{end}"
        )
    return made


def _count_crates(
    cargo: str, options: Sequence[str], environment: Mapping[str, str], directory: Path
) -> int:
    """About how many crates a build with these options compiles."""
    tree = [cargo, "tree", "--edges=normal,build", "--prefix=none", *options]
    done = subprocess.run(
        tree, env=environment, cwd=directory, capture_output=True, text=True, check=False
    )
    # Only the progress bar depends on it, and the build itself will say what is wrong.
    return len({tuple(line.split()[:2]) for line in done.stdout.splitlines()})


def _follow(lines: Iterable[str], about: int, said: TextIO, report: Report) -> list[dict[str, Any]]:
    """Report what cargo's *lines* say, and collect its messages about artifacts."""
    made = []
    done: set[str] = set()
    compiling: dict[str, None] = {}
    for line in lines:
        if line.startswith("{"):
            message = json.loads(line)
            if message["reason"] != "compiler-artifact":
                continue
            made.append(message)
            done.add(message["package_id"])
            # A build script comes before the crate that it is for.
            if message["target"]["kind"] != ["custom-build"]:
                compiling.pop(_name(message["package_id"]), None)
        else:
            said.write(line)
            if begun := _COMPILING.match(line):
                compiling[begun[1]] = None
        # Of several at a time the one that began first: it takes longest.
        now = next(iter(compiling), None)
        report(f"compiling {now}" if now else "", len(done), max(about, len(done)))
    return made


def _name(package_id: str) -> str:
    found = _NAME.search(package_id)
    return package_id if found is None else found[1]


def _install(target: Target, library: Path, rustc: str, seconds: float) -> Build:
    shutil.rmtree(target.directory, ignore_errors=True)
    target.directory.mkdir(parents=True)
    # A new file, not a link: cargo writes the next release to the same place.
    shutil.copy(library, target.directory / "bridge.abi3.so")
    engine = InProcessEngine(target.directory / "bridge.abi3.so", target.release)
    build = Build(
        release=target.release,
        manifest_version=engine.manifest_version,
        coverage_counters=engine.coverage_counters,
        key=target.key,
        features=target.features,
        rustc=rustc,
        seconds=round(seconds, 1),
        checkout=str(target.checkout) if target.checkout else None,
    )
    build.write()  # From here on it counts as built.
    return build
