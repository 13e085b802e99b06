//! `DIALECT.md`, the page of what is understood, made of the tables that the rewrites use.
//! `UPDATE_EXPECT=1` writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::ast::error::ErrorKind;
use crate::dialect;
use crate::functions::catalogue::{self, FunctionKind};
use crate::syntax::refusals;

fn page() -> String {
    let mut page = String::from(
        "# The dialect\n\n\
         What a cloud warehouse's SQL may say here. Made of the tables of `dataplane/sql`; a test compares it, and\n\
         `UPDATE_EXPECT=1 cargo test -p sql` writes it. What is not here and is no function of the engine is refused\n\
         by name.\n",
    );
    page.push_str("\n## Statements\n\n");
    for line in STATEMENTS {
        let _ = writeln!(page, "- {line}.");
    }
    page.push_str("\n## Queries\n\n");
    for line in QUERIES {
        let _ = writeln!(page, "- {line}.");
    }
    page.push_str("\n## Functions\n\nOf the warehouse, or with its meaning where the engine has the name too.\n\n");
    let names: Vec<String> = dialect::names().iter().map(|name| format!("`{}`", name.to_ascii_uppercase())).collect();
    page.push_str(&wrapped(&names));
    page.push_str("\n## Comparing by similar words\n\n");
    for line in MEANING {
        let _ = writeln!(page, "- {line}.");
    }
    let mut by_meaning = catalogue::all().filter(|function| function.is(FunctionKind::Meaning));
    assert!(by_meaning.all(|function| page.contains(&format!("`{}(", function.name.to_ascii_uppercase()))));
    page.push_str("\n## Parts of a date\n\n| Part | Words |\n|---|---|\n");
    for (part, words) in dialect::parts() {
        let _ = writeln!(page, "| {part} | {} |", words.join(", "));
    }
    page.push_str("\n## Refused by name\n\n| Statement | Instead |\n|---|---|\n");
    for (_, name, instead) in refusals::STATEMENTS {
        let _ = writeln!(page, "| {name} | {instead} |");
    }
    for (name, instead) in refusals::PARSED {
        let _ = writeln!(page, "| {name} | {instead} |");
    }
    page.push_str("\n## Not supported, and why\n\n| What | Why | Instead |\n|---|---|---|\n");
    for NotSupported { what, why, instead, .. } in NOT_SUPPORTED {
        let _ = writeln!(page, "| {what} | {why} | {instead} |");
    }
    page.push_str(
        "\n## Faults of the engine\n\n\
         Reports on 1.5 of wrong answers. `dataplane/tests/reports.jsonl` has the statement of each, and those that are right\n\
         on 1.5.5 besides; `dataplane/tests/reports.rs` runs them.\n\n| Report | Fault | Here |\n|---|---|---|\n",
    );
    page.push_str(&reports());
    page
}

/// What the tests of the data plane run, one report a line.
const REPORTS: &str = "../tests/reports.jsonl";

/// A row for each report that is not simply right on the pinned engine.
fn reports() -> String {
    let mut rows = String::new();
    for line in fs::read_to_string(REPORTS).unwrap().lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect(line);
        let word = |name: &str| report[name].as_str().unwrap_or_default().to_owned();
        let (verdict, how) = (word("verdict"), word("how"));
        if verdict != "right" {
            let _ = writeln!(rows, "| duckdb/duckdb#{} | {} | {verdict}: {how} |", report["report"], word("fault"));
        }
    }
    rows
}

/// A construct that people write elsewhere and that is refused here.
struct NotSupported {
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    /// A statement that is refused for it; none where the engine tells when it meets the value.
    refused: Option<&'static str>,
}

