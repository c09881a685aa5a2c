//! Validation of the gateway, as far as it needs no provider and no options.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Gateway, Leaf};
use kubefoundry_deployment::wire;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_yaml::field_path::FieldPath;

/// Validates the gateway. An empty text is like an absent one.
pub(super) fn validate_gateway(gateway: Option<&wire::Gateway>, check: &mut Checker<'_, '_>) -> Option<Gateway> {
    let wire::Gateway { enabled, http_route_ref, model_name } = gateway?;
    let model_name = non_empty(model_name.as_deref());
    if let Some(name) = model_name {
        let path = FieldPath::from(wire::ModelDeployment::path().spec().gateway().model_name());
        check.check_single_line(&path, name);
        // Proxies remove the spaces around the value of a header, so the route would never match.
        if name.trim() != name {
            let message = format!("{path} is {name:?}, expected a name without spaces around it");
            check.findings.report(&codes::INVALID_VALUE, &path, message).help("remove the spaces");
        }
    }
    Some(Gateway {
        enabled: Leaf::or_default(*enabled, true),
        http_route_ref: non_empty(http_route_ref.as_deref()).map(str::to_owned),
        model_name: model_name.map(str::to_owned),
    })
}
