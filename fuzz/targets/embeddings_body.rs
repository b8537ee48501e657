#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waitscope_fuzz::embeddings_body(data));
