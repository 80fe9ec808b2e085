"""Entry of ``python -m strategies``."""

from strategies.cli import main

main(prog_name="python -m strategies")
