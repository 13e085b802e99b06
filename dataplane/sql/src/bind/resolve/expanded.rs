//! Views and functions put in for their names: how many, how large and how deep they may be together.
//!
//! Each may name others, and each may be as deep as a statement. So what they add is taken off budgets of the whole
//! statement, and how deep they stand in each other is bounded as a statement's own depth is.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function};

use super::Binder;
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::TableName;
use crate::ast::{VisitMut, flow_of, outer_first, result_of};
use crate::bind::udf;
use crate::catalog::definition::{self, Definition};
use crate::dialect;
use crate::syntax::lex;

/// How deep views may stand in views.
const VIEWS_DEEP_MAX: usize = 16;
/// How many levels definitions may add where they stand in each other.
const LEVELS_MAX: usize = 200;
/// Views and functions put in for their names in one statement: each may name others twice and more.
const EXPANSIONS_MAX: usize = 1_000;
/// Tokens of views, and expressions of functions, that may be added to one statement.
const ADDED_MAX: usize = 100_000;
/// Tables of the catalogue that a statement may name: each is put in with all its rows.
const LISTINGS_MAX: usize = 16;

/// The definitions that have been expanded so far, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expanded {
    /// Inside of how many views this is.
    pub views: usize,
    /// Levels of the definitions around.
    levels: usize,
    definitions: usize,
    listings: usize,
    left: usize,
}

impl Default for Expanded {
    fn default() -> Self {
        Self { views: 0, levels: 0, definitions: 0, listings: 0, left: ADDED_MAX }
    }
}

impl Expanded {
    fn one_more(&mut self) -> Result<(), Error> {
        self.definitions += 1;
        if self.definitions > EXPANSIONS_MAX {
            return Err(too_often());
        }
        Ok(())
    }

    /// The same inside of a view.
    pub fn in_view(&mut self, view: &Definition) -> Result<Self, Error> {
        self.one_more()?;
        let tokens = lex::tokens(&view.text)?.len();
        self.left = self.left.checked_sub(tokens).ok_or_else(|| {
            Error::new(ErrorKind::TooDeep, format!("view {} is too large to stand here so often", view.name))
        })?;
        let inner = Self { views: self.views + 1, levels: deeper(self.levels, lex::levels(&view.text)?)?, ..*self };
        if inner.views > VIEWS_DEEP_MAX { Err(too_often()) } else { Ok(inner) }
    }

    /// What was counted inside of a view counts here too.
    pub fn out_of(&mut self, inner: Self) {
        *self = Self { views: self.views, levels: self.levels, ..inner };
    }

    pub fn listing(&mut self) -> Result<(), Error> {
        self.listings += 1;
        if self.listings > LISTINGS_MAX {
            let message = format!("a statement may name {LISTINGS_MAX} tables of information_schema");
            return Err(Error::new(ErrorKind::TooDeep, message));
        }
        Ok(())
    }
}

fn too_often() -> Error {
    Error::new(ErrorKind::TooDeep, "views and functions name each other too often")
}

fn deeper(levels: usize, by: usize) -> Result<usize, Error> {
    let levels = levels + by;
    if levels > LEVELS_MAX {
        let message = format!("views and functions in each other may nest {LEVELS_MAX} levels deep");
        return Err(Error::new(ErrorKind::TooDeep, message));
    }
    Ok(levels)
}

