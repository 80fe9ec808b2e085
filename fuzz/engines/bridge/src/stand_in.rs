//! The stand-in: a second opinion on view logs, a format that no released engine speaks. It is no evidence about one.
//!
//! Written from the same assumptions as the oracle, in the engine's own habits, so that a slip in decoding, bounds or
//! order of either shows as a difference. Everything that is not about view logs is laminar-core's word: it judges the
//! same manifest without its view logs, as one of the format that it speaks.

use std::collections::HashMap;

use laminar_core::checkpoint::checkpoint_manifest::CHECKPOINT_MANIFEST_VERSION;
use laminar_core::checkpoint::*;
use laminar_core::state::{KeyGroupCount, LOCAL_NODE_ID};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};

use crate::outcome::{decode, guarded, refused};
use crate::{KeyGroups, PyVerdict, Verdict};

const MANIFEST_VERSION: u32 = 11;
const MAX_VIEW_LOG_SEGMENTS: usize = 16_384;
const MAX_CLUSTER_VIEW_LOG_SEGMENTS: usize = 24_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventTimeBounds {
    min: i64,
    max: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewLogSegment {
    partition: u16,
    first_row: u64,
    row_count: u64,
    event_time: Option<EventTimeBounds>,
    chunk: StateChunkId,
    range: ByteRange,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewLog {
    view_name: String,
    segments: Vec<ViewLogSegment>,
}

/// The engine's manifest with view logs in it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    version: u32,
    checkpoint_id: u64,
    epoch: u64,
    timestamp_ms: u64,
    participant_id: u64,
    source_offsets: HashMap<String, ConnectorCheckpoint>,
    source_names: Vec<String>,
    sink_names: Vec<String>,
    pipeline_identity: PipelineIdentity,
    deployment_id: String,
    partitioning_abi_version: u16,
    vnode_count: u16,
    assignment_fence: Option<CheckpointAssignmentFence>,
    reassignment_portable: bool,
    owned_vnodes: Vec<u16>,
    checkpoint_watermark: Option<i64>,
    channel_progress: Vec<ChannelProgress>,
    node_data: NodeDataObject,
    state_frames: Vec<StateFrame>,
    prepared_sinks: Vec<PreparedSinkDescriptor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sink_artifact_intents: Vec<PreparedSinkArtifactIntent>,
    referenced_chunks: Vec<ReferencedStateChunk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    view_logs: Vec<ViewLog>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subscription_output: Option<NodeSubscriptionManifest>,
}

impl Manifest {
    /// The version, laminar-core's part under the version that it speaks, and the view logs.
    fn into_parts(self) -> (u32, CheckpointManifest, Vec<ViewLog>) {
        let core = CheckpointManifest {
            version: CHECKPOINT_MANIFEST_VERSION,
            checkpoint_id: self.checkpoint_id,
            epoch: self.epoch,
            timestamp_ms: self.timestamp_ms,
            participant_id: self.participant_id,
            source_offsets: self.source_offsets,
            source_names: self.source_names,
            sink_names: self.sink_names,
            pipeline_identity: self.pipeline_identity,
            deployment_id: self.deployment_id,
            partitioning_abi_version: self.partitioning_abi_version,
            vnode_count: self.vnode_count,
            assignment_fence: self.assignment_fence,
            reassignment_portable: self.reassignment_portable,
            owned_vnodes: self.owned_vnodes,
            checkpoint_watermark: self.checkpoint_watermark,
            channel_progress: self.channel_progress,
            node_data: self.node_data,
            state_frames: self.state_frames,
            prepared_sinks: self.prepared_sinks,
            sink_artifact_intents: self.sink_artifact_intents,
            referenced_chunks: self.referenced_chunks,
            subscription_output: self.subscription_output,
        };
        (self.version, core, self.view_logs)
    }
}

/// The most segments of one manifest in a cut with so many participants; none for a cut without any.
fn segment_limit(participants: usize) -> Option<usize> {
    let share = MAX_CLUSTER_VIEW_LOG_SEGMENTS.checked_div(participants)?;
    Some(share.min(MAX_VIEW_LOG_SEGMENTS))
}

fn validate(version: u32, core: &CheckpointManifest, logs: &[ViewLog], key_groups: KeyGroupCount) -> Vec<String> {
    let mut errors: Vec<String> = core.validate(key_groups).into_iter().map(|error| error.message).collect();
    // Segments count and take room, so what laminar-core says of counts and layout is not the last word.
    errors.retain(|message| !is_about_all_payloads(message));
    if version != MANIFEST_VERSION {
        errors.push(format!("unsupported manifest version {version}; expected {MANIFEST_VERSION}"));
    }
    if !logs.windows(2).all(|pair| pair[0].view_name < pair[1].view_name) {
        errors.push("view_logs must be strictly ordered by view_name".into());
    }
    let objects = object_lengths(core);
    for log in logs {
        validate_log(core, &objects, log, &mut errors);
    }
    validate_counts(core, logs, &mut errors);
    validate_layout(core, logs, &mut errors);
    let participants = core.assignment_fence.as_ref().map_or(1, |fence| fence.participants.len());
    let count: usize = logs.iter().map(|log| log.segments.len()).sum();
    if segment_limit(participants).is_none_or(|limit| count > limit) {
        errors.push(format!("view logs retain {count} segments, too many for {participants} participants"));
    }
    errors
}

fn is_about_all_payloads(message: &str) -> bool {
    let placed = ["state frame ", "sink artifact intent '", "prepared sink '"];
    (message.starts_with("referenced chunk StateChunkId {") && message.ends_with(" state frames reference it"))
        || (message.ends_with(" in the canonical node object") && placed.iter().any(|owner| message.starts_with(owner)))
        || message.starts_with("current frame and sink ranges cover ")
}

/// The length of every object that the manifest knows.
///
/// Of a chunk that is listed twice the later entry counts, and the current object before any of them.
fn object_lengths(core: &CheckpointManifest) -> HashMap<StateChunkId, u64> {
    let older = core.referenced_chunks.iter().map(|entry| (entry.chunk, entry.object_length));
    older.chain([(core.node_data.chunk, core.node_data.object_length)]).collect()
}

fn validate_log(
    core: &CheckpointManifest,
    objects: &HashMap<StateChunkId, u64>,
    log: &ViewLog,
    errors: &mut Vec<String>,
) {
    if log.view_name.is_empty() {
        errors.push("view log name must not be empty".into());
    }
    let name = &log.view_name;
    let key = |segment: &ViewLogSegment| (segment.partition, segment.first_row);
    if !log.segments.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])) {
        errors.push(format!("view log '{name}' segments must be strictly ordered by partition and first row"));
    }
    for pair in log.segments.windows(2).filter(|pair| pair[0].partition == pair[1].partition) {
        let end = pair[0].first_row.checked_add(pair[0].row_count);
        if end.is_some_and(|end| end != pair[1].first_row) {
            errors.push(format!(
                "view log '{name}' segment starts at row {}, not where the rows before end",
                pair[1].first_row
            ));
        }
    }
    for segment in &log.segments {
        for fault in faults(core, objects, segment) {
            errors.push(format!("view log '{name}' segment {fault}"));
        }
    }
}

