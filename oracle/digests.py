"""The digests that a manifest carries, each under the engine's name for it.

Text digests are 64 lower-case hexadecimal digits; raw ones are 32 bytes. Integers are hashed
little-endian, in the width of their field.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from oracle.constants import PARTITIONING_ABI_VERSION
from oracle.formats import V10
from oracle.model import (
    CheckpointAssignmentFence,
    NodeSubscriptionBody,
    NodeSubscriptionManifest,
)
from oracle.shapes import encoder

DESCRIPTOR_DOMAIN = b"laminardb-prepared-sink-descriptor-v1\0"
ARTIFACT_INTENT_DOMAIN = b"laminardb/checkpoint-sink-artifact-intent/v1\0"
OWNER_MAP_DOMAIN = b"laminardb-vnode-owner-map-v2\0"
FENCE_DOMAIN = b"laminardb-checkpoint-assignment-v3\0"
NODE_SUBSCRIPTION_DOMAIN = b"laminardb-node-subscription-manifest-v1"

EMPTY_SHA256 = sha256().hexdigest()
"""SHA-256 text of no bytes."""


def checkpoint_sha256(data: bytes) -> str:
    """SHA-256 text of *data*."""
    return sha256(data).hexdigest()


def checkpoint_descriptor_sha256(payload: bytes | None) -> str:
    """SHA-256 text of a prepared sink's payload, in a domain that tells absent from empty."""
    if payload is None:
        return sha256(DESCRIPTOR_DOMAIN + b"\0").hexdigest()
    return sha256(DESCRIPTOR_DOMAIN + b"\1" + _u64(len(payload)) + payload).hexdigest()


def checkpoint_artifact_intent_sha256(payload: bytes | None) -> str:
    """SHA-256 text of a sink artifact intent's payload; unlike a descriptor's, without length."""
    if payload is None:
        return sha256(ARTIFACT_INTENT_DOMAIN + b"\0").hexdigest()
    return sha256(ARTIFACT_INTENT_DOMAIN + b"\1" + payload).hexdigest()


def owner_map_digest(vnode_count: int, owners: Sequence[int]) -> bytes:
    """Digest of which node owns which vnode: *owners* in vnode order, each a u64."""
    return sha256(
        OWNER_MAP_DOMAIN
        + PARTITIONING_ABI_VERSION.to_bytes(2, "little")
        + vnode_count.to_bytes(4, "little")
        + _u64(len(owners))
        + b"".join(map(_u64, owners))
    ).digest()


def fence_digest(fence: CheckpointAssignmentFence) -> bytes:
    """Digest that binds every field of an assignment fence."""
    return sha256(
        FENCE_DOMAIN
        + _u64(fence.assignment_version)
        + fence.partitioning_abi_version.to_bytes(2, "little")
        + fence.vnode_count.to_bytes(4, "little")
        + fence.assignment_digest
        + _u64(len(fence.participants))
        + b"".join(
            _u64(member.node_id) + member.boot_incarnation.bytes for member in fence.participants
        )
    ).digest()


def subscription_digest(domain: bytes, value: bytes) -> bytes:
    """Digest of *value* in *domain*, each preceded by its length."""
    return sha256(_u64(len(domain)) + domain + _u64(len(value)) + value).digest()


def node_subscription_digest(output: NodeSubscriptionManifest) -> bytes:
    """What ``manifest_digest`` must be: of the canonical encoding without that field."""
    return subscription_digest(NODE_SUBSCRIPTION_DOMAIN, unsealed_bytes(output))


def unsealed_bytes(output: NodeSubscriptionManifest) -> bytes:
    """Canonical encoding of *output* without ``manifest_digest``."""
    text: str = encoder(NodeSubscriptionBody, V10)(output)
    return text.encode()


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "little")
