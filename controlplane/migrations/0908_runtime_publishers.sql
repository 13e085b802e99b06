-- Who sent an artifact: they do not approve it, whoever holds the lease of its attempt. Not known of what was there before.
alter table svc_runtime.artifact_instances add column published_by text not null default 'system';
