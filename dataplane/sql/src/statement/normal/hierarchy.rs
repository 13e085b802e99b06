//! `START WITH … CONNECT BY …` as a recursive WITH query, before anything is bound.
//!
//! `FROM t START WITH s CONNECT BY c` becomes `FROM (WITH RECURSIVE "_hierarchy" AS (SELECT t.*, 1 AS "_level"
//! FROM t WHERE s UNION ALL SELECT t.*, "_hierarchy"."_level" + 1 FROM t JOIN "_hierarchy" ON c) SELECT * FROM
//! "_hierarchy") AS t`: WHERE is asked of the finished tree, as the warehouse has it. `PRIOR x` is the column of
//! the parent.

mod below;
mod cycles;

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, ConnectByKind, DataType, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, OrderBy, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor,
    TableWithJoins, VisitMut, Visitor, VisitorMut, WildcardAdditionalOptions,
};

use crate::call::call;
use crate::error::{Error, Kind};
use crate::names;

use below::Below;
pub use cycles::CYCLE;
use cycles::{Cycles, PATH};

const NAME: &str = "_hierarchy";
const LEVEL: &str = "_level";

/// What a hierarchy reads is written several times, so that each one inside of another multiplies.
const NESTED_MAX: usize = 1;
/// Conditions of one CONNECT BY, which become a chain.
const CONDITIONS_MAX: usize = 100;

/// How many hierarchies stand in what is read.
fn hierarchies(from: &[TableWithJoins]) -> usize {
    struct Count(usize);
    impl Visitor for Count {
        type Break = ();
        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            self.0 += usize::from(!select.connect_by.is_empty());
            ControlFlow::Continue(())
        }
    }
    let mut count = Count(0);
    for table in from {
        let _: ControlFlow<()> = sqlparser::ast::Visit::visit(table, &mut count);
    }
    count.0
}

/// Rewrites the query's select, if it has the clause, with the query's ORDER BY.
pub(super) fn ordered(query: &mut Query) -> Result<(), Error> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    rewritten(select, query.order_by.as_mut())
}

/// The same of a select that is no query's whole body.
pub(super) fn rewrite(select: &mut Select) -> Result<(), Error> {
    rewritten(select, None)
}

fn rewritten(select: &mut Select, order: Option<&mut OrderBy>) -> Result<(), Error> {
    if select.connect_by.is_empty() {
        return Ok(());
    }
    let Clauses { start, condition, nocycle } = clauses(std::mem::take(&mut select.connect_by))?;
    if hierarchies(&select.from) > NESTED_MAX {
        return Err(Error::new(Kind::TooDeep, "a CONNECT BY may have one other in what it reads"));
    }
    let [table] = select.from.as_mut_slice() else {
        return Err(Error::unsupported("CONNECT BY over several tables"));
    };
    if !table.joins.is_empty() {
        return Err(Error::unsupported("CONNECT BY over a join"));
    }
    let alias = alias_of(&mut table.relation)?;
    let mut tree = Tree { alias: alias.clone(), made: Vec::new(), below: Below::default(), depth: 0 };
    over_outputs(select, order, &mut tree)?;
    let Tree { made, below, .. } = tree;
    let [table] = select.from.as_mut_slice() else {
        return Err(Error::unsupported("CONNECT BY over several tables"));
    };
    let cycles = Cycles::of(&condition, &alias, nocycle);
    let condition = joined(condition, &alias)?;
    let mut query = recursive(&table.relation, &alias, start, &condition, &made, cycles.as_ref())?;
    below.look(&mut query, &table.relation, &condition, cycles.as_ref())?;
    let name = TableAlias { explicit: true, name: alias, columns: Vec::new(), at: None };
    table.relation =
        TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(name), sample: None };
    hide(&mut select.projection, &made, cycles.is_some(), &below);
    Ok(())
}

struct Clauses {
    start: Option<Expr>,
    condition: Expr,
    nocycle: bool,
}

fn clauses(kinds: Vec<ConnectByKind>) -> Result<Clauses, Error> {
    let (mut start, mut condition, mut ends) = (None, None, false);
    for kind in kinds {
        match kind {
            ConnectByKind::StartWith { condition, .. } => start = Some(*condition),
            ConnectByKind::ConnectBy { relationships, nocycle, .. } => {
                ends = nocycle;
                if relationships.len() > CONDITIONS_MAX {
                    return Err(Error::new(Kind::TooDeep, "a CONNECT BY may have 100 conditions"));
                }
                condition = relationships.into_iter().reduce(|one, next| binary(one, BinaryOperator::And, next));
            }
        }
    }
    let condition = condition.ok_or_else(|| Error::unsupported("START WITH without CONNECT BY"))?;
    Ok(Clauses { start, condition, nocycle: ends })
}

