//! The warehouse's dialect to the engine's: an ordered list of transforms over one tree.
//!
//! One walk, from the leaves up; at every expression the families of [`EXPRESSIONS`] are asked in
//! order, so an outer rewrite sees its arguments in the engine's form, with types it can tell. What has
//! the same name in both and another meaning takes the warehouse's. What no family knows and the engine
//! does not name either is refused; nothing passes through unknown.
//!
//! It judges no rights and reads no governed text: governed scans are markers in the tree, not nodes.

mod aggregates;
mod aliases;
mod arithmetic;
mod bytes;
mod call;
mod coerced;
mod collations;
mod compose;
mod conversions;
mod dates;
mod dispatch;
mod drawn;
mod exists;
mod flatten;
mod format;
mod formats;
mod held;
mod intervals;
mod lambdas;
mod letters;
mod limits;
mod lost_types;
mod meeting;
mod moments;
mod number_formats;
mod numerals;
mod offsets;
mod order;
mod paths;
mod patterns;
mod placed;
mod references;
mod regexp;
mod rows;
mod semistructured;
mod similar;
mod stored;
mod sums;
mod tables;
mod templates;
mod text;
mod types;
mod united;
mod variants;
mod walk;
mod windows;
mod writes;

use std::cell::Cell;

use sqlparser::ast::{Expr, Function, Statement};

use crate::ast::error::Error;
use crate::ast::names::{self, ours};
use crate::ast::{VisitMut, result_of};
use crate::bind::scope::{Scopes, TableColumns};
use crate::bind::types::type_of;
use crate::catalog::formatted_texts::TEXT_PLACE;
use crate::functions::catalogue::{self, Class};
use crate::functions::types::Type;
use crate::print;
use crate::scan::Scan;

/// Rewrites one expression in place, its parts already rewritten; leaves what is not its own.
type Rewrite = fn(&mut Expr, &mut Context<'_>) -> Result<Done, Error>;

/// Whether the families behind may look at the expression too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It is the engine's now: what was put in its place must not be read as the warehouse's again.
    Yes,
    No,
}

/// The families, in the order they are asked.
const EXPRESSIONS: [(&str, Rewrite); 11] = [
    ("paths", paths::rewrite),
    ("types", types::rewrite),
    ("calls", dispatch::rewrite),
    ("coerced", coerced::rewrite),
    ("text", text::rewrite),
    ("similar", similar::rewrite),
    ("dates", dates::rewrite),
    ("intervals", intervals::rewrite),
    ("variants", variants::rewrite),
    ("numerals", numerals::rewrite),
    ("arithmetic", arithmetic::rewrite),
];

pub use held::TOO_LONG;
pub use moments::offset_joined;
pub(crate) use similar::matched;

/// What the engine says when a divisor is zero: SQLSTATE 22012.
pub const DIVISION_BY_ZERO: &str = arithmetic::MESSAGE;

/// Notes on a statement that was rewritten.
#[derive(Debug, Default)]
pub(crate) struct RewriteNotes {
    /// For the caller.
    pub warnings: Vec<String>,
    /// Places of the columns of its answer that are declared as JSONB.
    pub jsonb_outputs: Vec<usize>,
}

/// Rewrites what the warehouse writes into what the engine reads.
pub(crate) fn to_engine(statement: &mut Statement, tables: &dyn TableColumns) -> Result<RewriteNotes, Error> {
    types::declared(statement)?;
    let mut context = Context::new(tables);
    references::leave_out(statement, &mut context);
    let sees_seq = flatten::sees_seq(statement);
    let mut walk = walk::DialectWalk::new(context, sees_seq);
    result_of(statement.visit(&mut walk))?;
    let jsonb_outputs = walk.context.scopes.jsonb_outputs(statement);
    Ok(RewriteNotes { warnings: walk.context.warnings, jsonb_outputs })
}

/// The engine's expression of [`TEXT_PLACE`] as a value of this type by a format, which is NULL of any other text.
pub(crate) fn text_by_format(kind: Type, format: &str) -> Result<String, Error> {
    let no_tables: Vec<Scan> = Vec::new();
    let text = Expr::Identifier(names::quoted(TEXT_PLACE));
    let read = conversions::tried_by_format(kind, text, format, &mut Context::new(&no_tables))?;
    print::engine_expression(&read)
}

/// What a call of this name can do; `None` for a name nobody knows, which is refused.
pub fn class(name: &str) -> Option<Class> {
    let templated = || templates::is_known(name).then_some(Class::Throwing);
    catalogue::find(name).map(|function| function.class).or_else(templated)
}

