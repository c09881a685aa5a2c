//! Who wrote a deployment or an object of it before, and when: what managed fields and finalizers tell.

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::observed::{ManagedFields, ObjectView};
use serde_json::Value;

use crate::names::{CORE_MANAGER, SELECTOR_MANAGER};
use crate::observation::Observation;
use crate::status;

/// Returns the time of the last write to anything but the status.
pub(super) fn last_spec_write(object: &Value) -> Option<Time> {
    let entries = ObjectView(object).managed_fields().into_iter().flatten();
    let others = entries.filter(|entry| !entry.is_of_status() && entry.status_fields().is_none());
    others.filter_map(ManagedFields::time).filter_map(Time::parse).max()
}

/// Returns the field manager of another provider that still has a finalizer on a deployment, or that owns its phase and
/// will give it up.
pub(super) fn predecessor(observation: &Observation, manager: &str) -> Option<String> {
    let finalizers = observation.deployment.metadata.finalizers.iter().flatten();
    let with_finalizer = finalizers
        .filter_map(|one| one.strip_prefix(observation.api_group.label_prefix))
        .filter(|name| name.ends_with("-provider"));
    let with_phase = status::owners(&observation.value)
        .filter(|owner| owner.applies && owner.fields.get("f:phase").is_some())
        .map(|owner| owner.manager)
        .filter(|name| observation.colleagues.contains(*name) && ![CORE_MANAGER, SELECTOR_MANAGER].contains(name));
    with_finalizer.chain(with_phase).find(|name| *name != manager).map(str::to_owned)
}

/// Returns the time at which the provider was chosen.
pub(super) fn chosen_at(value: &Value) -> Option<Time> {
    let entries = ObjectView(value).managed_fields().into_iter().flatten();
    let writes_choice = |entry: &ManagedFields<'_>| {
        entry.status_fields().is_some_and(|fields| !fields["f:provider"]["f:name"].is_null())
    };
    entries.filter(writes_choice).filter_map(ManagedFields::time).filter_map(Time::parse).max()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubefoundry_kubernetes::api_group::ApiGroup;
    use serde_json::json;

    use super::*;
    use crate::cached_object::CachedObject;
    use crate::memory::Moment;

    const NOW: Time = Time(1_800_000_000);

    #[test]
    fn a_predecessor_has_a_finalizer_or_the_phase() {
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let predecessor_of = |metadata: &Value| {
            let object = json!({"kind": "ModelDeployment", "metadata": metadata});
            let cached = CachedObject::new(object).unwrap();
            let colleagues = crate::observation::colleagues(["kaito", "vllm"]);
            let observation = Observation::new(Arc::new(cached), api_group, NOW, Moment::default(), colleagues);
            predecessor(&observation, "kaito-provider")
        };
        let owns_phase = |manager: &str| {
            json!({"managedFields": [{
                "manager": manager, "operation": "Apply", "subresource": "status",
                "fieldsV1": {"f:status": {"f:phase": {}}},
            }]})
        };
        assert_eq!(
            predecessor_of(
                &json!({"finalizers": ["kubefoundry.ai/kaito-provider", "kubefoundry.ai/other", "a/b-provider"]})
            ),
            None
        );
        assert_eq!(
            predecessor_of(&json!({"finalizers": ["kubefoundry.ai/vllm-provider"]})).as_deref(),
            Some("vllm-provider")
        );
        assert_eq!(predecessor_of(&owns_phase("vllm-provider")).as_deref(), Some("vllm-provider"));
        for manager in ["kaito-provider", CORE_MANAGER, SELECTOR_MANAGER, "kubectl"] {
            assert_eq!(predecessor_of(&owns_phase(manager)), None);
        }
    }
}
