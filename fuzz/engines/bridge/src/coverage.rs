//! The sanitizer-coverage call-backs, as functions that do next to nothing.
//!
//! The engine is compiled to call them, so without a definition the bridge would load in a fuzzer only. They are
//! exported: where libFuzzer's functions of the same names are visible to the dynamic linker, those are found first.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

static FIRST: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static COUNTERS: AtomicUsize = AtomicUsize::new(0);

/// Number of places that a fuzzer would see in this engine; 0 when there is a fuzzer, and it took them.
pub fn counters() -> usize {
    COUNTERS.load(Ordering::Relaxed)
}

/// The counters, which the engine's code goes on counting in.
fn all() -> impl Iterator<Item = &'static AtomicU8> {
    let first = FIRST.load(Ordering::Relaxed);
    // Safety: the linker put them there, side by side, for as long as the library is loaded.
    (0..counters()).map(move |index| unsafe { AtomicU8::from_ptr(first.add(index)) })
}

/// How often each place was reached since the last reset, modulo 256.
pub fn snapshot() -> Vec<u8> {
    all().map(|counter| counter.load(Ordering::Relaxed)).collect()
}

/// Forget what was reached.
pub fn reset() {
    all().for_each(|counter| counter.store(0, Ordering::Relaxed));
}

#[no_mangle]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *const u8) {
    FIRST.store(start, Ordering::Relaxed);
    COUNTERS.fetch_max(stop.addr() - start.addr(), Ordering::Relaxed);
}

#[no_mangle]
extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _stop: *const usize) {}
