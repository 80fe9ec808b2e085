"""Large documents: many repetitions of one element, and the documents at the contract's limits.

Each costs seconds where an ordinary one costs a fraction of a millisecond, so the mutator makes
them seldom.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from fuzz.mutator.documents import Tree, write
from fuzz.mutator.forms import Struct
from fuzz.mutator.mutations import as_array, copied
from fuzz.mutator.seal import Manifest, canonical, recount, relay, reseal_output, unsealed
from fuzz.mutator.values import Values
from oracle import EMPTY_SHA256, Contract, Feature, view_log_segment_limit
from oracle.constants import (
    MAX_CHECKPOINT_PARTICIPANTS,
    MAX_OBJECT_KEY_BYTES,
    MAX_OUTPUT_SEGMENTS_PER_MANIFEST,
    MAX_SUBSCRIPTION_MANIFEST_BYTES,
    OBJECT_KEY_PREFIX,
)
from oracle.digests import NODE_SUBSCRIPTION_DOMAIN

Manifests = Callable[[], Manifest]


def repeated(manifest: Manifest, values: Values, room: int) -> Manifest:
    """*manifest* with one of its lists made long: up to *room* bytes, most often far fewer."""
    names = [name for name, value in manifest.items() if isinstance(value, list) and value]
    if not names:
        return manifest
    name = values.pick(names)
    item = values.pick(manifest[name])
    size = len(write(item)) + 1
    times = int(2 ** (values.below(1 + max(0, (room // size).bit_length() - 1))))
    manifest[name].extend(_numbered(copied(item), number) for number in range(times))
    return manifest


def _numbered(item: Tree, number: int) -> Tree:
    """*item*, told apart by *number* in the fields that lists are ordered by."""
    if type(item) is int:
        return item + 1 + number
    if isinstance(item, str):
        return f"{item}{number:06}"
    if not isinstance(item, dict):
        return item
    made = dict(item)
    for name in ("source_name", "sink_name", "operator_id"):
        if isinstance(made.get(name), str):
            made[name] = f"{made[name]}{number:06}"
    if isinstance(made.get("key"), dict):
        made["key"] = _numbered(made["key"], number)
    return made


def many_segments(manifest: Manifest, form: Struct, count: int) -> Manifest:
    """A *manifest* with one stream of *count* segments, in the short array form."""
    stream = manifest["subscription_output"]["streams"][0]
    segment = stream["segments"][0]
    segment["object_key"] = f"{OBJECT_KEY_PREFIX}a"
    certificate = stream["distribution_certificate"]
    short = [0] * 31 + [1]
    certificate["stream_generation"] = certificate["schema_fingerprint"] = short
    segment["stream_generation"] = segment["schema_fingerprint"] = segment["payload_digest"] = short
    segment |= {"frame_count": 1, "row_count": 1, "encoded_length": 1}
    part = stream["ranges"][0]
    part |= {"first_sequence": 0, "through_sequence": count}
    segment["partition"] = part["partition"]
    stream["ranges"] = [part]
    order = as_array(segment, form)
    first, end = (list(form.fields).index(f"{end}_sequence") for end in ("first", "exclusive_end"))
    stream["segments"] = segments = []
    for number in range(count):
        row = order[:]
        row[first], row[end] = number, number + 1
        segments.append(row)
    if count <= MAX_OUTPUT_SEGMENTS_PER_MANIFEST:
        # The next fault in the engine's order, so that nobody goes on to encode all of it.
        segments[:2] = segments[1::-1]
    return manifest


def of_size(manifest: Manifest, size: int) -> Manifest:
    """A sealed *manifest* whose subscription output is *size* bytes in canonical encoding."""
    output = manifest["subscription_output"]
    stream = output["streams"][0]
    part, segment = stream["ranges"][0], stream["segments"][0]
    segment |= {"frame_count": 1, "row_count": 1, "encoded_length": 1}
    segment["partition"] = part["partition"]
    stream["ranges"] = [part]
    part["first_sequence"] = 1_000_000
    key = f"{OBJECT_KEY_PREFIX}{'k' * (MAX_OBJECT_KEY_BYTES - len(OBJECT_KEY_PREFIX))}"
    # Seven digits throughout, so that every segment has the same length but for its key.
    segment |= {"object_key": key, "first_sequence": 1_000_000, "exclusive_end_sequence": 1_000_001}
    part["through_sequence"] = 1_000_001
    stream["segments"] = [segment]
    output["streams"] = [stream]
    # Everything but the digest is to have this many bytes.
    wanted = size - len(write({"manifest_digest": ""})) + 3 - _DIGEST_TEXT
    each = len(write(segment)) + 1
    count = 2 + (wanted - len(unsealed(output))) // each
    stream["segments"] = segments = [
        {
            **segment,
            "first_sequence": number,
            "exclusive_end_sequence": number + 1,
            "payload_digest": [*segment["payload_digest"]],
        }
        for number in range(1_000_000, 1_000_000 + count)
    ]
    part["through_sequence"] = 1_000_000 + count
    # Numbers of three digits, so that any of them can be changed without changing the size.
    segments[-1]["payload_digest"] = [100] * 32
    _shorten(segments, len(unsealed(output)) - wanted)
    output["manifest_digest"] = _digest_of_length(output, segments[-1])
    return manifest


# The text of a digest, an array of 32 numbers, most often has about this many bytes.
_DIGEST_TEXT = 115


def _digest_of_length(output: Tree, last: Tree) -> list[int]:
    """Seal *output* so that the digest's text has the usual length.

    The digest is part of the encoding and has one to three digits for each byte. So the *last*
    segment, which ends the encoding, is changed until the length comes out.
    """
    encoded = unsealed(output)
    start = encoded.rindex(b'{"encoded_length"')
    rest = encoded[start + len(canonical(last)) :]
    head = sha256(
        len(NODE_SUBSCRIPTION_DOMAIN).to_bytes(8, "little")
        + NODE_SUBSCRIPTION_DOMAIN
        + len(encoded).to_bytes(8, "little")
        + encoded[:start]
    )
    for attempt in range(10_000):
        last["payload_digest"][:2] = [100 + attempt % 100, 100 + attempt // 100]
        tried = head.copy()
        tried.update(canonical(last) + rest)
        digest = [*tried.digest()]
        if len(write(digest)) == _DIGEST_TEXT:
            return digest
    raise AssertionError("no digest has the usual length")


def _shorten(segments: list[Tree], by: int) -> None:
    """Take *by* bytes from the keys of *segments*, or give as many."""
    for segment in segments:
        key = segment["object_key"]
        least = len(OBJECT_KEY_PREFIX) + 1
        length = max(least, min(MAX_OBJECT_KEY_BYTES, len(key) - by))
        segment["object_key"] = key[:length].ljust(length, "k")
        by -= len(key) - length
        if by == 0:
            return


def participants(manifest: Manifest, count: int) -> Manifest:
    """*manifest* with *count* participants in its fence, and in its certificate the same."""
    fence = manifest["assignment_fence"]
    members = [dict(fence["participants"][0], node_id=number) for number in range(1, count + 1)]
    fence["participants"] = members
    if manifest.get("subscription_output"):
        manifest["subscription_output"]["assignment_certificate"] = fence
        reseal_output(manifest["subscription_output"])
    return manifest


def retained(manifest: Manifest, contract: Contract, more: int) -> Manifest:
    """A sealed *manifest* whose view log has as many segments as it may, and *more*."""
    manifest.pop("subscription_output", None)
    partition = manifest["owned_vnodes"][0]
    limit = view_log_segment_limit(
        len(manifest["assignment_fence"]["participants"]),
        contract.max_view_log_segments,
        contract.max_cluster_view_log_segments,
    )
    segments = [
        {
            "partition": partition,
            "first_row": number,
            "row_count": 1,
            "event_time": None,
            "chunk": dict(manifest["node_data"]["chunk"]),
            "range": {"offset": 0, "length": 1},
            "sha256": EMPTY_SHA256,
        }
        for number in range(limit + more)
    ]
    manifest["view_logs"] = [{"view_name": "a", "segments": segments}]
    recount(manifest)
    relay(manifest, contract)
    return manifest


class Limits:
    """The documents just at and just past the limits that count something, one after another."""

    def __init__(self, contract: Contract, segment: Struct, base: Manifests) -> None:
        """Make them from *base*, which gives sealed manifests with subscription output.

        *segment* is the form of a segment of that.
        """
        self._base = base
        self._next = 0
        most, size = MAX_OUTPUT_SEGMENTS_PER_MANIFEST, MAX_SUBSCRIPTION_MANIFEST_BYTES
        roster = MAX_CHECKPOINT_PARTICIPANTS
        self._makers: list[Callable[[Manifest], Manifest]] = [
            lambda m: participants(m, roster + 1),
            lambda m: many_segments(m, segment, most + 1),
            lambda m: of_size(m, size + 1),
            lambda m: participants(m, roster),
            lambda m: of_size(m, size),
            lambda m: many_segments(m, segment, most),
        ]
        if contract.has(Feature.VIEW_LOGS):
            self._makers += [
                lambda m: retained(m, contract, 1),
                lambda m: retained(m, contract, 0),
            ]

    @property
    def all_made(self) -> bool:
        """Whether each of them was made once."""
        return self._next >= len(self._makers)

    def next(self) -> bytes:
        """The next of them, over and over."""
        maker = self._makers[self._next % len(self._makers)]
        self._next += 1
        return write(maker(self._base()))
