use super::*;
use crate::Scope;

fn now() -> Timestamp {
    chrono::DateTime::from_timestamp(1_000, 0).unwrap()
}

fn key() -> Key {
    Key {
        key_id: "k".into(),
        name: "k".into(),
        secrets: vec![KeySecret { prefix: "svc_live_abc".into(), hash: String::new(), not_after: None }],
        scopes: Scopes::all(),
        ip_allowlist: vec![],
        expires_at: None,
        user_id: Some("u".into()),
        attributes: BTreeMap::from([("region".into(), "US".into()), ("team".into(), "x".into())]),
        agent_id: None,
        agent_framework: None,
    }
}

fn policy() -> Policy {
    let rule = crate::policy::MaskingRule {
        table: "customer".into(),
        column: "ssn".into(),
        function: crate::policy::MaskFunction::Partial,
        visible_chars: Some(4),
        exempt_roles: vec![Role::Owner],
    };
    Policy {
        policy_id: "p".into(),
        name: "p".into(),
        enabled: true,
        rules: crate::policy::Rules::ColumnMasking(vec![rule]),
        created_at: now(),
        updated_at: now(),
    }
}

fn snapshot(status: &str) -> Governance {
    let member = Member {
        email: "a@x.example".into(),
        role: Role::Analyst,
        status: status.into(),
        attributes: BTreeMap::from([("region".into(), "EU".into())]),
    };
    Governance {
        version: 1,
        environment: Environment {
            env_id: "e".into(),
            slug: "demo".into(),
            status: EnvironmentStatus::Active,
            settings: crate::EnvironmentSettings::default(),
            allowed_networks: Vec::new(),
        },
        organization: Organization {
            org_id: "o".into(),
            status: "active".into(),
            tier: Tier::Free,
            limits: Tier::Free.limits(),
        },
        key_pepper: HexKey([1; 32]),
        mask_key: HexKey([2; 32]),
        members: BTreeMap::from([("u".into(), member)]),
        keys: vec![key()],
        policies: vec![policy()],
        abac_policies: vec![],
        elevations: vec![],
        agent_capabilities: BTreeMap::new(),
        runtime: false,
        storage_integrations: vec![],
        attached: vec![],
        later_integrations: vec![],
    }
}

fn check(status: &str, change: impl FnOnce(&mut Key), peer: Option<&str>) -> Result<Caller, Code> {
    let mut key = key();
    change(&mut key);
    let secret = key.secrets.first();
    snapshot(status).caller_of_key(&key, secret, peer.map(|ip| ip.parse().unwrap()), now())
}

#[test]
fn a_key_acts_with_its_users_role_and_cannot_replace_an_attribute() {
    let caller = check("active", |_| {}, None).unwrap();
    assert_eq!(caller.role, Role::Analyst);
    assert_eq!(caller.attributes["region"], "EU");
    assert_eq!(caller.attributes["team"], "x");
    assert!(caller.may_query(false).is_ok() && caller.may_query(true).is_err());
}

#[test]
fn a_bare_key_is_a_service_account() {
    let caller = check("active", |key| key.user_id = None, None).unwrap();
    assert_eq!(caller.role, Role::ServiceAccount);
    assert!(caller.may(crate::Access::Admin, Some(Scope::KeyRead)).is_ok());
}

#[test]
fn expiry_grace_address_and_user_status_are_checked() {
    assert_eq!(check("active", |key| key.expires_at = Some(now()), None).unwrap_err(), Code::ExpiredKey);
    assert_eq!(check("active", |key| key.secrets[0].not_after = Some(now()), None).unwrap_err(), Code::ExpiredKey);
    assert_eq!(check("suspended", |_| {}, None).unwrap_err(), Code::InvalidKey);
    assert_eq!(check("active", |key| key.user_id = Some("gone".into()), None).unwrap_err(), Code::InvalidKey);
    assert!(check("invited", |_| {}, None).is_ok());
    let only_ten = |key: &mut Key| key.ip_allowlist = vec!["10.0.0.0/8".parse().unwrap()];
    assert!(check("active", only_ten, Some("10.9.9.9")).is_ok());
    assert!(check("active", only_ten, Some("::ffff:10.9.9.9")).is_ok());
    assert_eq!(check("active", only_ten, Some("11.0.0.1")).unwrap_err(), Code::AddressDenied);
    assert_eq!(check("active", only_ten, None).unwrap_err(), Code::AddressDenied);
}

#[test]
fn an_environment_is_reached_from_where_it_says_and_from_its_own_machine() {
    let mut environment = snapshot("active").environment;
    let mut admits = |networks: &[&str], peer: Option<&str>| {
        environment.allowed_networks = networks.iter().map(|net| net.parse().unwrap()).collect();
        environment.admits(peer.map(|peer| peer.parse().unwrap()))
    };
    assert!(admits(&[], None) && admits(&[], Some("192.0.2.1")), "it says nothing");
    let networks = ["10.0.0.0/8", "2001:db8::/32"];
    for (peer, expected) in [
        ("10.9.9.9", true),
        ("::ffff:10.9.9.9", true),
        ("11.0.0.1", false),
        ("::ffff:11.0.0.1", false),
        ("2001:db8::1", true),
        ("2001:db9::1", false),
        ("127.0.0.1", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
    ] {
        assert_eq!(admits(&networks, Some(peer)), expected, "{peer}");
    }
    assert!(!admits(&networks, None), "nobody knows from where");
}

#[test]
fn a_snapshot_survives_json_and_hides_its_keys_from_logs() {
    let whole = snapshot("active");
    let json = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Governance>(&json).unwrap(), whole);
    assert!(!format!("{whole:?}").contains("0101"));
}

#[test]
fn a_snapshot_of_the_version_before_heals_as_every_environment_does_and_new_members_are_passed_over() {
    let mut json = serde_json::to_value(snapshot("active")).unwrap();
    assert_eq!(json["environment"]["heal"], "safe");
    json["environment"].as_object_mut().unwrap().remove("heal");
    json["environment"]["of_a_later_version"] = 1.into();
    assert_eq!(serde_json::from_value::<Governance>(json).unwrap(), snapshot("active"));
}
