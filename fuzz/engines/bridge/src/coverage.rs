//! The sanitizer-coverage call-backs, as functions that do nothing.
//!
//! The engine is compiled to call them, so without a definition the bridge would load in a fuzzer only. They are
//! exported: where libFuzzer's functions of the same names are visible to the dynamic linker, those are found first.

macro_rules! ignored {
    ($($name:ident($($argument:ty),*);)*) => {
        $(#[no_mangle] extern "C" fn $name($(_: $argument),*) {})*
    };
}

ignored! {
    __sanitizer_cov_8bit_counters_init(*const u8, *const u8);
    __sanitizer_cov_pcs_init(*const usize, *const usize);
    __sanitizer_cov_trace_cmp1(u8, u8);
    __sanitizer_cov_trace_cmp2(u16, u16);
    __sanitizer_cov_trace_cmp4(u32, u32);
    __sanitizer_cov_trace_cmp8(u64, u64);
    __sanitizer_cov_trace_const_cmp1(u8, u8);
    __sanitizer_cov_trace_const_cmp2(u16, u16);
    __sanitizer_cov_trace_const_cmp4(u32, u32);
    __sanitizer_cov_trace_const_cmp8(u64, u64);
    __sanitizer_cov_trace_switch(u64, *const u64);
}

#[cfg(target_os = "linux")]
extern "C" {
    // The linker's own names for the two ends of the counters.
    static __start___sancov_cntrs: u8;
    static __stop___sancov_cntrs: u8;
}

/// Number of places that a fuzzer sees in this engine; 0 where nobody can say.
pub fn counters() -> usize {
    #[cfg(target_os = "linux")]
    return (&raw const __stop___sancov_cntrs).addr() - (&raw const __start___sancov_cntrs).addr();
    #[cfg(not(target_os = "linux"))]
    0
}
