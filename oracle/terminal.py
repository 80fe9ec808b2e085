"""Text for people: what a document or a file's name contains reaches no terminal as it is."""

from __future__ import annotations

from typing import Any


def printable(text: str) -> str:
    """*text* on one line, with an escape for each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def never_fail_to_print(stream: Any) -> None:
    """Let *stream* write an escape for each character that its encoding lacks."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
