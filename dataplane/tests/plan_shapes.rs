//! Texts that differ in a number alone: the plan that they share makes of each what its own would.

use contract::policy::MaskFunction;
use contract::{Entropy, KeyId};
use dataplane::testing::{analyst_id, filtering, filtering_strictly, masking, owner_id};

use crate::plans::{Dice, audited, outcome, planned, plans, told};
use crate::world::world;

/// With a number in place of each `{}`, and a string in place of each `{s}`.
const KEYED: [&str; 17] = [
    "select * from customer where id = {}",
    "select name from customer where balance > {} order by id",
    "select count(*) as many from customer where id <> {} and region = 'EU'",
    "select name from customer where region = 'n{}' or id = {}",
    "select id, {} as told from customer where id < {} order by 1 limit 12",
    "select id = {} from customer order by id",
    "select * from customer where name = {} or id = {} order by id",
    "select ssn::integer as number from customer where id = {} and region <> 'US'",
    "select * from customer where region = {s} and id < {} order by id",
    "select name from customer where name between 'Ada' and {s} order by id",
    "select id from customer where balance in (-{}) or name in ({s}) order by id",
    "select id from customer where balance between {} and 30 order by id",
    "select name from customer where id = {s} or region = {s} order by id",
    "select {}",
    "select {s}, -{}",
    "select *, {} from customer order by id",
    "select ssn, {s} from customer where region <> 'US' order by id",
];

const NUMBERS: [&str; 16] =
    ["0", "1", "2", "3", "10", "11", "13", "20", "99", "012", "100", "999", "12.5", "20.2", "999999999", "1000000000"];

const STRINGS: [&str; 10] =
    ["'EU'", "'US'", "'Bob'", "'bob'", "'Cleo'", "'Ada Lovelace'", "'true'", "'12'", "'it''s'", "'2024-01-31'"];

