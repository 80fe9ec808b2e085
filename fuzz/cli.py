"""`python -m fuzz`: the production engine beside the oracle."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from fuzz.could_not_run import CouldNotRun

# Command, and where it lives. A command is imported when it is called, and not before.
_COMMANDS = {
    "bench": "fuzz.bench_cli",
    "campaign": "fuzz.campaign_cli",
    "corpus": "fuzz.corpus_cli",
    "diff": "fuzz.diff_cli",
    "engine": "fuzz.engine_cli",
    "explain": "fuzz.campaign_cli",
    "ledger": "fuzz.diff_cli",
    "mutants": "fuzz.mutants_cli",
    "reduce": "fuzz.campaign_cli",
    "replay": "fuzz.campaign_cli",
    "run": "fuzz.run_cli",
    "runtime": "fuzz.runtime_cli",
}


class _Lazy(click.Group):
    """A group whose commands are imported one by one, on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; no failure of its own is a finding, which exit code 1 would mean."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            # The interpreter must not try to write the rest when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # else whoever read the output has gone
                click.echo(f"Error: could not finish: {error}", err=True)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception:  # Python would end with 1
            traceback.print_exc()
            click.echo("Error: this is a fault of the command; please report the above", err=True)
        return ctx.exit(CouldNotRun.exit_code)


@click.command(cls=_Lazy)
def main() -> None:
    """Compare the production engine with the oracle, and search for where they differ."""