const NOT_SUPPORTED: &[NotSupported] = &[
    NotSupported {
        what: "a column with `COLLATE`",
        why: "row filters, masks and keys ask a column for its exact texts, and of what a collation takes for equal either would stand for both",
        instead: "`COLLATE` where texts are compared",
        refused: Some("CREATE TABLE c (s VARCHAR COLLATE 'en-ci')"),
    },
    NotSupported {
        what: "`COLLATE` of a language, as `'en'` or `'sv'`",
        why: "the engine compares texts by their characters, or without regard to case and accents",
        instead: "`COLLATE 'en-ci'`, `COLLATE 'en-ci-ai'`",
        refused: Some("SELECT name COLLATE 'sv' FROM t"),
    },
    NotSupported {
        what: "`DISTINCT` under a collation in an aggregate other than `COUNT`",
        why: "the engine takes each spelling for a value",
        instead: "`LOWER(…)`",
        refused: Some("SELECT LISTAGG(DISTINCT name COLLATE 'en-ci') FROM t"),
    },
    NotSupported {
        what: "whole numbers beyond 32 bits in a column of `INT`, beyond 64 in one of `BIGINT`",
        why: "drivers are told int4 and int8 and read so many bytes; such a value is error 22003",
        instead: "a column of `NUMBER(38,0)`; without a column whole numbers have 38 digits",
        refused: None,
    },
    NotSupported {
        what: "formats of `TO_CHAR` and its like that are parameters or columns",
        why: "the engine reads constant formats",
        instead: "the format as a literal",
        refused: Some("SELECT TO_CHAR(d, $1) FROM t"),
    },
    NotSupported {
        what: "a query in an expression that draws a value (`RANDOM()`, `UUID_STRING()`, `NEXTVAL`) and reads the row around it",
        why: "the engine asks it once for equal rows",
        instead: "the value drawn outside of the query",
        refused: Some("SELECT (SELECT RANDOM() + t.id) FROM t"),
    },
    NotSupported {
        what: "a drawn value in a condition above windows with `PARTITION BY`, in `HAVING` of a key, in two equal windows",
        why: "the engine draws it before the windows see their rows, once more, or once for both",
        instead: "a temporary table of the drawn values",
        refused: Some("SELECT id FROM (SELECT id, SUM(a) OVER (PARTITION BY b) AS s FROM t) x WHERE RANDOM() < 0"),
    },
    NotSupported {
        what: "`MATCH_RECOGNIZE`",
        why: "the engine has no patterns over rows",
        instead: "window functions, `CONDITIONAL_TRUE_EVENT`",
        refused: Some(
            "SELECT * FROM t MATCH_RECOGNIZE(ORDER BY id MEASURES FIRST(id) AS f PATTERN (x+) DEFINE x AS id > 1)",
        ),
    },
    NotSupported {
        what: "time travel, `AT` and `BEFORE`",
        why: "old versions of a table are not kept",
        instead: "a branch that is made before",
        refused: Some("SELECT id FROM t AT(OFFSET => -60)"),
    },
    NotSupported {
        what: "`information_schema.load_history` and `copy_history`",
        why: "of past loads their files are kept, and not how many rows each of them had",
        instead: "the answer of `COPY INTO`, `VALIDATE` with its query id, the audit log",
        refused: Some("SELECT * FROM information_schema.load_history"),
    },
    NotSupported {
        what: "a stage over Google's store, `URL = 'gcs://…'`",
        why: "no program that could stand for that store in a test keeps its conditions and uploads in parts",
        instead: "a stage over S3, Azure or a folder",
        refused: Some("CREATE STAGE s URL = 'gcs://load/files/' STORAGE_INTEGRATION = i"),
    },
];

