-- Room `events`: whoever follows a chain is woken when it grows.

create function notify_iam_events() returns trigger
language plpgsql as $$
begin
    perform pg_notify('iam_events', new.org_id);
    return null;
end
$$;

create trigger iam_events_notify
after insert on iam_events
for each row execute function notify_iam_events();
