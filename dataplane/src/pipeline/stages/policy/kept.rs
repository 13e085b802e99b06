//! A text that was let through before: what the policies said of it then, they are asked again.

use super::super::Gates;
use super::super::tables::StatementInfo;
use super::{AllowedAgain, Asker, lets_in};
use crate::Error;
use crate::pipeline::Result;

/// Asks again what may have changed while the rules and the catalogue have not: the caller, the hour, the address.
pub(in crate::pipeline::stages) fn check_kept(
    gates: &Gates<'_>,
    about: StatementInfo,
    who: &Asker,
) -> Result<AllowedAgain> {
    let Gates { query, rules, t, .. } = *gates;
    let mut facts = t.facts();
    facts.governance_version = rules.version;
    facts.caller = Some(who.caller.clone());
    facts.agent = who.agent.told();
    drop(facts);
    lets_in(gates, &who.caller, about.writes)?;
    who.caller.may_query(about.writes).map_err(Error::Lacks)?;
    let asked = who.asks(rules, (&query.ask).into(), about.writes).over(&about.judged_by()?.stages);
    let judged = about.judged.as_ref().ok_or_else(|| Error::Unverified { why: "its names are not kept".to_owned() })?;
    asked.permitted(&judged.meant, &judged.operations, t)?;
    if about.tables != judged.named {
        asked.permitted(&about.tables, &judged.operations, t)?;
    }
    t.facts().tables.clone_from(&about.tables);
    let role = who.caller.role;
    Ok(AllowedAgain { about, role })
}
