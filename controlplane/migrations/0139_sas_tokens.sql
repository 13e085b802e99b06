-- An account of Azure may be reached by a shared access signature, which is sealed as an access key is.

alter table storage_integrations
    drop constraint storage_integrations_credential_type_check,
    drop constraint storage_integrations_credentials_check;

-- contract::storage_integration::StorageCredentials: which of them are sealed here. A Secret that gives none leaves nothing.
alter table storage_integrations
    add constraint storage_integrations_credential_type_check
        check (credential_type in ('anonymous', 'ambient', 'access_key', 'password', 'sas_token', 'kubernetes_secret')),
    add constraint storage_integrations_credentials_check check (
        (credentials is null) = (credentials_at is null)
        and case
            when credential_type in ('access_key', 'password', 'sas_token') then credentials is not null
            when credential_type = 'kubernetes_secret' then (credentials is null) = (secret_problem is not null)
            else credentials is null
        end
    );
