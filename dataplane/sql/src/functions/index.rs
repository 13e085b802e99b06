//! Values by the names of functions, asked in whatever case and without a copy of the name.

/// Values by names whose letter case does not count. It is made once and never changed.
#[derive(Debug)]
pub(crate) struct NameIndex<V> {
    /// About one name each; as many as a power of two, never none.
    buckets: Vec<Vec<(&'static str, V)>>,
}

impl<V> NameIndex<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The value with the name as it was entered.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'static str, &V)> {
        let bucket = self.buckets.get(place(name, self.buckets.len()))?;
        bucket.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(known, value)| (*known, value))
    }

    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, &V)> {
        self.buckets.iter().flatten().map(|(name, value)| (*name, value))
    }
}

impl<V> FromIterator<(&'static str, V)> for NameIndex<V> {
    /// Of two values of one name the first counts.
    fn from_iter<I: IntoIterator<Item = (&'static str, V)>>(entries: I) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        let count = entries.len().next_power_of_two();
        let mut buckets: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        for (name, value) in entries {
            if let Some(bucket) = buckets.get_mut(place(name, count)) {
                bucket.push((name, value));
            }
        }
        Self { buckets }
    }
}

/// The bucket of a name among so many, by the FNV-1a hash of its small letters.
fn place(name: &str, count: usize) -> usize {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = name.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(PRIME));
    usize::try_from(hash).unwrap_or_default() & (count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_any_case_and_no_other_is() {
        let index: NameIndex<u8> = [("upper", 1), ("lower", 2), ("upper", 3)].into_iter().collect();
        assert_eq!((index.get("UPPER"), index.get("Lower")), (Some(&1), Some(&2)));
        assert_eq!(index.entry("UPPER"), Some(("upper", &1)));
        assert!(["", "uppe", "uppers", "ÜPPER"].into_iter().all(|name| index.get(name).is_none()));
        let empty: NameIndex<u8> = [].into_iter().collect();
        assert!(empty.get("upper").is_none());
    }

    #[test]
    fn the_names_of_functions_are_spread_over_the_buckets() {
        let index: NameIndex<()> = crate::functions::catalogue::all().map(|function| (function.name, ())).collect();
        assert!(index.buckets.iter().all(|bucket| bucket.len() <= 8));
    }
}
