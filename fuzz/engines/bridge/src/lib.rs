//! The production engine as a Python module: thin calls, nothing re-implemented.

mod coverage;
mod cut;
mod digest;
mod outcome;
#[cfg(feature = "stand-in")]
mod stand_in;
mod store;

use std::collections::BTreeMap;

use laminar_core::checkpoint::checkpoint_manifest::*;
use laminar_core::checkpoint::checkpoint_store::DEFAULT_MAX_CHECKPOINT_NODE_DATA_BYTES;
#[cfg(feature = "subscription")]
use laminar_core::checkpoint::subscription::*;
use laminar_core::checkpoint::*;
use laminar_core::state::*;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use outcome::{decode, guarded, refused, Panicked, Refused};

/// Below this many bytes, giving the interpreter away costs more than it gives others.
const WORTH_DETACHING: usize = 1 << 16;

/// A key-group count that the engine takes; everything else is a `ValueError`.
struct KeyGroups(KeyGroupCount);

impl FromPyObject<'_, '_> for KeyGroups {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let count = value.extract::<u32>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                PyValueError::new_err(format!("key-group count is outside 1..={MAX_KEY_GROUP_COUNT}"))
            } else {
                error
            }
        })?;
        let count = KeyGroupCount::try_from(count);
        count.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

type Verdict = (&'static str, Vec<String>, Option<Vec<u8>>);
type PyVerdict<'py> = (&'static str, Bound<'py, PyTuple>, Option<Bound<'py, PyBytes>>);

/// Decode, validate and, on request, encode canonically.
#[pyfunction(name = "verdict")]
fn judge<'py>(py: Python<'py>, data: &[u8], key_groups: KeyGroups, canonical: bool) -> PyResult<PyVerdict<'py>> {
    verdict_of(py, data.len(), || verdict(data, key_groups.0, canonical))
}

/// The verdict that `work` comes to on a document of so many bytes.
fn verdict_of<'py>(
    py: Python<'py>,
    length: usize,
    work: impl FnOnce() -> PyResult<Verdict> + Send,
) -> PyResult<PyVerdict<'py>> {
    let work = || guarded(work);
    let (stage, messages, encoded) = if length < WORTH_DETACHING { work() } else { py.detach(work) }?;
    let encoded = encoded.map(|bytes| PyBytes::new(py, &bytes));
    Ok((stage, PyTuple::new(py, messages)?, encoded))
}

fn verdict(data: &[u8], key_groups: KeyGroupCount, canonical: bool) -> PyResult<Verdict> {
    let manifest: CheckpointManifest = match serde_json::from_slice(data) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(("decode", vec![error.to_string()], None)),
    };
    let errors = manifest.validate(key_groups);
    let stage = if errors.is_empty() { "valid" } else { "invalid" };
    let messages = errors.into_iter().map(|error| error.message).collect();
    let encoded = if canonical { Some(checkpoint_manifest_bytes(&manifest).map_err(refused)?) } else { None };
    Ok((stage, messages, encoded))
}

/// Decode and encode canonically, whatever validation would say.
#[pyfunction(name = "checkpoint_manifest_bytes")]
fn encode<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = guarded(|| checkpoint_manifest_bytes(&decode::<CheckpointManifest>(data)?).map_err(refused))?;
    Ok(PyBytes::new(py, &encoded))
}

/// The event-time state of a JSON array of channel progress: a class, and its value if it has one.
#[pyfunction(name = "classify_channel_progress")]
fn classify(channels: &[u8]) -> PyResult<(&'static str, Option<i64>)> {
    guarded(|| {
        let class = classify_channel_progress(&decode::<Vec<ChannelProgress>>(channels)?).map_err(refused)?;
        Ok(match class {
            CheckpointWatermark::Uninitialized => ("uninitialized", None),
            CheckpointWatermark::Idle => ("idle", None),
            CheckpointWatermark::Active(value) => ("active", Some(value)),
        })
    })
}

/// The numeric frontier of a JSON array of channel progress.
#[pyfunction(name = "channel_progress_frontier")]
fn frontier(channels: &[u8]) -> PyResult<Option<i64>> {
    guarded(|| channel_progress_frontier(&decode::<Vec<ChannelProgress>>(channels)?).map_err(refused))
}

/// The numeric frontier of each source of a JSON array of channel progress.
#[pyfunction(name = "channel_progress_frontiers_by_source")]
fn frontiers(channels: &[u8]) -> PyResult<BTreeMap<String, Option<i64>>> {
    guarded(|| {
        let channels: Vec<ChannelProgress> = decode(channels)?;
        let frontiers = channel_progress_frontiers_by_source(&channels).map_err(refused)?;
        Ok(frontiers.into_iter().map(|(source, value)| (source.to_owned(), value)).collect())
    })
}

