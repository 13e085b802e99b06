//! The data plane as a process: it starts, is killed, hands over, and shows new certificates.

mod certificates;
mod life;
mod takeover;
