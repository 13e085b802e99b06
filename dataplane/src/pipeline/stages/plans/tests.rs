use contract::policy::abac::Operation;

use super::*;
use crate::Command;
use crate::pipeline::stages::tables::JudgedNames;
use crate::testing::governance;

fn generated() -> sql::EngineSql {
    let names = sql::SessionNames::new("demo");
    let resolved = sql::resolve(sql::parse("select 1 as one").unwrap(), &catalogue(), &names).unwrap();
    sql::transpile(sql::govern(resolved, &sql::Rules::default()).unwrap().embedded().unwrap()).unwrap()
}

fn plan(sql: &sql::EngineSql) -> KeptPlan {
    KeptPlan {
        about: StatementInfo::new(Command::Select, Operation::Select, false, Vec::new()),
        sql: sql.clone(),
        care: sql::ExecutionMode::Direct,
        fails_anyhow: false,
        masked_columns: Vec::new(),
        changed: false,
        told: PlanFacts {
            redacted: None,
            transpiled: None,
            with_rls: None,
            columns_masked: Vec::new(),
            verdicts: Vec::new(),
        },
    }
}

fn catalogue() -> Arc<sql::Catalog> {
    Arc::new(sql::Catalog::new([]))
}

fn key(text: &str) -> PlanKey {
    let asked = PlanAsked {
        types: Vec::new(),
        database: None,
        search_path: vec!["main".to_owned()],
        tells_parts: false,
        org_id: "org-1".into(),
        user_id: Some("u-1".into()),
        email: None,
        role: Role::Analyst,
        attributes: Attributes::from([("region".to_owned(), "EU".to_owned())]),
        key_id: None,
        agent: Agent::default(),
    };
    PlanKey { text: text.to_owned(), asked: Arc::new(asked) }
}

fn asked(key: &mut PlanKey) -> &mut PlanAsked {
    Arc::make_mut(&mut key.asked)
}

fn basis() -> Basis {
    Basis { rules: Arc::new(governance()), known: catalogue() }
}

fn place(text: &str, basis: &Basis) -> PlanPlace {
    PlanPlace { key: key(text), basis: basis.clone() }
}

#[test]
fn plans_are_by_the_same_rules_over_the_same_catalogue() {
    let (plans, sql, first) = (PlanCache::default(), generated(), basis());
    let ruled = Basis { rules: Arc::new(governance()), ..first.clone() }; // of the same version, and yet others
    let defined = Basis { known: catalogue(), ..ruled.clone() };
    let place = |basis: &Basis| place("select a from t", basis);
    assert!(plans.get(&place(&first)).is_none());
    assert!(plans.insert(place(&first), plan(&sql)));
    assert!(plans.get(&place(&first)).is_some());
    for (before, after) in [(&first, &ruled), (&ruled, &defined)] {
        assert!(plans.get(&place(after)).is_none());
        assert!(!plans.insert(place(before), plan(&sql)), "what it was made by is gone");
        assert!(plans.insert(place(after), plan(&sql)));
        assert!(plans.get(&place(after)).is_some());
    }
    assert!(plans.get(&place(&first)).is_none(), "it does not come back");
}

#[test]
fn each_part_of_a_key_sets_plans_apart() {
    let changes: [fn(&mut PlanKey); 12] = [
        |key| key.text.push(' '),
        |key| asked(key).types.push(Some("DATE".to_owned())),
        |key| asked(key).database = Some("other".to_owned()),
        |key| asked(key).search_path.push("more".to_owned()),
        |key| asked(key).tells_parts = true,
        |key| asked(key).org_id = "org-2".into(),
        |key| asked(key).user_id = None,
        |key| asked(key).email = Some("a@x.example".to_owned()),
        |key| asked(key).role = Role::Developer,
        |key| _ = asked(key).attributes.insert("region".to_owned(), "US".to_owned()),
        |key| asked(key).key_id = Some("k-1".into()),
        |key| asked(key).agent.verified = true,
    ];
    let (plans, sql, basis) = (PlanCache::default(), generated(), basis());
    let place = || place("select a from t", &basis);
    assert!(plans.get(&place()).is_none());
    assert!(plans.insert(place(), plan(&sql)));
    for (at, change) in changes.into_iter().enumerate() {
        let mut other = place();
        change(&mut other.key);
        assert!(plans.get(&other).is_none(), "change {at}");
    }
    assert!(plans.get(&place()).is_some());
}

