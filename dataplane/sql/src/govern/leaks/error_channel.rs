//! Whether a statement can fail on a value, and whether the engine's plan decides if it does, or what is answered.
//!
//! Only what the answer is made of at last is evaluated for the same rows under every plan. A condition, and what a
//! condition or a join reads, is evaluated before or after other rows have been left out, as the plan has it; and the
//! plan follows the sizes of tables, in which hidden rows count.

use std::collections::HashSet;

use sqlparser::ast::{Expr, Ident, Select, SelectItem};

use crate::ast::any_expression;
use crate::govern::lineage::LineageWalk;

/// By what a statement fails, as far as the class of the error goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::govern) enum ErrorClass {
    /// A cast to a type of which no other class of error is known.
    Cast,
    Other,
}

#[derive(Debug, Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is found by itself, and they go together in every way")]
pub(in crate::govern) struct ErrorChannel {
    pub can_throw: bool,
    /// Errors of several classes are possible: of the engine's threads one comes first, or another.
    pub in_several_ways: bool,
    /// The one way that has been found.
    way: Option<ErrorClass>,
    /// Something that can stands where the plan decides for which rows it is evaluated, or it cuts rows off as they
    /// come: those of one table come in their order, whatever is hidden among them.
    pub(in crate::govern) by_plan: bool,
    /// The answer follows in which order rows meet, and in which parts: those of one table are read in parts by
    /// several threads, and hidden ones fill these too.
    pub(in crate::govern) by_order: bool,
    /// Rows of several tables meet, so that there are plans to choose from.
    pub(in crate::govern) meets: bool,
    /// Rows are cut off by their number. The engine stops where it has enough, after so many rows with the hidden ones
    /// among them, and leaves out parts of a table that can hold none of the first: what fails behind it is met or not.
    pub(super) cuts: bool,
}

impl ErrorChannel {
    pub(in crate::govern) fn follows_plan(self) -> bool {
        self.by_order || self.by_plan && self.meets || self.cuts && self.can_throw
    }
}

impl LineageWalk<'_> {
    /// Walks what stands, if it is so, where the plan decides.
    pub(in crate::govern) fn early<T>(&mut self, is_so: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.early;
        self.early |= is_so;
        let found = walk(self);
        self.early = before;
        found
    }

    pub(in crate::govern) fn throws(&mut self, can_throw: bool) {
        if can_throw {
            self.fails(ErrorClass::Other);
        }
    }

    pub(in crate::govern) fn fails(&mut self, way: ErrorClass) {
        let failing = &mut self.found.failing;
        failing.can_throw = true;
        failing.by_plan |= self.early;
        let before = failing.way.replace(way);
        failing.in_several_ways |= before.is_some_and(|before| (before, way) != (ErrorClass::Cast, ErrorClass::Cast));
    }
}

/// Whether a condition names what the select list defines, which is then evaluated with the condition.
pub(in crate::govern) fn names_an_alias(select: &Select) -> bool {
    let defined = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_ascii_lowercase()),
        _ => None,
    };
    let aliases: HashSet<String> = select.projection.iter().filter_map(defined).collect();
    if aliases.is_empty() {
        return false;
    }
    let is_one = |ident: &Ident| aliases.contains(&ident.value.to_ascii_lowercase());
    let conditions = [&select.selection, &select.having, &select.qualify];
    conditions
        .into_iter()
        .flatten()
        .any(|condition| any_expression(condition, |expr| matches!(expr, Expr::Identifier(ident) if is_one(ident))))
}
