#![expect(missing_docs, unreachable_pub, reason = "stub")]
use std::time::Duration;
pub fn http_date(t: Duration) -> String {
    format!("{t:?}")
}
pub fn format_rfc3339(t: Duration) -> String {
    format!("{t:?}")
}
pub mod anthropic {
    pub mod error {
        #[derive(serde::Serialize)]
        pub struct Body(String);
        impl Body {
            pub fn new(_s: u16, _m: &str, id: &str) -> Self {
                Self(id.to_owned())
            }
        }
    }
}
