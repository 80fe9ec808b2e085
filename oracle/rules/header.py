"""What the manifest says of itself: format, attempt, time, pipeline and deployment."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.constants import PARTITIONING_ABI_VERSION
from oracle.kernels import is_canonical_uuid, is_sha256_text
from oracle.registry import Place, rule
from oracle.subject import Subject


@rule("version")
def version(subject: Subject) -> Iterator[Place]:
    """Version is not the format's."""
    found, wanted = subject.manifest.version, subject.contract.manifest_version
    if found != wanted:
        yield "/version", f"version is {found}, the format's is {wanted}"


@rule("partitioning-abi")
def partitioning_abi(subject: Subject) -> Iterator[Place]:
    """partitioning_abi_version is not 2."""
    found = subject.manifest.partitioning_abi_version
    if found != PARTITIONING_ABI_VERSION:
        yield (
            "/partitioning_abi_version",
            f"partitioning_abi_version is {found}, not {PARTITIONING_ABI_VERSION}",
        )


@rule("attempt")
def attempt(subject: Subject) -> Iterator[Place]:
    """checkpoint_id is 0, or epoch differs from it."""
    checkpoint_id, epoch = subject.manifest.checkpoint_id, subject.manifest.epoch
    if checkpoint_id == 0:
        yield "/checkpoint_id", "checkpoint_id is 0"
    elif epoch != checkpoint_id:
        yield "/epoch", f"epoch is {epoch}, checkpoint_id is {checkpoint_id}"


@rule("timestamp")
def timestamp(subject: Subject) -> Iterator[Place]:
    """timestamp_ms is 0."""
    if subject.manifest.timestamp_ms == 0:
        yield "/timestamp_ms", "timestamp_ms is 0"


@rule("pipeline-identity")
def pipeline_identity(subject: Subject) -> Iterator[Place]:
    """canonical_version is not the format's; else its sha256 is not sha256 text."""
    identity = subject.manifest.pipeline_identity
    wanted = subject.contract.pipeline_identity_version
    if identity.canonical_version != wanted:
        yield (
            "/pipeline_identity/canonical_version",
            f"canonical_version is {identity.canonical_version}, the format's is {wanted}",
        )
    elif not is_sha256_text(identity.sha256):
        yield "/pipeline_identity/sha256", f"{identity.sha256!r} is not SHA-256 text"


@rule("deployment-id")
def deployment_id(subject: Subject) -> Iterator[Place]:
    """deployment_id is not the canonical text (hyphenated, lower case) of a non-nil UUID."""
    found = subject.manifest.deployment_id
    if not is_canonical_uuid(found):
        yield "/deployment_id", f"{found!r} is not the canonical text of a non-nil UUID"
