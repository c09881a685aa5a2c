//! The engine for whoever keeps running: an operator, an admission webhook, an editor.
//!
//! [`compile`](crate::compile()) takes all texts of a run. An [`Engine`] holds what changes seldom (options, provider
//! configurations, CRDs) and takes one deployment at a time, as the apiserver gives it. What comes out is the same: both
//! send the deployment through the same code.

pub use crate::drift::{FieldDrift, drift};
pub use crate::pipeline::Providers;
pub use crate::pipeline::session::{Engine, Evaluation};
pub use crate::plan::{UpstreamChange, changes};
pub use crate::status::{Judgement, Observation, observe};
pub use kubefoundry_crd::Installed;
pub use kubefoundry_model::select::Chosen;
