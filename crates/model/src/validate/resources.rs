//! Validation of the resources of the workers' containers, and their merge: the fields for memory and CPU, then
//! `spec.resources`, then the resources of the role.

use std::cmp::Ordering;

use super::frontend::validate_amounts;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Amount, ContainerResources, ResourceAmount, Worker, WrittenResources, amount_of};
use kubefoundry_deployment::wire::{
    ContainerClaim, ModelDeployment, ModelDeploymentSpec, PodResourceClaim, RoleResources,
};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::wire::{IntegerOrString, Map, Nullable};
use kubefoundry_kubernetes::{names, quantity};
use kubefoundry_yaml::field_path::FieldPath;

/// The fields of one place that state resources.
pub(super) struct ResourcePaths {
    requests: FieldPath,
    limits: FieldPath,
    claims: FieldPath,
}

impl ResourcePaths {
    /// Returns the fields of `spec.resources`.
    pub(super) fn common() -> Self {
        let path = || ModelDeployment::path().spec().resources();
        Self { requests: path().requests().into(), limits: path().limits().into(), claims: path().claims().into() }
    }

    /// Returns the fields of the worker's role. `None` for aggregated workers.
    pub(super) fn of_role(worker: &Worker) -> Option<Self> {
        let path = worker.role_path()?.resources();
        Some(Self {
            requests: path.clone().requests().into(),
            limits: path.clone().limits().into(),
            claims: path.claims().into(),
        })
    }
}

/// Validates `spec.resources.{requests,limits,claims}`.
pub(super) fn validate_common(spec: &ModelDeploymentSpec, check: &mut Checker<'_, '_>) -> WrittenResources {
    let Some(resources) = &spec.resources else { return WrittenResources::default() };
    let paths = ResourcePaths::common();
    let optional = |amounts: Option<&Map<IntegerOrString>>| {
        let entries = amounts.map_or(&[][..], |map| &map.0);
        Map(entries.iter().map(|(resource, amount)| (resource.clone(), Nullable(Some(amount.clone())))).collect())
    };
    WrittenResources {
        requests: validate_amounts(Some(&optional(resources.requests.as_ref())), &paths.requests, check),
        limits: validate_amounts(Some(&optional(resources.limits.as_ref())), &paths.limits, check),
        claims: resources.claims.clone().unwrap_or_default(),
    }
}

/// Validates the resources of a role.
pub(super) fn validate_role(
    resources: Option<&RoleResources>,
    worker: &Worker,
    check: &mut Checker<'_, '_>,
) -> WrittenResources {
    let (Some(resources), Some(paths)) = (resources, ResourcePaths::of_role(worker)) else {
        return WrittenResources::default();
    };
    WrittenResources {
        requests: validate_amounts(resources.requests.as_ref(), &paths.requests, check),
        limits: validate_amounts(resources.limits.as_ref(), &paths.limits, check),
        claims: resources.claims.clone().unwrap_or_default(),
    }
}

/// Merges the resources of a worker by resource, and claims by name. Later fields win; `null` removes an amount that a
/// common field sets.
pub(super) fn merge(worker: &Worker, common: &WrittenResources, check: &mut Checker<'_, '_>) -> ContainerResources {
    let memory = || worker.memory.as_ref().map(|memory| amount("memory", memory, &worker.memory_path()));
    let cpu = worker.cpu.as_ref().map(|cpu| amount("cpu", cpu, &worker.cpu_path()));
    let mut requests: Vec<Amount> = cpu.into_iter().chain(memory()).collect();
    let mut limits: Vec<Amount> = memory().into_iter().collect();
    let mut claims = common.claims.clone();
    let common_paths = ResourcePaths::common();
    merge_amounts(&mut requests, &common.requests, &common_paths.requests, check);
    merge_amounts(&mut limits, &common.limits, &common_paths.limits, check);
    if let Some(paths) = ResourcePaths::of_role(worker) {
        merge_amounts(&mut requests, &worker.written.requests, &paths.requests, check);
        merge_amounts(&mut limits, &worker.written.limits, &paths.limits, check);
        for claim in &worker.written.claims {
            match claims.iter_mut().find(|existing| existing.name == claim.name) {
                Some(existing) => existing.clone_from(claim),
                None => claims.push(claim.clone()),
            }
        }
    }
    ContainerResources { requests, limits, claims }
}

