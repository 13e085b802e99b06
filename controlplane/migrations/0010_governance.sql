-- What a data plane must learn of: every change to a governed table raises the version of the
-- environments it concerns, and tells the publisher. Here and not in handlers, so that no room can
-- forget it.

-- Locked in one order, so that two changes that concern the same environments cannot deadlock.
create function governance_moved(moved text[]) returns void language plpgsql as $$
begin
    perform from environments where env_id = any (moved) order by env_id for no key update;
    update environments set governance_version = governance_version + 1 where env_id = any (moved);
end
$$;

create function governance_moved_environment() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        perform governance_moved(array[old.env_id]);
    end if;
    if tg_op <> 'DELETE' and (tg_op = 'INSERT' or new.env_id <> old.env_id) then
        perform governance_moved(array[new.env_id]);
    end if;
    return null;
end
$$;

create function governance_moved_organization() returns trigger language plpgsql as $$
declare
    concerned text := case tg_op when 'DELETE' then old.org_id else new.org_id end;
begin
    perform governance_moved(array(select env_id from environments where org_id = concerned));
    return null;
end
$$;

create function governance_moved_secret() returns trigger language plpgsql as $$
declare
    concerned text := case tg_op when 'DELETE' then old.key_id else new.key_id end;
begin
    perform governance_moved(array(select env_id from api_keys where key_id = concerned));
    return null;
end
$$;

create function governance_moved_settings() returns trigger language plpgsql as $$
begin
    new.governance_version := greatest(new.governance_version, old.governance_version + 1);
    return new;
end
$$;

create function governance_notify() returns trigger language plpgsql as $$
begin
    perform pg_notify('governance', new.env_id);
    return null;
end
$$;

create trigger environments_governance before update on environments
    for each row
    when ((old.slug, old.status, old.query_timeout_ms, old.max_concurrent_queries, old.cache_enabled, old.test_mode)
        is distinct from
        (new.slug, new.status, new.query_timeout_ms, new.max_concurrent_queries, new.cache_enabled, new.test_mode))
    execute function governance_moved_settings();

create trigger environments_governance_notify after update on environments
    for each row when (new.governance_version > old.governance_version)
    execute function governance_notify();

create trigger organizations_governance after update of status, tier on organizations
    for each row execute function governance_moved_organization();

create trigger users_governance after insert or delete or update of email, role, status, attributes on users
    for each row execute function governance_moved_organization();

create trigger api_keys_governance after insert or update or delete on api_keys
    for each row execute function governance_moved_environment();

create trigger api_key_secrets_governance after insert or update or delete on api_key_secrets
    for each row execute function governance_moved_secret();

create trigger policies_governance after insert or update or delete on policies
    for each row execute function governance_moved_environment();
