//! `POST /v1/embeddings`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use waitscope_wire::openai::Usage;
use waitscope_wire::openai::embeddings::{
    Embedding, Input, Request as Embeddings, Response as Embedded, Vector,
};

use super::PROCESSING_MS;
use crate::account::{Account, Kind};
use crate::body;
use crate::call::{Admission, Call};
use crate::error::ApiError;
use crate::model::attempts::content_hash;
use crate::model::validity::{check_embeddings, input_tokens};
use crate::model::{Task, embedding, latency};
use crate::server::App;

pub(super) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    let body = body::read(request).await;
    let mut call = Call::begin(&app, Task::Embed.name());
    call.charge_to(Account::listed(Kind::Embedding));
    let admitted = body.and_then(|body| admit(&app, &mut call, &body));
    let (request, tokens, mut admission) = match admitted {
        Ok(admitted) => admitted,
        Err(error) => return call.refuse(error).await,
    };
    let probability = admission.draws.uniform();
    let total = latency::planned(app.config.latency, admission.mode, Task::Embed, probability);
    call.wait(total).await;
    let limits = call.limit_headers();
    call.end(200, (tokens, 0));
    let processing = [(PROCESSING_MS, total.as_millis().to_string())];
    (limits, processing, Json(embed(request, tokens))).into_response()
}

/// Admits the call, with its tokens, or tells why not.
fn admit(
    app: &App,
    call: &mut Call,
    body: &[u8],
) -> Result<(Embeddings, u64, Admission), ApiError> {
    let request: Embeddings = body::parse(body)?;
    check_embeddings(&request)?;
    let account = Account::of(&request.model, Kind::Embedding)
        .ok_or_else(|| super::models::wrong_kind(&request.model, "embeddings"))?;
    let tokens = input_tokens(&request.input).iter().sum();
    let content = content_hash(app.config.seed, "/v1/embeddings", body);
    let admission = call.admit(&request.model, account, tokens, content)?;
    Ok((request, tokens, admission))
}

fn embed(request: Embeddings, tokens: u64) -> Embedded {
    let wanted = request.dimensions.and_then(|dimensions| usize::try_from(dimensions).ok());
    let dimensions = wanted.unwrap_or(embedding::DIMENSIONS);
    let vectors: Vec<Vec<f32>> = match &request.input {
        Input::Text(text) => vec![embedding::of_text(text, dimensions)],
        Input::Texts(texts) => {
            texts.iter().map(|text| embedding::of_text(text, dimensions)).collect()
        }
        Input::Tokens(tokens) => vec![embedding::of_tokens(tokens, dimensions)],
        Input::TokenLists(lists) => {
            lists.iter().map(|tokens| embedding::of_tokens(tokens, dimensions)).collect()
        }
    };
    let format = request.encoding_format.unwrap_or_default();
    let embedding = |(vector, index)| Embedding {
        object: "embedding".to_owned(),
        index,
        embedding: Vector::encode(vector, format),
    };
    Embedded {
        object: "list".to_owned(),
        data: vectors.into_iter().zip(0..).map(embedding).collect(),
        model: request.model,
        usage: Some(Usage::of_embeddings(tokens)),
    }
}
