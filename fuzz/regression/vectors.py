"""Digest vectors: inputs and outputs of every digest, with boundaries and wrong domains.

An input's bytes are written as hexadecimal digits, or as ``{"repeat": hex, "count": n}`` where
that many would be too long. A vector whose result is ``invalid`` gives a digest that the input
does *not* have: what comes out in another digest's domain, or of another input.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import oracle
from corpora import ROOT
from fuzz.regression.problem import Problem
from oracle import CheckpointAssignmentFence, CheckpointParticipant
from oracle.constants import MAX_KEY_GROUP_COUNT, U64_MAX
from oracle.described import Described

if TYPE_CHECKING:
    from fuzz.engines import Engine

FILE = ROOT / "vectors.json"


class VectorFlag(Described):
    """What a vector is about."""

    ABSENT = "ABSENT", "there is no payload at all, which is not the same as an empty one"
    EMPTY = "EMPTY", "the payload or list is empty"
    BLOCK = "BLOCK", "the hashed message ends near the boundary of a 64-byte block"
    LARGE = "LARGE", "the payload is large and given by a pattern"
    BOUND = "BOUND", "a number at the bound of its type"
    WRONG_DOMAIN = "WRONG_DOMAIN", "the digest is that of the same payload in another domain"
    ORDER = "ORDER", "the order of a list matters"


Input = dict[str, Any]


def payload_of(given: Any) -> bytes | None:
    """The bytes that a vector's payload describes."""
    if given is None:
        return None
    if isinstance(given, str):
        return bytes.fromhex(given)
    return bytes.fromhex(given["repeat"]) * int(given["count"])


def _fence(given: Input) -> CheckpointAssignmentFence:
    return CheckpointAssignmentFence(
        given["assignment_version"],
        given["partitioning_abi_version"],
        given["vnode_count"],
        bytes.fromhex(given["assignment_digest"]),
        tuple(
            CheckpointParticipant(member["node_id"], UUID(member["boot_incarnation"]))
            for member in given["participants"]
        ),
    )


def _bytes(given: Input) -> str:
    return oracle.checkpoint_sha256(payload_of(given["payload"]) or b"")


def _descriptor(given: Input) -> str:
    return oracle.checkpoint_descriptor_sha256(payload_of(given["payload"]))


def _intent(given: Input) -> str:
    return oracle.checkpoint_artifact_intent_sha256(payload_of(given["payload"]))


def _owner_map(given: Input) -> str:
    return oracle.owner_map_digest(given["vnode_count"], owners_of(given["owners"])).hex()


def _subscription(given: Input) -> str:
    domain, value = payload_of(given["domain"]), payload_of(given["value"])
    return oracle.subscription_digest(domain or b"", value or b"").hex()


def owners_of(given: Any) -> list[int]:
    """The owners that a vector describes, in vnode order."""
    if isinstance(given, list):
        return given
    return [int(owner) for owner in given["repeat"]] * int(given["count"])


DIGESTS: dict[str, tuple[str, Callable[[Input], str]]] = {
    "checkpoint_sha256": ("payload: bytes", _bytes),
    "checkpoint_descriptor_sha256": ("payload: bytes or null", _descriptor),
    "checkpoint_artifact_intent_sha256": ("payload: bytes or null", _intent),
    "owner_map_digest": (
        "vnode_count; owners: node ids in vnode order, or repeat and count",
        _owner_map,
    ),
    "fence_digest": (
        "the fence's fields; assignment_digest as hexadecimal digits",
        lambda given: oracle.fence_digest(_fence(given)).hex(),
    ),
    "subscription_digest": ("domain and value: bytes", _subscription),
}
"""Every digest by the engine's name: what its input has, and the oracle's function of it."""


def _payloads(prefix: int) -> Iterator[tuple[str, list[VectorFlag], Any]]:
    """Payloads whose message, *prefix* bytes before them, meets the edges of SHA-256's blocks."""
    yield "no bytes", [VectorFlag.EMPTY], ""
    yield "one zero byte", [], "00"
    yield "one byte", [], "ff"
    for edge in (55, 56, 63, 64, 65, 119, 120, 127, 128):
        if edge > prefix:
            yield (
                f"a message of {edge} bytes, prefix included",
                [VectorFlag.BLOCK],
                {"repeat": "a5", "count": edge - prefix},
            )
    for count in (255, 256, 65_535, 65_536, 1_000_003):
        yield f"{count} bytes", [VectorFlag.LARGE], {"repeat": "5a", "count": count}


