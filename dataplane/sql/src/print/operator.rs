//! Operators, and the brackets that keep neighbours apart.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{Printer, Style};
use crate::ast::error::Error;

impl Printer<'_> {
    /// An expression where any other operator may stand next to it.
    pub(super) fn operand(&mut self, expr: &Expr) -> Result<(), Error> {
        if is_closed(expr) {
            return self.expr(expr);
        }
        self.enclosed("(", ")", |p| p.expr(expr))
    }

    pub(super) fn postfix(&mut self, expr: &Expr, operator: &str) -> Result<(), Error> {
        self.operand(expr)?;
        self.done(operator)
    }

    pub(super) fn infix(&mut self, left: &Expr, operator: &str, right: &Expr) -> Result<(), Error> {
        self.postfix(left, operator)?;
        self.operand(right)
    }

    pub(super) fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<(), Error> {
        if self.asked_beside(left, op, right)? {
            return Ok(());
        }
        let symbol = Self::operator(op)?;
        // A chain of one associative connective reads better without brackets and means the same.
        let chain = matches!(op, BinaryOperator::And | BinaryOperator::Or)
            && matches!(left, Expr::BinaryOp { op: inner, .. } if inner == op);
        if chain {
            self.expr(left)?;
        } else {
            self.alternative(left, op)?;
        }
        self.put(symbol);
        self.alternative(right, op)
    }

    /// An operand; in OR one that compares NULL as a value is asked by itself. In the scan, where the engine asks the arms
    /// of OR otherwise, a column of nothing but NULL loses its rows (duckdb/duckdb#25992).
    fn alternative(&mut self, expr: &Expr, op: &BinaryOperator) -> Result<(), Error> {
        if *op != BinaryOperator::Or || self.style != Style::Engine || !takes_null(expr) {
            return self.operand(expr);
        }
        self.enclosed("(", ")", |p| p.postfix(expr, " IS TRUE"))
    }

    fn operator(op: &BinaryOperator) -> Result<&'static str, Error> {
        use BinaryOperator as B;
        Ok(match op {
            B::Plus => " + ",
            B::Minus => " - ",
            B::Multiply => " * ",
            B::Divide => " / ",
            B::Modulo => " % ",
            B::StringConcat => " || ",
            B::Gt => " > ",
            B::Lt => " < ",
            B::GtEq => " >= ",
            B::LtEq => " <= ",
            B::Eq => " = ",
            B::NotEq => " <> ",
            B::And => " AND ",
            B::Or => " OR ",
            B::BitwiseOr => " | ",
            B::BitwiseAnd => " & ",
            B::PGBitwiseShiftLeft => " << ",
            B::PGBitwiseShiftRight => " >> ",
            B::DuckIntegerDivide => " // ",
            B::PGExp => " ** ",
            B::Arrow => " -> ",
            B::LongArrow => " ->> ",
            B::PGStartsWith => " ^@ ",
            B::PGRegexMatch => " ~ ",
            B::PGRegexNotMatch => " !~ ",
            B::PGRegexIMatch => " ~* ",
            B::PGRegexNotIMatch => " !~* ",
            B::PGLikeMatch => " ~~ ",
            B::PGNotLikeMatch => " !~~ ",
            B::PGILikeMatch => " ~~* ",
            B::PGNotILikeMatch => " !~~* ",
            B::AtArrow => " @> ",
            B::ArrowAt => " <@ ",
            B::PGOverlap => " && ",
            _ => return Err(Error::unsupported(format!("operator {op}"))),
        })
    }

    pub(super) fn like(
        &mut self,
        expr: &Expr,
        operator: &str,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<(), Error> {
        self.infix(expr, operator, pattern)?;
        let Some(escape) = escape else { return Ok(()) };
        self.put(" ESCAPE ");
        self.operand(escape)
    }

    pub(super) fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        word: &str,
        right: &Expr,
    ) -> Result<(), Error> {
        let symbol = Self::operator(op)?;
        self.postfix(left, symbol)?;
        self.put(word);
        match right {
            Expr::Subquery(query) => self.bracketed_query(query),
            other => self.enclosed("(", ")", |p| p.expr(other)),
        }
    }
}

/// A comparison that is true or false for NULL too, or the opposite of one.
fn takes_null(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => takes_null(inner),
        Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_) => true,
        _ => false,
    }
}

/// Expressions that no neighbouring operator can tear apart.
fn is_closed(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::Value(_)
            | Expr::TypedString(_)
            | Expr::Nested(_)
            | Expr::Cast { .. }
            | Expr::Case { .. }
            | Expr::Subquery(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::JsonAccess { .. }
    ) || matches!(expr, Expr::Function(function) if function.over.is_none())
}
