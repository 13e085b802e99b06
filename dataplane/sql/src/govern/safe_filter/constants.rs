//! Texts in a filter, and what the caller carries, which is text too: beside a number or a day they are read as one.
//!
//! The engine reads one that can be read before it meets a row. One that cannot is left as it stands, and fails on
//! whichever row asks for it: so it is taken for what it is, a text that is cast.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName, Value};

use crate::ast::{VisitMut, names, outer_first};
use crate::bind::types::{self, ColumnTypes};
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;
use crate::govern::leaks::leakproof::is_day;
use crate::govern::leaks::numeric_range::exact;
use crate::scan::marker::{self, GeneratedExpr};

/// The part as a caller would write it, without the constants that are surely read.
pub(super) fn plain(part: &Expr, columns: &dyn ColumnTypes) -> Expr {
    let mut part = part.clone();
    let _: ControlFlow<()> = part.visit(&mut outer_first(|expr| {
        made_plain(expr, columns);
        ControlFlow::Continue(())
    }));
    part
}

fn made_plain(expr: &mut Expr, columns: &dyn ColumnTypes) {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { left, op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, right }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => {
            let compared = match (is_read(left, right, columns), is_read(right, left, columns)) {
                (true, _) => Some(right),
                (_, true) => Some(left),
                (false, false) => None,
            };
            if let Some(compared) = compared {
                *expr = Expr::IsNull(compared.clone());
            }
        }
        Expr::InList { expr: asked, list, .. } => {
            list.iter_mut().filter(|one| is_read(one, asked, columns)).for_each(become_null);
        }
        Expr::Between { expr: asked, low, high, .. } => {
            let ends = [low, high].into_iter().map(AsMut::as_mut);
            ends.filter(|end| is_read(end, asked, columns)).for_each(become_null);
        }
        Expr::Value(value) => {
            if let Value::Placeholder(_) = value.value {
                value.value = text(&value.value).map_or(Value::Null, |text| Value::SingleQuotedString(text.to_owned()));
            }
        }
        Expr::Function(function) => {
            if let Some(name) = names::last(&function.name) {
                function.name = ObjectName::from(vec![Ident::new(&name.value)]);
            }
        }
        _ => {}
    }
}

/// Whether it is a text that becomes what it is compared with, and surely does.
fn is_read(constant: &Expr, compared: &Expr, columns: &dyn ColumnTypes) -> bool {
    let Expr::Value(value) = constant else { return false };
    let Some(text) = text(&value.value) else { return false };
    match types::type_of(compared, columns) {
        Type::Integer | Type::Decimal => match exact(compared, columns) {
            Some(Exact::Number { whole, scale: 0 }) if WITHOUT_SIGN.contains(&whole) => {
                !text.starts_with('-') && is_number(text, usize::from(whole) - 1, false)
            }
            Some(Exact::Number { whole, scale }) => is_number(text, usize::from(whole), scale > 0),
            _ => false,
        },
        Type::Double => is_number(text, DOUBLE_DIGITS, true),
        Type::Date | Type::Timestamp => is_day(text),
        Type::Boolean => matches!(text, "true" | "false"),
        _ => false,
    }
}

/// Digits that every DOUBLE may have before the point.
const DOUBLE_DIGITS: usize = 15;

/// Digits by which an integer without a sign is known ([`Exact`]): one more than it has, but for the widest. A DECIMAL of
/// as many is read with the same care.
const WITHOUT_SIGN: [u16; 4] = [4, 6, 11, 20];

/// Fewer digits than the type has, so that no value of as many is out of its range.
fn is_number(text: &str, digits: usize, has_point: bool) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, behind) = text.split_once('.').unwrap_or((text, "0"));
    let is_of_digits = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    is_of_digits(whole) && is_of_digits(behind) && whole.len() < digits && (has_point || !text.contains('.'))
}

fn become_null(expr: &mut Expr) {
    *expr = Expr::Value(Value::Null.into());
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text) => Some(text),
        Value::Placeholder(name) => match marker::made(name) {
            Some(GeneratedExpr::Bound(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::govern::filter::FilterTemplate;
    use crate::testing::{catalog, table};

    #[test]
    fn a_number_that_may_be_out_of_range_is_none() {
        for (text, digits, has_point) in
            [("5", 10, false), ("-123456789", 10, false), ("1.50", 8, true), ("99", 3, false)]
        {
            assert!(is_number(text, digits, has_point), "{text}");
        }
        for (text, digits, has_point) in [
            ("", 10, true),
            ("abc", 10, true),
            ("2147483648", 10, false),
            ("1.5", 10, false),
            (".5", 10, true),
            ("200", 3, false),
        ] {
            assert!(!is_number(text, digits, has_point), "{text}");
        }
    }

    #[test]
    fn a_number_without_a_sign_has_none_and_is_in_range() {
        let table = Arc::new(table("badges", &[("level", "UTINYINT"), ("count", "UBIGINT")]));
        for (column, carried, is_tried) in [
            ("level", "99", false),
            ("level", "300", true),
            ("level", "-1", true),
            ("count", "99", false),
            ("count", "-1", true),
        ] {
            let template = FilterTemplate::parse(&format!("{column} = {{clearance}}")).expect("a filter");
            let filter = template.bind(&|_| Some(carried.to_owned()), &catalog()).expect("a filter");
            let hiding = super::super::on_failure(&filter, &table).expect("a filter");
            assert_eq!(hiding.filter.to_string().contains("try("), is_tried, "{column} {carried}");
        }
    }
}
