//! What the controllers need to know of an evaluation.

use std::sync::Arc;

use kubefoundry_compiler::verdict::{Outcome, Verdict};
use kubefoundry_model::select::PriorChoice;
use serde_json::Value;

/// Options that the operator sets on top of the user's.
pub const OPERATOR_OPTIONS: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nownerReferences: true\n";

/// What core and the selector need to know of a verdict.
#[derive(Debug, Clone)]
pub enum Decision {
    /// A provider runs the deployment.
    Runs(Arc<PriorChoice>),
    /// It has errors, or no provider runs it.
    Other(Arc<Verdict>),
}

impl Decision {
    /// Keeps what is needed of a verdict.
    pub fn new(verdict: Arc<Verdict>) -> Self {
        match &verdict.choice {
            Some(choice) if verdict.outcome == Outcome::Runs => Self::Runs(Arc::new(choice.clone())),
            _ => Self::Other(verdict),
        }
    }

    /// Returns the outcome of the verdict.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Runs(_) => Outcome::Runs,
            Self::Other(verdict) => verdict.outcome,
        }
    }

    /// Returns the provider that the verdict chooses.
    pub fn choice(&self) -> Option<&PriorChoice> {
        match self {
            Self::Runs(choice) => Some(choice),
            Self::Other(verdict) => verdict.choice.as_ref(),
        }
    }
}

/// What a provider needs to know of a verdict.
#[derive(Debug)]
pub enum Rendering {
    /// The provider runs the deployment with these objects: supporting ones first, the main one last.
    Objects(Vec<Value>),
    /// It does not run it.
    None(Arc<Verdict>),
}

impl Rendering {
    /// Keeps what is needed of a verdict.
    pub fn new(verdict: Arc<Verdict>) -> Self {
        match verdict.outcome {
            Outcome::Runs => Self::Objects(verdict.evaluation.objects.clone()),
            _ => Self::None(verdict),
        }
    }
}
