//! Text of dates, times and timestamps, as PostgreSQL reads it with `DateStyle` ISO, MDY.
//!
//! `1995-01-01 +00`, `Jan 8, 1999`, `1/8/1999 4:05 PM`, `20240101T040506Z`, `2001-02-16 20:38:40 Europe/Berlin`: a text
//! is cut into numbers, words, dates and times (`token.rs`), and each of them says a part of the moment, once.

mod token;

use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

use crate::encode::pg_rows::moment::DAY_MICROS;
use token::{DateToken, tokens};

/// The clock by which text without a zone or a date of its own is read.
#[derive(Debug, Clone, Copy)]
pub struct SessionClock {
    pub now: DateTime<Utc>,
    pub zone: Tz,
}

/// Days since 1970; the infinities are the engine's.
pub fn date(text: &str, clock: &SessionClock) -> Option<i32> {
    match read(text, clock)? {
        ReadMoment::Infinite(sign) => Some(sign * i32::MAX),
        ReadMoment::Finite(parts) => Some(parts.date()?.to_epoch_days()),
    }
}

/// Microseconds since midnight; a date and a zone say nothing of it.
pub fn time(text: &str, clock: &SessionClock) -> Option<i64> {
    match read(text, clock)? {
        ReadMoment::Infinite(_) => None,
        ReadMoment::Finite(parts) => parts.micros,
    }
}

/// Microseconds since 1970; an offset says nothing of it, as PostgreSQL has it.
pub fn timestamp(text: &str, clock: &SessionClock) -> Option<i64> {
    match read(text, clock)? {
        ReadMoment::Infinite(sign) => Some(i64::from(sign) * i64::MAX),
        ReadMoment::Finite(parts) => parts.local(),
    }
}

/// Microseconds since 1970 in UTC; without an offset or a zone it is in the session's.
pub fn timestamp_tz(text: &str, clock: &SessionClock) -> Option<i64> {
    match read(text, clock)? {
        ReadMoment::Infinite(sign) => Some(i64::from(sign) * i64::MAX),
        ReadMoment::Finite(parts) => {
            let local = parts.local()?;
            let seconds = match parts.zone {
                Some(ReadZone::Offset(seconds)) => seconds,
                Some(ReadZone::Named(zone)) => offset(local, zone)?,
                None => offset(local, clock.zone)?,
            };
            local.checked_sub(i64::from(seconds) * 1_000_000)
        }
    }
}

/// Seconds east of UTC at a local time: of one that is there twice the later, of one that is not as before it.
fn offset(local: i64, zone: Tz) -> Option<i32> {
    use chrono::Offset;
    let local: NaiveDateTime = DateTime::from_timestamp_micros(local)?.naive_utc();
    let found = zone.offset_from_local_datetime(&local).latest();
    let before = || zone.offset_from_local_datetime(&(local - chrono::TimeDelta::hours(3))).latest();
    Some(found.or_else(before)?.fix().local_minus_utc())
}

enum ReadMoment {
    /// By its sign.
    Infinite(i32),
    Finite(MomentParts),
}

#[derive(Debug, Clone, Copy)]
enum ReadZone {
    /// Seconds east of UTC.
    Offset(i32),
    Named(Tz),
}

/// Parts of a moment that a text has given so far.
#[derive(Debug, Default)]
struct MomentParts {
    year: Option<(i32, usize)>,
    month: Option<u32>,
    day: Option<u32>,
    /// Of the year, in place of month and day.
    day_of_year: Option<u32>,
    whole: Option<NaiveDate>,
    micros: Option<i64>,
    zone: Option<ReadZone>,
    is_month_written: bool,
    is_bc: bool,
}

/// Sets what was not set before.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value);
    Some(())
}

fn read(text: &str, clock: &SessionClock) -> Option<ReadMoment> {
    let trimmed = text.trim().to_lowercase();
    match trimmed.as_str() {
        "infinity" | "+infinity" => return Some(ReadMoment::Infinite(1)),
        "-infinity" => return Some(ReadMoment::Infinite(-1)),
        _ => {}
    }
    let mut parts = MomentParts::default();
    let mut is_behind_t = false;
    for token in tokens(&trimmed)? {
        let was_behind_t = std::mem::take(&mut is_behind_t);
        match token {
            DateToken::Word("t") if parts.micros.is_none() => is_behind_t = true,
            DateToken::Word(word) => parts.word(word, clock)?,
            DateToken::Number(number) => parts.number(number, was_behind_t)?,
            DateToken::Date(date) => parts.date_field(date)?,
            DateToken::Time(time) => once(&mut parts.micros, time_of(time)?)?,
            DateToken::Offset(offset) => once(&mut parts.zone, ReadZone::Offset(offset_of(offset)?))?,
        }
    }
    let says = parts.whole.is_some() || parts.year.is_some() || parts.month.is_some() || parts.micros.is_some();
    (says && !is_behind_t).then_some(ReadMoment::Finite(parts))
}

