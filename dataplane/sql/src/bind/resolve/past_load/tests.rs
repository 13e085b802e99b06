use std::sync::Arc;

use crate::catalog::definition::{Definition, DefinitionKind, comment};
use crate::catalog::past_load::{PastFile, PastLoad};
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::{Catalog, SessionNames};
use crate::{Error, Resolved, StagedRows, parse, resolve};

fn catalog() -> Catalog {
    let columns = || [("id", "INTEGER"), ("note", "VARCHAR")].map(|(name, kind)| Column::new(name, kind)).to_vec();
    let tables = ["t", "u"].map(|name| Table::new("main", name, columns()));
    let mut catalog = Catalog::new(tables);
    let text = "CREATE STAGE s ID = 'q1' FILE_FORMAT = (TYPE = 'CSV' FIELD_DELIMITER = '|' NULL_IF = ('', 'x y'))";
    let entry = Definition::read(DefinitionKind::Function, "main", "_svc_stage_s", Vec::new(), comment("main", text));
    catalog.define(entry.expect("a definition"));
    catalog
}

fn loaded(sql: &str) -> StagedRows {
    let names = SessionNames { user_stage: Some("own-1".to_owned()), ..SessionNames::new("demo") };
    let bound = resolve(parse(sql).unwrap(), &catalog(), &names).unwrap_or_else(|error| panic!("{sql}: {error}"));
    bound.staged()[0].clone()
}

fn validated(sql: &str, past: Option<PastLoad>) -> Result<Resolved, Error> {
    let names = SessionNames { user_stage: Some("own-1".to_owned()), ..SessionNames::new("demo") };
    resolve(parse(sql)?, &catalog(), &SessionNames { past_load: past.map(Arc::new), ..names })
}

fn past_of(rows: &StagedRows) -> PastLoad {
    let file = PastFile { path: "in/a.csv".to_owned(), bytes: 3, md5: "x".to_owned() };
    PastLoad { table: "main.t".to_owned(), stage_id: rows.stage_id.clone(), said: rows.said.clone(), files: vec![file] }
}

const ASKED: &str = "SELECT error FROM TABLE(VALIDATE(t, JOB_ID => 'q7')) v";

#[test]
fn a_load_is_read_again_as_it_was_said() {
    for sql in [
        "COPY INTO t FROM @s/in ON_ERROR = CONTINUE",
        "COPY INTO t (note) FROM @s ON_ERROR = SKIP_FILE TRUNCATECOLUMNS = TRUE",
        "COPY INTO t FROM @s FILE_FORMAT = (TYPE = CSV PARSE_HEADER = TRUE) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE",
        "COPY INTO t FROM @~ FILE_FORMAT = (TYPE = JSON) MATCH_BY_COLUMN_NAME = CASE_SENSITIVE",
        "COPY INTO t FROM @%t",
        "COPY INTO t FROM @~ FILE_FORMAT = (TYPE = JSON) MATCH_BY_COLUMN_NAME = CASE_SENSITIVE \
         INCLUDE_METADATA = (NOTE = metadata$filename, id = METADATA$FILE_ROW_NUMBER)",
    ] {
        let rows = loaded(sql);
        let bound = validated(ASKED, Some(past_of(&rows))).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let [told] = bound.staged() else { panic!("{sql}: {:?}", bound.staged()) };
        assert!(!told.selects() && told.load.is_none(), "{sql}");
        assert_eq!(told.columns.first().map(|column| column.name.as_str()), Some("ERROR"), "{sql}");
        let past = told.past.as_ref().unwrap();
        assert_eq!(past.files.len(), 1, "{sql}");
        let read = &past.rows;
        assert_eq!((&read.reading, &read.columns, &read.filled), (&rows.reading, &rows.columns, &rows.filled), "{sql}");
        assert_eq!((read.metadata.len(), &read.metadata), (sql.matches('$').count(), &rows.metadata), "{sql}");
        let (load, then) = (read.load.unwrap(), rows.load.unwrap());
        assert!(load.tells_faults(), "{sql}");
        assert_eq!((load.by_name, load.truncates), (then.by_name, then.truncates), "{sql}");
        // the table is among what is judged, and so is the stage
        assert_eq!(bound.tables(), [rows.path(), "main.t".to_owned()], "{sql}");
    }
}

#[test]
fn what_cannot_be_validated_is_refused() {
    let rows = loaded("COPY INTO t FROM @s ON_ERROR = CONTINUE");
    let past = || past_of(&rows);
    let view = format!("CREATE VIEW v AS {ASKED}");
    for (sql, past, words) in [
        (ASKED, None, "VALIDATE here is not supported"),
        (ASKED, Some(PastLoad { table: "main.u".to_owned(), ..past() }), "that load filled another table"),
        (ASKED, Some(PastLoad { said: None, ..past() }), "VALIDATE of a COPY INTO from a query is not supported"),
        (ASKED, Some(PastLoad { stage_id: "q9".to_owned(), ..past() }), "the stage of that load is gone"),
        (view.as_str(), Some(past()), "VALIDATE in a view is not supported"),
        ("SELECT 1 FROM TABLE(VALIDATE(nope, JOB_ID => 'q7'))", Some(past()), "nope"),
    ] {
        let refused = validated(sql, past).unwrap_err();
        assert!(refused.message.contains(words), "{sql}: {refused}");
    }
    let dropped = PastLoad { said: past().said.map(|said| said.replace("\"note\"", "\"gone\"")), ..past() };
    let refused = validated(ASKED, Some(dropped)).unwrap_err();
    assert!(refused.message.contains("column gone of main.t does not exist"), "{refused}");
}

#[test]
fn a_query_of_the_same_name_does_not_stand_for_the_table() {
    let rows = loaded("COPY INTO t FROM @s ON_ERROR = CONTINUE");
    let sql = "WITH t AS (SELECT 1 AS error) SELECT error FROM TABLE(VALIDATE(t, JOB_ID => 'q7'))";
    let bound = validated(sql, Some(past_of(&rows))).unwrap();
    assert_eq!(bound.tables(), ["main.@s", "main.t"]);
}
