-- What people call the agent that a key is made for, and what they say of the key.
alter table api_keys
    add column agent_name text,
    add column description text;
