//! A map in bounded memory.

use std::collections::{HashMap, VecDeque};

/// Values by the hash of what they belong to. The keys that came first are forgotten first, and a
/// forgotten key starts again with a fresh value.
#[derive(Debug)]
pub struct Recent<V> {
    values: HashMap<u64, V>,
    oldest_first: VecDeque<u64>,
    capacity: usize,
}

impl<V> Recent<V> {
    /// Empty; remembers `capacity` keys, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { values: HashMap::new(), oldest_first: VecDeque::new(), capacity }
    }

    /// The value of a key that is remembered.
    pub fn get(&self, key: u64) -> Option<&V> {
        self.values.get(&key)
    }

    /// The value of a key, which is `fresh` for one that is not remembered.
    pub fn get_or_insert(&mut self, key: u64, fresh: V) -> &mut V {
        if !self.values.contains_key(&key) {
            if self.values.len() == self.capacity
                && let Some(oldest) = self.oldest_first.pop_front()
            {
                self.values.remove(&oldest);
            }
            self.oldest_first.push_back(key);
        }
        self.values.entry(key).or_insert(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_key_is_forgotten() {
        let mut recent = Recent::new(2);
        let mut count = |key| {
            let count = recent.get_or_insert(key, 0);
            *count += 1;
            *count
        };
        assert_eq!([1, 1, 2, 2, 3, 2, 1, 1].map(&mut count), [1, 2, 1, 2, 1, 3, 1, 2]);
        assert_eq!((recent.get(1), recent.get(2), recent.get(3)), (Some(&2), None, Some(&1)));
        assert_eq!((recent.values.len(), recent.oldest_first.len()), (2, 2));
    }
}
