//! Calls of functions: arguments, what orders and filters them, windows.

use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, NullTreatment, WildcardAdditionalOptions, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

use super::{Printer, Style, absent};
use crate::ast::error::Error;
use crate::functions::catalogue::{self, CallClause, FunctionKind};

/// Whether the engine has what stands behind the arguments of this function.
fn takes(function: &Function) -> Result<(), Error> {
    let has_treatment = match &function.args {
        FunctionArguments::List(list) => {
            list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_)))
        }
        _ => false,
    };
    let treats = function.null_treatment.is_some() || has_treatment;
    if !treats && function.within_group.is_empty() && function.filter.is_none() {
        return Ok(());
    }
    let known = crate::ast::names::last(&function.name).and_then(|name| catalogue::find(&name.value));
    let has = |clause: CallClause| known.is_some_and(|known| known.clauses.contains(&clause));
    absent(
        !treats || function.over.is_some() && has(CallClause::NullTreatment),
        "IGNORE and RESPECT NULLS of this call",
    )?;
    absent(function.within_group.is_empty() || has(CallClause::WithinGroup), "WITHIN GROUP of this call")?;
    let aggregates = known.is_some_and(|known| known.is(FunctionKind::Aggregate));
    absent(function.filter.is_none() || aggregates, "FILTER of this call")
}

impl Printer<'_> {
    pub(super) fn function(&mut self, function: &Function) -> Result<(), Error> {
        let Function { name, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment, over } =
            function;
        absent(!uses_odbc_syntax, "{fn …}")?;
        if self.asked_among(function)? {
            return Ok(());
        }
        absent(matches!(parameters, FunctionArguments::None), "parameters before the arguments of a function")?;
        if self.style == Style::Engine {
            takes(function)?;
        }
        self.function_name(name)?;
        match args {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(query) => {
                self.enclosed("(", ")", |p| p.bracketed_query(query))?;
            }
            FunctionArguments::List(list) => self.arguments(list, *null_treatment)?,
        }
        if !within_group.is_empty() {
            self.enclosed(" WITHIN GROUP (ORDER BY ", ")", |p| p.order_by_exprs(within_group))?;
        }
        if let Some(filter) = filter {
            self.enclosed(" FILTER (WHERE ", ")", |p| p.expr(filter))?;
        }
        match over {
            None => Ok(()),
            Some(WindowType::NamedWindow(name)) => {
                self.put(" OVER ");
                self.ident(name);
                Ok(())
            }
            Some(WindowType::WindowSpec(spec)) => {
                self.put(" OVER ");
                self.window_spec(spec)
            }
        }
    }

    /// Bare where it can be: some names are grammar, not catalog (`coalesce`, `left`).
    pub(super) fn function_name(&mut self, name: &sqlparser::ast::ObjectName) -> Result<(), Error> {
        if self.style == Style::Engine
            && let Some(ident) = crate::ast::names::single(name)
            && ident.value.is_ascii()
            && crate::ast::quote::is_plain(&ident.value)
        {
            let begin = self.out.len();
            self.out.push_str(&ident.value);
            if let Some(name) = self.out.get_mut(begin..) {
                name.make_ascii_lowercase();
            }
            return Ok(());
        }
        self.name(name)
    }

    fn arguments(&mut self, list: &FunctionArgumentList, treatment: Option<NullTreatment>) -> Result<(), Error> {
        let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
        self.put("(");
        match duplicate_treatment {
            None => {}
            Some(DuplicateTreatment::Distinct) => self.put("DISTINCT "),
            Some(DuplicateTreatment::All) => self.put("ALL "),
        }
        self.list(args, Self::argument)?;
        let mut nulls = treatment;
        for clause in clauses {
            match clause {
                FunctionArgumentClause::OrderBy(exprs) => {
                    self.put(" ORDER BY ");
                    self.order_by_exprs(exprs)?;
                }
                FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => nulls = Some(*treatment),
                FunctionArgumentClause::Where(_) => {
                    return Err(Error::unsupported("WHERE in arguments"));
                }
                FunctionArgumentClause::Limit(_) => {
                    return Err(Error::unsupported("LIMIT in arguments"));
                }
                FunctionArgumentClause::OnOverflow(_) => {
                    return Err(Error::unsupported("ON OVERFLOW"));
                }
                FunctionArgumentClause::Having(_) => {
                    return Err(Error::unsupported("HAVING in arguments"));
                }
                FunctionArgumentClause::Separator(_) => {
                    return Err(Error::unsupported("SEPARATOR"));
                }
                FunctionArgumentClause::JsonNullClause(_) | FunctionArgumentClause::JsonReturningClause(_) => {
                    return Err(Error::unsupported("a JSON clause in arguments"));
                }
            }
        }
        self.put(match nulls {
            None => "",
            Some(NullTreatment::IgnoreNulls) => " IGNORE NULLS",
            Some(NullTreatment::RespectNulls) => " RESPECT NULLS",
        });
        self.done(")")
    }

    pub(super) fn argument(&mut self, argument: &FunctionArg) -> Result<(), Error> {
        match argument {
            FunctionArg::Unnamed(arg) => self.argument_value(arg),
            FunctionArg::Named { name, arg, operator } => {
                self.ident(name);
                self.put(match operator {
                    FunctionArgOperator::Assignment => " := ",
                    FunctionArgOperator::RightArrow => " => ",
                    FunctionArgOperator::Equals => " = ",
                    _ => return Err(Error::unsupported("this form of named argument")),
                });
                self.argument_value(arg)
            }
            FunctionArg::ExprNamed { .. } => Err(Error::unsupported("an argument named by an expression")),
        }
    }

    fn argument_value(&mut self, argument: &FunctionArgExpr) -> Result<(), Error> {
        match argument {
            FunctionArgExpr::Expr(expr) => self.expr(expr),
            FunctionArgExpr::Wildcard => self.done("*"),
            FunctionArgExpr::QualifiedWildcard(_) => Err(Error::unsupported("t.* as an argument")),
            FunctionArgExpr::WildcardWithOptions(WildcardAdditionalOptions { .. }) => {
                Err(Error::unsupported("* with options as an argument"))
            }
        }
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec) -> Result<(), Error> {
        let WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
        self.put("(");
        if let Some(name) = window_name {
            self.ident(name);
        }
        if !partition_by.is_empty() {
            self.put(" PARTITION BY ");
            self.list(partition_by, Self::expr)?;
        }
        if !order_by.is_empty() {
            self.put(" ORDER BY ");
            self.order_by_exprs(order_by)?;
        }
        if let Some(WindowFrame { units, start_bound, end_bound }) = window_frame {
            self.put(match units {
                WindowFrameUnits::Rows => " ROWS ",
                WindowFrameUnits::Range => " RANGE ",
                WindowFrameUnits::Groups => " GROUPS ",
            });
            if let Some(end_bound) = end_bound {
                self.put("BETWEEN ");
                self.bound(start_bound)?;
                self.put(" AND ");
                self.bound(end_bound)?;
            } else {
                self.bound(start_bound)?;
            }
        }
        self.done(")")
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> Result<(), Error> {
        let (rows, word) = match bound {
            WindowFrameBound::CurrentRow => return self.done("CURRENT ROW"),
            WindowFrameBound::Preceding(rows) => (rows, " PRECEDING"),
            WindowFrameBound::Following(rows) => (rows, " FOLLOWING"),
        };
        match rows {
            None => self.put("UNBOUNDED"),
            Some(rows) => self.operand(rows)?,
        }
        self.done(word)
    }
}
