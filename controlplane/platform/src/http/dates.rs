//! Dates and moments in the query part of a URL.

use chrono::{Datelike, Duration, NaiveDate, NaiveTime};
use contract::Timestamp;

use crate::{Error, Result};

/// Which end of a range a date stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// A date is its first moment.
    Start,
    /// A date is its last moment.
    Last,
}

/// Years that anything here can have happened in; what is beyond cannot be reckoned with.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// An ISO 8601 moment or date.
pub fn moment(field: &'static str, text: &str, end: RangeEnd) -> Result<Timestamp> {
    let refused = || Error::invalid(field, "ISO 8601", format!("`{field}` is an ISO 8601 date or moment"));
    let moment = if let Ok(moment) = chrono::DateTime::parse_from_rfc3339(text) {
        moment.to_utc()
    } else {
        let date: NaiveDate = text.parse().map_err(|_| refused())?;
        let time = match end {
            RangeEnd::Start => NaiveTime::from_hms_micro_opt(0, 0, 0, 0),
            RangeEnd::Last => NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999),
        };
        date.and_time(time.ok_or_else(refused)?).and_utc()
    };
    YEARS.contains(&moment.year()).then_some(moment).ok_or_else(refused)
}

/// "A start date after the end date … returns 422 `INVALID_DATE_RANGE`", and so does one that is
/// longer than `most`, which `too_long` says.
pub fn in_order(start: Timestamp, end: Timestamp, most: Duration, too_long: &'static str) -> Result<()> {
    if start > end {
        return Err(Error::InvalidDateRange("starts after it ends"));
    }
    if end - start > most {
        return Err(Error::InvalidDateRange(too_long));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_whole_day_and_a_moment_itself() {
        for (text, end, is) in [
            ("2026-01-01", RangeEnd::Start, "2026-01-01T00:00:00Z"),
            ("2026-01-01", RangeEnd::Last, "2026-01-01T23:59:59.999999Z"),
            ("2026-01-01T12:00:00+02:00", RangeEnd::Last, "2026-01-01T10:00:00Z"),
        ] {
            assert_eq!(moment("d", text, end).unwrap(), is.parse::<Timestamp>().unwrap(), "{text}");
        }
        for text in ["", "soon", "2026-02-30", "2026-01-01T25:00:00Z", "+262142-12-31", "-0001-01-01"] {
            assert!(moment("d", text, RangeEnd::Last).is_err(), "{text}");
        }
    }
}
