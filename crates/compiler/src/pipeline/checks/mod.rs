//! Checks of what is written: against the CRDs of the input, the skeletons, the schemas of Kubernetes itself, and the policy
//! for pods.

pub(crate) mod builtin_schemas;
pub(crate) mod installed_crds;
pub mod pod_policy;
pub(crate) mod skeletons;
