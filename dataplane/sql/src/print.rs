//! The one way from a tree back to text.
//!
//! Fail closed: every node is taken apart field by field, and a field or kind that is not on the list
//! is refused by name, so this is also the list of what the language lets through ([`admit`]).
//! It never uses the parser crate's own printing, which guesses whether a quote is already escaped.
//! Operands are bracketed by the tree, so no parser's precedence can change the meaning.

mod alter;
pub(crate) mod asked;
mod column;
mod create;
mod expr;
mod factor;
mod function;
mod kinds;
mod lookup;
mod member;
mod operator;
mod query;
mod scan;
mod selected;
mod staged;
mod unit;
mod write;

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Write as _};

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Statement, Value};

use crate::ast::error::Error;
use crate::ast::{names, quote};
use crate::scan::{Scan, marker};

pub use member::MemberRead;
pub(crate) use member::RECORD;
pub use scan::CHECK_FAILED;

/// The value that is bound to a parameter of printed SQL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Bind {
    /// The caller's parameter of this number, from 1.
    Caller(usize),
    /// The same where a cast says alone that it is a number: it is bound as the decimal that it is.
    Number(usize),
    /// The same where it becomes a moment with a zone: its text may have a blank before the offset.
    Moment(usize),
    /// A value of ours, from a policy's placeholder.
    Text(String),
}

impl Bind {
    /// The number of the caller's parameter that it stands for.
    pub fn caller(&self) -> Option<usize> {
        match self {
            Self::Caller(number) | Self::Number(number) | Self::Moment(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// The types of the caller's parameters, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ParameterTypes<'a> {
    /// The engine's names of types by number, from 1: each stands around its parameter as a cast.
    pub types: &'a [Option<String>],
    /// The text only asks for the types of the others: each is compared with what it is calculated with.
    pub asks: bool,
}

impl ParameterTypes<'_> {
    fn of(&self, number: usize) -> Option<&str> {
        self.types.get(number.checked_sub(1)?)?.as_deref()
    }
}

/// For whom the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The engine: all names quoted, warehouse constructs refused.
    Engine,
    /// The audit log: every literal is `?`.
    Redacted,
    /// A column's label: as written.
    Label,
}

/// Where the rows of a filtered table are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Where they are, through the filter.
    InPlace,
    /// Where those that pass it were kept before.
    Visible,
}

/// Text under construction.
pub(crate) struct Printer<'a> {
    out: String,
    style: Style,
    scans: &'a [Scan],
    reading: Reading,
    parameters: ParameterTypes<'a>,
    binds: Vec<Bind>,
    /// The number of each of these in the text.
    numbers: HashMap<Bind, usize>,
    tables: Vec<String>,
    visible: BTreeSet<usize>,
    /// The scan whose rows are found by their primary key.
    looked_up: Option<usize>,
    /// The members of records that were printed as columns; none where they are not.
    member_reads: Option<Vec<MemberRead>>,
}

/// The printed statement for the engine.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub sql: String,
    pub binds: Vec<Bind>,
    /// Full names of the tables in the text.
    pub tables: Vec<String>,
    /// The scans whose visible rows must be kept before.
    pub visible: BTreeSet<usize>,
}

/// Refuses whatever is not on the list of what may be printed; answers the redacted text.
pub(crate) fn admit(statement: &Statement) -> Result<String, Error> {
    let mut printer = Printer::new(Style::Redacted, &[], Reading::InPlace);
    printer.statement(statement)?;
    Ok(printer.out)
}

/// The expression as the caller wrote it, for the label of its column.
pub(crate) fn label(expr: &sqlparser::ast::Expr) -> Result<String, Error> {
    let mut printer = Printer::new(Style::Label, &[], Reading::InPlace);
    printer.expr(expr)?;
    Ok(printer.out)
}

/// An expression of ours for the engine, without tables and parameters.
pub(crate) fn engine_expression(expr: &sqlparser::ast::Expr) -> Result<String, Error> {
    let mut printer = Printer::new(Style::Engine, &[], Reading::InPlace);
    printer.expr(expr)?;
    Ok(printer.out)
}