def _vector_inputs(digest: str) -> Iterator[tuple[str, list[VectorFlag], Input]]:
    if digest in ("owner_map_digest", "fence_digest", "subscription_digest"):
        yield from {
            "owner_map_digest": _owner_maps,
            "fence_digest": _fences,
            "subscription_digest": _subscriptions,
        }[digest]()
        return
    prefixes = {
        "checkpoint_sha256": 0,
        "checkpoint_descriptor_sha256": 38 + 1 + 8,
        "checkpoint_artifact_intent_sha256": 45 + 1,
    }
    if digest != "checkpoint_sha256":
        yield "no payload", [VectorFlag.ABSENT], {"payload": None}
    for comment, flags, payload in _payloads(prefixes[digest]):
        yield comment, flags, {"payload": payload}


def _owner_maps() -> Iterator[tuple[str, list[VectorFlag], Input]]:
    yield "one vnode", [], {"vnode_count": 1, "owners": [1]}
    yield "two owners", [VectorFlag.ORDER], {"vnode_count": 2, "owners": [1, 2]}
    yield "the same two the other way", [VectorFlag.ORDER], {"vnode_count": 2, "owners": [2, 1]}
    yield "no owners", [VectorFlag.EMPTY], {"vnode_count": 0, "owners": []}
    yield "fewer owners than vnodes", [], {"vnode_count": 5, "owners": [1, 2, 3]}
    yield "the largest id", [VectorFlag.BOUND], {"vnode_count": 1, "owners": [U64_MAX]}
    yield (
        "256 vnodes of three nodes in turn",
        [],
        {"vnode_count": 256, "owners": [1 + index % 3 for index in range(256)]},
    )
    yield (
        "the most vnodes, of one node",
        [VectorFlag.BOUND, VectorFlag.LARGE],
        {
            "vnode_count": MAX_KEY_GROUP_COUNT,
            "owners": {"repeat": [7], "count": MAX_KEY_GROUP_COUNT},
        },
    )


def _fences() -> Iterator[tuple[str, list[VectorFlag], Input]]:
    boots = [f"{index:08x}-1111-4111-8111-{index:012x}" for index in range(1, 130)]

    def fence(nodes: list[int], **fields: Any) -> Input:
        members = [
            {"node_id": node, "boot_incarnation": boots[index]} for index, node in enumerate(nodes)
        ]
        return {
            "assignment_version": 1,
            "partitioning_abi_version": 2,
            "vnode_count": 4,
            "assignment_digest": "01" * 32,
            "participants": members,
        } | fields

    yield "one participant", [], fence([1])
    yield "two participants", [VectorFlag.ORDER], fence([1, 2])
    yield "129 participants", [VectorFlag.BOUND], fence(list(range(1, 130)))
    yield "the largest node id", [VectorFlag.BOUND], fence([U64_MAX])
    yield "the largest version", [VectorFlag.BOUND], fence([1], assignment_version=U64_MAX)
    yield "the most vnodes", [VectorFlag.BOUND], fence([1], vnode_count=MAX_KEY_GROUP_COUNT)
    yield "another digest", [], fence([1], assignment_digest="ff" * 32)


def _subscriptions() -> Iterator[tuple[str, list[VectorFlag], Input]]:
    node = b"laminardb-node-subscription-manifest-v1".hex()
    yield "an empty domain and an empty value", [VectorFlag.EMPTY], {"domain": "", "value": ""}
    yield "bytes in the domain", [VectorFlag.ORDER], {"domain": "6162", "value": ""}
    yield "the same bytes in the value", [VectorFlag.ORDER], {"domain": "", "value": "6162"}
    yield "one byte in each", [VectorFlag.ORDER], {"domain": "61", "value": "62"}
    for comment, flags, payload in _payloads(8 + 39 + 8):
        yield f"{comment}, as a node manifest", flags, {"domain": node, "value": payload}