const STATEMENTS: &[&str] = &[
    "`SELECT`, `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `TRUNCATE`, `EXPLAIN` of a query (what is read and governed)",
    "`MERGE` that would set a row of the target by several rows of the source is an error",
    "`INSERT OVERWRITE`, `INSERT ALL`, `INSERT FIRST`: in one transaction, the source read once",
    "`CREATE TABLE` with the warehouse's clauses, `AS SELECT`, `CLONE`, `LIKE`, `AUTOINCREMENT`, `IDENTITY`, `SERIAL`",
    "`VARCHAR(n)` and `CHAR(n)` hold n characters: a longer text is error 22001; `INSERT ALL` into them needs VALUES",
    "`CREATE TEMPORARY TABLE` in a transaction, which it ends with; others do not see it",
    "`CREATE [SECURE] VIEW`: read with the rights of who reads it; without the catalogue, NEXTVAL and PIVOT of unwritten values",
    "`CREATE FUNCTION … AS '<expression>'`: SQL, of its parameters alone",
    "`CREATE [OR REPLACE] SEQUENCE`, `<sequence>.NEXTVAL`",
    "`CREATE [OR REPLACE] STAGE`, `ALTER`, `DROP`, `SHOW`, `DESCRIBE` of it, with `FILE_FORMAT` and `COMMENT`: internal ones, whose files go with them, and external ones, with `URL = 's3://…' | 'azure://account.blob.core.windows.net/container/…' | 'file:///…'` and `STORAGE_INTEGRATION`",
    "`LIST @stage[/path] [PATTERN = '…']`, `REMOVE` of the same outside a transaction; `LS`, `RM`; a path with blanks stands in `'@stage/…'`. Whom a filter or mask of the stage binds is refused: names, sizes and sums of its files tell of what it hides",
    "`@~`, the own stage of whoever asks, wherever a stage's files are named: of a key, that of the user whom it acts for, or its own. Nobody else reads it, of whatever role, and its files go with the user or the key",
    "`@%table`, the own stage of a table, likewise: who reads the table reads its files, who loads it writes them, and who is bound by a filter or mask of it is refused. The files follow `RENAME` and go with the table",
    "`COPY INTO @stage[/path] FROM table | (query)` outside a transaction, with `FILE_FORMAT`, `HEADER`, `OVERWRITE`, `SINGLE`, `MAX_FILE_SIZE`, `INCLUDE_QUERY_ID`, `DETAILED_OUTPUT`: at most 256 files, all of them or none, of what you may see. With `VALIDATION_MODE = RETURN_ROWS` the rows are the answer, and nothing is written",
    "`PARTITION BY (expression)` of it: rows of each value go into the folder `path/<value>/` and those of NULL into `__NULL__`, as files `data_<query id>_…`, not with `SINGLE` or `OVERWRITE`. A slash in a value begins another folder; what could lead elsewhere is written `!2E`, and an empty name `__EMPTY__`",
    "Its files are written as `FILE_FORMAT = (TYPE = …)`, a file format or the stage says. Of CSV `FIELD_DELIMITER`, `RECORD_DELIMITER`, `FIELD_OPTIONALLY_ENCLOSED_BY`, `NULL_IF`, `EMPTY_FIELD_AS_NULL` and `FILE_EXTENSION` are honoured; options of reading are passed over",
    "An unloaded file is compressed, text with gzip and Parquet with Snappy but for columns that it hardly shrinks, and named so, unless its format says `COMPRESSION = NONE`. A text may be packed by `DEFLATE` or `RAW_DEFLATE` instead",
    "Unloaded Parquet has the columns' names with `HEADER = TRUE`, else `col1`, `col2`, …; VARIANT is its JSON as text, and an INTERVAL is refused",
    "An unloaded CSV has NULL as `\\N`, never in quotes. Without `FIELD_OPTIONALLY_ENCLOSED_BY` a text is in double quotes where it would be read as something else, an empty one too; with it everything is but numbers and truths. JSON is of a query of one column, a line for each value",
    "`CREATE [OR REPLACE] FILE FORMAT`, `ALTER`, `DROP`, `SHOW`, `DESCRIBE` of it: `CSV`, `JSON`, `PARQUET`, with the documented options",
    "Files that are read may be packed: `COMPRESSION = GZIP | BZ2 | ZSTD | DEFLATE | RAW_DEFLATE`, or `AUTO` by the end of their names, `.gz`, `.bz2`, `.zst`, `.deflate`, `.raw_deflate`",
    "`DATE_FORMAT`, `TIME_FORMAT` and `TIMESTAMP_FORMAT` of them, with the elements of `TO_DATE`, and `BINARY_FORMAT` read texts of CSV, and of JSON with `MATCH_BY_COLUMN_NAME`. A text that is no value is a fault of its record. `INFER_SCHEMA` tells dates by them. A query of CSV files and an external table refuse them: values are texts there",
    "`FIELD_DELIMITER` and `RECORD_DELIMITER` of CSV files that are read have up to 20 characters, and `FIELD_DELIMITER = NONE` makes one value of a record. With `TRIM_SPACE` blanks and tabs around a value and its quotes are none of it. A line that a fault names is counted as records are told apart",
    "`ENCODING` of CSV files that are read: `UTF8`, `UTF16`, `UTF16BE`, `UTF16LE`, ISO 8859 of the parts 1, 2, 5 to 8 and 15, Windows 874, 949 and 1250 to 1256. Further `KOI8R`, `BIG5`, `GB18030`, `EUCJP`, `EUCKR`, `ISO2022JP` and `SHIFTJIS`. Bytes that are no character fail their file, unless `REPLACE_INVALID_CHARACTERS`, or `IGNORE_UTF8_ERRORS` of JSON, is said",
    "`NULL_IF` and `TRIM_SPACE` of JSON and Parquet are of values that `MATCH_BY_COLUMN_NAME` loads. They are refused for a table with a VARIANT column, and a `NULL_IF` that is a number for one with a column of fractions",
    "`STRIP_NULL_VALUES` of JSON leaves out members of objects that are null, in every depth. A file with a null in an array is refused then: JSON has no word for the place that would be empty",
    "`COPY INTO table [FROM @stage[/path] | (SELECT …)]` with `FILES`, `PATTERN`, `FILE_FORMAT`, `MATCH_BY_COLUMN_NAME`, `FORCE`. Without `FROM` it loads the table's own stage. Each file is loaded once in 64 days, all of them or none, and into a temporary table each time. It is not for a branch, and no savepoint behind it is gone back to",
    "`SIZE_LIMIT`, `RETURN_FAILED_ONLY`, `LOAD_UNCERTAIN_FILES` of it. `INCLUDE_METADATA = (column = METADATA$FILENAME, …)` beside `MATCH_BY_COLUMN_NAME` fills columns with what is known of the file. `VALIDATION_MODE = RETURN_ERRORS | RETURN_ALL_ERRORS` loads nothing and tells up to 1,000 records of each file; it is refused where all have more than 20,000. `RETURN_n_ROWS` loads nothing either: it shows the first n rows, up to 10,000, and ends at the first record that fails. `PURGE = TRUE` outside a transaction removes the files of which no record has failed, once the load is committed",
    "`ON_ERROR = CONTINUE | SKIP_FILE | SKIP_FILE_n | 'SKIP_FILE_n%'`, `TRUNCATECOLUMNS`, `ENFORCE_LENGTH` of `COPY INTO`: records fail by their form, type, length or `NOT NULL`. With a query they fail by their form alone. A key, a `CHECK` or an error of the query ends the statement. `first_error_character` is NULL",
    "`SELECT $1, METADATA$FILENAME, METADATA$FILE_ROW_NUMBER FROM @stage[/path] [(FILE_FORMAT => 'name', PATTERN => '…')]`, without parameters; a path with blanks stands in `'@stage/…'`. The number counts the file's records and is NULL to whom a filter of the stage binds. `METADATA$FILE_CONTENT_KEY`, `METADATA$FILE_LAST_MODIFIED` and `METADATA$START_SCAN_TIME` are refused to whom a filter or mask of it binds. Whom a mask of `METADATA$FILENAME` binds reads a stage without path and pattern",
    "`TABLE(INFER_SCHEMA(LOCATION => '@stage[/path]', FILE_FORMAT => 'name'))` in `FROM`, with `FILES`, `IGNORE_CASE`, `MAX_FILE_COUNT`, `MAX_RECORDS_PER_FILE`: the columns of CSV, JSON and Parquet, of types that hold all values that are read. Whole numbers of Parquet are `NUMBER(38, 0)`, numbers with needless zeros are `TEXT`, and `NULLABLE` is false of a column that Parquet requires in each file. Of Parquet the footer alone is read",
    "`TABLE(VALIDATE(t, JOB_ID => '<query id>' | '_last'))` in `FROM`, with the columns of `VALIDATION_MODE = RETURN_ERRORS`: the records that an earlier `COPY INTO t` left out, up to 1,000 of each file. Its files are read again, as it read them. One that has changed since is an error, one that is gone is told, and new ones are ignored. A load that `ABORT_STATEMENT` would have ended has none, and one from a query is refused",
    "The query id is in the answer of REST and MCP and in the audit log, and `_last` is of a session over the PostgreSQL wire. Loads are kept for 64 days, the newest ones of each table, until it is emptied, dropped or replaced; those of a temporary table are not. They are told to whoever asked them, and to owners and admins, as far as they may read the table and the stage's whole files; not in a view or on a branch",
    "`GENERATE_COLUMN_DESCRIPTION(ARRAY_AGG(OBJECT_CONSTRUCT(*)), 'table' | 'external_table' | 'view')` of these rows: the columns as a statement has them that makes one, with `NOT NULL` where a table's column is not `NULLABLE`",
    "`CREATE TABLE t USING TEMPLATE (SELECT ARRAY_AGG(OBJECT_CONSTRUCT(*)) [WITHIN GROUP (ORDER BY order_id)] FROM TABLE(INFER_SCHEMA(…)))`. It may be another query that answers one array of objects with `COLUMN_NAME`, `TYPE` and `NULLABLE`, as far as its caller may ask it",
    "`CREATE EXTERNAL TABLE t USING TEMPLATE (…) LOCATION = @stage/folder …`: each column is the member of its name, as `EXPRESSION` says it without `IGNORE_CASE`",
    "`CREATE [OR REPLACE] EXTERNAL TABLE t [(column type AS (expression), …)] [PARTITION BY (column, …)] LOCATION = @stage/folder`, with `PATTERN`, `FILE_FORMAT`, `REFRESH_ON_CREATE`, `AUTO_REFRESH = FALSE`, `COMMENT`; `DROP`, `SHOW`, `DESCRIBE` of it. An expression reads `VALUE`, or `$1`, `METADATA$FILENAME` and `METADATA$FILE_ROW_NUMBER`; the path is the one below the stage",
    "An external table is governed by its own name. A filter or mask of its stage closes it to whom it binds, until a policy names the table. `ALTER EXTERNAL TABLE t REFRESH ['folder/']` says which files it has, and `ADD FILES ('path', …)` or `REMOVE FILES` some of them: one that has changed or gone since is an error. Its rows cannot be changed, and `VALUE` is NULL to whom another column is masked. A column made of `METADATA$FILE_ROW_NUMBER` is NULL to whom a filter of the table binds",
    "Equality and `IN` of literals leave out files by columns of `PARTITION BY`, which are made of `METADATA$FILENAME` alone, where no rule hides anything of the table from you",
    "`ALTER TABLE`, `DROP TABLE | VIEW | FUNCTION | SEQUENCE | SCHEMA`, `CREATE SCHEMA`",
    "`DROP COLUMN … CASCADE | RESTRICT` drops no view: a column that a view uses, or a key, is error 2BP01",
    "`CREATE INDEX`, `FOREIGN KEY`, `REFERENCES`, `ALTER TABLE … ADD UNIQUE`: accepted with a notice and not kept, as nothing checks them",
    "`DROP INDEX` and `SET CONSTRAINTS` over the PostgreSQL wire: accepted, as there is nothing that they change",
    "`COMMENT ON TABLE | VIEW | COLUMN … IS`, `COMMENT = '…'` of a table or view and `COMMENT '…'` of a table's column",
    "On a branch: queries, and changes of its tables; what defines (`CREATE`, `ALTER`, `DROP`) is refused there",
    "`SHOW DATABASES | TABLES | VIEWS | OBJECTS | SCHEMAS | COLUMNS | SEQUENCES | USER FUNCTIONS | PROCEDURES`, `DESCRIBE`",
    "`SHOW PRIMARY | IMPORTED KEYS [IN [TABLE | SCHEMA | DATABASE | ACCOUNT] name]`",
    "`USE`, `ALTER SESSION`, `SET`, `ALTER TABLE … CLUSTER BY`: accepted; what they choose is chosen by the protocol and the key",
    "`SET v = <literal>`, `SET (a, b) = (…)`, `UNSET`, `SHOW VARIABLES` in a session; `$v` is that literal",
    "Over REST, MCP and Flight a request is a session: `SET v = 5; SELECT $v` is one text, and `v` ends with its answer",
    "`standard_conforming_strings = off`: a backslash in a string escapes; a setting of PostgreSQL's sessions, a member of REST's bodies and MCP's arguments, Flight's header `x-standard-conforming-strings`; then `LIKE 'a\\\\_b'` without `ESCAPE` escapes the `_`",
];

