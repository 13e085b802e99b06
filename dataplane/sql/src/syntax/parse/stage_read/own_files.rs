//! `COPY INTO t [(columns)] …` without FROM: it loads the files of the table's own stage.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::ast::quote;
use crate::catalog::own_stage::TABLE_SIGN;
use crate::syntax::parentheses::closing;

/// A load that names its table alone.
pub(super) struct OwnLoad<'t> {
    /// The table's name, and its columns if they are said.
    pub target: &'t [TokenWithSpan],
    /// The name of the table's own stage, as it stands behind the `@`.
    pub stage: String,
    pub options: &'t [TokenWithSpan],
}

/// The load that these tokens are behind `COPY INTO`; none where they begin with no name.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Option<OwnLoad<'_>> {
    let is_word = |place: usize| matches!(tokens.get(place).map(|token| &token.token), Some(Token::Word(_)));
    let is_dot = |place: usize| tokens.get(place).is_some_and(|token| token.token == Token::Period);
    if !is_word(0) {
        return None;
    }
    let mut length = 1;
    while is_dot(length) && is_word(length + 1) {
        length += 2;
    }
    let (name, behind) = tokens.split_at_checked(length)?;
    let columns = match behind.first() {
        Some(first) if first.token == Token::LParen => closing(behind)? + 1,
        _ => 0,
    };
    let (target, options) = tokens.split_at_checked(length + columns)?;
    let (table, schema) = name.split_last()?;
    let schema: String = schema.iter().map(written).collect();
    Some(OwnLoad { target, stage: format!("{schema}{TABLE_SIGN}{}", written(table)), options })
}

fn written(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(Word { value, quote_style: Some(_), .. }) => quote::name(value),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn a_load_without_from_is_of_the_tables_own_stage() {
        for (text, redacted) in [
            ("COPY INTO mytable", r#"COPY INTO mytable FROM "@%mytable" ?"#),
            (
                "copy into main.t (a, b) file_format = (type = csv skip_header = 1) purge = true",
                r#"COPY INTO main.t (a, b) FROM main."@%t" ?"#,
            ),
            (r#"COPY INTO "My T" FORCE = TRUE"#, r#"COPY INTO "My T" FROM "@%My T" ?"#),
        ] {
            let statement = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(statement.redacted(), redacted, "{text}");
            assert!(statement.loads() && statement.reads().len() == 1, "{text}");
        }
    }

    #[test]
    fn any_other_form_is_refused() {
        for text in [
            "COPY INTO",
            "COPY INTO 's3://b/a.csv'",
            "COPY INTO t (a",
            "COPY INTO t x",
            "COPY INTO t..u",
            r#"COPY INTO "a.b""#,
            r#"COPY INTO "a/b""#,
            "COPY INTO t WHERE a = 1",
            "COPY INTO t FROM",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
