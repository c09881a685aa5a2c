//! The lifecycle of a ModelDeployment with each provider, against a real apiserver. No upstream operators run: tests write
//! the status that they would write.

mod cases;
mod create;
mod delete;
mod select;
mod strangers;
mod update;