fn amount(resource: &str, quantity: &str, path: &FieldPath) -> Amount {
    Amount { resource: resource.to_owned(), quantity: quantity.to_owned(), path: path.clone() }
}

fn merge_amounts(amounts: &mut Vec<Amount>, written: &[ResourceAmount], path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (resource, quantity) in written {
        let at = path.key(resource.clone());
        let position = amounts.iter().position(|amount| amount.resource == *resource);
        match (quantity, position.and_then(|position| amounts.get_mut(position))) {
            (Some(quantity), Some(existing)) => *existing = amount(resource, quantity, &at),
            (Some(quantity), None) => amounts.push(amount(resource, quantity, &at)),
            (None, _) => match position {
                Some(position) => drop(amounts.remove(position)),
                None => report_nothing_to_remove(&at, check),
            },
        }
    }
}

fn report_nothing_to_remove(path: &FieldPath, check: &mut Checker<'_, '_>) {
    let message = format!("{path} is null, but no common field sets an amount that it could remove");
    check.findings.report(&codes::NOTHING_TO_REMOVE, FieldRef::key(path), message).help("remove the key");
}

/// Takes the GPUs out of the limits and returns their number, with the field that sets it. `None` if the limits count no
/// GPUs of the resource, or another number than the worker's own field, which is reported.
pub(super) fn take_gpus(worker: &mut Worker, check: &mut Checker<'_, '_>) -> Option<(u32, FieldPath)> {
    let position = worker.container.limits.iter().position(|amount| amount.resource == worker.gpu_type.value)?;
    let limit = worker.container.limits.remove(position);
    let Ok(count) = limit.quantity.parse::<u32>() else {
        let message = format!("{} is {:?}, expected a whole number of GPUs", limit.path, limit.quantity);
        check.findings.report(&codes::INVALID_RESOURCES, &limit.path, message);
        return None;
    };
    if worker.gpu_count.is_written() {
        if worker.gpu_count.value != count {
            let written = worker.gpu_path().count();
            let message = format!("{} is {count}, but {written} is {}", limit.path, worker.gpu_count.value);
            check
                .findings
                .report(&codes::INVALID_RESOURCES, &limit.path, message)
                .related(&written, "the other number of GPUs")
                .help("remove one of the two");
        }
        return None;
    }
    Some((count, limit.path))
}

/// Checks the resources of a container as the API server does (`ValidateResourceRequirements` and
/// `ValidateContainerResourceName` in `k8s.io/kubernetes/pkg/apis/core/validation/validation.go`).
pub(super) fn check_container(worker: &Worker, check: &mut Checker<'_, '_>) {
    let ContainerResources { requests, limits, .. } = &worker.container;
    for amount in requests.iter().chain(limits) {
        if !is_container_resource(&amount.resource) {
            let message = format!(
                "{} is not a resource of containers, expected cpu, memory, ephemeral-storage, hugepages-<size> or an \
                 extended resource such as rdma/ib",
                amount.resource
            );
            check.findings.report(&codes::INVALID_RESOURCES, FieldRef::key(&amount.path), message);
        }
    }
    for limit in limits.iter().filter(|limit| limit.resource.contains('/')) {
        check_whole(limit, check);
    }
    let gpus = (worker.gpu_count.value > 0)
        .then(|| amount(&worker.gpu_type.value, &worker.gpu_count.value.to_string(), &worker.gpu_count_path()));
    for request in requests {
        let limit = gpus.as_ref().filter(|gpus| gpus.resource == request.resource);
        let limit = limit.or_else(|| amount_of(limits, &request.resource));
        if cannot_be_overcommitted(&request.resource) {
            check_equal_limit(request, limit, check);
        } else if let Some(limit) = limit
            && quantity::compare(&request.quantity, &limit.quantity) == Some(Ordering::Greater)
        {
            let message = format!("{} is {}, more than the limit {}", request.path, request.quantity, limit.quantity);
            check
                .findings
                .report(&codes::INVALID_RESOURCES, &request.path, message)
                .related(&limit.path, "the limit")
                .help("lower the request, or raise the limit");
        }
    }
}

