-- Organizations: the tenants. What a status or tier may be is held here, not in handlers.
create table organizations (
    org_id text not null,
    name text not null,
    slug text not null,
    billing_email text not null,
    cloud_region text not null,
    tier text not null,
    status text not null,
    mfa_required boolean not null default false,
    enforce_sso boolean not null default false,
    sso_provider text,
    billing_provider_customer_id text,
    billing_provider_subscription_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint organizations_pkey primary key (org_id),
    constraint organizations_slug_key unique (slug),
    constraint organizations_slug_check check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    constraint organizations_tier_check check (tier in ('free', 'cloud', 'growth', 'enterprise')),
    constraint organizations_status_check
        check (status in ('active', 'pending_payment', 'provisioning', 'suspended', 'cancelled'))
);
