//! The data plane as a process: it starts, is killed, hands over, shows new certificates, and holds little.

mod certificates;
mod life;
mod memory;
mod takeover;
mod traced;
