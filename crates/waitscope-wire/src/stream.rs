//! What the events of a streamed answer say, whichever provider speaks: which of them carry content,
//! which one is the last, which one is an error.
//!
//! A streamed answer begins with events that carry nothing yet (a role, the start of a message) and
//! ends with some that carry nothing any more (usage). Only content counts as a token, or the first
//! token would come before the model has begun.

mod anthropic;
mod openai;
mod other;
mod piece;
mod reader;

pub use reader::{Broken, Piece, Reader};

/// How the events of a stream are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Server-sent events of any kind: each one with data is content, `[DONE]` is the end.
    Sse,
    /// `OpenAI`'s chat completions, completions and responses.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// One JSON value per line: Ollama's, or of any other kind.
    Ndjson,
}

/// What one event says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Says {
    /// It carries content that is not empty: text, a call's arguments, thoughts.
    pub content: bool,
    /// It says why the answer ends (`finish_reason`, `stop_reason`).
    pub finish: bool,
    /// It is the last one (`[DONE]`, `message_stop`, `"done": true`).
    pub done: bool,
    /// It says that the answer broke off, and why.
    pub error: Option<String>,
    /// It is no JSON, where JSON belongs.
    pub malformed: bool,
    /// The tokens of the answer, as counted by the provider.
    pub completion_tokens: Option<u64>,
}

impl Dialect {
    /// The dialect of an answer by its content type; `None` when it is no stream. What kind of
    /// server-sent events they are shows in their data: see [`Dialect::of_data`].
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/event-stream" => Some(Self::Sse),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/json-lines" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// The dialect of server-sent events by the data of one of them; [`Dialect::Sse`] when it tells
    /// nothing.
    pub fn of_data(data: &str) -> Self {
        match other::first_field_and_type(data) {
            (_, Some(kind)) if openai::is_response_type(&kind) => Self::OpenAi,
            (_, Some(kind)) if anthropic::is_type(&kind) => Self::Anthropic,
            (true, _) => Self::OpenAi,
            _ => Self::Sse,
        }
    }

    /// What an event with this data says.
    pub fn read(self, data: &str) -> Says {
        match self {
            _ if data.trim() == "[DONE]" => Says { done: true, ..Says::default() },
            Self::OpenAi => openai::read(data),
            Self::Anthropic => anthropic::read(data),
            Self::Ndjson => other::read_line(data),
            Self::Sse => Says { content: !data.trim().is_empty(), ..Says::default() },
        }
    }
}