/// Whether a statement may name it at all, denied or not.
pub(crate) fn is_known(name: &str) -> bool {
    class(name).is_some()
}

/// Whether a statement names a column SEQ anywhere.
pub(crate) fn sees_seq(statement: &Statement) -> bool {
    flatten::sees_seq(statement)
}

/// Whether it may be something else when it is evaluated again.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    templates::is_volatile(expr)
}

/// How many expressions it is made of.
pub(crate) fn size(expr: &Expr) -> usize {
    templates::size(expr)
}

/// Names of functions that the dialect adds or gives another meaning, sorted.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    use crate::syntax::parse::from_last::FROM_LAST;
    let in_from =
        catalogue::all().map(|function| function.name).filter(|name| catalogue::is_table_function_of_dialect(name));
    let mut names: Vec<_> = dispatch::names().chain(in_from).filter(|name| *name != FROM_LAST).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The arguments of a call that has nothing but positional arguments.
pub(crate) fn arguments(function: Function) -> Result<Vec<Expr>, Error> {
    call::plain(function)
}

/// Parts of a date, and the words for each.
#[cfg(test)]
pub(crate) fn parts() -> &'static [(&'static str, &'static [&'static str])] {
    dates::PARTS
}

/// Whether a day plus or minus this is a day.
pub(crate) fn is_of_days(span: &Expr) -> bool {
    intervals::keeps_date(span)
}

/// Whether a word is a unit of time.
pub(crate) fn is_unit_word(word: &str) -> bool {
    dates::is_part(word)
}

/// The context of a rewrite.
struct Context<'a> {
    scopes: Scopes<'a>,
    warnings: Vec<String>,
    /// Nodes that templates may still repeat in this statement.
    copies_left: usize,
    /// Lambda parameters that have a name of their own so far.
    parameters: usize,
    /// The types on both sides of the operator that is rewritten, until a rewrite changes one of the sides.
    operands: Cell<Option<(Type, Type)>>,
    /// Whether a function that draws was met or put in so far.
    draws: bool,
    /// Whether a query as a value, or an error of ours, was met or put in so far.
    repeats: bool,
}

/// Said where a statement writes a type or a function of the warehouse that keeps an offset.
const OFFSET: &str = "TIMESTAMP_TZ keeps its offset within the statement; as a column and in an answer it is in UTC";

/// Said where rows would be locked.
const LOCKS: &str =
    "FOR UPDATE and FOR SHARE lock no row: who changes a row that another has changed since gets error 40001";

/// The warehouse reads escapes in strings; standard strings, which every driver quotes for, have none.
pub const BACKSLASH: &str = "a backslash in a string is an ordinary character here, not an escape";

/// Rewrites repeat an argument where the engine has no other way; nested, that doubles and doubles.
const COPIES_MAX: usize = 20_000;

impl<'a> Context<'a> {
    fn new(tables: &'a dyn TableColumns) -> Self {
        Self {
            scopes: Scopes::new(tables),
            warnings: Vec::new(),
            copies_left: COPIES_MAX,
            parameters: 0,
            operands: Cell::new(None),
            draws: false,
            repeats: false,
        }
    }

    /// Remembers an expression of the statement, so that nobody looks for what is nowhere.
    fn note(&mut self, expr: &Expr) {
        self.draws |= drawn::is_draw(expr);
        self.repeats |= aliases::is_repeatable(expr);
    }

    /// A name for a lambda's parameter that nothing else has.
    fn lambda_parameter(&mut self, written: &str) -> String {
        self.parameters += 1;
        ours::parameter(self.parameters, written)
    }

    fn type_of(&self, expr: &Expr) -> Type {
        type_of(expr, &self.scopes)
    }

    /// The types on both sides of an operator: several families ask for them.
    fn operands(&self, left: &Expr, right: &Expr) -> (Type, Type) {
        self.operands.get().unwrap_or_else(|| {
            let known = (self.type_of(left), self.type_of(right));
            self.operands.set(Some(known));
            known
        })
    }

    /// Says that the operator is another one, or that one of its sides was changed.
    fn forget_operands(&self) {
        self.operands.set(None);
    }

    /// Says it to the caller, once.
    fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|said| said == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// One more copy of so many nodes, or a refusal.
    fn copy(&mut self, nodes: usize) -> Result<(), Error> {
        self.copies_left = self
            .copies_left
            .checked_sub(nodes)
            .ok_or_else(|| Error::unsupported("a nesting of calls that repeats its arguments this often"))?;
        Ok(())
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
pub(crate) mod tests;
