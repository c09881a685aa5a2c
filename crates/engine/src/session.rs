//! A session: the pipeline for a program that keeps running, such as an operator, an admission webhook, or an editor.
//!
//! [`compile`](crate::compile()) takes all texts of a run. A [`Session`] holds what changes seldom (options, provider
//! configurations, CRDs) and takes one deployment at a time, as the apiserver gives it; or all texts again, of which it
//! reads those that changed. What comes out is the same: all send the deployment through the same code. A session has no
//! clock and no thread of its own.

pub use crate::drift::{FieldDrift, drift};
pub use crate::pipeline::Providers;
/// The name under which front ends know it.
#[doc(hidden)]
pub use crate::pipeline::session::Session as Engine;
pub use crate::pipeline::session::{Evaluation, Session};
pub use crate::plan::{UpstreamChange, changes};
pub use crate::status::{Judgement, Observation, observe};
pub use kubefoundry_crd::Installed;
pub use kubefoundry_model::select::Chosen;