const QUERIES: &[&str] = &[
    "`QUALIFY`, `GROUP BY ALL`, `ORDER BY ALL`, aliases used again, `* EXCLUDE | REPLACE | RENAME | ILIKE`, `TOP`, `FETCH`, `MINUS`",
    "`a:b.c[0]::type`, subscripts of variants from 0; a variant next to a plain value is read as its type",
    "`[1, 'a']` and `{'a': 1}` are `ARRAY_CONSTRUCT` and `OBJECT_CONSTRUCT`; `ARRAY[…]`, and what is cast to `INT[]`, is a list, from 1",
    "Text that is written to a column of variants is JSON if it can be read so, else a text; `1.5e3` is exact up to 28 digits",
    "A variant that is written to a column of texts is its text, without quotes; of a `UNION` and its like say `::VARCHAR`",
    "`LATERAL FLATTEN` and `TABLE(FLATTEN(…))` with `PATH`, `OUTER`, `RECURSIVE`, `MODE`, all six columns",
    "`TABLE(GENERATOR(ROWCOUNT => n))`, `TABLE(SPLIT_TO_TABLE(…))`, `FROM VALUES …` with `column1` and `$1`",
    "`OBJECT_CONSTRUCT(*)` and `HASH(*)` of one table, `t.*` too; `COUNT(t.*)` counts its rows without a NULL",
    "`FROM unnest(a, b)`: arrays beside one another, as far as the longest; without an alias its columns are called `unnest`",
    "`database.table` of an attached PostgreSQL, a storage integration of the kind `postgres`: read only, and by no view, row filter or `PIVOT … IN (ANY)`; not on a branch",
    "`IDENTIFIER('t')`, `TABLE('t')`, `DUAL`, a `WITH` query that names itself, `WITH … AS MATERIALIZED`, `COLLATE 'en-ci'`",
    "`START WITH … CONNECT BY [NOCYCLE]`, `LEVEL`, `PRIOR`, `CONNECT_BY_ROOT`, `SYS_CONNECT_BY_PATH`; a cycle is an error",
    "`(+)`, `ASOF JOIN … MATCH_CONDITION`, a join without a condition: every row with every row",
    "`PIVOT (… IN (list | ANY | SELECT))` with columns `\"'a'\"`, `UNPIVOT`, `SAMPLE`, `LIKE ANY | ALL`, `RLIKE`, lambdas over arrays",
    "`information_schema.tables | columns | schemata | views | sequences | functions | stages | file_formats | external_tables`; `duckdb_tables()`: tables with about how many rows they have, NULL where some may be hidden from you",
    "`<name>_context('table', 'words' [, n])`: the n rows, 10 unless given, whose values hold most of the words, as whole words; `<name>` is any word",
    "`<name>_rag_context('table', 'column', [x, y, …] [, n])`: the n rows whose vector is nearest, by cosine",
    "`NTH_VALUE(x, n) FROM FIRST | LAST`, with a window that is ordered",
    "`FOR UPDATE | SHARE [OF t] [NOWAIT]`: accepted with a notice, as no row is locked; `SKIP LOCKED` is refused",
    "A cast of text to `TIMESTAMP_NTZ` leaves an offset out; `12/31/2024` and `31-DEC-2024` are read beside ISO 8601",
    "Text that is written to a column of dates, times or booleans is read as a cast to its type reads it, an offset behind a blank too",
    "A timestamp as text has three digits of a second: `2024-01-02 03:04:05.000`, one with a zone its offset behind it",
    "`TIMESTAMP_TZ` keeps the offset of a literal within its statement: behind names and subqueries, in `CASE`, `MIN`, `DATEADD`, `DATE_TRUNC`",
    "The offset of any other text is kept in the expression around its cast, not behind a name; nor is that of `TRY_CAST`, of a zone's name, or where rows differ",
    "A column of `TIMESTAMP_TZ` is stored in UTC, and it and every answer are UTC; values compare and sort by the moment",
    "`SHA2` of 224, 384 or 512 bits is of literals alone",
    "Chains of `OR`, `AND`, `||`, `UNION` and `INTERSECT` have 10,000 arms in all; anything else nests 400 levels deep",
    "`(a, b) = (c, d)` and `(a, b) NOT IN ((c, d), …)` compare column by column; `(a, b) NOT IN (SELECT …)` is refused: write `NOT EXISTS`",
];

