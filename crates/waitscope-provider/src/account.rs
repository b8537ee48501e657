//! The models on offer, and whose quota a call is charged to.

use std::time::Duration;

use crate::model::quota::{LimitState, Quota, Refusal};

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    Embedding,
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

/// One quota: a listed model's, or the one that all other models of a kind share. (A quota for
/// every name that a client can think of would need memory without bound.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account(usize);

/// The names of the accounts in the metrics, in the order of [`Accounts`].
const NAMES: [&str; 4] = ["chat-small", "embed-small", "other chat", "other embedding"];

impl Account {
    /// The account of a call to `model`; `None` when this listed model does not do that.
    pub(crate) fn of(model: &str, kind: Kind) -> Option<Self> {
        match OFFERS.iter().position(|offer| offer.id == model) {
            Some(listed) => (OFFERS[listed].kind == kind).then_some(Self(listed)),
            None => Some(match kind {
                Kind::Chat => Self(2),
                Kind::Embedding => Self(3),
            }),
        }
    }

    /// The account of a call whose model is not known (yet).
    pub(crate) const fn listed(kind: Kind) -> Self {
        match kind {
            Kind::Chat => Self(0),
            Kind::Embedding => Self(1),
        }
    }
}

/// All quotas.
#[derive(Debug)]
pub(crate) struct Accounts([Quota; 4]);

impl Accounts {
    /// All full. The limits are those recorded with the latencies (see
    /// [`crate::model::recorded`]).
    pub(crate) const fn new() -> Self {
        const CHAT: Quota = Quota::new(Some(100), 100_000);
        const EMBEDDING: Quota = Quota::new(None, 100_000);
        Self([CHAT, EMBEDDING, CHAT, EMBEDDING])
    }

    pub(crate) fn admit(
        &mut self,
        account: Account,
        tokens: u64,
        share: u64,
        now: Duration,
    ) -> Result<(), Refusal> {
        self.0[account.0].admit(tokens, share, now)
    }

    pub(crate) fn states(&self, account: Account, share: u64, now: Duration) -> Vec<LimitState> {
        self.0[account.0].states(share, now)
    }

    /// Every account's name and limits.
    pub(crate) fn all(
        &self,
        share: u64,
        now: Duration,
    ) -> impl Iterator<Item = (&'static str, Vec<LimitState>)> {
        NAMES.into_iter().zip(self.0.iter().map(move |quota| quota.states(share, now)))
    }
}
