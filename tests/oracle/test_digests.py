"""Digests against vectors made by hand from the bytes that the contract lists."""

from __future__ import annotations

import hashlib
import json
from uuid import UUID

import pytest

from oracle import (
    EMPTY_SHA256,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    checkpoint_sha256,
    decode,
    fence_digest,
    model,
    node_subscription_digest,
    owner_map_digest,
    subscription_digest,
)
from tests.oracle.documents import subscribed, text


def sha(*parts: bytes | str) -> str:
    """SHA-256 text of parts, each bytes or hexadecimal digits with spaces."""
    data = (part if isinstance(part, bytes) else bytes.fromhex(part) for part in parts)
    return hashlib.sha256(b"".join(data)).hexdigest()


def test_bytes() -> None:
    """Plain SHA-256, as its standard's own examples have it."""
    assert checkpoint_sha256(b"") == EMPTY_SHA256
    assert EMPTY_SHA256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert checkpoint_sha256(b"abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


@pytest.mark.parametrize("payload", [b"", b"\0", b"payload", b"x" * 70_000])
def test_payloads(payload: bytes) -> None:
    """A descriptor's digest binds the length, an intent's does not."""
    length = len(payload).to_bytes(8, "little")
    assert checkpoint_descriptor_sha256(payload) == sha(
        b"laminardb-prepared-sink-descriptor-v1", "00 01", length, payload
    )
    assert checkpoint_artifact_intent_sha256(payload) == sha(
        b"laminardb/checkpoint-sink-artifact-intent/v1", "00 01", payload
    )


def test_absent_payloads() -> None:
    """An absent payload differs from an empty one, and between the two domains."""
    assert checkpoint_descriptor_sha256(None) == sha(
        b"laminardb-prepared-sink-descriptor-v1", "00 00"
    )
    assert checkpoint_artifact_intent_sha256(None) == sha(
        b"laminardb/checkpoint-sink-artifact-intent/v1", "00 00"
    )
    digests = [
        digest(payload)
        for digest in (checkpoint_descriptor_sha256, checkpoint_artifact_intent_sha256)
        for payload in (None, b"")
    ]
    assert len({*digests}) == 4


def test_literal_vectors() -> None:
    """The constants that a manifest of any engine carries."""
    assert [checkpoint_descriptor_sha256(payload) for payload in (None, b"", b"a")] == [
        "71a59523eba3e754dbdbce93a156de1937d15e193219d139c344b31d7e19111f",
        "cc2c59fbd1c07b15cba35b316e00277a31624f3fecb46a1156291b47bcb63fdd",
        "8e9c92fd70983eb6a51e4e4d4e439ff6fd4b0f70d302dea47b4cf5d38b77fb1e",
    ]
    assert [checkpoint_artifact_intent_sha256(payload) for payload in (None, b"", b"a")] == [
        "1b7303e03bea825dc38f47c940fdb8925d758c168f897b5c0215930e7993f15d",
        "d69973f46ebc1eb231b7ecb8764a7bd911a096958f27d6e77e829d10b7a5bb67",
        "ed63f937d17fab3b469aad0eb830d927abee02d96108c40814c9c92e9110d8ee",
    ]


def test_owner_map() -> None:
    """ABI u16, vnode count u32, number of owners u64, owners u64, all little-endian."""
    assert owner_map_digest(4, [1, 2, 1, 2**64 - 1]).hex() == sha(
        b"laminardb-vnode-owner-map-v2",
        "00",
        "02 00",
        "04 00 00 00",
        "04 00 00 00 00 00 00 00",
        "01 00 00 00 00 00 00 00",
        "02 00 00 00 00 00 00 00",
        "01 00 00 00 00 00 00 00",
        "ff ff ff ff ff ff ff ff",
    )
    assert owner_map_digest(2**32 - 1, []).hex() == sha(
        b"laminardb-vnode-owner-map-v2", "00", "02 00", "ff ff ff ff", "00" * 8
    )


def test_fence() -> None:
    """Every field in order, the UUID as its sixteen bytes."""
    fence = model.CheckpointAssignmentFence(
        assignment_version=0x0102,
        partitioning_abi_version=2,
        vnode_count=0x010203,
        assignment_digest=bytes(range(32)),
        participants=(
            model.CheckpointParticipant(7, UUID("00112233-4455-6677-8899-aabbccddeeff")),
        ),
    )
    assert fence_digest(fence).hex() == sha(
        b"laminardb-checkpoint-assignment-v3",
        "00",
        "02 01 00 00 00 00 00 00",
        "02 00",
        "03 02 01 00",
        bytes(range(32)),
        "01 00 00 00 00 00 00 00",
        "07 00 00 00 00 00 00 00",
        "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff",
    )


def test_subscription() -> None:
    """The lengths keep domain and value apart."""
    assert subscription_digest(b"ab", b"c").hex() == sha(
        "02 00 00 00 00 00 00 00", b"ab", "01 00 00 00 00 00 00 00", b"c"
    )
    assert subscription_digest(b"ab", b"c") != subscription_digest(b"a", b"bc")


def test_node_subscription() -> None:
    """Of the canonical encoding without the digest itself, which does not matter."""
    document = subscribed()
    output = document["subscription_output"]
    body = {name: value for name, value in output.items() if name != "manifest_digest"}
    value = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    domain = b"laminardb-node-subscription-manifest-v1"
    found = decode(text(document)).subscription_output
    assert found is not None
    assert node_subscription_digest(found).hex() == sha(
        len(domain).to_bytes(8, "little"), domain, len(value).to_bytes(8, "little"), value
    )
    output["manifest_digest"] = [9] * 32
    other = decode(text(document)).subscription_output
    assert other is not None
    assert node_subscription_digest(other) == node_subscription_digest(found)
