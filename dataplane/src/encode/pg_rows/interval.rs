//! Intervals: months, days and a time, in PostgreSQL's verbose-less default style.

use bytes::BufMut;

use super::moment::fraction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

impl Interval {
    /// `1 year 2 mons -3 days +04:05:06.7`.
    pub fn text(self, out: &mut Vec<u8>) {
        let start = out.len();
        let parts =
            [(self.months / 12, "year", "years"), (self.months % 12, "mon", "mons"), (self.days, "day", "days")];
        let mut negative = false;
        for (number, one, many) in parts {
            if number != 0 {
                let space = if out.len() > start { " " } else { "" };
                let plus = if negative && number > 0 { "+" } else { "" };
                let unit = if number == 1 { one } else { many };
                out.put_slice(format!("{space}{plus}{number} {unit}").as_bytes());
                negative = number < 0;
            }
        }
        if self.micros != 0 || out.len() == start {
            if out.len() > start {
                out.put_u8(b' ');
            }
            self.time(negative, out);
        }
    }

    fn time(self, negative: bool, out: &mut Vec<u8>) {
        if self.micros < 0 {
            out.put_u8(b'-');
        } else if negative {
            out.put_u8(b'+');
        }
        let micros = self.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        out.put_slice(text.as_bytes());
        fraction(i64::try_from(micros % 1_000_000).unwrap_or(0), out);
    }

    pub fn binary(self, out: &mut Vec<u8>) {
        out.put_i64(self.micros);
        out.put_i32(self.days);
        out.put_i32(self.months);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_print_as_postgresql_prints_them() {
        let cases = [
            ((0, 0, 0), "00:00:00"),
            ((14, 3, 0), "1 year 2 mons 3 days"),
            ((0, 0, 14_706_700_000), "04:05:06.7"),
            ((0, 1, -1), "1 day -00:00:00.000001"),
            ((-1, 5, 0), "-1 mons +5 days"),
            ((0, -1, 3_600_000_000), "-1 days +01:00:00"),
            ((0, 0, 360_000_000_000), "100:00:00"),
        ];
        for ((months, days, micros), expected) in cases {
            let mut out = Vec::new();
            Interval { months, days, micros }.text(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
