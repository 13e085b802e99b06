-- Room `tenants`: organizations that stand under another one.

create table tenants (
    tenant_id     text        primary key references organizations,
    parent_org_id text        not null references organizations,
    created_at    timestamptz not null,
    constraint tenants_other_check check (tenant_id <> parent_org_id)
);

create index tenants_parent_org_id_created_at_idx on tenants (parent_org_id, created_at desc, tenant_id desc);
