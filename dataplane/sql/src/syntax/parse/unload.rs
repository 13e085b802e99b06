//! `COPY INTO @s/path FROM t | (query)`: into a file of a stage. The query is read as a statement of its own.

use sqlparser::dialect::SnowflakeDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::staged::{StagedStatement, stage_name};
use super::staged_files::{is_word, location};
use super::{end, is, options, own, parser, refused, source};
use crate::ast::error::Error;
use crate::syntax::parentheses::closing;
use crate::syntax::statement::{StatementKind, Unload, UnloadSource};

/// The statement, if its first words say that it writes into a stage.
pub(super) fn read(text: &str, tokens: &[TokenWithSpan]) -> Result<Option<StagedStatement>, Error> {
    let [copy, into, rest @ ..] = tokens else { return Ok(None) };
    if !is_word(&copy.token, "copy") || !is_word(&into.token, "into") {
        return Ok(None);
    }
    let Some((location, rest)) = location(rest) else { return Ok(None) };
    let (stage, path) = location.split_once('/').unwrap_or((location.as_str(), ""));
    stage_name(stage).map_err(|error| error.at(copy.span.start))?;
    let expected = || Error::syntax("behind COPY INTO @stage stands FROM with a table, or with a query in parentheses");
    let [from, rest @ ..] = rest else { return Err(expected()) };
    if !is(&from.token, Keyword::FROM) {
        return Err(expected().at(from.span.start));
    }
    let (query, rest) = asked(text, rest).ok_or_else(expected)?;
    let (partition_by, rest) = partition_by(text, rest)?;
    let mut parser = parser(&SnowflakeDialect {}, rest.to_vec());
    let given = options::options(&mut parser).map_err(refused)?;
    end(&parser).map_err(refused)?;
    let kind = StatementKind::Unload(Unload::of((stage, path), UnloadSource { query, partition_by }, &given)?);
    // Nothing of it is run, so nothing of it stands in the tree.
    Ok(Some(StagedStatement { tree: own("SELECT NULL")?, kind }))
}

/// The text of the query, and what stands behind it.
fn asked<'t>(text: &str, tokens: &'t [TokenWithSpan]) -> Option<(String, &'t [TokenWithSpan])> {
    let first = tokens.first()?;
    if first.token == Token::LParen {
        return bracketed(text, tokens);
    }
    let (mut end, mut count) = (first.span.start, 0);
    for token in tokens.iter().take_while(|token| token.token != Token::EOF) {
        if token.span.start != end {
            break;
        }
        end = token.span.end;
        count += 1;
    }
    let table = tokens.get(..count).filter(|table| !table.is_empty())?;
    Some((format!("SELECT * FROM {}", source(text, table).own), tokens.get(count..)?))
}

/// `PARTITION BY (expression)`, and what stands behind it.
fn partition_by<'t>(text: &str, tokens: &'t [TokenWithSpan]) -> Result<(Option<String>, &'t [TokenWithSpan]), Error> {
    let [first, second, rest @ ..] = tokens else { return Ok((None, tokens)) };
    if !is_word(&first.token, "partition") || !is_word(&second.token, "by") {
        return Ok((None, tokens));
    }
    let wrong = || Error::syntax("PARTITION BY is followed by an expression in parentheses").at(first.span.start);
    let is_bracket = rest.first().is_some_and(|first| first.token == Token::LParen);
    let (expression, rest) = bracketed(text, rest).filter(|_| is_bracket).ok_or_else(wrong)?;
    Ok((Some(expression), rest))
}

/// The text in the parentheses that these tokens begin with, and what stands behind them.
fn bracketed<'t>(text: &str, tokens: &'t [TokenWithSpan]) -> Option<(String, &'t [TokenWithSpan])> {
    let (within, behind) = parenthesized(tokens)?;
    Some((source(text, within).own, behind))
}