impl Binder<'_> {
    /// A function of the catalog, its text put in for the call, and so on in what that holds.
    pub(super) fn called(&mut self, function: &Function) -> Result<Option<Expr>, Error> {
        self.called_within(function, self.expanded.levels)
    }

    fn called_within(&mut self, function: &Function, levels: usize) -> Result<Option<Expr>, Error> {
        let Some(name) = TableName::of(&function.name) else {
            return Ok(None);
        };
        if name.schema.is_none() && dialect::is_known(&name.name) {
            return Ok(None);
        }
        let Some(definition) = self.catalog.defined(definition::DefinitionKind::Function, &name, self.session) else {
            return Ok(None);
        };
        self.expanded.one_more()?;
        let udf::FunctionBody { mut expr, levels: added } =
            udf::called(&definition, function, &mut self.expanded.left)?;
        let levels = deeper(levels, added)?;
        // and what a definition that was put in calls
        result_of(expr.visit(&mut outer_first(|expr| {
            let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
            flow_of(self.called_within(function, levels).map(|body| {
                if let Some(body) = body {
                    *expr = body;
                }
            }))
        })))?;
        Ok(Some(expr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::definition::DefinitionKind;
    use crate::testing::{analyst, engine, engine_defining};

    type Definitions = Vec<(DefinitionKind, String, String)>;

    fn function(name: &str, body: &str) -> (DefinitionKind, String, String) {
        (DefinitionKind::Function, name.to_owned(), format!("CREATE FUNCTION {name}(x INT) RETURNS INT AS '{body}'"))
    }

    fn view(name: &str, query: &str) -> (DefinitionKind, String, String) {
        (DefinitionKind::View, name.to_owned(), format!("CREATE VIEW {name} AS {query}"))
    }

    /// What becomes of it on the stack that there is.
    fn asked(definitions: Definitions, sql: &str) -> Result<(), ErrorKind> {
        let sql = sql.to_owned();
        let ask = move || engine_defining(&definitions, &sql, &analyst()).map(drop).map_err(|error| error.kind);
        std::thread::Builder::new().stack_size(crate::STACK_BYTES).spawn(ask).unwrap().join().unwrap()
    }

    #[test]
    fn a_function_that_reaches_itself_is_refused() {
        assert_eq!(asked(vec![function("f", "f(x)")], "SELECT f(1)"), Err(ErrorKind::TooDeep));
        let around = vec![function("f", "g(x) + 1"), function("g", "f(x)")];
        assert_eq!(asked(around, "SELECT f(1)"), Err(ErrorKind::TooDeep));
    }

    #[test]
    fn functions_in_functions_are_as_deep_as_they_are_together() {
        let deep = format!("{}x{}", "(".repeat(60), ")".repeat(60));
        let calls = |count: usize| format!("{}x{}", "inner(".repeat(count), ")".repeat(count));
        let two = vec![function("inner", &deep), function("outer", &calls(2))];
        assert_eq!(asked(two, "SELECT outer(1)"), Ok(()));
        let thirty = vec![function("inner", &deep), function("outer", &calls(30))];
        assert_eq!(asked(thirty, "SELECT outer(1)"), Err(ErrorKind::TooDeep));
        let many = format!("SELECT {}", vec!["f(id)"; 300].join(" , "));
        assert_eq!(asked(vec![function("f", "x + 1")], &format!("{many} FROM customers")), Ok(()), "side by side");
    }

    #[test]
    fn views_in_views_are_as_deep_as_they_are_together() {
        let chain = |views: usize, levels: usize| {
            let over = |view: usize| {
                let inmost = format!("deep{}", view - 1);
                format!("SELECT * FROM {}{inmost}{}", "(SELECT * FROM ".repeat(levels), ") x".repeat(levels))
            };
            let above = (1..views).map(|view| self::view(&format!("deep{view}"), &over(view)));
            std::iter::once(self::view("deep0", "SELECT 1 AS a")).chain(above).collect::<Definitions>()
        };
        assert_eq!(asked(chain(16, 1), "SELECT * FROM deep15"), Ok(()));
        assert_eq!(asked(chain(4, 20), "SELECT * FROM deep3"), Ok(()));
        assert_eq!(asked(chain(16, 35), "SELECT * FROM deep15"), Err(ErrorKind::TooDeep));
    }

    #[test]
    fn a_large_view_does_not_stand_in_a_statement_without_end() {
        let listed = vec!["7"; 20_000].join(", ");
        let large = || vec![view("large", &format!("SELECT 1 AS a WHERE 1 IN ({listed})"))];
        assert_eq!(asked(large(), "SELECT * FROM large a, large b"), Ok(()));
        let often: Vec<String> = (0..50).map(|n| format!("large l{n}")).collect();
        assert_eq!(asked(large(), &format!("SELECT * FROM {}", often.join(", "))), Err(ErrorKind::TooDeep));
    }

    #[test]
    fn the_catalogue_is_put_in_a_few_times() {
        let named = |count: usize| {
            let tables: Vec<String> = (0..count).map(|n| format!("information_schema.columns c{n}")).collect();
            engine(&format!("SELECT count(*) FROM {}", tables.join(", ")), &analyst())
        };
        assert!(named(LISTINGS_MAX).is_ok());
        assert_eq!(named(LISTINGS_MAX + 1).expect_err("too many").kind, ErrorKind::TooDeep);
    }
}
