//! Noninterference: hidden data makes no difference to a caller.
//!
//! "Two data sets that differ only in what the caller may not see give identical answers, errors,
//! headers and audit text": a pair of planes, A and B, whose hidden rows, masked values and denied
//! table differ. Every statement is asked of both, over REST, at the PostgreSQL wire and over
//! Arrow Flight; only the order of rows and times may differ.

mod attacks;
mod generator;
mod side;
mod strict;

use contract::policy::{MaskFunction, Policy};
use contract::wire::header;
use contract::{Governance, Role};
use dataplane::testing::{analyst_key, denying, filtering, masking};

use crate::pgwire::wired;
use crate::{agents_router, flight};
use generator::Dice;
use side::{Side, Surface};

/// In CI; a soak asks for more.
const STATEMENTS: usize = 400;
/// A soak says after so many that it goes on, and what it has found.
const TOLD_AFTER: usize = 10_000;

/// Both sides: the same as far as an analyst of the EU may see.
const SHARED: &[&str] = &[
    "create or replace table customer (id integer, name varchar, email varchar, ssn varchar, region varchar, \
        salary integer, born date, score double, tags json, card varchar)",
    "create or replace table orders (id integer, customer_id integer, region varchar, amount decimal(10,2), \
        status varchar, note varchar)",
    "create or replace table lookup (code varchar, label varchar)",
    "insert into lookup values ('EU', 'Europe'), ('US', 'States'), ('Zelda', 'a name'), ('***', 'stars')",
    "insert into orders values (10, 1, 'EU', 100.50, 'paid', 'a'), (11, 2, 'EU', 250.00, 'open', '12')",
    "drop table if exists made",
    "drop view if exists made_view",
];

/// Each side's own: masked values, hidden rows, the denied table.
const OWN: [&[&str]; 2] = [
    &[
        "insert into customer values \
            (1, 'Alice', 'alice@ex.com', '123-45-6789', 'EU', 91001, '1990-01-02', 1.5, '{\"city\":\"Oslo\",\"list\":[1,2]}', 'c-1111'), \
            (2, 'Bob', 'bobby@ex.com', '987-65-4321', 'EU', 82002, '1985-05-06', 2.5, '{\"city\":\"Rome\",\"list\":[]}', 'c-2222'), \
            (3, 'Zxcarol', 'zxcarol@ex.com', '555-12-3456', 'US', 73003, '1970-07-08', 3.5, '{\"city\":\"zxcity\"}', 'c-3333'), \
            (4, 'Zxdave', 'zxdave@ex.com', '222-33-4444', null, 64004, null, 0, null, 'c-4444')",
        "insert into orders values (12, 3, 'US', 777.77, 'paid', 'zxnote1'), (13, 4, null, 888.88, 'open', 'zxnote2')",
        "create or replace table payroll (id integer, customer_id integer, iban varchar, bonus integer)",
        "insert into payroll values (20, 1, 'PAYIBAN001', 5551), (21, 2, 'PAYIBAN002', 5552)",
    ],
    &[
        // so many that the engine joins in another order, and what may be seen comes in another part
        "insert into customer (id, name, region, score) select 1000 + i, 'Zymany' || i, 'US', -i from range(2100) t(i)",
        "insert into customer values \
            (1, 'Alice', 'qqqqqqqq.com', '911-22-3333', 'EU', 11111, '2001-01-02', 1.5, '{\"city\":\"Oslo\",\"list\":[1,2]}', 'c-1111'), \
            (2, 'Bob', 'wwwwwwww.com', '033-44-5555', 'EU', 99999, '1999-09-09', 2.5, '{\"city\":\"Rome\",\"list\":[]}', 'c-2222'), \
            (3, 'Zyerin', '7', '777-88-9999', 'US', 123456, '2001-02-03', 91001, '{\"list\":[\"zylist\"]}', '77'), \
            (5, 'Zyfred', '8', '000-11-2222', 'US', 654321, null, 0, '[1]', 'c-6666'), \
            (6, 'Zygina', null, null, 'AP', 1, '2011-01-01', null, null, null)",
        "insert into orders values (14, 5, 'US', 1.11, 'void', 'zynote9')",
        "insert into orders select 2000 + i, 1000 + i, 'US', i, 'void', 'zymany' from range(300) t(i)",
        "drop table if exists payroll",
    ],
];

