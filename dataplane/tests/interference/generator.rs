//! Random statements over the tables of the pair: shapes of queries × predicates, among them such
//! that fail on some rows or compare by meaning × every function × rows cut off by their number × writes × the
//! catalogue; and what the attacks make in each other's places.
//!
//! Where the order of rows decides what a window or a list holds, a statement orders by a key.

mod called;
mod catalogue;
mod cut;
mod grafted;
mod meaning;

use contract::Entropy;

use super::changes_rows_alone;

/// One statement of a random sequence.
#[derive(Debug)]
pub struct Made {
    pub sql: String,
    /// What it may have changed must be looked at, and put back.
    pub writes: bool,
}

impl Made {
    /// Whether it may have changed more than rows.
    pub fn defines(&self) -> bool {
        !changes_rows_alone(&self.sql)
    }
}

/// Choices, the same for the same seed.
pub struct Dice(Entropy);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Entropy::seeded(seed))
    }

    pub fn below(&self, sides: usize) -> usize {
        usize::try_from(u64::from_le_bytes(self.0.bytes()) % sides as u64).unwrap()
    }

    fn chance(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one<'a>(&self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    pub fn statement(&self) -> Made {
        match self.below(100) {
            0..=11 => Made { sql: self.write(), writes: true },
            12..=15 => Made { sql: self.catalogue(), writes: false },
            16..=18 => Made { sql: format!("explain {}", self.query()), writes: false },
            19..=20 => Made { sql: self.misspelt(), writes: false },
            21..=40 => self.grafted(),
            41..=48 => Made { sql: self.called(), writes: false },
            49..=56 => Made { sql: self.cut(), writes: false },
            _ => Made { sql: self.query(), writes: false },
        }
    }

    // --- expressions over c (customer) and o (orders) --------------------------------------------

    fn int(&self, depth: usize) -> String {
        if depth == 0 {
            return self
                .one(&["c.id", "c.salary", "c.id", "0", "1", "3", "91001", "100", "o.id", "o.customer_id"])
                .to_owned();
        }
        let (int, text) = (|| self.int(depth - 1), || self.text(depth - 1));
        match self.below(16) {
            0 => format!("length({})", text()),
            1 => format!("({} + {})", int(), int()),
            2 => format!("({} * {})", int(), int()),
            3 => format!("nvl({}, {})", int(), int()),
            4 => format!("iff({}, {}, {})", self.bool(depth - 1), int(), int()),
            5 => format!("cast({} as integer)", text()),
            6 => format!("({} / {})", int(), int()),
            7 => format!("({} % {})", int(), int()),
            8 => format!("datediff(day, c.born, {})", self.date()),
            9 => format!("ascii({})", text()),
            10 => format!("try_cast({} as integer)", text()),
            11 => format!("(select count(*) from customer z where {})", self.over("z", depth - 1)),
            12 => format!("position({} in {})", text(), text()),
            13 => format!("zeroifnull({})", int()),
            14 => format!("div0({}, {})", int(), int()),
            _ => self.int(0),
        }
    }

    fn text(&self, depth: usize) -> String {
        if depth == 0 {
            return self
                .one(&[
                    "c.name",
                    "c.email",
                    "c.ssn",
                    "c.region",
                    "c.card",
                    "c.tags::varchar",
                    "o.note",
                    "o.status",
                    "'Z'",
                    "'EU'",
                    "'***'",
                    "'1'",
                    "c.tags:city::varchar",
                    "c.name",
                    "c.ssn",
                ])
                .to_owned();
        }
        let text = || self.text(depth - 1);
        match self.below(17) {
            0 => format!("upper({})", text()),
            1 => format!("({} || {})", text(), text()),
            2 => format!("substr({}, {}, 2)", text(), self.int(depth - 1)),
            3 => format!("nvl({}, {})", text(), text()),
            4 => format!("to_varchar({})", self.int(depth - 1)),
            5 => format!("md5({})", text()),
            6 => format!("left({}, 2)", text()),
            7 => format!("split_part({}, '-', {})", text(), self.int(0)),
            8 => format!("case when {} then {} else {} end", self.bool(depth - 1), text(), text()),
            9 => format!("replace({}, 'l', {})", text(), text()),
            10 => format!("decode({}, {}, 'a', 'b')", text(), text()),
            11 => format!("to_char({}, 'YYYY-MM')", self.date()),
            12 => format!("regexp_substr({}, {})", text(), self.one(&["'[a-z]+'", "'('", "'Z.*'"])),
            13 => format!("get({}, 0)::varchar", self.one(&["c.tags:list", "split(c.name, 'l')", "c.tags"])),
            14 => format!("(select max(y.note) from orders y where y.customer_id = {})", self.int(0)),
            15 => format!("translate({}, 'abc', 'xyz')", text()),
            _ => self.text(0),
        }
    }

    fn date(&self) -> String {
        match self.below(6) {
            0 => format!("cast({} as date)", self.text(0)),
            1 => format!("dateadd(month, {}, c.born)", self.int(0)),
            2 => "date_trunc('month', c.born)".to_owned(),
            3 => format!("to_date({}, 'YYYY-MM-DD')", self.text(0)),
            4 => format!("try_to_date({})", self.text(0)),
            _ => "c.born".to_owned(),
        }
    }

    fn bool(&self, depth: usize) -> String {
        let (int, text) = (|| self.int(depth.min(1)), || self.text(depth.min(1)));
        if depth > 0 && self.chance(40) {
            return match self.below(4) {
                0 => format!("({} and {})", self.bool(depth - 1), self.bool(depth - 1)),
                1 => format!("({} or {})", self.bool(depth - 1), self.bool(depth - 1)),
                2 => format!("not ({})", self.bool(depth - 1)),
                _ => format!("coalesce({}, false)", self.bool(depth - 1)),
            };
        }
        match self.below(15) {
            0 => format!("{} = {}", text(), text()),
            1 => format!("{} > {}", int(), int()),
            2 => format!("{} like {}", text(), self.one(&["'Z%'", "'%'", "'1__-%'", "'EU'"])),
            3 => format!("{} in ({}, {})", text(), text(), text()),
            4 => format!("{} between {} and {}", int(), int(), int()),
            5 => format!("{} is not null", text()),
            6 => format!("equal_null({}, {})", text(), text()),
            7 => format!("exists (select 1 from orders x where x.customer_id = {} and x.note = {})", int(), text()),
            8 => format!("{} in (select x.ssn from customer x)", text()),
            9 => format!("regexp_like({}, {})", text(), self.one(&["'Z.*'", "'('", "'[0-9]+'"])),
            10 => format!("{} > {}", self.date(), self.one(&["c.born", "'2000-01-01'", "current_date"])),
            11 => format!("c.score > {}", int()),
            12 => self.likened(depth.min(1)),
            _ => self.failing(),
        }
    }

    /// True, false or an error, as the rows are.
    fn failing(&self) -> String {
        let column = self.one(&["c.name", "c.ssn", "c.email", "c.card", "o.note", "c.region"]);
        let number = self.one(&["c.salary", "c.id", "o.amount", "c.score", "o.customer_id"]);
        match self.below(18) {
            0 => format!("{column}::integer > 0"),
            1 => format!("1 / ({number} - {}) > 0", self.one(&["91001", "3", "4", "777.77", "73003"])),
            2 => format!("{column}::date > '2000-01-01'"),
            3 => format!("(case when {column} like 'Z%' then {column}::integer else 1 end) = 1"),
            4 => format!("({number} * 999999999999) > 1"),
            5 => format!("{number}::tinyint > 0"),
            6 => format!("to_number({column}) > 0"),
            7 => format!("to_date({column}, 'YYYY-MM-DD') is null"),
            8 => format!("parse_json({column}) is null"),
            9 => format!("sqrt({number} - 80000) > 0"),
            10 => format!("ln({number} - 3) > 0"),
            11 => format!("chr({number}::integer * 100000) = 'x'"),
            12 => format!("{column}::uuid is null"),
            13 => format!("(case when {number} > 70000 then 3000000000 else 1 end)::integer > 0"),
            14 => format!("from_base64({column}) is null"),
            15 => format!("unhex({column}) is null"),
            16 => format!("to_boolean({column})"),
            _ => format!("c.tags[{column}] is null or strptime({column}, '%Y') is null"),
        }
    }

    /// A condition on one table under another name.
    fn over(&self, alias: &str, depth: usize) -> String {
        self.bool(depth).replace("c.", &format!("{alias}.")).replace("o.", &format!("{alias}."))
    }

    // --- queries ---------------------------------------------------------------------------------

    /// FROM, of customer alone or with orders; in both `c` and `o` can be named.
    fn from(&self) -> String {
        let on = if self.chance(60) { "o.customer_id = c.id".to_owned() } else { self.bool(1) };
        match self.below(12) {
            0 => "customer c cross join orders o".to_owned(),
            1 => format!("customer c left join orders o on {on}"),
            2 => format!("customer c right join orders o on {on}"),
            3 => format!("customer c full join orders o on {on}"),
            4 => "customer c, orders o".to_owned(),
            5 => "orders o natural join (select id as customer_id, * exclude (id) from customer) d \
                  join customer c on c.id = o.customer_id"
                .to_owned(),
            6 => "orders o, lateral (select * from customer k where k.id = o.customer_id) c".to_owned(),
            7 => format!("(select * from customer) c join (select * from orders) o on {on}"),
            8 => "seen c join orders o on o.customer_id = c.id".to_owned(),
            9 => format!("customer c join orders o on {on} join lookup l on l.code = c.region"),
            _ => format!("customer c join orders o on {on}"),
        }
    }

    /// Conditions on customer alone.
    fn on_customer(&self, depth: usize) -> String {
        self.bool(depth)
            .replace("o.note", "c.name")
            .replace("o.status", "c.region")
            .replace("o.customer_id", "c.id")
            .replace("o.amount", "c.score")
            .replace("o.id", "c.id")
    }

    fn query(&self) -> String {
        let depth = self.below(3);
        let (where_, only) = (self.bool(depth), self.on_customer(depth));
        let (text, int) = (self.text(depth), self.int(depth));
        let from = self.from();
        match self.below(36) {
            0 => format!("select * from customer c where {only}"),
            1 => format!("select c.id, {text} as v from {from} where {where_}"),
            2 => format!("select count(*), sum({int}) from {from} where {where_}"),
            3 => format!("with t as (select c.*, o.note from {from} where {where_}) select * from t"),
            4 => format!("with customer as (select * from customer c where {only}) select name, ssn from customer"),
            5 => format!("select c.id from customer c where {only} union all select o.id from orders o"),
            6 => format!("select c.name from customer c intersect select name from customer c where {only}"),
            7 => format!("select c.ssn from customer c except select c.name from customer c where {only}"),
            8 => format!(
                "select c.region, count(*), max({text}) from {from} group by 1 having count(*) > {}",
                self.below(3)
            ),
            9 => format!(
                "select c.id, row_number() over (partition by c.region order by c.id) n from customer c where {only} qualify n < 3"
            ),
            10 => format!("select c.id, c.name from customer c where {only} order by c.id limit {}", self.below(3)),
            11 => {
                format!("select name from customer c order by id limit (select count(*) from customer c where {only})")
            }
            12 => format!(
                "select distinct on (c.region) c.region, c.id, c.name from customer c where {only} order by c.region, c.id"
            ),
            13 => format!(
                "select c.id, (select listagg(o.note, ',') within group (order by o.id) from orders o where o.customer_id = c.id and {where_}) from customer c"
            ),
            14 => format!("select array_agg({text} order by c.id, o.id) from {from} where {where_}"),
            15 => format!(
                "with recursive r(n, i) as (select c.name, 1 from customer c where {only} union all select n || 'x', i + 1 from r where i < 3) select * from r"
            ),
            16 => format!(
                "select * from (select c.region, c.name, c.id from customer c where {only}) pivot (count(id) for region in ('EU', 'US'))"
            ),
            17 => format!(
                "select * from (select c.id, c.name, c.ssn from customer c where {only}) unpivot (v for k in (name, ssn))"
            ),
            18 => {
                format!("select f.value::varchar from customer c, lateral flatten(input => c.tags:list) f where {only}")
            }
            19 => format!("select c from customer c where {only}"),
            20 => format!("select to_json(c), {text} from customer c, orders o where {where_}"),
            21 => format!("select c.id from customer c semi join orders o on {where_}"),
            22 => format!("select c.id from customer c anti join orders o on {where_}"),
            23 => format!(
                "select v.s from (values ('123-45-6789'), ('***'), ('Zelda')) v(s) join customer c on v.s = c.ssn or {only}"
            ),
            24 => format!("from customer c where {only}"),
            25 => format!("select c.* exclude (ssn) replace ({text} as name) from {from} where {where_}"),
            26 => format!("select min({text}), max({int}), count(distinct {text}) from {from}"),
            27 => format!(
                "select lag({text}) over (order by c.id, o.id), sum(c.salary) over (order by c.id, o.id) from {from} where {where_}"
            ),
            28 => format!("select * from seen where id in (select c.id from customer c where {only})"),
            29 => format!(
                "select c.id, {text} from {from} where {where_} order by c.id, o.id limit 3 offset {}",
                self.below(4)
            ),
            30 => format!("select case when {where_} then {text} else {text} end from {from}"),
            31 => format!("select arg_max({text}, c.id), bool_or({where_}), median({int}) from {from}"),
            32 => format!("select * from orders o join customer c using (region) where {where_}"),
            33 | 34 => self.by_meaning(&only),
            _ => self.asked(),
        }
    }

    /// Names that are denied, or are not there, alone and inside others.
    fn asked(&self) -> String {
        let table = self.one(&["payroll", "main.payroll", "payrol", "nowhere", "\"PAYROLL\"", "secrets"]);
        match self.below(6) {
            0 => format!("select * from {table}"),
            1 => format!("select c.id from customer c where c.id in (select id from {table})"),
            2 => format!("select count(*) from customer c left join {table} p on p.id = c.id"),
            3 => format!("with p as (select * from {table}) select * from customer"),
            4 => format!("select exists (select 1 from {table})"),
            _ => format!("describe table {table}"),
        }
    }

    /// A name almost right: what is corrected, and what is suggested, is no more than may be seen.
    fn misspelt(&self) -> String {
        let (column, table) =
            (self.one(&["nmae", "sssn", "salry", "ibann", "nam"]), self.one(&["customr", "payrolll", "ordrs"]));
        match self.below(4) {
            0 => format!("select {column} from customer"),
            1 => format!("select * from {table}"),
            2 => format!("select uper(name) from customer where {}", self.on_customer(0).replace("c.", "")),
            _ => format!("select c.{column} from customer c join {table} o on true"),
        }
    }

    // --- writes ----------------------------------------------------------------------------------

    fn write(&self) -> String {
        let depth = self.below(2);
        let (only, text) = (self.on_customer(depth), self.text(depth));
        let plain = only.replace("c.", "customer.");
        let returning = self.one(&["", " returning *", " returning id", " returning name, ssn"]);
        let noted = self.one(&["'x'", "c.ssn", "c.name", "c.salary::varchar", "o.note || 'y'"]);
        match self.below(20) {
            0 => format!("update orders o set note = {noted} from customer c where c.id = o.customer_id and {only}"),
            1 => format!("update customer set name = 'n' where {plain}{returning}"),
            2 => format!("update customer set region = '{}' where {plain}", self.one(&["EU", "US"])),
            3 => format!("update customer set {} = null where {plain}", self.one(&["ssn", "email", "salary"])),
            4 => format!("delete from customer where {plain}{returning}"),
            5 => format!("delete from orders o using customer c where c.id = o.customer_id and {only}"),
            6 => {
                format!("insert into orders select c.id + 100, c.id, 'EU', 1, c.ssn, {text} from customer c, orders o")
            }
            7 => format!(
                "insert into customer (id, name, region) values (50, 'New', '{}'){returning}",
                self.one(&["EU", "US", "DE"])
            ),
            8 => format!("create table made as select c.*, {text} as v from customer c, orders o"),
            9 => format!("create view made_view as select * from customer c where {only}"),
            10 => format!(
                "merge into orders o using customer c on o.customer_id = c.id when matched then update set note = {noted}"
            ),
            11 => format!(
                "merge into lookup l using (select * from customer c where {only}) c on l.code = c.region when matched then update set label = c.name when not matched then insert values (c.region, c.ssn)"
            ),
            12 => format!("insert into lookup select c.name, c.email from customer c where {only}"),
            13 => format!("update lookup set label = (select max({text}) from customer c, orders o)"),
            14 => format!("delete from lookup where code in (select c.ssn from customer c where {only})"),
            15 => self
                .one(&[
                    "truncate table customer",
                    "truncate table orders",
                    "drop table customer",
                    "alter table customer drop column ssn",
                    "alter table customer rename column ssn to pub",
                    "drop table if exists payroll",
                    "create or replace table customer as select * from orders",
                    "create or replace table orders (id integer)",
                    "alter table lookup add column more varchar",
                ])
                .to_owned(),
            16 => format!("insert overwrite into lookup select c.region, c.ssn from customer c where {only}"),
            17 => format!(
                "insert all into lookup (code) values (name) into orders (id, region) values (id, region) select c.id, c.name, c.region from customer c where {only}"
            ),
            18 => "create table made clone customer".to_owned(),
            _ => format!(
                "update customer set name = (select max(note) from orders o where o.customer_id = customer.id), score = {} where true",
                self.one(&["1", "salary", "score / (id - 3)"])
            ),
        }
    }
}
