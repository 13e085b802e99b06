//! Comparing by meaning: `semantic_match`, `vector_match`, `semantic_rank` and `JOIN_VECTOR`.
//!
//! `semantic_rank(col, text)` is from 0 to 1, on the scale of a search of memories; `semantic_match(col,
//! text[, threshold])`, or `vector_match`, is whether that reaches the threshold, 0.7 unless given. `col`
//! is text, or a vector as long as the embedder's; NULL on either side is NULL. `a JOIN_VECTOR b ON
//! semantic_match(b.col, a.col)` is an inner join by such a condition. The embedder is the built-in one always.
//!
//! Each call becomes one of a function that the engine's process has of its host, over governed
//! values: what a mask hides is compared as the mask shows it.

use sqlparser::ast::{ArrayElemTypeDef, BinaryOperator, DataType, ExactNumberInfo, Expr, Value};

use crate::ast::call::of_engine;
use crate::ast::error::Error;
use crate::ast::expression::{binary, cast};
use crate::ast::{any_expression, names, try_change_expressions};
use crate::bind::types::{self, Known};
use crate::dialect;
use crate::functions::catalogue;
use crate::functions::types::Type;
use crate::govern::Governed;

/// The function over two texts, in the engine.
pub const LIKENESS: &str = "sluice_likeness";
/// The same over a vector and a text.
pub const VECTOR_LIKENESS: &str = "sluice_vector_likeness";
/// How long a vector is.
pub const DIMENSIONS: u32 = 256;
/// Calls in one statement: each may make as many vectors as its bounds allow.
const CALLS_MAX: usize = 4;
const THRESHOLD: &str = "0.7";

impl Governed {
    /// With every comparison by meaning as the engine's process can make it.
    pub fn embedded(mut self) -> Result<Self, Error> {
        if !any_expression(&*self.tree, compares) {
            return Ok(self);
        }
        let known = self.known().into_owned();
        let mut embed = Embed { known: &known, calls: 0 };
        try_change_expressions(&mut *self.tree, |expr| embed.call(expr))?;
        self.known = Some(known);
        Ok(self)
    }
}

/// Whether it is a comparison by meaning.
fn compares(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else { return false };
    names::single(&function.name).is_some_and(|name| catalogue::compares_meaning(&name.value))
}

struct Embed<'a> {
    known: &'a Known,
    calls: usize,
}

impl Embed<'_> {
    fn call(&mut self, expr: &mut Expr) -> Result<(), Error> {
        let Expr::Function(function) = expr else { return Ok(()) };
        let name = names::single(&function.name).map(|name| name.value.to_ascii_lowercase()).unwrap_or_default();
        if !catalogue::compares_meaning(&name) {
            return Ok(());
        }
        self.calls += 1;
        if self.calls > CALLS_MAX {
            return Err(Error::unsupported(format!("comparing by meaning more than {CALLS_MAX} times in a statement")));
        }
        let mut args = dialect::arguments(function.clone())?.into_iter();
        let threshold = match (args.len(), name.as_str()) {
            (2, "semantic_rank") => None,
            (2, _) => Some(number(THRESHOLD)),
            (3, "semantic_match" | "vector_match") => Some(bounded(args.next_back(), &name)?),
            (count, _) => return Err(Error::unsupported(format!("{name} with {count} arguments"))),
        };
        let (Some(one), Some(text), None) = (args.next(), args.next(), args.next()) else {
            return Err(Error::unsupported(name));
        };
        if !matches!(self.kind(&text), Type::Text | Type::Json | Type::Unknown) {
            return Err(Error::unsupported(format!("{name} with something other than a text")));
        }
        let rank = match self.kind(&one) {
            Type::Text | Type::Json | Type::Unknown => of_engine(LIKENESS, [one, text]),
            Type::List => of_engine(VECTOR_LIKENESS, [as_vector(one), text]),
            _ => return Err(Error::unsupported(format!("{name} of something other than a text or a vector"))),
        };
        *expr = match threshold {
            None => rank,
            Some(least) => binary(rank, BinaryOperator::GtEq, least),
        };
        Ok(())
    }

    fn kind(&self, expr: &Expr) -> Type {
        if matches!(expr, Expr::Array(_)) { Type::List } else { types::type_of(expr, self.known) }
    }
}

/// A threshold that is written out, so that it is known to be one; or a parameter.
fn bounded(threshold: Option<Expr>, name: &str) -> Result<Expr, Error> {
    let fits = match &threshold {
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(digits, _) => digits.parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number)),
            Value::Placeholder(_) => true,
            _ => false,
        },
        _ => false,
    };
    let refused = || Error::unsupported(format!("{name} with a threshold other than a number from 0 to 1"));
    threshold.filter(|_| fits).ok_or_else(refused)
}

