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

/// The warehouse notes such a thing and never checks it; who adds one is told, and a key that CREATE TABLE declares holds.
#[tokio::test]
async fn what_nothing_would_check_is_left_out_with_a_notice() {
    let world = world().await;
    world.run("create table parcel (id integer primary key, label varchar(3) unique, other integer)").await.unwrap();
    for (sql, told) in [
        ("create index by_label on parcel (label varchar_pattern_ops)", "an index is not kept"),
        ("alter table parcel add constraint u unique (other)", "UNIQUE that is added is not kept"),
        (
            "alter table parcel add constraint k foreign key (other) references parcel (id) deferrable initially deferred",
            "FOREIGN KEY is not kept",
        ),
    ] {
        let warnings = world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).answer.warnings;
        assert!(warnings.iter().any(|warning| warning.contains(told)), "{sql}: {warnings:?}");
    }
    for (sql, code) in [
        ("create index i on parcel (nope)", Code::UndefinedColumn),
        ("create index i on nowhere (id)", Code::TableNotFound),
        ("create unique index i on parcel (other)", Code::UnsupportedSql),
    ] {
        assert_eq!(world.run(sql).await.unwrap_err().code(), code, "{sql}");
    }
    // a longer type changes nothing that the engine holds: not where a key is on it either
    for sql in [
        "alter table parcel alter column label type varchar(9)",
        "insert into parcel values (1, 'abcdef', 7), (2, 'b', 7)",
        "alter table parcel alter column label type varchar",
        "insert into parcel values (3, 'abcdefghijkl', null)",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(world.run("insert into parcel values (4, 'b', null)").await.unwrap_err().code(), Code::UniqueViolation);
    let sql = "alter table parcel add column up integer constraint u references parcel (id)";
    let warnings = world.run(sql).await.unwrap().answer.warnings;
    assert!(warnings.iter().any(|warning| warning.contains("FOREIGN KEY is not kept")), "{warnings:?}");
    world.run("create table small (n smallint not null constraint positive check (n >= 0))").await.unwrap();
    assert_eq!(world.run("insert into small values (-1)").await.unwrap_err().code(), Code::CheckViolation);
    world.stop().await;
}

#[tokio::test]
async fn a_column_that_something_depends_on_stays_and_says_what_does() {
    let world = world().await;
    for sql in [
        "create table parcel (early integer, id integer primary key, label varchar, low integer, high integer, \
         other integer, check (low < high))",
        "insert into parcel values (1, 2, 'a', 3, 4, 5)",
        "create view seen as select id, label from parcel",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for (sql, said) in [
        ("alter table parcel drop column label cascade", "is used by view main.seen: drop the view first"),
        ("alter table parcel drop label restrict", "is used by view main.seen: drop the view first"),
        ("alter table parcel drop column id", "belongs to a key"),
        ("alter table parcel drop column early cascade", "stands before a column of a key"),
        ("alter table parcel drop column low cascade", "belongs to a CHECK of several columns"),
    ] {
        let error = world.run(sql).await.expect_err(sql);
        assert_eq!(error.code(), Code::DependentObjects, "{sql}: {error}");
        assert!(error.to_string().contains(said), "{sql}: {error}");
    }
    for sql in [
        "alter table parcel drop column other cascade",
        "alter table parcel drop column if exists nope restrict",
        "drop view seen",
        "alter table parcel drop column label cascade",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(world.run("select * from parcel").await.unwrap().json, "[1,2,3,4]");
    world.stop().await;
}