/// The tokens in the parentheses that these begin with, of which there are some, and those behind.
pub(super) fn parenthesized(tokens: &[TokenWithSpan]) -> Option<(&[TokenWithSpan], &[TokenWithSpan])> {
    let close = closing(tokens)?;
    Some((tokens.get(1..close).filter(|within| !within.is_empty())?, tokens.get(close + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse::parse;
    use crate::syntax::statement::partition_folder;

    fn told(text: &str) -> Unload {
        match parse(text).expect(text).kind() {
            StatementKind::Unload(unload) => unload.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_file_is_named_as_it_is_said_or_by_its_number() {
        for (text, stage, file, query) in [
            ("COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV)", "s", "data_0_0_0.csv.gz", "SELECT * FROM t"),
            (
                "copy into @m.s/out/ from m.t file_format=(type=json)",
                "m.s",
                "out/data_0_0_0.json.gz",
                "SELECT * FROM m.t",
            ),
            (
                "copy into @s/a/b from (select ')' from (t)) file_format = (type = csv compression = none) header = true",
                "s",
                "a/b_0_0_0.csv",
                "select ')' from (t)",
            ),
            ("copy into @~ from t file_format = (type = csv)", "~", "data_0_0_0.csv.gz", "SELECT * FROM t"),
            ("copy into @m.%t/a from t file_format = (type = csv)", "m.%t", "a_0_0_0.csv.gz", "SELECT * FROM t"),
            (
                "copy into @s from t file_format = (type = csv compression = auto)",
                "s",
                "data_0_0_0.csv.gz",
                "SELECT * FROM t",
            ),
            (
                "copy into '@s/a b.csv' from (select 1) single = true overwrite = true file_format = (type = 'CSV')",
                "s",
                "a b.csv",
                "select 1",
            ),
        ] {
            let unload = told(text);
            assert_eq!(
                (unload.stage.as_str(), unload.file(None, 0, "q").as_str(), unload.query.as_str()),
                (stage, file, query)
            );
        }
        let unload = told("copy into @s from t header = true single = false file_format = (type = csv)");
        assert_eq!((unload.header, unload.overwrite), (true, false));
        assert_eq!((unload.is_single(), unload.detailed, unload.max_file_bytes), (false, false, 16_777_216));
        assert_eq!(unload.file(None, 12, "q"), "data_0_0_12.csv.gz");
        for (format, ending) in [
            ("parquet", "snappy.parquet"),
            ("parquet compression = snappy", "snappy.parquet"),
            ("parquet compression = auto", "snappy.parquet"),
            ("parquet compression = none", "parquet"),
        ] {
            let unload = told(&format!("copy into @s from t file_format = (type = {format})"));
            assert_eq!(unload.file(None, 0, "q"), format!("data_0_0_0.{ending}"));
        }
        let shown = "copy into @s from t file_format = (type = csv) validation_mode = 'RETURN_ROWS'";
        assert!(told(shown).is_shown() && !unload.is_shown());
        // whose ending is known once the format is
        for text in ["copy into @s from t", "copy into @s from t file_format = (format_name = 'f' compression = none)"]
        {
            assert_eq!(told(text).query, "SELECT * FROM t", "{text}");
        }
        let unload = told(
            "copy into @s/a/ from t file_format = (type = json compression = none) max_file_size = 10
             include_query_id = true detailed_output = true",
        );
        assert_eq!((unload.file(None, 1, "q").as_str(), unload.max_file_bytes), ("a/data_q_0_0_1.json", 10));
        assert!(unload.detailed);
    }

    #[test]
    fn rows_are_parted_by_an_expression() {
        let unload = told(
            "copy into @s/out from t partition by ('day=' || to_varchar(day) -- of it
            ) file_format = (type = parquet) header = true",
        );
        let rows = "SELECT CAST(('day=' || to_varchar(day)\n) AS VARCHAR) AS \"partition\", * \
                    FROM (SELECT * FROM t\n) AS \"rows\" ORDER BY 1";
        assert_eq!(unload.rows(), rows);
        assert_eq!(*parse(rows).expect("parsed").kind(), StatementKind::Select);
        assert_eq!(unload.first_file("q"), "out/__NULL__/data_q_0_0_0.snappy.parquet");
        let unload = told("copy into @s from (select 1 as a) partition by ((a)) file_format = (type = csv)");
        assert!(unload.is_partitioned() && unload.rows().starts_with("SELECT CAST(((a)\n)"), "{}", unload.rows());
        assert_eq!(unload.file(Some("a=1"), 3, "q"), "a=1/data_q_0_0_3.csv.gz");
        assert_eq!(told("copy into @s from t file_format = (type = csv)").rows(), "SELECT * FROM t");
    }

    #[test]
    fn no_value_of_a_partition_leads_out_of_its_prefix() {
        for (value, folder) in [
            (None, "__NULL__"),
            (Some(""), "__EMPTY__"),
            (Some("day=2026-01-28/hour=18"), "day=2026-01-28/hour=18"),
            (Some("Köln am Rhein"), "Köln am Rhein"),
            (Some("../../etc"), "!2E!2E/!2E!2E/etc"),
            (Some("/etc//x/"), "__EMPTY__/etc/__EMPTY__/x/__EMPTY__"),
            (Some("."), "!2E"),
            (Some("..."), "..."),
            (Some("a\\b%2e\nc!"), "a!5Cb!252e!0Ac!21"),
            (Some("\u{85}?#*"), "!C2!85!3F!23!2A"),
        ] {
            assert_eq!(partition_folder(value), folder, "{value:?}");
        }
    }

    #[test]
    fn an_unload_is_a_write_and_never_run_as_it_is() {
        let statement = parse("COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV)").expect("parsed");
        assert!(statement.is_write() && statement.answers() && !statement.kind().runs());
        let (catalog, session) = (crate::Catalog::default(), crate::testing::session());
        assert!(crate::resolve(statement, &catalog, &session).is_err());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "COPY INTO @s",
            "COPY INTO @s FROM",
            "COPY INTO @s FROM ()",
            "COPY INTO @s FROM (SELECT 1",
            "COPY INTO @main.~ FROM t FILE_FORMAT = (TYPE = CSV)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = ORC)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = PARQUET COMPRESSION = GZIP)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = PARQUET COMPRESSION = LZO)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV COMPRESSION = SNAPPY)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV COMPRESSION = BZ2)",
            "COPY INTO @s FROM t FILE_FORMAT = (COMPRESSION = NONE)",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV FIELD_DELIMITER = 'ab')",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) PARTITION BY (a)",
            "COPY INTO @s FROM t PARTITION BY a FILE_FORMAT = (TYPE = CSV)",
            "COPY INTO @s FROM t PARTITION BY () FILE_FORMAT = (TYPE = CSV)",
            "COPY INTO @s FROM t PARTITION BY (a) || b FILE_FORMAT = (TYPE = CSV)",
            "COPY INTO @s FROM t PARTITION BY (a FILE_FORMAT = (TYPE = CSV)",
            "COPY INTO @s FROM t PARTITION BY (a) FILE_FORMAT = (TYPE = CSV) SINGLE = TRUE",
            "COPY INTO @s FROM t PARTITION BY (a) FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE",
            "COPY INTO @s FROM t PARTITION BY (a) FILE_FORMAT = (TYPE = CSV) INCLUDE_QUERY_ID = FALSE",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) MAX_FILE_SIZE = 0",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) MAX_FILE_SIZE = 5368709121",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) SINGLE = TRUE INCLUDE_QUERY_ID = TRUE",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE INCLUDE_QUERY_ID = TRUE",
            "COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV) VALIDATION_MODE = RETURN_ERRORS",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