/// Texts and numbers that no answer may hold, unless the statement does.
const HIDDEN: &[&str] = &[
    "123-45-6789",
    "987-65-4321",
    "555-12-3456",
    "222-33-4444",
    "91001",
    "82002",
    "73003",
    "64004",
    "alice@ex",
    "bobby@ex",
    "zxc",
    "zxd",
    "zxn",
    "777.77",
    "888.88",
    "payiban",
    "5551",
    "5552",
    "911-22-3333",
    "033-44-5555",
    "777-88-9999",
    "000-11-2222",
    "11111",
    "99999",
    "123456",
    "654321",
    "zyerin",
    "zyfred",
    "zygina",
    "zyn",
    "zyl",
    "zymany",
    "c-3333",
    "c-4444",
    "c-6666",
    "1990-01-02",
    "1985-05-06",
    "2001-01-02",
    "1999-09-09",
];

/// Filters that let the same rows pass, in ways that the engine plans differently.
const FILTERS: &[&str] = &[
    "region = {region}",
    "region in ({region}, 'DE')",
    "region = {region} or region = {user_id}",
    "region like 'E%'",
    "case when region = {region} then true else false end",
    "not (region <> {region})",
    "coalesce(region, '') = {region}",
    "region in (select code from lookup where code = {region})",
    "exists (select 1 from lookup l where l.code = region and l.label = 'Europe') and region = {region}",
    "upper(region) = {region}",
    "region = {region} and 1000 / id > 0",
    "region = {region} or region::integer > 0",
    "region = (select max(code) from lookup where label like 'Europ%')",
    "region in (select code from lookup) and strpos({region}, region) > 0",
    "case when region is null then 1 / (id - 4) > 5 else substr(region, 1, 2) = {region} end",
    "region = {region} and to_timestamp(id) at time zone 'UTC' < '2000-01-01'",
];

/// What a change may have changed.
const LOOKED_AT: [&str; 5] = [
    "select * from customer",
    "select * from orders",
    "select * from lookup",
    "select * from made",
    "select * from made_view",
];

struct Pair {
    sides: [Side; 2],
}

impl Pair {
    async fn new() -> Self {
        let mut sides = Vec::new();
        for own in OWN {
            let wired = wired().await;
            let mut flight = flight::client(&agents_router::router(&wired.world), analyst_key());
            flight.set_header(header::REQUEST_ID, "req-7");
            let side = Side::new(wired, flight);
            side.fill(own).await;
            side.owner("create view seen as select id, name, ssn, email, region, salary, born, score, tags, card from customer").await;
            sides.push(side);
        }
        let sides = sides.try_into().unwrap_or_else(|_| unreachable!());
        Self { sides }
    }

    /// The same rules on both sides: `filter` on both tables, masks of four kinds, a denied table.
    fn rule(&self, filter: &str, role: Role, strong: MaskFunction) {
        for side in &self.sides {
            side.wired.world.change(|rules| {
                rules.policies = policies(filter, strong);
                rules.abac_policies = vec![denying("payroll", &[Role::Owner])];
                as_role(rules, role);
            });
        }
    }

    /// Whether answers are kept for the next who asks alike.
    fn keep(&self, keep: bool) {
        for side in &self.sides {
            side.wired.world.change(|rules| rules.environment.settings.cache_enabled = keep);
        }
    }

    /// The owner, who may see all of it, asks first; what would change something is not theirs to ask here.
    async fn owner_asks(&self, sql: &str) {
        if !is_read(sql) {
            return;
        }
        let [a, b] = &self.sides;
        let _refused_or_answered = tokio::join!(a.wired.world.run(sql), b.wired.world.run(sql));
    }

    async fn refill(&self) {
        let [a, b] = &self.sides;
        tokio::join!(a.fill(OWN[0]), b.fill(OWN[1]));
    }

    /// As it was before rows were changed; definitions take longer to make again.
    async fn put_rows_back(&self) {
        let [a, b] = &self.sides;
        tokio::join!(a.put_rows_back(OWN[0]), b.put_rows_back(OWN[1]));
    }

    /// Asks both; a difference, or a hidden value, is the error.
    async fn compare(&mut self, sql: &str, surface: Surface) -> Result<String, String> {
        self.compare_after("", sql, surface).await
    }

    /// The same where an answer may hold what a statement before has written into a view.
    async fn compare_after(&mut self, before: &str, sql: &str, surface: Surface) -> Result<String, String> {
        let [a, b] = &mut self.sides;
        let (a, b) = tokio::join!(a.shown(sql, surface), b.shown(sql, surface));
        if a != b {
            return Err(format!("{surface:?}: {sql}\n  A: {a}\n  B: {b}"));
        }
        let (answer, asked) = (without_digests(&a.to_lowercase()), format!("{before} {sql}").to_lowercase());
        match HIDDEN.iter().find(|hidden| holds(&answer, hidden) && !asked.contains(**hidden)) {
            Some(hidden) => Err(format!("{surface:?}: {sql}\n  shows {hidden}: {a}")),
            None => Ok(a),
        }
    }

