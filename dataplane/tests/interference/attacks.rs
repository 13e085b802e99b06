//! Statements made to get around a policy, by their class: `attacks.jsonl`, one case a line.
//!
//! `sql` is one statement or several in a row, `as` a role (else an analyst), `filter` the filter on
//! both tables (else by equality), `fails` says that none of them may be answered. Whatever they are
//! answered, both sides answer alike and show nothing hidden. `SLUICE_ATTACKS` names a file of more: its answers
//! are printed.

use contract::Role;
use contract::policy::MaskFunction;
use serde::Deserialize;

use super::{FILTERS, Pair, Surface, changes_rows_alone, has_run, is_read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    class: String,
    sql: Steps,
    #[serde(default, rename = "as")]
    role: Option<Role>,
    #[serde(default)]
    filter: Option<String>,
    #[serde(default)]
    fails: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Steps {
    One(String),
    Several(Vec<String>),
}

impl Steps {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(sql) => std::slice::from_ref(sql),
            Self::Several(steps) => steps,
        }
    }
}

/// Each case is asked at both of these.
const SURFACES: [Surface; 2] = [Surface::Json, Surface::Simple];
/// And at one of these in turn: a class has cases at all of them.
const MORE: [Surface; 4] = [Surface::Copy, Surface::Cursor, Surface::Flight, Surface::Transpile];

/// What went wrong with a case, if anything, and whether it may have changed something.
async fn attacked(pair: &mut Pair, case: &Case, surface: Surface) -> (Vec<String>, bool) {
    let (mut breaches, mut may_have_changed) = (Vec::new(), false);
    for sql in case.sql.as_slice() {
        let compared = pair.compare(sql, surface).await;
        if others().is_some() {
            println!("{surface:?}: {sql}\n  {compared:?}");
        }
        let is_run = surface != Surface::Transpile && compared.as_ref().map_or(true, |answer| has_run(answer));
        may_have_changed |= is_run && !is_read(sql);
        match compared {
            Err(breach) => breaches.push(format!("{}: {breach}", case.class)),
            Ok(answer) if case.fails && is_run => {
                breaches.push(format!("{}: {surface:?}: {sql}\n  ran: {answer}", case.class));
            }
            Ok(_) => {}
        }
    }
    (breaches, may_have_changed)
}

fn cases() -> Vec<Case> {
    let text = match others() {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => include_str!("attacks.jsonl").to_owned(),
    };
    text.lines().map(|line| serde_json::from_str::<Case>(line).expect(line)).collect()
}

fn others() -> Option<std::ffi::OsString> {
    std::env::var_os("SLUICE_ATTACKS")
}

/// The owner's answer is kept, and the analyst's own; neither is the other's.
#[tokio::test(flavor = "multi_thread")]
async fn no_attack_learns_from_answers_that_were_kept() {
    let mut pair = Pair::new().await;
    pair.rule(FILTERS[0], Role::Analyst, MaskFunction::Full);
    pair.keep(true);
    let (mut breaches, mut count) = (Vec::new(), 0);
    let reads = cases().into_iter().filter(|case| case.role.is_none() && case.filter.is_none());
    for case in reads.filter(|case| case.sql.as_slice().len() == 1) {
        for sql in case.sql.as_slice() {
            pair.owner_asks(sql).await;
        }
        for surface in SURFACES {
            breaches.extend(attacked(&mut pair, &case, surface).await.0);
        }
        count += 1;
    }
    assert!(breaches.is_empty(), "{} of {count} breached\n{}", breaches.len(), breaches.join("\n"));
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_of_the_file_shows_what_is_hidden() {
    let cases = cases();
    let mut pair = Pair::new().await;
    pair.keep(false);
    let (mut breaches, mut count) = (Vec::new(), 0);
    for case in cases {
        let filter = case.filter.as_deref().unwrap_or(FILTERS[0]);
        let role = case.role.unwrap_or(Role::Analyst);
        pair.rule(filter, role, MaskFunction::Full);
        let reads = role == Role::Analyst;
        let turn = MORE[count % MORE.len()];
        let surfaces =
            if reads { vec![SURFACES[0], SURFACES[1], turn] } else { vec![SURFACES[count % SURFACES.len()], turn] };
        for surface in surfaces {
            let (found, may_have_changed) = attacked(&mut pair, &case, surface).await;
            breaches.extend(found);
            // an analyst changes nothing here, and neither does a statement that was refused or only read
            if !reads && may_have_changed {
                if case.sql.as_slice().iter().all(|sql| is_read(sql) || changes_rows_alone(sql)) {
                    pair.put_rows_back().await;
                } else {
                    pair.refill().await;
                }
            }
        }
        count += 1;
    }
    assert!(breaches.is_empty(), "{} of {count} breached\n{}", breaches.len(), breaches.join("\n"));
    pair.stop().await;
}