fn number(digits: &str) -> Expr {
    Expr::value(Value::Number(digits.to_owned(), false))
}

fn as_vector(expr: Expr) -> Expr {
    let double = Box::new(DataType::Double(ExactNumberInfo::None));
    let data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(double, Some(u64::from(DIMENSIONS))));
    cast(expr, data_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analyst, governed, shown};
    use crate::{Rules, parse};

    fn made(sql: &str) -> String {
        shown(sql, &Rules::default())
    }

    #[test]
    fn a_match_is_a_likeness_that_reaches_its_threshold() {
        let cases = [
            ("semantic_rank(note, 'late')", r#""sluice_likeness"("note", 'late') IS NOT NULL"#),
            ("Semantic_Match(note, 'late')", r#""sluice_likeness"("note", 'late') >= 0.7"#),
            ("vector_match(note, status, 0.5)", r#""sluice_likeness"("note", "status") >= 0.5"#),
            ("semantic_match(upper(note), $1, $2)", r#""sluice_likeness"(upper("note"), $1) >= $2"#),
            ("semantic_rank([1.5], 'late')", r#""sluice_vector_likeness"(CAST([1.5] AS DOUBLE[256]), 'late')"#),
        ];
        for (call, wanted) in cases {
            let text = made(&format!("select id from orders where {call} is not null"));
            assert!(text.contains(&format!(r#""system"."main".{wanted}"#)), "{call}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused_by_name() {
        let cases = [
            ("semantic_match(amount, 'late')", "other than a text or a vector"),
            ("semantic_match(note, amount)", "other than a text"),
            ("semantic_match(note)", "with 1 arguments"),
            ("semantic_rank(note, 'late', 0.5)", "with 3 arguments"),
            ("semantic_match(note, 'late', 1.5)", "a number from 0 to 1"),
            ("semantic_match(note, 'late', amount)", "a number from 0 to 1"),
            ("semantic_match(note, 'late') over ()", "OVER"),
            ("main.semantic_match(note, 'late')", "semantic_match"),
            ("sluice_likeness(note, 'late') > 0", "sluice_likeness"),
        ];
        for (call, part) in cases {
            let text = made(&format!("select id from orders where {call}"));
            assert!(text.starts_with("Unsupported") && text.contains(part), "{call}: {text}");
        }
        let many = ["semantic_match(note, 'late')"; CALLS_MAX + 1].join(" or ");
        assert!(made(&format!("select id from orders where {many}")).contains("more than 4 times"));
    }

    #[test]
    fn a_masked_column_is_compared_as_it_is_shown() {
        let text = shown("select id from customers where semantic_match(ssn, '078-05-1120')", &analyst());
        assert!(text.contains("'***'") && !text.contains(r#"likeness("customers"."ssn""#), "{text}");
        let found = governed("select id from customers where semantic_match(name, 'x')", &analyst()).unwrap();
        assert_eq!(
            found.care(),
            crate::ExecutionMode::Speculative,
            "it may end the statement: not before the filter has spoken"
        );
    }

    #[test]
    fn a_join_by_meaning_is_a_join_and_the_word_is_a_name_elsewhere() {
        let plain = made("select o.id from orders o join customers c on semantic_match(c.name, o.note)");
        let cases = [
            "select o.id from orders o join_vector customers c on semantic_match(c.name, o.note)",
            "select o.id from orders o JOIN_VECTOR customers c on (semantic_match(c.name, o.note))",
        ];
        for sql in cases {
            assert_eq!(made(sql).replace(['(', ')'], ""), plain.replace(['(', ')'], ""), "{sql}");
        }
        for sql in [
            "select o.id from orders o join_vector customers c on o.customer_id = c.id",
            "select o.id from orders o join_vector customers c on o.id = c.id join customers d on semantic_match(d.name, o.note)",
        ] {
            assert!(made(sql).contains("JOIN_VECTOR without semantic_match"), "{sql}");
        }
        assert!(parse("select o.id from orders o join_vector customers c").is_err());
        for sql in ["select id join_vector from orders", "select join_vector.id from orders join_vector where id = 1"] {
            assert!(made(sql).starts_with("SELECT"), "{sql}");
        }
    }

    #[test]
    fn a_filter_compares_values() {
        let filter = crate::govern::filter::FilterTemplate::parse("semantic_match(note, 'late')");
        assert!(filter.is_err_and(|error| error.message.contains("semantic_match")));
    }
}
