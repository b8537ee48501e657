#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waitscope_fuzz::provider::embeddings_body(data));
