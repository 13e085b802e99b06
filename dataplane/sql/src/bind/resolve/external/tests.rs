use crate::catalog::definition::{Definition, DefinitionKind, comment};
use crate::catalog::external_change::ExternalChange;
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::{Catalog, SessionNames};

const MADE: &str = "CREATE EXTERNAL TABLE logs (day DATE AS (TO_DATE(SPLIT_PART(metadata$filename, '/', 2))), \
                    note VARCHAR AS (value:note::varchar)) PARTITION BY (day) LOCATION = @s/logs FILE_FORMAT = f";

fn catalog() -> Catalog {
    let mut catalog = Catalog::new([Table::new("main", "t", vec![Column::new("day", "DATE")])]);
    let columns = [("VALUE", "JSON"), ("day", "DATE"), ("note", "VARCHAR")];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let kept = format!("external table q2 q1\n{MADE}");
    for (kind, name, columns, text) in [
        (DefinitionKind::Function, "_svc_stage_s", Vec::new(), "CREATE STAGE s ID = 'q1' FILE_FORMAT = (TYPE = 'CSV')"),
        (
            DefinitionKind::Function,
            "_svc_stage_other",
            Vec::new(),
            "CREATE STAGE other ID = 'q9' FILE_FORMAT = (TYPE = 'CSV')",
        ),
        (DefinitionKind::Function, "_svc_file_format_f", Vec::new(), "CREATE FILE FORMAT f TYPE = 'JSON'"),
        (DefinitionKind::View, "logs", columns.clone(), kept.as_str()),
        (DefinitionKind::View, "orphan", columns, "external table q3 q0\nCREATE EXTERNAL TABLE orphan LOCATION = @s"),
        (
            DefinitionKind::View,
            "seen",
            Vec::new(),
            "CREATE VIEW seen AS SELECT note FROM logs WHERE day = '2026-01-01'",
        ),
    ] {
        let read = Definition::read(kind, "main", name, columns, comment("main", text)).expect("a definition");
        match Table::of_external(&read) {
            Some(table) => catalog.add(table),
            None => catalog.define(read),
        }
    }
    catalog
}

fn resolved(sql: &str) -> Result<crate::Resolved, crate::Error> {
    crate::resolve(crate::parse(sql)?, &catalog(), &SessionNames::new("demo"))
}

fn engine(sql: &str) -> crate::EngineSql {
    let governed = crate::govern(resolved(sql).unwrap(), &crate::Rules::default()).unwrap();
    crate::transpile(governed.embedded().unwrap()).unwrap()
}

