//! Rows of which some are left out by their number, over what can fail, and by keys that the answer does not show.

use super::Dice;

impl Dice {
    pub(super) fn cut(&self) -> String {
        let (from, where_, only) = (self.from(), self.bool(1), self.on_customer(1));
        let (text, int, failing) = (self.text(1), self.int(1), self.failing());
        let of_customer = |text: &str| {
            text.replace("o.note", "c.name").replace("o.amount", "c.score").replace("o.customer_id", "c.id")
        };
        let alone = of_customer(&failing);
        let count = self.one(&["0", "1", "2", "3", "5"]);
        match self.below(14) {
            0 => format!("select c.id from customer c where {alone} limit {count}"),
            1 => format!("select top {count} c.id, c.name from customer c where {only}"),
            2 => format!("select c.id, o.id from {from} where {failing} limit {count}"),
            3 => format!("select c.id from customer c where {alone} order by c.id desc limit {count}"),
            4 => format!("select distinct c.region from {from} where {where_} order by {int} limit {count}"),
            5 => format!("select distinct c.region, {text} as v from {from} order by c.id, o.id limit {count}"),
            6 => format!("select c.id, o.note from {from} order by {text} limit {count}"),
            7 => format!(
                "select * from (select c.id, c.name from customer c where {only} limit {count}) t where t.id > {int}"
            )
            .replace("c.salary", "1")
            .replace("o.", "t."),
            8 => format!(
                "select c.region, count(*) as n from {from} where {failing} group by 1 order by n desc limit {count}"
            ),
            9 => {
                format!("select id from customer c where exists (select 1 from orders o where {failing} limit {count})")
            }
            10 => format!(
                "select max(t.id) from (select c.id from customer c where {alone} order by c.name limit {count}) t"
            ),
            11 => format!("select c.id from customer c where {only} offset {count} rows fetch first 2 rows only"),
            12 => format!(
                "select c.id, (select o.note from orders o where {failing} order by o.id limit 1) as v from customer c"
            ),
            _ => format!(
                "select {text} as v from {from} where {where_} union select c.name from customer c where {alone} order by 1 limit {count}"
            ),
        }
    }
}
