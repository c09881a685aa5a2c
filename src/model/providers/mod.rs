//! The providers that are built in. Only [`super::provider::PROVIDERS`] names them.

pub mod dynamo;
pub mod kaito;
pub mod kuberay;
pub mod pod;
