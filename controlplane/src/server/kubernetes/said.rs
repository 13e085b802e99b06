//! The spec of a resource, in types of the control plane.

use contract::Tier;
use contract::caller::Limits;
use contract::governance::EnvironmentStatus;
use contract::network::range;
use contract::wire::port;
use crds::{EnvironmentPhase, OrganizationPhase, Quotas};
use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use platform::resources::{EnvironmentResource, OrganizationResource, Placed, ResourceRevision};
use platform::{Error, Result};

use super::{fields, settings};

/// The id of what a resource describes: nobody may choose it.
pub fn uid(metadata: &ObjectMeta) -> Result<String> {
    metadata.uid.clone().ok_or_else(|| Error::internal("an object without uid"))
}

fn source(metadata: &ObjectMeta) -> Result<ResourceRevision> {
    let revision = metadata.resource_version.as_deref().and_then(|text| text.parse().ok());
    Ok(ResourceRevision {
        namespace: metadata.namespace.clone().ok_or_else(|| Error::internal("an object without namespace"))?,
        revision: revision.ok_or_else(|| Error::internal("a resourceVersion that is no number"))?,
        writer: fields::writer(metadata),
    })
}

pub fn organization(object: &crds::Organization) -> Result<OrganizationResource> {
    let spec = &object.spec;
    Ok(OrganizationResource {
        org_id: uid(&object.metadata)?.into(),
        source: source(&object.metadata)?,
        slug: spec.slug.clone(),
        name: spec.name.clone(),
        billing_email: spec.billing_email.clone(),
        cloud_region: spec.cloud_region.clone(),
        tier: match spec.tier {
            crds::Tier::Free => Tier::Free,
            crds::Tier::Cloud => Tier::Cloud,
            crds::Tier::Growth => Tier::Growth,
            crds::Tier::Enterprise => Tier::Enterprise,
        },
        quotas: limits(&spec.quotas)?,
        status: organization_status(object),
        mfa_required: spec.settings.mfa_required,
        enforce_sso: spec.settings.enforce_sso,
    })
}

/// What the operator says, but what is to end ends at once.
fn organization_status(object: &crds::Organization) -> &'static str {
    if object.metadata.deletion_timestamp.is_some() {
        return "cancelled";
    }
    if object.spec.suspended {
        return "suspended";
    }
    match object.status.as_ref().and_then(|status| status.phase) {
        Some(OrganizationPhase::Active) => "active",
        Some(OrganizationPhase::PendingPayment) => "pending_payment",
        Some(OrganizationPhase::Suspended) => "suspended",
        Some(OrganizationPhase::Cancelled) => "cancelled",
        Some(OrganizationPhase::Provisioning) | None => "provisioning",
    }
}

fn limits(quotas: &Quotas) -> Result<Limits> {
    fn count<T: TryInto<N>, N>(given: Option<T>) -> Result<Option<N>> {
        given.map(|given| given.try_into().map_err(|_| Error::internal("a quota below zero"))).transpose()
    }
    Ok(Limits {
        monthly_credit_limit: count(quotas.monthly_credit_limit)?,
        max_concurrent_queries: count(quotas.max_concurrent_queries)?,
        max_rows_per_query: count(quotas.max_rows_per_query)?,
        storage_limit_gb: count(quotas.storage_limit_gb)?,
        max_environments: count(quotas.max_environments)?,
        max_users: count(quotas.max_users)?,
        max_api_keys_per_environment: count(quotas.max_api_keys_per_environment)?,
    })
}

pub fn environment(object: &crds::Environment) -> Result<EnvironmentResource> {
    let spec = &object.spec;
    let source = source(&object.metadata)?;
    Ok(EnvironmentResource {
        env_id: uid(&object.metadata)?.into(),
        organization: spec.organization_ref.name.clone(),
        slug: spec.slug.clone(),
        name: spec.name.clone(),
        status: environment_status(object),
        settings: settings::read(&spec.settings),
        allowed_networks: networks(&spec.network.allowed_cidrs)?,
        placed: placed(object, &source.namespace),
        source,
    })
}

