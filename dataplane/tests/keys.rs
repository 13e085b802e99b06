//! Keys of tables: whether a row clashes with one that is there must not tell who writes it of a row or a value that is
//! hidden from them.

use contract::policy::MaskFunction;
use contract::{Code, Role};
use dataplane::testing::{filtering, masking, owner_id};

use crate::world::{World, world};

/// Tables with keys, of which the owner, now a developer, sees only EU and no `ssn`.
async fn governed() -> World {
    let world = world().await;
    for sql in [
        "create table person (id integer primary key, ssn varchar unique, name varchar, note varchar)",
        "insert into person values (1, '078-05-1120', 'Ada', 'a'), (2, '219-09-9999', 'Bob', 'b')",
        "create table pair (grp integer, ssn varchar, name varchar, unique (grp, ssn))",
        "insert into pair values (1, '078-05-1120', 'Ada'), (2, '078-05-1120', 'Bob')",
        "create table pay (id integer, salary integer, most integer, note varchar, check (salary < most))",
        "insert into pay values (1, 91001, 100000, 'a')",
        "create table place (id integer primary key, region varchar)",
        "insert into place values (1, 'EU'), (2, 'US')",
        "create table open (id integer primary key, name varchar)",
        "insert into open values (1, 'x')",
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| {
        rules.policies = vec![
            masking("person", "ssn", MaskFunction::Full),
            masking("person", "note", MaskFunction::Full),
            masking("pair", "ssn", MaskFunction::Hash),
            masking("pay", "salary", MaskFunction::Null),
            filtering("place", "region = 'EU'"),
        ];
        rules.members.values_mut().for_each(|member| member.role = Role::Developer);
    });
    world
}

#[tokio::test]
async fn no_write_tells_of_a_masked_value_by_a_key() {
    let world = governed().await;
    for sql in [
        "insert into person (id, ssn) values (7, '078-05-1120')",
        "insert into person values (7, '000-00-0000', 'Eve', 'e')",
        "insert into person (id, ssn) select 8, '219-09-9999'",
        "insert into pair (grp, ssn) values (1, '078-05-1120')",
    ] {
        assert_eq!(world.run(sql).await.unwrap_err().code(), Code::PolicyDenied, "{sql}");
    }
    for sql in [
        "insert into person (id, ssn) values (7, '078-05-1120') on conflict do nothing",
        "insert into person (id) values (1) on conflict do nothing returning id",
        "insert into person (id, name) values (1, 'x') on conflict (id) do update set name = 'x'",
        // another row of the group with the same value would be told of
        "update pair set grp = 2 where grp = 1",
        "insert all into open (id, name) values (a, b) into person (id, ssn) values (a, b) select 9 as a, '078-05-1120' as b",
    ] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    assert_eq!(world.count("select count(*) from raw.main.person").await, 2);
    assert_eq!(world.count("select count(*) from raw.main.pair where grp = 1").await, 1);
    world.stop().await;
}

#[tokio::test]
async fn no_conflict_is_passed_over_where_rows_are_hidden() {
    let world = governed().await;
    for sql in [
        "insert into place values (2, 'EU') on conflict do nothing",
        "insert into place values (3, 'EU') on conflict (id) do nothing returning id",
        "insert into place values (2, 'EU') on conflict (id) do update set region = 'EU'",
        "merge into place using open o on place.id = o.id when not matched then insert values (o.id, 'EU')",
    ] {
        let error = world.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::UnsupportedSql, "{sql}: {error}");
    }
    assert_eq!(world.count("select count(*) from raw.main.place where id = 2 and region = 'US'").await, 1);
    world.stop().await;
}

#[tokio::test]
async fn no_condition_of_a_table_tells_of_a_masked_value() {
    let world = governed().await;
    for sql in [
        "update pay set most = 50000 where id = 1",
        "update pay set most = 95000 where id = 1 returning id",
        "update pay set note = 'b', most = 95000",
    ] {
        let error = world.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::UnsupportedSql, "{sql}: {error}");
    }
    world.run("update pay set note = 'b' where id = 1").await.unwrap();
    world.run("insert into pay (id, salary, most) values (2, 1, 2)").await.unwrap();
    assert_eq!(world.count("select count(*) from raw.main.pay where most = 100000 and note = 'b'").await, 1);
    world.stop().await;
}

/// That a key is taken cannot be kept from who writes it; it is all that they are told.
#[tokio::test]
async fn a_clash_with_a_hidden_row_is_told_as_one_with_a_visible_row() {
    let world = governed().await;
    for of in [
        "insert into place values ({id}, 'EU')",
        "insert into place select {id}, 'EU'",
        "insert into place values (9, 'EU'), ({id}, 'EU') returning id",
    ] {
        let told = |id: &str| of.replace("{id}", id);
        let visible = world.run(&told("1")).await.unwrap_err();
        let hidden = world.run(&told("2")).await.unwrap_err();
        assert_eq!(hidden.code(), Code::UniqueViolation, "{of}");
        assert_eq!((hidden.code(), hidden.to_string()), (visible.code(), visible.to_string()), "{of}");
        assert!(!hidden.to_string().contains(['1', '2']), "{hidden}");
    }
    let moved = world.run("update place set id = 2 where id = 1").await.unwrap_err();
    world.run("insert into place values (5, 'EU')").await.unwrap();
    let visible = world.run("update place set id = 5 where id = 1").await.unwrap_err();
    assert_eq!((moved.code(), moved.to_string()), (visible.code(), visible.to_string()));
    world.stop().await;
}

#[tokio::test]
async fn what_hides_nothing_is_written_as_before() {
    let world = governed().await;
    for sql in [
        "insert into person (id, name, note) values (3, 'Cleo', 'c')",
        "update person set id = 4, name = 'Dan' where id = 3",
        "update pair set name = 'x' where grp = 1",
        "insert into pair (grp, name) values (1, 'y')",
        "insert into place values (3, 'EU')",
        "insert into open values (1, 'y') on conflict do nothing",
        "insert into open values (1, 'z') on conflict (id) do update set name = excluded.name",
        "merge into open using place p on open.id = p.id when not matched then insert values (p.id, 'n')",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    // who is exempt
    world.change(|rules| {
        let exempt = rules.key(&owner_id()).and_then(|key| key.user_id.clone()).unwrap();
        rules.members.get_mut(&exempt).unwrap().role = Role::Owner;
    });
    for sql in [
        "insert into person values (5, '457-55-5462', 'Eve', 'e')",
        "insert into person values (5, '457-55-5462', 'Eve', 'e') on conflict do nothing",
        "update pair set grp = 3 where grp = 1",
        "insert into place values (2, 'EU') on conflict do nothing",
        "insert into place values (2, 'EU') on conflict (id) do update set region = 'EU'",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    world.stop().await;
}