#[test]
fn all_that_a_plan_is_kept_by_is_weighed() {
    let grows: [fn(&mut PlanKey); 4] = [
        |key| key.text.push_str(&"x".repeat(100_000)),
        |key| asked(key).types.resize(5_000, None),
        |key| asked(key).search_path.push("x".repeat(100_000)),
        |key| _ = asked(key).attributes.insert("region".to_owned(), "x".repeat(100_000)),
    ];
    for (at, grow) in grows.into_iter().enumerate() {
        let mut key = key("select 1");
        let before = key.weight();
        assert!(before < 1_000, "{before} bytes");
        grow(&mut key);
        assert!(key.weight() > before + 99_000, "change {at}");
    }
    let (sql, names) = (generated(), vec!["main.t".repeat(1_000); 20]);
    let mut kept = plan(&sql);
    let before = kept.weight();
    kept.about.tables.clone_from(&names);
    kept.about.judged =
        Some(Arc::new(JudgedNames { named: names.clone(), meant: names, operations: vec![Operation::Select] }));
    assert!(kept.weight() > before + 3 * 20 * 6_000);
}

#[test]
fn an_environment_that_nobody_asks_anything_keeps_no_plans() {
    let (sql, basis) = (generated(), basis());
    let sweep = |generation: Generation| {
        for at in 0..3_000 {
            generation.plans.insert(key(&at.to_string()), Arc::new(plan(&sql)));
        }
        let plans = PlanCache { bounds: PlanBounds::DEFAULT, generation: Mutex::new(generation) };
        plans.sweep();
        plans.generation().plans.entry_count()
    };
    let at_once = PlanBounds { idle_secs: 0, ..PlanBounds::DEFAULT };
    assert_eq!(sweep(Generation::new(Some(basis.clone()), at_once)), 0);
    assert!(sweep(Generation::new(Some(basis), PlanBounds::DEFAULT)) > 1_000, "they are not idle yet");
}

#[test]
fn plans_are_bounded_and_what_was_asked_for_longest_ago_goes_first() {
    let (plans, sql, basis) = (PlanCache::default(), generated(), basis());
    let place = |text: &str| place(text, &basis);
    assert!(plans.get(&place("0")).is_none());
    for at in 0..3000 {
        assert!(plans.insert(place(&at.to_string()), plan(&sql)));
    }
    let all = plans.generation().plans.clone();
    (0..10).for_each(|_| all.run_pending_tasks()); // each lets go of some
    assert!(all.weighted_size() <= PlanBounds::DEFAULT.bytes, "{} bytes", all.weighted_size());
    assert!(all.entry_count() > 1000, "{} plans", all.entry_count());
    assert!(plans.get(&place("0")).is_none() && plans.get(&place("2999")).is_some());
}

#[test]
fn a_text_that_has_a_shape_is_kept_by_it_until_it_comes_again() {
    let (plans, sql, basis) = (PlanCache::default(), generated(), basis());
    let place = |number: u32| place(&format!("select a from t where id = {number}"), &basis);
    assert!(plans.get(&place(12)).is_none());
    assert!(plans.insert(place(12), plan(&sql)));
    assert!(plans.get(&place(12)).is_none(), "it may be the only one");
    assert!(plans.shared(&place(13)).is_none(), "one text shows nothing of others");
    assert!(plans.shared(&place(12)).is_some());
    assert!(plans.get(&place(12)).is_some(), "it has come again");
    assert!(plans.insert(place(13), plan(&sql)));
    assert!(plans.get(&place(13)).is_some(), "its number is nowhere in its plan, so it shares none");
    assert!(plans.shared(&place(13)).is_none() && plans.shared(&place(14)).is_none());
}
