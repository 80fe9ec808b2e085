"""State frames: which state lies in which range of which object."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.kernels import ends_beyond, first_disorder, is_sha256_text
from oracle.model import StateFrame, Vnode
from oracle.registry import Place, rule
from oracle.subject import Subject


def _frames(subject: Subject) -> Iterator[tuple[str, StateFrame]]:
    for index, frame in enumerate(subject.manifest.state_frames):
        yield f"/state_frames/{index}", frame


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
    for pointer, frame in _frames(subject):
        if isinstance(frame.key, Vnode) and frame.key.vnode >= count:
            yield (
                f"{pointer}/key/vnode",
                f"vnode {frame.key.vnode} is not below vnode_count {count}",
            )


@rule("frames.vnode-owned", unspecified_with=("owned-vnodes.order",))
def frames_vnode_owned(subject: Subject) -> Iterator[Place]:
    """A vnode key is not in owned_vnodes."""
    for pointer, frame in _frames(subject):
        if isinstance(frame.key, Vnode) and frame.key.vnode not in subject.owned_vnodes:
            yield f"{pointer}/key/vnode", f"vnode {frame.key.vnode} is not in owned_vnodes"


@rule("frames.empty")
def frames_empty(subject: Subject) -> Iterator[Place]:
    """A frame's range has length 0."""
    for pointer, frame in _frames(subject):
        if frame.range.length == 0:
            yield f"{pointer}/range/length", "the frame is empty"


@rule("frames.digest")
def frames_digest(subject: Subject) -> Iterator[Place]:
    """A frame's sha256 is not sha256 text."""
    for pointer, frame in _frames(subject):
        if not is_sha256_text(frame.sha256):
            yield f"{pointer}/sha256", f"{frame.sha256!r} is not SHA-256 text"


@rule("frames.untracked")
def frames_untracked(subject: Subject) -> Iterator[Place]:
    """A frame's chunk is neither the current one nor in referenced_chunks.

    Then only overflow is examined of its range.
    """
    for pointer, frame in _frames(subject):
        if subject.object_length(frame.chunk) is None:
            yield f"{pointer}/chunk", f"{frame.chunk} is neither current nor referenced"


@rule("frames.range-overflow")
def frames_range_overflow(subject: Subject) -> Iterator[Place]:
    """Offset + length of a frame passes u64."""
    for pointer, frame in _frames(subject):
        if frame.range.end is None:
            yield f"{pointer}/range", f"{frame.range} passes u64"


@rule("frames.range-end")
def frames_range_end(subject: Subject) -> Iterator[Place]:
    """A frame's range ends beyond its object's length (of a chunk listed twice, the later's)."""
    for pointer, frame in _frames(subject):
        length = subject.object_length(frame.chunk)
        if length is not None and ends_beyond(frame.range.offset, frame.range.length, length):
            yield f"{pointer}/range", f"{frame.range} ends beyond its object of {length} bytes"
