//! Plans that are kept of a text: what runs is what would run if none were kept, whatever has changed meanwhile.

use std::sync::Arc;

use chrono::Duration;
use contract::capability::{Capabilities, Grant};
use contract::governance::{Elevation, EnvironmentStatus, Key};
use contract::policy::MaskFunction;
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::{Code, Entropy, Governance, KeyId, Role, TestClock, Timestamp, UserId};
use dataplane::metrics::StateGauges;
use dataplane::testing::{analyst_id, denying, filtering, filtering_strictly, masking, owner_id, rule, ruled};
use dataplane::{Ask, DeclaredAgent, Error};
use serde_json::{Value, json};

use crate::world::{Got, World, world, world_at};

const OUTCOMES: [&str; 3] = ["kept", "made", "not_kept"];

/// How many statements have ended whose plan was kept from before, made, or not kept.
pub fn plans(world: &World) -> [u64; 3] {
    let text = world.pipeline.metrics.text(StateGauges::default()).unwrap();
    OUTCOMES.map(|outcome| {
        let head = format!("sluice_dataplane_plans_total{{outcome=\"{outcome}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(head.as_str())?.parse().ok()).unwrap_or(0)
    })
}

/// Runs it, and says what became of its plan; nothing for what is answered without one.
pub async fn planned(world: &World, ask: Ask) -> (Result<Got, Error>, Option<&'static str>) {
    let before = plans(world);
    let got = world.whole(ask).await;
    let now = plans(world);
    let counted = (0..OUTCOMES.len()).find(|at| now[*at] != before[*at]);
    (got, counted.map(|at| OUTCOMES[at]))
}

pub async fn outcome(world: &World, ask: Ask) -> Option<&'static str> {
    planned(world, ask).await.1
}

fn noon() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

async fn at_noon() -> (World, TestClock) {
    let clock = TestClock::at(noon());
    let world = world_at(Arc::new(clock.clone())).await;
    (world, clock)
}

/// The two entries of the last query, without what is of it alone.
pub fn audited(world: &World) -> [Value; 2] {
    let (started, finished) = world.last();
    let stages: Vec<String> = finished.stages.iter().map(|(name, _)| name.clone()).collect();
    let (mut started, mut finished) = (json!(started), json!(finished));
    for own in ["query_id", "request_id", "at", "snapshot"] {
        started.as_object_mut().unwrap().remove(own);
    }
    for own in ["query_id", "at", "execution_time_ms", "transpilation_time_ms"] {
        finished.as_object_mut().unwrap().remove(own);
    }
    if let Some(abac) = started["abac_evaluation"].as_object_mut() {
        abac.remove("evaluation_time_ms");
    }
    finished["stages"] = json!(stages);
    [started, finished]
}

