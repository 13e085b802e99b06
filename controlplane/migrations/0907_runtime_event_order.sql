-- The order in which events come to be seen: by the transaction that appended them, and only once no older one can
-- still add to them. Whoever follows events in this order misses none, whoever commits when.
alter table svc_runtime.workflow_events add column xact xid8 not null default pg_current_xact_id();
create index workflow_events_seen on svc_runtime.workflow_events (org_id, xact, position);
