//! Permissions of a session and of a key.

use super::*;
use crate::Code;
use crate::body::Problem;

fn code(refused: Result<(), MissingPermission>) -> Option<Code> {
    refused.err().map(MissingPermission::code)
}

fn caller(role: Role, credential: Credential) -> Caller {
    Caller { org_id: "o".into(), user_id: None, email: None, role, attributes: BTreeMap::new(), credential }
}

fn key(scopes: &[&str], acts_for_user: bool) -> Credential {
    let scopes = Scopes::try_from(scopes.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap();
    Credential::Key { key_id: "k".into(), env_id: "e".into(), scopes, acts_for_user }
}

#[test]
fn a_session_needs_the_role() {
    let session = |role| caller(role, Credential::Session { session_id: "s".into() });
    assert_eq!(session(Role::Admin).may(Access::Admin, Some(Scope::KeyWrite)), Ok(()));
    assert_eq!(code(session(Role::Analyst).may(Access::Admin, Some(Scope::KeyWrite))), Some(Code::Forbidden));
}

#[test]
fn a_key_for_a_user_needs_both_and_a_bare_key_the_scope() {
    let needs = |c: Caller| c.may(Access::Admin, Some(Scope::KeyWrite));
    assert_eq!(needs(caller(Role::Admin, key(&["key:write"], true))), Ok(()));
    assert_eq!(code(needs(caller(Role::Admin, key(&["key:read"], true)))), Some(Code::ScopeViolation));
    assert_eq!(code(needs(caller(Role::Analyst, key(&["key:write"], true)))), Some(Code::Forbidden));
    assert_eq!(needs(caller(Role::ServiceAccount, key(&["key:*"], false))), Ok(()));
    assert_eq!(
        code(caller(Role::ServiceAccount, key(&["key:*"], false)).may(Access::Admin, None)),
        Some(Code::Forbidden)
    );
}

#[test]
fn what_no_scope_names_is_managed_by_a_key_without_limits() {
    let families: Vec<String> = Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect();
    let all: Vec<&str> = families.iter().map(String::as_str).collect();
    let (all, limited) = (caller(Role::Owner, key(&all, true)), caller(Role::Owner, key(&all[1..], true)));
    for access in [Access::Owner, Access::Admin, Access::Auditor, Access::Developer] {
        assert_eq!(all.may(access, None), Ok(()));
        assert_eq!(code(limited.may(access, None)), Some(Code::ScopeViolation));
    }
    assert_eq!(limited.may(Access::Member, None), Ok(()));
    assert_eq!(code(caller(Role::Analyst, key(&[], true)).may(Access::Admin, None)), Some(Code::Forbidden));
}

#[test]
fn queries_follow_role_and_scope() {
    let session = |role| caller(role, Credential::Session { session_id: "s".into() });
    assert_eq!(session(Role::Analyst).may_query(false), Ok(()));
    assert_eq!(code(session(Role::Analyst).may_query(true)), Some(Code::Forbidden));
    assert_eq!(code(session(Role::Auditor).may_query(false)), Some(Code::Forbidden));
    assert_eq!(code(caller(Role::Owner, key(&["query:read"], true)).may_query(true)), Some(Code::ScopeViolation));
}

#[test]
fn what_is_lacking_is_said_with_who_can_give_it() {
    let (own, access) = (Role::Analyst, Access::Developer);
    for (lack, message, details) in [
        (
            MissingPermission::Scope(Scope::QueryWrite),
            "the key has no scope `query:write`: the owner or admin of the organization makes a key that has it",
            serde_json::json!({"given_by": ["owner", "admin"], "scope": "query:write"}),
        ),
        (
            MissingPermission::Role { own, access },
            "this takes one of the roles owner, admin, developer, and yours is analyst: the owner or admin can give you one",
            serde_json::json!({"given_by": ["owner", "admin"], "role": "analyst", "roles": ["owner", "admin", "developer"]}),
        ),
        (
            MissingPermission::Role { own, access: Access::Owner },
            "this takes one of the roles owner, and yours is analyst: the owner can give you one",
            serde_json::json!({"given_by": ["owner"], "role": "analyst", "roles": ["owner"]}),
        ),
        (
            MissingPermission::Query { own: Role::Auditor, writes: false },
            "this takes one of the roles owner, admin, developer, analyst, and yours is auditor: the owner or admin can \
             give you one",
            serde_json::json!({"given_by": ["owner", "admin"], "role": "auditor",
                               "roles": ["owner", "admin", "developer", "analyst"]}),
        ),
    ] {
        assert_eq!(lack.to_string(), message);
        let told = lack.told(Problem::new(lack.code(), message));
        assert_eq!(serde_json::Value::Object(told.details), details);
    }
}
