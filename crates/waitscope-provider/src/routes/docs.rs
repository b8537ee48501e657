//! `GET /openapi.json` and `GET /docs`.

use std::sync::LazyLock;

use axum::Json;
use serde_json::Value;
use utoipa_swagger_ui::SwaggerUi;

use crate::openapi;

static DOCUMENT: LazyLock<Value> = LazyLock::new(openapi::document);

pub(super) async fn document() -> Json<&'static Value> {
    Json(&DOCUMENT)
}

/// The pages under `/docs/`: Swagger UI, which comes with the binary and needs no network.
pub(super) fn pages() -> SwaggerUi {
    let config = utoipa_swagger_ui::Config::from("/openapi.json").validator_url("none");
    SwaggerUi::new("/docs").config(config)
}
