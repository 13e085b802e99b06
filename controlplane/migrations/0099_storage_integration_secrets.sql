-- The access key of an integration may come from a Secret of Kubernetes: it is read, sealed here, and read again each minute.

alter table storage_integrations
    drop constraint storage_integrations_credential_type_check,
    drop constraint storage_integrations_credentials_check,
    -- The Secret's name and keys, as the control plane's SecretSource.
    add column secret         jsonb,
    -- Why the Secret gives no access key; null: it does.
    add column secret_problem text;

-- contract::storage_integration::StorageCredentials: which of them are sealed here. A Secret that gives none leaves nothing.
alter table storage_integrations
    add constraint storage_integrations_credential_type_check
        check (credential_type in ('anonymous', 'ambient', 'access_key', 'password', 'kubernetes_secret')),
    add constraint storage_integrations_credentials_check check (
        (credentials is null) = (credentials_at is null)
        and case
            when credential_type in ('access_key', 'password') then credentials is not null
            when credential_type = 'kubernetes_secret' then (credentials is null) = (secret_problem is not null)
            else credentials is null
        end
    ),
    add constraint storage_integrations_secret_check check (
        (credential_type = 'kubernetes_secret') = (secret is not null) and (secret is not null or secret_problem is null)
    );
