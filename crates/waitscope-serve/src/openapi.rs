//! An API's `OpenAPI` document, and the pages that show it without a network.
//!
//! Source: `OpenAPI` Specification 3.1, whose schemas are JSON Schema 2020-12.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::response::Redirect;
use axum::routing::{MethodRouter, get};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use schemars::generate::SchemaSettings;
use serde_json::Value;
use utoipa_swagger_ui::{Config, SwaggerFile};

const DOCUMENT: &str = "/openapi.json";

/// The page, which has no name, and all that it loads.
const PAGES: [&str; 8] = [
    "",
    "favicon-16x16.png",
    "favicon-32x32.png",
    "index.css",
    "swagger-initializer.js",
    "swagger-ui-bundle.js",
    "swagger-ui-standalone-preset.js",
    "swagger-ui.css",
];

/// A browser that shows the page asks no other server for anything. (Swagger UI sets styles inline
/// and has its icons in `data:` URLs.)
const FROM_HERE_ALONE: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

/// `GET /openapi.json`, and `GET /docs`, which shows it in Swagger UI. That comes with the binary.
pub fn routes<S: Clone + Send + Sync + 'static>(document: &Value) -> Router<S> {
    let text = Bytes::from(document.to_string());
    let document = get(async move || ([(CONTENT_TYPE, "application/json")], text));
    let to_page = get(async || Redirect::to("/docs/"));
    let router = Router::new().route(DOCUMENT, document).route("/docs", to_page);
    // Without `none` the page would send the document to a validator on the internet.
    let config = Arc::new(Config::from(DOCUMENT).validator_url("none"));
    PAGES.into_iter().fold(router, |router, name| {
        match utoipa_swagger_ui::serve(name, Arc::clone(&config)) {
            Ok(Some(file)) => router.route(&format!("/docs/{name}"), page(file)),
            // Another version of Swagger UI may have other files: a test asks for each one.
            Ok(None) | Err(_) => router,
        }
    })
}

fn page<S: Clone + Send + Sync + 'static>(file: SwaggerFile<'static>) -> MethodRouter<S> {
    let bytes = match file.bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    let head =
        [(CONTENT_TYPE, file.content_type), (CONTENT_SECURITY_POLICY, FROM_HERE_ALONE.to_owned())];
    get(async move || (head, bytes))
}

/// The settings that make schemas for the document's `/components/schemas`.
pub fn schema_settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    })
}

/// The references of a document that lead nowhere. Meant for tests: a right document has none.
pub fn dangling_references(document: &Value) -> Vec<&str> {
    let mut left = vec![document];
    let mut dangling = Vec::new();
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let target = reference.strip_prefix('#');
                    if target.and_then(|pointer| document.pointer(pointer)).is_none() {
                        dangling.push(reference.as_str());
                    }
                }
                left.extend(fields.values());
            }
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
    dangling
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt;
    use serde_json::json;
    use tower_service::Service;

    use super::*;

    async fn text(router: &Router, path: &str) -> String {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().call(request).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        if path.starts_with("/docs/") {
            assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], FROM_HERE_ALONE, "{path}");
        }
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[tokio::test]
    async fn the_page_and_its_parts_come_from_here_alone() {
        let document = json!({"openapi": "3.1.0"});
        let router = routes(&document);
        assert_eq!(text(&router, "/openapi.json").await, document.to_string());
        let page = text(&router, "/docs/").await;
        let quoted = |rest: &str| rest.split('"').next().map(str::to_owned);
        let parts: Vec<String> =
            page.replace("href=", "src=").split("src=\"").skip(1).filter_map(quoted).collect();
        assert_eq!(parts.len() + 1, PAGES.len(), "{page}");
        for part in parts {
            let name = part.strip_prefix("./").unwrap_or(&part);
            assert!(!text(&router, &format!("/docs/{name}")).await.is_empty(), "{part}");
        }
        let initializer = text(&router, "/docs/swagger-initializer.js").await;
        assert!(initializer.contains(r#""url": "/openapi.json""#), "{initializer}");
        assert!(initializer.contains(r#""validatorUrl": "none""#), "{initializer}");
        for (file, text) in [("page", page), ("initializer", initializer)] {
            assert!(!text.contains("://"), "{file}: {text}");
        }
        for style in ["/docs/index.css", "/docs/swagger-ui.css"] {
            let text = text(&router, style).await;
            let mut urls = text.split("url(").skip(1).map(|url| url.trim_matches(['"', '\'']));
            assert!(urls.all(|url| url.starts_with("data:")), "{style} loads something");
        }
    }

    #[test]
    fn references_are_followed_from_the_root() {
        let check = |reference: &str, expected: &[&str]| {
            let document = json!({
                "paths": {"/a": {"get": [{"schema": {"$ref": reference}}]}},
                "components": {"schemas": {"Here": {}}},
            });
            assert_eq!(dangling_references(&document), expected);
        };
        check("#/components/schemas/Here", &[]);
        check("#/components/schemas/Gone", &["#/components/schemas/Gone"]);
        check("other.json", &["other.json"]);
    }
}
