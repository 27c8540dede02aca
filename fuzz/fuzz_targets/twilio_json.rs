#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hookonce_fuzz::twilio_json(bytes));