/// What is wrong with one segment, whatever is around it.
fn faults(
    core: &CheckpointManifest,
    objects: &HashMap<StateChunkId, u64>,
    segment: &ViewLogSegment,
) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let mut check = |broken: bool, fault| {
        if broken {
            faults.push(fault)
        }
    };
    let partition = segment.partition;
    check(
        segment.row_count == 0 || segment.first_row.checked_add(segment.row_count).is_none(),
        "has no valid row range",
    );
    check(partition >= core.vnode_count, "partition is outside the vnode domain");
    check(core.owned_vnodes.binary_search(&partition).is_err(), "partition is not owned by the participant");
    let bounds = segment.event_time.as_ref();
    check(
        bounds.is_some_and(|b| b.min > b.max || b.min == i64::MIN || b.max == i64::MIN),
        "has no valid event-time bounds",
    );
    check(segment.range.length == 0, "has an empty payload");
    check(!is_sha256(&segment.sha256), "digest must be lowercase SHA-256");
    let object = objects.get(&segment.chunk);
    check(object.is_none(), "references an untracked chunk");
    match segment.range.end() {
        None => check(true, "byte range overflows"),
        Some(end) => check(object.is_some_and(|length| end > *length), "byte range ends beyond its object"),
    }
    faults
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn segments(logs: &[ViewLog]) -> impl Iterator<Item = &ViewLogSegment> {
    logs.iter().flat_map(|log| &log.segments)
}

