//! Validation of the frontend, as far as it needs no provider.

use super::engine::validate_arguments;
use super::pod::validate_environment;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Frontend, ResourceAmount};
use kubefoundry_deployment::wire;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::labels::label_key;
use kubefoundry_kubernetes::quantity;
use kubefoundry_kubernetes::wire::{IntegerOrString, Map, Nullable};
use kubefoundry_yaml::field_path::FieldPath;

/// Validates the frontend, and returns what the user says about it.
pub(super) fn validate_frontend(frontend: Option<&wire::Frontend>, check: &mut Checker<'_, '_>) -> Frontend {
    let Some(wire::Frontend { replicas, args, env, resources }) = frontend else { return Frontend::default() };
    let path = || wire::ModelDeployment::path().spec().frontend();
    let env = env.as_deref().unwrap_or_default();
    validate_environment(&path().env(), env, check);
    let requests = resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let limits = resources.as_ref().and_then(|resources| resources.limits.as_ref());
    Frontend {
        replicas: replicas.and_then(|count| u32::try_from(count).ok()),
        args: validate_arguments(args.as_ref(), &path().args().into(), check),
        env: env.to_vec(),
        requests: validate_amounts(requests, &path().resources().requests().into(), check),
        limits: validate_amounts(limits, &path().resources().limits().into(), check),
    }
}

/// Validates quantities by resource (`ValidateResourceRequirements` in
/// `k8s.io/kubernetes/pkg/apis/core/validation/validation.go`). `null` stands for a removed default.
pub(super) fn validate_amounts(
    amounts: Option<&Map<Nullable<IntegerOrString>>>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Vec<ResourceAmount> {
    let entries = amounts.map_or(&[][..], |map| &map.0);
    let mut checked = Vec::new();
    for (resource, Nullable(amount)) in entries {
        let at = path.key(resource.clone());
        check.check_key(&codes::INVALID_NAME, path, resource, label_key(resource));
        let amount = amount.as_ref().map(|IntegerOrString(amount)| amount.clone());
        let is_valid = amount.as_deref().is_none_or(|amount| {
            let result = quantity::quantity(amount)
                .and_then(|()| if amount.starts_with('-') { Err("a quantity that is not negative") } else { Ok(()) });
            check.check_syntax(&codes::INVALID_QUANTITY, &at, amount, result)
        });
        if is_valid {
            checked.push((resource.clone(), amount));
        }
    }
    checked
}
