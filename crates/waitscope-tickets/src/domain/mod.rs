//! What the service talks about. Text from outside becomes one of these types once, at the edge;
//! a value that exists is a valid one.

mod ai_work;
mod customer;
mod field_errors;
mod idempotency_key;
mod new_ticket;
mod page;
mod ticket;

pub(crate) use ai_work::{AiRun, AiWork, Classification, Embedding};
pub(crate) use customer::CustomerId;
pub(crate) use field_errors::FieldErrors;
pub(crate) use idempotency_key::IdempotencyKey;
pub(crate) use new_ticket::NewTicket;
pub(crate) use page::{PageRequest, TicketPage};
pub(crate) use ticket::{Priority, Ticket, TicketId, TicketSummary};

/// A value that has one name in JSON, in the database and in prompts.
pub(crate) trait Named: Copy + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The one name.
    fn name(self) -> &'static str;

    /// The value with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }

    /// All names, for messages and prompts.
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|value| value.name()).collect()
    }
}

/// An enum that is [`Named`].
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl Named for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!($($doc),*).trim(),
                    "type": "string",
                    "enum": Self::names(),
                })
            }
        }
    };
}

named! {
    /// How a ticket came in.
    Channel {
        /// An e-mail.
        Email = "email",
        /// The form on the web site.
        WebForm = "web_form",
        /// A chat.
        Chat = "chat",
        /// A call, written down.
        Phone = "phone",
    }
}

named! {
    /// Who works on a ticket.
    Team {
        /// Invoices, payments, refunds.
        Billing = "billing",
        /// Logins, passwords, profiles.
        Account = "account",
        /// What does not work.
        Technical = "technical",
        /// Parcels and returns.
        Shipping = "shipping",
        /// The rest.
        General = "general",
    }
}

named! {
    /// How far a ticket is.
    Status {
        /// Somebody has to work on it.
        Open = "open",
        /// The customer has to answer.
        Pending = "pending",
        /// Done.
        Closed = "closed",
    }
}

named! {
    /// What the AI provider is asked to do.
    TaskName {
        /// Choose a team and a priority.
        Classify = "classify",
        /// Write a first answer.
        DraftReply = "draft_reply",
        /// Turn the text into a vector.
        Embed = "embed",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schemars::{JsonSchema, schema_for};
    use serde_json::{Value, json};

    use super::*;

    fn validator<T: JsonSchema>() -> jsonschema::Validator {
        jsonschema::validator_for(&serde_json::to_value(schema_for!(T)).unwrap()).unwrap()
    }

    /// The schema takes the texts that are read, and no other.
    fn agree<T: JsonSchema>(parse: impl Fn(&str) -> Option<T>, texts: &[&str]) {
        let validator = validator::<T>();
        for text in texts {
            assert_eq!(validator.is_valid(&json!(text)), parse(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn schemas_of_texts_say_what_is_read() {
        agree(
            CustomerId::parse,
            &["C-0001", "C-99999", "C-123456", "C-001", "c-0001", "C-0001 ", "C-٠٠٠١", ""],
        );
        agree(
            TicketId::parse,
            &[
                "T-000000",
                "T-000001",
                "T-400001",
                "T-0400001",
                "T-4000010",
                "T--00001",
                "T-+00001",
                "T-00001",
                "T-999999999999999999",
                "T-1000000000000000000",
                "t-400001",
                "T-",
                "",
            ],
        );
        let longest = format!("a{}c", " ".repeat(253));
        let too_long = format!("a{}c", " ".repeat(254));
        agree(
            |text| IdempotencyKey::parse(text.as_bytes()),
            &["a", "a b", "~", "!", "a\tb", "ü", "", "\u{7f}", &longest, &too_long],
        );
        agree(Channel::from_name, &["email", "web_form", "Email", "fax", ""]);
    }

    /// Requests that are valid, nearly valid, or not at all.
    fn requests() -> impl Strategy<Value = Value> {
        let customer = "C-[0-9]{3,6}|[a-z]{0,3}".prop_map(Value::from);
        let text = || {
            prop_oneof![
                4 => "[^\0]{0,130}".prop_map(Value::from),
                1 => ".{0,20}\0?".prop_map(Value::from),
                1 => (4990_usize..5010).prop_map(|count| "ü".repeat(count).into()),
                1 => any::<i32>().prop_map(Value::from),
            ]
        };
        let channel = prop::sample::select(vec!["email", "phone", "fax", "web_form"]);
        let change = prop::sample::select(vec!["", "", "", "-body", "-channel", "+more", "null"]);
        (customer, text(), text(), channel, change).prop_map(
            |(customer_id, subject, body, channel, change)| {
                let mut request = json!({"customer_id": customer_id, "subject": subject,
                    "body": body, "channel": channel});
                match change {
                    "null" => return Value::Null,
                    "+more" => request["more"] = json!(1),
                    "" => {}
                    gone => drop(request.as_object_mut().unwrap().remove(&gone[1..])),
                }
                request
            },
        )
    }

    proptest! {
        #[test]
        fn the_schema_of_a_new_ticket_says_what_is_read(request in requests()) {
            static SCHEMA: std::sync::LazyLock<jsonschema::Validator> =
                std::sync::LazyLock::new(validator::<NewTicket>);
            let read = NewTicket::parse(request.to_string().as_bytes());
            prop_assert_eq!(SCHEMA.is_valid(&request), read.is_ok(), "{:?}", read);
        }
    }
}
