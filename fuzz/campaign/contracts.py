"""The contract that a campaign goes by, from its name: processes tell each other no more."""

from __future__ import annotations

from contextlib import suppress

from fuzz.comparison import contract_of
from fuzz.engines.protocol import Engine
from oracle import Contract, contract_named


def contract_called(name: str, engine: Engine) -> Contract:
    """The contract *name*: *engine*'s own where that is called so, else a known one or a file.

    A format that no release speaks may have numbers that only its engine knows. Raises
    :class:`ValueError` where there is no such contract.
    """
    with suppress(ValueError):
        own = contract_of(engine)
        if own.name == name:
            return own
    return contract_named(name)
