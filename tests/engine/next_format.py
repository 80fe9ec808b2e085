"""A checkout of the engine that speaks the next format, made from a released one.

It is what a test needs and nothing like what the engine's authors will write: the new types, with
one field named otherwise than it is assumed, numbers of its own, and no rule but one.
"""

import os
import shutil
from pathlib import Path

VERSION = 12
MAX_SEGMENTS = 10_000
MAX_CLUSTER_SEGMENTS = 24_000
ROWS = "rows"
"""What is assumed to be called ``row_count``."""

_TYPES = f"""
/// The most segments of one manifest.
pub const MAX_VIEW_LOG_SEGMENTS: usize = {MAX_SEGMENTS};
/// The most segments of one cluster cut.
pub const MAX_CLUSTER_VIEW_LOG_SEGMENTS: usize = {MAX_CLUSTER_SEGMENTS};

/// The most segments of one manifest in a cut with so many participants.
#[must_use]
pub fn view_log_segment_limit(participants: usize) -> usize {{
    MAX_VIEW_LOG_SEGMENTS.min(MAX_CLUSTER_VIEW_LOG_SEGMENTS / participants)
}}

/// First and last instant.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct EventTimeBounds {{
    pub min: i64,
    pub max: i64,
}}

/// A run of rows.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ViewLogSegment {{
    pub partition: u16,
    pub first_row: u64,
    pub {ROWS}: u64,
    pub event_time: Option<EventTimeBounds>,
    pub chunk: StateChunkId,
    pub range: ByteRange,
    pub sha256: String,
}}

/// A view's log.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ViewLog {{
    pub view_name: String,
    pub segments: Vec<ViewLogSegment>,
}}

/// A point-in-time snapshot"""

_PATCHES = (
    ("pub const CHECKPOINT_MANIFEST_VERSION: u32 = 10;", f"= {VERSION};", "= 10;"),
    ("/// A point-in-time snapshot", _TYPES, "/// A point-in-time snapshot"),
    (
        "    pub referenced_chunks: Vec<ReferencedStateChunk>,\n",
        "    pub referenced_chunks: Vec<ReferencedStateChunk>,\n"
        "    /// Retained logs.\n"
        '    #[serde(default, skip_serializing_if = "Vec::is_empty")]\n'
        "    pub view_logs: Vec<ViewLog>,\n",
        None,
    ),
    (
        "            referenced_chunks: Vec::new(),\n",
        "            referenced_chunks: Vec::new(),\n            view_logs: Vec::new(),\n",
        None,
    ),
    (
        "        if self.timestamp_ms == 0 {\n",
        "        if self.view_logs.iter().any(|log| log.view_name.is_empty()) {\n"
        '            error("a view has no name".into());\n'
        "        }\n"
        "        if self.timestamp_ms == 0 {\n",
        None,
    ),
)


def released(release: str) -> Path:
    """The source of a release, as cargo keeps it for building."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    (found,) = home.glob(f"registry/src/*/laminar-core-{release}")
    return found


def write_checkout(directory: Path, release: str = "0.33.0") -> Path:
    """Copy the source of *release* into *directory* and let it speak the next format."""
    shutil.copytree(released(release), directory)
    source = directory / "src/checkpoint/checkpoint_manifest/mod.rs"
    text = source.read_text("utf-8")
    for place, new, old in _PATCHES:
        assert text.count(place) == 1, f"{place!r} is not where it was"
        text = text.replace(place, new if old is None else place.replace(old, new))
    source.write_text(text, "utf-8")
    return directory
