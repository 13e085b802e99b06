//! Lists of what is not as it should be, in `tests/golden/`: they only get shorter.

use std::collections::BTreeMap;

use tests::golden;

/// How often each thing was found.
pub type Found = BTreeMap<String, usize>;

/// Reads lines such as `what` and, for more than one, `what: 3`.
fn listed(name: &str) -> Found {
    let entry = |line: &str| match line.rsplit_once(": ") {
        Some((what, count)) => (what.to_owned(), count.parse().unwrap()),
        None => (line.to_owned(), 1),
    };
    golden::read(name).lines().map(entry).collect()
}

fn print(found: &Found) -> String {
    let line =
        |(what, count): (&String, &usize)| if *count == 1 { format!("{what}\n") } else { format!("{what}: {count}\n") };
    found.iter().map(line).collect()
}

/// Compares what was found with the list of this name. `UPDATE_GOLDEN=1` shortens the list, and never lengthens it.
pub fn only_shrinks(name: &str, found: &Found, advice: &str) {
    let listed = listed(name);
    let allowed = |what: &String| listed.get(what).copied().unwrap_or(0);
    let count = |what: &String| found.get(what).copied().unwrap_or(0);
    let new: Found = found
        .iter()
        .filter(|(what, count)| **count > allowed(what))
        .map(|(what, count)| (what.clone(), *count))
        .collect();
    let gone: Found = listed
        .iter()
        .filter(|(what, allowed)| **allowed > count(what))
        .map(|(what, count)| (what.clone(), *count))
        .collect();
    if golden::is_updated() {
        let kept = listed
            .iter()
            .map(|(what, allowed)| (what.clone(), count(what).min(*allowed)))
            .filter(|(_, count)| *count > 0);
        std::fs::write(golden::folder().join(name), print(&kept.collect())).unwrap();
    } else {
        let lines = print(&gone);
        assert!(
            gone.is_empty(),
            "these are fewer now, so delete them from tests/golden/{name}, or lower their number:\n{lines}"
        );
    }
    assert!(new.is_empty(), "{advice}; these are new, and tests/golden/{name} may not grow:\n{}", print(&new));
}
