//! Forms of names that are rewritten before names are bound, each by a walk of its own. Few statements have any.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableFactor, Visitor};

use crate::ast::Visit;

/// Which of the forms stand in a statement.
#[derive(Debug, Default)]
pub(super) struct NameForms {
    /// A call in FROM.
    pub calls: bool,
    /// Columns behind a path of several parts.
    pub paths: bool,
}

impl NameForms {
    /// Whether a text may have one: a call has a bracket, and a path of three parts two dots. What a variable stands for is a
    /// literal, and a statement of our own may have no text.
    pub fn may_have(text: &str) -> bool {
        text.is_empty() || text.contains('(') || text.bytes().filter(|byte| *byte == b'.').nth(1).is_some()
    }

    pub fn of(tree: &Statement) -> Self {
        let mut forms = Self::default();
        let _: ControlFlow<()> = tree.visit(&mut forms);
        forms
    }
}

impl Visitor for NameForms {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.calls |= matches!(factor, TableFactor::Table { args: Some(_), .. });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.paths |= matches!(expr, Expr::CompoundIdentifier(path) if path.len() > 2);
        ControlFlow::Continue(())
    }

    /// `schema.table.*` names all columns.
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.paths |= select.projection.iter().any(|item| match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => name.0.len() > 1,
            _ => false,
        });
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_brackets_and_two_dots_has_no_form() {
        let forms = |text: &str| {
            let forms = NameForms::of(crate::parse(text).expect(text).tree());
            assert!(NameForms::may_have(text) || !forms.calls && !forms.paths, "{text}");
            [forms.calls, forms.paths]
        };
        for (text, calls, paths) in [
            ("SELECT * FROM upper('x') u", true, false),
            ("SELECT (SELECT max(a) FROM range(3) r(a))", true, false),
            ("SELECT main.t.a FROM t", false, true),
            ("SELECT 1 FROM t WHERE a IN (SELECT demo.main.t.a FROM t)", false, true),
            ("SELECT main.t.* FROM t", false, true),
            ("SELECT upper(t.a), t.* FROM main.t, (SELECT 1) u", false, false),
            ("SELECT t.a FROM t ORDER BY a", false, false),
        ] {
            assert_eq!(forms(text), [calls, paths], "{text}");
        }
    }
}
