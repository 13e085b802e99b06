//! Stage 12. "AI healing: on failure, attempts an automatic SQL correction."
//!
//! By rules: a column, table or function that does not exist, and is spelt almost like one that the
//! caller may see, is taken for it. Where they find nothing a model is asked, if one is set up (`asking`).
//! Once a query, only while nothing has been sent, never for a statement that writes, and never after a
//! refusal. The healed text passes all gates again, and the answer says what was changed.

mod asking;
mod sight;
mod wish;

use contract::Governance;

use super::capability::Own;
use super::tables::Extracted;
use super::{Pipeline, Query, Result, policy, tables};
use crate::Error;
use crate::trail::Trail;

/// How alike two names must be (Jaro–Winkler).
const LIKENESS_MIN: f64 = 0.88;

/// Another text for the same wish.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Healed {
    pub sql: String,
    pub warning: String,
    /// Nobody has looked at it.
    pub by_model: bool,
}

/// Can anything be done about it?
pub(super) fn concerns(pipeline: &Pipeline, error: &Error) -> bool {
    is_a_name(error) || pipeline.healer.is_some() && asking::concerns(error)
}

/// Is it a name that does not exist? The rules heal nothing else.
fn is_a_name(error: &Error) -> bool {
    use sql::error::Kind;
    match error {
        Error::ColumnMissing { .. } => true,
        Error::Sql(error) => matches!(error.kind, Kind::TableNotFound { .. } | Kind::UnsupportedFunction { .. }),
        _ => false,
    }
}

pub(super) async fn rewrite(pipeline: &Pipeline, query: &Query, rules: &Governance, error: &Error) -> Option<Healed> {
    if query.ask.transaction.is_some() {
        return None; // the engine has given the transaction up
    }
    if let Some(healed) = by_rule(pipeline, query, rules, error).await {
        return Some(healed);
    }
    asking::corrected(pipeline, pipeline.healer.as_ref()?, query, rules, error).await
}

async fn by_rule(pipeline: &Pipeline, query: &Query, rules: &Governance, error: &Error) -> Option<Healed> {
    let text = &query.ask.sql;
    let Extracted { statement, about } = tables::extract(text, &query.ask.names.variables, &Trail::new()).ok()?;
    if about.writes {
        return None;
    }
    let (kind, wrong, right) = match error {
        Error::Sql(error) => match &error.kind {
            sql::error::Kind::TableNotFound { name, did_you_mean: Some(near), .. } => {
                // Only the name is replaced, so only a table of the same schema fits.
                let (schema, near) = near.split_once('.')?;
                let written = statement.tables().iter().find(|table| table.name.eq_ignore_ascii_case(name))?;
                let same = written.schema.as_deref().unwrap_or(&query.ask.names.schema).eq_ignore_ascii_case(schema);
                ("table", name.clone(), same.then(|| near.to_owned()).filter(|near| alike(name, near))?)
            }
            sql::error::Kind::UnsupportedFunction { name } => {
                let known = sql::functions::all().map(|known| known.name.to_owned());
                ("function", name.clone(), nearest(name, known.filter(|known| is_slip(name, known)))?)
            }
            _ => return None,
        },
        Error::ColumnMissing { name } => {
            let columns = columns(pipeline, query, rules, statement).await.ok()?;
            ("column", name.clone(), nearest(name, columns.into_iter())?)
        }
        _ => return None,
    };
    let sql = renamed(text, &wrong, &right)?;
    let warning = format!("healed: {kind} {wrong} does not exist, {right} was taken instead");
    Some(Healed { sql, warning, by_model: false })
}

/// Columns of the tables that the statement reads: it passed the gates, so the caller may see them, but for what is
/// denied to their agent.
async fn columns(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    statement: sql::Statement,
) -> Result<Vec<String>> {
    let known = pipeline.remembered.tables.of(&pipeline.engine()?, query, rules).await?.known;
    let resolved = sql::resolve(statement, &known, &policy::names(query, rules))?;
    let used = resolved.tables();
    let read = known.tables().filter(|table| used.contains(&table.path()));
    let (_, agent) = policy::caller(pipeline, query, rules)?;
    let own = Own { rules, agent: &agent, now: pipeline.clock.now() };
    let told = |table: &std::sync::Arc<sql::Table>| {
        let denied = own.denied_columns(&table.path());
        let names = table.columns.iter().map(|column| column.name.clone());
        names.filter(|name| !denied.contains(&name.to_ascii_lowercase())).collect::<Vec<_>>()
    };
    Ok(read.flat_map(told).collect())
}

