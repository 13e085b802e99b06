-- What the data of an environment takes on its data plane's disk, as that has last said.
create table environment_storage (
    env_id      text        primary key references environments on delete cascade,
    bytes       bigint      not null check (bytes >= 0),
    measured_at timestamptz not null
);
