//! The columns of the table of functions, and the words that stand in them.

use crate::functions::types::Type;

/// An enum of the words of one column.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $word:literal => $variant:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$each])* $variant,)*
        }

        impl $name {
            pub(super) fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// What a call can do.
    #[derive(Default)]
    Class {
        /// Raises no error that depends on the values it is given.
        "safe" => Safe,
        /// Can raise one, so a caller could learn of hidden rows by it.
        "throwing" => Throwing,
        /// One answer in a statement, another in the next.
        "stable" => Stable,
        /// Another answer on another call.
        "volatile" => Volatile,
        /// Needs the right to write.
        "write" => Write,
        /// Refused.
        #[default]
        "denied" => Denied,
    }
}

words! {
    /// Where a call may stand, and whose it is.
    FunctionKind {
        "scalar" => Scalar,
        "aggregate" => Aggregate,
        "window" => Window,
        "table" => Table,
        "pragma" => Pragma,
        /// A word of the grammar that reads like a function; not in the engine's catalog.
        "grammar" => Grammar,
        /// The engine's name of an operator, which is not called by it.
        "operator" => Operator,
        /// A function of the warehouse, which becomes the engine's.
        "dialect" => Dialect,
        /// A function that compares by meaning.
        "meaning" => Meaning,
    }
}

words! {
    /// Arguments for which a throwing function is safe.
    SafeWhen {
        /// One DATE or TIMESTAMP.
        "days" => Days,
        /// One argument.
        "alone" => Alone,
        /// Numbers whose sum cannot leave its range.
        "sums" => Sums,
    }
}

words! {
    /// Arguments for which the engine's TRY catches whatever a function fails by.
    TryCatches {
        "caught" => Always,
        /// One DATE or TIMESTAMP.
        "days" => Days,
        /// One TIMESTAMP, or a moment in a zone that is the literal 'UTC'.
        "zoned" => Zoned,
        /// A seventh that is the literal 'UTC', or none.
        "zone" => Zone,
        /// Values that have the part, which is a literal.
        "part" => Part,
        /// A literal format without a zone.
        "format" => Format,
        /// One argument.
        "alone" => Alone,
    }
}

words! {
    /// How the value of a call follows the order of rows.
    RowOrder {
        /// Not at all.
        "set" => Set,
        /// Not where equal values of its arguments are one value.
        "exact" => Exact,
        /// Not where equal values are one, and their sum cannot leave its range.
        "sum" => Sum,
        /// It numbers equal rows alike.
        "peers" => Peers,
        /// It numbers rows as they come.
        "numbers" => Numbers,
    }
}

words! {
    /// When two equal values of a call can be told apart.
    EqualValues {
        /// Where those of its arguments can be.
        "passed" => Passed,
        /// The same of a number.
        "counted" => Counted,
        /// The same of a number that is read from text too.
        "numeric" => Numeric,
        /// The same of one argument; of more they always can be.
        "whole" => Whole,
        /// Where those of its arguments can be, all of which become one type.
        "chosen" => Chosen,
    }
}

words! {
    /// What a variant among the arguments of a call is taken for.
    VariantArgument {
        "taken" => Taken,
        "number" => Number,
        /// What the other arguments are.
        "common" => Common,
        /// What is ordered by a key of it.
        "key" => Key,
    }
}

words! {
    /// What may stand behind the arguments of a call.
    CallClause {
        "within" => WithinGroup,
        "nulls" => NullTreatment,
    }
}

/// The reading of a literal of text among the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextArgument {
    Taken,
    /// Text, which whatever else stands at these places becomes.
    Places(Vec<usize>),
    /// A number, as the first argument.
    Number,
}

/// The bound on how much one call makes or takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizeBound {
    /// The arguments at these places.
    Places(Vec<usize>),
    /// Widths and precisions in the text that is its first argument.
    Widths,
    /// Letters of two texts, each compared with each; of a call with this many arguments or more.
    Letters(usize),
    /// Lists and objects in JSON.
    Depth,
}

/// The type of what a call answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultType {
    Of(Type),
    /// That of its first argument.
    Argument,
    /// That of all its arguments.
    Common,
}

/// The columns of what a function in FROM answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Those that `*` shows.
    pub shown: Vec<(&'static str, Type)>,
    /// Those that must be named.
    pub hidden: Vec<&'static str>,
}

impl TextArgument {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "taken" => Some(Self::Taken),
            "number" => Some(Self::Number),
            _ => places(word).map(Self::Places),
        }
    }
}

impl SizeBound {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "widths" => Some(Self::Widths),
            "letters" => Some(Self::Letters(2)),
            "letters3" => Some(Self::Letters(3)),
            "depth" => Some(Self::Depth),
            _ => places(word).map(Self::Places),
        }
    }
}

impl ResultType {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "argument" => Some(Self::Argument),
            "common" => Some(Self::Common),
            _ => type_named(word).map(Self::Of),
        }
    }
}

impl Answered {
    /// `key,value:json,(rowid)`.
    pub(super) fn of(columns: &'static str) -> Option<Self> {
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        for column in columns.split(',') {
            match (column.strip_prefix('('), column.split_once(':')) {
                (Some(column), _) => hidden.push(column.strip_suffix(')')?),
                (None, Some((column, found))) => shown.push((column, type_named(found)?)),
                (None, None) => shown.push((column, Type::Unknown)),
            }
        }
        Some(Self { shown, hidden })
    }
}

/// `0,2`.
fn places(word: &str) -> Option<Vec<usize>> {
    word.split(',').map(|place| place.parse().ok()).collect()
}

fn type_named(word: &str) -> Option<Type> {
    match Type::of_name(word) {
        Type::Unknown => (word == "list").then_some(Type::List),
        known => Some(known),
    }
}
