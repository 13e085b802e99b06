use super::*;
use crate::catalog::staged_rows::{AfterLoad, ErrorLimit, NameMatching, OnError, ToldFiles, ValidatedFiles};
use crate::syntax::statement::{Operation, StatementKind};

fn reads(text: &str) -> (String, Vec<StageRead>) {
    let statement = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    (statement.redacted(), statement.reads().to_vec())
}

fn refusal(text: &str) -> String {
    crate::parse(text).unwrap_err().message
}

#[test]
fn a_stage_is_read_with_its_path_and_what_is_said_of_its_files() {
    for (text, prefix, pattern, width) in [
        ("SELECT $1 FROM @s", "", None, 1),
        ("SELECT $2, t.$4 FROM @main.s/in/2026-01/a.csv.gz t", "in/2026-01/a.csv.gz", None, 4),
        ("SELECT $1 FROM @s/in/ (FILE_FORMAT => 'f', PATTERN => '.*[.]csv') AS t", "in/", Some(".*[.]csv"), 1),
        ("SELECT count(*) FROM x JOIN @s(PATTERN => 'a') ON true", "", Some("a"), 0),
    ] {
        let (_, reads) = reads(text);
        let [read] = reads.as_slice() else { panic!("{text}: {reads:?}") };
        assert_eq!((read.chosen.prefix.as_str(), read.chosen.pattern.as_deref(), read.width), (prefix, pattern, width));
        assert_eq!(read.load, None, "{text}");
    }
    let statement = crate::parse("SELECT a.$1 FROM @s/x a JOIN @\"My Stage\"/y b ON a.$1 = b.$1").unwrap();
    assert_eq!(statement.tables().iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["@s", "@My Stage"]);
    assert_eq!(statement.parameters(), 0);
    for (text, name) in [("SELECT $1 FROM @~/in/a", "@~"), ("COPY INTO t FROM @main.%t/in/a", "@%t")] {
        let statement = crate::parse(text).unwrap();
        assert!(statement.tables().iter().any(|table| table.name == name), "{text}");
        assert_eq!(statement.reads()[0].chosen.prefix, "in/a", "{text}");
    }
    assert!(crate::parse("SELECT trim('@' FROM '@s')").unwrap().reads().is_empty());
}

#[test]
fn copy_into_a_table_is_an_insert_that_the_log_tells_as_it_was_written() {
    let text = "COPY INTO main.t (a, b) FROM @s/in/ FILES = ('a.csv', 'b.csv') FILE_FORMAT = (TYPE = CSV) FORCE = TRUE";
    let statement = crate::parse(text).unwrap();
    assert_eq!((statement.kind(), statement.loads()), (&StatementKind::Insert, true));
    assert!(statement.is_write() && statement.answers());
    let (redacted, reads) = reads(text);
    assert_eq!(redacted, "COPY INTO main.t (a, b) FROM \"@s\" ?");
    let chosen =
        FileChoice { prefix: "in/".to_owned(), names: vec!["a.csv".to_owned(), "b.csv".to_owned()], pattern: None };
    assert_eq!(reads[0].chosen, chosen);
    assert_eq!(reads[0].load, Some(LoadOptions { forces: true, ..LoadOptions::default() }));
    let (_, reads) =
        self::reads("copy into t from '@s/a b.json' match_by_column_name = case_insensitive purge = false");
    assert_eq!(reads[0].chosen.prefix, "a b.json");
    assert_eq!(reads[0].load.unwrap().by_name, Some(NameMatching::CaseInsensitive));
    let text = "copy into t (a) from (select upper(s.$2) from @s/x s) pattern = 'y' force = true";
    let (redacted, reads) = self::reads(text);
    assert_eq!(redacted, "COPY INTO t (a) FROM (SELECT upper(s.\"$2\") FROM \"@s\" AS s) ?");
    assert_eq!((reads[0].width, reads[0].chosen.pattern.as_deref()), (2, Some("y")));
    assert_eq!(reads[0].load, Some(LoadOptions { forces: true, transforms: true, ..LoadOptions::default() }));
}

