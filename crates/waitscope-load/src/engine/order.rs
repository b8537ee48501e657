//! Requests in flight in the order of their starts: since all have the same timeout, the first one
//! times out first. A linked list through the connections' places, so that any one can leave.

/// No place.
const NONE: u32 = u32::MAX;

/// The order. Its size follows the most requests in flight, not their number in all.
#[derive(Debug, Default)]
pub(super) struct Order {
    links: Vec<Link>,
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

impl Order {
    /// The one that started first.
    pub(super) fn first(&self) -> Option<u32> {
        self.first
    }

    /// Puts a place, which must not be in the list, behind the last one that is not later than it.
    /// Most often that is the last one of all.
    pub(super) fn insert(&mut self, place: u32, is_later: impl Fn(u32) -> bool) {
        let mut before = self.last;
        while let Some(other) = before
            && is_later(other)
        {
            let further = self.links[other as usize].before;
            before = (further != NONE).then_some(further);
        }
        let after = match before {
            Some(before) => self.links[before as usize].after,
            None => self.first.unwrap_or(NONE),
        };
        let index = place as usize;
        if self.links.len() <= index {
            self.links.resize(index + 1, Link { before: NONE, after: NONE });
        }
        self.links[index] = Link { before: before.unwrap_or(NONE), after };
        match before {
            Some(before) => self.links[before as usize].after = place,
            None => self.first = Some(place),
        }
        match after {
            NONE => self.last = Some(place),
            after => self.links[after as usize].before = place,
        }
    }

    /// Takes a place out, which must be in the list.
    pub(super) fn remove(&mut self, place: u32) {
        let Link { before, after } = self.links[place as usize];
        match before {
            NONE => self.first = (after != NONE).then_some(after),
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = (before != NONE).then_some(before),
            after => self.links[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The list does what a plain vector does, sorted by a time that each place has.
        #[test]
        fn the_first_is_the_oldest(
            steps in prop::collection::vec((any::<bool>(), 0_u32..20, 0_u32..9), 0..200)
        ) {
            let (mut order, mut model) = (Order::default(), Vec::<(u32, u32)>::new());
            for (insert, place, time) in steps {
                let at = model.iter().position(|(other, _)| *other == place);
                match (insert, at) {
                    (true, None) => {
                        let times: BTreeMap<u32, u32> = model.iter().copied().collect();
                        order.insert(place, |other| times[&other] > time);
                        let index = model.partition_point(|(_, other)| *other <= time);
                        model.insert(index, (place, time));
                    }
                    (false, Some(at)) => {
                        order.remove(place);
                        model.remove(at);
                    }
                    _ => {}
                }
                prop_assert_eq!(order.first(), model.first().map(|(place, _)| *place));
            }
            while let Some(first) = order.first() {
                prop_assert_eq!(first, model.remove(0).0);
                order.remove(first);
            }
            prop_assert!(model.is_empty());
        }
    }
}
