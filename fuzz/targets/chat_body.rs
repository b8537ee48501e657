#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waitscope_fuzz::provider::chat_body(data));
