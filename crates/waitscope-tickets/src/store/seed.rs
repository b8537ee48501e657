//! Made-up customers and tickets: the same on every start.

use crate::domain::{Channel, Named, Status, Team};

/// How many customers, and how many tickets, there are to begin with.
pub(super) const COUNT: u8 = 50;

/// The number before the first seeded ticket: new tickets have greater numbers than all of them.
const TICKETS_AFTER: i64 = 400_000;

const GIVEN_NAMES: [&str; 10] =
    ["Ada", "Bruno", "Chiara", "Dilan", "Elif", "Femi", "Greta", "Hugo", "Ines", "Jonas"];
const FAMILY_NAMES: [&str; 5] = ["Abel", "Brandt", "Costa", "Demir", "Eriksen"];

/// A customer to begin with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) name: String,
}

/// A ticket to begin with, from before the AI intake.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OldTicket {
    pub(super) number: i64,
    pub(super) customer_id: String,
    pub(super) subject: &'static str,
    pub(super) body: &'static str,
    pub(super) channel: Channel,
    pub(super) team: Team,
    pub(super) priority: u8,
    pub(super) status: Status,
    pub(super) created_at: String,
}

/// What people write about, to whom it goes, and how urgent it is.
const TOPICS: [(&str, &str, Team, u8); 10] = [
    ("Charged twice", "My card was charged twice for one order.", Team::Billing, 1),
    ("Invoice address", "Please put our new address on the invoice.", Team::Billing, 3),
    ("Cannot log in", "The reset link for my password does not arrive.", Team::Account, 1),
    ("Close my account", "Please delete my account and my data.", Team::Account, 2),
    ("App stops at start", "Since the update the app ends at once.", Team::Technical, 1),
    ("Export is slow", "The export of a month takes an hour.", Team::Technical, 2),
    ("Parcel is late", "The parcel was promised for last week.", Team::Shipping, 2),
    ("Wrong item", "I ordered a blue one and got a red one.", Team::Shipping, 2),
    ("Opening hours", "When can I call you on Saturdays?", Team::General, 3),
    ("Praise", "The new search is a joy. Thank you!", Team::General, 3),
];

/// The customers `C-0001` to `C-0050`.
pub(super) fn customers() -> impl Iterator<Item = Customer> {
    (0..COUNT).map(|i| {
        let given = GIVEN_NAMES[usize::from(i) % GIVEN_NAMES.len()];
        let family = FAMILY_NAMES[usize::from(i) / GIVEN_NAMES.len()];
        Customer { id: customer_id(i), name: format!("{given} {family}") }
    })
}

/// The tickets `T-400001` to `T-400050`, one a day.
pub(super) fn tickets() -> impl Iterator<Item = OldTicket> {
    (0..COUNT).map(|i| {
        let n = usize::from(i);
        let (subject, body, team, priority) = TOPICS[n % TOPICS.len()];
        let (month, day) = (1 + i / 25, 1 + i % 25);
        OldTicket {
            number: TICKETS_AFTER + 1 + i64::from(i),
            // A step that shares no factor with the count, so that each customer gets one ticket.
            customer_id: customer_id((i * 3 + 7) % COUNT),
            subject,
            body,
            channel: Channel::ALL[n % Channel::ALL.len()],
            team,
            priority,
            status: Status::ALL[n % Status::ALL.len()],
            created_at: format!("2026-{month:02}-{day:02}T09:00:00.000Z"),
        }
    })
}

fn customer_id(i: u8) -> String {
    format!("C-{:04}", i + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::domain::{CustomerId, Priority};

    #[test]
    fn fifty_different_customers() {
        let customers: Vec<Customer> = customers().collect();
        let ids: HashSet<&str> = customers.iter().map(|c| c.id.as_str()).collect();
        let names: HashSet<&str> = customers.iter().map(|c| c.name.as_str()).collect();
        assert_eq!((ids.len(), names.len()), (50, 50));
        assert_eq!((customers[0].id.as_str(), customers[49].id.as_str()), ("C-0001", "C-0050"));
        assert!(ids.iter().all(|id| CustomerId::parse(id).is_some()));
    }

    #[test]
    fn fifty_valid_tickets_of_fifty_customers() {
        let known: HashSet<String> = customers().map(|customer| customer.id).collect();
        let tickets: Vec<OldTicket> = tickets().collect();
        let owners: HashSet<&String> = tickets.iter().map(|ticket| &ticket.customer_id).collect();
        assert_eq!((tickets.len(), owners.len()), (50, 50));
        for ticket in &tickets {
            assert!((400_001..=400_050).contains(&ticket.number));
            assert!(known.contains(&ticket.customer_id), "{ticket:?}");
            assert!(Priority::new(ticket.priority.into()).is_some(), "{ticket:?}");
            assert!(ticket.created_at.parse::<jiff::Timestamp>().is_ok(), "{ticket:?}");
        }
    }
}
