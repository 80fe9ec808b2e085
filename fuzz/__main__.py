"""Run `python -m fuzz`."""

from fuzz.cli import main

main(prog_name="python -m fuzz")