    async fn stop(self) {
        for side in self.sides {
            drop(side.client);
            side.wired.stop().await;
        }
    }
}

/// Whether what was asked has run to its end, by its answer and the log.
fn has_run(answer: &str) -> bool {
    answer.starts_with("200") || answer.contains("Completed")
}

/// Whether it changes rows, and surely nothing else.
fn changes_rows_alone(text: &str) -> bool {
    ["update ", "delete ", "insert ", "merge "].iter().any(|word| text.starts_with(word))
}

/// Whether it surely changes nothing.
fn is_read(text: &str) -> bool {
    sql::parse(text).is_ok_and(|statement| !statement.is_write())
}

/// A text without the digests that the audit writes of statements: their digits say nothing.
fn without_digests(text: &str) -> String {
    let is_digest = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let begins_with_digest = |part| str::get(part, ..64).is_some_and(is_digest);
    text.split("sha256:").map(|part| if begins_with_digest(part) { &part[64..] } else { part }).collect()
}

/// Whether a text holds another; digits of a longer number, which is a sum perhaps, are not it.
fn holds(text: &str, part: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let runs_on = |outer: Option<char>, inner: Option<char>| is_digit(outer) && is_digit(inner);
    text.match_indices(part).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + part.len()..]);
        !runs_on(before.chars().next_back(), part.chars().next())
            && !runs_on(after.chars().next(), part.chars().next_back())
    })
}

fn policies(filter: &str, strong: MaskFunction) -> Vec<Policy> {
    let filter_on = |table: &str| filtering(table, filter);
    vec![
        filter_on("customer"),
        filter_on("orders"),
        masking("customer", "ssn", strong),
        masking("customer", "email", MaskFunction::Partial),
        masking("customer", "salary", MaskFunction::Null),
        masking("customer", "born", MaskFunction::Full),
        masking("customer", "card", MaskFunction::Hash),
    ]
}

fn as_role(rules: &mut Governance, role: Role) {
    if let Some(member) = rules.members.get_mut(&"u-analyst".into()) {
        member.role = role;
    }
}

/// A number of the environment, for a soak.
fn asked_for(name: &str) -> Option<u64> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn random_statements_are_answered_alike_whatever_is_hidden() {
    let seed = asked_for("SLUICE_SEED").unwrap_or(1);
    let wanted = asked_for("SLUICE_STATEMENTS").map_or(STATEMENTS, |wanted| usize::try_from(wanted).unwrap());
    let from = asked_for("SLUICE_FROM").map_or(0, |from| usize::try_from(from).unwrap());
    println!("seed {seed}: {wanted} statements"); // SLUICE_SEED and SLUICE_STATEMENTS give others
    let dice = Dice::new(seed);
    let mut pair = Pair::new().await;
    let (mut breaches, mut answered) = (Vec::new(), 0);
    for number in 0..wanted {
        if number % 50 == 0 {
            let role = if number % 100 == 0 { Role::Developer } else { Role::Analyst };
            let strong = if dice.below(2) == 0 { MaskFunction::Full } else { MaskFunction::Null };
            pair.rule(FILTERS[dice.below(FILTERS.len())], role, strong);
        }
        let made = dice.statement();
        let surface = Surface::ALL[dice.below(Surface::ALL.len())];
        if number < from {
            continue;
        }
        let shown = pair.compare(&made.sql, surface).await;
        let is_run = shown.as_ref().is_ok_and(|answer| has_run(answer));
        answered += usize::from(is_run);
        let refused = shown.is_ok() && !is_run;
        let mut found = |breach: String| {
            println!("{number} {breach}"); // a soak may be stopped before its end
            breaches.push(format!("{number} {breach}"));
        };
        if let Err(breach) = shown {
            found(breach);
        }
        if made.writes {
            for sql in LOOKED_AT {
                if let Err(breach) = pair.compare_after(&made.sql, sql, Surface::Json).await {
                    found(format!("after {}\n  {breach}", made.sql));
                }
            }
            // a change that was refused has changed nothing, or the next statements tell
            match (refused, made.defines()) {
                (true, _) => {}
                (false, true) => pair.refill().await,
                (false, false) => pair.put_rows_back().await,
            }
        }
        if (number + 1) % TOLD_AFTER == 0 {
            println!("{} asked, {answered} answered with rows, {} breaches", number + 1, breaches.len());
        }
    }
    println!("{answered} of {wanted} from {from} on were answered with rows");
    assert!(breaches.is_empty(), "seed {seed}: {} breaches\n{}", breaches.len(), breaches.join("\n"));
    assert!(answered * 4 > wanted.saturating_sub(from), "only {answered} of {wanted} were answered: they show nothing");
    pair.stop().await;
}
