//! The corpus as an engine's own test would read it: with a JSON reader and laminar-core, and nothing of this project.
//!
//! Every case of the format that this engine speaks must have the bytes that the index says, and end where it says.

// laminar-core may be compiled to report where it goes, and then somebody has to listen.
#[allow(dead_code)]
#[path = "../src/coverage.rs"]
mod coverage;

use std::path::{Path, PathBuf};

use laminar_core::checkpoint::{checkpoint_sha256, CheckpointManifest};
use laminar_core::state::KeyGroupCount;
use serde_json::Value;

/// The manifest format of the cases that are checked.
const CONTRACT: &str = "v10";

/// The corpus; the environment variable `LAMINAR_CORPUS` overrides where it lies in this project.
fn corpus() -> PathBuf {
    std::env::var_os("LAMINAR_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpora"), PathBuf::from)
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_else(|| panic!("{field} of {} is not a string", case["id"]))
}

fn stage(document: &[u8], key_groups: KeyGroupCount) -> &'static str {
    match serde_json::from_slice::<CheckpointManifest>(document) {
        Err(_) => "decode",
        Ok(manifest) if manifest.validate(key_groups).is_empty() => "valid",
        Ok(_) => "invalid",
    }
}

/// What is wrong with one case, if anything is.
fn problem(root: &Path, case: &Value) -> Option<String> {
    let file = text(case, "file");
    let document = match std::fs::read(root.join(file)) {
        Ok(document) => document,
        Err(error) => return Some(format!("{file} cannot be read: {error}")),
    };
    if checkpoint_sha256(&document) != text(case, "sha256") {
        return Some(format!("{file} has other bytes than the index says"));
    }
    let expected = text(case, "stage");
    let fired = ["rules", "unspecified"].iter().any(|name| case[name].as_array().is_some_and(|ids| !ids.is_empty()));
    let consistent = match expected {
        "decode" => case["kind"].is_string() && !fired,
        "invalid" => case["kind"].is_null() && fired,
        _ => case["kind"].is_null() && !fired,
    };
    if !consistent {
        return Some(format!("stage {expected} does not go with its kind and rules"));
    }
    let key_groups = case["key_groups"].as_u64().and_then(|count| u32::try_from(count).ok());
    let Some(key_groups) = key_groups.and_then(|count| KeyGroupCount::try_from(count).ok()) else {
        return Some(format!("{} is not a key-group count", case["key_groups"]));
    };
    let found = stage(&document, key_groups);
    // A case may be known to be judged otherwise by engines.
    let as_expected = found == expected || case["divergence"].is_string();
    (!as_expected).then(|| format!("the engine says {found}, the index {expected}"))
}

#[test]
fn every_case_ends_where_the_index_says() {
    let root = corpus();
    let index = root.join("index.jsonl");
    let lines = std::fs::read_to_string(&index)
        .unwrap_or_else(|error| panic!("{}: {error}; set LAMINAR_CORPUS", index.display()));
    let cases: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let own: Vec<&Value> = cases.iter().filter(|case| case["contract"] == CONTRACT).collect();
    assert!(!own.is_empty(), "{} has no case of {CONTRACT}", index.display());
    let problems: Vec<String> = own
        .iter()
        .filter_map(|case| problem(&root, case).map(|problem| format!("{}: {problem}", text(case, "id"))))
        .collect();
    assert!(problems.is_empty(), "{} of {} cases:\n{}", problems.len(), own.len(), problems.join("\n"));
    println!("{} cases of {CONTRACT}", own.len());
}