const MEANING: &[&str] = &[
    "`SEMANTIC_RANK(col, text)`: how well a text or vector fits a text by similar words, from 0 to 1: as memories are searched without a model",
    "`SEMANTIC_MATCH(col, text [, threshold])`, `VECTOR_MATCH(…)`: whether that reaches the threshold, 0.7 unless given",
    "`a JOIN_VECTOR b ON SEMANTIC_MATCH(b.col, a.col)`: an inner join by such a condition",
    "`col` is text, or a `FLOAT[256]`; NULL is NULL; a masked column is compared as it is shown",
    "A call takes at most 10,000 different texts of up to 64 KiB, 16 MiB in all; a statement has at most 4 calls",
];

fn wrapped(words: &[String]) -> String {
    const WIDTH: usize = 100;
    let mut text = String::new();
    let mut width = 0;
    for (place, word) in words.iter().enumerate() {
        let end = if place + 1 == words.len() { "\n" } else { "," };
        if width > 0 && width + word.len() + 2 > WIDTH {
            text.push('\n');
            width = 0;
        }
        if width > 0 {
            text.push(' ');
        }
        text.push_str(word);
        text.push_str(end);
        width += word.len() + 2;
    }
    text
}

#[test]
fn what_is_said_not_to_be_supported_is_refused() {
    for NotSupported { what, refused, .. } in NOT_SUPPORTED {
        let Some(sql) = refused else { continue };
        let told = dialect::tests::walked(sql).unwrap_err();
        assert!(matches!(told.kind, ErrorKind::Unsupported { .. }), "{what}: {told}");
    }
}

#[test]
fn the_page_says_what_the_tables_say() {
    let path = Path::new("DIALECT.md");
    let made = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, &made).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap_or_default() == made, "UPDATE_EXPECT=1 writes DIALECT.md");
}
