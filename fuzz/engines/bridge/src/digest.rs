//! Every digest of the contract.

#[cfg(feature = "artifact-intents")]
use laminar_core::checkpoint::checkpoint_artifact_intent_sha256;
use laminar_core::checkpoint::{checkpoint_descriptor_sha256, checkpoint_sha256, CheckpointAssignmentFence};
#[cfg(feature = "subscription")]
use laminar_core::checkpoint::{NodeSubscriptionManifest, SubscriptionDigest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::outcome::{decode, guarded};

#[pyfunction(name = "checkpoint_sha256")]
fn plain(data: &[u8]) -> PyResult<String> {
    guarded(|| Ok(checkpoint_sha256(data)))
}

#[pyfunction(name = "checkpoint_descriptor_sha256")]
fn descriptor(payload: Option<&[u8]>) -> PyResult<String> {
    guarded(|| Ok(checkpoint_descriptor_sha256(payload)))
}

#[cfg(feature = "artifact-intents")]
#[pyfunction(name = "checkpoint_artifact_intent_sha256")]
fn intent(payload: Option<&[u8]>) -> PyResult<String> {
    guarded(|| Ok(checkpoint_artifact_intent_sha256(payload)))
}

#[pyfunction]
fn owner_map_digest(py: Python<'_>, vnode_count: u32, owners: Vec<u64>) -> PyResult<Bound<'_, PyBytes>> {
    let digest = guarded(|| Ok(CheckpointAssignmentFence::owner_map_digest(vnode_count, &owners)))?;
    Ok(PyBytes::new(py, &digest))
}

/// The digest of an assignment fence, from its JSON.
#[pyfunction]
fn fence_digest<'py>(py: Python<'py>, fence: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let digest = guarded(|| Ok(decode::<CheckpointAssignmentFence>(fence)?.digest()))?;
    Ok(PyBytes::new(py, &digest))
}

#[cfg(feature = "subscription")]
#[pyfunction]
fn subscription_digest<'py>(py: Python<'py>, domain: &[u8], value: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let digest = guarded(|| Ok(SubscriptionDigest::for_bytes(domain, value)))?;
    Ok(PyBytes::new(py, digest.as_bytes()))
}

/// Compute and install the digest of a node's subscription manifest: the digest, and the first fault if there is one.
#[cfg(feature = "subscription")]
#[pyfunction]
fn seal_node_subscription_manifest<'py>(
    py: Python<'py>,
    data: &[u8],
    owned_vnodes: Vec<u16>,
) -> PyResult<(Bound<'py, PyBytes>, Option<String>)> {
    let (digest, fault) = guarded(|| {
        let mut manifest: NodeSubscriptionManifest = decode(data)?;
        let fault = manifest.seal(&owned_vnodes).err();
        Ok((manifest.manifest_digest, fault.map(|fault| fault.to_string())))
    })?;
    Ok((PyBytes::new(py, digest.as_bytes()), fault))
}

/// The first fault of a node's subscription manifest as it stands, if there is one.
#[cfg(feature = "subscription")]
#[pyfunction]
fn validate_node_subscription_manifest(data: &[u8], owned_vnodes: Vec<u16>) -> PyResult<Option<String>> {
    guarded(|| {
        let fault = decode::<NodeSubscriptionManifest>(data)?.validate(&owned_vnodes).err();
        Ok(fault.map(|fault| fault.to_string()))
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plain, module)?)?;
    module.add_function(wrap_pyfunction!(descriptor, module)?)?;
    module.add_function(wrap_pyfunction!(owner_map_digest, module)?)?;
    module.add_function(wrap_pyfunction!(fence_digest, module)?)?;
    #[cfg(feature = "artifact-intents")]
    module.add_function(wrap_pyfunction!(intent, module)?)?;
    #[cfg(feature = "subscription")]
    {
        module.add_function(wrap_pyfunction!(subscription_digest, module)?)?;
        module.add_function(wrap_pyfunction!(seal_node_subscription_manifest, module)?)?;
        module.add_function(wrap_pyfunction!(validate_node_subscription_manifest, module)?)?;
    }
    Ok(())
}
