//! Text of intervals, as PostgreSQL reads it: `1 year 2 mons -3 days 04:05:06.7`, `1-2`, `P1Y2M3DT4H`, `1.5 hours ago`.

use engine::Value;

use super::moment::{micros_in, time_of};
use crate::encode::pg_rows::moment::DAY_MICROS;

const SECOND: i64 = 1_000_000;
const MONTH_DAYS: i64 = 30;

/// Months, days and microseconds: none is turned into another.
#[derive(Debug, Default)]
struct IntervalSum {
    months: i64,
    days: i64,
    micros: i64,
    is_something: bool,
}

/// A unit of an interval, in what it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntervalUnit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

/// The value; nothing for what is no interval.
pub fn read(text: &str) -> Option<Value> {
    let text = text.trim().to_lowercase();
    let sum = match text.strip_prefix('p') {
        Some(rest) => iso(rest)?,
        None => words(&text)?,
    };
    let (months, days) = (i32::try_from(sum.months).ok()?, i32::try_from(sum.days).ok()?);
    sum.is_something.then_some(Value::Interval { months, days, micros: sum.micros })
}

impl IntervalSum {
    /// Adds a number with a fraction; what is left of months are days, and of days a time.
    fn add(&mut self, number: &str, unit: IntervalUnit) -> Option<()> {
        let (sign, size) = signed(number);
        let (whole, fraction) = size.split_once('.').unwrap_or((size, ""));
        let whole: i64 = if whole.is_empty() && !fraction.is_empty() { 0 } else { whole.parse().ok()? };
        let part: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
        self.is_something = true;
        match unit {
            IntervalUnit::Months(each) => {
                add_to(&mut self.months, sign * each.checked_mul(whole)?)?;
                let months = part * to_float(each);
                add_to(&mut self.months, sign * to_whole(months.trunc())?)?;
                self.add_days(sign, months.fract() * to_float(MONTH_DAYS))
            }
            IntervalUnit::Days(each) => {
                add_to(&mut self.days, sign * each.checked_mul(whole)?)?;
                self.add_days(sign, part * to_float(each))
            }
            IntervalUnit::Micros(SECOND) => {
                add_to(&mut self.micros, sign * (whole.checked_mul(SECOND)? + micros_in(fraction)?))
            }
            IntervalUnit::Micros(each) => {
                add_to(&mut self.micros, sign * each.checked_mul(whole)?)?;
                add_to(&mut self.micros, sign * to_whole((part * to_float(each)).round())?)
            }
        }
    }

    fn add_days(&mut self, sign: i64, days: f64) -> Option<()> {
        // a fraction of a month that is a whole day must not end a microsecond below it
        let days = (days * 1e9).round() / 1e9;
        add_to(&mut self.days, sign * to_whole(days.trunc())?)?;
        add_to(&mut self.micros, sign * to_whole((days.fract() * to_float(DAY_MICROS)).round())?)
    }

    fn negated(self) -> Option<Self> {
        let Self { months, days, micros, is_something } = self;
        Some(Self { months: -months, days: -days, micros: micros.checked_neg()?, is_something })
    }
}

fn add_to(sum: &mut i64, more: i64) -> Option<()> {
    *sum = sum.checked_add(more)?;
    Some(())
}

fn signed(number: &str) -> (i64, &str) {
    match number.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "units are far below 2^53")]
fn to_float(unit: i64) -> f64 {
    unit as f64
}

/// Of a part of one unit, which is small.
#[expect(clippy::cast_possible_truncation, reason = "it is a whole number within these bounds")]
fn to_whole(part: f64) -> Option<i64> {
    (part.abs() < 9e15).then_some(part as i64)
}

/// Numbers with their units, times, and years with months.
fn words(text: &str) -> Option<IntervalSum> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let mut sum = IntervalSum::default();
    let mut pieces = text.split_whitespace().flat_map(parted).peekable();
    let mut is_ago = false;
    while let Some(piece) = pieces.next() {
        if piece == "ago" && pieces.peek().is_none() {
            is_ago = true;
        } else if let Some((sign, time)) = time(piece) {
            sum.is_something = true;
            add_to(&mut sum.micros, sign * time)?;
        } else if let Some((sign, (years, months))) = years_and_months(piece) {
            sum.is_something = true;
            add_to(&mut sum.months, sign * (years * 12 + months))?;
        } else {
            let unit = match pieces.peek().copied() {
                None => IntervalUnit::Micros(SECOND),
                // `1 2:03:04` is a day and a time
                Some(next) if next.contains(':') => IntervalUnit::Days(1),
                Some(next) => {
                    pieces.next();
                    unit(next)?
                }
            };
            sum.add(piece, unit)?;
        }
    }
    if is_ago { sum.negated() } else { Some(sum) }
}

/// `1day` is a number and its unit.
fn parted(word: &str) -> impl Iterator<Item = &str> {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | ':');
    let at = if word.starts_with(is_number) { word.find(|c| !is_number(c)).unwrap_or(word.len()) } else { 0 };
    let (number, unit) = word.split_at_checked(at).unwrap_or((word, ""));
    [number, unit].into_iter().filter(|part| !part.is_empty())
}

