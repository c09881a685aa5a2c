//! KubeRay.

use crate::diagnostic::{Code, Findings};
use crate::model::ir::Deployment;
use crate::model::provider::{Behavior, Context, Provider, Status, StatusError, Translation};
use crate::model::support::FieldSupport;

/// KubeRay.
#[derive(Debug)]
pub struct KubeRay;

impl Provider for KubeRay {
    fn name(&self) -> &'static str {
        "kuberay"
    }
    fn display_name(&self) -> &'static str {
        "KubeRay"
    }
    fn config(&self) -> &'static str {
        ""
    }
    fn readme(&self) -> &'static str {
        ""
    }
    fn targets(&self) -> &'static [&'static str] {
        &[]
    }
    fn runtimes(&self) -> &'static [&'static str] {
        &[]
    }
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
    fn field_support(&self) -> &'static [FieldSupport] {
        &[]
    }
    fn behaviors(&self) -> &'static [Behavior] {
        &[]
    }
    fn translate(&self, _: &Deployment, _: &Context<'_>, _: &mut Findings<'_>) -> Option<Translation> {
        None
    }
    fn translate_status(&self, _: &serde_json::Value) -> Result<Status, StatusError> {
        Err(StatusError::NotRead("KubeRay"))
    }
}
