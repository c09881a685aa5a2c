//! Tests of the operator as a process, against a real kube-apiserver and etcd.
//!
//! There is one program for all tests, so that the harness and the Kubernetes client are compiled and linked once. Most tests
//! kill, overload or reconfigure their cluster, or measure it: they take a turn ([`harness::turn`]) and run alone.
//! Without `KUBEFOUNDRY_CONTROLPLANE` (`bash .ci/controlplane` prints its value) tests print that they are skipped.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests start programs, read files, print what they measure, and fail by panicking"
)]

mod harness;

mod alerts;
mod claimed;
mod connections;
mod controlplane;
mod faults;
mod install;
mod leaders;
mod lifecycle;
mod observed;
mod packages;
mod parity;
mod rbac;
mod recreation;
mod roles;
mod scale;
mod webhook;
