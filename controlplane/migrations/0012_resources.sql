-- Organizations, environments and keys that are Kubernetes resources. The resource is the truth for
-- an organization and an environment, and the row its projection, as of a version of the resource;
-- PostgreSQL stays the truth for keys.

alter table organizations
    add column namespace text,
    add column resource_version bigint,
    -- contract::caller::Limits: what differs from the tier's.
    add column quotas jsonb not null default '{}',
    -- The resource is gone: the slug is free again.
    add column removed_at timestamptz,
    add constraint organizations_resource_whole check ((namespace is null) = (resource_version is null)),
    drop constraint organizations_slug_key;
create unique index organizations_slug_key on organizations (slug) where removed_at is null;

drop trigger organizations_governance on organizations;
create trigger organizations_governance after update of status, tier, quotas on organizations
    for each row execute function governance_moved_organization();

alter table environments
    add column namespace text,
    add column resource_version bigint,
    add column removed_at timestamptz,
    add constraint environments_resource_whole check ((namespace is null) = (resource_version is null)),
    drop constraint environments_org_id_slug_key;
create unique index environments_org_id_slug_key on environments (org_id, slug) where removed_at is null;

-- Whoever an organization bills is its owner before they have come.
alter table users
    drop constraint users_owner_check,
    add constraint users_owner_check check (role <> 'owner' or status in ('active', 'invited'));

-- The ApiKey resource of a key. Apart from the key, since nothing in it governs.
create table api_key_resources (
    key_id       text        primary key references api_keys,
    -- metadata.uid of the resource.
    resource_uid text        not null,
    -- The control plane wrote the resource of a key that it had made.
    own          boolean     not null,
    -- spec.rotation.id of the present text; null: never rotated by the resource.
    rotation_id  text,
    -- When the present text was seen to be in its Secret: it is never given again.
    delivered_at timestamptz,
    constraint api_key_resources_resource_uid_key unique (resource_uid)
);
