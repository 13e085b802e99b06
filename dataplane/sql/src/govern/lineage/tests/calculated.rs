//! What is calculated of numbers whose digits are known: where it stays in its range no value fails.

use super::care;
use crate::ExecutionMode;

#[test]
fn what_stays_in_its_range_is_leakproof() {
    for sql in [
        "SELECT amount * 2 FROM orders",
        "SELECT amount + 1.5 FROM orders",
        "SELECT amount * 99999999 FROM orders",
        "SELECT sum(amount), sum(id) FROM orders",
        "SELECT 0.5 * sum(amount) FROM orders",
        "SELECT twice FROM (SELECT amount * 2 AS twice FROM orders) x WHERE twice > 2.5",
        "SELECT customer_id FROM orders GROUP BY customer_id HAVING sum(amount * 2) > 300",
        "SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY 1 HAVING sum(amount) > 300)",
        "SELECT customer_id FROM orders GROUP BY 1 HAVING sum(amount) > 0.0000000001 * sum(amount)",
        "SELECT customer_id FROM orders GROUP BY 1 HAVING sum(amount) > (SELECT 0.00000001 * sum(amount) FROM orders)",
        "SELECT o.id FROM orders o WHERE o.id > (SELECT 0.5 * sum(p.amount) FROM orders p WHERE p.customer_id = o.id)",
    ] {
        assert_eq!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
}

#[test]
fn what_may_leave_its_range_can_fail() {
    for sql in [
        "SELECT id + 1 FROM orders",
        "SELECT amount * amount FROM orders",
        "SELECT amount * 999999999 FROM orders",
        "SELECT amount * $1 FROM orders",
        "SELECT sum(amount * amount) FROM orders",
        "SELECT sum(amount) * sum(amount) FROM orders",
        "SELECT customer_id FROM orders GROUP BY 1 HAVING sum(amount) > 0.00000000000000001 * sum(amount)",
        "SELECT sum(salary) FROM customers",
    ] {
        assert_ne!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
    for (first, second) in [("12345678.25 * 2", "o.amount * 99999999"), ("-1.5", "-12.5")] {
        let sql = format!(
            "WITH RECURSIVE r(n) AS (SELECT {first} UNION ALL SELECT {second} FROM orders o JOIN r ON o.id = 1) \
             SELECT n FROM r"
        );
        assert_ne!(care(&sql), ExecutionMode::Leakproof, "{sql}: it is cast to the type of the first arm");
    }
    let early = "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id * o.id > 5";
    assert_eq!(care(early), ExecutionMode::Materialized);
}
