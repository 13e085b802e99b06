//! Expressions.

use sqlparser::ast::{
    AccessExpr, Array, CaseWhen, CastKind, CeilFloorKind, DateTimeField, DictionaryField, Expr, ExtractSyntax,
    JsonPath, JsonPathElem, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, Map, MapEntry, OneOrManyWithParens,
    Subscript, TrimWhereField, TypedString, UnaryOperator,
};

use super::{Bind, Printer, Style, absent, asked};
use crate::ast::error::Error;

impl Printer<'_> {
    #[recursive::recursive]
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Identifier(ident) => self.ident(ident),
            Expr::CompoundIdentifier(path) => {
                for (i, ident) in path.iter().enumerate() {
                    if i > 0 {
                        self.put(".");
                    }
                    self.ident(ident);
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.operand(root)?;
                for access in access_chain {
                    self.access(access)?;
                }
            }
            Expr::JsonAccess { value, path } => self.json_access(value, path)?,
            Expr::IsFalse(inner) => self.postfix(inner, " IS FALSE")?,
            Expr::IsNotFalse(inner) => self.postfix(inner, " IS NOT FALSE")?,
            Expr::IsTrue(inner) => self.postfix(inner, " IS TRUE")?,
            Expr::IsNotTrue(inner) => self.postfix(inner, " IS NOT TRUE")?,
            Expr::IsNull(inner) if self.is_asked(inner) => self.put("FALSE"),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => self.postfix(inner, " IS NULL")?,
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
                self.postfix(inner, " IS NOT NULL")?;
            }
            Expr::IsDistinctFrom(left, right) => self.infix(left, " IS DISTINCT FROM ", right)?,
            Expr::IsNotDistinctFrom(left, right) => {
                self.infix(left, " IS NOT DISTINCT FROM ", right)?;
            }
            Expr::InList { expr, list, negated } => {
                self.postfix(expr, if *negated { " NOT IN (" } else { " IN (" })?;
                self.list(list, Self::expr)?;
                self.put(")");
            }
            Expr::InSubquery { expr, subquery, negated } => {
                self.postfix(expr, if *negated { " NOT IN " } else { " IN " })?;
                self.bracketed_query(subquery)?;
            }
            Expr::Between { expr, negated, low, high } => {
                self.postfix(expr, if *negated { " NOT BETWEEN " } else { " BETWEEN " })?;
                self.infix(low, " AND ", high)?;
            }
            Expr::BinaryOp { left, op, right } => {
                if !self.member(left, op, right, None)? {
                    self.binary(left, op, right)?;
                }
            }
            Expr::Like { negated, any, expr, pattern, escape_char } => {
                let all = matches!(pattern.as_ref(), Expr::Tuple(_));
                absent(!any && !all || self.style != Style::Engine, "LIKE ANY and LIKE ALL")?;
                let word = match (negated, any) {
                    (false, false) if all => " LIKE ALL ",
                    (true, false) if all => " NOT LIKE ALL ",
                    (false, false) => " LIKE ",
                    (true, false) => " NOT LIKE ",
                    (false, true) => " LIKE ANY ",
                    (true, true) => " NOT LIKE ANY ",
                };
                self.like(expr, word, pattern, escape_char.as_deref())?;
            }
            Expr::ILike { negated, any, expr, pattern, escape_char } => {
                let all = matches!(pattern.as_ref(), Expr::Tuple(_));
                absent(!any && !all || self.style != Style::Engine, "ILIKE ANY and ILIKE ALL")?;
                let word = match (negated, any) {
                    (false, false) if all => " ILIKE ALL ",
                    (true, false) if all => " NOT ILIKE ALL ",
                    (false, false) => " ILIKE ",
                    (true, false) => " NOT ILIKE ",
                    (false, true) => " ILIKE ANY ",
                    (true, true) => " NOT ILIKE ANY ",
                };
                self.like(expr, word, pattern, escape_char.as_deref())?;
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                absent(escape_char.is_none(), "ESCAPE of SIMILAR TO")?;
                self.infix(expr, if *negated { " NOT SIMILAR TO " } else { " SIMILAR TO " }, pattern)?;
            }
            Expr::RLike { negated, expr, pattern, regexp: _ } => {
                self.warehouse_only("RLIKE")?;
                self.infix(expr, if *negated { " NOT RLIKE " } else { " RLIKE " }, pattern)?;
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } => self.quantified(left, compare_op, "ANY", right)?,
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, "ALL", right)?,
            Expr::UnaryOp { op, expr } => {
                self.put(match op {
                    UnaryOperator::Not => "NOT ",
                    UnaryOperator::Minus => "-",
                    UnaryOperator::Plus => "+",
                    UnaryOperator::BitwiseNot => "~",
                    _ => return Err(Error::unsupported(format!("operator {op}"))),
                });
                self.operand(expr)?;
            }
            Expr::Cast { kind, expr, data_type, format } => {
                absent(format.is_none(), "FORMAT of a cast")?;
                if let Some(number) = asked::number(expr, data_type).filter(|_| self.style == Style::Engine) {
                    self.typed(Bind::Number(number));
                    return Ok(());
                }
                self.put(match kind {
                    CastKind::Cast | CastKind::DoubleColon => "CAST(",
                    CastKind::TryCast | CastKind::SafeCast => "TRY_CAST(",
                });
                match asked::moment(expr, data_type).filter(|_| self.style == Style::Engine) {
                    Some(number) => self.typed(Bind::Moment(number)),
                    None if self.cast_member(expr, data_type)? => {}
                    None => self.expr(expr)?,
                }
                self.enclosed(" AS ", ")", |p| p.data_type(data_type))?;
            }
            Expr::AtTimeZone { timestamp, time_zone } => self.infix(timestamp, " AT TIME ZONE ", time_zone)?,
            Expr::Extract { field, syntax, expr } => {
                absent(*syntax == ExtractSyntax::From || self.style != Style::Engine, "EXTRACT with a comma")?;
                self.put("EXTRACT(");
                self.field(field)?;
                self.put(" FROM ");
                self.expr(expr)?;
                self.put(")");
            }
            Expr::Ceil { expr, field } => self.rounded("CEIL(", expr, field)?,
            Expr::Floor { expr, field } => self.rounded("FLOOR(", expr, field)?,
            Expr::Position { expr, r#in } => {
                self.enclosed("POSITION(", ")", |p| p.infix(expr, " IN ", r#in))?;
            }
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                self.put("SUBSTRING(");
                self.expr(expr)?;
                match (substring_from, substring_for) {
                    (None, None) => return Err(Error::unsupported("SUBSTRING without a start")),
                    (Some(from), None) => self.clause(", ", Some(from))?,
                    (None, Some(length)) => self.clause(", 1, ", Some(length))?,
                    (Some(from), Some(length)) => {
                        self.clause(", ", Some(from))?;
                        self.clause(", ", Some(length))?;
                    }
                }
                self.put(")");
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                self.trim(trim_where.as_ref(), trim_what.as_deref(), expr, trim_characters.as_deref())?;
            }
            Expr::Overlay { .. } => return Err(Error::unsupported("OVERLAY")),
            Expr::Nested(inner) => {
                self.enclosed("(", ")", |p| p.expr(inner))?;
            }
            Expr::Value(value) => self.value(&value.value)?,
            Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax }) => {
                absent(!uses_odbc_syntax, "{d '…'}")?;
                self.put("CAST(");
                self.value(&value.value)?;
                self.put(" AS ");
                self.data_type(data_type)?;
                self.put(")");
            }
            Expr::Function(function) => self.function(function)?,
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())?;
            }
            Expr::Exists { subquery, negated } => {
                self.put(if *negated { "NOT EXISTS " } else { "EXISTS " });
                self.bracketed_query(subquery)?;
            }
            Expr::Subquery(query) => self.bracketed_query(query)?,
            Expr::GroupingSets(sets) => self.sets("GROUPING SETS (", sets)?,
            Expr::Cube(sets) => self.sets("CUBE (", sets)?,
            Expr::Rollup(sets) => self.sets("ROLLUP (", sets)?,
            Expr::Tuple(items) => {
                self.enclosed("(", ")", |p| p.list(items, Self::expr))?;
            }
            Expr::Dictionary(fields) => {
                // the engine has no struct without members
                absent(!fields.is_empty() || self.style != Style::Engine, "{ } without members")?;
                self.put("{");
                self.list(fields, |p, DictionaryField { key, value }| {
                    p.field_key(&key.value);
                    p.put(": ");
                    p.expr(value)
                })?;
                self.put("}");
            }
            Expr::Map(Map { entries }) => {
                self.enclosed("MAP {", "}", |p| {
                    p.list(entries, |p, MapEntry { key, value }| p.infix(key, ": ", value))
                })?;
            }
            Expr::Array(Array { elem, named: _ }) => {
                self.enclosed("[", "]", |p| p.list(elem, Self::expr))?;
            }
            Expr::Interval(interval) => self.interval(interval)?,
            Expr::Lambda(lambda) => self.lambda(lambda)?,
            Expr::Collate { expr, collation } => {
                self.put("(");
                self.operand(expr)?;
                self.put(collated(collation)?);
                self.put(")");
            }
            Expr::IsJson { .. } => return Err(Error::unsupported("IS JSON")),
            Expr::IsNormalized { .. } => return Err(Error::unsupported("IS NORMALIZED")),
            Expr::InUnnest { .. } => return Err(Error::unsupported("IN UNNEST")),
            Expr::Convert { .. } => return Err(Error::unsupported("CONVERT")),
            Expr::Prefixed { .. } => return Err(Error::unsupported("a prefixed literal")),
            Expr::Struct { .. } => return Err(Error::unsupported("STRUCT(…)")),
            Expr::Named { .. } => return Err(Error::unsupported("a named expression")),
            Expr::MatchAgainst { .. } => return Err(Error::unsupported("MATCH AGAINST")),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => {
                return Err(Error::unsupported("* as an expression"));
            }
            Expr::OuterJoin(_) => return Err(Error::unsupported("the outer join operator (+)")),
            Expr::Prior(_) => return Err(Error::unsupported("PRIOR")),
            Expr::MemberOf(_) => return Err(Error::unsupported("MEMBER OF")),
        }
        Ok(())
    }

    fn access(&mut self, access: &AccessExpr) -> Result<(), Error> {
        match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => {
                self.put(".");
                self.ident(ident);
                Ok(())
            }
            AccessExpr::Dot(_) => Err(Error::unsupported("a method call")),
            AccessExpr::Subscript(Subscript::Index { index }) => self.enclosed("[", "]", |p| p.expr(index)),
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                absent(stride.is_none(), "the step of a slice")?;
                self.put("[");
                self.clause("", lower_bound.as_ref())?;
                self.put(":");
                self.clause("", upper_bound.as_ref())?;
                self.done("]")
            }
        }
    }

    fn json_access(&mut self, value: &Expr, path: &JsonPath) -> Result<(), Error> {
        self.warehouse_only("a:b")?;
        self.operand(value)?;
        let JsonPath { path } = path;
        for (i, elem) in path.iter().enumerate() {
            match elem {
                JsonPathElem::Dot { key, quoted: _ } => {
                    self.put(if i == 0 { ":" } else { "." });
                    crate::ast::quote::name_into(&mut self.out, key);
                }
                JsonPathElem::Bracket { key } | JsonPathElem::ColonBracket { key } => {
                    self.enclosed(if i == 0 { ":[" } else { "[" }, "]", |p| p.expr(key))?;
                }
            }
        }
        Ok(())
    }

    fn rounded(&mut self, open: &str, expr: &Expr, field: &CeilFloorKind) -> Result<(), Error> {
        self.put(open);
        self.expr(expr)?;
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {}
            CeilFloorKind::DateTimeField(_) => {
                return Err(Error::unsupported("CEIL and FLOOR with a unit"));
            }
            CeilFloorKind::Scale(digits) => {
                self.warehouse_only("CEIL and FLOOR to a number of digits")?;
                self.put(", ");
                self.value(&digits.value)?;
            }
        }
        self.done(")")
    }

    fn trim(
        &mut self,
        side: Option<&TrimWhereField>,
        what: Option<&Expr>,
        expr: &Expr,
        characters: Option<&[Expr]>,
    ) -> Result<(), Error> {
        self.put(match side {
            None | Some(TrimWhereField::Both) => "trim(",
            Some(TrimWhereField::Leading) => "ltrim(",
            Some(TrimWhereField::Trailing) => "rtrim(",
        });
        self.expr(expr)?;
        self.clause(", ", what)?;
        for character in characters.unwrap_or_default() {
            self.clause(", ", Some(character))?;
        }
        self.done(")")
    }

    fn case(&mut self, operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> Result<(), Error> {
        self.put("CASE");
        self.clause(" ", operand)?;
        for CaseWhen { condition, result } in conditions {
            self.clause(" WHEN ", Some(condition))?;
            self.clause(" THEN ", Some(result))?;
        }
        self.clause(" ELSE ", otherwise)?;
        self.done(" END")
    }

    fn sets(&mut self, open: &str, sets: &[Vec<Expr>]) -> Result<(), Error> {
        self.put(open);
        self.list(sets, |p, set| p.enclosed("(", ")", |p| p.list(set, Self::expr)))?;
        self.done(")")
    }

    /// A key of a struct: a name, never a literal to hide.
    fn field_key(&mut self, key: &str) {
        if self.style == Style::Engine {
            crate::ast::quote::text_into(&mut self.out, key);
        } else {
            crate::ast::quote::name_into(&mut self.out, key);
        }
    }

    fn lambda(&mut self, lambda: &LambdaFunction) -> Result<(), Error> {
        let LambdaFunction { params, body, syntax } = lambda;
        let params = match params {
            OneOrManyWithParens::One(one) => std::slice::from_ref(one),
            OneOrManyWithParens::Many(many) => many.as_slice(),
        };
        match syntax {
            LambdaSyntax::Arrow | LambdaSyntax::LambdaKeyword => self.put("lambda "),
        }
        self.list(params, |p, LambdaFunctionParameter { name, data_type }| {
            p.ident(name);
            match data_type {
                None => Ok(()),
                Some(data_type) => {
                    p.warehouse_only("a type of a lambda's parameter")?;
                    p.put(" ");
                    p.data_type(data_type)
                }
            }
        })?;
        self.put(": ");
        self.operand(body)
    }
}

/// The engine's collation: without regard to case, or to accents too; any other is refused.
fn collated(collation: &sqlparser::ast::ObjectName) -> Result<&'static str, Error> {
    let written = crate::ast::names::single(collation).map_or("", |name| name.value.as_str());
    Ok(match written.to_ascii_lowercase().as_str() {
        "" | "utf8" => "",
        "en-ci" | "nocase" => " COLLATE \"nocase\"",
        "en-ci-ai" | "en-ai-ci" | "nocase.noaccent" => " COLLATE \"nocase.noaccent\"",
        _ => return Err(Error::unsupported(format!("COLLATE '{written}'"))),
    })
}
