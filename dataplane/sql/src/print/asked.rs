//! Parameters whose type nobody has said: what they stand beside tells it.
//!
//! The engine leaves the parameter of `a + $1` and `greatest(a, $1)` open, and tells that of `a = $1`. So a text that only
//! asks for types has a comparison in their place, of the same type as what it stands for.

use sqlparser::ast::{BinaryOperator, DataType, ExactNumberInfo, Expr, Function, TimezoneInfo, Value};

use super::{Printer, Style};
use crate::ast::call::{listed, plain};
use crate::ast::error::Error;
use crate::ast::names;

/// Functions whose arguments are of one type.
const ALIKE: [&str; 5] = ["greatest", "least", "coalesce", "ifnull", "nullif"];

/// The number of a bare parameter.
pub(crate) fn parameter(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => parameter(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The number of a parameter that a cast without precision calls a number, which rounds nothing.
pub(super) fn number(expr: &Expr, data_type: &DataType) -> Option<usize> {
    matches!(data_type, DataType::Numeric(ExactNumberInfo::None)).then(|| parameter(expr)).flatten()
}

/// The number of a parameter that a cast makes a moment with a zone.
pub(super) fn moment(expr: &Expr, data_type: &DataType) -> Option<usize> {
    matches!(data_type, DataType::Timestamp(_, TimezoneInfo::WithTimeZone)).then(|| parameter(expr)).flatten()
}

impl Printer<'_> {
    fn is_open(&self, expr: &Expr) -> bool {
        parameter(expr).is_some_and(|number| self.parameters.of(number).is_none())
    }

    /// Whether the text asks for the type of this: `$1 IS NULL` tells none, and then the engine tells no other either.
    pub(super) fn is_asked(&self, expr: &Expr) -> bool {
        self.style == Style::Engine && self.parameters.asks && self.is_open(expr)
    }

    /// `a + $1`, if the text asks; whether it was.
    pub(super) fn asked_beside(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<bool, Error> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        let is_calculated = matches!(op, Plus | Minus | Multiply | Divide | Modulo);
        if self.style != Style::Engine || !self.parameters.asks || !is_calculated {
            return Ok(false);
        }
        match (self.is_open(left), self.is_open(right)) {
            (true, false) => self.compared(right, &[left])?,
            (false, true) => self.compared(left, &[right])?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `greatest(a, $1)`, if the text asks; whether it was.
    pub(super) fn asked_among(&mut self, function: &Function) -> Result<bool, Error> {
        if self.style != Style::Engine || !self.parameters.asks {
            return Ok(false);
        }
        let is_alike = names::single(&function.name)
            .is_some_and(|name| ALIKE.iter().any(|known| name.value.eq_ignore_ascii_case(known)));
        if !is_alike {
            return Ok(false);
        }
        let args = listed(function).iter().map(plain).collect::<Option<Vec<_>>>();
        let Some(args) = args else { return Ok(false) };
        let (open, known): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| self.is_open(arg));
        match known.first() {
            Some(known) if !open.is_empty() => self.compared(known, &open)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compared(&mut self, known: &Expr, open: &[&Expr]) -> Result<(), Error> {
        self.put("(CASE WHEN ");
        self.operand(known)?;
        self.put(" IN (");
        self.list(open, |p, expr| p.expr(expr))?;
        self.put(") THEN ");
        self.operand(known)?;
        self.done(" END)")
    }
}
