//! Intervals and the units of dates and times.

use sqlparser::ast::{DateTimeField, Expr, Interval, Value};

use super::{Printer, Style, absent};
use crate::ast::error::Error;

impl Printer<'_> {
    pub(super) fn interval(&mut self, interval: &Interval) -> Result<(), Error> {
        let Interval { value, leading_field, leading_precision, last_field, fractional_seconds_precision } = interval;
        absent(last_field.is_none() && leading_precision.is_none(), "INTERVAL … TO …")?;
        absent(fractional_seconds_precision.is_none(), "the precision of an INTERVAL")?;
        self.put("INTERVAL ");
        match (value.as_ref(), leading_field) {
            (Expr::Value(text), None) => self.value(&text.value),
            (other, None) => self.enclosed("(", ")", |p| p.expr(other)),
            (Expr::Value(number), Some(field)) => {
                match &number.value {
                    Value::SingleQuotedString(text) => self.text(text),
                    other => self.value(other)?,
                }
                self.put(" ");
                self.field(field)
            }
            (other, Some(field)) => {
                self.enclosed("(", ") ", |p| p.expr(other))?;
                self.field(field)
            }
        }
    }

    /// Units are a closed list of words.
    pub(super) fn field(&mut self, field: &DateTimeField) -> Result<(), Error> {
        use DateTimeField as F;
        let custom;
        self.put(match field {
            F::Year | F::Years => "year",
            F::Quarter => "quarter",
            F::Month | F::Months => "month",
            F::Week(None) | F::Weeks => "week",
            F::Day | F::Days => "day",
            F::Hour | F::Hours => "hour",
            F::Minute | F::Minutes => "minute",
            F::Second | F::Seconds => "second",
            F::Millisecond | F::Milliseconds => "millisecond",
            F::Microsecond | F::Microseconds => "microsecond",
            F::Nanosecond | F::Nanoseconds if self.style != Style::Engine => "nanosecond",
            F::Dow | F::DayOfWeek => "dow",
            F::Doy | F::DayOfYear => "doy",
            F::Isodow => "isodow",
            F::Isoyear => "isoyear",
            F::Epoch => "epoch",
            F::Decade => "decade",
            F::Century => "century",
            F::Custom(ident) if crate::ast::quote::is_plain(&ident.value) && self.style != Style::Engine => {
                custom = ident.value.clone();
                &custom
            }
            other => return Err(Error::unsupported(format!("the unit {other}"))),
        });
        Ok(())
    }
}
