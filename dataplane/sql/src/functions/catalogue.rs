//! Every function that a statement may name, and what is known of it: one table, `functions.txt`, read once.
//!
//! The table is complete: a name of the pinned engine without a row fails a test, and a name of a statement without one
//! is refused. It judges names alone: an argument list that makes the engine convert one type to another can raise
//! whatever the function's class says. Tests of the engine put the extremes of every type into what the table calls safe
//! (`engine/tests/safe.rs`), into what TRY shall catch (`tried.rs`), and compare the types of results (`results.rs`).
//!
//! A function of one expression has its row in `dialect/templates.txt`; here only if it departs from a default.

use std::sync::LazyLock;

pub use crate::functions::columns::{
    Answered, CallClause, Class, EqualValues, FunctionKind, ResultType, RowOrder, SafeWhen, SizeBound, TextArgument,
    TryCatches, VariantArgument,
};
use crate::functions::index::NameIndex;

/// One row of the table. What it does not say has the default, which gives nothing away.
#[derive(Debug, Clone, Default)]
pub struct Function {
    pub name: &'static str,
    pub class: Class,
    pub kinds: Vec<FunctionKind>,
    /// Arguments for which it is safe, though it is throwing.
    pub safe_when: Option<SafeWhen>,
    /// Arguments for which the engine's TRY catches what it fails by.
    pub tried: Option<TryCatches>,
    pub order: Option<RowOrder>,
    pub equal: Option<EqualValues>,
    pub text: Option<TextArgument>,
    pub variant: Option<VariantArgument>,
    pub bound: Option<SizeBound>,
    /// The columns that it answers in FROM.
    pub answered: Option<Answered>,
    pub clauses: Vec<CallClause>,
    /// The engine's name of it, where it differs in nothing else.
    pub engine: Option<&'static str>,
    /// Whether a masked column that it is given is what it answers.
    pub hands_through: bool,
    pub result: Option<ResultType>,
    /// Whether its result is of that type whatever its arguments are.
    pub is_result_sure: bool,
}

/// The most rows, repetitions or characters one call may be asked for by a literal.
pub const GENERATED_MAX: u64 = 10_000_000;

static ROWS: LazyLock<NameIndex<Function>> =
    LazyLock::new(|| all().map(|function| (function.name, function)).collect());

/// The rows of the table, in its order.
pub fn all() -> impl Iterator<Item = Function> {
    lines().filter_map(read)
}

/// The function of this name, in whatever case.
pub fn find(name: &str) -> Option<&'static Function> {
    ROWS.get(name)
}

/// The function of this name that the engine has, or its grammar.
pub fn find_in_engine(name: &str) -> Option<&'static Function> {
    find(name).filter(|function| function.is_of_engine())
}

/// Whether it makes one value of many rows.
pub fn is_aggregate(name: &str) -> bool {
    find(name).is_some_and(|function| function.is(FunctionKind::Aggregate))
}

/// Whether it may stand in FROM.
pub fn is_table_function(name: &str) -> bool {
    answered(name).is_some()
}

/// Whether it stands in FROM by the dialect alone.
pub(crate) fn is_table_function_of_dialect(name: &str) -> bool {
    find(name).is_some_and(|function| function.answered.is_some() && !function.is(FunctionKind::Table))
}

/// What a function in FROM answers; none for a name that may not stand there.
pub(crate) fn answered(name: &str) -> Option<&'static Answered> {
    find(name)?.answered.as_ref()
}

/// Whether it compares by meaning.
pub(crate) fn compares_meaning(name: &str) -> bool {
    find(name).is_some_and(|function| function.is(FunctionKind::Meaning))
}

/// The arguments that decide how much a call makes.
///
/// The engine obeys no interrupt inside some of these calls and no memory limit inside others, so the size must be a
/// literal below [`GENERATED_MAX`]; the child process is the last resort for the rest.
pub fn sizes(name: &str) -> &'static [usize] {
    match find(name).and_then(|function| function.bound.as_ref()) {
        Some(SizeBound::Places(places)) => places,
        _ => &[],
    }
}

/// Whether its first argument is a text of widths.
pub(crate) fn has_widths(name: &str) -> bool {
    find(name).is_some_and(|function| function.bound == Some(SizeBound::Widths))
}

impl Function {
    pub fn is(&self, kind: FunctionKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether the engine has it, or its grammar.
    pub fn is_of_engine(&self) -> bool {
        !self.is(FunctionKind::Dialect) && !self.is(FunctionKind::Meaning)
    }

    /// Whether it is in the engine's catalog.
    pub fn is_in_catalog(&self) -> bool {
        self.is_of_engine() && !self.is(FunctionKind::Grammar)
    }

    /// Whether another call of it may answer something else, or change something.
    pub fn changes(&self) -> bool {
        matches!(self.class, Class::Stable | Class::Volatile | Class::Write)
    }

    /// Whether a literal of text among its arguments stays one.
    pub(crate) fn takes_text(&self) -> bool {
        matches!(self.text, Some(TextArgument::Taken | TextArgument::Places(_)))
    }

    /// Enters a word into a column; none for a column or a word that there is not.
    fn enter(&mut self, column: &str, word: &'static str) -> Option<()> {
        match column {
            "when" => self.safe_when = Some(SafeWhen::of(word)?),
            "try" => self.tried = Some(TryCatches::of(word)?),
            "order" => self.order = Some(RowOrder::of(word)?),
            "equal" => self.equal = Some(EqualValues::of(word)?),
            "text" => self.text = Some(TextArgument::of(word)?),
            "variant" => self.variant = Some(VariantArgument::of(word)?),
            "bounds" => self.bound = Some(SizeBound::of(word)?),
            "from" => self.answered = Some(Answered::of(word)?),
            "clauses" => self.clauses = word.split(',').map(CallClause::of).collect::<Option<_>>()?,
            "engine" => self.engine = Some(word),
            "masked" => self.hands_through = Some(word == "through").filter(|known| *known)?,
            "result" => {
                let sure = word.strip_suffix('!');
                (self.is_result_sure, self.result) = (sure.is_some(), Some(ResultType::of(sure.unwrap_or(word))?));
            }
            _ => return None,
        }
        Some(())
    }
}

fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("functions.txt").lines().filter(|line| !line.starts_with('#'))
}

/// `name class kinds column=word …  # reason`; a line that is not so reads as no function, hence as a refusal.
fn read(line: &'static str) -> Option<Function> {
    let said = line.split_once("  # ").map_or(line, |(said, _)| said);
    let mut words = said.split_whitespace();
    let (name, class) = (words.next()?, Class::of(words.next()?)?);
    let kinds = words.next()?.split(',').map(FunctionKind::of).collect::<Option<_>>()?;
    let mut function = Function { name, class, kinds, ..Function::default() };
    for word in words {
        let (column, word) = word.split_once('=')?;
        function.enter(column, word)?;
    }
    Some(function)
}

#[cfg(test)]
mod tests;
