-- How far a statement that fails may be corrected and run. Environments of before, and those that a control plane of
-- before makes, are healed as every environment is unless it says otherwise.
alter table environments add column heal text not null default 'safe'
    constraint environments_heal_known check (heal in ('off', 'safe', 'auto'));

drop trigger environments_governance on environments;

create trigger environments_governance before update on environments
    for each row
    when ((old.slug, old.status, old.query_timeout_ms, old.max_concurrent_queries, old.cache_enabled, old.heal,
           old.test_mode)
        is distinct from
        (new.slug, new.status, new.query_timeout_ms, new.max_concurrent_queries, new.cache_enabled, new.heal,
         new.test_mode))
    execute function governance_moved_settings();
