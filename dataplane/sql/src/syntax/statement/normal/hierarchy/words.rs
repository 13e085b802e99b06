//! The words of a hierarchy in the select around it: LEVEL, `PRIOR`, `CONNECT_BY_ROOT`, `SYS_CONNECT_BY_PATH`.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, Ident, OrderBy, Select, SelectItem,
};

use super::below::Below;
use super::{binary, is_word, of_parent, own, parent};
use crate::ast::call::{call, listed};
use crate::ast::error::Error;
use crate::ast::expression::as_text;
use crate::ast::names::ours::{self, LEVEL};
use crate::ast::outside::Outside;
use crate::ast::{VisitMut, flow_of, names, outer_first, result_of};

/// A column the recursion carries: its name, its value at a root, its value below.
pub(super) struct Carried {
    pub(super) name: String,
    pub(super) root: Expr,
    pub(super) below: Expr,
}

/// The expressions that stand for the words of a hierarchy in the select around it.
pub(super) struct Tree {
    alias: Ident,
    pub(super) made: Vec<Carried>,
    pub(super) below: Below,
}

impl Tree {
    pub(super) fn new(alias: Ident) -> Self {
        Self { alias, made: Vec::new(), below: Below::default() }
    }

    fn carry(&mut self, root: Expr, below: impl FnOnce(&str) -> Expr) -> Expr {
        let name = ours::carried(self.made.len() + 1);
        let below = below(&name);
        self.made.push(Carried { name: name.clone(), root, below });
        Expr::CompoundIdentifier(vec![self.alias.clone(), names::quoted(&name)])
    }

    /// `SYS_CONNECT_BY_PATH(x, separator)`.
    fn path(&mut self, function: &Function) -> Result<Expr, Error> {
        let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(separator)),
        ] = listed(function)
        else {
            return Err(Error::unsupported("SYS_CONNECT_BY_PATH without its two arguments"));
        };
        let text = as_text(own(value.clone(), &self.alias));
        let step = binary(separator.clone(), BinaryOperator::StringConcat, text);
        Ok(self.carry(step.clone(), |name| binary(parent(&names::quoted(name)), BinaryOperator::StringConcat, step)))
    }

    fn replace(&mut self, expr: &mut Expr) -> Result<(), Error> {
        if let Expr::Identifier(ident) = expr
            && let Some(column) = self.below.asked(ident)
        {
            *expr = Expr::CompoundIdentifier(vec![self.alias.clone(), names::quoted(column)]);
            return Ok(());
        }
        let made = match expr {
            Expr::Identifier(ident) if is_word(ident, "level") => {
                Expr::CompoundIdentifier(vec![self.alias.clone(), names::quoted(LEVEL)])
            }
            Expr::Prefixed { prefix, value } if is_word(prefix, "connect_by_root") => {
                let root = own(value.as_ref().clone(), &self.alias);
                self.carry(root, |name| parent(&names::quoted(name)))
            }
            Expr::Prior(value) => {
                let mut above = value.as_ref().clone();
                of_parent(&mut above)?;
                let here = own(value.as_ref().clone(), &self.alias);
                // NULL of the right type at a root
                self.carry(call("nullif", [here.clone(), here]), |_| above)
            }
            Expr::Function(function)
                if names::single(&function.name).is_some_and(|name| is_word(name, "sys_connect_by_path")) =>
            {
                self.path(function)?
            }
            _ => return Ok(()),
        };
        *expr = made;
        Ok(())
    }
}

/// Everything of the query but FROM; of the queries in it the words are their own.
pub(super) fn over_outputs(select: &mut Select, order: Option<&mut OrderBy>, tree: &mut Tree) -> Result<(), Error> {
    select.projection.iter_mut().for_each(keep_name);
    let mut words = outer_first(|expr| flow_of(tree.replace(expr)));
    let words = &mut Outside::of(&mut words);
    result_of(select.projection.visit(words))?;
    if let Some(order) = order {
        result_of(order.visit(words))?;
    }
    for part in [&mut select.selection, &mut select.having, &mut select.qualify] {
        result_of(part.visit(words))?;
    }
    result_of(select.group_by.visit(words))
}

/// A column that is a word of the hierarchy is called by the word. `PRIOR x` without a name is, to the parser crate,
/// a column `PRIOR` that is called `x`.
fn keep_name(item: &mut SelectItem) {
    const WORDS: [&str; 3] = ["level", "connect_by_isleaf", "connect_by_iscycle"];
    if let SelectItem::ExprWithAlias { expr: Expr::Identifier(ident), alias } = item
        && is_word(ident, "prior")
    {
        let expr = Expr::Prior(Box::new(Expr::Identifier(alias.clone())));
        *item = SelectItem::ExprWithAlias { expr, alias: names::quoted(&format!("{} {}", ident.value, alias.value)) };
        return;
    }
    if let SelectItem::UnnamedExpr(Expr::Identifier(ident)) = item
        && WORDS.iter().any(|word| is_word(ident, word))
    {
        let alias = names::quoted(&ident.value);
        *item = SelectItem::ExprWithAlias { expr: Expr::Identifier(ident.clone()), alias };
    }
}
