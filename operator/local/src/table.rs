//! Columns for a terminal, as kubectl prints them.

use jiff::Timestamp;

/// Columns as wide as their widest cell, three spaces apart; the last is not filled up.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    let lines = || std::iter::once(&header).chain(rows);
    let width = |column: usize| lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..header.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in lines() {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// A line each.
pub fn bullets(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        text.extend(["  - ", line, "\n"]);
    }
    text
}

/// `12s`, `5m`, `3h`, `2d`: the largest unit of which there are at least two, but days.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Of a time that may be absent or unreadable.
pub fn age_of(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or_else(|| "-".to_owned(), |since| age(since, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let rows = [vec!["é".to_owned(), "x".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(table(&["A", "B"], &rows), "A      B\né      x\nlong\n");
    }

    #[test]
    fn an_age_is_one_number() {
        let now = Timestamp::UNIX_EPOCH;
        for (seconds, text) in
            [(-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d")]
        {
            let since = now - jiff::SignedDuration::from_secs(seconds);
            assert_eq!(age(since, now), text);
        }
        assert_eq!(age_of(None, now), "-");
    }
}