fn validate_counts(core: &CheckpointManifest, logs: &[ViewLog], errors: &mut Vec<String>) {
    let named = core.state_frames.iter().map(|frame| frame.chunk).chain(segments(logs).map(|segment| segment.chunk));
    let mut uses = HashMap::<StateChunkId, u32>::new();
    for chunk in named.filter(|chunk| *chunk != core.node_data.chunk) {
        *uses.entry(chunk).or_default() += 1;
    }
    for entry in &core.referenced_chunks {
        let used = uses.get(&entry.chunk).copied().unwrap_or(0);
        if entry.ref_count.get() != used {
            errors.push(format!(
                "referenced chunk {:?} declares ref_count {}, but {used} payloads reference it",
                entry.chunk, entry.ref_count
            ));
        }
    }
}

/// Frames, segments, intents and sinks fill the current object in this order, without a gap.
fn validate_layout(core: &CheckpointManifest, logs: &[ViewLog], errors: &mut Vec<String>) {
    let current = core.node_data.chunk;
    let frames = core.state_frames.iter().filter(|frame| frame.chunk == current).map(|frame| frame.range);
    let logged = segments(logs).filter(|segment| segment.chunk == current).map(|segment| segment.range);
    let intents = core.sink_artifact_intents.iter().filter_map(|intent| intent.payload);
    let sinks = core.prepared_sinks.iter().filter_map(|sink| sink.payload);
    let mut expected = 0;
    for range in frames.chain(logged).chain(intents).chain(sinks) {
        if range.offset != expected {
            errors.push(format!("a payload starts at {}, expected {expected} in the node object", range.offset));
        }
        expected = range.end().unwrap_or(expected);
    }
    let length = core.node_data.object_length;
    if expected != length {
        errors.push(format!("payloads cover {expected} bytes, but node_data declares {length}"));
    }
}

fn verdict(data: &[u8], key_groups: KeyGroupCount, canonical: bool) -> PyResult<Verdict> {
    let manifest: Manifest = match serde_json::from_slice(data) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(("decode", vec![error.to_string()], None)),
    };
    let encoded = if canonical { Some(canonical_json_bytes(&manifest).map_err(refused)?) } else { None };
    let (version, core, logs) = manifest.into_parts();
    let messages = validate(version, &core, &logs, key_groups);
    Ok((if messages.is_empty() { "valid" } else { "invalid" }, messages, encoded))
}

/// Decode, validate and, on request, encode canonically, with the stand-in.
#[pyfunction(name = "verdict")]
fn judge<'py>(py: Python<'py>, data: &[u8], key_groups: KeyGroups, canonical: bool) -> PyResult<PyVerdict<'py>> {
    crate::verdict_of(py, data.len(), || verdict(data, key_groups.0, canonical))
}

/// Decode and encode canonically, whatever validation would say.
#[pyfunction(name = "checkpoint_manifest_bytes")]
fn encode<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = guarded(|| canonical_json_bytes(&decode::<Manifest>(data)?).map_err(refused))?;
    Ok(PyBytes::new(py, &encoded))
}

#[pyfunction]
fn view_log_segment_limit(participants: usize) -> PyResult<usize> {
    segment_limit(participants).ok_or_else(|| PyValueError::new_err("a cut has at least 1 participant"))
}

/// The stand-in as a module like the bridge itself, without a store and an index.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let own = PyModule::new(py, "stand_in")?;
    let constants = PyDict::new(py);
    constants.set_item("CHECKPOINT_MANIFEST_VERSION", MANIFEST_VERSION)?;
    constants.set_item("PIPELINE_IDENTITY_VERSION", PIPELINE_IDENTITY_VERSION)?;
    constants.set_item("MAX_VIEW_LOG_SEGMENTS", MAX_VIEW_LOG_SEGMENTS)?;
    constants.set_item("MAX_CLUSTER_VIEW_LOG_SEGMENTS", MAX_CLUSTER_VIEW_LOG_SEGMENTS)?;
    constants.set_item("LOCAL_NODE_ID", LOCAL_NODE_ID.0)?;
    own.add("constants", constants)?;
    own.add_function(wrap_pyfunction!(judge, &own)?)?;
    own.add_function(wrap_pyfunction!(encode, &own)?)?;
    own.add_function(wrap_pyfunction!(view_log_segment_limit, &own)?)?;
    crate::register_shared(&own)?;
    module.add("stand_in", own)
}