fn alias_of(factor: &mut TableFactor) -> Result<Ident, Error> {
    let (alias, named) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => (alias, names::last(name).cloned()),
        TableFactor::Derived { lateral: false, alias, .. } => (alias, Some(Ident::new("_rows"))),
        _ => return Err(Error::unsupported("CONNECT BY over something other than a table")),
    };
    if alias.is_none() {
        let name = named.ok_or_else(|| Error::unsupported("this form of table name"))?;
        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    alias.as_ref().map(|alias| alias.name.clone()).ok_or_else(|| Error::unsupported("CONNECT BY"))
}

/// A column the recursion carries: its name, its value at a root, its value below.
struct Carried {
    name: String,
    root: Expr,
    below: Expr,
}

/// What stands for the words of a hierarchy in the select around it.
struct Tree {
    alias: Ident,
    made: Vec<Carried>,
    below: Below,
    /// Queries inside of which the visitor is: their words are their own.
    depth: usize,
}

impl Tree {
    fn carry(&mut self, root: Expr, below: impl FnOnce(&str) -> Expr) -> Expr {
        let name = format!("_carried_{}", self.made.len() + 1);
        let below = below(&name);
        self.made.push(Carried { name: name.clone(), root, below });
        Expr::CompoundIdentifier(vec![self.alias.clone(), names::quoted(&name)])
    }

    /// `SYS_CONNECT_BY_PATH(x, separator)`.
    fn path(&mut self, function: &Function) -> Result<Expr, Error> {
        let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(separator)),
        ] = arguments(function)
        else {
            return Err(Error::unsupported("SYS_CONNECT_BY_PATH without its two arguments"));
        };
        let text = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(own(value.clone(), &self.alias)),
            data_type: DataType::Varchar(None),
            format: None,
        };
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