/// The governed statement in the caller's dialect.
pub(crate) fn governed(statement: &Statement, scans: &[Scan]) -> Result<String, Error> {
    let mut printer = Printer::new(Style::Label, scans, Reading::InPlace);
    printer.statement(statement)?;
    Ok(printer.out)
}

/// Text for the engine; governed scans are written from `scans`.
pub(crate) fn engine(
    statement: &Statement,
    scans: &[Scan],
    reading: Reading,
    parameters: ParameterTypes<'_>,
) -> Result<Printed, Error> {
    let looked_up = lookup::by_key(statement, scans);
    let mut printer = Printer { parameters, looked_up, ..Printer::new(Style::Engine, scans, reading) };
    printer.statement(statement)?;
    Ok(printer.printed())
}

/// The same with the members of records as columns, and these.
pub(crate) fn by_member(statement: &Statement, scans: &[Scan]) -> Result<(Printed, Vec<MemberRead>), Error> {
    let mut printer = Printer::new(Style::Engine, scans, Reading::InPlace);
    printer.member_reads = Some(Vec::new());
    printer.statement(statement)?;
    let reads = printer.member_reads.take().unwrap_or_default();
    Ok((printer.printed(), reads))
}

/// What keeps the visible rows of a scan, or those of them that a query takes, with the columns that are asked for.
pub(crate) fn keeping(
    scans: &[Scan],
    number: usize,
    narrowed: Option<&Statement>,
    is_asked_for: &dyn Fn(&str) -> bool,
) -> Result<Printed, Error> {
    let scan = scans.get(number).ok_or_else(|| Error::unsupported("this table"))?;
    let mut printer = Printer::new(Style::Engine, scans, Reading::InPlace);
    printer.keeping(scan, number, narrowed, is_asked_for)?;
    Ok(printer.printed())
}

impl<'a> Printer<'a> {
    fn new(style: Style, scans: &'a [Scan], reading: Reading) -> Self {
        let out = String::with_capacity(256);
        let (binds, numbers, tables, visible) = (Vec::new(), HashMap::new(), Vec::new(), BTreeSet::new());
        let (parameters, looked_up, member_reads) = (ParameterTypes::default(), None, None);
        Self { out, style, scans, reading, parameters, binds, numbers, tables, visible, looked_up, member_reads }
    }

    fn printed(self) -> Printed {
        let Self { out, binds, tables, visible, .. } = self;
        Printed { sql: out, binds, tables, visible }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn formatted(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text); // a string takes whatever there is
    }

    /// Prints a part between two words.
    fn enclosed(
        &mut self,
        open: &str,
        close: &str,
        print: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.put(open);
        print(self)?;
        self.done(close)
    }

    /// Puts what stands last in a part of the statement: with it the part is printed.
    #[expect(clippy::unnecessary_wraps, reason = "printing a part can fail, its last word cannot")]
    fn done(&mut self, text: &str) -> Result<(), Error> {
        self.put(text);
        Ok(())
    }

    /// A construct of the warehouse: known, but the engine must never meet it.
    fn warehouse_only(&self, construct: &str) -> Result<(), Error> {
        if self.style == Style::Engine { Err(Error::unsupported(construct)) } else { Ok(()) }
    }

    fn ident(&mut self, ident: &Ident) {
        if self.style == Style::Engine || (ident.quote_style.is_some() || !quote::is_plain(&ident.value)) {
            quote::name_into(&mut self.out, &ident.value);
        } else {
            self.out.push_str(&ident.value);
        }
    }

