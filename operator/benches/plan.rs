//! The cost of one reconciliation of an environment: a new one, a settled one, and a settled one of which nothing
//! is remembered, as after a restart.

#![expect(clippy::unwrap_used, reason = "a bench fails loudly")]

mod settled;

use operator::controllers::environment::plan::plan;
use operator::objects::observed::Observed;
use settled::{new, settled};

fn main() {
    divan::main();
}

#[divan::bench]
fn a_new_environment(bencher: divan::Bencher<'_, '_>) {
    let observed = new("acme", "sales");
    bencher.bench(|| plan(divan::black_box(&observed)));
}

#[divan::bench]
fn a_settled_environment(bencher: divan::Bencher<'_, '_>) {
    let observed = settled("acme", "sales");
    bencher.bench(|| plan(divan::black_box(&observed)));
}

#[divan::bench]
fn a_settled_environment_after_a_restart(bencher: divan::Bencher<'_, '_>) {
    let observed = Observed { agreed: None, ..settled("acme", "sales") };
    bencher.bench(|| plan(divan::black_box(&observed)));
}
