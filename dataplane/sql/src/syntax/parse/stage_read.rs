//! Stages that a statement reads, which the parser crate has no form for: `FROM @s/path (FILE_FORMAT => f)` and
//! `COPY INTO t FROM @s/path`.
//!
//! A stage becomes a table of the name that trees and policies have for it; what is said of its files is kept beside the
//! tree, by the place of the name. `$1` is a column there, and COPY INTO an INSERT of all columns.

mod copy_options;
mod inferred;
mod members;
mod named_columns;
mod own_files;
mod past_load;
mod sources;

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

use super::staged::stage_name;
use super::{is, made};
use crate::ast::error::Error;
use crate::ast::{names, quote};
use crate::catalog::stage::StageFormat;
use crate::catalog::staged_rows::{FileChoice, LoadOptions, StageRead};
use crate::syntax::parentheses::closing;
use copy_options::CopyOptions;
use own_files::OwnLoad;

pub(crate) use named_columns::{columns_named, engine_tokens};

/// As many columns as `$n` may name.
const WIDTH_MAX: usize = 1_600;

/// The statement as the parser crate reads it, with what it says of the stages that it reads.
pub(super) fn read(tokens: Vec<TokenWithSpan>) -> Result<StageQuery, Error> {
    match copied(&tokens)? {
        Some(copied) => Ok(copied),
        None => selected(tokens),
    }
}

/// A stage as it is named, and the path behind it.
struct NamedStage {
    at: Location,
    name: Vec<TokenWithSpan>,
    path: String,
}

impl NamedStage {
    /// What begins these tokens with `@`, and how many of them it is.
    fn unquoted(tokens: &[TokenWithSpan]) -> Result<Option<(Self, usize)>, Error> {
        let Some(first) = tokens.first().filter(|first| first.token == Token::AtSign) else { return Ok(None) };
        let mut length = 1;
        while let (Some(before), Some(next)) = (tokens.get(length - 1), tokens.get(length)) {
            let ends = matches!(next.token, Token::LParen | Token::RParen | Token::Comma | Token::EOF);
            if before.span.end != next.span.start || ends {
                break;
            }
            length += 1;
        }
        let text: String = tokens.iter().take(length).skip(1).map(|token| token.token.to_string()).collect();
        Self::of(first.span, &text).map(|stage| Some((stage, length)))
    }

    /// `'@s/path'`, as a text.
    fn quoted(token: &TokenWithSpan) -> Result<Option<Self>, Error> {
        let Token::SingleQuotedString(text) = &token.token else { return Ok(None) };
        text.strip_prefix('@').map(|text| Self::of(token.span, text)).transpose()
    }

    /// What stands behind the `@`.
    fn of(span: Span, text: &str) -> Result<Self, Error> {
        let (name, path) = text.split_once('/').unwrap_or((text, ""));
        let name = stage_name(name).map_err(|error| error.at(span.start))?;
        let mut tokens: Vec<TokenWithSpan> = Vec::new();
        for part in names::parts(&name).unwrap_or_default() {
            if !tokens.is_empty() {
                tokens.push(TokenWithSpan { token: Token::Period, span });
            }
            let Ident { value, quote_style, .. } = part.clone();
            let token = Token::Word(Word { value, quote_style, keyword: Keyword::NoKeyword });
            tokens.push(TokenWithSpan { token, span });
        }
        Ok(Self { at: span.start, name: tokens, path: path.to_owned() })
    }
}

