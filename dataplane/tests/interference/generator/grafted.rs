//! Statements made of the attacks: their expressions in each other's places, and one inside of another.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use serde::Deserialize;
use sqlparser::ast::{Expr, Query, Statement, VisitMut, VisitorMut, visit_expressions};
use sqlparser::dialect::{DuckDbDialect, SnowflakeDialect};
use sqlparser::parser::Parser;

use super::{Dice, Made};

/// What chance decides, or the size of what is hidden only.
const BY_CHANCE: [&str; 9] =
    ["random", "rand(", "uuid", "sample", "gen_random", "seq", "reservoir", "now(", "current_time"];
/// Longest expression that is put somewhere else.
const LENGTH_MAX: usize = 160;

struct Stock {
    queries: Vec<Query>,
    conditions: Vec<Expr>,
    values: Vec<Expr>,
}

static STOCK: LazyLock<Stock> = LazyLock::new(Stock::read);

#[derive(Deserialize)]
struct Attack {
    sql: serde_json::Value,
}

impl Stock {
    fn read() -> Self {
        let mut stock = Self { queries: Vec::new(), conditions: Vec::new(), values: Vec::new() };
        for line in include_str!("../attacks.jsonl").lines() {
            let Attack { sql } = serde_json::from_str(line).expect(line);
            let Some(sql) = sql.as_str() else { continue };
            let lowered = sql.to_ascii_lowercase();
            if BY_CHANCE.iter().any(|word| lowered.contains(word)) {
                continue;
            }
            let parsed =
                Parser::parse_sql(&SnowflakeDialect, sql).or_else(|_| Parser::parse_sql(&DuckDbDialect {}, sql));
            if let Ok([Statement::Query(query)]) = parsed.as_deref() {
                stock.add(query);
            }
        }
        stock
    }

    fn add(&mut self, query: &Query) {
        self.queries.push(query.clone());
        for expr in expressions(query) {
            if !matches!(expr, Expr::Wildcard(_) | Expr::QualifiedWildcard(..)) && expr.to_string().len() <= LENGTH_MAX
            {
                let kind = if is_condition(&expr) { &mut self.conditions } else { &mut self.values };
                kind.push(expr);
            }
        }
    }
}

/// The expressions of a query, an outer one before those in it.
#[expect(clippy::disallowed_methods, reason = "the walk of this program that reads")]
fn expressions(query: &Query) -> Vec<Expr> {
    let mut found = Vec::new();
    let _: ControlFlow<()> = visit_expressions(query, |expr| {
        found.push(expr.clone());
        ControlFlow::Continue(())
    });
    found
}

fn is_condition(expr: &Expr) -> bool {
    use sqlparser::ast::BinaryOperator as B;
    match expr {
        Expr::BinaryOp { op, .. } => {
            matches!(op, B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
        }
        Expr::Nested(inner) => is_condition(inner),
        Expr::UnaryOp { op, .. } => matches!(op, sqlparser::ast::UnaryOperator::Not),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..) => true,
        _ => false,
    }
}

/// Puts an expression of the stock for the one of this number.
struct Graft<'a> {
    dice: &'a Dice,
    left: usize,
}

impl Graft<'_> {
    #[expect(clippy::disallowed_methods, reason = "the walk of this program that changes")]
    fn into(mut self, query: &mut Query) {
        let _: ControlFlow<()> = query.visit(&mut self);
    }
}

impl VisitorMut for Graft<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.left > 0 || matches!(expr, Expr::Wildcard(_) | Expr::QualifiedWildcard(..)) {
            self.left = self.left.saturating_sub(1);
            return ControlFlow::Continue(());
        }
        let others = if is_condition(expr) { &STOCK.conditions } else { &STOCK.values };
        *expr = others[self.dice.below(others.len())].clone();
        ControlFlow::Break(())
    }
}

impl Dice {
    fn attack(&self) -> String {
        let mut query = STOCK.queries[self.below(STOCK.queries.len())].clone();
        for _ in 0..self.below(3) {
            let count = expressions(&query).len();
            if count > 0 {
                Graft { dice: self, left: self.below(count) }.into(&mut query);
            }
        }
        query.to_string()
    }

    pub(super) fn grafted(&self) -> Made {
        let attack = self.attack();
        let read = |sql: String| Made { sql, writes: false };
        match self.below(16) {
            0 => read(format!("select count(*) from ({attack}) t")),
            1 => read(format!("select * from ({attack}) t order by all limit {}", 1 + self.below(3))),
            2 => read(format!("with q as ({attack}) select * from q, customer c where {}", self.on_customer(1))),
            3 => read(format!("select id from customer where exists ({attack}) order by id")),
            4 => read(format!("select c.id, (select count(*) from ({attack}) t) from customer c")),
            5 => read(format!("select * from ({attack}) t cross join (select count(*) from ({}) u) v", self.attack())),
            6 => read(format!("select * from ({attack}) t union all select * from ({attack}) u")),
            7 => read(format!("select distinct * from ({attack}) t")),
            8 => read(format!("explain {attack}")),
            9 => Made { sql: format!("create table made as {attack}"), writes: true },
            10 => Made { sql: format!("create view made_view as {attack}"), writes: true },
            11 => Made { sql: format!("update lookup set label = 'n' where exists ({attack})"), writes: true },
            _ => read(attack),
        }
    }
}
