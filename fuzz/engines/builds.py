"""What can be built, what is built, and where it lies.

An engine is built for a *target*: a release of laminar-core, or a checkout of it. The build is kept
under a key that covers everything it is made from, so a changed bridge, lock file or checkout is a
build that is not there yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from fuzz.engines.protocol import EngineUnavailable

BRIDGE = Path(__file__).parent / "bridge"

DEFAULT_RELEASE = "0.33.0"

# Each release and what the bridge may use of it, as Cargo features.
_SINCE_0_31 = ("artifact-intents", "subscription")
RELEASES: dict[str, tuple[str, ...]] = {
    "0.30.0": (),
    "0.31.0": _SINCE_0_31,
    "0.32.0": _SINCE_0_31,
    "0.33.0": (*_SINCE_0_31, "stand-in"),
}

STAND_IN = "stand-in"
"""Names the second opinion on view logs, which is part of the default release's build.

It is no engine: its word is no evidence about production, and no report counts it as such.
"""

# How to tell from a checkout's source what the bridge may use of it: all of these must stand there.
_TELLTALES = {
    "artifact-intents": ("pub fn checkpoint_artifact_intent_sha256",),
    "subscription": ("pub struct NodeSubscriptionManifest",),
    "view-logs": (
        "pub const MAX_VIEW_LOG_SEGMENTS",
        "pub const MAX_CLUSTER_VIEW_LOG_SEGMENTS",
        "fn view_log_segment_limit",
    ),
}

# Sanitizer coverage as libFuzzer reads it. cargo-fuzz asks for the same through a nightly option,
# and has comparisons traced as well: those take a twentieth of a campaign's time, and the mutator
# knows the numbers that a manifest is compared with.
RUST_FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
)

_NOT_SOURCE = {".git", "target", "tests", "benches", "examples"}


def cache_directory() -> Path:
    """Where builds are kept; the environment variable LAMINAR_ORACLE_CACHE overrides it."""
    chosen = os.environ.get("LAMINAR_ORACLE_CACHE")
    return Path(chosen or platformdirs.user_cache_dir("laminardb-manifest-oracle")).resolve()


@dataclass(frozen=True, slots=True)
class Target:
    """Something that an engine can be built from.

    Attributes:
        release: the engine's name in reports; a checkout's has a content hash behind a plus sign.
        features: what the bridge may use of it.
        dependency: the right side of the bridge's `laminar-core` line.
        lock: the lock file that the build starts from.
        key: names the build; it covers bridge, lock, flags and, for a checkout, its source.
        checkout: the directory as it was given, or none for a release.

    """

    release: str
    features: tuple[str, ...]
    dependency: str
    lock: Path
    key: str
    checkout: Path | None = None

    @property
    def directory(self) -> Path:
        """Where the build of this target is or will be."""
        return cache_directory() / "engines" / f"{self.release}-{self.key}"

    @property
    def build_command(self) -> str:
        """The command that builds it."""
        what = f"--path {self.checkout}" if self.checkout else self.release
        return f"python -m fuzz engine build {what}"


@dataclass(frozen=True, slots=True)
class Build:
    """An engine that is built.

    Attributes:
        release: the engine's name in reports.
        manifest_version: the format it speaks.
        coverage_counters: number of places that a fuzzer sees in it.
        key: names what it was built from.
        features: what the bridge uses of it.
        rustc: the compiler's version.
        seconds: how long the build took.
        checkout: the directory that it was built from, or none for a release.

    """

    release: str
    manifest_version: int
    coverage_counters: int
    key: str
    features: tuple[str, ...]
    rustc: str
    seconds: float
    checkout: str | None

    @property
    def directory(self) -> Path:
        """Where it lies."""
        return cache_directory() / "engines" / f"{self.release}-{self.key}"

    @property
    def library(self) -> Path:
        """The loadable file."""
        return self.directory / "bridge.abi3.so"

    @property
    def size(self) -> int:
        """The loadable file's size in bytes."""
        return self.library.stat().st_size

    def is_current(self) -> bool:
        """Whether building the same target again would give the same."""
        try:
            now = checkout_target(Path(self.checkout)) if self.checkout else target(self.release)
        except EngineUnavailable:
            return False
        return now.key == self.key

    def write(self) -> None:
        """Leave this record beside the loadable file."""
        (self.directory / "build.json").write_text(json.dumps(asdict(self), indent=2) + "\n")


def target(engine: str | Path) -> Target:
    """The target that `engine` names: a release, or a directory with a checkout.

    Raises:
        EngineUnavailable: it is neither.

    """
    if isinstance(engine, str) and engine in RELEASES:
        return _release_target(engine)
    if Path(engine).is_dir():
        return checkout_target(Path(engine))
    raise EngineUnavailable(
        f"{engine} is neither a release that can be built ({', '.join(RELEASES)}) nor a directory"
    )


def _release_target(release: str) -> Target:
    features = RELEASES[release]
    lock = BRIDGE / "locks" / f"{release}.lock"
    dependency = json.dumps(f"={release}")
    return Target(release, features, dependency, lock, _key(lock, features, dependency))


