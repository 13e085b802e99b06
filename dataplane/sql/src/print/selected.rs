//! Printing of a select list, with the columns that `*` leaves out, replaces and renames.

use sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, IdentWithAlias, ObjectName, RenameSelectItem, ReplaceSelectElement,
    ReplaceSelectItem, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::{Printer, absent};
use crate::ast::error::Error;

impl Printer<'_> {
    pub(super) fn select_item(&mut self, item: &SelectItem) -> Result<(), Error> {
        match item {
            SelectItem::UnnamedExpr(expr) => self.expr(expr),
            SelectItem::ExprWithAlias { expr, alias } => {
                self.expr(expr)?;
                self.put(" AS ");
                self.ident(alias);
                Ok(())
            }
            SelectItem::ExprWithAliases { .. } => Err(Error::unsupported("several aliases of one expression")),
            SelectItem::QualifiedWildcard(kind, options) => {
                match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(name) => self.name(name)?,
                    SelectItemQualifiedWildcardKind::Expr(_) => {
                        return Err(Error::unsupported(".* of an expression"));
                    }
                }
                self.put(".*");
                self.wildcard_options(options)
            }
            SelectItem::Wildcard(options) => {
                self.put("*");
                self.wildcard_options(options)
            }
        }
    }

    fn wildcard_options(&mut self, options: &WildcardAdditionalOptions) -> Result<(), Error> {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        absent(opt_alias.is_none(), "an alias of *")?;
        if let Some(ilike) = opt_ilike {
            self.put(" ILIKE ");
            self.text(&ilike.pattern);
        }
        match opt_exclude {
            None => {}
            Some(ExcludeSelectItem::Single(name)) => self.excluded(std::slice::from_ref(name))?,
            Some(ExcludeSelectItem::Multiple(names)) => self.excluded(names)?,
        }
        if let Some(ExceptSelectItem { first_element, additional_elements }) = opt_except {
            self.put(" EXCLUDE (");
            self.ident(first_element);
            for ident in additional_elements {
                self.put(", ");
                self.ident(ident);
            }
            self.put(")");
        }
        if let Some(ReplaceSelectItem { items }) = opt_replace {
            self.put(" REPLACE (");
            self.list(items, |p, item| {
                let ReplaceSelectElement { expr, column_name, as_keyword: _ } = item.as_ref();
                p.expr(expr)?;
                p.put(" AS ");
                p.ident(column_name);
                Ok(())
            })?;
            self.put(")");
        }
        match opt_rename {
            None => Ok(()),
            Some(RenameSelectItem::Single(one)) => self.renamed(std::slice::from_ref(one)),
            Some(RenameSelectItem::Multiple(many)) => self.renamed(many),
        }
    }

    fn excluded(&mut self, names: &[ObjectName]) -> Result<(), Error> {
        self.enclosed(" EXCLUDE (", ")", |p| p.list(names, Self::name))
    }

    fn renamed(&mut self, items: &[IdentWithAlias]) -> Result<(), Error> {
        self.put(" RENAME (");
        self.list(items, |p, IdentWithAlias { ident, alias }| {
            p.ident(ident);
            p.put(" AS ");
            p.ident(alias);
            Ok(())
        })?;
        self.done(")")
    }
}