impl MomentParts {
    fn word(&mut self, word: &str, clock: &SessionClock) -> Option<()> {
        if let Some(month) = named(&MONTHS, word) {
            self.is_month_written = true;
            // what was taken for the month before is the day: `8 January 1999`
            if let Some(number) = self.month.take() {
                once(&mut self.day, number)?;
            }
            return once(&mut self.month, month);
        }
        let now = clock.now.with_timezone(&clock.zone).naive_local();
        match word {
            "am" | "pm" => {
                let micros = self.micros.filter(|micros| *micros < 13 * HOUR_MICROS)?;
                let past_noon = micros >= 12 * HOUR_MICROS;
                let half = 12 * HOUR_MICROS;
                self.micros = Some(match (word, past_noon) {
                    ("am", true) => micros - half,
                    ("pm", false) => micros + half,
                    _ => micros,
                });
                Some(())
            }
            "bc" => {
                self.is_bc = true;
                Some(())
            }
            "ad" | "at" | "on" | "dst" => Some(()),
            "epoch" => {
                once(&mut self.micros, 0)?;
                once(&mut self.zone, ReadZone::Offset(0))?;
                once(&mut self.whole, NaiveDate::from_ymd_opt(1970, 1, 1)?)
            }
            "now" => {
                once(&mut self.micros, micros_of(now.time()))?;
                once(&mut self.whole, now.date())
            }
            "today" => once(&mut self.whole, now.date()),
            "tomorrow" => once(&mut self.whole, now.date().checked_add_days(Days::new(1))?),
            "yesterday" => once(&mut self.whole, now.date().checked_sub_days(Days::new(1))?),
            "allballs" => {
                once(&mut self.micros, 0)?;
                once(&mut self.zone, ReadZone::Offset(0))
            }
            _ if named(&WEEKDAYS, word).is_some() => Some(()),
            _ => once(&mut self.zone, zone(word)?),
        }
    }

    fn number(&mut self, number: &str, is_behind_t: bool) -> Option<()> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let has_date =
            self.whole.is_some() || (self.year.is_some() && (self.day.is_some() || self.day_of_year.is_some()));
        if is_behind_t || (has_date && self.micros.is_none() && matches!(whole.len(), 4 | 6)) {
            let part = |from: usize| whole.get(from..from + 2);
            let seconds = part(4).unwrap_or("00");
            let is_time = matches!(whole.len(), 2 | 4 | 6) && (fraction.is_empty() || whole.len() == 6);
            let time = format!("{}:{}:{seconds}.{fraction}", part(0)?, part(2).unwrap_or("00"));
            return is_time.then_some(()).and_then(|()| once(&mut self.micros, time_of(&time)?));
        }
        if !fraction.is_empty() {
            return None;
        }
        match whole.len() {
            8 | 6 if self.year.is_none() && self.month.is_none() && self.day.is_none() => {
                let (year, rest) = whole.split_at_checked(whole.len() - 4)?;
                let (month, day) = rest.split_at_checked(2)?;
                self.year = Some((year.parse().ok()?, year.len()));
                self.month = month.parse().ok();
                self.day = day.parse().ok();
                Some(())
            }
            _ => self.ordered(whole),
        }
    }

    /// Month, day and year, unless the number or what is said already tells which it is.
    fn ordered(&mut self, digits: &str) -> Option<()> {
        let (value, length): (u32, usize) = (digits.parse().ok()?, digits.len());
        let year = (i32::try_from(value).ok()?, length);
        match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) if length >= 3 => once(&mut self.year, year),
            (true, false, false) if length == 3 => once(&mut self.day_of_year, value),
            (false, true, false) if self.is_month_written && length >= 3 => once(&mut self.year, year),
            (_, false, _) => once(&mut self.month, value),
            (_, true, false) => once(&mut self.day, value),
            (false, true, true) => once(&mut self.year, year),
            (true, true, true) => None,
        }
    }

    /// `1999-01-08`, `1/8/99`, `08-Jan-1999`, `1999.008`.
    fn date_field(&mut self, date: &str) -> Option<()> {
        let fields = || date.split(['-', '/', '.']);
        if !date.starts_with(|c: char| c.is_ascii_digit())
            && fields().next().is_some_and(|first| named(&MONTHS, first).is_none())
        {
            return once(&mut self.zone, zone(date)?);
        }
        for word in fields().filter(|field| !field.starts_with(|c: char| c.is_ascii_digit())) {
            self.is_month_written = true;
            once(&mut self.month, named(&MONTHS, word)?)?;
        }
        let mut numbers = fields().filter(|field| field.starts_with(|c: char| c.is_ascii_digit()));
        numbers.try_for_each(|number| self.ordered(number))
    }

    fn date(&self) -> Option<NaiveDate> {
        if let Some(whole) = self.whole {
            return self.year.is_none().then_some(whole);
        }
        let year = match self.year? {
            (year, _) if self.is_bc => 1_i32.checked_sub(year).filter(|year| *year <= 0)?,
            (year, 1 | 2) if year < 70 => year + 2_000,
            (year, 1 | 2) => year + 1_900,
            (0, _) => return None,
            (year, _) => year,
        };
        match self.day_of_year {
            Some(day) => NaiveDate::from_yo_opt(year, day),
            None => NaiveDate::from_ymd_opt(year, self.month?, self.day?),
        }
    }

    /// Microseconds since 1970 where it was said.
    fn local(&self) -> Option<i64> {
        let midnight = self.date()?.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
        midnight.checked_add(self.micros.unwrap_or(0))
    }
}

