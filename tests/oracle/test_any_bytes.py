"""Whatever bytes it is given, the oracle has a verdict, soon and without much memory.

Growth is measured, not time: twice the bytes may take twice the processor's time, with room for
everything that disturbs a measurement, and four times the bytes never what a quadratic would.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from oracle import (
    CONTRACTS,
    VIEW_LOG,
    Kind,
    Stage,
    Verdict,
    decode,
    encode,
    hazards,
    judge,
    validate,
)
from tests.oracle.contract_types import INTEGERS
from tests.oracle.documents import (
    KEY_GROUPS,
    Document,
    chunk,
    cluster,
    empty,
    local,
    reference,
    subscribed,
    text,
    view_logs,
    whole,
)
from tests.oracle.slots import all_slots
from tests.oracle.test_decode import PLACES, _spelled

MIB = 1024 * 1024
LONGEST = 16 * MIB
GOOD = text(empty())
SMALL = text(cluster() | {"source_names": ["\u00e9\n", "\U0001f600"]}).replace(
    "\U0001f600".encode(), rb"\ud83d\ude00"
)


def verdict_on(data: bytes) -> Verdict:
    """The verdict, after everything that can be asked of the oracle about *data*."""
    verdict = judge(data, KEY_GROUPS)
    if verdict.rejection is not None:
        assert verdict.stage is Stage.DECODE
        assert str(verdict.rejection)
    else:
        assert verdict.manifest is not None
        assert (verdict.stage is Stage.VALID) == (not verdict.findings)
        hazards(verdict.manifest, data)
        assert decode(encode(verdict.manifest)) == verdict.manifest
    return verdict


def rejected(data: bytes) -> Kind:
    """The kind of the rejection that *data* must get."""
    rejection = verdict_on(data).rejection
    assert rejection is not None
    return rejection.kind


# --- long and hostile ------------------------------------------------------------------------


def _name(content: bytes) -> bytes:
    return GOOD.replace(b'"source_names": []', b'"source_names": ["' + content + b'"]')


def _repeat(unit: bytes, length: int) -> bytes:
    return unit * (length // len(unit))


def _numbered(form: str, length: int) -> str:
    """As many numbered copies of *form* as go into *length* bytes."""
    return ",".join(form % number for number in range(length // (len(form) + 6)))


LONG: dict[str, tuple[Callable[[int], bytes], Kind | None]] = {
    "open arrays": (lambda n: b"[" * n, Kind.DEPTH),
    "open objects": (lambda n: _repeat(b'{"a":', n), Kind.DEPTH),
    "closed arrays": (lambda n: b"[" * (n // 2) + b"]" * (n // 2), Kind.DEPTH),
    "shallow arrays": (lambda n: b"[" + _repeat(b"[[[[]]]],", n) + b"0]", Kind.LENGTH),
    "arrays just too deep": (
        lambda n: b"[" + _repeat(b"[" * 127 + b"]" * 127 + b",", n) + b"0]",
        Kind.DEPTH,
    ),
    "digits": (lambda n: b"1" * n, Kind.TYPE),
    "minus digits": (lambda n: b"-" + b"9" * n, Kind.TYPE),
    "a fraction": (lambda n: b"0." + b"1" * n, Kind.TYPE),
    "an exponent": (lambda n: b"1e" + b"1" * n, Kind.TYPE),
    "zeros": (lambda n: b"0" * n, Kind.TRAILING),
    "minus signs": (lambda n: b"-" * n, Kind.GRAMMAR),
    "quotes": (lambda n: b'"' * n, Kind.TRAILING),
    "backslashes": (lambda n: b'"' + b"\\" * n, Kind.GRAMMAR),
    "an open string": (lambda n: b'"' + b"a" * n, Kind.GRAMMAR),
    "spaces": (lambda n: b" " * n, Kind.GRAMMAR),
    "spaces after": (lambda n: GOOD + b" " * n, None),
    "zero bytes": (lambda n: b"\0" * n, Kind.GRAMMAR),
    "high bytes": (lambda n: b"\xff" * n, Kind.ENCODING),
    "pairs": (lambda n: _name(_repeat(rb"\ud83d\ude00", n)), None),
    "escapes": (lambda n: _name(_repeat(rb"\u0041", n)), None),
    "escaped backslashes": (lambda n: _name(_repeat(rb"\\u0041", n)), None),
    "escaped backslashes before pairs": (lambda n: _name(_repeat(rb"\\\ud83d\ude00", n)), None),
    "a surrogate at the end": (
        lambda n: _name(_repeat(rb"\ud83d\ude00", n) + rb"\ud83d"),
        Kind.SURROGATE,
    ),
    "swapped pairs": (lambda n: _name(_repeat(rb"\ude00\ud83d", n)), Kind.SURROGATE),
    "high surrogates": (lambda n: _name(_repeat(rb"\ud800", n)), Kind.SURROGATE),
    "short integers": (lambda n: b"[" + b"0," * (n // 2) + b"0]", Kind.LENGTH),
    "minus zeros": (lambda n: b"[" + b"-0," * (n // 3) + b"0]", Kind.LENGTH),
    "minus zeros in a string": (lambda n: _name(_repeat(b" -0", n)), None),
    "integers at the limit of digits": (
        lambda n: b"[" + _repeat(b"1" * 4_300 + b",", n) + b"0]",
        Kind.LENGTH,
    ),
    "empty objects": (lambda n: b"[" + b"{}," * (n // 3) + b"0]", Kind.LENGTH),
    "different names": (
        lambda n: ("{" + _numbered('"%d":0', n) + "}").encode(),
        Kind.UNKNOWN,
    ),
    "the same name": (lambda n: b"{" + _repeat(b'"version":0,', n) + b'"a":0}', Kind.REPEATED),
    "different keys of a map": (
        lambda n: _offsets("{" + _numbered('"%d":"0"', n) + "}"),
        None,
    ),
    "the same key of a map": (
        lambda n: _offsets("{" + _repeat(b'"k":"0",', n).decode() + '"k":"1"}'),
        None,
    ),
    "padded keys of a map with a long name": (
        lambda n: _offsets("{" + _numbered('" %d":"0"', n // 2) + "}", "s" * (n // 2)),
        None,
    ),
    "vnodes": (
        lambda n: text(empty() | {"owned_vnodes": list(range(min(n // 64, 65_536))) * 8}),
        None,
    ),
    "sources": (
        lambda n: GOOD.replace(
            b'"source_names": []', b'"source_names": [' + _numbered('"%d"', n).encode() + b"]"
        ),
        None,
    ),
    "frames": (lambda n: text(_frames(n)), None),
    "frames of unknown chunks": (lambda n: text(_frames(n, participant=7)), None),
    "frames with a long digest": (lambda n: text(_conflicts(n)), None),
    "tags": (
        lambda n: GOOD.replace(
            b'"state_frames": []', b'"state_frames": [' + _repeat(b'[["x"],0,0,0],', n) + b"0]"
        ),
        Kind.TAG,
    ),
}


def _offsets(offsets: str, name: str = "s") -> bytes:
    source = f'{{"{name}": {{"offsets": {offsets}, "metadata": {{}}}}}}'
    return GOOD.replace(b'"source_offsets": {}', b'"source_offsets": ' + source.encode())


def _frames(length: int, participant: int = 1) -> Document:
    """Frames that break as many rules as frames can, one finding for each."""
    document = empty()
    one = whole("a", 1, 0, of=chunk(participant, 8)) | {"sha256": ""}
    document["state_frames"] = [one] * (length // len(text(one)))
    return document


def _conflicts(length: int) -> Document:
    """One long digest that many frames disagree with."""
    one = whole("a", 0, 8, of=chunk(1, 8))
    document = empty()
    document["state_frames"] = [one] * (length // 2 // len(text(one)))
    document["referenced_chunks"] = [reference(chunk(1, 8), 8, 1) | {"sha256": "x" * (length // 2)}]
    return document


@pytest.mark.parametrize("name", LONG)
def test_long(name: str) -> None:
    """A long document of one hostile kind is judged, with the verdict it deserves."""
    make, kind = LONG[name]
    rejection = verdict_on(make(MIB)).rejection
    assert (None if rejection is None else rejection.kind) is kind


LONGEST_KINDS = (
    "open arrays",
    "open objects",
    "digits",
    "pairs",
    "escapes",
    "escaped backslashes",
    "a surrogate at the end",
    "different names",
    "the same name",
)


@pytest.mark.parametrize("name", LONGEST_KINDS)
def test_longest(name: str) -> None:
    """So is one that is as long as an engine loads."""
    make, kind = LONG[name]
    verdict = judge(make(LONGEST), KEY_GROUPS)
    assert (None if verdict.rejection is None else verdict.rejection.kind) is kind


def _seconds(data: bytes) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        verdict = judge(data, KEY_GROUPS)
        if verdict.manifest is not None:
            hazards(verdict.manifest, data)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", LONG)
def test_time_grows_with_length(name: str) -> None:
    """Eight times the bytes take far less than the 64-fold time of what is quadratic."""
    make, _ = LONG[name]
    short, long = (_seconds(make(length)) for length in (MIB // 4, 2 * MIB))
    assert long < 24 * short + 0.05


@pytest.mark.parametrize("name", LONG)
def test_memory_grows_with_length(name: str) -> None:
    """The peak is a multiple of the document's length, whatever it is of."""
    make, _ = LONG[name]
    data = make(MIB)
    tracemalloc.start()
    try:
        verdict = judge(data, KEY_GROUPS)
        if verdict.manifest is not None:
            hazards(verdict.manifest, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(data)


def test_many_logs_of_views_take_linear_time() -> None:
    """The places of segments are told without a walk over all logs for each."""

    def make(logs: int) -> bytes:
        document = view_logs()
        log = document["view_logs"][1]
        document["view_logs"] = [log | {"view_name": str(number)} for number in range(logs)]
        return text(document)

    def seconds(data: bytes) -> float:
        start = time.process_time()
        assert not judge(data, KEY_GROUPS, VIEW_LOG).rejection
        return time.process_time() - start

    short, long = (min(seconds(make(logs)) for _ in range(2)) for logs in (1_000, 8_000))
    assert long < 24 * short + 0.05


@pytest.mark.parametrize("digits", [21, 4_299, 4_300, 4_301, 1_000_000])
def test_long_integers_in_every_kind_of_field(digits: int) -> None:
    """No length of a literal is too much, in a field or anywhere else."""
    kinds = {slot.kind: (contract, slot) for contract, slot in PLACES if slot.kind in INTEGERS}
    assert kinds.keys() == INTEGERS.keys()
    for contract, slot in kinds.values():
        for sign in ("", "-"):
            data = _spelled(contract, slot, sign + "7" * digits)
            rejection = judge(data, KEY_GROUPS, CONTRACTS[contract]).rejection
            assert rejection is not None
            assert (rejection.kind, rejection.pointer) == (Kind.RANGE, slot.pointer)
            assert len(rejection.message) < 200
    for slot in all_slots("v10"):
        if slot.kind in ("string", "bool", "uuid", "mode", "digest", "bytes"):
            data = _spelled("v10", slot, "7" * digits)
            assert rejected(data) is Kind.TYPE


@pytest.mark.parametrize("limit", [0, 640, 4_300, 1_000_000])
def test_limits_on_digits_do_not_show(limit: int) -> None:
    """The interpreter's limit on digits changes neither verdict nor message."""
    literals = ["1" * n for n in (20, 21, 639, 640, 641, 4_300, 4_301, 20_000)]
    data = [GOOD.replace(b": 10", b": " + literal.encode()) for literal in literals]
    expected = [str(judge(document, KEY_GROUPS).rejection) for document in data]
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        found = [str(judge(document, KEY_GROUPS).rejection) for document in data]
    finally:
        sys.set_int_max_str_digits(before)
    assert found == expected


# --- every small change ----------------------------------------------------------------------


def test_every_single_byte() -> None:
    """No byte by itself is a manifest."""
    for byte in range(256):
        assert verdict_on(bytes([byte])).stage is Stage.DECODE


def test_every_pair_of_bytes_that_mean_something() -> None:
    """No two bytes of JSON's own are a manifest."""
    own = b'[]{},:"\\-+.eE0123456789tfn/ \n\xef\xbb\xbf\xc0\x00'
    for first in own:
        for second in own:
            assert verdict_on(bytes([first, second])).stage is Stage.DECODE


def test_every_prefix() -> None:
    """No prefix of a document is one."""
    for end in range(len(SMALL)):
        assert verdict_on(SMALL[:end]).stage is Stage.DECODE
    assert verdict_on(SMALL).stage is Stage.VALID


@pytest.mark.parametrize("make", [empty, cluster, local, subscribed])
def test_every_one_byte_change(make: Callable[[], Document]) -> None:
    """A bit flipped, a byte lost, doubled or replaced, at every place: always a verdict."""
    data = text(make())
    dice = random.Random(20_061)
    stages = {Stage.DECODE: 0, Stage.INVALID: 0, Stage.VALID: 0}
    for place in range(len(data)):
        byte = data[place]
        replacements = [
            bytes([byte ^ 1 << dice.randrange(8)]),
            bytes([dice.randrange(256)]),
            bytes([dice.choice(b'"\\,:[]{}0-9.eu \x00\xff')]),
            b"",
            bytes([byte, byte]),
        ]
        if len(data) > 2_000:
            replacements = dice.sample(replacements, 2)
        for replacement in replacements:
            changed = data[:place] + replacement + data[place + 1 :]
            stages[judge(changed, KEY_GROUPS).stage] += 1
    assert all(stages.values())


def test_random_bytes() -> None:
    """Noise is never a manifest and always has a verdict."""
    dice = random.Random(7)
    for _ in range(2_000):
        noise = dice.randbytes(dice.randrange(64))
        assert verdict_on(noise).stage is Stage.DECODE


@pytest.mark.parametrize(
    "encoding",
    ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-7", "utf-8-sig"],
)
def test_other_encodings(encoding: str) -> None:
    """Only UTF-8 without a mark is read; the standard library would guess."""
    data = GOOD.decode().encode(encoding)
    kind = rejected(data if data != GOOD else b"+" + data)
    assert kind in {Kind.ENCODING, Kind.BOM, Kind.GRAMMAR}


# --- the caller's interpreter ----------------------------------------------------------------


@contextmanager
def recursion_limit(limit: int) -> Iterator[None]:
    """Set the interpreter's limit for a while."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _left() -> int:
    """How many more calls the caller's stack takes."""

    def down(levels: int) -> int:
        try:
            return down(levels + 1)
        except RecursionError:
            return levels

    return down(0)


DOCUMENTS = {
    "valid": text(subscribed()),
    "decode": text(subscribed()).replace(b'"partition": 2', b'"partition": "2"'),
    "invalid": text(subscribed()).replace(b'"checkpoint_id": 9', b'"checkpoint_id": 8'),
    "as deep as can be": GOOD[:-1] + b', "x": ' + b"[" * 126 + b"]" * 126 + b"}",
    "too deep": GOOD[:-1] + b', "x": ' + b"[" * 127 + b"]" * 127 + b"}",
    "far too deep": b"[" * 100_000,
}


def _everything(data: bytes) -> object:
    verdict = judge(data, KEY_GROUPS)
    if verdict.manifest is None:
        rejection = verdict.rejection
        assert rejection is not None
        return rejection.kind, rejection.pointer
    return (
        validate(verdict.manifest, KEY_GROUPS),
        hazards(verdict.manifest, data),
        encode(verdict.manifest),
        decode(data),
    )


@pytest.mark.parametrize("name", DOCUMENTS)
def test_deep_stack(name: str) -> None:
    """Wherever in the stack it is called, the verdict is the same, and so is the limit after it."""
    data = DOCUMENTS[name]
    expected = _everything(data)
    limit = sys.getrecursionlimit()

    def down(levels: int) -> object:
        return down(levels - 1) if levels else _everything(data)

    for left in range(6, 240, 6):
        found = down(_left() - left)
        assert found == expected
        assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("name", DOCUMENTS)
def test_small_recursion_limits(name: str) -> None:
    """A low limit, a high one, and one that the stack is too small for give the same verdict."""
    data = DOCUMENTS[name]
    expected = _everything(data)
    used = sys.getrecursionlimit() - _left()
    for limit in (used + 20, used + 60, 20_000, 1_000_000):
        with recursion_limit(limit):
            found = _everything(data)
        assert found == expected


def test_threads() -> None:
    """Threads that all need more stack do not take it from each other."""
    data = DOCUMENTS["valid"]
    expected = _everything(data)
    found: list[object] = []
    limit = sys.getrecursionlimit()
    all_have_looked = threading.Barrier(8)

    def work() -> None:
        def down(levels: int) -> object:
            return down(levels - 1) if levels else _everything(data)

        left = _left()
        all_have_looked.wait()
        found.extend(down(left - 12) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 160
    assert sys.getrecursionlimit() == limit


def test_garbage_collector_is_left_as_it_was() -> None:
    """The collector is on or off after a verdict as it was before, rejected or not."""
    import gc

    assert gc.isenabled()
    for data in DOCUMENTS.values():
        judge(data, KEY_GROUPS)
        assert gc.isenabled()
    gc.disable()
    try:
        judge(GOOD, KEY_GROUPS)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_optimised_interpreter() -> None:
    """Verdicts do not depend on assertions."""
    program = (
        "import oracle, sys\n"
        "data = sys.stdin.buffer.read()\n"
        f"verdict = oracle.judge(data, {KEY_GROUPS})\n"
        "print(verdict.stage.value, *sorted(verdict.rules))\n"
    )
    for name, expected in (("valid", "valid"), ("far too deep", "decode")):
        answer = subprocess.run(
            [sys.executable, "-OO", "-c", program],
            input=DOCUMENTS[name],
            capture_output=True,
            check=True,
        )
        assert answer.stdout.decode().strip() == expected
