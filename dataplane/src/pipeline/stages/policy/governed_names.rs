//! Names that policies use: they keep their meaning, and so do schemas in which a policy hides something.

use contract::policy::abac::{Condition, Operation, stage_as_table};
use contract::policy::{Policies, Rules, filters_on, masks_on};
use contract::{Governance, Role};

use crate::Error;
use crate::governance::table_path::table_ref;
use crate::pipeline::Result;
use crate::pipeline::authorization::policy_request::PolicyRequest;
use crate::pipeline::stages::tables::StatementInfo;
use crate::pipeline::swap::Renaming;

/// A schema in which something is hidden from the caller, or would be if it were there, stays; nobody is told what.
pub(super) fn keeps_schema(asked: &PolicyRequest<'_>, about: &StatementInfo, there: &sql::Catalog) -> Result<()> {
    let hides = |path: &str| hides_from(asked.rules, asked.caller.role, path) || !asked.may_see(there, path);
    let schemas: Vec<&str> = about.written.iter().filter_map(|(path, _)| path.strip_suffix(".*")).collect();
    let is_within = |path: &String| schemas.iter().any(|schema| schema.eq_ignore_ascii_case(table_ref(path).schema));
    let mut named = named_by_policies(asked.rules).filter(is_within);
    if !about.written.iter().any(|(path, _)| hides(path)) && !named.any(|path| hides(&path)) {
        return Ok(());
    }
    Err(Error::PolicyDenied {
        message: "a policy hides something of this schema from you: you cannot drop it".to_owned(),
    })
}

/// Whether a rule of this name hides something from the role that is lost, or open, without the name.
///
/// Rows of a table would be lost to others. Files stay where they are, and another stage would lead to them.
fn hides_from(rules: &Governance, role: Role, path: &str) -> bool {
    let (policies, table) = (&rules.policies, table_ref(path));
    let is_masked = || table.stage().is_some() && !masks_on(policies, table, role).is_empty();
    !filters_on(policies, table, role).is_empty() || is_masked()
}

/// `schema.name` of the tables that policies name, there or not; of a pattern, how it begins.
fn named_by_policies(rules: &Governance) -> impl Iterator<Item = String> {
    let abac = rules.abac_policies.iter().filter(|policy| policy.enabled).flat_map(|policy| &policy.rules);
    let patterns = abac.flat_map(|rule| match rule.condition {
        Condition::TableIs => rule.values.clone(),
        Condition::StageIs => rule.values.iter().map(|value| stage_as_table(value)).collect(),
        _ => Vec::new(),
    });
    let tables = rules.policies.iter().filter(|policy| policy.enabled).flat_map(|policy| match &policy.rules {
        Rules::ColumnMasking(_) => Vec::new(),
        Rules::RowLevelSecurity(rules) => rules.iter().map(|rule| rule.table.clone()).collect(),
    });
    patterns.chain(tables).map(|name| {
        let begin = name.strip_suffix('*').unwrap_or(&name);
        if begin.contains('.') { begin.to_owned() } else { format!("main.{begin}") }
    })
}

/// Refuses a change under which a name that an enabled policy uses would lose its meaning.
///
/// Such a table cannot be altered, nor renamed to what a pattern of it does not match, unless another takes its name, or
/// that of its column (`swap`). Who does not see all its rows cannot drop or replace it.
pub(super) fn keeps_governed(renaming: &Renaming<'_>, about: &StatementInfo) -> Result<()> {
    let Renaming { rules, caller, own, .. } = renaming;
    if renaming.resolved.kind().keeps_names() {
        return Ok(());
    }
    let renamed_to = renaming.resolved.renamed_to();
    let policies = Policies { standard: &rules.policies, abac: &rules.abac_policies };
    for (path, operation) in &about.written {
        let table = table_ref(path);
        // a pattern goes on holding for what it matches; a name holds for nothing else
        let loses_its_rule = || renamed_to.as_deref().is_some_and(|new| policies.lose(table, table_ref(new)));
        let path = || path.clone();
        match operation {
            // a table may take the place of another within a transaction, which of a stage nobody would look for at COMMIT
            Operation::Alter
                if (policies.name(table) || loses_its_rule())
                    && (table.stage().is_some() || !renaming.permits(&path())?) =>
            {
                return Err(Error::Governed { table: path() });
            }
            // under another name a column would be denied to nobody
            Operation::Alter if !own.denied_columns(&path()).is_empty() => {
                let message = format!("columns of table {} are denied to the agent: it cannot alter it", path());
                return Err(Error::PolicyDenied { message });
            }
            Operation::Drop if hides_from(rules, caller.role, &path()) => {
                return Err(Error::Undroppable { table: path() });
            }
            Operation::Drop if table.stage().is_some() && !own.denied_columns(&path()).is_empty() => {
                let message = format!("columns of {} are denied to the agent: it cannot drop it", path());
                return Err(Error::PolicyDenied { message });
            }
            _ => {}
        }
    }
    Ok(())
}
