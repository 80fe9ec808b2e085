//! The committed index, which binds all participants' manifests into one cut.

use std::collections::BTreeMap;

use laminar_core::checkpoint::*;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::outcome::{decode, guarded, refused};

type PyIndexVerdict<'py> = (&'static str, Option<String>, Option<Bound<'py, PyBytes>>, Option<Bound<'py, PyBytes>>);

/// Decode and validate an index: stage, the first fault, and for a valid one its canonical bytes and its reference.
#[pyfunction(name = "index_verdict")]
fn judge_index<'py>(py: Python<'py>, data: &[u8]) -> PyResult<PyIndexVerdict<'py>> {
    let (stage, fault, encoded) = guarded(|| {
        let index: CommittedCheckpointIndex = match serde_json::from_slice(data) {
            Ok(index) => index,
            Err(error) => return Ok(("decode", Some(error.to_string()), None)),
        };
        if let Err(fault) = index.validate() {
            return Ok(("invalid", Some(fault), None));
        }
        let (bytes, reference) = index.encode_and_reference().map_err(refused)?;
        let reference = canonical_json_bytes(&reference).map_err(refused)?;
        Ok(("valid", None, Some((bytes, reference))))
    })?;
    let (bytes, reference) = encoded.unzip();
    let to_python = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
    Ok((stage, fault, bytes.map(to_python), reference.map(to_python)))
}

/// The first fault of an index beside its participants' manifests, in participant order.
#[pyfunction]
fn validate_participant_manifests(index: &[u8], manifests: Vec<Vec<u8>>) -> PyResult<Option<String>> {
    guarded(|| {
        let index: CommittedCheckpointIndex = decode(index)?;
        let decoded = manifests.iter().map(|data| decode(data)).collect::<PyResult<Vec<CheckpointManifest>>>()?;
        let pairs: Vec<_> = decoded.iter().zip(manifests.iter().map(Vec::as_slice)).collect();
        Ok(index.validate_participant_manifests(&pairs).err())
    })
}

/// The first fault of an index beside its predecessor.
#[pyfunction]
fn validate_predecessor_index(index: &[u8], predecessor: &[u8]) -> PyResult<Option<String>> {
    guarded(|| {
        let predecessor: CommittedCheckpointIndex = decode(predecessor)?;
        Ok(decode::<CommittedCheckpointIndex>(index)?.validate_predecessor_index(&predecessor).err())
    })
}

/// The source watermarks that an index stands for.
#[pyfunction]
fn effective_source_watermarks(index: &[u8]) -> PyResult<BTreeMap<String, i64>> {
    guarded(|| decode::<CommittedCheckpointIndex>(index)?.effective_source_watermarks().map_err(refused))
}

/// The reference by which an index names a participant's manifest, as JSON.
#[pyfunction]
fn committed_participant_ref<'py>(py: Python<'py>, manifest: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let reference = guarded(|| {
        let reference = CommittedParticipantRef::from_manifest(&decode(manifest)?, manifest);
        canonical_json_bytes(&reference.map_err(refused)?).map_err(refused)
    })?;
    Ok(PyBytes::new(py, &reference))
}

/// Merge all participants' subscription manifests: each stream's checkpoint manifest and ranges, as JSON.
#[cfg(feature = "subscription")]
#[pyfunction(name = "merge_node_subscription_manifests")]
fn merge<'py>(
    py: Python<'py>,
    epoch: u64,
    checkpoint_id: u64,
    fence: &[u8],
    manifests: Vec<(Vec<u8>, Vec<u16>)>,
) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
    let streams = guarded(|| {
        let decoded: Vec<(NodeSubscriptionManifest, &[u16])> =
            manifests.iter().map(|(data, owned)| Ok((decode(data)?, owned.as_slice()))).collect::<PyResult<_>>()?;
        let pairs: Vec<_> = decoded.iter().map(|(manifest, owned)| (manifest, *owned)).collect();
        let fence: CheckpointAssignmentFence = decode(fence)?;
        let merged = merge_node_subscription_manifests(epoch, checkpoint_id, &fence, &pairs).map_err(refused)?;
        let encode = |stream: &MergedSubscriptionCheckpoint| {
            Ok((canonical_json_bytes(&stream.manifest)?, canonical_json_bytes(&stream.ranges)?))
        };
        let encoded: Result<Vec<_>, serde_json::Error> = merged.iter().map(encode).collect();
        encoded.map_err(refused)
    })?;
    let to_python = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
    Ok(streams.into_iter().map(|(manifest, ranges)| (to_python(manifest), to_python(ranges))).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(judge_index, module)?)?;
    module.add_function(wrap_pyfunction!(validate_participant_manifests, module)?)?;
    module.add_function(wrap_pyfunction!(validate_predecessor_index, module)?)?;
    module.add_function(wrap_pyfunction!(effective_source_watermarks, module)?)?;
    module.add_function(wrap_pyfunction!(committed_participant_ref, module)?)?;
    #[cfg(feature = "subscription")]
    module.add_function(wrap_pyfunction!(merge, module)?)?;
    Ok(())
}