#[test]
fn one_that_is_read_is_known_by_its_own_name() {
    let read = resolved("SELECT l.note FROM logs l WHERE l.day = '2026-01-01' AND note IN ('x')").unwrap();
    assert_eq!(read.tables(), ["main.logs"]);
    let [rows] = read.staged() else { panic!("{:?}", read.staged()) };
    let external = rows.external.as_ref().unwrap();
    assert_eq!((rows.known_as(), rows.path(), rows.stage_id.as_str()), ("main.logs".into(), "main.@s".into(), "q1"));
    assert_eq!((external.id.as_str(), rows.chosen.prefix.as_str()), ("q2", "logs/"));
    let asked: Vec<_> = external.conditions.iter().map(|one| one.column.as_str()).collect();
    assert_eq!(asked, ["day"], "columns of partitions alone leave out files");
    let sql = engine("SELECT note FROM logs").sql;
    assert!(sql.contains(r#""temp"."main"."_sluice_staged_0""#), "{sql}");
}

#[test]
fn no_file_is_left_out_where_a_row_of_it_could_be_asked_for() {
    for sql in [
        "SELECT * FROM logs",
        "SELECT * FROM logs WHERE day = '2026-01-01' OR note = 'x'",
        "SELECT * FROM logs WHERE day > '2026-01-01'",
        "SELECT * FROM logs WHERE NOT (day = '2026-01-01')",
        "SELECT * FROM logs l JOIN t ON TRUE WHERE l.day = '2026-01-01'",
        "SELECT note AS day FROM logs WHERE day = '2026-01-01'",
        "SELECT * FROM logs l (day, value, note) WHERE day = '2026-01-01'",
        "SELECT * FROM logs WHERE day = (SELECT max(day) FROM t)",
        "SELECT * FROM logs WHERE day = '2026-01-01' UNION ALL SELECT * FROM logs",
        "SELECT * FROM seen",
    ] {
        let read = resolved(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let [rows] = read.staged() else { panic!("{sql}: {:?}", read.staged()) };
        assert!(rows.external.as_ref().unwrap().conditions.is_empty(), "{sql}");
    }
}

#[test]
fn one_that_is_made_reads_its_stage_and_keeps_its_statement() {
    let made = resolved(&MADE.replace("logs (", "made (")).unwrap();
    let written: Vec<_> = made.written().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!((made.tables(), written), (vec!["main.@s".to_owned()], vec!["main.made"]));
    let Some(ExternalChange::Made { rows, replaces: None, is_filled: true }) = made.external() else {
        panic!("{:?}", made.external())
    };
    assert_eq!((rows.stage_id.as_str(), rows.path().as_str()), ("q1", "main.@s"));
    let steps = engine(&MADE.replace("logs (", "made ("));
    let texts: Vec<_> = steps.before.iter().map(|step| step.sql.as_str()).chain([steps.sql.as_str()]).collect();
    let [view, kept] = texts.as_slice() else { panic!("{texts:?}") };
    assert!(view.starts_with(r#"CREATE VIEW "raw"."main"."made" AS SELECT"#) && !view.contains("split"), "{view}");
    assert!(kept.starts_with(r#"COMMENT ON VIEW "raw"."main"."made" IS "#) && kept.contains(" q1\nCREATE"), "{kept}");
    let replaced = resolved(&MADE.replace("CREATE", "CREATE OR REPLACE")).unwrap();
    assert!(matches!(replaced.external(), Some(ExternalChange::Made { replaces: Some(id), .. }) if id == "q2"));
    let there = resolved(&MADE.replace("TABLE", "TABLE IF NOT EXISTS")).unwrap();
    assert_eq!(there.external(), Some(&ExternalChange::Nothing));
}

#[test]
fn its_files_are_looked_for_and_it_is_dropped() {
    let refreshed = resolved("ALTER EXTERNAL TABLE logs REFRESH '2026/'").unwrap();
    let Some(ExternalChange::Refreshed { rows }) = refreshed.external() else { panic!("{:?}", refreshed.external()) };
    assert_eq!(rows.chosen.prefix, "logs/2026/");
    let added = resolved("ALTER EXTERNAL TABLE logs ADD FILES ('2026/a.json', 'b.json')").unwrap();
    let Some(ExternalChange::Listed { paths, .. }) = added.external() else { panic!("{:?}", added.external()) };
    assert_eq!(*paths, ["logs/2026/a.json", "logs/b.json"]);
    let dropped = engine("DROP EXTERNAL TABLE logs");
    assert_eq!(dropped.sql, r#"DROP VIEW "raw"."main"."logs""#);
    let none = resolved("DROP EXTERNAL TABLE IF EXISTS absent").unwrap();
    assert_eq!(none.external(), Some(&ExternalChange::Nothing));
}

#[test]
fn what_would_change_its_rows_or_take_its_place_is_refused() {
    for sql in [
        "INSERT INTO logs (note) VALUES ('x')",
        "UPDATE logs SET note = 'x'",
        "DELETE FROM logs",
        "TRUNCATE TABLE logs",
        "MERGE INTO logs USING t ON logs.day = t.day WHEN MATCHED THEN DELETE",
        "COPY INTO logs FROM @s",
        "DROP TABLE logs",
        "ALTER TABLE logs RENAME TO x",
        "ALTER VIEW logs RENAME TO x",
        "COMMENT ON TABLE logs IS 'x'",
        "CREATE OR REPLACE VIEW logs AS SELECT 1 AS x",
        "CREATE OR REPLACE TABLE logs (x INT)",
        "CREATE VIEW IF NOT EXISTS logs AS SELECT 1 AS x",
    ] {
        let error = resolved(sql).expect_err(sql);
        assert!(error.message.contains("external table main.logs"), "{sql}: {error}");
    }
    for sql in [
        "DROP VIEW logs",
        "DROP EXTERNAL TABLE t",
        "DROP EXTERNAL TABLE seen",
        "ALTER EXTERNAL TABLE t REFRESH",
        "CREATE OR REPLACE EXTERNAL TABLE t LOCATION = @s",
        "CREATE OR REPLACE EXTERNAL TABLE seen LOCATION = @s",
        "CREATE EXTERNAL TABLE made LOCATION = @absent",
        "SELECT metadata$filename FROM orphan",
        "SELECT * FROM orphan",
    ] {
        assert!(resolved(sql).is_err(), "{sql}");
    }
}

#[test]
fn a_view_of_one_reads_it_where_the_view_is_read() {
    let made = engine("CREATE VIEW v AS SELECT note FROM logs");
    let view = made.before.first().map_or(made.sql.as_str(), |step| step.sql.as_str());
    assert!(view.contains(r#""raw"."main"."logs""#) && !view.contains("_sluice_staged"), "{view}");
    let read = resolved("SELECT * FROM seen").unwrap();
    assert_eq!((read.tables(), read.staged().len()), (vec!["main.logs".to_owned(), "main.seen".to_owned()], 1));
}

#[test]
fn the_catalogue_lists_it_as_what_it_is() {
    let text = engine("SHOW EXTERNAL TABLES").sql;
    assert!(text.contains("'logs'") && text.contains("'@main.s/logs/'") && !text.contains("'seen'"), "{text}");
    let text = engine("SELECT table_type FROM information_schema.tables").sql;
    assert!(text.contains("'EXTERNAL TABLE'"), "{text}");
}

#[test]
fn a_row_filter_reads_none() {
    let template = crate::govern::filter::FilterTemplate::parse("note IN (SELECT note FROM logs)").unwrap();
    let error = template.bind(&|_| None, &catalog()).unwrap_err();
    assert!(error.message.contains("an external table"), "{error}");
}
