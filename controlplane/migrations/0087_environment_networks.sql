-- Addresses that may connect to the environment's data plane, as its resource says; none: any may.
alter table environments add column allowed_networks text[] not null default '{}';

create trigger environments_networks before update of allowed_networks on environments
    for each row when (old.allowed_networks is distinct from new.allowed_networks)
    execute function governance_moved_settings();