_PAYLOAD_DIGESTS = {
    "checkpoint_sha256": _bytes,
    "checkpoint_descriptor_sha256": _descriptor,
    "checkpoint_artifact_intent_sha256": _intent,
}


def _wrong_domains(digest: str) -> Iterator[tuple[str, list[VectorFlag], Input, str]]:
    """Digests of the same payload by the other functions."""
    if digest not in _PAYLOAD_DIGESTS:
        return
    for other, function in _PAYLOAD_DIGESTS.items():
        for payload in ("", "00", "6c616d696e6172"):
            if other != digest:
                given: Input = {"payload": payload}
                yield (
                    f"{other} of the same payload",
                    [VectorFlag.WRONG_DOMAIN],
                    given,
                    function(given),
                )
    if digest != "checkpoint_sha256":
        absent, empty = DIGESTS[digest][1]({"payload": None}), DIGESTS[digest][1]({"payload": ""})
        yield "the digest of an absent payload", [VectorFlag.ABSENT], {"payload": ""}, absent
        yield "the digest of an empty payload", [VectorFlag.EMPTY], {"payload": None}, empty


def document() -> dict[str, Any]:
    """All vectors, as the file has them."""
    groups = []
    for digest, (about, function) in DIGESTS.items():
        vectors = [
            (comment, flags, given, function(given), "valid")
            for comment, flags, given in _vector_inputs(digest)
        ]
        vectors += [(*wrong, "invalid") for wrong in _wrong_domains(digest)]
        groups.append(
            {
                "digest": digest,
                "input": about,
                "vectors": [
                    {
                        "id": number,
                        "comment": comment,
                        "flags": sorted(flag.value for flag in flags),
                        "input": given,
                        "digest": expected,
                        "result": result,
                    }
                    for number, (comment, flags, given, expected, result) in enumerate(vectors, 1)
                ],
            }
        )
    return {"flags": {flag.value: flag.statement for flag in VectorFlag}, "groups": groups}


def text() -> str:
    """The file of vectors."""
    return json.dumps(document(), indent=1) + "\n"


def engine_digests(engine: Engine) -> dict[str, Callable[[Input], str]]:
    """The functions of *engine*, for those digests that it has."""
    functions: dict[str, Callable[[Input], str]] = {
        "checkpoint_sha256": lambda given: engine.checkpoint_sha256(
            payload_of(given["payload"]) or b""
        ),
        "checkpoint_descriptor_sha256": lambda given: engine.checkpoint_descriptor_sha256(
            payload_of(given["payload"])
        ),
        "owner_map_digest": lambda given: engine.owner_map_digest(
            given["vnode_count"], owners_of(given["owners"])
        ).hex(),
        "fence_digest": lambda given: engine.fence_digest(
            oracle.canonical_json_bytes(_fence(given))
        ).hex(),
    }
    if engine.manifest_version == oracle.V9.manifest_version:
        return functions
    functions["checkpoint_artifact_intent_sha256"] = lambda given: (
        engine.checkpoint_artifact_intent_sha256(payload_of(given["payload"]))
    )
    functions["subscription_digest"] = lambda given: engine.subscription_digest(
        payload_of(given["domain"]) or b"", payload_of(given["value"]) or b""
    ).hex()
    return functions


def problems(engines: list[Engine]) -> Iterator[Problem]:
    """Vectors that the oracle or one of *engines* does not confirm."""
    if not FILE.is_file() or FILE.read_text("utf-8") != text():
        yield Problem(FILE.name, "oracle", "not what the oracle computes; was it edited?")
        return
    judges: list[tuple[str, dict[str, Callable[[Input], str]]]] = [
        (engine.name, engine_digests(engine)) for engine in engines
    ]
    for group in json.loads(FILE.read_text("utf-8"))["groups"]:
        for vector in group["vectors"]:
            where = f"{group['digest']}/{vector['id']}"
            for judge, functions in judges:
                function = functions.get(group["digest"])
                if function is None:
                    continue
                agrees = function(vector["input"]) == vector["digest"]
                if agrees != (vector["result"] == "valid"):
                    yield Problem(where, judge, f"is not {vector['result']}: {vector['comment']}")
