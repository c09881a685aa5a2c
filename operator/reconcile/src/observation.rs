//! What a controller knows of a deployment when it reconciles it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_compiler::verdict;
use kubefoundry_controller_runtime::observed::{ObjectView, StatusView};
use kubefoundry_kubernetes::api_group::ApiGroup;
use serde_json::Value;

use super::memory::Moment;
use crate::cached_object::CachedObject;
use crate::names::{CORE_MANAGER, PAUSED, SELECTOR_MANAGER, provider_manager};

/// An object that a provider's controller wrote, and its kind.
#[derive(Debug)]
pub struct UpstreamObject {
    /// The kind.
    pub resource: Arc<ApiResource>,
    /// The object.
    pub object: CachedObject,
}

/// A cached deployment, the time, and who else writes its status.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The cached deployment.
    pub deployment: Arc<CachedObject>,
    /// The deployment as JSON.
    pub value: Arc<Value>,
    /// The API group of the deployment.
    pub api_group: &'static ApiGroup,
    /// The time of day in whole seconds, the precision of condition times.
    pub now: Time,
    /// The time by a clock that is never set back.
    pub moment: Moment,
    /// The field managers of controllers that give up their status fields when another one is chosen: ours, and those
    /// of providers with a heartbeat.
    pub colleagues: BTreeSet<String>,
}

impl Observation {
    /// Creates an observation.
    pub fn new(
        deployment: Arc<CachedObject>,
        api_group: &'static ApiGroup,
        now: Time,
        moment: Moment,
        colleagues: BTreeSet<String>,
    ) -> Self {
        let value = deployment.value();
        Self { deployment, value, api_group, now, moment, colleagues }
    }

    /// Whether an annotation of the deployment is `"true"`; `name` is its name without the API group's prefix.
    pub(crate) fn has_annotation(&self, name: &str) -> bool {
        self.deployment.annotation(&self.api_group.label(name)) == Some("true")
    }

    /// Whether an annotation pauses the controllers for the deployment (OP-4.2).
    pub(crate) fn is_paused(&self) -> bool {
        self.has_annotation(PAUSED)
    }

    pub(crate) fn generation(&self) -> Option<i64> {
        self.deployment.metadata.generation
    }

    /// Returns the provider that the specification names.
    pub(crate) fn named(&self) -> Option<&str> {
        verdict::named_provider(&self.value)
    }

    /// Returns the status; an empty one where there is none.
    pub(crate) fn status(&self) -> StatusView<'_> {
        ObjectView(&self.value).status()
    }
}

/// Returns the colleagues, given the providers whose controllers are alive.
pub fn colleagues<'p>(alive: impl IntoIterator<Item = &'p str>) -> BTreeSet<String> {
    let providers = alive.into_iter().map(provider_manager);
    [CORE_MANAGER, SELECTOR_MANAGER].map(str::to_owned).into_iter().chain(providers).collect()
}
