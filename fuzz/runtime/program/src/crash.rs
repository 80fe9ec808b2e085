//! Death at a chosen point of the store's life.
//!
//! What a store looks like after a crash depends on which of the file system's ordering calls were made before it.
//! This program therefore defines those calls itself, which takes precedence over libc's for everything linked into
//! it: each is counted, and then made. Once armed, the program kills itself with SIGKILL in place of a chosen one.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Calls made so far.
static MADE: AtomicU64 = AtomicU64::new(0);
/// Calls left before the fatal one; negative when not armed.
static LEFT: AtomicI64 = AtomicI64::new(-1);

/// Kill the process in place of the call that comes after `calls` more of them.
pub fn arm(calls: u32) {
    LEFT.store(i64::from(calls), Ordering::SeqCst);
}

/// How many ordering calls were made since the program started.
pub fn made() -> u64 {
    MADE.load(Ordering::SeqCst)
}

fn count() {
    MADE.fetch_add(1, Ordering::SeqCst);
    let left = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left >= 0).then(|| left - 1));
    if left == Ok(0) {
        kill();
    }
}

/// Die at once: no destructor, no flush.
fn kill() -> ! {
    // SAFETY: plain system calls on this process.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGKILL);
        loop {
            libc::pause();
        }
    }
}

/// Replace libc functions by ones that count and make the same system call.
macro_rules! counted {
    ($($name:ident = $call:ident ($($argument:ident: $kind:ty),*);)*) => {$(
        /// libc's function of this name, counted.
        ///
        /// # Safety
        /// As libc's.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            count();
            // The system call reports in -1 and errno, as libc's function does.
            libc::syscall(libc::$call, $($argument),*) as c_int
        }
    )*};
}

counted! {
    fsync = SYS_fsync(descriptor: c_int);
    fdatasync = SYS_fdatasync(descriptor: c_int);
    linkat = SYS_linkat(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_int);
    unlinkat = SYS_unlinkat(directory: c_int, path: *const c_char, flags: c_int);
}

/// libc's function, counted.
///
/// # Safety
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    count();
    libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, old, libc::AT_FDCWD, new, 0) as c_int
}

/// libc's function, counted.
///
/// # Safety
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    count();
    libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) as c_int
}
