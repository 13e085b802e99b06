//! The operator against a real API server, in this process, under its own roles and no others.

use kubernetes::bench;

mod contest;
mod crash;
mod drift;
mod leader;
mod life;
mod outage;
mod quiet;
mod rights;
mod taken;
