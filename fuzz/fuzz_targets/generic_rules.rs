#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hookonce_fuzz::generic_rules(bytes));