/// A query or a change that reads stages where tables are read.
fn selected(tokens: Vec<TokenWithSpan>) -> Result<StageQuery, Error> {
    let mut reads = Vec::new();
    let may_call = |token: &Token| inferred::is_called(token) || past_load::is_called(token);
    if !tokens.iter().any(|token| sources::may_begin(&token.token) || may_call(&token.token)) {
        return Ok((tokens, reads));
    }
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut ends = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let is_source =
            made.last().is_some_and(|before| is(&before.token, Keyword::FROM) || is(&before.token, Keyword::JOIN));
        let follows = made.last().is_some_and(|before| before.token == Token::Comma);
        if (is_source || follows)
            && let Some(inferred::CalledTable { name, read, length }) = called(rest)?
        {
            made.extend(name);
            reads.push(read);
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let named = if is_source { sources::named(&made, rest)? } else { None };
        let Some((NamedStage { at, name, path }, length)) = named else {
            made.push(first.clone());
            rest = behind;
            continue;
        };
        made.extend(name);
        let behind = rest.get(length..).unwrap_or_default();
        let (said, length) = arguments(behind)?;
        rest = behind.get(length..).unwrap_or_default();
        let chosen = FileChoice { prefix: path, names: Vec::new(), pattern: said.pattern };
        ends.push(made.len());
        reads.push(StageRead {
            at,
            chosen,
            format: said.format,
            width: 0,
            members: None,
            load: None,
            metadata: Vec::new(),
            infers: None,
            job: None,
        });
    }
    if reads.is_empty() {
        return Ok((tokens, reads));
    }
    if reads.iter().filter(|read| read.job.is_some()).count() > 1 {
        return Err(Error::unsupported("more than one VALIDATE in a statement"));
    }
    let members = members::named(&made, &ends);
    let width = as_columns(&mut made)?;
    for read in &mut reads {
        read.width = width;
        read.members.clone_from(&members);
    }
    Ok((made, reads))
}

/// The call that stands for a table, if these tokens begin with one.
fn called(tokens: &[TokenWithSpan]) -> Result<Option<inferred::CalledTable>, Error> {
    match inferred::read(tokens)? {
        None => past_load::read(tokens),
        inferred => Ok(inferred),
    }
}

/// A query in tokens, with the stages that it reads.
type StageQuery = (Vec<TokenWithSpan>, Vec<StageRead>);

/// Makes `$1` the name of a column; the highest number.
fn as_columns(tokens: &mut [TokenWithSpan]) -> Result<usize, Error> {
    let mut width = 0;
    for TokenWithSpan { token, span } in tokens {
        let Token::Placeholder(name) = token else { continue };
        let digits = name.strip_prefix('$');
        if digits.is_some_and(|digits| !digits.bytes().all(|byte| byte.is_ascii_digit())) {
            continue; // a variable that is not set
        }
        let number = digits.and_then(|digits| digits.parse::<usize>().ok());
        let Some(number) = number.filter(|number| (1..=WIDTH_MAX).contains(number)) else {
            return Err(Error::unsupported("a parameter of a statement that reads a stage").at(span.start));
        };
        width = width.max(number);
        let value = format!("${number}");
        *token = Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    }
    Ok(width)
}

/// The arguments behind a stage that is selected from.
#[derive(Default)]
struct ReadArguments {
    format: Option<StageFormat>,
    pattern: Option<String>,
}

/// `(FILE_FORMAT => 'f', PATTERN => '…')`, and how many tokens it is.
fn arguments(tokens: &[TokenWithSpan]) -> Result<(ReadArguments, usize), Error> {
    let mut said = ReadArguments::default();
    if tokens.first().is_none_or(|first| first.token != Token::LParen) {
        return Ok((said, 0));
    }
    let mut at = 1;
    loop {
        let place = tokens.get(at).map(|token| token.span.start);
        let wrong = || {
            let error = Error::syntax("a stage is read with (FILE_FORMAT => 'name', PATTERN => 'expression')");
            match place {
                Some(place) => error.at(place),
                None => error,
            }
        };
        let (Some(TokenWithSpan { token: Token::Word(name), .. }), Some(TokenWithSpan { token: Token::RArrow, .. })) =
            (tokens.get(at), tokens.get(at + 1))
        else {
            return Err(wrong());
        };
        let (value, length) = argument(tokens.get(at + 2..).unwrap_or_default()).ok_or_else(wrong)?;
        match name.value.to_ascii_uppercase().as_str() {
            "FILE_FORMAT" if said.format.is_none() => said.format = Some(StageFormat::Named(value)),
            "PATTERN" if said.pattern.is_none() => said.pattern = Some(value),
            _ => return Err(wrong()),
        }
        at += 2 + length;
        match tokens.get(at).map(|token| &token.token) {
            Some(Token::Comma) => at += 1,
            Some(Token::RParen) => return Ok((said, at + 1)),
            _ => return Err(wrong()),
        }
    }
}

