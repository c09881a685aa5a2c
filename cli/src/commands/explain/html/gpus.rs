//! The number of GPUs that a deployment requests.

use kubefoundry_compiler::Decision;
use kubefoundry_kubernetes::wire::{PathOf, ValuePath};
use kubefoundry_model::wire::{ModelDeployment, RoleScaling};

/// Formats the number of GPUs of all replicas, with the factors if there are several: `8 (2 × 4)`.
///
/// Returns `None` if the deployment has errors that prevented reading its serving mode or GPU counts.
pub(super) fn format_gpus(decision: &Decision) -> Option<String> {
    let value = |path: &ValuePath| {
        let path = path.to_string();
        decision.fields.iter().find(|field| field.path == path).map(|field| field.value.as_str())
    };
    let number = |path: &ValuePath| value(path).and_then(|text| text.parse::<u64>().ok());
    let spec = || ModelDeployment::path().spec();
    if value(&spec().serving().mode())? == "\"disaggregated\"" {
        let role = |role: PathOf<RoleScaling>| {
            let replicas = number(&role.clone().replicas()).unwrap_or(1);
            Some((replicas, number(&role.gpu().count())?))
        };
        let ((prefill, prefill_gpus), (decode, decode_gpus)) =
            (role(spec().scaling().prefill())?, role(spec().scaling().decode())?);
        let total = prefill.saturating_mul(prefill_gpus).saturating_add(decode.saturating_mul(decode_gpus));
        return Some(format!("{total} (prefill {prefill} × {prefill_gpus}, decode {decode} × {decode_gpus})"));
    }
    let count = number(&spec().resources().gpu().count()).unwrap_or(0);
    match number(&spec().scaling().replicas()).unwrap_or(1) {
        1 => Some(count.to_string()),
        _ if count == 0 => Some("0".to_owned()),
        replicas => Some(format!("{} ({replicas} × {count})", replicas.saturating_mul(count))),
    }
}
