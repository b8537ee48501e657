#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waitscope_fuzz::load::http1_response(data));