def checkout_target(checkout: Path) -> Target:
    """The target for a directory that is, or has somewhere below it, the crate laminar-core.

    Its dependencies start from the newest release's lock file and not from its own, so that a
    verdict that changes was changed by the engine's own source.

    Raises:
        EngineUnavailable: there is no such crate.

    """
    crate = _find_crate(checkout)
    sources = sorted(set(_sources(crate)))
    digest = hashlib.sha256()
    for source in sources:
        content = source.read_bytes()
        relative = os.path.relpath(source, crate)
        digest.update(f"{relative}\0{len(content)}\0".encode())
        digest.update(content)
    text = "".join(s.read_text("utf-8", "replace") for s in sources if s.suffix == ".rs")
    features = tuple(f for f, marks in _TELLTALES.items() if all(mark in text for mark in marks))
    lock = BRIDGE / "locks" / f"{DEFAULT_RELEASE}.lock"
    # The directory is no part of the key: the same source is the same engine wherever it lies.
    key = _key(lock, features, digest.hexdigest())
    dependency = f"{{ path = {json.dumps(str(crate))} }}"
    release = f"{_version(crate)}+{digest.hexdigest()[:8]}"
    return Target(release, features, dependency, lock, key, checkout.resolve())


def _key(lock: Path, features: Sequence[str], engine: str) -> str:
    digest = hashlib.sha256()
    system = f"{sys.platform}-{platform.machine()}"
    for part in (_bridge_digest(), lock.read_text(), *RUST_FLAGS, *features, engine, system):
        digest.update(f"{len(part)}\0{part}".encode())
    return digest.hexdigest()[:16]


@cache
def _bridge_digest() -> str:
    digest = hashlib.sha256()
    for source in bridge_sources():
        digest.update(f"{source.relative_to(BRIDGE)}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def bridge_sources() -> list[Path]:
    """The files that the bridge is made of, without lock files."""
    return [BRIDGE / "Cargo.toml", *sorted((BRIDGE / "src").glob("**/*.rs"))]


def _find_crate(checkout: Path) -> Path:
    for directory, below, files in os.walk(checkout.resolve()):
        below[:] = sorted(name for name in below if name not in _NOT_SOURCE)
        crate = Path(directory)
        if "Cargo.toml" in files and _toml(crate).get("package", {}).get("name") == "laminar-core":
            return crate
    raise EngineUnavailable(f"there is no crate laminar-core in {checkout} or below it")


def _sources(crate: Path) -> Iterator[Path]:
    """Every file that a build of the crate may read, with those of the crates it names by path."""
    for directory, below, files in os.walk(crate):
        below[:] = [name for name in below if name not in _NOT_SOURCE]
        yield from (Path(directory, name) for name in files)
    root = _workspace(crate)
    shared = {}
    if root is not None:
        yield root / "Cargo.toml"
        shared = _toml(root)["workspace"].get("dependencies", {})
    manifest = _toml(crate)
    for kind in ("dependencies", "build-dependencies"):
        for name, wanted in manifest.get(kind, {}).items():
            wanted = wanted if isinstance(wanted, dict) else {}
            base = crate
            if wanted.get("workspace") and root is not None:
                wanted = shared.get(name, {})
                wanted, base = (wanted if isinstance(wanted, dict) else {}), root
            if "path" in wanted:
                yield from _sources((base / wanted["path"]).resolve())


def _workspace(crate: Path) -> Path | None:
    for directory in (crate, *crate.parents):
        if (directory / "Cargo.toml").is_file() and "workspace" in _toml(directory):
            return directory
    return None


def _version(crate: Path) -> str:
    version = _toml(crate)["package"].get("version", "0.0.0")
    root = _workspace(crate)
    if isinstance(version, dict) and root is not None:
        version = _toml(root)["workspace"].get("package", {}).get("version", "0.0.0")
    return str(version)


def _toml(directory: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((directory / "Cargo.toml").read_text())
    except (OSError, ValueError) as error:
        raise EngineUnavailable(f"{directory / 'Cargo.toml'} cannot be read: {error}") from error


def build_in(directory: Path) -> Build | None:
    """The build in a directory, or none: never finished, or left by another version of this."""
    try:
        fields = json.loads((directory / "build.json").read_text())
        return Build(**{**fields, "features": tuple(fields["features"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def built() -> list[Build]:
    """Every engine that is built, by release."""
    directories = (cache_directory() / "engines").glob("*/")
    found = [build for directory in directories if (build := build_in(directory)) is not None]
    return sorted(found, key=lambda build: (build.release, build.key))


def find(engine: str | Path) -> Build:
    """The current build of a release or checkout; of a checkout also by its name in reports.

    Raises:
        EngineUnavailable: there is none.

    """
    if isinstance(engine, str) and "+" in engine:
        for build in built():
            if build.release == engine:
                return build
    wanted = target(engine)
    present = build_in(wanted.directory)
    if present is not None:
        return present
    before = any(build.release == wanted.release for build in built())
    why = "was built from other source than is here now" if before else "is not built"
    raise EngineUnavailable(f"laminar-core {wanted.release} {why}; run: {wanted.build_command}")


def remove(build: Build) -> None:
    """Delete one build."""
    shutil.rmtree(build.directory)


def remove_everything() -> None:
    """Delete all builds and what was kept to make the next one quick."""
    for name in ("engines", "target", "crates", "runtime"):
        shutil.rmtree(cache_directory() / name, ignore_errors=True)
