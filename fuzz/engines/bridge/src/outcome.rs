//! What a call can end in besides its value: the engine refused, or the engine panicked.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

create_exception!(bridge, Refused, PyException, "The engine's own error text.");
create_exception!(bridge, Panicked, PyException, "A panic: its message and its place.");

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Record where a panic happens, and print nothing: the caller reports it.
pub fn silence_panics() {
    set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |location| {
            format!("{}:{}:{}", short(location.file()), location.line(), location.column())
        });
        PLACE.with(|cell| cell.replace(place));
    }));
}

/// The path from the crate's directory on, so that it reads the same on every machine.
fn short(file: &str) -> &str {
    let directory = file.rfind("/src/").map_or("", |end| &file[..end]);
    directory.rfind('/').map_or(file, |start| &file[start + 1..])
}

/// Run engine code; a panic becomes [`Panicked`].
pub fn guarded<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|payload| Err(Panicked::new_err((text(payload.as_ref()), PLACE.with(RefCell::take)))))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let fixed = payload.downcast_ref::<&str>().map(ToString::to_string);
    let formatted = || payload.downcast_ref::<String>().cloned();
    fixed.or_else(formatted).unwrap_or_else(|| "a panic without a message".into())
}

/// Any error of the engine, in its own words.
pub fn refused(error: impl ToString) -> PyErr {
    Refused::new_err(error.to_string())
}

/// Decode one JSON document as the engine's own type.
pub fn decode<T: DeserializeOwned>(data: &[u8]) -> PyResult<T> {
    serde_json::from_slice(data).map_err(refused)
}