/// One that nobody can read is no reason to let others in: what was said before stays.
fn networks(said: &[String]) -> Result<Vec<IpNet>> {
    said.iter().map(|text| range(text).ok_or_else(|| Error::internal("a range of allowedCidrs that is none"))).collect()
}

/// What the operator says, but what is to end ends at once.
fn environment_status(object: &crds::Environment) -> EnvironmentStatus {
    if object.metadata.deletion_timestamp.is_some() {
        return EnvironmentStatus::Decommissioning;
    }
    if object.spec.suspended {
        return EnvironmentStatus::Suspended;
    }
    match object.status.as_ref().and_then(|status| status.phase) {
        Some(EnvironmentPhase::Active) => EnvironmentStatus::Active,
        Some(EnvironmentPhase::Suspended) => EnvironmentStatus::Suspended,
        Some(EnvironmentPhase::Decommissioning) => EnvironmentStatus::Decommissioning,
        Some(EnvironmentPhase::Provisioning) | None => EnvironmentStatus::Provisioning,
    }
}

/// Callers connect where the status says.
fn placed(object: &crds::Environment, namespace: &str) -> Option<Placed> {
    let name = object.metadata.name.as_ref()?;
    let connection = object.status.as_ref()?.connection.as_ref()?;
    Some(Placed {
        pg: (connection.host.clone(), connection.port),
        tools: (connection.host.clone(), i32::from(port::TOOLS)),
        internal: format!("{name}.{namespace}.svc:{}", port::INTERNAL_REST),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(change: &Value) -> EnvironmentResource {
        let object = json!({
            "metadata": {"name": "acme-dev", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
            "spec": {"organizationRef": {"name": "acme"}, "slug": "dev", "name": "Dev"},
        });
        environment(&serde_json::from_value(fields::merged(object, change.clone())).unwrap()).unwrap()
    }

    #[test]
    fn a_status_is_the_operators_but_what_is_to_end_ends_at_once() {
        for (change, status) in [
            (json!({}), "provisioning"),
            (json!({"status": {"phase": "active"}}), "active"),
            (json!({"status": {"phase": "suspended"}}), "suspended"),
            (json!({"status": {"phase": "active"}, "spec": {"suspended": true}}), "suspended"),
            (
                json!({"status": {"phase": "active"}, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                "decommissioning",
            ),
        ] {
            assert_eq!(read(&change).status.as_str(), status, "{change}");
        }
    }

    #[test]
    fn who_may_connect_is_said_in_the_one_form_of_each_range() {
        let given = json!({"spec": {"network": {"allowedCidrs": ["10.1.2.3/8", "::ffff:127.0.0.0/104"]}}});
        assert_eq!(
            read(&given).allowed_networks,
            ["10.0.0.0/8", "127.0.0.0/8"].map(|net| net.parse::<IpNet>().unwrap())
        );
        assert!(networks(&["10.0.0.0/8".to_owned(), "::ffff:0:0/95".to_owned()]).is_err(), "not fewer, and not all");
    }

    #[test]
    fn an_environment_is_placed_where_its_services_are() {
        assert_eq!(read(&json!({})).placed, None);
        let connection = json!({"host": "acme-dev.ns.svc.cluster.local", "port": 5439, "database": "dev"});
        let said = read(&json!({"status": {"connection": connection}}));
        let placed = said.placed.unwrap();
        assert_eq!(placed.pg, ("acme-dev.ns.svc.cluster.local".to_owned(), 5439));
        assert_eq!((placed.tools.1, placed.internal.as_str()), (5440, "acme-dev.ns.svc:8090"));
        assert_eq!((said.source.revision, said.env_id.as_str()), (7, "u"));
    }

    #[test]
    fn an_organizations_own_quotas_are_read() {
        let object = json!({
            "metadata": {"name": "acme", "namespace": "ns", "uid": "o", "resourceVersion": "9"},
            "spec": {"slug": "acme", "name": "Acme", "billingEmail": "a@b.example", "tier": "growth",
                "quotas": {"maxEnvironments": 2}},
        });
        let said = organization(&serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!((said.tier, said.quotas.max_environments, said.quotas.max_users), (Tier::Growth, Some(2), None));
        assert_eq!(said.status, "provisioning");
    }
}