#[tokio::test]
async fn texts_that_differ_in_a_key_answer_as_if_each_was_planned_by_itself() {
    let world = world().await;
    for sql in [
        "insert into customer select id + 10, name, region, ssn, balance from customer",
        "delete from customer where id = 12",
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    let dice = Dice(Entropy::seeded(39));
    for round in 0..500 {
        if dice.one_in(150) {
            let policies = [
                masking("customer", "ssn", MaskFunction::Full),
                filtering("customer", "region = {region}"),
                filtering_strictly("customer", "balance > 15"),
            ];
            let chosen: Vec<_> = policies.into_iter().filter(|_| dice.one_in(2)).collect();
            world.change(|rules| rules.policies.clone_from(&chosen));
        }
        let who = [owner_id(), analyst_id()][dice.below(2)].clone();
        let (number, string) = (NUMBERS[dice.below(NUMBERS.len())], STRINGS[dice.below(STRINGS.len())]);
        let text = KEYED[dice.below(KEYED.len())].replace("{}", number).replace("{s}", string);
        let first = told(world.whole(world.ask(who.clone(), &text)).await);
        let anew = told(world.whole(world.ask(who.clone(), &format!("{text} -- {round}"))).await);
        assert_eq!(first, anew, "{text} of {who:?}");
    }
    let [kept, ..] = plans(&world);
    assert!(kept > 40, "{kept} kept");
    world.stop().await;
}

/// Where they are equal, another text is generated: the key is then the argument itself.
#[tokio::test]
async fn numbers_that_are_equal_are_planned_as_such() {
    let world = world().await;
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    let mut ways = Vec::new();
    for (one, other) in
        [("11", "12"), ("21", "22"), ("31", "31"), ("41", "42"), ("51", "6.1e1"), ("52", "6.1e1"), ("61", "6.1e1")]
    {
        let sql =
            format!("select listagg(distinct id = {one}) within group (order by id = {other}) as joined from customer");
        let first = told(world.whole(world.ask(owner_id(), &sql)).await);
        let anew = told(world.whole(world.ask(owner_id(), &format!("{sql} -- anew"))).await);
        assert_eq!(first, anew, "{sql}");
        ways.push(first);
    }
    assert_ne!(ways[0], ways[2], "the engine refuses a key that is not the argument");
    assert_ne!(ways[4], ways[6], "and 6.1e1 is 61");
    world.stop().await;
}

#[tokio::test]
async fn a_third_key_has_the_plan_of_two_and_is_written_down_as_its_own() {
    let world = world().await;
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    let text = |key: u32| format!("select name, ssn from customer where id <> {key} order by id limit 2");
    for (key, expected) in [(10, "made"), (11, "made"), (12, "kept"), (99, "kept"), (9, "made"), (100, "made")] {
        assert_eq!(outcome(&world, world.ask(owner_id(), &text(key))).await, Some(expected), "{key}");
    }
    let asked = async |expected: &str| {
        let (got, counted) = planned(&world, world.ask(owner_id(), &text(77))).await;
        assert_eq!(counted, Some(expected));
        let mut entries = audited(&world);
        for entry in &mut entries {
            entry.as_object_mut().unwrap().remove("governance_version");
        }
        (told(got), entries)
    };
    let shared = asked("kept").await;
    world.change(|_| ());
    assert_eq!(shared, asked("made").await, "by other rules it is planned by itself");
    assert!(format!("{:?}", shared.1).contains("77"), "{:?}", shared.1);
    world.stop().await;
}

/// The label of such a column is the literal as it is written, and its type that of a number of as many digits.
#[tokio::test]
async fn a_literal_that_is_a_column_has_its_label_and_its_type_in_a_plan_that_is_shared() {
    let world = world().await;
    world.change(|rules| {
        rules.environment.settings.cache_enabled = false;
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let asked = async |who: &KeyId, text: &str, expected: &str| {
        let (got, counted) = planned(&world, world.ask(who.clone(), text)).await;
        assert_eq!((got.is_ok(), counted), (true, Some(expected)), "{text}");
        let mut entries = audited(&world);
        for entry in &mut entries {
            entry.as_object_mut().unwrap().remove("governance_version");
        }
        (told(got), entries)
    };
    for sql in [
        "select {}",
        "select {s}, -{}, 5 as five",
        "select {}.5, name from customer order by name",
        "select *, {}, {s} from customer order by id",
        "select ssn, {} from customer where name <> {s} order by id",
    ] {
        for who in [owner_id(), analyst_id()] {
            let text = |number: u32, string: &str| sql.replace("{}", &number.to_string()).replace("{s}", string);
            for (number, string, expected) in [(10, "'a'", "made"), (11, "'b'", "made"), (99, "'Zoe'", "kept")] {
                asked(&who, &text(number, string), expected).await;
            }
            let third = text(77, "'Ada Lovelace'");
            let shared = asked(&who, &third, "kept").await;
            world.change(|_| ());
            assert_eq!(shared, asked(&who, &third, "made").await, "by other rules it is planned by itself");
            assert!(shared.0.contains("77"), "{}", shared.0);
        }
    }
    let numbers = [("42", "made"), ("43", "made"), ("44", "kept"), ("128", "made"), ("4400000000", "made")];
    for (number, expected) in numbers {
        let (got, counted) = planned(&world, world.ask(owner_id(), &format!("select {number}"))).await;
        let label = got.unwrap().answer.columns.first().map(|column| column.name.clone());
        assert_eq!((label.as_deref(), counted), (Some(number), Some(expected)));
    }
    world.stop().await;
}

/// A column of the table may be called as the literal is: such a text is planned by itself.
#[tokio::test]
async fn a_label_that_is_the_name_of_a_column_is_told_of_its_own_column() {
    let world = world().await;
    world.run("create table odd (id integer, \"61\" varchar)").await.unwrap();
    world.run("insert into odd values (1, 'secret')").await.unwrap();
    world.change(|rules| {
        rules.environment.settings.cache_enabled = false;
        rules.policies = vec![masking("odd", "61", MaskFunction::Full)];
    });
    for sql in ["select *, {} from odd", "select id, {} from odd order by 2", "select {} from odd"] {
        for literal in ["10", "62", "61", "60", "61", "'Bob'", "'Cleo'", "'Ada'"] {
            let text = sql.replace("{}", literal);
            let first = told(world.whole(world.ask(analyst_id(), &text)).await);
            let anew = told(world.whole(world.ask(analyst_id(), &format!("{text} -- anew"))).await);
            assert_eq!(first, anew, "{text}");
            assert!(!first.contains("secret"), "{first}");
        }
    }
    world.stop().await;
}

/// Rows that are hidden make the first text of the second one fail, and it is run over the visible rows.
#[tokio::test]
async fn a_caller_under_a_filter_shares_the_plan_of_both_ways_to_run_it() {
    let world = world().await;
    world.run("update customer set name = '7' where region = 'EU'").await.unwrap();
    world.change(|rules| {
        rules.environment.settings.cache_enabled = false;
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    for sql in [
        "select name, ssn from customer where id <> {} order by id",
        "select name::integer as number from customer where id <> {} order by id",
        "select count(*) as many from customer a join customer b on a.id = b.id where a.id <> {}",
        "select id from customer where balance > {} limit 1",
    ] {
        for (key, expected) in [(10, "made"), (11, "made"), (12, "kept"), (13, "kept")] {
            let text = sql.replace("{}", &key.to_string());
            let (got, counted) = planned(&world, world.ask(analyst_id(), &text)).await;
            let first = (got.is_ok(), told(got), counted);
            let anew = told(world.whole(world.ask(analyst_id(), &format!("{text} -- anew"))).await);
            assert_eq!(first, (true, anew, Some(expected)), "{text}");
        }
    }
    world.stop().await;
}

/// Of two tables one is written by texts that share plans, and one by texts of which each has its own.
#[tokio::test]
async fn texts_that_write_other_values_leave_what_each_would_by_itself() {
    let world = world().await;
    for table in ["shared_rows", "own_rows"] {
        world
            .run(&format!("create table {table} (id integer, name varchar(6), amount decimal(9, 2), born date)"))
            .await
            .unwrap();
    }
    let texts = [
        "insert into {t} (id, name, amount) values ({}, {s}, {d})",
        "insert into {t} (id, born) values ({}, {day})",
        "delete from {t} where born > {day}",
        "insert into {t} (name, id) values ({s}, -{})",
        "update {t} set amount = amount + 1 where id = {} and name <> {s}",
        "delete from {t} where id between {} and 40",
        "update {t} set name = {s}",
    ];
    let (numbers, decimals) = (["7", "8", "9", "12", "40"], ["1.5", "0.5", "3.7"]);
    let strings = ["'Ada'", "'open'", "'Adam'", "'Ada Lovelace'", "'true'"]; // one is too long
    let days = ["'2024-01-31'", "'2024-02-30'", "'2023-12-01'", "'31-DEC-2023'"]; // and one is none
    let dice = Dice(Entropy::seeded(40));
    for round in 0..200 {
        let (number, decimal) = (numbers[dice.below(numbers.len())], decimals[dice.below(decimals.len())]);
        let text = texts[dice.below(texts.len())].replace("{}", number).replace("{d}", decimal);
        let text = text.replace("{s}", strings[dice.below(strings.len())]);
        let text = text.replace("{day}", days[dice.below(days.len())]);
        let first = told(world.whole(world.ask(owner_id(), &text.replace("{t}", "shared_rows"))).await);
        let own = format!("{} -- {round}", text.replace("{t}", "own_rows"));
        assert_eq!(first, told(world.whole(world.ask(owner_id(), &own)).await), "{text}");
    }
    let rows = async |table: &str| {
        let sql = format!("select id, name, amount, born from {table} order by id, name, amount, born");
        world.run(&sql).await.unwrap().json
    };
    assert_eq!(rows("shared_rows").await, rows("own_rows").await);
    let [kept, ..] = plans(&world);
    assert!(kept > 10, "{kept} kept");
    world.stop().await;
}

/// A literal that was the same in the first two texts stays as it is, until a text shows that it may be another.
#[tokio::test]
async fn a_literal_that_was_the_same_in_two_texts_is_planned_anew_where_it_is_another() {
    let world = world().await;
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    for (region, id, expected) in [
        ("EU", 1, "made"),
        ("EU", 2, "made"),
        ("EU", 3, "kept"),
        ("US", 4, "made"),
        ("US", 5, "kept"),
        ("EU", 6, "kept"),
        ("Asia", 7, "kept"),
    ] {
        let sql = format!("select name from customer where region = '{region}' and id <> {id} order by id");
        let (got, counted) = planned(&world, world.ask(owner_id(), &sql)).await;
        let anew = told(world.whole(world.ask(owner_id(), &format!("{sql} -- anew"))).await);
        assert_eq!((told(got), counted), (anew, Some(expected)), "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_statement_without_tables_is_planned_once() {
    let world = world().await;
    for sql in ["select 42", "select 1 as one, upper('a') as a, current_role() as role", "select 1 + 1 as two"] {
        for who in [owner_id(), analyst_id()] {
            let mut seen = Vec::new();
            for expected in ["made", "kept", "kept"] {
                let (got, counted) = planned(&world, world.ask(who.clone(), sql)).await;
                assert_eq!((got.is_ok(), counted), (true, Some(expected)), "{sql}");
                seen.push((told(got), audited(&world)));
            }
            assert_eq!(seen[0], seen[1], "{sql}");
            assert_eq!(seen[0], seen[2], "{sql}");
        }
    }
    world.stop().await;
}
