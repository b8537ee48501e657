//! The operations: one registry.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::problems::{
    AI_BAD_ANSWER, AI_BUSY, AI_UNAVAILABLE, INTERNAL, INVALID, KEY_REUSED, NO_CUSTOMER, NO_TICKET,
    NOT_JSON, OF_DATABASE, Problem, TOO_LARGE,
};
use crate::domain::{
    Channel, CustomerId, IdempotencyKey, Named, NewTicket, PageRequest, Status, Team, Ticket,
    TicketId, TicketPage,
};

/// Makes a schema, and notes those that it is made of.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One method of one path.
pub(super) struct Operation {
    pub(super) path: &'static str,
    pub(super) method: &'static str,
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) request: Option<Request>,
    pub(super) success: Success,
    /// Without 401, which all operations below `/v1` may answer when a key is set.
    pub(super) problems: Vec<Problem>,
}

/// A part of the request beside its body.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// `path`, `query` or `header`.
    pub(super) place: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: SchemaOf,
}

/// The body of a request.
pub(super) struct Request {
    pub(super) schema: SchemaOf,
    pub(super) examples: Value,
}

/// The answer of a request that went well.
pub(super) struct Success {
    pub(super) status: u16,
    pub(super) about: &'static str,
    pub(super) media_type: &'static str,
    pub(super) schema: SchemaOf,
    pub(super) headers: Value,
    /// Where its values can be used.
    pub(super) links: Value,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// All operations, in the order in which they are shown.
pub(super) fn all() -> Vec<Operation> {
    vec![create(), list(), find(), health(), ready(), metrics()]
}

fn create() -> Operation {
    Operation {
        path: "/v1/tickets",
        method: "post",
        id: "createTicket",
        tag: "Tickets",
        summary: "Takes a ticket in: asks the AI provider three things, then saves all or nothing",
        parameters: vec![Parameter {
            name: IdempotencyKey::HEADER,
            place: "header",
            about: "Makes a repeated request harmless: the first answer is given again.",
            schema: of::<IdempotencyKey>,
        }],
        request: Some(Request { schema: of::<NewTicket>, examples: examples() }),
        success: Success {
            headers: json!({"Location": {"$ref": "#/components/headers/Location"}}),
            links: json!({
                "itself": link("showTicket", "id", "/ticket_id"),
                "ticketsOfTheCustomer": link("listTickets", "customer_id", "/customer_id"),
            }),
            ..shown(201, "The ticket, with all of its AI work", of::<Ticket>)
        },
        problems: [
            &[NO_CUSTOMER, TOO_LARGE, NOT_JSON, INVALID, KEY_REUSED][..],
            &[AI_BAD_ANSWER, AI_BUSY, AI_UNAVAILABLE],
            &OF_DATABASE,
        ]
        .concat(),
    }
}

/// One example for each channel, of as many customers.
fn examples() -> Value {
    let texts = [
        ("C-0001", "Charged twice", "See my last two invoices."),
        ("C-0017", "Cannot log in", "The reset link for my password does not arrive."),
        ("C-0034", "Parcel is late", ""),
        ("C-0050", "Öffnungszeiten?", "When can I call you on Saturdays?"),
    ];
    let example = |(channel, (customer, subject, body)): (&Channel, (&str, &str, &str))| {
        let value = json!({
            "customer_id": customer,
            "subject": subject,
            "body": body,
            "channel": channel,
        });
        (channel.name().to_owned(), json!({"value": value}))
    };
    Value::Object(Channel::ALL.iter().zip(texts).map(example).collect())
}

fn list() -> Operation {
    let query = |name, about, schema| Parameter { name, place: "query", about, schema };
    Operation {
        path: "/v1/tickets",
        method: "get",
        id: "listTickets",
        tag: "Tickets",
        summary: "Lists tickets, the newest first",
        parameters: vec![
            query("status", "Only those with this status.", of::<Status>),
            query("team", "Only those of this team.", of::<Team>),
            query("customer_id", "Only those of this customer.", of::<CustomerId>),
            query("limit", "At most so many.", limit),
            query("after", "Only older ones: the `next` of the page before.", of::<TicketId>),
        ],
        request: None,
        success: Success {
            links: json!({"theNextPage": link("listTickets", "after", "/next")}),
            ..shown(200, "A page of tickets", of::<TicketPage>)
        },
        problems: [&[INVALID][..], &OF_DATABASE].concat(),
    }
}

fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": PageRequest::MAX_LIMIT,
        "default": PageRequest::DEFAULT_LIMIT,
    })
}

fn find() -> Operation {
    Operation {
        path: "/v1/tickets/{id}",
        method: "get",
        id: "showTicket",
        tag: "Tickets",
        summary: "Shows one ticket",
        parameters: vec![Parameter {
            name: "id",
            place: "path",
            about: "Its number. The seeded ones, T-400001 to T-400050, have no AI work.",
            schema: of::<TicketId>,
        }],
        request: None,
        success: shown(200, "The ticket", of::<Ticket>),
        problems: [&[NO_TICKET][..], &OF_DATABASE].concat(),
    }
}

fn health() -> Operation {
    let schema: SchemaOf = |_| status_schema("ok");
    let success = shown(200, "The event loop answers", schema);
    itself("/health", "health", "Answers as long as the event loop does", success, &[INTERNAL])
}

fn ready() -> Operation {
    let schema: SchemaOf = |_| status_schema("ready");
    let success = shown(200, "The database answers", schema);
    itself("/ready", "ready", "Asks the database", success, &OF_DATABASE)
}

fn metrics() -> Operation {
    let success = Success {
        media_type: "application/openmetrics-text",
        ..shown(200, "OpenMetrics, one set for all event loops", of::<String>)
    };
    itself("/metrics", "metrics", "Counters, for Prometheus", success, &[INTERNAL])
}

/// What the service tells of itself.
fn itself(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    success: Success,
    problems: &[Problem],
) -> Operation {
    Operation {
        path,
        method: "get",
        id,
        tag: "The service",
        summary,
        parameters: vec![],
        request: None,
        success,
        problems: problems.to_vec(),
    }
}

fn status_schema(status: &str) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"const": status}},
    })
}

fn shown(status: u16, about: &'static str, schema: SchemaOf) -> Success {
    let (headers, links) = (json!({}), json!({}));
    Success { status, about, media_type: "application/json", schema, headers, links }
}

fn link(operation: &str, parameter: &str, pointer: &str) -> Value {
    json!({
        "operationId": operation,
        "parameters": {parameter: format!("$response.body#{pointer}")},
    })
}
