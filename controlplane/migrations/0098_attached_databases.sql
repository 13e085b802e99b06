-- A database is a storage integration of its own kind, with a user and a password as its credentials.

alter table storage_integrations
    drop constraint storage_integrations_credential_type_check,
    drop constraint storage_integrations_credentials_check;

-- contract::storage_integration::StorageCredentials: which of them are sealed here.
alter table storage_integrations
    add constraint storage_integrations_credential_type_check
        check (credential_type in ('anonymous', 'ambient', 'access_key', 'password')),
    add constraint storage_integrations_credentials_check check (
        (credential_type in ('access_key', 'password')) = (credentials is not null)
        and (credential_type in ('access_key', 'password')) = (credentials_at is not null)
    );
