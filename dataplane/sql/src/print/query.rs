//! Queries: WITH, SELECT and what stands around it.

use sqlparser::ast::{
    Cte, CteAsMaterialized, Distinct, Expr, Fetch, GroupByExpr, GroupByWithModifier, LimitClause, LockClause, LockType,
    NamedWindowDefinition, NamedWindowExpr, NonBlock, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions,
    OrderBySort, Query, Select, SelectFlavor, SetExpr, SetOperator, SetQuantifier, TableAlias, TableAliasColumnDef,
    Values, With,
};

use super::{Printer, absent};
use crate::ast::associative;
use crate::ast::error::Error;

impl Printer<'_> {
    #[recursive::recursive]
    pub(super) fn query(&mut self, query: &Query) -> Result<(), Error> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        absent(for_clause.is_none(), "FOR XML, FOR JSON and FOR BROWSE")?;
        absent(settings.is_none(), "SETTINGS")?;
        absent(format_clause.is_none(), "FORMAT")?;
        absent(pipe_operators.is_empty(), "the pipe operator |>")?;
        if let Some(with) = with {
            self.with(with)?;
        }
        self.set_expr(body)?;
        if let Some(order_by) = order_by {
            self.put(" ORDER BY ");
            self.order_by(order_by)?;
        }
        if let Some(limit) = limit_clause {
            self.limit(limit)?;
        }
        if let Some(fetch) = fetch {
            self.fetch(fetch)?;
        }
        locks.iter().try_for_each(|lock| self.lock(lock))
    }

    /// The engine locks no row, and gets none of it (`dialect`).
    fn lock(&mut self, lock: &LockClause) -> Result<(), Error> {
        let LockClause { lock_type, of, nonblock } = lock;
        self.warehouse_only("FOR UPDATE")?;
        absent(*nonblock != Some(NonBlock::SkipLocked), "SKIP LOCKED")?;
        self.put(match lock_type {
            LockType::Share => " FOR SHARE",
            LockType::Update => " FOR UPDATE",
        });
        if let Some(of) = of {
            self.put(" OF ");
            self.name(of)?;
        }
        self.done(if nonblock.is_some() { " NOWAIT" } else { "" })
    }

    fn with(&mut self, with: &With) -> Result<(), Error> {
        let With { with_token: _, recursive, cte_tables } = with;
        self.put(if *recursive { "WITH RECURSIVE " } else { "WITH " });
        self.list(cte_tables, |p, cte| {
            let Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
            absent(from.is_none(), "FROM in a WITH query")?;
            p.alias_with_columns(alias)?;
            p.put(" AS ");
            p.put(match materialized {
                None => "",
                Some(CteAsMaterialized::Materialized) => "MATERIALIZED ",
                Some(CteAsMaterialized::NotMaterialized) => "NOT MATERIALIZED ",
            });
            p.bracketed_query(query)
        })?;
        self.done(" ")
    }

    pub(super) fn bracketed_query(&mut self, query: &Query) -> Result<(), Error> {
        self.enclosed("(", ")", |p| p.query(query))
    }

    pub(super) fn alias(&mut self, alias: Option<&TableAlias>) -> Result<(), Error> {
        let Some(alias) = alias else { return Ok(()) };
        self.put(" AS ");
        self.alias_with_columns(alias)
    }

    pub(super) fn alias_with_columns(&mut self, alias: &TableAlias) -> Result<(), Error> {
        let TableAlias { explicit: _, name, columns, at } = alias;
        absent(at.is_none(), "AT in an alias")?;
        self.ident(name);
        if columns.is_empty() {
            return Ok(());
        }
        self.put("(");
        self.list(columns, |p, column| {
            let TableAliasColumnDef { name, data_type } = column;
            absent(data_type.is_none(), "a type in a column alias")?;
            p.ident(name);
            Ok(())
        })?;
        self.done(")")
    }

    #[recursive::recursive]
    fn set_expr(&mut self, body: &SetExpr) -> Result<(), Error> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.bracketed_query(query),
            SetExpr::Values(values) => self.values(values),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.arm(left, Some((*op, *set_quantifier)))?;
                self.put(match op {
                    SetOperator::Union => " UNION",
                    SetOperator::Except | SetOperator::Minus => " EXCEPT",
                    SetOperator::Intersect => " INTERSECT",
                });
                self.put(match set_quantifier {
                    SetQuantifier::All => " ALL ",
                    SetQuantifier::None => " ",
                    SetQuantifier::Distinct => " DISTINCT ",
                    SetQuantifier::ByName => " BY NAME ",
                    SetQuantifier::AllByName => " ALL BY NAME ",
                    SetQuantifier::DistinctByName => " DISTINCT BY NAME ",
                });
                self.arm(right, associative::set_operation(*op, *set_quantifier).then_some((*op, *set_quantifier)))
            }
            SetExpr::Insert(_) => Err(Error::unsupported("INSERT inside a query")),
            SetExpr::Update(_) => Err(Error::unsupported("UPDATE inside a query")),
            SetExpr::Delete(_) => Err(Error::unsupported("DELETE inside a query")),
            SetExpr::Merge(_) => Err(Error::unsupported("MERGE inside a query")),
            SetExpr::Table(_) => Err(Error::unsupported("TABLE")),
        }
    }

    /// An arm of a set operation, bracketed when it is another one itself.
    fn arm(&mut self, arm: &SetExpr, around: Option<(SetOperator, SetQuantifier)>) -> Result<(), Error> {
        if let SetExpr::SetOperation { op, set_quantifier, .. } = arm
            && around != Some((*op, *set_quantifier))
        {
            self.put("(");
            self.set_expr(arm)?;
            return self.done(")");
        }
        self.set_expr(arm)
    }

    pub(super) fn values(&mut self, values: &Values) -> Result<(), Error> {
        let Values { explicit_row, value_keyword: _, rows } = values;
        absent(!explicit_row, "ROW in VALUES")?;
        self.put("VALUES ");
        self.list(rows, |p, row| p.enclosed("(", ")", |p| p.list(&row.content, Self::settable)))
    }

    fn select(&mut self, select: &Select) -> Result<(), Error> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        absent(optimizer_hints.is_empty(), "an optimizer hint")?;
        absent(select_modifiers.is_none(), "a SELECT modifier")?;
        absent(top.is_none(), "TOP")?;
        absent(exclude.is_none(), "EXCLUDE behind the select list")?;
        absent(into.is_none(), "SELECT INTO")?;
        absent(lateral_views.is_empty(), "LATERAL VIEW")?;
        absent(prewhere.is_none(), "PREWHERE")?;
        absent(connect_by.is_empty(), "CONNECT BY")?;
        absent(
            cluster_by.is_empty() && distribute_by.is_empty() && sort_by.is_empty(),
            "CLUSTER, DISTRIBUTE and SORT BY",
        )?;
        absent(value_table_mode.is_none(), "SELECT AS")?;
        absent(*flavor == SelectFlavor::Standard, "FROM before SELECT")?;
        absent(!projection.is_empty(), "SELECT without columns")?;
        self.put("SELECT ");
        self.distinct(distinct.as_ref())?;
        self.list(projection, Self::select_item)?;
        if !from.is_empty() {
            self.put(" FROM ");
            self.list(from, Self::table_with_joins)?;
        }
        self.clause(" WHERE ", selection.as_ref())?;
        self.group_by(group_by)?;
        self.clause(" HAVING ", having.as_ref())?;
        if !named_window.is_empty() {
            self.put(" WINDOW ");
            self.list(named_window, Self::named_window)?;
        }
        self.clause(" QUALIFY ", qualify.as_ref())
    }

    pub(super) fn clause(&mut self, keyword: &str, expr: Option<&Expr>) -> Result<(), Error> {
        let Some(expr) = expr else { return Ok(()) };
        self.put(keyword);
        self.expr(expr)
    }

    fn distinct(&mut self, distinct: Option<&Distinct>) -> Result<(), Error> {
        match distinct {
            None => {}
            Some(Distinct::All) => self.put("ALL "),
            Some(Distinct::Distinct) => self.put("DISTINCT "),
            Some(Distinct::On(exprs)) => {
                self.enclosed("DISTINCT ON (", ") ", |p| p.list(exprs, Self::expr))?;
            }
        }
        Ok(())
    }

    fn named_window(&mut self, window: &NamedWindowDefinition) -> Result<(), Error> {
        let NamedWindowDefinition(name, spec) = window;
        self.ident(name);
        self.put(" AS ");
        match spec {
            NamedWindowExpr::NamedWindow(other) => {
                self.ident(other);
                Ok(())
            }
            NamedWindowExpr::WindowSpec(spec) => self.window_spec(spec),
        }
    }

    fn group_by(&mut self, group_by: &GroupByExpr) -> Result<(), Error> {
        let modifiers = match group_by {
            GroupByExpr::All(modifiers) => {
                self.put(" GROUP BY ALL");
                modifiers
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                if !exprs.is_empty() {
                    self.put(" GROUP BY ");
                    self.list(exprs, Self::expr)?;
                }
                modifiers
            }
        };
        for modifier in modifiers {
            match modifier {
                GroupByWithModifier::GroupingSets(sets) => {
                    if matches!(group_by, GroupByExpr::Expressions(exprs, _) if exprs.is_empty()) {
                        self.put(" GROUP BY ");
                    } else {
                        self.put(", ");
                    }
                    self.expr(sets)?;
                }
                GroupByWithModifier::Rollup | GroupByWithModifier::Cube | GroupByWithModifier::Totals => {
                    return Err(Error::unsupported("WITH ROLLUP, CUBE and TOTALS"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn order_by(&mut self, order_by: &OrderBy) -> Result<(), Error> {
        let OrderBy { kind, interpolate } = order_by;
        absent(interpolate.is_none(), "INTERPOLATE")?;
        match kind {
            OrderByKind::All(options) => {
                self.put("ALL");
                self.order_by_options(options)
            }
            OrderByKind::Expressions(exprs) => self.order_by_exprs(exprs),
        }
    }

    pub(super) fn order_by_exprs(&mut self, exprs: &[OrderByExpr]) -> Result<(), Error> {
        self.list(exprs, |p, item| {
            let OrderByExpr { expr, options, with_fill } = item;
            absent(with_fill.is_none(), "WITH FILL")?;
            p.expr(expr)?;
            p.order_by_options(options)
        })
    }

    fn order_by_options(&mut self, options: &OrderByOptions) -> Result<(), Error> {
        let OrderByOptions { sort, nulls_first } = options;
        self.put(match sort {
            None => "",
            Some(OrderBySort::Asc) => " ASC",
            Some(OrderBySort::Desc) => " DESC",
            Some(OrderBySort::Using(_)) => return Err(Error::unsupported("ORDER BY USING")),
        });
        self.put(match nulls_first {
            None => "",
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
        });
        Ok(())
    }

    fn limit(&mut self, limit: &LimitClause) -> Result<(), Error> {
        match limit {
            LimitClause::LimitOffset { limit, offset, limit_by } => {
                absent(limit_by.is_empty(), "LIMIT BY")?;
                self.clause(" LIMIT ", limit.as_ref())?;
                if let Some(Offset { value, rows: _ }) = offset {
                    self.put(" OFFSET ");
                    self.expr(value)?;
                }
                Ok(())
            }
            LimitClause::OffsetCommaLimit { .. } => Err(Error::unsupported("LIMIT with a comma")),
        }
    }

    fn fetch(&mut self, fetch: &Fetch) -> Result<(), Error> {
        let Fetch { with_ties, percent, quantity } = fetch;
        absent(!with_ties, "WITH TIES")?;
        absent(!percent, "FETCH PERCENT")?;
        self.put(" LIMIT ");
        if let Some(quantity) = quantity { self.expr(quantity) } else { self.done("1") }
    }
}
