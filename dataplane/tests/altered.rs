//! Columns of a table that has rows: added with NOT NULL, and told by name where they are not there.

use contract::Code;

use crate::world::world;

#[tokio::test]
async fn a_column_is_added_with_not_null_where_every_row_has_a_value() {
    let world = world().await;
    for sql in [
        "create table parcel (id integer primary key, label varchar)",
        "insert into parcel values (1, 'a')",
        "alter table parcel add column weight integer not null default 5",
        "alter table parcel add column if not exists label varchar not null",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for (sql, code) in [
        ("alter table parcel add column height integer not null", Code::NotNullViolation),
        ("insert into parcel (id, weight) values (2, null)", Code::NotNullViolation),
        ("alter table parcel add column place varchar unique", Code::UnsupportedSql),
    ] {
        assert_eq!(world.run(sql).await.unwrap_err().code(), code, "{sql}");
    }
    world.run("insert into parcel (id) values (2)").await.unwrap();
    let got = world.run("select * from parcel order by id").await.unwrap();
    assert_eq!(got.json, r#"[1,"a",5],[2,null,5]"#, "a column that could not be added whole is not there");
    world.stop().await;
}

#[tokio::test]
async fn what_is_not_there_or_not_of_one_width_is_told_as_that() {
    let world = world().await;
    world.run("create table parcel (id integer, label varchar)").await.unwrap();
    world.run("create view seen as select id from parcel").await.unwrap();
    for (sql, code) in [
        ("select p.zzz from parcel p", Code::UndefinedColumn),
        ("update parcel set zzz = 1", Code::UndefinedColumn),
        ("insert into parcel (zzz) values (1)", Code::UndefinedColumn),
        ("alter table parcel drop column zzz", Code::UndefinedColumn),
        ("alter table parcel rename column zzz to other", Code::UndefinedColumn),
        ("insert into parcel values (1, 'a', 2)", Code::BadSql),
        ("insert into parcel values (1, 'a'), (2)", Code::BadSql),
        ("select 1 union select 1, 2", Code::BadSql),
        ("drop view parcel", Code::TableNotFound),
    ] {
        let error = world.run(sql).await.unwrap_err();
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
    world.stop().await;
}