/// Reports an extended resource that is not a whole number.
fn check_whole(limit: &Amount, check: &mut Checker<'_, '_>) {
    let is_whole = quantity::billionths(&limit.quantity).is_none_or(|amount| amount % 1_000_000_000 == 0);
    if !is_whole {
        let message = format!("{} is {}, expected a whole number", limit.path, limit.quantity);
        check.findings.report(&codes::INVALID_RESOURCES, &limit.path, message);
    }
}

/// Reports a request of a resource that cannot be overcommitted, without an equal limit.
fn check_equal_limit(request: &Amount, limit: Option<&Amount>, check: &mut Checker<'_, '_>) {
    let Amount { resource, quantity, path } = request;
    match limit {
        None => {
            let message =
                format!("{path} is {quantity}, but {resource} has no limit, and Kubernetes expects an equal one");
            check
                .findings
                .report(&codes::INVALID_RESOURCES, path, message)
                .help("set the limit instead, from which the request follows");
        }
        Some(limit) if quantity::compare(quantity, &limit.quantity) != Some(Ordering::Equal) => {
            let message = format!(
                "{path} is {quantity}, and the limit of {resource} is {}, but Kubernetes expects them to be equal",
                limit.quantity
            );
            check
                .findings
                .report(&codes::INVALID_RESOURCES, path, message)
                .related(&limit.path, "the limit")
                .help("remove the request, which follows from the limit");
        }
        Some(_) => {}
    }
}

/// Returns whether containers can have a resource.
fn is_container_resource(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "ephemeral-storage")
        || resource.starts_with("hugepages-")
        || resource.contains('/')
}

/// Returns whether the request of a resource must equal its limit.
fn cannot_be_overcommitted(resource: &str) -> bool {
    resource.contains('/') || resource.starts_with("hugepages-")
}

/// Checks that the claims of containers are among those of the pod, and that each claim of the pod has one source.
pub(super) fn check_claims(
    workers: &[&Worker],
    pod_claims: &[PodResourceClaim],
    common: &WrittenResources,
    check: &mut Checker<'_, '_>,
) {
    let list = || ModelDeployment::path().spec().pod_template().spec().resource_claims();
    for (index, claim) in pod_claims.iter().enumerate() {
        let sources = [&claim.resource_claim_name, &claim.resource_claim_template_name];
        let count = sources.into_iter().filter(|source| non_empty(source.as_deref()).is_some()).count();
        if count != 1 {
            let path = list().index(index);
            let given = if count == 0 { "no source" } else { "two sources" };
            let message = format!("{path} has {given}, expected resourceClaimName or resourceClaimTemplateName");
            check.findings.report(&codes::INVALID_CLAIM, FieldRef::from(path), message);
        }
    }
    // The reader reports an invalid name.
    let is_declared = |name: &str| {
        names::dns_1123_label(name).is_err() || pod_claims.iter().any(|declared| declared.name.as_deref() == Some(name))
    };
    let roles = workers.iter().filter_map(|worker| Some((ResourcePaths::of_role(worker)?.claims, &worker.written)));
    for (path, written) in [(ResourcePaths::common().claims, common)].into_iter().chain(roles) {
        for (index, claim) in written.claims.iter().enumerate() {
            let Some(name) = claim.name.as_deref().filter(|name| !is_declared(name)) else { continue };
            let at = path.index(index).key("name");
            let message = format!("{at} is {name:?}, expected the name of an entry of {}", list());
            check
                .findings
                .report(&codes::INVALID_CLAIM, &at, message)
                .help(format!("add an entry with the name {name} and its source to {}", list()));
        }
    }
    for (index, claim) in pod_claims.iter().enumerate() {
        let uses = |claims: &[ContainerClaim]| claims.iter().any(|used| used.name == claim.name);
        let is_used = uses(&common.claims) || workers.iter().any(|worker| uses(&worker.container.claims));
        if !is_used && let Some(name) = &claim.name {
            let path = list().index(index).name();
            let message = format!("{path} is {name:?}, which no container uses");
            check
                .findings
                .report(&codes::UNUSED_CLAIM, &path, message)
                .help("add it to spec.resources.claims, or to the resources.claims of a role");
        }
    }
}
