//! Errors of a statement, with their place.
//!
//! Messages name the thing and its kind, never what the caller may not see; the data plane maps
//! [`ErrorKind`] to a code.

use std::fmt;

use sqlparser::tokenizer::Location;

/// Why a statement is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not a statement of the dialect.
    Syntax,
    /// There is no statement in the text.
    Empty,
    /// One statement was expected.
    Several,
    /// The text, a name or a list is longer than allowed.
    TooLarge,
    /// A name is longer than allowed, or has characters that it may not have.
    InvalidName,
    /// The statement nests deeper than allowed.
    TooDeep,
    /// A construct we do not know, or do not let through.
    Unsupported { construct: String },
    /// A function that is not on the allow-list.
    UnsupportedFunction { name: String },
    /// A function of the engine that nobody may call: files, settings, statistics, SQL as text.
    DeniedFunction { name: String },
    /// A type that is not on the allow-list.
    UnsupportedType { name: String },
    /// No such table among those the caller may see.
    TableNotFound { schema: Option<String>, name: String, did_you_mean: Option<String> },
    /// No such column in a table the statement writes.
    ColumnNotFound { table: String, column: String },
    /// The table has a column of this name already.
    ColumnExists { table: String, column: String },
    /// Something that stays depends on this column.
    ColumnUsed { table: String, column: String },
    /// The caller reads this column masked, so it may not set it or compute with it as asked.
    MaskedColumn { table: String, column: String },
    /// The caller may neither read nor write this column.
    DeniedColumn { table: String, column: String },
    /// A governed table cannot be used this way yet.
    Ungovernable { construct: String },
    /// A policy's filter is not one admissible boolean expression.
    InvalidFilter,
}

/// A place in the text, all parts counted from 1 and in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub offset: u32,
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// The place of a token, or none when it is made up. Its offset is 0 until the text is at hand.
    fn open(at: Location) -> Option<Self> {
        let line = u32::try_from(at.line).ok().filter(|line| *line > 0)?;
        let column = u32::try_from(at.column).ok().filter(|column| *column > 0)?;
        Some(Self { offset: 0, line, column })
    }

    /// The place of a token in its text.
    pub(crate) fn of(text: &str, at: Location) -> Option<Self> {
        Self::open(at).map(|position| position.within(text))
    }

    fn within(self, text: &str) -> Self {
        let (line, column) = (widened(self.line), widened(self.column));
        let before = text.split_inclusive('\n').take(line.saturating_sub(1));
        let chars: usize = before.map(|line| line.chars().count()).sum();
        Self { offset: u32::try_from(chars + column).unwrap_or(u32::MAX), ..self }
    }

    /// The line it is on with a caret under it; of a long line the part around it.
    fn snippet(self, text: &str) -> Option<Snippet> {
        const WIDTH_MAX: usize = 100;
        let (number, column) = (self.line, widened(self.column));
        let source = text.lines().nth(widened(number).saturating_sub(1))?;
        let skipped = (column - 1).saturating_sub(WIDTH_MAX / 2);
        let shown: String =
            source.chars().skip(skipped).take(WIDTH_MAX).map(|c| if c == '\t' { ' ' } else { c }).collect();
        let head = format!("LINE {number}: ");
        let indent = head.len() + (column - 1 - skipped);
        Some(Snippet(format!("{head}{shown}\n{:indent$}^", "")))
    }
}

fn widened(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub position: Option<Position>,
    /// Behind a pointer: an error is handed through many calls.
    pub snippet: Option<Box<Snippet>>,
}

/// The caller's own line with a caret under the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet(String);

impl Snippet {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), position: None, snippet: None }
    }

    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    /// A construct of the language that is not let through.
    pub fn unsupported(construct: impl Into<String>) -> Self {
        let construct = construct.into();
        let message = format!("{construct} is not supported");
        Self::new(ErrorKind::Unsupported { construct }, message)
    }

    pub fn unsupported_function(name: impl Into<String>) -> Self {
        let name = name.into();
        let message = format!("function {name} is not supported");
        Self::new(ErrorKind::UnsupportedFunction { name }, message)
    }

    pub fn denied_function(name: impl Into<String>) -> Self {
        let name = name.into();
        let message = format!("function {name} may not be called");
        Self::new(ErrorKind::DeniedFunction { name }, message)
    }

    pub fn unsupported_type(name: impl Into<String>) -> Self {
        let name = name.into();
        let message = format!("type {name} is not supported");
        Self::new(ErrorKind::UnsupportedType { name }, message)
    }

    pub(crate) fn no_column(table: &str, column: &str) -> Self {
        let kind = ErrorKind::ColumnNotFound { table: table.to_owned(), column: column.to_owned() };
        Self::new(kind, format!("column {column} of {table} does not exist"))
    }

    pub(crate) fn ungovernable(construct: &str, table: &str) -> Self {
        let message = format!("{construct} on {table} is not supported while a policy governs the table for you");
        Self::new(ErrorKind::Ungovernable { construct: construct.to_owned() }, message)
    }

    pub(crate) fn invalid_filter(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidFilter, message)
    }

    /// Of a name without a path that means no table: it meant one of this schema.
    pub(crate) fn meant_in(mut self, home: &str) -> Self {
        if let ErrorKind::TableNotFound { schema: schema @ None, .. } = &mut self.kind {
            *schema = Some(home.to_owned());
        }
        self
    }

    /// Remembers the place, unless one is known already.
    pub(crate) fn at(mut self, location: Location) -> Self {
        self.position = self.position.or_else(|| Position::open(location));
        self
    }

    /// Makes the remembered place one in this text.
    pub(crate) fn within(mut self, text: &str) -> Self {
        if let Some(position) = &mut self.position
            && position.offset == 0
        {
            *position = position.within(text);
            self.snippet = position.snippet(text).map(Box::new);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
