"""Enumerations whose members say what they mean."""

from __future__ import annotations

from enum import Enum
from typing import Self


class Described(Enum):
    """Base of an enumeration: each member is a name for reports and a statement of its meaning."""

    statement: str

    def __new__(cls, name: str, statement: str) -> Self:
        """Make *name* the value, and keep the *statement* beside it."""
        member = object.__new__(cls)
        member._value_ = name
        member.statement = statement
        return member