/// `-04:05:06.7`; hours beyond a day stay hours.
fn time(piece: &str) -> Option<(i64, i64)> {
    let (sign, size) = signed(piece);
    let (hours, rest) = size.split_once(':')?;
    let hours: i64 = hours.parse().ok()?;
    let rest = time_of(&format!("0:{rest}"))?;
    Some((sign, hours.checked_mul(3_600 * SECOND)?.checked_add(rest)?))
}

/// `-1-2`.
fn years_and_months(piece: &str) -> Option<(i64, (i64, i64))> {
    let (sign, size) = signed(piece);
    let (years, months) = size.split_once('-')?;
    let (years, months): (i32, i32) = (years.parse().ok()?, months.parse().ok()?);
    (0..12).contains(&months).then_some((sign, (years.into(), months.into())))
}

/// `1y2m3dt4h5m6s` and `0001-02-03t04:05:06`, behind its P.
fn iso(rest: &str) -> Option<IntervalSum> {
    let (date, clock) = match rest.split_once('t') {
        Some((date, clock)) => (date, clock),
        None => (rest, ""),
    };
    let mut sum = IntervalSum::default();
    let fields: Vec<&str> = date.splitn(3, '-').collect();
    if let [years, months, days] = fields.as_slice()
        && !years.is_empty()
    {
        sum.add(years, IntervalUnit::Months(12))?;
        sum.add(months, IntervalUnit::Months(1))?;
        sum.add(days, IntervalUnit::Days(1))?;
    } else {
        designated(
            date,
            &mut sum,
            &[
                ('y', IntervalUnit::Months(12)),
                ('m', IntervalUnit::Months(1)),
                ('w', IntervalUnit::Days(7)),
                ('d', IntervalUnit::Days(1)),
            ],
        )?;
    }
    if let Some((sign, micros)) = time(clock) {
        sum.is_something = true;
        add_to(&mut sum.micros, sign * micros)?;
    } else {
        let minute = IntervalUnit::Micros(60 * SECOND);
        designated(
            clock,
            &mut sum,
            &[('h', IntervalUnit::Micros(3_600 * SECOND)), ('m', minute), ('s', IntervalUnit::Micros(SECOND))],
        )?;
    }
    Some(sum)
}

fn designated(mut text: &str, sum: &mut IntervalSum, units: &[(char, IntervalUnit)]) -> Option<()> {
    while !text.is_empty() {
        let end = text.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, rest) = text.split_at_checked(end)?;
        let letter = rest.chars().next()?;
        let (_, unit) = units.iter().find(|(known, _)| *known == letter)?;
        sum.add(number, *unit)?;
        text = rest.get(1..)?;
    }
    Some(())
}

fn unit(word: &str) -> Option<IntervalUnit> {
    use IntervalUnit::{Days, Micros, Months};
    Some(match word {
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => Micros(1),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Micros(1_000),
        "s" | "sec" | "secs" | "second" | "seconds" => Micros(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Micros(60 * SECOND),
        "h" | "hr" | "hrs" | "hour" | "hours" => Micros(3_600 * SECOND),
        "d" | "day" | "days" => Days(1),
        "w" | "week" | "weeks" => Days(7),
        "mon" | "mons" | "month" | "months" => Months(1),
        "y" | "yr" | "yrs" | "year" | "years" => Months(12),
        "dec" | "decs" | "decade" | "decades" => Months(120),
        "c" | "cent" | "century" | "centuries" => Months(1_200),
        "mil" | "mils" | "millennium" | "millennia" => Months(12_000),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_read_in_every_form() {
        let hours = |hours: i64| hours * 3_600 * SECOND;
        for (text, months, days, micros) in [
            ("1 year 2 mons -3 days 04:05:06.7", 14, -3, hours(4) + 306_700_000),
            ("@ 1 minute", 0, 0, 60 * SECOND),
            ("1 day ago", 0, -1, 0),
            ("1day", 0, 1, 0),
            ("1-2", 14, 0, 0),
            ("-1-2 +3 -4:05:06", -14, 3, -(hours(4) + 306 * SECOND)),
            ("3 4:05", 0, 3, hours(4) + 300 * SECOND),
            ("15", 0, 0, 15 * SECOND),
            ("1.5", 0, 0, 1_500_000),
            ("1.5 hours", 0, 0, hours(1) + 1_800 * SECOND),
            ("1.5 months", 1, 15, 0),
            ("1.5 years", 18, 0, 0),
            ("1.5 weeks", 0, 10, hours(12)),
            ("-1.5 days", 0, -1, -hours(12)),
            ("300:00:00", 0, 0, hours(300)),
            ("P1Y2M3DT4H5M6S", 14, 3, hours(4) + 306 * SECOND),
            ("P0001-02-03T04:05:06", 14, 3, hours(4) + 306 * SECOND),
            ("PT0.5S", 0, 0, 500_000),
            ("P1W", 0, 7, 0),
            ("2 centuries", 2_400, 0, 0),
            ("1 week 250 ms", 0, 7, 250_000),
        ] {
            assert_eq!(read(text), Some(Value::Interval { months, days, micros }), "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in ["", "x", "1 fortnight", "day", "P", "P1X", "1 ago day", "4:60", "1-12", "9999999999 years"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
