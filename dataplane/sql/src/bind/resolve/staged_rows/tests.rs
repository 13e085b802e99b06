use crate::catalog::definition::{Definition, DefinitionKind, comment};
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::{Catalog, SessionNames};
use crate::govern::Rules;

fn catalog() -> Catalog {
    let columns = [("id", "INTEGER"), ("note", "VARCHAR(5)"), ("day", "DATE"), ("more", "JSON")];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut catalog = Catalog::new([Table::new("main", "t", columns)]);
    for (kind, name, text) in [
        (DefinitionKind::Function, "_svc_stage_s", "CREATE STAGE s ID = 'q1' FILE_FORMAT = (TYPE = 'CSV')"),
        (
            DefinitionKind::Function,
            "_svc_stage_h",
            "CREATE STAGE h ID = 'q3' FILE_FORMAT = (TYPE = 'CSV' PARSE_HEADER = TRUE)",
        ),
        (DefinitionKind::Function, "_svc_stage_j", "CREATE STAGE j ID = 'q2' FILE_FORMAT = (TYPE = 'JSON')"),
        (
            DefinitionKind::Function,
            "_svc_stage_d",
            "CREATE STAGE d ID = 'q4' FILE_FORMAT = (TYPE = 'CSV' DATE_FORMAT = 'DD.MM.YYYY')",
        ),
        (DefinitionKind::Function, "_svc_file_format_f", "CREATE FILE FORMAT f TYPE = 'CSV' SKIP_HEADER = 1"),
    ] {
        let entry = Definition::read(kind, "main", name, Vec::new(), comment("main", text));
        catalog.define(entry.expect("a definition"));
    }
    catalog
}

fn resolved(sql: &str) -> Result<crate::Resolved, crate::Error> {
    crate::resolve(crate::parse(sql)?, &catalog(), &SessionNames::new("demo"))
}

fn engine(sql: &str) -> String {
    let governed = crate::govern(resolved(sql).unwrap(), &Rules::default()).unwrap();
    crate::transpile(governed.embedded().unwrap()).unwrap().sql
}

