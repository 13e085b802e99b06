//! Resources that REST writes: server-side apply, never forced, so that what another manager decides
//! stays theirs.

use std::fmt::Debug;

use async_trait::async_trait;
use contract::EnvId;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Resource, ResourceExt};
use platform::resources::{
    EnvironmentChange, EnvironmentResource, Key, NamespacedName, NewEnvironment, NewOrganization, OrganizationChange,
    OrganizationResource, Resources, SecretRead,
};
use platform::{App, Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Cluster, KEY_REVISION, MANAGER, fields, follow, said, settings};

/// Keys in one answer of the API server.
const PAGE: u32 = 500;

/// A kind of resource that the methods below write.
trait ResourceKind:
    Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl ResourceKind for crds::Organization {}
impl ResourceKind for crds::Environment {}
impl ResourceKind for crds::ApiKey {}

impl Cluster {
    fn api<K: ResourceKind>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn get<K: ResourceKind>(&self, place: &NamespacedName) -> Result<Option<K>> {
        self.asked(self.api::<K>(&place.namespace).get_opt(&place.name)).await
    }

    async fn apply<K: ResourceKind>(&self, place: &NamespacedName, decided: Value) -> Result<K> {
        let head = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": {"name": place.name, "namespace": place.namespace},
        });
        let body = Patch::Apply(fields::merged(decided, head));
        self.asked(self.api::<K>(&place.namespace).patch(&place.name, &PatchParams::apply(MANAGER), &body)).await
    }

    async fn create<K: ResourceKind>(&self, place: &NamespacedName, slug: &str, spec: Value) -> Result<K> {
        if let Some(there) = self.get::<K>(place).await? {
            let leaves = there.meta().deletion_timestamp.is_some();
            let why = if leaves { "belongs to what is being removed" } else { "is taken" };
            return Err(Error::conflict("slug_taken", format!("the slug `{slug}` {why}")));
        }
        self.apply(place, json!({"spec": spec})).await
    }

    /// What we decided before stays decided, and the change with it.
    async fn change<K: ResourceKind>(&self, place: &NamespacedName, change: Value) -> Result<K> {
        let live = self.get::<K>(place).await?.ok_or(Error::NotFound { kind: "resource" })?;
        self.change_of(place, &live, change).await
    }

    async fn change_of<K: ResourceKind>(&self, place: &NamespacedName, live: &K, change: Value) -> Result<K> {
        let whole = serde_json::to_value(live).map_err(Error::internal)?;
        self.apply(place, fields::merged(fields::ours(live.meta(), &whole), change)).await
    }

    /// The object of a key that was made of it, by uid.
    async fn key_of(&self, key: &Key, resource_uid: &str) -> Result<Option<crds::ApiKey>> {
        let of_environment = format!("spec.environmentRef.name={}", key.environment.name);
        let mut asked = ListParams::default().fields(&of_environment).limit(PAGE);
        loop {
            let page = self.asked(self.api::<crds::ApiKey>(&key.environment.namespace).list(&asked)).await?;
            let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
            let found = page.items.into_iter().find(|object| object.uid().as_deref() == Some(resource_uid));
            match (found, next) {
                (Some(found), _) => return Ok(Some(found)),
                (None, Some(token)) => asked = asked.continue_token(&token),
                (None, None) => return Ok(None),
            }
        }
    }
}

#[async_trait]
impl Resources for Cluster {
    async fn create_organization(&self, new: &NewOrganization<'_>) -> Result<OrganizationResource> {
        let place = NamespacedName { namespace: self.namespace.clone(), name: new.slug.to_owned() };
        let spec = json!({
            "slug": new.slug, "name": new.name, "billingEmail": new.billing_email, "cloudRegion": new.cloud_region,
            "settings": {"mfaRequired": new.mfa_required, "enforceSso": new.enforce_sso},
        });
        said::organization(&self.create(&place, new.slug, spec).await?)
    }

    async fn change_organization(
        &self,
        place: &NamespacedName,
        change: &OrganizationChange,
    ) -> Result<OrganizationResource> {
        let OrganizationChange { name, billing_email, mfa_required, enforce_sso } = change;
        let settings = json!({"mfaRequired": mfa_required, "enforceSso": enforce_sso});
        let spec = json!({"name": name, "billingEmail": billing_email, "settings": settings});
        said::organization(&self.change(place, json!({"spec": present(spec)})).await?)
    }

