use expect_test::{Expect, expect};

use super::*;
use crate::testing::{analyst, engine, filter, governed, shown};

fn check(sql: &str, expect: &Expect) {
    expect.assert_eq(&shown(sql, &analyst()));
}

#[test]
fn a_table_without_rules_is_named_in_full() {
    check("SELECT iban FROM payroll p", &expect![[""]]);
}

#[test]
fn a_governed_table_is_read_through_its_masks_and_filters() {
    check("SELECT name FROM customers WHERE ssn LIKE '1%'", &expect![[""]]);
}
