//! Evaluates a deployment: its desired objects, or why there are none.

use kubefoundry_compiler::codes;
use kubefoundry_compiler::verdict::Outcome;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_kubernetes::api_group::ApiGroup;
use serde_json::Value;

use super::objects;
use crate::decision::Rendering;
use crate::names::{DEPLOYMENT_UID, IDENTITY_HASH, RENDERED_HASH};

/// The desired objects of a deployment.
#[derive(Debug)]
pub(super) struct Desired {
    /// The objects as rendered: supporting ones first, the main one last.
    pub(super) rendered: Vec<Value>,
    /// The objects that the main one refers to, such as ConfigMaps, as applied.
    supporting: Vec<Value>,
    /// The main object as applied: with the hashes as annotations.
    main: Value,
    /// The hash of the rendered objects.
    pub(super) hash: String,
    /// The hash of the fields whose change requires a new main object.
    pub(super) identity: String,
}

impl Desired {
    /// Returns the object in which the provider runs the model, as applied.
    pub(super) fn main(&self) -> &Value {
        &self.main
    }

    /// Returns the objects that the main one refers to, such as ConfigMaps, as applied.
    pub(super) fn supporting(&self) -> &[Value] {
        &self.supporting
    }

    /// Returns all objects as applied, in the order of `rendered`.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Value> {
        self.supporting().iter().chain([&self.main])
    }
}

/// The result of an evaluation.
#[derive(Debug)]
pub(super) enum RenderResult {
    Rendered(Desired),
    /// The namespace does not allow the provider.
    NotAllowed(String),
    /// The provider cannot run the deployment: reason and message of the condition.
    Incompatible(&'static str, String),
    /// The deployment has errors.
    Invalid(String),
}

impl RenderResult {
    /// Takes the objects, or the reason why there are none. `identity` is the hash of the fields whose change requires a new
    /// main object, `uid` that of the deployment.
    pub(super) fn new(rendering: Rendering, identity: String, uid: &str, api_group: &ApiGroup) -> Self {
        let rendered = match rendering {
            Rendering::Objects(objects) => objects,
            Rendering::None(verdict) => {
                let message = verdict.message.replace('\n', "; ");
                return match verdict.outcome {
                    Outcome::NotAllowed => Self::NotAllowed(message),
                    Outcome::Incompatible | Outcome::NoProvider if verdict.has_error(&codes::CRD_NOT_INSTALLED) => {
                        Self::Incompatible("CRDNotInstalled", message)
                    }
                    Outcome::Incompatible | Outcome::NoProvider => Self::Incompatible("Incompatible", message),
                    Outcome::Invalid | Outcome::Runs => Self::Invalid(message),
                };
            }
        };
        let hash = objects::rendered_hash(&rendered);
        let mut supporting = rendered.clone();
        let Some(mut main) = supporting.pop() else {
            return Self::Invalid("the deployment renders to no object".to_owned());
        };
        for object in supporting.iter_mut().filter(|object| ObjectView(object).kind() != objects::CLAIM) {
            objects::annotate(object, api_group.label(DEPLOYMENT_UID), uid);
        }
        objects::annotate(&mut main, api_group.label(DEPLOYMENT_UID), uid);
        objects::annotate(&mut main, api_group.label(IDENTITY_HASH), &identity);
        objects::annotate(&mut main, api_group.label(RENDERED_HASH), &hash);
        Self::Rendered(Desired { rendered, supporting, main, hash, identity })
    }
}
