//! Samples, from typed values, with only what is not the default: `manifests/samples/` is applied
//! as it is by the suite on a cluster, `production/` shows what one sets in earnest.

use crds::{
    ApiKey, ApiKeySpec, DataPlane, DeletionPolicy, Environment, EnvironmentSettings, EnvironmentSpec, NamedRef,
    Network, Organization, OrganizationSettings, OrganizationSpec, Quantity, Quotas, Resources, Storage, Tier, Tls,
    TlsMode,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, yaml};

/// Path and text of each.
pub fn all() -> Result<Vec<(&'static str, String)>, Error> {
    Ok(vec![
        (
            "manifests/samples/organization.yaml",
            text("An organization: who pays, and what for. Its name is its slug.", &organization("acme", Tier::Cloud))?,
        ),
        (
            "manifests/samples/environment.yaml",
            text("An environment: one small data plane. Its name is <organization>-<slug>.", &environment())?,
        ),
        (
            "manifests/samples/api-key.yaml",
            text("A key that opens the environment. The operator puts its text, once, into the Secret.", &api_key())?,
        ),
        (
            "manifests/samples/production/organization.yaml",
            text("An organization without the limits of a small tier.", &organization("globex", Tier::Growth))?,
        ),
        (
            "manifests/samples/production/environment.yaml",
            text(
                "An environment as one runs in earnest. It needs cert-manager with an Issuer \"platform\", a storage \
                 class \"fast\", and volume snapshots.",
                &production(),
            )?,
        ),
    ])
}

fn organization(slug: &str, tier: Tier) -> Organization {
    let mut name = slug.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Organization::new(
        slug,
        OrganizationSpec {
            slug: slug.to_owned(),
            name,
            billing_email: format!("billing@{slug}.example"),
            cloud_region: "us-east-1".to_owned(),
            tier,
            quotas: Quotas::default(),
            suspended: false,
            settings: OrganizationSettings::default(),
        },
    )
}

/// All defaults.
fn plain(organization: &str, slug: &str, name: &str) -> EnvironmentSpec {
    EnvironmentSpec {
        organization_ref: named(organization),
        slug: slug.to_owned(),
        name: name.to_owned(),
        settings: EnvironmentSettings::default(),
        suspended: false,
        deletion_policy: DeletionPolicy::default(),
        storage: Storage::default(),
        data_plane: DataPlane::default(),
        network: Network::default(),
        tls: Tls::default(),
        bootstrap: None,
    }
}

fn environment() -> Environment {
    let spec = EnvironmentSpec {
        storage: Storage { size: amount("1Gi"), ..Storage::default() },
        data_plane: DataPlane { resources: resources("100m", "512Mi", "1Gi"), ..DataPlane::default() },
        ..plain("acme", "dev", "Development")
    };
    Environment::new("acme-dev", spec)
}

fn production() -> Environment {
    let spec = EnvironmentSpec {
        settings: EnvironmentSettings { query_timeout_ms: 120_000, ..EnvironmentSettings::default() },
        deletion_policy: DeletionPolicy::Snapshot,
        storage: Storage { size: amount("500Gi"), storage_class_name: Some("fast".to_owned()), ..Storage::default() },
        data_plane: DataPlane { resources: resources("4", "16Gi", "16Gi"), ..DataPlane::default() },
        network: Network { allowed_cidrs: vec!["10.0.0.0/8".to_owned()] },
        tls: Tls { mode: TlsMode::CertManager, issuer_ref: Some(named("platform")), secret_ref: None },
        ..plain("globex", "prod", "Production")
    };
    Environment::new("globex-prod", spec)
}

fn api_key() -> ApiKey {
    let spec = ApiKeySpec {
        environment_ref: named("acme-dev"),
        name: "app".to_owned(),
        scopes: ["query:read", "query:write", "schema:read"].map(str::to_owned).to_vec(),
        ip_allowlist: Vec::new(),
        expires_in_days: Some(90),
        user_id: None,
        rotation: None,
        secret_ref: Some(named("acme-dev-app")),
        key_id: None,
    };
    ApiKey::new("acme-dev-app", spec)
}

fn named(name: &str) -> NamedRef {
    NamedRef { name: name.to_owned() }
}

fn amount(text: &str) -> Quantity {
    Quantity(text.to_owned())
}

fn resources(cpu: &str, memory: &str, memory_limit: &str) -> Resources {
    Resources {
        requests: [("cpu".to_owned(), amount(cpu)), ("memory".to_owned(), amount(memory))].into(),
        limits: [("memory".to_owned(), amount(memory_limit))].into(),
    }
}

/// YAML of the members that are not what their absence means.
fn text<T: Serialize + DeserializeOwned + PartialEq>(about: &str, object: &T) -> Result<String, Error> {
    let mut value = serde_json::to_value(object)?;
    prune(&mut value, "/spec", &|fewer| T::deserialize(fewer).is_ok_and(|read| read == *object));
    Ok(format!("# {about}\n# Printed by chartgen from typed values; not edited by hand.\n{}", yaml(&value)?))
}

/// Removes every member below a pointer without which the object reads the same.
fn prune(object: &mut Value, pointer: &str, same: &impl Fn(&Value) -> bool) {
    let Some(members) = object.pointer(pointer).and_then(Value::as_object) else { return };
    let names: Vec<String> = members.keys().cloned().collect();
    for name in names {
        let mut fewer = object.clone();
        if let Some(members) = fewer.pointer_mut(pointer).and_then(Value::as_object_mut) {
            members.shift_remove(&name);
        }
        if same(&fewer) {
            *object = fewer;
        } else {
            prune(object, &format!("{pointer}/{name}"), same);
        }
    }
}
