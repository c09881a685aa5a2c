//! The life of a ModelDeployment with each provider, before a real apiserver. There is no provider's controller: tests
//! write the status that it would write.

mod cases;
mod create;
mod delete;
mod select;
mod update;
