//! Questions about what there is.

use super::Dice;

impl Dice {
    pub(super) fn catalogue(&self) -> String {
        let fixed = [
            "show tables",
            "show columns in table customer",
            "describe table customer",
            "show views",
            "show schemas",
            "show objects like '%pay%'",
            "select * from information_schema.tables",
            "select table_name, column_name, data_type from information_schema.columns",
            "select count(*) from information_schema.columns where table_name ilike 'pay%'",
            "select * from information_schema.views",
            "describe view seen",
            "explain select * from payroll",
            "explain select name from customer where ssn = '123-45-6789'",
            "show user functions",
            "select * from duckdb_tables()",
            "select * from pg_catalog.pg_class",
            "select stats(name) from customer",
            "summarize customer",
            "pragma table_info('customer')",
        ];
        self.one(&fixed).to_owned()
    }
}