fn malformed() -> Says {
    Says { malformed: true, ..Says::default() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROLE: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
    const WORD: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;

    fn content() -> Says {
        Says { content: true, ..Says::default() }
    }

    fn finish() -> Says {
        Says { finish: true, ..Says::default() }
    }

    fn done() -> Says {
        Says { done: true, ..Says::default() }
    }

    fn tokens(count: u64) -> Says {
        Says { completion_tokens: Some(count), ..Says::default() }
    }

    fn error(text: &str) -> Says {
        Says { error: Some(text.into()), ..Says::default() }
    }

    fn check(dialect: Dialect, cases: &[(&str, Says)]) {
        for (data, expected) in cases {
            assert_eq!(dialect.read(data), *expected, "{data}");
        }
    }

    #[test]
    fn chunks_of_openai_are_read() {
        let tool =
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}"#;
        let thought = r#"{"choices":[{"delta":{"content":null,"reasoning_content":"Hm"}}]}"#;
        let completed = r#"{"type":"response.completed","response":{"usage":{"output_tokens":7}}}"#;
        let failed = r#"{"type":"response.failed","response":{"error":{"message":"no"}}}"#;
        check(
            Dialect::OpenAi,
            &[
                (ROLE, Says::default()),
                (WORD, content()),
                (r#"{"choices":[{"text":"Hi"}]}"#, content()),
                (tool, content()),
                (thought, content()),
                (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, finish()),
                (r#"{"choices":[{"delta":null,"finish_reason":"stop"}]}"#, finish()),
                (
                    r#"{"choices":[{"delta":{"content":null},"finish_reason":null}]}"#,
                    Says::default(),
                ),
                (r#"{"choices":[],"usage":{"completion_tokens":12}}"#, tokens(12)),
                (r#"{"choices":null,"usage":null}"#, Says::default()),
                ("[DONE]", done()),
                (
                    r#"{"error":{"message":"overloaded","type":"server"}}"#,
                    error("server: overloaded"),
                ),
                (r#"{"error":"overloaded"}"#, error("overloaded")),
                (r#"{"choices":[{"del"#, malformed()),
                (": keepalive", malformed()),
                (r#"{"type":"response.created","response":{}}"#, Says::default()),
                (r#"{"type":"response.output_text.delta","delta":"Hi"}"#, content()),
                (r#"{"type":"response.output_text.delta","delta":""}"#, Says::default()),
                (completed, Says { finish: true, ..done_with(7) }),
                (failed, Says { finish: true, done: true, ..error("no") }),
                (r#"{"type":"error","message":"no"}"#, error("no")),
            ],
        );
    }

    fn done_with(count: u64) -> Says {
        Says { done: true, ..tokens(count) }
    }

    #[test]
    fn events_of_anthropic_are_read() {
        let delta = |field: &str| {
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{{field}}}}}"#)
        };
        let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#;
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#;
        check(
            Dialect::Anthropic,
            &[
                (
                    r#"{"type":"message_start","message":{"usage":{"output_tokens":1}}}"#,
                    Says::default(),
                ),
                (r#"{"type":"ping"}"#, Says::default()),
                (r#"{"type":"content_block_start","content_block":{"text":""}}"#, Says::default()),
                (&delta(r#""type":"text_delta","text":"Hi""#), content()),
                (&delta(r#""type":"text_delta","text":"""#), Says::default()),
                (&delta(r#""type":"thinking_delta","thinking":"Hm""#), content()),
                (&delta(r#""type":"input_json_delta","partial_json":"{""#), content()),
                (&delta(r#""type":"signature_delta","signature":"x""#), Says::default()),
                (end, Says { finish: true, ..tokens(5) }),
                (r#"{"type":"message_stop"}"#, done()),
                (overloaded, error("overloaded_error: Busy")),
                (r#"{"type":"new_kind"}"#, Says::default()),
                ("{}", malformed()),
            ],
        );
    }

    #[test]
    fn lines_are_read() {
        let last = r#"{"message":{"content":""},"done":true,"eval_count":9}"#;
        check(
            Dialect::Ndjson,
            &[
                (r#"{"message":{"role":"assistant","content":"Hi"},"done":false}"#, content()),
                (r#"{"response":"Hi","done":false}"#, content()),
                (last, Says { finish: true, ..done_with(9) }),
                (r#"{"error":"no such model"}"#, error("no such model")),
                (r#"{"any":1}"#, content()),
                ("[1, 2]", content()),
                ("{oops", malformed()),
            ],
        );
        check(Dialect::Sse, &[("tick", content()), ("", Says::default()), ("[DONE]", done())]);
    }

    #[test]
    fn the_kind_of_stream_shows_in_its_type_and_its_data() {
        for (content_type, expected) in [
            ("text/event-stream; charset=utf-8", Some(Dialect::Sse)),
            ("TEXT/EVENT-STREAM", Some(Dialect::Sse)),
            ("application/x-ndjson", Some(Dialect::Ndjson)),
            ("application/json", None),
            ("", None),
        ] {
            assert_eq!(Dialect::of_content_type(content_type), expected, "{content_type}");
        }
        for (data, expected) in [
            (ROLE, Dialect::OpenAi),
            (r#"{"choices":[]}"#, Dialect::OpenAi),
            (r#"{"type":"response.created"}"#, Dialect::OpenAi),
            (r#"{"type":"message_start","message":{}}"#, Dialect::Anthropic),
            (r#"{"type":"ping"}"#, Dialect::Anthropic),
            (r#"{"type":"tick"}"#, Dialect::Sse),
            ("tick", Dialect::Sse),
        ] {
            assert_eq!(Dialect::of_data(data), expected, "{data}");
        }
    }

    fn read(content_type: &str, pieces: &[&[u8]]) -> (Vec<Says>, bool) {
        let mut reader = Reader::for_content_type(content_type).unwrap();
        let mut seen = Vec::new();
        for piece in pieces {
            reader.push(piece, &mut |piece| seen.push(piece.says)).unwrap();
        }
        (seen, reader.pending())
    }

    #[test]
    fn a_guess_holds_until_the_data_tells() {
        let stream = format!(": ping\n\ndata: tick\n\ndata:{ROLE}\r\n\r\ndata: {WORD}\n\n");
        let (seen, pending) = read("text/event-stream", &[stream.as_bytes()]);
        assert_eq!((seen, pending), (vec![content(), Says::default(), content()], false));
        let mut fixed = Reader::new(Dialect::Sse);
        fixed.push(stream.as_bytes(), &mut |_| ()).unwrap();
        assert_eq!(fixed.dialect(), Dialect::Sse, "what was asked for is not a guess");
    }

    #[test]
    fn what_is_cut_off_is_pending() {
        assert!(read("text/event-stream", &[b"data: x\n"]).1);
        assert!(read("application/x-ndjson", &[b"{}\n{\"a\""]).1);
        assert!(!read("application/x-ndjson", &[b"{}\n\n"]).1);
    }

    #[test]
    fn a_line_without_an_end_is_broken() {
        let mut reader = Reader::new(Dialect::Ndjson);
        let big = vec![b'x'; 17 * 1024 * 1024];
        assert_eq!(reader.push(&big, &mut |_| ()), Err(Broken));
    }

    proptest! {
        /// Wherever the stream is cut, within characters as well, it says the same.
        #[test]
        fn the_cuts_do_not_matter(cuts in prop::collection::vec(0_usize..400, 0..9)) {
            let word = r#"{"choices":[{"delta":{"content":"水🌊"}}]}"#;
            let events = format!("data: {ROLE}\n\nid: 7\n\n: ping\n\ndata:{word}\r\n\r\ndata: [DONE]\n\n");
            let lines = format!("{word}\n{WORD}\r\n\n{ROLE}\n");
            for (kind, text) in [("text/event-stream", events), ("application/jsonl", lines)] {
                let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
                at.sort_unstable();
                let (mut pieces, mut from) = (Vec::new(), 0);
                for to in at.into_iter().chain([text.len()]) {
                    pieces.push(&text.as_bytes()[from..to]);
                    from = to;
                }
                prop_assert_eq!(read(kind, &pieces), read(kind, &[text.as_bytes()]));
            }
        }

        #[test]
        fn no_data_makes_it_panic(data in ".*") {
            for dialect in [Dialect::Sse, Dialect::OpenAi, Dialect::Anthropic, Dialect::Ndjson] {
                dialect.read(&data);
            }
        }
    }
}