    async fn create_environment(&self, new: &NewEnvironment<'_>) -> Result<EnvironmentResource> {
        let organization = new.organization;
        let place = NamespacedName {
            namespace: organization.namespace.clone(),
            name: format!("{}-{}", organization.name, new.slug),
        };
        let spec = json!({
            "organizationRef": {"name": organization.name}, "slug": new.slug, "name": new.name,
            "settings": settings::decided(&new.settings.into()),
        });
        said::environment(&self.create(&place, new.slug, spec).await?)
    }

    async fn change_environment(
        &self,
        place: &NamespacedName,
        change: &EnvironmentChange,
    ) -> Result<EnvironmentResource> {
        let EnvironmentChange { name, settings, suspended } = change;
        let spec = json!({"name": name, "settings": settings::decided(settings), "suspended": suspended});
        said::environment(&self.change(place, json!({"spec": present(spec)})).await?)
    }

    async fn delete_environment(&self, place: &NamespacedName, env_id: &EnvId) -> Result<()> {
        let there = self.get::<crds::Environment>(place).await?;
        let Some(live) = there.filter(|live| live.metadata.uid.as_deref() == Some(env_id.as_str())) else {
            return Ok(());
        };
        let whole = serde_json::to_value(&live).map_err(Error::internal)?;
        if fields::ours(&live.metadata, &whole).pointer("/spec/slug").is_none() {
            let manager = fields::writer(&live.metadata);
            return Err(Error::conflict(
                "managed",
                format!("the environment is managed by {manager}: delete it there"),
            ));
        }
        let this_one = Preconditions { uid: live.metadata.uid.clone(), resource_version: None };
        let wish = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
        self.asked(self.api::<crds::Environment>(&place.namespace).delete(&place.name, &wish)).await.map(|_| ())
    }

    async fn write_key(&self, key: &Key) -> Result<Option<String>> {
        let revised = json!({"metadata": {"annotations": {KEY_REVISION: key.revision}}});
        let namespace = key.environment.namespace.clone();
        if let Some(resource_uid) = &key.resource_uid {
            let Some(live) = self.key_of(key, resource_uid).await? else {
                return Ok(None);
            };
            let place = NamespacedName { namespace, name: live.name_any() };
            self.change_of(&place, &live, revised).await?;
            return Ok(Some(resource_uid.clone()));
        }
        let place = NamespacedName { namespace, name: format!("key-{}", key.key_id) };
        let written: crds::ApiKey = match self.get::<crds::ApiKey>(&place).await? {
            Some(live) => self.change_of(&place, &live, revised).await?,
            None if key.revoked => return Ok(None),
            None => self.apply(&place, fields::merged(json!({"spec": spec_of(key)}), revised)).await?,
        };
        said::uid(&written.metadata).map(Some)
    }

    async fn secret(&self, place: &NamespacedName) -> Result<SecretRead> {
        self.secret_values(place).await
    }

    async fn follow(&self, app: &App) {
        follow::follow(self, app).await;
    }
}

fn spec_of(key: &Key) -> Value {
    present(json!({
        "environmentRef": {"name": key.environment.name}, "name": key.name, "scopes": key.scopes,
        "ipAllowlist": key.ip_allowlist, "userId": key.user_id, "expiresInDays": key.expires_in_days,
        "keyId": key.key_id,
    }))
}

/// Without the members that are null, and the objects that are left empty: what is not said is not
/// decided.
fn present(value: Value) -> Value {
    let Value::Object(members) = value else {
        return value;
    };
    let said = |(name, value): (String, Value)| {
        let was_object = value.is_object();
        let value = present(value);
        let empty = value.is_null() || (was_object && value.as_object().is_some_and(serde_json::Map::is_empty));
        (!empty).then_some((name, value))
    };
    Value::Object(members.into_iter().filter_map(said).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_decided() {
        let change = json!({"name": null, "settings": {"queryTimeoutMs": null}, "scopes": [], "on": false});
        assert_eq!(present(change), json!({"scopes": [], "on": false}));
    }
}
