"""Digests: every digest function of the oracle beside the engine's, on the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fuzz.targets import Target

if TYPE_CHECKING:
    from fuzz.targets.session import Session

_PART = 8
_MOST_OWNERS = 512


def target(session: Session, seed: int) -> Target:
    """Compare digests of what the input is cut into."""
    import oracle

    engine = session.engine

    def sha256(data: bytes) -> tuple[object, object]:
        return oracle.checkpoint_sha256(data), engine.checkpoint_sha256(data)

    def descriptor(data: bytes) -> tuple[object, object]:
        payload = data[1:] if data[:1] != b"\0" else None
        return (
            oracle.checkpoint_descriptor_sha256(payload),
            engine.checkpoint_descriptor_sha256(payload),
        )

    def intent(data: bytes) -> tuple[object, object]:
        payload = data[1:] if data[:1] != b"\0" else None
        return (
            oracle.checkpoint_artifact_intent_sha256(payload),
            engine.checkpoint_artifact_intent_sha256(payload),
        )

    def owner_map(data: bytes) -> tuple[object, object]:
        parts = range(0, min(len(data), _PART * _MOST_OWNERS), _PART)
        owners = [int.from_bytes(data[start : start + _PART], "little") for start in parts]
        count = len(owners)
        return oracle.owner_map_digest(count, owners), engine.owner_map_digest(count, owners)

    def subscription(data: bytes) -> tuple[object, object]:
        cut = data[0] if data else 0
        domain, value = data[1 : 1 + cut], data[1 + cut :]
        return (
            oracle.subscription_digest(domain, value),
            engine.subscription_digest(domain, value),
        )

    functions: list[Callable[[bytes], tuple[object, object]]] = [sha256, descriptor, owner_map]
    if session.contract.has(oracle.Feature.SINK_ARTIFACT_INTENTS):
        functions.append(intent)
    if session.contract.has(oracle.Feature.SUBSCRIPTION_OUTPUT):
        functions.append(subscription)

    def check(data: bytes) -> None:
        for function in functions:
            expected, found = function(data)
            session.digest(function.__name__, data, expected, found)

    return Target(check)


if __name__ == "__main__":
    from fuzz.targets.alone import main

    main("digests")
