//! The documentation names every fault, and the provider serves its own.

use waitscope_provider::fault::kinds;

use crate::fixture::{Provider, instant};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/provider.md");
const BEGIN: &str = "<!-- faults: written by the tests, UPDATE_DOCS=1 -->\n";
const END: &str = "<!-- end of faults -->";

fn table() -> String {
    let row = |kind: &waitscope_provider::fault::Kind| {
        let example = match kind.example {
            "" => format!("`{}`", kind.name),
            example => format!("`{}={example}`", kind.name),
        };
        format!("| {example} | {} |\n", kind.meaning)
    };
    let rows: String = kinds().map(row).collect();
    format!("| fault, such as | the answer ... |\n|---|---|\n{rows}")
}

#[test]
fn every_fault_is_documented() {
    #[expect(clippy::disallowed_methods, reason = "no event loop runs in this test")]
    let text = std::fs::read_to_string(DOCS).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        #[expect(clippy::disallowed_methods, reason = "no event loop runs in this test")]
        std::fs::write(DOCS, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(written, table(), "run this test once with UPDATE_DOCS=1");
}

#[tokio::test]
async fn the_api_is_described_and_shown_without_a_network() {
    let provider = Provider::start(instant());
    let document = provider.get("/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in document["paths"].as_object().unwrap().keys() {
        let path = path.replace("{id}", "chat-small");
        let answer = provider.get(&path).await;
        assert_ne!(answer.status, 404, "{path} is described and not there");
    }
    let page = provider.get("/docs/").await;
    assert!(page.status == 200 && page.text.contains("swagger-ui"), "{}", page.text);
    assert!(!page.text.contains("https://"), "{}", page.text);
    let initializer = provider.get("/docs/swagger-initializer.js").await.text;
    assert!(initializer.contains("/openapi.json"), "{initializer}");
    assert_eq!(provider.get("/docs/swagger-ui-bundle.js").await.status, 200);
}
