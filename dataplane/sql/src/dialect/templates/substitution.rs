//! A template's body with the arguments of a call in the place of its parameters.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Array, CaseWhen, DictionaryField, Expr, Function, FunctionArgumentList, FunctionArguments, Ident,
    LambdaFunction, Subscript, VisitorMut,
};

use super::FunctionTemplate;
use crate::ast::VisitMut;
use crate::ast::call::{argument, arguments, plain, take_expr};
use crate::dialect::compose::is_call_of;

pub(super) struct ArgumentSubstitution<'a> {
    pub template: &'a FunctionTemplate,
    /// Taken where their parameter stands once.
    pub args: &'a mut [Expr],
    /// Which arguments are variants, so need no `to_json`.
    pub variants: Vec<bool>,
}

impl ArgumentSubstitution<'_> {
    /// A part of the body with the arguments in it. It is made while it is copied; of what seldom stands in a body the
    /// copy is changed.
    #[recursive::recursive]
    pub(super) fn filled(&mut self, part: &Expr) -> Expr {
        if let Some(argument) = self.place(part).or_else(|| self.needless(part)).and_then(|at| self.argument(at)) {
            return argument;
        }
        match part {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => part.clone(),
            Expr::Function(function) if is_plain(function) => Expr::Function(self.call(function)),
            Expr::BinaryOp { left, op, right } => {
                Expr::BinaryOp { left: self.boxed(left), op: op.clone(), right: self.boxed(right) }
            }
            Expr::UnaryOp { op, expr } => Expr::UnaryOp { op: *op, expr: self.boxed(expr) },
            Expr::Nested(inner) => Expr::Nested(self.boxed(inner)),
            Expr::IsNull(inner) => Expr::IsNull(self.boxed(inner)),
            Expr::IsNotNull(inner) => Expr::IsNotNull(self.boxed(inner)),
            Expr::InList { expr, list, negated } => {
                Expr::InList { expr: self.boxed(expr), list: self.each(list), negated: *negated }
            }
            Expr::Cast { kind, expr, data_type, format } => Expr::Cast {
                kind: kind.clone(),
                expr: self.boxed(expr),
                data_type: data_type.clone(),
                format: format.clone(),
            },
            Expr::Case { case_token, end_token, operand, conditions, else_result } => Expr::Case {
                case_token: case_token.clone(),
                end_token: end_token.clone(),
                operand: operand.as_ref().map(|operand| self.boxed(operand)),
                conditions: conditions.iter().map(|arm| self.arm(arm)).collect(),
                else_result: else_result.as_ref().map(|otherwise| self.boxed(otherwise)),
            },
            Expr::Lambda(LambdaFunction { params, body, syntax }) => {
                Expr::Lambda(LambdaFunction { params: params.clone(), body: self.boxed(body), syntax: *syntax })
            }
            Expr::CompoundFieldAccess { root, access_chain } => Expr::CompoundFieldAccess {
                root: self.boxed(root),
                access_chain: access_chain.iter().map(|access| self.access(access)).collect(),
            },
            Expr::Array(Array { elem, named }) => Expr::Array(Array { elem: self.each(elem), named: *named }),
            Expr::Dictionary(fields) => Expr::Dictionary(fields.iter().map(|field| self.field(field)).collect()),
            other => {
                let mut copy = other.clone();
                let ControlFlow::Continue(()) = VisitMut::visit(&mut copy, self);
                copy
            }
        }
    }

    fn boxed(&mut self, part: &Expr) -> Box<Expr> {
        Box::new(self.filled(part))
    }

    fn each(&mut self, parts: &[Expr]) -> Vec<Expr> {
        parts.iter().map(|part| self.filled(part)).collect()
    }

    fn arm(&mut self, CaseWhen { condition, result }: &CaseWhen) -> CaseWhen {
        CaseWhen { condition: self.filled(condition), result: self.filled(result) }
    }

    fn field(&mut self, DictionaryField { key, value }: &DictionaryField) -> DictionaryField {
        DictionaryField { key: key.clone(), value: self.boxed(value) }
    }

    fn access(&mut self, access: &AccessExpr) -> AccessExpr {
        match access {
            AccessExpr::Dot(field) => AccessExpr::Dot(self.filled(field)),
            AccessExpr::Subscript(Subscript::Index { index }) => {
                AccessExpr::Subscript(Subscript::Index { index: self.filled(index) })
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound: lower_bound.as_ref().map(|bound| self.filled(bound)),
                    upper_bound: upper_bound.as_ref().map(|bound| self.filled(bound)),
                    stride: stride.as_ref().map(|stride| self.filled(stride)),
                })
            }
        }
    }

    /// A call that has nothing but positional arguments.
    fn call(&mut self, function: &Function) -> Function {
        let args = arguments(function).map(|part| argument(self.filled(part))).collect();
        let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
        Function {
            name: function.name.clone(),
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            within_group: Vec::new(),
            filter: None,
            null_treatment: None,
            over: None,
        }
    }

    /// The place of the parameter that it is.
    fn place(&self, part: &Expr) -> Option<usize> {
        let Expr::Identifier(Ident { value, .. }) = part else { return None };
        self.template.parameters.iter().position(|parameter| parameter == value)
    }

    /// The place of the parameter in `to_json(parameter)`, where that is a variant: it is what the call makes of it.
    fn needless(&self, part: &Expr) -> Option<usize> {
        let Expr::Function(function) = part else { return None };
        if self.variants.is_empty() || !is_call_of(function, "to_json") {
            return None;
        }
        let at = self.place(arguments(function).next()?)?;
        self.variants.get(at).copied().unwrap_or(false).then_some(at)
    }

    fn argument(&mut self, at: usize) -> Option<Expr> {
        let is_once = self.template.uses.get(at) == Some(&1);
        self.args.get_mut(at).map(|argument| if is_once { take_expr(argument) } else { argument.clone() })
    }
}

impl VisitorMut for ArgumentSubstitution<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(parameter) = self.needless(expr).and_then(|at| self.template.parameters.get(at)) {
            *expr = Expr::Identifier(Ident::new(parameter));
        }
        ControlFlow::Continue(())
    }

    /// Leaves first, so that what was put in is not looked through again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(argument) = self.place(expr).and_then(|at| self.argument(at)) {
            *expr = argument;
        }
        ControlFlow::Continue(())
    }
}

/// Whether a call has nothing but positional arguments.
fn is_plain(function: &Function) -> bool {
    let Function { name: _, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment, over } = function;
    let FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }) = args else {
        return false;
    };
    !uses_odbc_syntax
        && matches!(parameters, FunctionArguments::None)
        && within_group.is_empty()
        && filter.is_none()
        && null_treatment.is_none()
        && over.is_none()
        && duplicate_treatment.is_none()
        && clauses.is_empty()
        && args.iter().all(|argument| plain(argument).is_some())
}
