//! Statements, and those that change rows.

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, DoUpdate, Expr, FromTable, Insert, Merge, MergeAction,
    MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, MergeUpdateKind,
    MultiTableInsertIntoClause, MultiTableInsertType, MultiTableInsertValue, MultiTableInsertValues, ObjectName,
    OnConflict, OnConflictAction, OnInsert, Query, SelectItem, Statement, TableAliasWithoutColumns, TableObject,
    Truncate, TruncateTableTarget, Update, UpdateTableFromKind,
};

use super::{Printer, absent};
use crate::ast::error::Error;
use crate::ast::names;

impl Printer<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<(), Error> {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            Statement::Truncate(truncate) => self.truncate(truncate),
            other if self.staged(other)? => Ok(()),
            other => self.definition(other),
        }
    }

    /// A value of a row: `DEFAULT` is a word here, not a column.
    pub(super) fn settable(&mut self, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default") => {
                self.done("DEFAULT")
            }
            other => self.expr(other),
        }
    }

    fn insert(&mut self, insert: &Insert) -> Result<(), Error> {
        let Insert {
            insert_token: _,
            optimizer_hints,
            or,
            ignore,
            into: _,
            table,
            table_alias,
            columns,
            overwrite,
            source,
            assignments,
            partitioned,
            after_columns,
            has_table_keyword: _,
            on,
            returning,
            output,
            replace_into,
            priority,
            insert_alias,
            settings,
            format_clause,
            multi_table_insert_type,
            multi_table_into_clauses,
            multi_table_when_clauses,
            multi_table_else_clause,
        } = insert;
        absent(optimizer_hints.is_empty() && priority.is_none(), "an optimizer hint")?;
        absent(or.is_none() && !ignore && !replace_into, "INSERT OR …")?;
        absent(assignments.is_empty(), "INSERT … SET")?;
        absent(partitioned.is_none() && after_columns.is_empty(), "PARTITION")?;
        absent(output.is_none(), "OUTPUT")?;
        absent(insert_alias.is_none(), "an alias of the new row")?;
        absent(settings.is_none() && format_clause.is_none(), "SETTINGS and FORMAT")?;
        if let Some(kind) = multi_table_insert_type {
            return self.insert_into_several(kind, insert);
        }
        absent(
            multi_table_into_clauses.is_empty()
                && multi_table_when_clauses.is_empty()
                && multi_table_else_clause.is_none(),
            "INSERT into several tables",
        )?;
        absent(!overwrite || on.is_none() && returning.is_none(), "ON CONFLICT and RETURNING of INSERT OVERWRITE")?;
        if *overwrite {
            self.warehouse_only("INSERT OVERWRITE")?;
        }
        let TableObject::TableName(name) = table else {
            return Err(Error::unsupported("INSERT into something other than a table"));
        };
        self.put(if *overwrite { "INSERT OVERWRITE INTO " } else { "INSERT INTO " });
        self.name(name)?;
        if let Some(TableAliasWithoutColumns { explicit: _, alias }) = table_alias {
            self.put(" AS ");
            self.ident(alias);
        }
        self.rows(columns, source.as_deref())?;
        if let Some(on) = on {
            self.on_insert(on)?;
        }
        self.returning(returning.as_deref())
    }

    /// `INSERT ALL` and `INSERT FIRST`, which become one INSERT for each table.
    fn insert_into_several(&mut self, kind: &MultiTableInsertType, insert: &Insert) -> Result<(), Error> {
        self.warehouse_only("INSERT into several tables")?;
        absent(insert.on.is_none() && insert.returning.is_none(), "RETURNING of INSERT into several tables")?;
        self.put(if insert.overwrite { "INSERT OVERWRITE" } else { "INSERT" });
        self.put(match kind {
            MultiTableInsertType::All => " ALL",
            MultiTableInsertType::First => " FIRST",
        });
        insert.multi_table_into_clauses.iter().try_for_each(|clause| self.into(clause))?;
        for when in &insert.multi_table_when_clauses {
            self.clause(" WHEN ", Some(&when.condition))?;
            self.put(" THEN");
            when.into_clauses.iter().try_for_each(|clause| self.into(clause))?;
        }
        if let Some(otherwise) = &insert.multi_table_else_clause {
            self.put(" ELSE");
            otherwise.iter().try_for_each(|clause| self.into(clause))?;
        }
        let Some(source) = &insert.source else {
            return Err(Error::unsupported("INSERT into several tables without rows"));
        };
        self.put(" ");
        self.query(source)
    }

    fn into(&mut self, clause: &MultiTableInsertIntoClause) -> Result<(), Error> {
        let MultiTableInsertIntoClause { table_name, columns, values } = clause;
        self.put(" INTO ");
        self.name(table_name)?;
        if !columns.is_empty() {
            self.put(" (");
            self.idents(columns);
            self.put(")");
        }
        let Some(MultiTableInsertValues { values }) = values else {
            return Ok(());
        };
        self.put(" VALUES (");
        self.list(values, |p, value| match value {
            MultiTableInsertValue::Expr(expr) => p.expr(expr),
            MultiTableInsertValue::Default => p.done("DEFAULT"),
        })?;
        self.done(")")
    }

    fn rows(&mut self, columns: &[ObjectName], source: Option<&Query>) -> Result<(), Error> {
        if !columns.is_empty() {
            self.put(" (");
            self.list(columns, |p, column| {
                // of a path the engine takes the first name, and others the last
                let name = names::single(column).ok_or_else(|| Error::unsupported("a path as a column of INSERT"))?;
                p.ident(name);
                Ok(())
            })?;
            self.put(")");
        }
        if let Some(query) = source {
            self.put(" ");
            self.query(query)
        } else {
            self.done(" DEFAULT VALUES")
        }
    }

    fn on_insert(&mut self, on: &OnInsert) -> Result<(), Error> {
        let OnInsert::OnConflict(OnConflict { conflict_target, action }) = on else {
            return Err(Error::unsupported("ON DUPLICATE KEY"));
        };
        self.put(" ON CONFLICT");
        match conflict_target {
            None => {}
            Some(ConflictTarget::Columns(columns)) => {
                self.put(" (");
                self.idents(columns);
                self.put(")");
            }
            Some(ConflictTarget::OnConstraint(_)) => {
                return Err(Error::unsupported("ON CONFLICT ON CONSTRAINT"));
            }
        }
        match action {
            OnConflictAction::DoNothing => self.put(" DO NOTHING"),
            OnConflictAction::DoUpdate(DoUpdate { assignments, selection }) => {
                self.put(" DO UPDATE SET ");
                self.list(assignments, Self::assignment)?;
                self.clause(" WHERE ", selection.as_ref())?;
            }
        }
        Ok(())
    }

    fn assignment(&mut self, assignment: &Assignment) -> Result<(), Error> {
        let Assignment { target, value } = assignment;
        let AssignmentTarget::ColumnName(name) = target else {
            return Err(Error::unsupported("SET of several columns at once"));
        };
        self.name(name)?;
        self.put(" = ");
        self.settable(value)
    }

    fn returning(&mut self, returning: Option<&[SelectItem]>) -> Result<(), Error> {
        let Some(items) = returning else {
            return Ok(());
        };
        self.put(" RETURNING ");
        self.list(items, Self::select_item)
    }

    fn update(&mut self, update: &Update) -> Result<(), Error> {
        let Update {
            update_token: _,
            optimizer_hints,
            table,
            assignments,
            from,
            selection,
            returning,
            output,
            or,
            order_by,
            limit,
        } = update;
        absent(optimizer_hints.is_empty(), "an optimizer hint")?;
        absent(table.joins.is_empty(), "a join in UPDATE")?;
        absent(output.is_none(), "OUTPUT")?;
        absent(or.is_none(), "UPDATE OR …")?;
        absent(order_by.is_empty() && limit.is_none(), "ORDER BY and LIMIT in UPDATE")?;
        self.put("UPDATE ");
        self.factor(&table.relation)?;
        self.put(" SET ");
        self.list(assignments, Self::assignment)?;
        match from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(tables)) => {
                self.put(" FROM ");
                self.list(tables, Self::table_with_joins)?;
            }
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(Error::unsupported("FROM before SET"));
            }
        }
        self.clause(" WHERE ", selection.as_ref())?;
        self.returning(returning.as_deref())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Error> {
        let Delete {
            delete_token: _,
            optimizer_hints,
            tables,
            from,
            using,
            selection,
            returning,
            output,
            order_by,
            limit,
        } = delete;
        absent(optimizer_hints.is_empty(), "an optimizer hint")?;
        absent(tables.is_empty(), "DELETE of several tables")?;
        absent(output.is_none(), "OUTPUT")?;
        absent(order_by.is_empty() && limit.is_none(), "ORDER BY and LIMIT in DELETE")?;
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = from;
        let [target] = from.as_slice() else {
            return Err(Error::unsupported("DELETE of several tables"));
        };
        absent(target.joins.is_empty(), "a join in DELETE")?;
        self.put("DELETE FROM ");
        self.factor(&target.relation)?;
        if let Some(using) = using {
            self.put(" USING ");
            self.list(using, Self::table_with_joins)?;
        }
        self.clause(" WHERE ", selection.as_ref())?;
        self.returning(returning.as_deref())
    }

    fn merge(&mut self, merge: &Merge) -> Result<(), Error> {
        let Merge { merge_token: _, optimizer_hints, into: _, table, source, on, clauses, output } = merge;
        absent(optimizer_hints.is_empty(), "an optimizer hint")?;
        absent(output.is_none(), "RETURNING of MERGE")?;
        self.put("MERGE INTO ");
        self.factor(table)?;
        self.put(" USING ");
        self.factor(source)?;
        self.enclosed(" ON (", ")", |p| p.expr(on))?;
        for clause in clauses {
            self.merge_clause(clause)?;
        }
        Ok(())
    }

    fn merge_clause(&mut self, clause: &MergeClause) -> Result<(), Error> {
        let MergeClause { when_token: _, clause_kind, predicate, action } = clause;
        self.put(match clause_kind {
            MergeClauseKind::Matched => " WHEN MATCHED",
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => " WHEN NOT MATCHED",
            MergeClauseKind::NotMatchedBySource => " WHEN NOT MATCHED BY SOURCE",
        });
        self.clause(" AND ", predicate.as_ref())?;
        self.put(" THEN ");
        match action {
            MergeAction::Delete { delete_token: _ } => self.put("DELETE"),
            MergeAction::DoNothing { do_token: _, nothing_token: _ } => self.put("DO NOTHING"),
            MergeAction::Update(MergeUpdateExpr { update_token: _, kind, update_predicate, delete_predicate }) => {
                absent(update_predicate.is_none() && delete_predicate.is_none(), "WHERE in MERGE")?;
                let MergeUpdateKind::Set(assignments) = kind else {
                    return Err(Error::unsupported("UPDATE SET * in MERGE"));
                };
                self.put("UPDATE SET ");
                self.list(assignments, Self::assignment)?;
            }
            MergeAction::Insert(MergeInsertExpr {
                insert_token: _,
                columns,
                kind_token: _,
                kind,
                insert_predicate,
            }) => {
                absent(insert_predicate.is_none(), "WHERE in MERGE")?;
                let MergeInsertKind::Values(values) = kind else {
                    return Err(Error::unsupported("INSERT * in MERGE"));
                };
                self.put("INSERT ");
                if !columns.is_empty() {
                    self.enclosed("(", ") ", |p| p.list(columns, Self::name))?;
                }
                self.values(values)?;
            }
        }
        Ok(())
    }

    fn truncate(&mut self, truncate: &Truncate) -> Result<(), Error> {
        let Truncate { table_names, partitions, table: _, if_exists, identity, cascade, on_cluster } = truncate;
        absent(partitions.is_none(), "PARTITION")?;
        absent(!if_exists, "TRUNCATE IF EXISTS")?;
        absent(identity.is_none() && cascade.is_none() && on_cluster.is_none(), "options of TRUNCATE")?;
        let [TruncateTableTarget { name, only, has_asterisk }] = table_names.as_slice() else {
            return Err(Error::unsupported("TRUNCATE of several tables"));
        };
        absent(!only && !has_asterisk, "TRUNCATE ONLY")?;
        self.put("TRUNCATE ");
        self.name(name)
    }
}
