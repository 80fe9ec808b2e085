"""The one way in which a command says that it could not do its work."""

from __future__ import annotations

import click


class CouldNotRun(click.ClickException):
    """Nothing was learned, which is neither clean nor a finding; the message says what to do."""

    exit_code = 2
