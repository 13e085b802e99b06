//! Rows that are kept for a caller are packed alike, and estimated alike, whatever is hidden among them.
//!
//! By how they are cut into groups the engine leaves some out, by how many values it guesses a column to have it joins in
//! another order: both decide whether an error is met.

use engine::Session;
use sql::govern::filter::FilterTemplate;
use sql::{Bind, Catalog, Column, Rules, SessionNames, Table};

use crate::world::{answer, never, soon, world};

const VISIBLE: &str = "_sluice_visible_0";
/// More than a group has.
const ROWS: usize = 150_000;

/// What keeps the rows of a table that may be seen.
fn keeping(table: &str) -> sql::EngineSql {
    let columns = [("id", "INTEGER"), ("name", "VARCHAR"), ("region", "VARCHAR")];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let catalog = Catalog::new([Table::new("main", table, columns)]);
    let filter = FilterTemplate::parse("region = '{region}'").unwrap();
    let mut rules = Rules::default();
    rules.filter("main", table, filter.bind(&|_| Some("EU".to_owned()), &catalog).unwrap());
    let parsed = sql::parse(&format!("select id, name from {table}")).unwrap();
    let resolved = sql::resolve(parsed, &catalog, &SessionNames::new("demo")).unwrap();
    sql::transpile(sql::govern(resolved, &rules).unwrap()).unwrap().over_visible().unwrap()
}

/// How the kept rows of a table are cut, and what the engine expects of a join by name. It shows that of committed rows
/// alone.
async fn known_of_kept(session: &mut Session, table: &str) -> String {
    for step in keeping(table).before {
        assert_eq!(step.binds, [Bind::Text("EU".to_owned())]);
        let statement =
            engine::Statement { sql: step.sql, params: vec![engine::Value::Text("EU".to_owned())], writes: false };
        session.keep(statement, soon(), &never()).await.unwrap();
    }
    let mut known = Vec::new();
    for sql in [
        format!(
            "select row_group_id, sum(count) from pragma_storage_info('temp.main.{VISIBLE}') \
            where column_name = 'id' and segment_type <> 'VALIDITY' group by 1 order by 1"
        ),
        format!("explain select count(*) from temp.main.{VISIBLE} a join temp.main.{VISIBLE} b on a.name = b.name"),
        format!("select count(*), bool_and(rowid = id) from temp.main.{VISIBLE}"),
    ] {
        known.push(answer(session, &sql, &[]).await.unwrap());
    }
    known.join("\n")
}

#[tokio::test]
async fn kept_rows_are_packed_and_estimated_alike_whatever_is_hidden() {
    // the first rows of each part, of which the engine guesses, are the same
    let name = "case when id % 2048 < 300 then '0' else md5(id::varchar) end";
    let world = world().await;
    let world = world
        .made(&[
            &format!("create table few as select id::integer id, {name} as name, 'EU' as region from range({ROWS}) t(id)"),
            &format!(
                "create table many as select id, {name} as name, case when i % 20 = 0 then 'EU' else 'US' end as region \
                 from (select i, (i // 20)::integer as id from range(20 * {ROWS}) t(i))"
            ),
        ])
        .await;
    let mut session = world.session().await.unwrap();
    let few = known_of_kept(&mut session, "few").await;
    assert!(few.starts_with("0 122880\n1 27120"), "{few}");
    assert!(few.ends_with("150000 true"), "{few}");
    assert_eq!(few, known_of_kept(&mut session, "many").await);
    drop(session);
    world.stopped().await;
}
