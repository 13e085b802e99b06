//! Printing of relations in FROM.

use sqlparser::ast::{
    BinaryOperator, Expr, ExprWithAlias, FunctionArg, Join, JoinConstraint, JoinOperator, NullInclusion,
    PivotValueSource, TableFactor, TableFunctionArgs, TableSample, TableSampleBucket, TableSampleKind,
    TableSampleMethod, TableSampleModifier, TableSampleQuantity, TableSampleSeed, TableSampleSeedModifier,
    TableSampleUnit, TableWithJoins,
};

use super::{Printer, Style, absent};
use crate::ast::error::Error;
use crate::scan::marker;

/// Whether one of the conditions that must all hold is an OR.
#[recursive::recursive]
fn is_alternative(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_alternative(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => is_alternative(left) || is_alternative(right),
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => true,
        _ => false,
    }
}

impl Printer<'_> {
    pub(super) fn table_with_joins(&mut self, table: &TableWithJoins) -> Result<(), Error> {
        let TableWithJoins { relation, joins } = table;
        self.factor(relation)?;
        for Join { relation, global, join_operator } in joins {
            absent(!global, "GLOBAL JOIN")?;
            self.join(relation, join_operator)?;
        }
        Ok(())
    }

    fn join(&mut self, relation: &TableFactor, operator: &JoinOperator) -> Result<(), Error> {
        let (word, constraint) = match operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (" JOIN ", constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (" LEFT JOIN ", constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (" RIGHT JOIN ", constraint),
            JoinOperator::FullOuter(constraint) => (" FULL JOIN ", constraint),
            JoinOperator::CrossJoin(constraint) => {
                absent(matches!(constraint, JoinConstraint::None), "a condition of CROSS JOIN")?;
                (" CROSS JOIN ", constraint)
            }
            JoinOperator::Semi(constraint) | JoinOperator::LeftSemi(constraint) => (" SEMI JOIN ", constraint),
            JoinOperator::Anti(constraint) | JoinOperator::LeftAnti(constraint) => (" ANTI JOIN ", constraint),
            JoinOperator::AsOf { match_condition, constraint } => {
                if self.style == Style::Engine {
                    return self.asof(relation, match_condition, constraint);
                }
                self.put(" ASOF JOIN ");
                self.factor(relation)?;
                self.put(" MATCH_CONDITION (");
                self.expr(match_condition)?;
                self.put(")");
                return self.constraint(constraint);
            }
            JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => {
                return Err(Error::unsupported("RIGHT SEMI and RIGHT ANTI JOIN"));
            }
            JoinOperator::CrossApply | JoinOperator::OuterApply => {
                return Err(Error::unsupported("APPLY"));
            }
            JoinOperator::StraightJoin(_) => return Err(Error::unsupported("STRAIGHT_JOIN")),
            JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                return Err(Error::unsupported("ARRAY JOIN"));
            }
        };
        // The engine reads no such join. `a POSITIONAL JOIN b` would be one, with an alias.
        let bare = matches!(constraint, JoinConstraint::None) && word != " CROSS JOIN ";
        absent(!bare, "JOIN without a condition")?;
        if matches!(constraint, JoinConstraint::Natural) {
            self.put(" NATURAL");
        }
        self.put(word);
        self.factor(relation)?;
        self.constraint(constraint)
    }

    /// Every row of the left side, with its nearest row of the right side or with NULLs.
    fn asof(&mut self, relation: &TableFactor, nearest: &Expr, constraint: &JoinConstraint) -> Result<(), Error> {
        let equal = match constraint {
            JoinConstraint::On(equal) => Some(equal),
            _ => None,
        };
        // the engine fails on it (duckdb/duckdb#19027)
        let is_either = equal.into_iter().chain([nearest]).any(is_alternative);
        absent(!is_either, "OR in the condition of ASOF JOIN")?;
        self.put(" ASOF LEFT JOIN ");
        self.factor(relation)?;
        self.put(" ON ");
        match constraint {
            JoinConstraint::None => return self.expr(nearest),
            JoinConstraint::On(equal) => self.operand(equal)?,
            JoinConstraint::Using(_) | JoinConstraint::Natural => {
                return Err(Error::unsupported("USING of ASOF JOIN"));
            }
        }
        self.put(" AND ");
        self.operand(nearest)
    }

    fn constraint(&mut self, constraint: &JoinConstraint) -> Result<(), Error> {
        match constraint {
            JoinConstraint::On(expr) => self.clause(" ON ", Some(expr)),
            JoinConstraint::Using(names) => self.enclosed(" USING (", ")", |p| p.list(names, Self::name)),
            JoinConstraint::Natural | JoinConstraint::None => Ok(()),
        }
    }

    #[recursive::recursive]
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Result<(), Error> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                absent(with_hints.is_empty() && index_hints.is_empty(), "a table hint")?;
                absent(version.is_none(), "time travel")?;
                absent(partitions.is_empty(), "PARTITION")?;
                absent(json_path.is_none(), "a path into a table")?;
                absent(!with_ordinality || args.is_some(), "WITH ORDINALITY")?;
                match (marker::read(name), args) {
                    (Some(marked), None) => self.marked(marked)?,
                    (Some(_), Some(_)) => return Err(Error::unsupported("arguments of a table")),
                    (None, None) => self.name(name)?,
                    (None, Some(TableFunctionArgs { args, settings })) => {
                        absent(settings.is_none(), "SETTINGS")?;
                        self.table_function(name, args)?;
                    }
                }
                if *with_ordinality {
                    self.put(" WITH ORDINALITY");
                }
                self.sampled(alias.as_ref(), sample.as_ref())
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                self.put(if *lateral { "LATERAL " } else { "" });
                self.bracketed_query(subquery)?;
                self.sampled(alias.as_ref(), sample.as_ref())
            }
            TableFactor::TableFunction { expr, alias } => {
                self.warehouse_only("TABLE(…)")?;
                self.enclosed("TABLE(", ")", |p| p.expr(expr))?;
                self.alias(alias.as_ref())
            }
            TableFactor::Function { lateral, name, args, with_ordinality, alias } => {
                self.put(if *lateral { "LATERAL " } else { "" });
                self.table_function(name, args)?;
                if *with_ordinality {
                    self.put(" WITH ORDINALITY");
                }
                self.alias(alias.as_ref())
            }
            TableFactor::UNNEST { alias, array_exprs, with_offset, with_offset_alias, with_ordinality } => {
                absent(!with_offset && with_offset_alias.is_none(), "WITH OFFSET")?;
                self.enclosed("UNNEST(", ")", |p| p.list(array_exprs, Self::expr))?;
                if *with_ordinality {
                    self.put(" WITH ORDINALITY");
                }
                self.alias(alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.enclosed("(", ")", |p| p.table_with_joins(table_with_joins))?;
                self.alias(alias.as_ref())
            }
            TableFactor::Pivot { table, aggregate_functions, value_column, value_source, default_on_null, alias } => {
                absent(default_on_null.is_none(), "DEFAULT ON NULL")?;
                self.factor(table)?;
                self.put(" PIVOT (");
                self.list(aggregate_functions, Self::expr_with_alias)?;
                self.put(" FOR ");
                match value_column.as_slice() {
                    [one] => self.expr(one)?,
                    _ => return Err(Error::unsupported("PIVOT over several columns")),
                }
                self.put(" IN (");
                match value_source {
                    PivotValueSource::List(values) => self.list(values, Self::expr_with_alias)?,
                    PivotValueSource::Any(keys) => {
                        self.warehouse_only("PIVOT … IN (ANY)")?;
                        self.put("ANY");
                        if !keys.is_empty() {
                            self.put(" ORDER BY ");
                            self.order_by_exprs(keys)?;
                        }
                    }
                    PivotValueSource::Subquery(query) => {
                        self.warehouse_only("PIVOT … IN (SELECT …)")?;
                        self.query(query)?;
                    }
                }
                self.put("))");
                self.alias(alias.as_ref())
            }
            TableFactor::Unpivot { table, value, name, columns, null_inclusion, alias } => {
                self.factor(table)?;
                self.put(match null_inclusion {
                    Some(NullInclusion::IncludeNulls) => " UNPIVOT INCLUDE NULLS (",
                    Some(NullInclusion::ExcludeNulls) | None => " UNPIVOT (",
                });
                self.expr(value)?;
                self.put(" FOR ");
                self.ident(name);
                self.enclosed(" IN (", "))", |p| p.list(columns, Self::expr_with_alias))?;
                self.alias(alias.as_ref())
            }
            TableFactor::MatchRecognize { .. } => Err(Error::unsupported("MATCH_RECOGNIZE")),
            TableFactor::JsonTable { .. } => Err(Error::unsupported("JSON_TABLE")),
            TableFactor::OpenJsonTable { .. } => Err(Error::unsupported("OPENJSON")),
            TableFactor::UnpivotExpr { .. } => Err(Error::unsupported("UNPIVOT of an expression")),
            TableFactor::XmlTable { .. } => Err(Error::unsupported("XMLTABLE")),
            TableFactor::SemanticView { .. } => Err(Error::unsupported("SEMANTIC_VIEW")),
        }
    }

    fn expr_with_alias(&mut self, item: &ExprWithAlias) -> Result<(), Error> {
        let ExprWithAlias { expr, alias } = item;
        self.expr(expr)?;
        if let Some(alias) = alias {
            self.put(" AS ");
            self.ident(alias);
        }
        Ok(())
    }

    fn table_function(&mut self, name: &sqlparser::ast::ObjectName, args: &[FunctionArg]) -> Result<(), Error> {
        self.function_name(name)?;
        self.enclosed("(", ")", |p| p.list(args, Self::argument))
    }

    fn sampled(
        &mut self,
        alias: Option<&sqlparser::ast::TableAlias>,
        sample: Option<&TableSampleKind>,
    ) -> Result<(), Error> {
        self.alias(alias)?;
        let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample else {
            return Ok(());
        };
        let TableSample { modifier, name, quantity, seed, bucket, offset } = sample.as_ref();
        match modifier {
            TableSampleModifier::Sample | TableSampleModifier::TableSample => {
                self.put(" TABLESAMPLE ");
            }
        }
        absent(bucket.is_none() && offset.is_none(), "BUCKET and OFFSET of a sample")?;
        let _: &Option<TableSampleBucket> = bucket;
        match name {
            None => {}
            Some(TableSampleMethod::Bernoulli) => self.put("bernoulli"),
            Some(TableSampleMethod::System | TableSampleMethod::Block) => self.put("system"),
            Some(TableSampleMethod::Row) => self.put("reservoir"),
        }
        let Some(TableSampleQuantity { parenthesized: _, value, unit }) = quantity else {
            return Err(Error::unsupported("a sample without a size"));
        };
        self.put("(");
        self.expr(value)?;
        self.put(match unit {
            Some(TableSampleUnit::Rows) => " ROWS)",
            Some(TableSampleUnit::Percent) | None => " PERCENT)",
        });
        if let Some(TableSampleSeed { modifier, value }) = seed {
            match modifier {
                TableSampleSeedModifier::Repeatable | TableSampleSeedModifier::Seed => {
                    self.put(" REPEATABLE (");
                }
            }
            self.value(&value.value)?;
            self.put(")");
        }
        Ok(())
    }
}
