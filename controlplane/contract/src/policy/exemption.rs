//! Who is exempt from what rules a table.
//!
//! "A table made from governed ones by an exempt role is open only to roles exempt there, until a policy names it."

use super::abac::{AbacPolicy, AbacRule, Action};
use super::{Policy, Rules, TableRef, is_exempt};
use crate::Role;

/// Everything that may rule a table.
#[derive(Debug, Clone, Copy)]
pub struct Policies<'a> {
    pub standard: &'a [Policy],
    pub abac: &'a [AbacPolicy],
}

impl<'a> Policies<'a> {
    /// Does an enabled policy name this very table?
    pub fn name(self, table: TableRef<'_>) -> bool {
        let by_abac = |policy: &AbacPolicy| policy.rules.iter().any(|rule| rule.names_exactly(table));
        !self.standard_on(table).is_empty() || self.abac.iter().filter(|policy| policy.enabled).any(by_abac)
    }

    /// Does an enabled rule know the table by a pattern, and not by the other name?
    pub fn lose(self, table: TableRef<'_>, renamed: TableRef<'_>) -> bool {
        let mut rules = self.abac.iter().filter(|policy| policy.enabled).flat_map(|policy| &policy.rules);
        let covers = |rule: &AbacRule, table| rule.names(table) == Some(true);
        rules.any(|rule| covers(rule, table) && !covers(rule, renamed))
    }

    /// Is the role exempt from anything that rules the table?
    pub fn exempt(self, table: TableRef<'_>, role: Role) -> bool {
        self.exemptions(table).iter().any(|exempt| is_exempt(exempt, role))
    }

    /// Does a rule hide something of the table from this role?
    pub fn bind(self, table: TableRef<'_>, role: Role) -> bool {
        self.exemptions(table).iter().any(|exempt| !is_exempt(exempt, role))
    }

    /// Does a rule bind this role on the table that does not bind the other?
    pub fn bind_more(self, table: TableRef<'_>, role: Role, than: Role) -> bool {
        self.exemptions(table).iter().any(|exempt| is_exempt(exempt, than) && !is_exempt(exempt, role))
    }

    /// The exempt roles of each rule that hides something of the table.
    fn exemptions(self, table: TableRef<'_>) -> Vec<&'a [Role]> {
        let mut exemptions = self.standard_on(table);
        for policy in self.abac.iter().filter(|policy| policy.enabled) {
            let hiding = policy.rules.iter().filter(|rule| {
                rule.names(table).is_some_and(|named| match rule.action {
                    Action::Deny => named,
                    Action::Allow | Action::DenyOutside => !named,
                    Action::ReadOnly => false,
                })
            });
            exemptions.extend(hiding.map(|rule| rule.exempt_roles.as_slice()));
        }
        exemptions
    }

    fn standard_on(self, table: TableRef<'_>) -> Vec<&'a [Role]> {
        let mut exemptions = Vec::new();
        for policy in self.standard.iter().filter(|policy| policy.enabled) {
            match &policy.rules {
                Rules::ColumnMasking(rules) => {
                    let rules = rules.iter().filter(|rule| table.is_named_by(&rule.table));
                    exemptions.extend(rules.map(|rule| rule.exempt_roles.as_slice()));
                }
                Rules::RowLevelSecurity(rules) => {
                    let rules = rules.iter().filter(|rule| table.is_named_by(&rule.table));
                    exemptions.extend(rules.map(|rule| rule.exempt_roles.as_slice()));
                }
            }
        }
        exemptions
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::policy::RowFilterRule;
    use crate::policy::abac::Condition;

    fn filtering(table: &str, exempt_roles: Vec<Role>, enabled: bool) -> Policy {
        let rule = RowFilterRule { table: table.to_owned(), filter: "false".to_owned(), exempt_roles, strict: false };
        Policy {
            policy_id: "p".into(),
            name: "p".to_owned(),
            enabled,
            rules: Rules::RowLevelSecurity(vec![rule]),
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_role_is_bound_more_where_a_rule_exempts_the_other_alone() {
        use Role::{Admin, Analyst, Developer, Owner};
        let standard = [filtering("T", vec![Owner, Admin], true), filtering("off", vec![Owner], false)];
        let policies = Policies { standard: &standard, abac: &[] };
        let table = |name| TableRef { schema: "main", name };
        for (name, role, than, bound) in [
            ("t", Analyst, Owner, true),
            ("t", Admin, Owner, false),
            ("t", Analyst, Developer, false),
            ("off", Analyst, Owner, false),
            ("other", Analyst, Owner, false),
        ] {
            assert_eq!(policies.bind_more(table(name), role, than), bound, "{name} {role} {than}");
        }
        assert!(policies.bind(table("t"), Analyst) && !policies.bind(table("t"), Owner));
        assert!(!policies.bind(table("off"), Analyst) && !policies.bind(table("other"), Analyst));
        assert!(policies.exempt(table("t"), Owner) && !policies.exempt(table("t"), Developer));
        assert!(policies.name(table("t")) && !policies.name(table("off")));
    }

    #[test]
    fn a_name_that_no_pattern_of_a_rule_knows_loses_the_rule() {
        let rule = |values: &[&str]| AbacRule {
            condition: Condition::TableIs,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            start: None,
            end: None,
            timezone: None,
            action: Action::Deny,
            message: None,
            exempt_roles: vec![],
        };
        let policy = |enabled| AbacPolicy {
            policy_id: "p".into(),
            name: "p".to_owned(),
            description: None,
            rules: vec![rule(&["pay_*", "Payroll_*"]), rule(&["other", "hr.*"])],
            priority: 1,
            enabled,
            created_at: DateTime::UNIX_EPOCH,
        };
        let lose = |enabled, table, renamed| {
            let abac = [policy(enabled)];
            Policies { standard: &[], abac: &abac }.lose(table, renamed)
        };
        let main = |name| TableRef { schema: "main", name };
        for (table, renamed, loses) in [
            (main("payroll_may"), main("may"), true),
            (main("PAYROLL_may"), main("pay_may"), false),
            (main("other"), main("others"), true),
            (main("may"), main("june"), false),
            (main("may"), main("payroll_may"), false),
            (TableRef { schema: "hr", name: "a" }, TableRef { schema: "hr", name: "b" }, false),
        ] {
            assert_eq!(lose(true, table, renamed), loses, "{table:?} {renamed:?}");
            assert!(!lose(false, table, renamed), "{table:?} {renamed:?}");
        }
    }
}
