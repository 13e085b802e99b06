-- Who sent an artifact, and who said that an attempt was over: they do not approve it, whoever holds the lease. Not known of
-- what was there before.
alter table svc_runtime.artifact_instances add column published_by text not null default 'system';
alter table svc_runtime.task_attempts add column completed_by text;