    fn idents(&mut self, idents: &[Ident]) {
        for (i, ident) in idents.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.ident(ident);
        }
    }

    fn name(&mut self, name: &ObjectName) -> Result<(), Error> {
        let ObjectName(parts) = name;
        if let [
            ObjectNamePart::Identifier(catalog),
            ObjectNamePart::Identifier(schema),
            ObjectNamePart::Identifier(table),
        ] = parts.as_slice()
            && (catalog.value == names::RAW_CATALOG || catalog.value == names::TEMP_CATALOG)
        {
            self.tables.push(format!("{}.{}.{}", catalog.value, schema.value, table.value));
        }
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.put(".");
            }
            match part {
                ObjectNamePart::Identifier(ident) => self.ident(ident),
                ObjectNamePart::Function(_) => {
                    return Err(Error::unsupported("a function as a name"));
                }
            }
        }
        Ok(())
    }

    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T) -> Result<(), Error>) -> Result<(), Error> {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            print(self, item)?;
        }
        Ok(())
    }

    /// A string of our own, in the engine's text as a literal.
    fn text(&mut self, text: &str) {
        if self.style == Style::Redacted {
            self.put("?");
        } else {
            quote::text_into(&mut self.out, text);
        }
    }

    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::Placeholder(name) => return self.placeholder(name),
            Value::Number(_, true) => return Err(Error::unsupported("a number with a suffix")),
            Value::Number(digits, false) if !is_number(digits) => {
                return Err(Error::unsupported("this form of number"));
            }
            Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_) | Value::Null => {}
            Value::HexStringLiteral(digits) if is_hex(digits) => {}
            _ => return Err(Error::unsupported("this form of literal")),
        }
        if self.style == Style::Redacted {
            return self.done("?");
        }
        match value {
            Value::Number(digits, _) => self.put(digits),
            Value::SingleQuotedString(text) => quote::text_into(&mut self.out, text),
            Value::Boolean(true) => self.put("TRUE"),
            Value::Boolean(false) => self.put("FALSE"),
            Value::HexStringLiteral(digits) => self.blob(digits),
            _ => self.put("NULL"),
        }
        Ok(())
    }

    fn placeholder(&mut self, name: &str) -> Result<(), Error> {
        if let Some(made) = marker::made(name) {
            return self.made(made);
        }
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        match (self.style, number) {
            (Style::Engine, Some(number)) => self.typed(Bind::Caller(number)),
            (_, Some(number)) => self.formatted(format_args!("${number}")),
            (_, None) => return Err(Error::unsupported("a parameter that has no number")),
        }
        Ok(())
    }

    /// A value of ours: bound for the engine, shown in the governed text for the log.
    fn bind(&mut self, text: &str) {
        if self.style != Style::Engine {
            return self.text(text);
        }
        self.parameter(Bind::Text(text.to_owned()));
    }

    /// A parameter of the caller, cast to its type where that is known.
    fn typed(&mut self, bind: Bind) {
        let kind = bind.caller().and_then(|number| self.parameters.of(number));
        let Some(kind) = kind.map(str::to_owned) else { return self.parameter(bind) };
        self.put("CAST(");
        self.parameter(bind);
        self.put(" AS ");
        self.put(&kind);
        self.put(")");
    }

    /// The parameter of a value; one value is one parameter, wherever it stands.
    fn parameter(&mut self, bind: Bind) {
        let next = self.binds.len() + 1;
        let number = *self.numbers.entry(bind.clone()).or_insert(next);
        if number == next {
            self.binds.push(bind);
        }
        self.formatted(format_args!("${number}"));
    }

    fn blob(&mut self, digits: &str) {
        self.put("CAST('");
        let mut digits = digits.chars();
        while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
            self.out.push_str("\\x");
            self.out.push(high);
            self.out.push(low);
        }
        self.put("' AS BLOB)");
    }
}

fn is_number(digits: &str) -> bool {
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
}

fn is_hex(digits: &str) -> bool {
    digits.len().is_multiple_of(2) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

/// The first words, enough to name the construct.
fn head(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Refuses a field that is set although nobody has said what it means here.
fn absent(is_absent: bool, construct: &str) -> Result<(), Error> {
    if is_absent { Ok(()) } else { Err(Error::unsupported(construct)) }
}

/// `*` and nothing more.
pub(crate) fn is_bare_star(options: &sqlparser::ast::WildcardAdditionalOptions) -> bool {
    *options == sqlparser::ast::WildcardAdditionalOptions::default()
}
