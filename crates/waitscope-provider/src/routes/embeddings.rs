//! `POST /v1/embeddings`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use waitscope_wire::openai::Usage;
use waitscope_wire::openai::embeddings::{
    Embedding, EncodingFormat, Input, Request as Embeddings, Response as Embedded, Vector,
};

use crate::account::{Account, Kind};
use crate::answer::{self, Answer, Content};
use crate::body;
use crate::call::Call;
use crate::error::ApiError;
use crate::model::attempts::content_hash;
use crate::model::fault::events::Fault;
use crate::model::validity::{check_embeddings, input_tokens};
use crate::model::{Task, embedding, latency};
use crate::server::App;

pub(crate) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    answer::to(&app, request, Task::Embed.name(), Kind::Embedding, plan).await
}

/// Admits the call, or tells why not.
fn plan(call: &mut Call, body: &[u8]) -> Result<Answer, ApiError> {
    let mut request: Embeddings = body::parse(body)?;
    check_embeddings(&request)?;
    let account = Account::of(&request.model, Kind::Embedding)
        .ok_or_else(|| super::models::wrong_kind(&request.model, "embeddings"))?;
    let tokens = input_tokens(&request.input).iter().sum();
    let content = content_hash(call.app.config.seed, "/v1/embeddings", body);
    let mut admission = call.admit(&request.model, Some((account, tokens)), content)?;
    let draws = &mut admission.draws;
    let timing = latency::plan(&call.app.latency, admission.conditions, Task::Embed, 0, draws);
    if call.faults.has(&Fault::Floats) {
        request.encoding_format = Some(EncodingFormat::Float);
    }
    let content = Content::json(&embed(request, tokens));
    Ok(Answer { total: timing.total, tokens: (tokens, 0), content })
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