impl VisitorMut for Tree {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match self.replace(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Everything of the query but FROM.
fn over_outputs(select: &mut Select, order: Option<&mut OrderBy>, tree: &mut Tree) -> Result<(), Error> {
    select.projection.iter_mut().for_each(keep_name);
    let mut flow = select.projection.visit(tree);
    if let (Some(order), true) = (order, flow.is_continue()) {
        flow = order.visit(tree);
    }
    for part in [&mut select.selection, &mut select.having, &mut select.qualify] {
        if flow.is_continue() {
            flow = part.visit(tree);
        }
    }
    if flow.is_continue() {
        flow = select.group_by.visit(tree);
    }
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
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

fn recursive(
    table: &TableFactor,
    alias: &Ident,
    start: Option<Expr>,
    condition: &Expr,
    made: &[Carried],
    cycles: Option<&Cycles>,
) -> Result<Query, Error> {
    let condition = children(condition, cycles);
    let skeleton = format!(
        "WITH RECURSIVE \"{NAME}\" AS (SELECT 1 AS \"{LEVEL}\" FROM \"_t\" UNION ALL \
         SELECT \"{NAME}\".\"{LEVEL}\" + 1 AS \"{LEVEL}\" FROM \"_t\" JOIN \"{NAME}\" ON TRUE) SELECT * FROM \"{NAME}\""
    );
    let mut query = *crate::parse::query(&skeleton)?;
    let unexpected = || Error::unsupported("CONNECT BY");
    let cte = query.with.as_mut().and_then(|with| with.cte_tables.first_mut()).ok_or_else(unexpected)?;
    let SetExpr::SetOperation { left, right, .. } = cte.query.body.as_mut() else {
        return Err(unexpected());
    };
    let (SetExpr::Select(roots), SetExpr::Select(rows)) = (left.as_mut(), right.as_mut()) else {
        return Err(unexpected());
    };
    fill(roots, table, alias, made, |carried| &carried.root);
    fill(rows, table, alias, made, |carried| &carried.below);
    if let Some(cycles) = cycles {
        cycles.carry(roots, rows)?;
    }
    roots.selection = start;
    let join = rows.from.first_mut().and_then(|from| from.joins.first_mut()).ok_or_else(unexpected)?;
    join.join_operator = sqlparser::ast::JoinOperator::Join(sqlparser::ast::JoinConstraint::On(condition));
    Ok(query)
}

/// The condition of the columns of a parent and a row.
fn joined(mut condition: Expr, alias: &Ident) -> Result<Expr, Error> {
    let mut joined = Joined { alias: alias.clone(), depth: 0 };
    match condition.visit(&mut joined) {
        ControlFlow::Continue(()) => Ok(condition),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Which rows stand below their parent: with NOCYCLE, none that stands above it.
fn children(condition: &Expr, cycles: Option<&Cycles>) -> Expr {
    let Some(cycles) = cycles.filter(|cycles| cycles.nocycle) else {
        return condition.clone();
    };
    let unseen = Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(cycles.seen()) };
    binary(Expr::Nested(Box::new(condition.clone())), BinaryOperator::And, unseen)
}

/// `SELECT alias.*, <level>, <carried> … FROM table`.
fn fill(select: &mut Select, table: &TableFactor, alias: &Ident, made: &[Carried], of: impl Fn(&Carried) -> &Expr) {
    let all = sqlparser::ast::SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![alias.clone()]));
    select.projection.insert(0, SelectItem::QualifiedWildcard(all, WildcardAdditionalOptions::default()));
    select.projection.extend(
        made.iter().map(|carried| SelectItem::ExprWithAlias {
            expr: of(carried).clone(),
            alias: names::quoted(&carried.name),
        }),
    );
    if let Some(from) = select.from.first_mut() {
        from.relation = table.clone();
    }
}

/// Columns in the condition: those under PRIOR are the parent's, the others the table's.
struct Joined {
    alias: Ident,
    depth: usize,
}

impl VisitorMut for Joined {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        ControlFlow::Break(Error::unsupported("a subquery in CONNECT BY"))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Prior(_) => self.depth += 1,
            Expr::Identifier(ident) if is_word(ident, "level") && self.depth == 0 => {
                // the level of the row that would be added
                *expr = binary(parent(&names::quoted(LEVEL)), BinaryOperator::Plus, one());
            }
            Expr::Identifier(ident) if self.depth > 0 => *expr = parent(ident),
            Expr::Identifier(ident) => *expr = Expr::CompoundIdentifier(vec![self.alias.clone(), ident.clone()]),
            Expr::CompoundIdentifier(path) if self.depth > 0 => {
                if let [.., column] = path.as_slice() {
                    *expr = parent(column);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Prior(inner) = expr {
            self.depth -= 1;
            *expr = Expr::Nested(inner.clone());
        }
        ControlFlow::Continue(())
    }
}

/// Every column of the expression as the parent's.
fn of_parent(expr: &mut Expr) -> Result<(), Error> {
    let mut prior = Expr::Prior(Box::new(expr.clone()));
    let mut joined = Joined { alias: Ident::new(NAME), depth: 0 };
    if let ControlFlow::Break(error) = prior.visit(&mut joined) {
        return Err(error);
    }
    *expr = prior;
    Ok(())
}

/// Bare columns as the table's own: beside the parent's they would be ambiguous.
fn own(mut expr: Expr, alias: &Ident) -> Expr {
    let mut joined = Joined { alias: alias.clone(), depth: 0 };
    let _: ControlFlow<Error> = expr.visit(&mut joined);
    expr
}

/// `*` shows the columns of the table alone.
fn hide(projection: &mut [SelectItem], made: &[Carried], has_path: bool, below: &Below) {
    let fixed = std::iter::once(LEVEL).chain(has_path.then_some(PATH)).chain(below.columns()).map(names::quoted);
    let carried = made.iter().map(|carried| names::quoted(&carried.name));
    let hidden: Vec<ObjectName> = fixed.chain(carried).map(|name| ObjectName::from(vec![name])).collect();
    for item in projection {
        let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
            continue;
        };
        let mut excluded: Vec<ObjectName> = match options.opt_exclude.take() {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![name],
            Some(ExcludeSelectItem::Multiple(names)) => names,
        };
        excluded.extend(hidden.iter().cloned());
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
    }
}

fn parent(column: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![names::quoted(NAME), column.clone()])
}

fn is_word(ident: &Ident, word: &str) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(word)
}

fn one() -> Expr {
    Expr::value(sqlparser::ast::Value::Number("1".to_owned(), false))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn arguments(function: &Function) -> &[FunctionArg] {
    match &function.args {
        FunctionArguments::List(list) => &list.args,
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    }
}