/// A text, or a name as a text, and how many tokens it is.
fn argument(tokens: &[TokenWithSpan]) -> Option<(String, usize)> {
    if let Token::SingleQuotedString(text) = &tokens.first()?.token {
        return Some((text.clone(), 1));
    }
    let part = |token: &TokenWithSpan| match &token.token {
        Token::Word(Word { value, quote_style: Some(_), .. }) => Some(quote::name(value)),
        Token::Word(Word { value, .. }) => Some(value.clone()),
        Token::Period => Some(".".to_owned()),
        _ => None,
    };
    let parts: Vec<String> = tokens.iter().map_while(part).collect();
    (!parts.is_empty()).then(|| (parts.concat(), parts.len()))
}

/// `COPY INTO t [(columns)] [FROM @s] …` as `INSERT INTO t [(columns)] SELECT * FROM @s`.
fn copied(tokens: &[TokenWithSpan]) -> Result<Option<StageQuery>, Error> {
    let [copy, into, rest @ ..] = tokens else { return Ok(None) };
    if !is(&copy.token, Keyword::COPY) || !is(&into.token, Keyword::INTO) {
        return Ok(None);
    }
    let from = rest.iter().position(|token| is(&token.token, Keyword::FROM));
    let Some((target, [_, source @ ..])) = from.and_then(|from| rest.split_at_checked(from)) else {
        let Some(OwnLoad { target, stage, options }) = own_files::read(rest) else { return Ok(None) };
        return whole(target, NamedStage::of(into.span, &stage)?, options).map(Some);
    };
    if target.is_empty() || target.iter().any(|token| sources::may_begin(&token.token)) {
        return Ok(None); // that unloads
    }
    if source.first().is_some_and(|first| first.token == Token::LParen) {
        return transformed(target, source).map(Some);
    }
    let mut found = NamedStage::unquoted(source)?;
    if let (None, Some(first)) = (&found, source.first()) {
        found = NamedStage::quoted(first)?.map(|stage| (stage, 1));
    }
    let Some((stage, length)) = found else { return Ok(None) };
    whole(target, stage, source.get(length..).unwrap_or_default()).map(Some)
}

/// A load of the records as they are, with what is said behind its stage.
fn whole(target: &[TokenWithSpan], stage: NamedStage, options: &[TokenWithSpan]) -> Result<StageQuery, Error> {
    let NamedStage { at, name, path } = stage;
    let read = CopyOptions::said(options)?.read(at, path);
    let query = [made("SELECT"), TokenWithSpan::wrap(Token::Mul), made("FROM")].into_iter().chain(name);
    Ok((inserted(target, query), vec![read]))
}

/// `COPY INTO t [(columns)] FROM (SELECT … FROM @s) …`, which makes a row of each record.
fn transformed(target: &[TokenWithSpan], source: &[TokenWithSpan]) -> Result<StageQuery, Error> {
    let end = closing(source).ok_or_else(|| Error::syntax("a bracket is not closed"))?;
    let (query, mut reads) = selected(source.get(1..end).unwrap_or_default().to_vec())?;
    let is_select = query.first().is_some_and(|first| is(&first.token, Keyword::SELECT));
    let [read] = reads.as_mut_slice() else { return Err(Error::unsupported("COPY INTO of other than one stage")) };
    if !is_select || read.infers.is_some() || read.job.is_some() {
        return Err(Error::syntax("COPY INTO loads a stage, or a SELECT from one"));
    }
    let CopyOptions { names, pattern, format, load, .. } =
        CopyOptions::said(source.get(end + 1..).unwrap_or_default())?;
    if load.by_name.is_some() {
        return Err(Error::syntax("MATCH_BY_COLUMN_NAME stands without a query, which names the values itself"));
    }
    if load.validates.is_some() {
        return Err(Error::syntax("VALIDATION_MODE stands without a query, which makes other rows of the records"));
    }
    read.chosen.names = names;
    read.chosen.pattern = pattern.or(read.chosen.pattern.take());
    read.format = format.or(read.format.take());
    read.load = Some(LoadOptions { transforms: true, ..load });
    Ok((inserted(target, query), reads))
}

fn inserted(target: &[TokenWithSpan], query: impl IntoIterator<Item = TokenWithSpan>) -> Vec<TokenWithSpan> {
    [made("INSERT"), made("INTO")].into_iter().chain(target.iter().cloned()).chain(query).collect()
}

#[cfg(test)]
mod tests;
