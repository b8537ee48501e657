#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waitscope_fuzz::provider::sse_reader(data));
