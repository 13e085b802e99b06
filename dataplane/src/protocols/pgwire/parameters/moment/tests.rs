//! The answers are those of PostgreSQL 15.

use super::*;

fn clock(zone: Tz) -> SessionClock {
    SessionClock { now: DateTime::from_timestamp(1_700_000_000, 0).unwrap(), zone }
}

fn shown(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros).unwrap().naive_utc().to_string()
}

#[test]
fn dates_are_read_in_every_form() {
    for text in [
        "1999-01-08",
        "1999-1-8",
        "January 8, 1999",
        "1/8/1999",
        "1/8/99",
        "01.08.1999",
        "1999-Jan-08",
        "Jan-08-1999",
        "08-Jan-1999",
        "08-jan-99",
        "8 January 1999",
        "19990108",
        "990108",
        "1999.008",
        "1999-008",
        "Fri, 8 Jan 1999",
        "1999-01-08 +00",
        "1999-01-08 00:00:00+05:30",
        "1999-01-08T23:59:59.999Z",
        "1999-01-08 04:05:06 PM PST",
        " 1999-01-08 ",
    ] {
        let day = date(text, &clock(Tz::UTC)).and_then(NaiveDate::from_epoch_days);
        assert_eq!(day, NaiveDate::from_ymd_opt(1999, 1, 8), "{text}");
    }
    let day = |text| date(text, &clock(Tz::UTC)).and_then(NaiveDate::from_epoch_days).map(|day| day.to_string());
    assert_eq!(day("tomorrow").as_deref(), Some("2023-11-15"));
    assert_eq!(day("epoch").as_deref(), Some("1970-01-01"));
    assert_eq!(day("0044-03-15 BC").as_deref(), Some("-0043-03-15"));
    assert_eq!(date("-infinity", &clock(Tz::UTC)), Some(-i32::MAX));
}

#[test]
fn what_is_no_date_is_refused() {
    for text in [
        "",
        "x",
        "2024-02-30",
        "13/13/2024",
        "1999-01",
        "1999-01-08 x",
        "1999-01-08 1999-01-08",
        "25:00",
        "4:05",
        "+00",
    ] {
        assert_eq!(date(text, &clock(Tz::UTC)), None, "{text}");
    }
}

#[test]
fn times_are_read_in_every_form() {
    for (text, seconds) in [
        ("04:05:06", 14_706.0),
        ("04:05:06.789", 14_706.789),
        ("4:05", 14_700.0),
        ("04:05 AM", 14_700.0),
        ("04:05 pm", 57_900.0),
        ("12:00 am", 0.0),
        ("24:00:00", 86_400.0),
        ("T040506", 14_706.0),
        ("04:05:06-08:00", 14_706.0),
        ("2003-04-12 04:05:06 America/New_York", 14_706.0),
        ("23:59:59.9999999", 86_400.0),
        ("allballs", 0.0),
    ] {
        let micros = time(text, &clock(Tz::UTC));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let found = micros.map(|micros| micros as f64 / 1e6);
        assert_eq!(found, Some(seconds), "{text}");
    }
    for text in ["24:00:01", "04:60", "13:00 pm", "1999-01-08", "infinity", "4"] {
        assert_eq!(time(text, &clock(Tz::UTC)), None, "{text}");
    }
}

#[test]
fn a_moment_is_read_by_its_offset_its_zone_or_the_sessions() {
    for (text, utc) in [
        ("2001-02-16 20:38:40+00", "2001-02-16 20:38:40"),
        ("2001-02-16T20:38:40-0730", "2001-02-17 04:08:40"),
        ("2001-02-16 20:38:40 Z", "2001-02-16 20:38:40"),
        ("2001-02-16 20:38:40 PST", "2001-02-17 04:38:40"),
        ("2001-07-16 20:38:40 America/New_York", "2001-07-17 00:38:40"),
        ("2001-07-16 20:38:40", "2001-07-16 18:38:40"),
        ("2001-02-16", "2001-02-15 23:00:00"),
        ("20010216T203840+01", "2001-02-16 19:38:40"),
        ("20010216 203840", "2001-02-16 19:38:40"),
        ("Feb 16 20:38:40 2001 EST", "2001-02-17 01:38:40"),
        // there twice, and not at all
        ("2001-10-28 02:30:00", "2001-10-28 01:30:00"),
        ("2001-03-25 02:30:00", "2001-03-25 01:30:00"),
        ("now", "2023-11-14 22:13:20"),
        ("epoch", "1970-01-01 00:00:00"),
    ] {
        let found = timestamp_tz(text, &clock(Tz::Europe__Berlin)).map(shown);
        assert_eq!(found.as_deref(), Some(utc), "{text}");
    }
    let found = timestamp("2001-02-16 20:38:40.1234565+05:30", &clock(Tz::Europe__Berlin)).map(shown);
    assert_eq!(found.as_deref(), Some("2001-02-16 20:38:40.123457"));
}
