//! The manifests of the operator: everything that it needs in a cluster.

mod access;
pub(crate) mod crds;
pub(crate) mod object;
pub(crate) mod permissions;
mod plan;
mod webhooks;
mod workload;

use std::io::Write as _;
use std::process::ExitCode;

use kubefoundry_yaml::to_yaml;

use crate::args::Manifests;
use object::Object;
pub(crate) use plan::{DeploymentUnit, InstallPlan};

/// The ConfigMap with the options. `install` creates it once; afterwards it belongs to the user.
pub(crate) const CONFIGURATION: &str = "kubefoundry-config";

impl InstallPlan {
    /// Returns all objects in the order in which they are applied. Objects come after those they refer to, and the
    /// webhooks last: from then on the apiserver needs answers.
    pub(crate) fn objects(&self) -> Vec<Object> {
        let mut objects = crds::crds(&self.groups);
        objects.push(workload::namespace(self));
        objects.extend(access::objects(self));
        objects.extend(workload::objects(self));
        if self.webhooks {
            objects.extend(webhooks::objects(self));
        }
        objects
    }
}

/// Formats objects as a YAML stream.
pub(crate) fn to_text(objects: &[Object]) -> String {
    let mut text = String::new();
    for (position, object) in objects.iter().enumerate() {
        if position > 0 {
            text.push_str("---\n");
        }
        to_yaml(&object.value, &mut text);
    }
    text
}

/// Runs `kubefoundry-operator manifests`.
pub(crate) fn main(manifests: &Manifests) -> ExitCode {
    let plan = match InstallPlan::new(&manifests.namespace).with_flags(&manifests.package) {
        Ok(plan) => plan,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "kubefoundry-operator: {error}");
            return ExitCode::from(2);
        }
    };
    let text = to_text(&plan.objects());
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, such as `head`, has all that it wants.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "kubefoundry-operator: standard output: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::apps::v1::Deployment;
    use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};

    use super::*;
    use crate::args::{FailurePolicy, Layout};
    use crate::role::Role;

    /// Returns an install plan for every combination of options that changes the set of objects.
    pub(crate) fn plans() -> Vec<InstallPlan> {
        let mut plans = Vec::new();
        let groups: Vec<&'static ApiGroup> = API_GROUPS.iter().filter(|api_group| api_group.has_crds).collect();
        for layout in [Layout::All, Layout::Split] {
            for (webhooks, check_access) in [(true, true), (true, false), (false, false)] {
                for replicas in [1, 2] {
                    for groups in [&groups[..1], &groups[..]] {
                        let mut plan = InstallPlan {
                            image: "registry.example.com/operator:1".to_owned(),
                            layout,
                            webhooks,
                            failure_policy: if replicas > 1 { FailurePolicy::Ignore } else { FailurePolicy::Fail },
                            check_access,
                            groups: groups.to_vec(),
                            ..InstallPlan::new("serving")
                        };
                        plan.pods.replicas = replicas;
                        if replicas == 1 && groups.len() == 1 {
                            plans.push(InstallPlan { optional_roles: Role::optional(), ..plan.clone() });
                        }
                        plans.push(plan);
                    }
                }
            }
        }
        plans
    }

    #[test]
    fn objects_are_unique_and_labeled() {
        for plan in plans() {
            let mut seen = BTreeSet::new();
            for object in plan.objects() {
                assert!(
                    seen.insert((object.reference(), object.namespace.clone())),
                    "{} is generated twice",
                    object.reference()
                );
                for (key, value) in [object::NAME, object::PART_OF] {
                    assert_eq!(object.value["metadata"]["labels"][key], value, "{}", object.reference());
                }
                assert!(object.namespace.is_none() || object.namespace.as_deref() == Some("serving"));
            }
        }
    }

    #[test]
    fn every_role_runs_once_with_its_permissions() {
        for plan in plans() {
            let units = plan.units();
            let mut roles: Vec<&str> = units.iter().flat_map(|unit| &unit.roles).map(|role| role.name()).collect();
            roles.sort_unstable();
            let mut all: Vec<&str> = Role::all().iter().chain(&plan.optional_roles).map(|role| role.name()).collect();
            all.retain(|role| plan.webhooks || *role != "webhooks");
            all.sort_unstable();
            assert_eq!(roles, all);

            let objects = plan.objects();
            for (unit, role) in units.iter().flat_map(|unit| unit.roles.iter().map(move |role| (unit, role))) {
                let name = format!("kubefoundry-{}", role.name());
                for kind in ["ClusterRoleBinding", "RoleBinding"] {
                    let binding = objects.iter().find(|object| object.has_kind(kind) && object.name == name);
                    let binding = binding.unwrap_or_else(|| panic!("no {kind} {name}"));
                    assert_eq!(binding.value["subjects"][0]["name"], unit.name.as_str());
                    let role = kind.trim_end_matches("Binding");
                    assert!(
                        objects.iter().any(|object| object.has_kind(role) && object.name == name),
                        "no {role} {name}"
                    );
                }
            }
        }
    }

    #[test]
    fn pods_meet_the_restricted_pod_security_standard() {
        for plan in plans() {
            for object in plan.objects().into_iter().filter(|object| object.has_kind("Deployment")) {
                let deployment: Deployment = serde_json::from_value(object.value).unwrap();
                let spec = deployment.spec.unwrap();
                let labels = spec.template.metadata.unwrap().labels.unwrap();
                for (key, value) in spec.selector.match_labels.unwrap() {
                    assert_eq!(labels.get(&key), Some(&value));
                }
                let pod = spec.template.spec.unwrap();
                let security = pod.security_context.unwrap();
                assert_eq!(security.run_as_non_root, Some(true));
                for container in pod.containers {
                    let security = container.security_context.unwrap();
                    assert_eq!(security.allow_privilege_escalation, Some(false));
                    assert_eq!(security.read_only_root_filesystem, Some(true));
                    assert_eq!(security.capabilities.unwrap().drop, Some(vec!["ALL".to_owned()]));
                    assert_eq!(security.seccomp_profile.unwrap().type_, "RuntimeDefault");
                    let resources = container.resources.unwrap();
                    assert!(resources.requests.is_some() && resources.limits.is_some());
                    assert!(container.liveness_probe.is_some() && container.readiness_probe.is_some());
                }
            }
        }
    }

    #[test]
    fn without_webhooks_no_object_mentions_them() {
        for plan in plans() {
            let text = to_text(&plan.objects());
            assert_eq!(text.contains("kubefoundry-webhooks"), plan.webhooks);
            assert_eq!(text.contains("admissionregistration.k8s.io"), plan.webhooks);
            let fails = plan.failure_policy == FailurePolicy::Fail;
            assert_eq!(text.contains("failurePolicy: Fail"), plan.webhooks && fails);
            assert_eq!(text.contains("kind: PodDisruptionBudget"), plan.pods.replicas > 1);
            assert_eq!(text.contains("--check-access"), plan.check_access);
        }
    }
}