/// Panic on purpose, so that a test can see what becomes of a panic.
#[pyfunction]
fn provoke_panic(message: String) -> PyResult<()> {
    guarded(|| panic!("{message}"))
}

/// The engine's public constants, under the engine's names.
fn constants(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    macro_rules! export {
        ($($name:ident),* $(,)?) => { $(all.set_item(stringify!($name), $name)?;)* };
    }
    export![
        CHECKPOINT_MANIFEST_VERSION,
        COMMITTED_CHECKPOINT_INDEX_VERSION,
        DEFAULT_MAX_CHECKPOINT_NODE_DATA_BYTES,
        MAX_CHECKPOINT_PARTICIPANTS,
        MAX_COMMITTED_CHECKPOINT_INDEX_BYTES,
        MAX_KEY_GROUP_COUNT,
        PARTITIONING_ABI_VERSION,
        PIPELINE_IDENTITY_VERSION,
        PREPARED_SINK_DESCRIPTOR_VERSION,
    ];
    #[cfg(feature = "subscription")]
    export![
        MAX_OUTPUT_FRAMES_PER_SEGMENT,
        MAX_OUTPUT_SEGMENTS_PER_MANIFEST,
        MAX_OUTPUT_SEGMENT_BYTES,
        MAX_SUBSCRIPTION_MANIFEST_BYTES,
        OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION,
        SUBSCRIPTION_PROTOCOL_VERSION,
    ];
    #[cfg(feature = "view-logs")]
    export![MAX_CLUSTER_VIEW_LOG_SEGMENTS, MAX_VIEW_LOG_SEGMENTS];
    all.set_item("DEFAULT_KEY_GROUP_COUNT", DEFAULT_KEY_GROUP_COUNT.get())?;
    all.set_item("LOCAL_NODE_ID", LOCAL_NODE_ID.0)?;
    all.set_item("SINGLETON_WATERMARK_CHANNEL", PyBytes::new(py, SINGLETON_WATERMARK_CHANNEL))?;
    Ok(all)
}

/// The key-group count as the engine holds it, or `ValueError`.
#[pyfunction]
fn key_group_count(value: KeyGroups) -> u16 {
    value.0.get()
}

/// The most view-log segments that one manifest of a cut with so many participants may retain.
// The engine's integer types are not known before it is there, so the conversions take what it has.
#[cfg(feature = "view-logs")]
#[pyfunction(name = "view_log_segment_limit")]
fn segment_limit(participants: u64) -> PyResult<u64> {
    let participants = participants.try_into().map_err(|_| PyOverflowError::new_err("too many participants"))?;
    guarded(|| u64::try_from(view_log_segment_limit(participants)).map_err(refused))
}

/// Copy the counters of all places that a fuzzer would see; empty when there is a fuzzer, and it took them.
#[pyfunction]
fn coverage_snapshot(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &coverage::snapshot())
}

/// Set those counters to zero.
#[pyfunction]
fn reset_coverage() {
    coverage::reset();
}

/// What does not depend on the format: the stand-in has it too.
fn register_shared(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("coverage_counters", coverage::counters())?;
    module.add("Refused", py.get_type::<Refused>())?;
    module.add("Panicked", py.get_type::<Panicked>())?;
    module.add_function(wrap_pyfunction!(coverage_snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(reset_coverage, module)?)?;
    module.add_function(wrap_pyfunction!(classify, module)?)?;
    module.add_function(wrap_pyfunction!(frontier, module)?)?;
    module.add_function(wrap_pyfunction!(frontiers, module)?)?;
    module.add_function(wrap_pyfunction!(provoke_panic, module)?)?;
    module.add_function(wrap_pyfunction!(key_group_count, module)?)?;
    digest::register(module)
}

#[pymodule]
fn bridge(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    outcome::silence_panics();
    module.add("constants", constants(py)?)?;
    module.add_function(wrap_pyfunction!(judge, module)?)?;
    module.add_function(wrap_pyfunction!(encode, module)?)?;
    #[cfg(feature = "view-logs")]
    module.add_function(wrap_pyfunction!(segment_limit, module)?)?;
    register_shared(module)?;
    #[cfg(feature = "stand-in")]
    stand_in::register(module)?;
    store::register(module)?;
    cut::register(module)
}
