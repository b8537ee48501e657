//! A ticket that somebody wants to open: JSON in, a valid value or all of its faults out.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{Channel, CustomerId, FieldErrors, IdempotencyKey, Named};

/// A valid request for a ticket.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NewTicket {
    pub(crate) customer_id: CustomerId,
    #[schemars(length(min = *SUBJECT_CHARACTERS.start(), max = *SUBJECT_CHARACTERS.end()))]
    #[schemars(regex(pattern = WITHOUT_NUL), example = "Charged twice")]
    pub(crate) subject: String,
    #[schemars(length(max = *BODY_CHARACTERS.end()))]
    #[schemars(regex(pattern = WITHOUT_NUL), example = "See my last two invoices.")]
    pub(crate) body: String,
    pub(crate) channel: Channel,
    /// A request that is repeated under one key opens one ticket. It comes in a header.
    #[schemars(skip)]
    pub(crate) idempotency_key: Option<IdempotencyKey>,
}

/// How long a subject may be.
pub(super) const SUBJECT_CHARACTERS: RangeInclusive<usize> = 1..=120;
const BODY_CHARACTERS: RangeInclusive<usize> = 0..=5000;
/// NUL is refused: not every database can keep it.
const WITHOUT_NUL: &str = r"^[^\x00]*$";

impl NewTicket {
    const FIELDS: [&str; 4] = ["customer_id", "subject", "body", "channel"];

    /// Reads the body of a request. All wrong fields are reported at once.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, FieldErrors> {
        let fields = match serde_json::from_slice(json) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(FieldErrors::of("body", "must be a JSON object")),
            Err(error) => {
                return Err(FieldErrors::of("body", &format!("is not valid JSON: {error}")));
            }
        };
        let mut form = Form { fields: &fields, errors: FieldErrors::default() };
        form.refuse_others(&Self::FIELDS);
        let customer_id = form.read("customer_id", |text| {
            CustomerId::parse(text).ok_or_else(|| format!("must match {}", CustomerId::PATTERN))
        });
        let subject = form.read("subject", |text| characters(text, SUBJECT_CHARACTERS));
        let body = form.read("body", |text| characters(text, BODY_CHARACTERS));
        let channel = form.read("channel", |text| {
            let known = || format!("must be one of {}", Channel::names().join(", "));
            Channel::from_name(text).ok_or_else(known)
        });
        match (customer_id, subject, body, channel) {
            (Some(customer_id), Some(subject), Some(body), Some(channel))
                if form.errors.is_empty() =>
            {
                Ok(Self { customer_id, subject, body, channel, idempotency_key: None })
            }
            _ => Err(form.errors),
        }
    }
}

/// The fields as they came in, and what was found wrong with them so far.
struct Form<'a> {
    fields: &'a Map<String, Value>,
    errors: FieldErrors,
}

impl Form<'_> {
    fn refuse_others(&mut self, known: &[&str]) {
        let unknown = self.fields.keys().filter(|name| !known.contains(&name.as_str()));
        for name in unknown.take(FieldErrors::MAX_UNKNOWN) {
            self.errors.add(name, "is not a known field");
        }
    }

    /// Reads one required text; on failure the fault is noted.
    fn read<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let value = match self.fields.get(name) {
            Some(Value::String(text)) => parse(text),
            Some(_) => Err("must be a string".into()),
            None => Err("is missing".into()),
        };
        value.map_err(|message| self.errors.add(name, message)).ok()
    }
}

/// Takes so many characters, none of which may be NUL.
fn characters(text: &str, range: RangeInclusive<usize>) -> Result<String, String> {
    if text.contains('\0') {
        return Err("must not contain the character NUL".into());
    }
    let count = text.chars().count();
    if range.contains(&count) {
        Ok(text.to_owned())
    } else {
        let (least, most) = range.into_inner();
        Err(format!("must have {least} to {most} characters, not {count}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn valid() -> Value {
        json!({
            "customer_id": "C-0001",
            "subject": "Charged twice",
            "body": "See my last two invoices.",
            "channel": "email",
        })
    }

    /// The valid request with one field set or, for `null`, removed.
    fn with(field: &str, value: Value) -> Value {
        let mut request = valid();
        match value {
            Value::Null => drop(request.as_object_mut().unwrap().remove(field)),
            value => request[field] = value,
        }
        request
    }

    fn faults(request: &Value) -> Vec<(String, String)> {
        match NewTicket::parse(request.to_string().as_bytes()) {
            Ok(_) => vec![],
            Err(errors) => errors.into_pairs(),
        }
    }

    #[test]
    fn each_field_has_its_rule() {
        let cases = [
            ("customer_id", json!("C-12345"), None),
            ("customer_id", json!("C-1"), Some("must match ^C-[0-9]{4,5}$")),
            ("customer_id", json!(7), Some("must be a string")),
            ("customer_id", Value::Null, Some("is missing")),
            ("subject", json!("x"), None),
            ("subject", json!("ü".repeat(120)), None),
            ("subject", json!(""), Some("1 to 120 characters, not 0")),
            ("subject", json!("x".repeat(121)), Some("1 to 120 characters, not 121")),
            ("subject", json!("a\0b"), Some("NUL")),
            ("body", json!(""), None),
            ("body", json!("x".repeat(5000)), None),
            ("body", json!("x".repeat(5001)), Some("0 to 5000 characters, not 5001")),
            ("body", Value::Null, Some("is missing")),
            ("channel", json!("web_form"), None),
            ("channel", json!("fax"), Some("email, web_form, chat, phone")),
            ("channel", json!(["email"]), Some("must be a string")),
            ("status", json!("open"), Some("is not a known field")),
        ];
        for (field, value, expected) in cases {
            let found = faults(&with(field, value.clone()));
            match expected {
                None => assert_eq!(found, [], "{field} {value}"),
                Some(message) => {
                    assert_eq!(found.len(), 1, "{field} {value}: {found:?}");
                    assert_eq!(found[0].0, field);
                    assert!(found[0].1.contains(message), "{field} {value}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let request = json!({"customer_id": 1, "subject": "", "colour": "red"});
        let fields: Vec<String> = faults(&request).into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["colour", "customer_id", "subject", "body", "channel"]);
    }

    #[test]
    fn a_body_that_is_no_object_is_a_fault_of_the_body() {
        let deep = "[".repeat(100_000);
        let cases: [&[u8]; 7] = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{} {}", deep.as_bytes()];
        for json in cases {
            let errors = NewTicket::parse(json).unwrap_err().into_pairs();
            assert_eq!(errors[0].0, "body", "{errors:?}");
        }
    }

    #[test]
    fn unknown_fields_are_repeated_within_bounds() {
        let mut request = valid();
        for i in 0..500 {
            request[format!("{i}{}", "x".repeat(1000))] = json!(1);
        }
        let found = faults(&request);
        assert_eq!(found.len(), FieldErrors::MAX_UNKNOWN);
        assert!(found.iter().all(|(name, _)| name.chars().count() <= FieldErrors::MAX_NAME));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = NewTicket::parse(&bytes);
        }

        #[test]
        fn a_ticket_keeps_its_text(subject in "[^\0]{1,120}", body in "[^\0]{0,300}") {
            let mut request = with("subject", json!(subject));
            request["body"] = json!(body);
            let ticket = NewTicket::parse(request.to_string().as_bytes()).unwrap();
            prop_assert_eq!((ticket.subject, ticket.body), (subject, body));
        }
    }
}
