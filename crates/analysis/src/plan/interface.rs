//! Changes of what clients use: the endpoint of a model, and its name in requests.

use serde_json::Value;

use super::class::ChangeClass;
use super::rendered_change::Object;
use super::report::InterfaceChange;
use kubefoundry_compiler::pipeline::Decision;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::model_name::requested_model_name;

/// Returns the changes of the endpoint and of the model name. `objects_class` is the class of the most severe change of
/// an object: a change that does not reach the running model does not reach its clients either.
pub(super) fn changes(
    composition: &Composition,
    (old, old_objects): (&Decision, &[Object]),
    (new, new_objects): (&Decision, &[Object]),
    objects_class: ChangeClass,
) -> [Option<InterfaceChange>; 2] {
    let class = match objects_class {
        ChangeClass::None | ChangeClass::NoEffect | ChangeClass::Unknown | ChangeClass::Refused => objects_class,
        _ => ChangeClass::Recreate,
    };
    let change = |before: Option<String>, after: Option<String>| {
        (before != after).then_some(InterfaceChange { before, after, class })
    };
    let endpoint = |decision: &Decision| {
        decision.endpoint.as_ref().map(|endpoint| format!("{}:{}", endpoint.service, endpoint.port))
    };
    let model_name = |decision: &Decision, objects: &[Object]| {
        let objects: Vec<&Value> = objects.iter().map(|(_, object)| object).collect();
        requested_model_name(composition.find_provider(decision.provider()?)?, &objects)
    };
    [change(endpoint(old), endpoint(new)), change(model_name(old, old_objects), model_name(new, new_objects))]
}