fn alike(wrong: &str, right: &str) -> bool {
    strsim::jaro_winkler(&wrong.to_ascii_lowercase(), &right.to_ascii_lowercase()) >= LIKENESS_MIN
}

/// Functions of like names do unlike things (`hash_agg` and `hash`): only a slip of one letter is one.
fn is_slip(wrong: &str, right: &str) -> bool {
    const LETTERS_MIN: usize = 4;
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let wrong = wrong.to_ascii_lowercase();
    right.len() >= LETTERS_MIN && digits(&wrong) == digits(right) && strsim::osa_distance(&wrong, right) == 1
}

/// The one name that is most alike; two that are equally alike are no answer.
fn nearest(wrong: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let wrong = wrong.to_ascii_lowercase();
    let mut scored: Vec<_> = names
        .map(|name| (strsim::jaro_winkler(&wrong, &name.to_ascii_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.dedup_by(|one, other| one.1.eq_ignore_ascii_case(&other.1));
    match scored.as_slice() {
        [(_, best)] => Some(best.clone()),
        [(likeness, best), (second, _), ..] if likeness > second => Some(best.clone()),
        _ => None,
    }
}

/// The text with every identifier `wrong` replaced; nothing when there is none. Strings, comments
/// and quoted names that are spelt otherwise stay as they are.
fn renamed(text: &str, wrong: &str, right: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + right.len());
    let mut rest = text;
    let mut found = false;
    while let Some(first) = rest.chars().next() {
        let length = piece(rest);
        let (token, after) = rest.split_at_checked(length)?;
        let bare = token.strip_prefix('"').and_then(|token| token.strip_suffix('"')).unwrap_or(token);
        let is_name = first == '"' || is_word(first);
        if is_name && bare.eq_ignore_ascii_case(wrong) {
            found = true;
            out.push_str(&sql::quote::name(right));
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    found.then_some(out)
}

/// Bytes of the next token, as far as renaming needs to tell them apart.
fn piece(text: &str) -> usize {
    let whole = text.len();
    let until =
        |end: &str, from: usize| text.get(from..).and_then(|t| t.find(end)).map_or(whole, |at| from + at + end.len());
    match text.as_bytes() {
        [b'\'', ..] => until("'", 1),
        [b'"', ..] => until("\"", 1),
        [b'-', b'-', ..] => until("\n", 2),
        [b'/', b'*', ..] => until("*/", 2),
        [b'$', b'$', ..] => until("$$", 2),
        _ => {
            let word = text.find(|c: char| !is_word(c)).unwrap_or(whole);
            if word > 0 { word } else { text.chars().next().map_or(whole, char::len_utf8) }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identifiers_are_renamed() {
        let cases = [
            ("select nmae from t", Some(r#"select "name" from t"#)),
            ("select t.NMAE, 'nmae' from t -- nmae", Some(r#"select t."name", 'nmae' from t -- nmae"#)),
            (r#"select "nmae" from nmae_x /* nmae */"#, Some(r#"select "name" from nmae_x /* nmae */"#)),
            ("select 'it''s nmae' from t where ü = 1", None),
            ("select $$nmae$$", None),
        ];
        for (text, expected) in cases {
            assert_eq!(renamed(text, "nmae", "name").as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_function_is_guessed_only_from_a_slip_of_a_letter() {
        let slips = [("uper", "upper"), ("lenght", "length"), ("SUBSTRR", "substr")];
        assert!(slips.iter().all(|(wrong, right)| is_slip(wrong, right)));
        let others =
            [("hash_agg", "hash"), ("time", "timezone"), ("seq3", "seq4"), ("check_xml", "check_json"), ("lnn", "ln")];
        assert!(!others.iter().any(|(wrong, right)| is_slip(wrong, right)));
    }

    #[test]
    fn a_name_is_guessed_only_when_one_is_nearest() {
        let among = |wrong: &str, names: &[&str]| nearest(wrong, names.iter().map(|name| (*name).to_owned()));
        assert_eq!(among("custmer_id", &["customer_id", "amount"]).as_deref(), Some("customer_id"));
        assert_eq!(among("zzz", &["customer_id"]), None);
        assert_eq!(among("amount_", &["amount_a", "amount_b"]), None);
        assert_eq!(among("nmae", &["name", "name"]).as_deref(), Some("name"));
    }
}
