"""State frames: which state lies in which range of which object."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.kernels import ends_beyond, first_disorder, is_sha256_text
from oracle.model import Vnode
from oracle.registry import Place, rule
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


@rule("frames.empty")
def frames_empty(subject: Subject) -> Iterator[Place]:
    """A frame's range has length 0."""
    for index, frame in enumerate(subject.manifest.state_frames):
        if frame.range.length == 0:
            yield f"/state_frames/{index}/range/length", "the frame is empty"


@rule("frames.digest")
def frames_digest(subject: Subject) -> Iterator[Place]:
    """A frame's sha256 is not sha256 text."""
    for index, frame in enumerate(subject.manifest.state_frames):
        if not is_sha256_text(frame.sha256):
            yield f"/state_frames/{index}/sha256", f"{frame.sha256!r} is not SHA-256 text"


@rule("frames.untracked")
def frames_untracked(subject: Subject) -> Iterator[Place]:
    """A frame's chunk is neither the current one nor in referenced_chunks.

    Then only overflow is examined of its range.
    """
    frames = subject.manifest.state_frames
    for index, length in enumerate(subject.frame_object_lengths):
        if length is None:
            yield (
                f"/state_frames/{index}/chunk",
                f"{frames[index].chunk} is neither current nor referenced",
            )


@rule("frames.range-overflow")
def frames_range_overflow(subject: Subject) -> Iterator[Place]:
    """Offset + length of a frame passes u64."""
    for index, frame in enumerate(subject.manifest.state_frames):
        if frame.range.end is None:
            yield f"/state_frames/{index}/range", f"{frame.range} passes u64"


@rule("frames.range-end")
def frames_range_end(subject: Subject) -> Iterator[Place]:
    """A frame's range ends beyond its object's length (of a chunk listed twice, the later's)."""
    frames = subject.manifest.state_frames
    for index, length in enumerate(subject.frame_object_lengths):
        part = frames[index].range
        if length is not None and ends_beyond(part.offset, part.length, length):
            yield f"/state_frames/{index}/range", f"{part} ends beyond its object of {length} bytes"
