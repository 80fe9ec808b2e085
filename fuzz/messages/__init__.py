"""Which rule an engine's message stands for.

The messages of each engine generation are data, in one file for each manifest format beside this
one; a later file holds only what has changed since the one before it, or what it ``adds``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from oracle import Contract

_FILES = ("v9.toml", "v10.toml", "stand-in.toml")  # oldest first
_PART = re.compile(r"\?P<\w+>")


@dataclass(frozen=True, slots=True)
class Message:
    """One text that an engine has for a broken rule.

    ``rules`` is the rule that it stands for, or the few that share it; ``pattern`` takes the
    whole text, with the parts that vary as named groups; ``sample`` is one such text.
    """

    rules: tuple[str, ...]
    pattern: str
    sample: str

    @property
    def ambiguous(self) -> bool:
        """Whether the engine uses the text for several rules."""
        return len(self.rules) > 1


class Messages:
    """The messages of one engine generation."""

    def __init__(self, manifest_version: int, entries: Iterable[Message]) -> None:
        """Make *entries*, of the engines that speak the format *manifest_version*, recognisable.

        :class:`ValueError` when a pattern has a group without a name.
        """
        self.manifest_version = manifest_version
        self.entries = tuple(entries)
        for entry in self.entries:
            compiled = re.compile(entry.pattern)
            if compiled.groups != len(compiled.groupindex):
                raise ValueError(f"a group without a name in the pattern {entry.pattern!r}")
        # One expression for all, with one group for each message, is many times quicker than one
        # after the other; so the named groups inside must not count.
        choice = "|".join(f"({_PART.sub('?:', entry.pattern)})" for entry in self.entries)
        self._fullmatch = re.compile(choice, re.DOTALL).fullmatch

    def message_of(self, text: str) -> Message | None:
        """The entry that takes *text*, if one does."""
        match = self._fullmatch(text)
        return (
            None if match is None or match.lastindex is None else self.entries[match.lastindex - 1]
        )


@cache
def messages_of(contract: Contract) -> Messages:
    """The messages of the engines that speak *contract*.

    For a format newer than every file those of the newest: a message that came with the format
    is then taken by no pattern, and shows.
    """
    known = [item for item in _generations() if item.manifest_version <= contract.manifest_version]
    if not known:
        raise ValueError(f"no engine messages are known for format v{contract.manifest_version}")
    return known[-1]


@cache
def _generations() -> tuple[Messages, ...]:
    generations: list[Messages] = []
    entries: list[Message] = []
    for name in _FILES:
        content = tomllib.loads(resources.files(__name__).joinpath(name).read_text("utf-8"))
        changed = [_message(item) for item in content["message"]]
        replaced = set() if content.get("adds") else {entry.rules for entry in changed}
        entries = [entry for entry in entries if entry.rules not in replaced] + changed
        generations.append(Messages(content["manifest_version"], entries))
    return tuple(generations)


def _message(item: Mapping[str, Any]) -> Message:
    return Message(tuple(item["rules"]), item["pattern"], item["sample"])
