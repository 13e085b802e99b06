//! The most that the walk over a statement can cost, known before the walk.
//!
//! Where nothing is hidden the walk finds nothing, and only refuses what would take too long or has too many columns. A
//! statement that surely is neither need not be walked. Each number is an upper bound of what the walk counts.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, SetQuantifier, Statement, TableFactor, Visitor};

use super::budget::LOOKS_MAX;
use super::items::COLUMNS_MAX;
use crate::ast::{Visit, names};
use crate::print::is_bare_star;
use crate::scan::Scan;
use crate::scan::marker::{self, Marked};

/// Columns that a function in FROM answers at most, with one that numbers its rows.
const ANSWERED_MAX: usize = 16;

/// Whether the walk over a statement surely comes to its end.
pub(in crate::govern) fn is_small(tree: &Statement, scans: &[Scan]) -> bool {
    let mut extent = Extent {
        scans,
        around: 0,
        deepest: 0,
        queries: 0,
        places: 0,
        relations: 0,
        repeated: 0,
        columns: 0,
        starred: 0,
        growth: 1,
    };
    tree.visit(&mut extent).is_continue() && extent.is_small()
}

/// The numbers that bound the walk. It breaks with what no number bounds.
struct Extent<'a> {
    scans: &'a [Scan],
    /// Expressions and queries around the place.
    around: usize,
    /// The most of them that are around any place.
    deepest: usize,
    queries: usize,
    /// Expressions, each as often as something is around it, and whatever else is looked at.
    places: usize,
    relations: usize,
    /// Relations that stand for a WITH query, which others may stand for too.
    repeated: usize,
    /// Columns of tables and functions, and items of select lists.
    columns: usize,
    /// Selects with a `*`.
    starred: usize,
    /// How many times more columns these may have.
    growth: usize,
}

impl Extent<'_> {
    fn is_small(&self) -> bool {
        // a column of a query is in a scope of what it defines, of its ORDER BY, and of the query around it
        let widest = self.columns.saturating_mul(self.growth);
        let columns = widest.saturating_mul(3 + 3 * self.starred + self.repeated).saturating_add(self.relations + 1);
        // what is around a column asks for its type, its digits and the like; for some calls each level between does
        let lookups = self.places.saturating_mul(40 + 4 * self.deepest);
        // a name is looked for once in all scopes, and as an alias twice behind each of the four that a query may have
        let looks = columns.saturating_mul(4 + 8 * self.queries).saturating_mul(lookups);
        columns < COLUMNS_MAX && looks < LOOKS_MAX
    }

    fn begin(&mut self) {
        self.around += 1;
        self.deepest = self.deepest.max(self.around);
        self.places += self.around;
    }

    fn end(&mut self) {
        self.around -= 1;
    }

    fn body(&mut self, body: &SetExpr) -> ControlFlow<()> {
        use SetQuantifier as Q;
        self.places += 1;
        match body {
            // each column of one side is looked for among those of the other
            SetExpr::SetOperation { set_quantifier: Q::ByName | Q::AllByName | Q::DistinctByName, .. } => {
                ControlFlow::Break(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left)?;
                self.body(right)
            }
            SetExpr::Values(values) => {
                self.columns += values.rows.iter().map(|row| row.content.len()).max().unwrap_or_default();
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Extent<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.queries += 1;
        self.begin();
        if query.with.as_ref().is_some_and(|with| with.recursive) {
            return ControlFlow::Break(()); // it is walked again until a round finds nothing
        }
        self.body(&query.body)
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.end();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.places += select.projection.len();
        self.columns += select.projection.len();
        let mut stars = 0_usize;
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => {}
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) if is_bare_star(options) => {
                    stars += 1;
                }
                _ => return ControlFlow::Break(()),
            }
        }
        if stars > 0 {
            let relations: usize = select.from.iter().map(|table| 1 + table.joins.len()).sum();
            self.starred += 1;
            self.growth = self.growth.saturating_mul(stars.saturating_mul(relations).max(1));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.relations += 1;
        self.places += 1;
        match factor {
            TableFactor::Table { name, args: None, .. } => match marker::read(name) {
                Some(Marked::Scan(number)) => {
                    self.columns += self.scans.get(number).map_or(0, |scan| scan.table.columns.len());
                }
                Some(Marked::With(_)) => self.repeated += 1,
                None => {}
            },
            TableFactor::Derived { .. } => {}
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.growth = self.growth.saturating_mul(1 + table_with_joins.joins.len());
            }
            // what it makes of the columns is not counted
            TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => return ControlFlow::Break(()),
            other => self.columns += ANSWERED_MAX + names::alias(other).map_or(0, |alias| alias.columns.len()),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.begin();
        if let Expr::Lambda(lambda) = expr {
            self.places += lambda.params.len();
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.end();
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::ast::error::ErrorKind;
    use crate::testing::{analyst, governed};

    fn refusal(sql: &str, rules: &Rules) -> Option<ErrorKind> {
        governed(sql, rules).err().map(|error| error.kind)
    }

    #[test]
    fn what_is_refused_under_rules_for_its_size_is_refused_without_any() {
        let list = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
        let doubled = list(20, &|level| format!("c{} AS (SELECT *, * FROM c{level})", level + 1));
        let stars = |count: usize| list(count, &|_| "*".to_owned());
        let joined = "CROSS JOIN (customers CROSS JOIN customers) ".repeat(10);
        for sql in [
            format!("WITH c0 AS (SELECT id, name FROM customers), {doubled} SELECT count(*) FROM c20"),
            format!("SELECT {} FROM customers", stars(1_700)),
            format!("SELECT {} FROM customers {joined}", stars(100)),
        ] {
            let refused = refusal(&sql, &analyst());
            assert!(matches!(refused, Some(ErrorKind::TooLarge)), "{refused:?}");
            assert_eq!(refusal(&sql, &Rules::default()), refused);
        }
    }

    #[test]
    fn the_types_of_columns_are_known_where_nothing_is_hidden() {
        let types = |rules: &Rules| {
            let known =
                governed("SELECT c.id, c.region FROM customers c", rules).expect("a query").known().into_owned();
            ["id", "region", "amount"].map(|name| crate::bind::types::ColumnTypes::column(&known, Some("c"), name))
        };
        assert_eq!(types(&Rules::default()), types(&analyst()));
    }
}
