//! Permissions of a caller, for a user interface to show or hide.

use std::collections::BTreeSet;

use contract::{Caller, Scope};
use platform::http::route::Route;

/// The scopes of those routes that this caller may use.
pub fn permissions(rows: &[Route], caller: &Caller) -> Vec<&'static str> {
    let admitted = rows.iter().filter(|row| caller.may(row.access, row.scope).is_ok()).filter_map(|row| row.scope);
    let queries = [(Scope::QueryRead, false), (Scope::QueryWrite, true)];
    let (may, may_not): (Vec<_>, Vec<_>) =
        queries.into_iter().partition(|(_, writes)| caller.may_query(*writes).is_ok());
    let mut scopes: BTreeSet<Scope> = admitted.collect();
    scopes.extend(may.into_iter().map(|(scope, _)| scope));
    for (scope, _) in may_not {
        scopes.remove(&scope);
    }
    scopes.into_iter().map(Scope::as_str).collect()
}
