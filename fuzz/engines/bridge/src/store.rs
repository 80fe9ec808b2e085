//! The engine's own checkpoint store over a local directory.

use std::future::Future;
use std::path::PathBuf;

use bytes::Bytes;
use laminar_core::checkpoint::object_store_builder::durable_local_object_store;
use laminar_core::checkpoint::{
    checkpoint_manifest_bytes, ByteRange, CheckpointManifest, CheckpointStore, CheckpointStoreError,
    ObjectStoreCheckpointStore, StateChunkId,
};
use laminar_core::state::{DEFAULT_KEY_GROUP_COUNT, LOCAL_NODE_ID};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::outcome::{decode, guarded, refused};
use crate::KeyGroups;

fn open(root: PathBuf, participant_id: u64, key_groups: KeyGroups) -> PyResult<ObjectStoreCheckpointStore> {
    let backing = durable_local_object_store(root).map_err(refused)?;
    let store = ObjectStoreCheckpointStore::new(backing, "");
    Ok(store.with_participant_id(participant_id).with_key_group_count(key_groups.0))
}

fn wait<T>(task: impl Future<Output = Result<T, CheckpointStoreError>>) -> PyResult<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| PyOSError::new_err(error.to_string()))?;
    runtime.block_on(task).map_err(refused)
}

/// Save a manifest and its node data; gives the manifest's bytes as the engine wrote them.
#[pyfunction]
fn save_checkpoint<'py>(
    py: Python<'py>,
    root: PathBuf,
    manifest: &[u8],
    node_data: &[u8],
    key_groups: KeyGroups,
) -> PyResult<Bound<'py, PyBytes>> {
    let written = py.detach(|| {
        guarded(|| {
            let manifest: CheckpointManifest = decode(manifest)?;
            let store = open(root, manifest.participant_id, key_groups)?;
            wait(store.save_checkpoint(&manifest, &[Bytes::copy_from_slice(node_data)]))
        })
    })?;
    Ok(PyBytes::new(py, &written))
}

/// Load a manifest, by exact length and SHA-256 if those are given; gives its canonical bytes.
#[pyfunction]
#[pyo3(signature = (root, participant_id, checkpoint_id, key_groups, expected = None))]
fn load_manifest(
    py: Python<'_>,
    root: PathBuf,
    participant_id: u64,
    checkpoint_id: u64,
    key_groups: KeyGroups,
    expected: Option<(u64, String)>,
) -> PyResult<Option<Bound<'_, PyBytes>>> {
    let encoded = py.detach(|| {
        guarded(|| {
            let store = open(root, participant_id, key_groups)?;
            let manifest = match expected {
                None => wait(store.load_manifest(checkpoint_id)),
                Some((length, sha256)) => {
                    wait(store.load_manifest_verified(participant_id, checkpoint_id, length, &sha256))
                }
            }?;
            manifest.as_ref().map(checkpoint_manifest_bytes).transpose().map_err(refused)
        })
    })?;
    Ok(encoded.map(|bytes| PyBytes::new(py, &bytes)))
}

/// Read ranges of a node data object that must have exactly the given length.
#[pyfunction]
fn load_node_data_ranges(
    py: Python<'_>,
    root: PathBuf,
    participant_id: u64,
    checkpoint_id: u64,
    object_length: u64,
    ranges: Vec<(u64, u64)>,
) -> PyResult<Option<Vec<Bound<'_, PyBytes>>>> {
    let parts = py.detach(|| {
        guarded(|| {
            let store = open(root, LOCAL_NODE_ID.0, KeyGroups(DEFAULT_KEY_GROUP_COUNT))?;
            let chunk = StateChunkId { participant_id, checkpoint_id };
            let ranges: Vec<_> = ranges.into_iter().map(|(offset, length)| ByteRange { offset, length }).collect();
            wait(store.load_node_data_ranges(chunk, object_length, &ranges))
        })
    })?;
    Ok(parts.map(|parts| parts.iter().map(|part| PyBytes::new(py, part)).collect()))
}

/// Load every prepared sink's payload, verified under its own digest.
#[pyfunction]
fn load_prepared_sink_descriptors<'py>(
    py: Python<'py>,
    root: PathBuf,
    manifest: &[u8],
    key_groups: KeyGroups,
) -> PyResult<Vec<(String, Option<Bound<'py, PyBytes>>)>> {
    let payloads = py.detach(|| {
        guarded(|| {
            let manifest: CheckpointManifest = decode(manifest)?;
            let store = open(root, manifest.participant_id, key_groups)?;
            let load = |sink| wait(store.load_prepared_sink_descriptor(&manifest, sink));
            let sinks = manifest.prepared_sinks.iter();
            sinks.map(|sink| Ok((sink.sink_name.clone(), load(sink)?))).collect::<PyResult<Vec<_>>>()
        })
    })?;
    let to_python = |payload: Bytes| PyBytes::new(py, &payload);
    Ok(payloads.into_iter().map(|(name, payload)| (name, payload.map(to_python))).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(save_checkpoint, module)?)?;
    module.add_function(wrap_pyfunction!(load_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(load_node_data_ranges, module)?)?;
    module.add_function(wrap_pyfunction!(load_prepared_sink_descriptors, module)?)
}
