"""Run in an installed wheel: it holds every file of the rooms, and all modules load from it."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path

ROOMS = ("oracle", "strategies", "fuzz", "corpora")


def main(checkout: Path) -> None:
    """Compare what is installed with what *checkout* keeps in version control."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *ROOMS], cwd=checkout, capture_output=True, text=True, check=True
    )
    expected = set(listed.stdout.split("\0")) - {""}
    installed = distribution("laminardb-manifest-oracle")
    found = {
        str(file)
        for file in installed.files or ()
        if file.parts[0] in ROOMS and file.suffix != ".pyc"
    }
    assert found == expected, f"missing: {expected - found}; not ours: {found - expected}"
    here = Path(str(installed.locate_file("")))
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in sorted(expected)
        if name.endswith(".py") and not name.endswith("/__main__.py")
    ]
    for module in modules:
        where = import_module(module).__file__
        assert where is not None
        assert Path(where).is_relative_to(here), f"{module} comes from {where}"
    print(f"{len(expected)} files, {len(modules)} modules")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
