-- Room `agents`: what an agent says of itself when it registers itself, by a tool.

alter table agents
    drop constraint agents_registration_source_check,
    add constraint agents_registration_source_check
        check (registration_source in ('query', 'api_key', 'v2_create_attempt', 'mcp')),
    add column display_name    text,
    add column version         text,
    -- What it is good at, in its own words; what it may do is in `agent_grants`.
    add column capabilities    text[] not null default '{}',
    add column parent_agent_id text,
    add column metadata        jsonb  not null default '{}',
    add constraint agents_parent_fkey foreign key (org_id, parent_agent_id) references agents (org_id, agent_id),
    add constraint agents_parent_check check (parent_agent_id <> agent_id);
