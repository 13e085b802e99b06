//! Whether a statement can fail on a value, and whether the engine's plan decides if it does, or what is answered.
//!
//! Only what the answer is made of at last is evaluated for the same rows under every plan. A condition, and what a
//! condition or a join reads, is evaluated before or after other rows have been left out, as the plan has it; and the
//! plan follows the sizes of tables, in which hidden rows count.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Select, SelectItem, visit_expressions};

use super::Walk;

#[derive(Debug, Default, Clone, Copy)]
pub(in super::super) struct Failing {
    pub can_throw: bool,
    /// Something that can stands where the plan decides for which rows it is evaluated, or the answer follows the
    /// order that rows come in.
    pub(super) by_plan: bool,
    /// Rows of several tables meet, so that there are plans to choose from.
    pub(super) meets: bool,
}

impl Failing {
    pub(in super::super) fn follows_plan(self) -> bool {
        self.by_plan && self.meets
    }
}

impl Walk<'_> {
    /// Walks what stands, if it is so, where the plan decides.
    pub(super) fn early<T>(&mut self, is_so: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.early;
        self.early |= is_so;
        let found = walk(self);
        self.early = before;
        found
    }

    pub(super) fn throws(&mut self, can_throw: bool) {
        self.found.failing.can_throw |= can_throw;
        self.found.failing.by_plan |= can_throw && self.early;
    }
}

/// Whether a condition names what the select list defines, which is then evaluated with the condition.
pub(super) fn names_an_alias(select: &Select) -> bool {
    let defines = |ident: &Ident| {
        select.projection.iter().any(|item| {
            matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value.eq_ignore_ascii_case(&ident.value))
        })
    };
    let conditions = [&select.selection, &select.having, &select.qualify];
    conditions.into_iter().flatten().any(|condition| {
        let found = visit_expressions(condition, |expr| match expr {
            Expr::Identifier(ident) if defines(ident) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    })
}