#[test]
fn a_stage_is_known_by_its_name_and_read_from_a_table_that_no_caller_can_name() {
    let resolved = resolved("SELECT $2, METADATA$FILENAME FROM @s/in (FILE_FORMAT => 'f') x").unwrap();
    assert_eq!(resolved.tables(), ["main.@s"]);
    let [rows] = resolved.staged() else { panic!("{:?}", resolved.staged()) };
    assert_eq!(
        (rows.stage_id.as_str(), rows.path().as_str(), rows.kept_as.as_str()),
        ("q1", "main.@s", "_sluice_staged_0")
    );
    let columns: Vec<_> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(columns, ["$1", "$2", "METADATA$FILENAME", "METADATA$FILE_ROW_NUMBER"]);
    let sql = engine("SELECT x.$1 FROM @s x JOIN @j y ON x.$1 = y.$1:id::varchar");
    assert!(sql.contains(r#""temp"."main"."_sluice_staged_0""#), "{sql}");
    assert!(sql.contains(r#""temp"."main"."_sluice_staged_1""#), "{sql}");
}

#[test]
fn columns_over_a_file_are_there_where_a_statement_names_them() {
    for (sql, expected) in [
        ("SELECT $1, metadata$file_content_key FROM @s", vec!["$1", "METADATA$FILE_CONTENT_KEY"]),
        (
            "SELECT count(*) FROM @s WHERE METADATA$START_SCAN_TIME > METADATA$FILE_LAST_MODIFIED",
            vec!["METADATA$FILE_LAST_MODIFIED", "METADATA$START_SCAN_TIME"],
        ),
        ("SELECT $1 FROM @s", vec!["$1"]),
    ] {
        let resolved = resolved(sql).unwrap();
        let [rows] = resolved.staged() else { panic!("{sql}: {:?}", resolved.staged()) };
        let columns: Vec<_> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(columns, [expected, vec!["METADATA$FILENAME", "METADATA$FILE_ROW_NUMBER"]].concat(), "{sql}");
        let is_told = rows.columns.len() > rows.width() + 2;
        assert_eq!((rows.width(), rows.tells_facts()), (sql.matches("$1").count(), is_told), "{sql}");
    }
}

#[test]
fn members_whose_text_is_read_have_columns_of_their_own_where_no_rule_holds() {
    let made = |sql: &str, rules: &Rules| {
        let governed = crate::govern(resolved(sql).unwrap(), rules).unwrap();
        crate::transpile(governed.embedded().unwrap()).unwrap()
    };
    let sql = "SELECT $1:id::double, x.$1:note::varchar, $1:more, $1:a.b::varchar FROM @j x";
    let (by_member, reads) = made(sql, &Rules::default()).by_member("_sluice_staged_0").unwrap().unwrap();
    let told: Vec<_> = reads.iter().map(crate::MemberRead::column).collect();
    assert_eq!(told, ["$1:id::DOUBLE", "$1:note"]);
    for part in [r#""$1:id::DOUBLE" AS DOUBLE)"#, r#""x"."$1:note""#, r#""$1" -> '$."more"'"#, r#"->> '$."a"."b"'"#] {
        assert!(by_member.sql.contains(part), "{part}: {}", by_member.sql);
    }
    assert!(made("SELECT $1 FROM @j", &Rules::default()).by_member("_sluice_staged_0").unwrap().is_none());
    let cases = "SELECT $1:id::varchar, $1:ID::varchar FROM @j";
    let (by_member, reads) = made(cases, &Rules::default()).by_member("_sluice_staged_0").unwrap().unwrap();
    assert_eq!(reads.iter().map(crate::MemberRead::column).collect::<Vec<_>>(), ["$1:id"]);
    assert!(by_member.sql.contains(r#"->> '$."ID"'"#), "no column is found for two: {}", by_member.sql);
    let two = "SELECT x.$1:a::int FROM @j x JOIN @j y ON x.$1:a::int = y.$1:a::int";
    assert!(made(two, &Rules::default()).by_member("_sluice_staged_0").unwrap().is_none());
}

#[test]
fn copy_into_fills_the_columns_of_its_table_in_their_order() {
    let resolved = resolved("COPY INTO t (day, note) FROM @s").unwrap();
    let columns = |rows: &crate::StagedRows| {
        let each = rows.columns.iter().map(|column| format!("{} {}", column.name, column.type_name));
        each.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(columns(&resolved.staged()[0]), "day DATE, note VARCHAR");
    assert_eq!(resolved.tables(), ["main.t", "main.@s"]);
    let sql = engine("COPY INTO t FROM @s");
    assert!(sql.starts_with(r#"INSERT INTO "raw"."main"."t" SELECT"#), "{sql}");
}

#[test]
fn a_date_of_a_file_is_read_by_the_format_that_is_said() {
    let resolved = resolved("COPY INTO t (id, day) FROM @d").unwrap();
    let [rows] = resolved.staged() else { panic!("{:?}", resolved.staged()) };
    let day = r#"CAST(try_strptime("$2", '%d.%m.%Y') AS DATE)"#;
    assert_eq!(rows.formatted("\"$2\"", "DATE").as_deref(), Some(day));
    assert_eq!((rows.formatted("\"$1\"", "INTEGER"), rows.judged().is_some()), (None, true));
    let others = crate::parse("COPY INTO t (id, note) FROM @d").unwrap();
    let others = crate::resolve(others, &catalog(), &SessionNames::new("demo")).unwrap();
    assert!(others.staged()[0].judged().is_none(), "no column of it is a date");
}

#[test]
fn the_columns_of_files_are_rows_of_the_stage_that_has_them() {
    let resolved = resolved("SELECT type FROM TABLE(INFER_SCHEMA(LOCATION => '@h', FILE_FORMAT => 'f')) x").unwrap();
    assert_eq!(resolved.tables(), ["main.@h"]);
    let [rows] = resolved.staged() else { panic!("{:?}", resolved.staged()) };
    assert!(!rows.selects() && rows.infers.is_some());
    let columns: Vec<_> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(columns, ["COLUMN_NAME", "TYPE", "NULLABLE", "EXPRESSION", "FILENAMES", "ORDER_ID"]);
}

#[test]
fn what_cannot_be_read_of_a_stage_is_refused() {
    for (sql, words) in [
        ("SELECT $1 FROM @nope", "stage nope does not exist"),
        ("SELECT $1 FROM @s (FILE_FORMAT => 'nope')", "file format nope does not exist"),
        ("CREATE VIEW v AS SELECT $1 FROM @s", "a stage in a view is not supported"),
        ("DELETE FROM @s", "does not exist"),
        ("COPY INTO nope FROM @s", "table nope does not exist"),
        ("COPY INTO t (nope) FROM @s", "column nope of main.t does not exist"),
        ("SELECT $1 FROM @h", "PARSE_HEADER without MATCH_BY_COLUMN_NAME is not supported"),
        ("COPY INTO t FROM @h", "PARSE_HEADER without MATCH_BY_COLUMN_NAME is not supported"),
        ("COPY INTO t FROM @j", "say MATCH_BY_COLUMN_NAME"),
        ("COPY INTO t (id) FROM @j", "say MATCH_BY_COLUMN_NAME"),
        ("COPY INTO t (id) FROM @j MATCH_BY_COLUMN_NAME = CASE_SENSITIVE", "stands without a list of columns"),
        ("SELECT $1 FROM @d", "DATE_FORMAT of a query of files is not supported"),
        ("COPY INTO t (id) FROM (SELECT $1 FROM @d)", "DATE_FORMAT of a query of files is not supported"),
        ("COPY INTO t FROM @s FILE_FORMAT = (TYPE = CSV TIME_FORMAT = 'Q')", "the format element Q is not supported"),
        (
            "COPY INTO t FROM @s MATCH_BY_COLUMN_NAME = CASE_SENSITIVE",
            "of a CSV file without PARSE_HEADER is not supported",
        ),
    ] {
        let error = resolved(sql).unwrap_err();
        assert!(error.message.contains(words), "{sql}: {error}");
    }
    assert!(resolved("COPY INTO t (more) FROM @j").is_ok());
    assert!(resolved("COPY INTO t FROM @h MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE").is_ok());
    let made = resolved("COPY INTO t (id) FROM (SELECT $1:id::integer FROM @j)").unwrap();
    assert_eq!(made.staged()[0].columns[0], Column::new("$1", "JSON"));
}
