//! `TABLE(VALIDATE(t, JOB_ID => '…'))` in FROM, which asks for the records that an earlier COPY INTO could not load.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::super::staged_files::is_word;
use super::inferred::CalledTable;
use super::is;
use crate::ast::error::Error;
use crate::catalog::past_load::LoadJob;
use crate::catalog::staged_rows::{FileChoice, StageRead};

const FUNCTION: &str = "validate";
const FORM: &str = "VALIDATE is read as TABLE(VALIDATE(table, JOB_ID => '_last')), or with the query id of a COPY INTO";
/// What stands for the last load of the session.
const LAST: &str = "_last";
/// Bytes of a query id.
const ID_BYTES_MAX: usize = 64;

/// Whether a token may be the function's name.
pub(super) fn is_called(token: &Token) -> bool {
    is_word(token, FUNCTION)
}

/// The call, if these tokens begin with one, as the tokens of its table's name.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<Option<CalledTable>, Error> {
    let [table, open, function, inner, arguments @ ..] = tokens else { return Ok(None) };
    let is_call = is(&table.token, Keyword::TABLE) && is_called(&function.token);
    if !is_call || open.token != Token::LParen || inner.token != Token::LParen {
        return Ok(None);
    }
    let wrong = || Error::syntax(FORM).at(function.span.start);
    let comma = arguments.iter().position(|token| token.token == Token::Comma).ok_or_else(wrong)?;
    let (name, rest) = arguments.split_at_checked(comma).ok_or_else(wrong)?;
    let fits = |(place, token): (usize, &TokenWithSpan)| match token.token {
        Token::Word(_) => place % 2 == 0,
        Token::Period => place % 2 == 1,
        _ => false,
    };
    let is_name = name.len() % 2 == 1 && name.iter().enumerate().all(fits);
    let last = name.last().filter(|_| is_name).ok_or_else(wrong)?;
    let [_, argument, arrow, value, close, end, behind @ ..] = rest else { return Err(wrong()) };
    let is_argument = is_word(&argument.token, "job_id") && arrow.token == Token::RArrow;
    if !is_argument || close.token != Token::RParen || end.token != Token::RParen {
        return Err(wrong());
    }
    let job = Some(job(&value.token).ok_or_else(wrong)?);
    let (at, chosen) = (last.span.start, FileChoice::default());
    let (members, load, metadata, infers) = (None, None, Vec::new(), None);
    let read = StageRead { at, chosen, format: None, width: 0, members, load, metadata, infers, job };
    Ok(Some(CalledTable { name: name.to_vec(), read, length: tokens.len() - behind.len() }))
}

fn job(value: &Token) -> Option<LoadJob> {
    match value {
        word if is_word(word, LAST) => Some(LoadJob::Last),
        Token::SingleQuotedString(text) if text.eq_ignore_ascii_case(LAST) => Some(LoadJob::Last),
        Token::SingleQuotedString(id) => {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let is_id = (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(fits);
            is_id.then(|| LoadJob::Query(id.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_its_table_and_its_load() {
        for (text, redacted, job) in [
            ("SELECT * FROM TABLE(VALIDATE(t, JOB_ID => '_last'))", "SELECT * FROM t", LoadJob::Last),
            (
                "SELECT error FROM table ( validate ( s.t, job_id=>_LAST ) ) v",
                "SELECT error FROM s.t AS v",
                LoadJob::Last,
            ),
            (
                "SELECT * FROM a, TABLE(VALIDATE(t, JOB_ID => 'q-1_2'))",
                "SELECT * FROM a, t",
                LoadJob::Query("q-1_2".to_owned()),
            ),
        ] {
            let statement = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((statement.redacted().as_str(), statement.load_job()), (redacted, Some(&job)), "{text}");
        }
        assert_eq!(crate::parse("SELECT validate FROM t").unwrap().load_job(), None);
    }

    #[test]
    fn any_other_form_is_refused() {
        for said in [
            "",
            "t",
            "'t', JOB_ID => '_last'",
            "t, '_last'",
            "t, JOB_ID => 1",
            "t, JOB_ID => ''",
            "t, JOB_ID => 'a b'",
            "t, JOB_ID => x",
            "t, JOB_ID => '_last', MORE => 1",
            "t, ID => '_last'",
            "s..t, JOB_ID => '_last'",
        ] {
            let refused = crate::parse(&format!("SELECT * FROM TABLE(VALIDATE({said}))")).unwrap_err();
            assert!(refused.message.contains("VALIDATE is read as"), "{said}: {refused}");
        }
        let twice = "SELECT 1 FROM TABLE(VALIDATE(t, JOB_ID => 'a')) x, TABLE(VALIDATE(t, JOB_ID => 'b')) y";
        assert!(crate::parse(twice).unwrap_err().message.contains("more than one VALIDATE"));
        let loaded = "COPY INTO t FROM (SELECT * FROM TABLE(VALIDATE(t, JOB_ID => '_last')))";
        assert!(crate::parse(loaded).unwrap_err().message.contains("a SELECT from one"));
    }
}
