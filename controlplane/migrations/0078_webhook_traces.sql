-- Where in a trace an event was recorded, as the headers of those names: its deliveries go on from there.
alter table webhook_deliveries
    add column traceparent text check (length(traceparent) <= 64),
    add column tracestate text check (length(tracestate) <= 2048);
