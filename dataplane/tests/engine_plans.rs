//! Plans that the engine keeps of a text: it answers as if none were kept, whatever has changed meanwhile.

use contract::Entropy;
use contract::policy::MaskFunction;
use dataplane::Error;
use dataplane::metrics::StateGauges;
use dataplane::testing::{analyst_id, filtering, masking, owner_id};

use crate::world::{Got, World, world};

/// How many statements have run by a plan that the engine had kept.
fn kept(world: &World) -> u64 {
    let text = world.pipeline.metrics.text(StateGauges::default()).unwrap();
    let head = "sluice_dataplane_engine_plans_total{outcome=\"kept\"} ";
    text.lines().find_map(|line| line.strip_prefix(head)?.parse().ok()).unwrap_or(0)
}

fn told(got: Result<Got, Error>) -> String {
    match got {
        Ok(Got { answer, json }) => format!("{json} {:?} {:?}", answer.columns, answer.columns_masked),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

/// Each with a place for a condition that always holds, by which its text is one that nobody has asked.
const TEXTS: [&str; 5] = [
    "select * from customer where id = 2 and {}",
    "select name, ssn from customer where balance > 15 and {}",
    "select count(*), count(balance), min(balance), max(balance), sum(balance) from customer where {}",
    "select count(*) from customer where balance is null and {}",
    "select region, count(*) from customer where {} group by region order by region",
];

/// What changes rows: to more or less than any had, to nothing, or away.
const CHANGES: [&str; 6] = [
    "insert into customer (id, name, region, ssn, balance) values (-5, 'Dan', 'US', '1', -999999)",
    "insert into customer (id, name, region, ssn, balance) values (99, null, 'EU', null, 9999999)",
    "update customer set balance = null where id in (2, 99)",
    "update customer set balance = 20, ssn = 'x' where id = 2",
    "delete from customer where id <> 2",
    "insert into customer (id, name, region, ssn, balance) values (1, 'Ada', 'EU', '078-05-1120', 10.5)",
];

const DEFINITIONS: [&str; 3] = [
    "alter table customer add column note varchar default 'noted'",
    "alter table customer drop column note",
    "create or replace table customer as select id, name, region, ssn, balance from customer",
];

#[tokio::test]
async fn whatever_changes_the_engine_answers_as_by_a_plan_that_is_made_anew() {
    let world = world().await;
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    let dice = Entropy::seeded(38);
    let below = |many: usize| usize::from(dice.bytes::<1>()[0]) % many;
    let mut others = 0;
    for round in 0..40 {
        match below(8) {
            0..=3 => _ = world.run(CHANGES[below(CHANGES.len())]).await, // or a policy refuses it
            4 => _ = world.run(DEFINITIONS[below(DEFINITIONS.len())]).await, // or it is there already
            5 => {
                let policies = [
                    masking("customer", "ssn", MaskFunction::Full),
                    masking("customer", "name", MaskFunction::Null),
                    filtering("customer", "balance > 10"),
                    filtering("customer", "region = 'EU'"),
                ];
                let chosen: Vec<_> = policies.into_iter().filter(|_| below(2) == 0).collect();
                world.change(|rules| rules.policies = chosen);
            }
            _ => {}
        }
        for text in TEXTS {
            let who = [owner_id(), analyst_id()][below(2)].clone();
            let asked = text.replace("{}", "1 = 1");
            let mut answers = Vec::new();
            for _ in 0..3 {
                answers.push(told(world.whole(world.ask(who.clone(), &asked)).await));
            }
            others += 1;
            let anew = text.replace("{}", &format!("{others} + 1 > {others}"));
            let anew = told(world.whole(world.ask(who.clone(), &anew)).await);
            for answered in answers {
                assert_eq!(answered, anew, "round {round}: {asked} of {who:?}");
            }
        }
    }
    let kept = kept(&world);
    assert!(kept > 40, "{kept} kept");
    world.stop().await;
}
