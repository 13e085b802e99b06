//! REST and kubectl write the same things: both ways show the same, and neither takes from the
//! other. The control plane runs here, under the roles that the chart gives it.

mod away;
mod conflicts;
mod crash;
mod environments;
mod keys;
mod organizations;
mod platform;
mod roles;
mod secrets;

use platform::Platform;