#[test]
fn copy_into_says_how_it_goes_on_at_an_error() {
    for (said, on_error, truncates) in [
        ("", OnError::Abort, false),
        ("on_error = abort_statement", OnError::Abort, false),
        ("ON_ERROR = CONTINUE TRUNCATECOLUMNS = TRUE", OnError::Continue, true),
        ("ON_ERROR = 'SKIP_FILE' ENFORCE_LENGTH = FALSE", OnError::SkipFile(ErrorLimit::Count(1)), true),
        ("ON_ERROR = skip_file_3 ENFORCE_LENGTH = TRUE", OnError::SkipFile(ErrorLimit::Count(3)), false),
        ("ON_ERROR = 'SKIP_FILE_10%'", OnError::SkipFile(ErrorLimit::Percent(10)), false),
    ] {
        let (_, reads) = reads(&format!("COPY INTO t FROM @s {said}"));
        let load = LoadOptions { on_error, truncates, ..LoadOptions::default() };
        assert_eq!(reads[0].load, Some(load), "{said}");
    }
    let (_, reads) = reads("COPY INTO t FROM (SELECT $1 FROM @s) ON_ERROR = SKIP_FILE ENFORCE_LENGTH = TRUE");
    let load = reads[0].load.unwrap();
    let on_error = OnError::SkipFile(ErrorLimit::Count(1));
    assert_eq!((load.on_error, load.transforms, load.judges()), (on_error, true, true));
    let (_, reads) = self::reads("COPY INTO t FROM (SELECT $1 FROM @s) TRUNCATECOLUMNS = TRUE");
    let load = reads[0].load.unwrap();
    assert_eq!((load.truncates, load.judges()), (true, false), "the query cuts its texts");
    let text = "COPY INTO t FROM @s PURGE = TRUE SIZE_LIMIT = 10 RETURN_FAILED_ONLY = TRUE LOAD_UNCERTAIN_FILES = TRUE";
    let statement = crate::parse(text).unwrap();
    let (after, told, size_limit) = (AfterLoad::Removed, ToldFiles::Failed, Some(10));
    assert_eq!(statement.reads()[0].load, Some(LoadOptions { after, told, size_limit, ..LoadOptions::default() }));
    assert!(statement.operations().contains(&Operation::Delete), "it removes files");
    let (_, reads) = self::reads("COPY INTO t FROM @s PURGE = TRUE VALIDATION_MODE = RETURN_ERRORS");
    let load = reads[0].load.unwrap();
    assert_eq!((load.validates, load.removes()), (Some(ValidatedFiles::Unloaded), false));
    let (_, reads) = self::reads("COPY INTO t FROM @s ON_ERROR = CONTINUE VALIDATION_MODE = return_3_rows");
    let load = reads[0].load.unwrap();
    assert_eq!(
        (load.validates, load.on_error, load.tells_faults()),
        (Some(ValidatedFiles::First(3)), OnError::Abort, false)
    );
    assert_eq!((load.behind(2).shows(), load.behind(4).shows()), (Some(1), Some(0)));
    let limits = [OnError::Continue, OnError::SkipFile(ErrorLimit::Percent(10))].map(|on_error| on_error.limit(25));
    assert_eq!(limits, [25, 3]);
}

#[test]
fn as_many_files_are_named_as_is_documented() {
    let files = |count: usize| vec!["'a'"; count].join(", ");
    let load = |count| crate::parse(&format!("COPY INTO t FROM @s FILES = ({})", files(count)));
    assert_eq!(load(1_000).unwrap().reads()[0].chosen.names.len(), 1_000);
    assert!(load(1_001).unwrap_err().message.contains("FILES is a list of up to 1000 texts"));
    let call = "SELECT * FROM TABLE(INFER_SCHEMA(LOCATION => '@s', FILE_FORMAT => 'f', FILES => (";
    assert!(refusal(&format!("{call}{})))", files(1_001))).contains("is a list of up to 1000 texts"));
}

#[test]
fn what_is_not_done_is_refused_by_name() {
    for (text, words) in [
        ("COPY INTO t FROM @\"~\"", "~ is called as the own stage of a user or a table: name it otherwise"),
        ("CREATE STAGE \"%t\"", "%t is called as the own stage of a user or a table: name it otherwise"),
        ("COPY INTO t FROM (SELECT $1 FROM @s JOIN @u ON true)", "COPY INTO of other than one stage is not supported"),
        ("COPY INTO t FROM (SELECT 1)", "COPY INTO of other than one stage is not supported"),
        ("COPY INTO t FROM (SELECT $1 FROM @s) MATCH_BY_COLUMN_NAME = CASE_SENSITIVE", "stands without a query"),
        ("COPY INTO t FROM @s ON_ERROR = SKIP_FILE_0", "ON_ERROR is ABORT_STATEMENT, CONTINUE, SKIP_FILE"),
        ("COPY INTO t FROM @s ON_ERROR = 'SKIP_FILE_101%'", "ON_ERROR is ABORT_STATEMENT, CONTINUE, SKIP_FILE"),
        (
            "COPY INTO t FROM (SELECT $1 FROM @s) VALIDATION_MODE = RETURN_ERRORS",
            "VALIDATION_MODE stands without a query",
        ),
        ("COPY INTO t FROM @s INCLUDE_METADATA = (a = METADATA$FILENAME)", "stands with MATCH_BY_COLUMN_NAME"),
        ("COPY INTO t FROM @s INCLUDE_METADATA = (a = b)", "INCLUDE_METADATA is (column = METADATA$FILENAME, …)"),
        ("COPY INTO t FROM @s INCLUDE_METADATA = METADATA$FILENAME", "INCLUDE_METADATA is (column ="),
        ("COPY INTO t FROM @s PURGE = 1", "PURGE is TRUE or FALSE"),
        ("COPY INTO t FROM @s SIZE_LIMIT = 0", "SIZE_LIMIT is a number of bytes"),
        ("COPY INTO t FROM @s VALIDATION_MODE = RETURN_0_ROWS", "VALIDATION_MODE is RETURN_n_ROWS, n up to 10000"),
        ("COPY INTO t FROM @s VALIDATION_MODE = RETURN_ROWS", "VALIDATION_MODE is RETURN_n_ROWS, n up to 10000"),
        ("COPY INTO t FROM @s FILES = ('a') PATTERN = 'b'", "FILES and PATTERN do not stand together"),
        ("COPY INTO t FROM 's3://b/a.csv'", "COPY INTO of other than a table or a stage is not supported"),
        ("SELECT $1 FROM @s WHERE $2 = ?", "a parameter of a statement that reads a stage is not supported"),
        ("SELECT $1 FROM @s (FORMAT => 'f')", "a stage is read with (FILE_FORMAT => 'name', PATTERN => 'expression')"),
        ("SELECT $1 FROM @\"a.b\"", "a.b has a dot in it: name it without"),
    ] {
        assert!(refusal(text).contains(words), "{text}: {}", refusal(text));
    }
}
