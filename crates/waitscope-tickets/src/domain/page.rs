//! A page of the list of tickets.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CustomerId, FieldErrors, Named, Status, Team, TicketId, TicketSummary};

/// Which tickets to list: those that fit all that is given, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageRequest {
    pub(crate) status: Option<Status>,
    pub(crate) team: Option<Team>,
    pub(crate) customer_id: Option<CustomerId>,
    pub(crate) limit: u8,
    /// The last ticket of the page before. A place and not a count of rows, so that tickets that
    /// come in meanwhile neither repeat nor hide one.
    pub(crate) after: Option<TicketId>,
}

impl PageRequest {
    /// The most tickets on one page.
    pub(crate) const MAX_LIMIT: u8 = 100;
    /// Tickets on a page when nothing is said.
    pub(crate) const DEFAULT_LIMIT: u8 = 20;
    /// Parameters that are read: more than there are, so that one of the first of too many is
    /// unknown or stands twice.
    const MAX_READ: usize = 10;

    /// Reads the query of a URL. All wrong parameters are reported at once.
    pub(crate) fn parse(query: &str) -> Result<Self, FieldErrors> {
        let mut page = Self {
            status: None,
            team: None,
            customer_id: None,
            limit: Self::DEFAULT_LIMIT,
            after: None,
        };
        let mut seen: Vec<std::borrow::Cow<'_, str>> = Vec::new();
        let mut errors = FieldErrors::default();
        // The rest of a query of a thousand parameters says nothing new.
        for (name, value) in form_urlencoded::parse(query.as_bytes()).take(Self::MAX_READ) {
            let outcome = if seen.contains(&name) {
                Err("stands twice".to_owned())
            } else {
                page.set(&name, &value)
            };
            if let Err(message) = outcome {
                errors.add(&name, message);
            }
            seen.push(name);
        }
        if errors.is_empty() { Ok(page) } else { Err(errors) }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "status" => self.status = Some(one_of(value)?),
            "team" => self.team = Some(one_of(value)?),
            "customer_id" => {
                let wrong = || format!("must match {}", CustomerId::PATTERN);
                self.customer_id = Some(CustomerId::parse(value).ok_or_else(wrong)?);
            }
            "limit" => self.limit = limit(value)?,
            "after" => {
                let wrong = "must be the number of a ticket, such as T-500001";
                self.after = Some(TicketId::parse(value).ok_or(wrong)?);
            }
            _ => return Err("is not a known parameter".into()),
        }
        Ok(())
    }
}

fn one_of<T: Named>(value: &str) -> Result<T, String> {
    T::from_name(value).ok_or_else(|| format!("must be one of {}", T::names().join(", ")))
}

fn limit(value: &str) -> Result<u8, String> {
    let most = PageRequest::MAX_LIMIT;
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|number| digits && (1..=most).contains(number));
    number.ok_or_else(|| format!("must be a number from 1 to {most}"))
}

/// Some tickets, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TicketPage {
    #[schemars(length(max = PageRequest::MAX_LIMIT))]
    pub(crate) tickets: Vec<TicketSummary>,
    /// What to give as `after` for the page that follows, if one does.
    pub(crate) next: Option<TicketId>,
}

impl TicketPage {
    /// Makes a page of at most `limit` tickets; any more only tell that there are more.
    pub(crate) fn of(mut tickets: Vec<TicketSummary>, limit: usize) -> Self {
        let more = tickets.len() > limit;
        tickets.truncate(limit);
        let next = tickets.last().filter(|_| more).map(|ticket| ticket.ticket_id);
        Self { tickets, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Priority;

    #[test]
    fn queries_are_read_or_all_their_faults_told() {
        let defaults = PageRequest::parse("").unwrap();
        assert_eq!((defaults.limit, &defaults.after, &defaults.status), (20, &None, &None));
        let all = "status=open&team=billing&customer_id=C-0001&limit=100&after=T-500123";
        let page = PageRequest::parse(all).unwrap();
        assert_eq!((page.status, page.team), (Some(Status::Open), Some(Team::Billing)));
        assert_eq!(page.customer_id.unwrap().as_str(), "C-0001");
        assert_eq!((page.limit, page.after), (100, Some(TicketId::new(500_123))));

        let cases = [
            ("limit=0", &[("limit", "1 to 100")][..]),
            ("limit=101", &[("limit", "1 to 100")]),
            ("limit=300", &[("limit", "1 to 100")]),
            ("limit=%2B5", &[("limit", "1 to 100")]),
            ("limit=", &[("limit", "1 to 100")]),
            ("status=Open", &[("status", "open, pending, closed")]),
            ("team=", &[("team", "billing")]),
            ("customer_id=1", &[("customer_id", "^C-")]),
            ("after=500123", &[("after", "T-500001")]),
            ("status=open&status=open", &[("status", "twice")]),
            ("page=2&limit=x", &[("page", "not a known"), ("limit", "1 to 100")]),
            ("%ff=1", &[("\u{fffd}", "not a known")]),
        ];
        for (query, expected) in cases {
            let errors = PageRequest::parse(query).unwrap_err();
            let found = errors.into_pairs();
            assert_eq!(found.len(), expected.len(), "{query}: {found:?}");
            for ((field, message), (name, part)) in found.iter().zip(expected) {
                assert!(field == name && message.contains(part), "{query}: {found:?}");
            }
        }
    }

    #[test]
    fn a_page_tells_where_the_next_one_begins() {
        let ticket = |number| TicketSummary {
            ticket_id: TicketId::new(number),
            customer_id: CustomerId::parse("C-0001").unwrap(),
            subject: String::new(),
            team: Team::General,
            priority: Priority::LOWEST,
            status: Status::Open,
            created_at: String::new(),
        };
        let cases = [(0, None), (1, None), (2, None), (3, Some(TicketId::new(8)))];
        for (rows, next) in cases {
            let page = TicketPage::of((0..rows).map(|i| ticket(9 - i)).collect(), 2);
            assert_eq!(page.tickets.len(), usize::try_from(rows).unwrap().min(2), "{rows}");
            assert_eq!(page.next, next, "{rows}");
        }
    }
}
