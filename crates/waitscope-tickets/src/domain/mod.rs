//! What the service talks about. Text from outside becomes one of these types once, at the edge;
//! a value that exists is a valid one.

mod ai_work;
mod customer;
mod new_ticket;
mod ticket;

pub(crate) use ai_work::{AiRun, AiWork, Classification, Embedding};
pub(crate) use customer::CustomerId;
pub(crate) use new_ticket::{FieldErrors, NewTicket};
pub(crate) use ticket::{Priority, Ticket, TicketId};

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
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
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