const HOUR_MICROS: i64 = DAY_MICROS / 24;

fn micros_of(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(time.nanosecond() / 1_000)
}

/// `4:05`, `04:05:06.789`; midnight at the end of a day too.
pub(super) fn time_of(text: &str) -> Option<i64> {
    let mut fields = text.splitn(3, ':');
    let (hours, minutes) = (fields.next()?.parse::<i64>().ok()?, fields.next()?.parse::<i64>().ok()?);
    let seconds = fields.next().unwrap_or("0");
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let seconds: i64 = seconds.parse().ok()?;
    let micros = (hours * 60 + minutes) * 60_000_000 + seconds * 1_000_000 + micros_in(fraction)?;
    ((0..60).contains(&minutes) && (0..=60).contains(&seconds) && micros <= DAY_MICROS).then_some(micros)
}

/// Digits behind the point of a second, to the nearest microsecond.
pub(super) fn micros_in(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let digits =
        |from: usize, to: usize| format!("{fraction:0<8}").get(from..to).and_then(|part| part.parse::<i64>().ok());
    is_number.then_some(())?;
    Some(digits(0, 6)? + i64::from(digits(6, 7)? >= 5))
}

/// Seconds east of UTC of `+02`, `-0730`, `+05:30:00`.
fn offset_of(text: &str) -> Option<i32> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let fields: Vec<i32> = match rest.split(':').collect::<Vec<_>>().as_slice() {
        [packed] if packed.len() > 2 => {
            let (hours, minutes) = packed.split_at_checked(packed.len() - 2)?;
            vec![hours.parse().ok()?, minutes.parse().ok()?]
        }
        fields => fields.iter().map(|field| field.parse().ok()).collect::<Option<_>>()?,
    };
    let [hours, minutes, seconds] = [0, 1, 2].map(|at| fields.get(at).copied().unwrap_or(0));
    let is_one = fields.len() <= 3 && hours < 16 && minutes < 60 && seconds < 60;
    is_one.then_some(sign * (hours * 3_600 + minutes * 60 + seconds))
}

/// By its abbreviation or its name.
fn zone(word: &str) -> Option<ReadZone> {
    if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(name, _)| *name == word) {
        return Some(ReadZone::Offset(hours * 3_600));
    }
    let zone = chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(word))?;
    Some(ReadZone::Named(*zone))
}

/// The place of a name from 1, whole or by its first three letters or more.
fn named(names: &[&str], word: &str) -> Option<u32> {
    let place = names.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    u32::try_from(place + 1).ok()
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Those of PostgreSQL's own list that are written most, in hours east.
const ABBREVIATIONS: [(&str, i32); 22] = [
    ("z", 0),
    ("utc", 0),
    ("gmt", 0),
    ("ut", 0),
    ("zulu", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("wet", 0),
    ("bst", 1),
    ("cet", 1),
    ("cest", 2),
    ("eet", 2),
    ("eest", 3),
    ("msk", 3),
    ("jst", 9),
    ("aest", 10),
];

#[cfg(test)]
mod tests;