#[tokio::test]
async fn a_text_that_comes_again_answers_and_is_written_down_as_before() {
    let world = world().await;
    world.change(|rules| {
        rules.environment.settings.cache_enabled = false;
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
        rules.abac_policies = vec![denying("orders", &[])];
    });
    for (who, sql) in [
        (analyst_id(), "select name, ssn from customer where balance > 5 order by id"),
        (analyst_id(), "select count(*) from customer a join customer b on a.id = b.id where a.ssn <> ''"),
        (owner_id(), "select name, ssn from demo.main.customer order by id"),
        (owner_id(), "update customer set name = name where id = 1"),
        (owner_id(), "insert into customer select id + 10, name, region, ssn, balance from customer where false"),
    ] {
        let mut seen = Vec::new();
        for expected in ["made", "kept", "kept"] {
            let (got, counted) = planned(&world, world.ask(who.clone(), sql)).await;
            assert_eq!(counted, Some(expected), "{sql}");
            seen.push((told(got), audited(&world)));
        }
        assert_eq!(seen[0], seen[1], "{sql}");
        assert_eq!(seen[0], seen[2], "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn each_value_of_a_parameter_has_its_own_answer_and_each_type_its_own_plan() {
    let world = world().await;
    let sql = "select name from customer where id = $1";
    let with = |value: i64| Ask { params: vec![engine::Value::BigInt(value)], ..world.ask(owner_id(), sql) };
    for (value, name, expected) in [(1, "Ada", "made"), (2, "Bob", "kept"), (3, "Cleo", "kept"), (1, "Ada", "kept")] {
        let (got, counted) = planned(&world, with(value)).await;
        assert_eq!((got.unwrap().json, counted), (format!(r#"["{name}"]"#), Some(expected)));
    }
    let (missing, counted) = planned(&world, world.ask(owner_id(), sql)).await;
    assert_eq!(counted, Some("kept"));
    let anew = world.run(&format!("{sql} -- anew")).await;
    assert_eq!(told(missing), told(anew), "a value that is missing is told as ever");
    let typed = || Ask { types: vec![Some("BIGINT".to_owned())], ..with(2) };
    assert_eq!(outcome(&world, typed()).await, Some("made"));
    assert_eq!(outcome(&world, typed()).await, Some("kept"));
    world.stop().await;
}

#[tokio::test]
async fn a_plan_is_of_who_asks_of_their_names_and_of_what_there_is() {
    let world = world().await;
    let sql = "select * from customer order by id";
    let expect = async |ask: Ask, expected: [&'static str; 2]| {
        for expected in expected {
            assert_eq!(outcome(&world, ask.clone()).await, Some(expected));
        }
    };
    expect(world.ask(owner_id(), sql), ["made", "kept"]).await;
    expect(world.ask(analyst_id(), sql), ["made", "kept"]).await;
    let agent = DeclaredAgent::told(("agent_id", Some("bot".to_owned())), ("framework", None)).unwrap();
    expect(Ask { agent, ..world.ask(owner_id(), sql) }, ["made", "kept"]).await;
    let mut elsewhere = world.ask(owner_id(), sql);
    elsewhere.names.searched = vec!["other".to_owned()];
    expect(elsewhere, ["made", "kept"]).await;
    world.run("alter table customer add column note varchar").await.unwrap();
    let (got, counted) = planned(&world, world.ask(owner_id(), sql)).await;
    assert_eq!((got.unwrap().answer.columns.len(), counted), (6, Some("made")), "a table has another column");
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    expect(world.ask(analyst_id(), sql), ["made", "kept"]).await;
    world.stop().await;
}

#[tokio::test]
async fn a_plan_of_one_statement_alone_is_not_kept() {
    let world = world().await;
    let mut variable = world.ask(owner_id(), "select name from customer where id = $low");
    let mut variables = sql::Variables::default();
    variables.set("low", sql::Variable::Number("1".to_owned()));
    variable.names.variables = Arc::new(variables);
    let mut within = world.ask(owner_id(), "select name from customer");
    within.transaction = Some(world.pipeline.begin(within.who.clone()));
    let pivot = "select * from (select id, region from customer) pivot (count(id) for region in (any))";
    let plain = [
        "select random() as drawn",
        "select current_timestamp() as now",
        "select table_name from information_schema.tables",
        "show tables",
        "create table if not exists made (id integer)",
        "truncate table customer_of_nobody",
        pivot,
    ];
    let mut asks = vec![variable, within.clone()];
    asks.extend(plain.map(|sql| world.ask(owner_id(), sql)));
    for ask in asks {
        for _ in 0..2 {
            let counted = outcome(&world, ask.clone()).await;
            assert!(matches!(counted, None | Some("not_kept")), "{}: {counted:?}", ask.sql);
        }
    }
    within.transaction.unwrap().lock().await.rollback().await.unwrap();
    world.run("insert into customer values (4, 'Dan', 'APAC', '1', 1)").await.unwrap();
    let columns = world.run(pivot).await.unwrap().answer.columns;
    assert!(columns.iter().any(|column| column.name.contains("APAC")), "the values are those of now: {columns:?}");
    let granted = grant(&["customer"], Timestamp::MAX_UTC);
    world.change(|rules| _ = rules.agent_capabilities.insert("bot".to_owned(), vec![granted]));
    let agent = DeclaredAgent::told(("agent_id", Some("bot".to_owned())), ("framework", None)).unwrap();
    let confined = Ask { agent, ..world.ask(owner_id(), "select name from customer") };
    for _ in 0..2 {
        let (got, counted) = planned(&world, confined.clone()).await;
        assert_eq!((got.is_ok(), counted), (true, Some("not_kept")), "what it was granted is counted");
    }
    world.stop().await;
}

/// What may change under a plan that is kept: the hour, JIT access, the end of a key, the room.
#[tokio::test]
async fn what_the_moment_decides_is_asked_each_time() {
    let (world, clock) = at_noon().await;
    let (read, write) = ("select id from customer", "insert into customer values (9, 'Zoe', 'EU', '1', 1)");
    let lent = Elevation {
        request_id: "jit-1".into(),
        user_id: "u-analyst".into(),
        role: Role::Developer,
        effective_at: noon(),
        expires_at: noon() + Duration::hours(1),
    };
    world.change(|rules| {
        let window = AbacRule {
            start: Some("15:00".to_owned()),
            end: Some("18:00".to_owned()),
            ..rule(Condition::TimeOfDay, &[], Action::Deny)
        };
        rules.abac_policies = vec![ruled("by the clock", vec![window])];
        rules.elevations = vec![lent];
        key(rules, &owner_id()).expires_at = Some(noon() + Duration::hours(10));
        rules.organization.limits.storage_limit_gb = Some(1);
    });
    let ask = |who: KeyId, sql: &str| world.ask(who, sql);
    for expected in ["made", "kept"] {
        assert_eq!(outcome(&world, ask(owner_id(), read)).await, Some(expected));
        assert_eq!(outcome(&world, ask(analyst_id(), write)).await, Some(expected), "as a developer");
    }
    world.ledger.storage.told(1_000_000_000);
    let (full, counted) = planned(&world, ask(analyst_id(), write)).await;
    assert_eq!((full.unwrap_err().code(), counted), (Code::Forbidden, Some("kept")), "there is no room");
    world.ledger.storage.told(0);
    clock.advance(Duration::hours(2));
    let (over, counted) = planned(&world, ask(analyst_id(), write)).await;
    assert_eq!((over.is_err(), counted), (true, Some("not_kept")), "JIT access is over");
    assert_eq!(outcome(&world, ask(owner_id(), read)).await, Some("kept"));
    clock.advance(Duration::hours(2));
    let (late, counted) = planned(&world, ask(owner_id(), read)).await;
    assert_eq!((late.unwrap_err().code(), counted), (Code::PolicyDenied, Some("kept")), "it is four");
    clock.advance(Duration::hours(3));
    let (evening, counted) = planned(&world, ask(owner_id(), read)).await;
    assert_eq!((evening.is_ok(), counted), (true, Some("kept")), "it is seven");
    clock.advance(Duration::hours(4));
    let (ended, counted) = planned(&world, ask(owner_id(), read)).await;
    assert_eq!((ended.is_err(), counted), (true, Some("not_kept")), "its key has ended");
    world.stop().await;
}

fn key<'a>(rules: &'a mut Governance, key_id: &KeyId) -> &'a mut Key {
    rules.keys.iter_mut().find(|key| key.key_id == *key_id).unwrap()
}

fn grant(tables: &[&str], expires_at: Timestamp) -> Grant {
    let capabilities = Capabilities {
        allowed_tables: tables.iter().map(|table| (*table).to_owned()).collect(),
        allowed_operations: vec!["select".to_owned()],
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [].into(),
    };
    Grant { grant_id: "g".into(), capabilities, expires_at }
}

/// All that a caller is told.
pub fn told(got: Result<Got, Error>) -> String {
    match got {
        Ok(Got { answer, json }) => {
            let masked = (&answer.columns_masked, &answer.warnings);
            format!("{json} {:?} changed {:?}, {masked:?}", answer.columns, answer.changed)
        }
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

/// Chance, the same in each run.
pub struct Dice(pub Entropy);

impl Dice {
    pub fn below(&self, many: usize) -> usize {
        let [byte] = self.0.bytes::<1>();
        usize::from(byte) % many
    }

    pub fn one_in(&self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// Rules of which each is in force or not, as the dice have it.
fn thrown(dice: &Dice, base: &Governance, now: Timestamp) -> Governance {
    let mut rules = base.clone();
    let policies = [
        masking("customer", "ssn", MaskFunction::Full),
        masking("customer", "name", MaskFunction::Null),
        filtering("customer", "region = {region}"),
        filtering_strictly("orders", "amount > 10"),
    ];
    rules.policies = policies.into_iter().filter(|_| dice.one_in(2)).collect();
    let at = |start: &str, end: &str, action| {
        let (start, end) = (Some(start.to_owned()), Some(end.to_owned()));
        AbacRule { start, end, ..rule(Condition::TimeOfDay, &[], action) }
    };
    let by_attribute = [
        rule(Condition::TableIs, &["orders"], Action::ReadOnly),
        rule(Condition::AttributeIs("region".to_owned()), &["US"], Action::Deny),
        rule(Condition::AgentIdIs, &["bot"], Action::Deny),
        at("14:00", "18:00", Action::Deny),
        at("20:00", "04:00", Action::ReadOnly),
    ];
    let chosen = by_attribute.into_iter().filter(|_| dice.one_in(4));
    rules.abac_policies = chosen.enumerate().map(|(at, rule)| ruled(&format!("rule {at}"), vec![rule])).collect();
    if dice.one_in(8) {
        rules.abac_policies.push(denying("customer", &[Role::Owner]));
    }
    let member = rules.members.get_mut(&UserId::from("u-analyst")).unwrap();
    member.role = [Role::Analyst, Role::Analyst, Role::Developer, Role::Auditor][dice.below(4)];
    match dice.below(3) {
        0 => _ = member.attributes.remove("region"),
        1 => _ = member.attributes.insert("region".to_owned(), "US".to_owned()),
        _ => {}
    }
    if dice.one_in(3) {
        rules.elevations.push(Elevation {
            request_id: "jit-1".into(),
            user_id: "u-analyst".into(),
            role: Role::Developer,
            effective_at: now + Duration::hours(1),
            expires_at: now + Duration::hours(3),
        });
    }
    let its = key(&mut rules, &analyst_id());
    its.expires_at = dice.one_in(4).then(|| now + Duration::hours(2));
    its.agent_id = dice.one_in(6).then(|| "bot".to_owned());
    if dice.one_in(8) {
        rules.keys.retain(|key| key.key_id != analyst_id());
    }
    if dice.one_in(3) {
        rules.agent_capabilities.insert("bot".to_owned(), vec![grant(&["orders"], now + Duration::hours(2))]);
    }
    if dice.one_in(10) {
        rules.environment.status = EnvironmentStatus::Suspended;
    }
    rules
}

const TEXTS: [&str; 9] = [
    "select 42, current_role() as role",
    "select * from customer order by id",
    "select name, ssn from customer where balance > 15 order by id",
    "select c.name, o.amount from customer c join orders o on o.customer = c.id order by o.id",
    "select count(*) as many from seen",
    "select region, sum(balance) as total from customer group by region order by region",
    "select * from orders order by id",
    "update orders set amount = amount where id = 1",
    "delete from orders where id = 99",
];

const DEFINITIONS: [&str; 6] = [
    "drop view seen",
    "create view seen as select * from customer where region = 'EU'",
    "create view seen as select id, name from customer where balance > 15",
    "alter table orders add column note varchar",
    "alter table orders drop column note",
    "create table fresh as select 1 as one",
];

/// Between two runs of a text the rules, whoever asks, the hour or the definitions change, or nothing does. What a text
/// answers then is what it answers where no plan of it can be kept.
#[tokio::test]
async fn whatever_changes_a_kept_plan_answers_as_one_that_is_made_anew() {
    let (world, clock) = at_noon().await;
    for sql in [
        "create table orders (id integer, customer integer, amount integer)",
        "insert into orders values (1, 1, 5), (2, 1, 50), (3, 2, 500)",
        DEFINITIONS[1],
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    let base = world.rules.borrow().as_deref().cloned().unwrap();
    let (dice, mut others) = (Dice(Entropy::seeded(37)), 0);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..60 {
        match dice.below(6) {
            0 | 1 => {
                let next = thrown(&dice, &base, world.pipeline.clock.now());
                world.change(|rules| *rules = Governance { version: rules.version, ..next });
            }
            2 | 3 => clock.advance(Duration::minutes(70)),
            4 => _ = world.run(DEFINITIONS[dice.below(DEFINITIONS.len())]).await, // or it is refused
            _ => {}
        }
        for _ in 0..4 {
            let (text, who) = (TEXTS[dice.below(TEXTS.len())], [owner_id(), analyst_id()][dice.below(2)].clone());
            let agent_id = dice.one_in(4).then(|| "bot".to_owned());
            let agent = DeclaredAgent::told(("agent_id", agent_id), ("framework", None)).unwrap();
            let ask = |sql: &str| Ask { agent: agent.clone(), ..world.ask(who.clone(), sql) };
            let [first, second] = [world.whole(ask(text)).await, world.whole(ask(text)).await];
            others += 1;
            let (anew, counted) = planned(&world, ask(&format!("{text} -- {others}"))).await;
            assert_ne!(counted, Some("kept"), "nobody has asked this text before");
            *(if anew.is_ok() { &mut answered } else { &mut refused }) += 1;
            let anew = told(anew);
            let at = world.pipeline.clock.now();
            assert_eq!(told(first), anew, "round {round} at {at}: {text} of {who:?} for {agent:?}");
            assert_eq!(told(second), anew, "round {round} at {at}: {text} of {who:?} for {agent:?}, again");
        }
    }
    let [kept, ..] = plans(&world);
    assert!(kept > 40 && answered > 40 && refused > 20, "{kept} kept, {answered} answered, {refused} refused");
    world.stop().await;
}
