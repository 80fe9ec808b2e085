"""State frames: which state lies in which range of which object."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.kernels import first_disorder
from oracle.model import Vnode
from oracle.registry import Place, rule
from oracle.rules.payloads import Payloads, register_payload_rules
from oracle.subject import Subject


@rule("frames.order")
def frames_order(subject: Subject) -> Iterator[Place]:
    """state_frames is not strictly ascending by key: whole operators, then vnodes, by operator."""
    frames = subject.manifest.state_frames
    index = first_disorder([frame.key.order for frame in frames])
    if index is not None:
        yield (
            f"/state_frames/{index}/key",
            f"{frames[index].key} does not follow {frames[index - 1].key}",
        )


@rule("frames.vnode-domain")
def frames_vnode_domain(subject: Subject) -> Iterator[Place]:
    """A vnode key is not below vnode_count."""
    count = subject.manifest.vnode_count
    for index, frame in enumerate(subject.manifest.state_frames):
        if isinstance(frame.key, Vnode) and frame.key.vnode >= count:
            yield (
                f"/state_frames/{index}/key/vnode",
                f"vnode {frame.key.vnode} is not below vnode_count {count}",
            )


@rule("frames.vnode-owned", unspecified_with=("owned-vnodes.order",))
def frames_vnode_owned(subject: Subject) -> Iterator[Place]:
    """A vnode key is not in owned_vnodes."""
    for index, frame in enumerate(subject.manifest.state_frames):
        if isinstance(frame.key, Vnode) and frame.key.vnode not in subject.owned_vnodes:
            yield (
                f"/state_frames/{index}/key/vnode",
                f"vnode {frame.key.vnode} is not in owned_vnodes",
            )


FRAMES = Payloads(
    "frames",
    None,
    lambda subject: subject.manifest.state_frames,
    lambda subject, index: f"/state_frames/{index}",
    lambda subject: subject.frame_chunks,
)
register_payload_rules(FRAMES)
