"""Texts: what the canonical encoding escapes, what counts as trimmed, what a digest looks like."""

from oracle.encoding import escape
from oracle.kernels import WHITE_SPACE, is_sha256_text, is_trimmed
from tests.contracts.table import State, theorem
from tests.contracts.theorems.domains import are_scalars

SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def unescape(written: str) -> str:
    """The character that *written* stands for in a JSON string."""
    if written[0] != "\\":
        return written
    return chr(int(written[2:], 16)) if written[1] == "u" else SHORT[written[1]]


@theorem(example=(0x1F,))
def a_written_character_reads_as_itself(code_point: int) -> None:
    """What is written of a character is read as it, so no two characters are written alike."""
    assert are_scalars(code_point)
    assert unescape(escape(chr(code_point))) == chr(code_point)


@theorem(example=(0x7F,))
def only_what_must_be_is_escaped(code_point: int) -> None:
    """A character is escaped exactly when it is a control below U+0020, a quote or a backslash."""
    assert are_scalars(code_point)
    raw = escape(chr(code_point)) == chr(code_point)
    assert raw == (code_point >= 0x20 and code_point not in (0x22, 0x5C))


@theorem(example=(0x1F,))
def other_controls_have_four_lower_case_digits(code_point: int) -> None:
    """A control without an escape of its own is written as its four hexadecimal digits."""
    assert 0 <= code_point < 0x20
    assert len(escape(chr(code_point))) != 2
    written = escape(chr(code_point))
    assert written == "\\u" + f"{code_point:04x}"


@theorem(example=("a b",))
def trimmed_has_no_outer_white_space(text: str) -> None:
    """A text is trimmed exactly when neither its first nor its last character is white space."""
    assert len(text) <= 4
    outer = text[:1] + text[-1:]
    assert is_trimmed(text) == all(character not in WHITE_SPACE for character in outer)


@theorem(example=("00",))
def a_digest_is_64_digits(text: str) -> None:
    """No text of another length is SHA-256 text, however it is spelled."""
    assert len(text) != 64
    assert not is_sha256_text(text)


@theorem(example=("a" * 63, "A"), expected=State.NO_COUNTEREXAMPLE)
def a_digest_has_lower_case_digits_only(digits: str, character: str) -> None:
    """A last character that is not one of 0-9a-f makes no SHA-256 text."""
    assert len(character) == 1
    assert character not in "0123456789abcdef"
    assert not is_sha256_text(digits + character)
