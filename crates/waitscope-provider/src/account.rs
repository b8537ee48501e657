//! The models on offer, and whose quota a call is charged to.

use std::time::Duration;

use waitscope_stats::draw::StableHash;

use crate::model::quota::{LimitState, Quota, Refusal};
use crate::model::recent::Recent;

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    Embedding,
    /// A chat model by its other protocol, with a quota of its own.
    Messages,
}

impl Kind {
    /// The full quota of a model. The limits are those recorded with the latencies (see
    /// [`crate::model::recorded`]).
    const fn quota(self) -> Quota {
        match self {
            Self::Chat => Quota::new(Some(100), 100_000),
            Self::Embedding => Quota::new(None, 100_000),
            Self::Messages => Quota::new(Some(100), 100_000).with_output(20_000),
        }
    }
}

/// A model on offer.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) id: &'static str,
    pub(crate) kind: Kind,
}

/// The models that are listed. Calls may name any other model as well.
pub(crate) const OFFERS: [Offer; 2] = [
    Offer { id: "chat-small", kind: Kind::Chat },
    Offer { id: "embed-small", kind: Kind::Embedding },
];

/// The quota of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// By the place among [`OFFERS`].
    Listed(usize),
    /// By a hash of the name.
    Unlisted(Kind, u64),
}

impl Account {
    /// The account of a call to `model`; `None` when this listed model does not do that.
    pub(crate) fn of(model: &str, kind: Kind) -> Option<Self> {
        if let Some(listed) = OFFERS.iter().position(|offer| offer.id == model) {
            match (OFFERS[listed].kind, kind) {
                (Kind::Chat, Kind::Messages) => {}
                (offered, asked) => return (offered == asked).then_some(Self::Listed(listed)),
            }
        }
        let name = StableHash::new(kind as u64).bytes(model.as_bytes()).finish();
        Some(Self::Unlisted(kind, name))
    }

    /// The account of a call whose model is not known (yet).
    pub(crate) const fn listed(kind: Kind) -> Self {
        match kind {
            Kind::Chat => Self::Listed(0),
            Kind::Embedding => Self::Listed(1),
            Kind::Messages => Self::Unlisted(kind, 0),
        }
    }

    /// Whether the tokens of its answers are charged as they are produced.
    pub(crate) const fn counts_output(self) -> bool {
        matches!(self, Self::Unlisted(Kind::Messages, _))
    }
}

/// All quotas.
#[derive(Debug)]
pub(crate) struct Accounts {
    listed: [Quota; OFFERS.len()],
    /// A client can think of any number of names: the last ones are remembered.
    unlisted: Recent<Quota>,
}

impl Accounts {
    /// How many names of unlisted models are remembered.
    pub(crate) const UNLISTED: usize = 1_024;

    /// All full.
    pub(crate) fn new() -> Self {
        let listed = OFFERS.map(|offer| offer.kind.quota());
        Self { listed, unlisted: Recent::new(Self::UNLISTED) }
    }

    pub(crate) fn admit(
        &mut self,
        account: Account,
        tokens: u64,
        share: u64,
        now: Duration,
    ) -> Result<(), Refusal> {
        self.quota(account).admit(tokens, share, now)
    }

    /// Charges tokens of an answer as they are produced.
    pub(crate) fn charge_output(
        &mut self,
        account: Account,
        tokens: u64,
        share: u64,
        now: Duration,
    ) {
        self.quota(account).charge_output(tokens, share, now);
    }

    fn quota(&mut self, account: Account) -> &mut Quota {
        match account {
            Account::Listed(listed) => &mut self.listed[listed],
            Account::Unlisted(kind, name) => self.unlisted.get_or_insert(name, kind.quota()),
        }
    }

    pub(crate) fn states(&self, account: Account, share: u64, now: Duration) -> Vec<LimitState> {
        match account {
            Account::Listed(listed) => self.listed[listed].states(share, now),
            Account::Unlisted(kind, name) => match self.unlisted.get(name) {
                Some(quota) => quota.states(share, now),
                None => kind.quota().states(share, now),
            },
        }
    }

    /// The name and limits of every listed model.
    pub(crate) fn all(
        &self,
        share: u64,
        now: Duration,
    ) -> impl Iterator<Item = (&'static str, Vec<LimitState>)> {
        let names = OFFERS.iter().map(|offer| offer.id);
        names.zip(self.listed.iter().map(move |quota| quota.states(share, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn tokens_left(accounts: &Accounts, account: Account) -> u64 {
        accounts.states(account, 1, NOW).last().unwrap().remaining
    }

    #[test]
    fn every_model_has_a_quota_of_its_own() {
        let mut accounts = Accounts::new();
        let all = [
            ("chat-small", Kind::Chat),
            ("embed-small", Kind::Embedding),
            ("other", Kind::Chat),
            ("another", Kind::Chat),
            ("other", Kind::Embedding),
        ]
        .map(|(model, kind)| Account::of(model, kind).unwrap());
        for (charged, tokens) in all.into_iter().zip(1..) {
            accounts.admit(charged, tokens, 1, NOW).unwrap();
        }
        assert_eq!(all.map(|account| 100_000 - tokens_left(&accounts, account)), [1, 2, 3, 4, 5]);
        assert_eq!(Account::of("chat-small", Kind::Embedding), None);
    }

    #[test]
    fn the_names_that_are_remembered_are_bounded() {
        let mut accounts = Accounts::new();
        let account = |number: usize| Account::of(&format!("m{number}"), Kind::Chat).unwrap();
        for number in 0..=Accounts::UNLISTED {
            accounts.admit(account(number), 100_000, 1, NOW).unwrap();
        }
        assert_eq!(tokens_left(&accounts, account(0)), 100_000, "forgotten");
        for number in 1..=Accounts::UNLISTED {
            assert_eq!(tokens_left(&accounts, account(number)), 0);
        }
    }
}
