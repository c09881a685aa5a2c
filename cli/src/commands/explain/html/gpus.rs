//! How many GPUs a deployment asks for.

use kubefoundry_compiler::Decision;
use kubefoundry_kubernetes::wire::{PathOf, ValuePath};
use kubefoundry_model::wire::{ModelDeployment, RoleScaling};

/// The GPUs of all replicas, with how they come about where that is more than one number: `8 (2 × 4)`. None when the
/// deployment was not read so far.
pub(super) fn gpus(decision: &Decision) -> Option<String> {
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
        let ((p, pg), (d, dg)) = (role(spec().scaling().prefill())?, role(spec().scaling().decode())?);
        let total = p.saturating_mul(pg).saturating_add(d.saturating_mul(dg));
        return Some(format!("{total} (prefill {p} × {pg}, decode {d} × {dg})"));
    }
    let count = number(&spec().resources().gpu().count()).unwrap_or(0);
    match number(&spec().scaling().replicas()).unwrap_or(1) {
        1 => Some(count.to_string()),
        _ if count == 0 => Some("0".to_owned()),
        replicas => Some(format!("{} ({replicas} × {count})", replicas.saturating_mul(count))),
    }
}
