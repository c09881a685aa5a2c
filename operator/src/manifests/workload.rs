//! The workload: Deployments that meet the restricted Pod Security Standard, their options, and network policies.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, EnvVar, HTTPGetAction,
    LocalObjectReference, Namespace, PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec, PodTemplateSpec,
    Probe, ResourceRequirements, SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec, Volume,
    VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::object::{self, COMPONENT, NAME, Object, cluster_metadata, metadata};
use super::plan::CONTAINER;
use super::{CONFIGURATION, DeploymentUnit, InstallPlan};
use crate::args::{HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT, WEBHOOK_SERVICE};
use crate::role::Role;

/// The label of pods that run the webhooks. The Service selects by it, because the Deployment's name depends on the
/// layout.
const WEBHOOK_PODS: (&str, &str) = ("kubefoundry.ai/webhooks", "true");
/// Lets the allocator of the released program return free memory to the system at once. By default it keeps it for a second,
/// in which a resync uses as much again.
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");
/// The uid and gid of the process, those of `nonroot` in distroless images. No file in the image belongs to them.
const NONROOT_ID: i64 = 65_532;

/// The form of log lines in a cluster.
pub(super) const LOG_FORMAT: &str = "--log-format=json";

/// The mount path of the options, and the file in it.
const OPTIONS_DIRECTORY: &str = "/etc/kubefoundry";
const OPTIONS_FILE: &str = "kubefoundry.yaml";
/// Options without a setting (docs/options.md), as a template for the user.
const OPTIONS: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n";

/// Returns the operator's own namespace, which admits only pods that meet the restricted Pod Security Standard.
pub(super) fn namespace(plan: &InstallPlan) -> Object {
    let mut metadata = cluster_metadata(&plan.namespace);
    let modes = ["enforce", "audit", "warn"];
    metadata
        .labels
        .get_or_insert_default()
        .extend(modes.map(|mode| (format!("pod-security.kubernetes.io/{mode}"), "restricted".to_owned())));
    Object::from_resource(&Namespace { metadata, ..Namespace::default() })
}

/// Returns the options, the network policies, and the Deployments with the objects that belong to them.
pub(super) fn objects(plan: &InstallPlan) -> Vec<Object> {
    let mut objects = vec![Object::from_resource(&ConfigMap {
        metadata: metadata(CONFIGURATION, &plan.namespace),
        data: Some(BTreeMap::from([(OPTIONS_FILE.to_owned(), OPTIONS.to_owned())])),
        ..ConfigMap::default()
    })];
    if plan.webhooks {
        objects.push(Object::from_resource(&service(plan)));
        objects.push(Object::from_resource(&webhook_policy(plan)));
    }
    objects.push(Object::from_resource(&policy(plan)));
    for unit in plan.units() {
        if plan.pods(&unit).replicas > 1 {
            objects.push(Object::from_resource(&budget(plan, &unit)));
        }
        objects.push(Object::from_resource(&deployment(plan, &unit)));
    }
    objects
}

/// Returns the Service through which the apiserver reaches the webhooks.
fn service(plan: &InstallPlan) -> Service {
    Service {
        metadata: metadata(WEBHOOK_SERVICE, &plan.namespace),
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                name: Some("https".to_owned()),
                port: 443,
                target_port: Some(IntOrString::String("webhooks".to_owned())),
                ..ServicePort::default()
            }]),
            selector: Some(label_map(&[NAME, WEBHOOK_PODS])),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The label of namespaces whose pods may read the metrics, as in the policies that kubebuilder generates.
const METRICS_CLIENTS: (&str, &str) = ("metrics", "enabled");

/// Admits traffic to the metrics port from the namespaces of monitoring. The probes need no rule: a policy does not
/// apply to traffic from the node of the pod, and no other client needs them. The operator itself may reach DNS, and an
/// apiserver at its usual ports.
fn policy(plan: &InstallPlan) -> NetworkPolicy {
    let egress = vec![
        NetworkPolicyEgressRule { ports: Some(vec![port("UDP", 53), port("TCP", 53)]), to: None },
        NetworkPolicyEgressRule { ports: Some(vec![port("TCP", 443), port("TCP", 6443)]), to: None },
    ];
    NetworkPolicy {
        metadata: metadata("kubefoundry-operator", &plan.namespace),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(label_selector(&[NAME])),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(vec![NetworkPolicyIngressRule {
                from: Some(vec![NetworkPolicyPeer {
                    namespace_selector: Some(label_selector(&[METRICS_CLIENTS])),
                    ..NetworkPolicyPeer::default()
                }]),
                ..ingress(vec![port("TCP", METRICS_PORT)])
            }]),
            egress: Some(egress),
        }),
    }
}

/// Admits traffic to the port of the webhooks from everywhere: a policy cannot select the apiserver by labels.
fn webhook_policy(plan: &InstallPlan) -> NetworkPolicy {
    NetworkPolicy {
        metadata: metadata(WEBHOOK_SERVICE, &plan.namespace),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(label_selector(&[NAME, WEBHOOK_PODS])),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![ingress(vec![port("TCP", WEBHOOK_PORT)])]),
            egress: None,
        }),
    }
}

fn ingress(ports: Vec<NetworkPolicyPort>) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule { ports: Some(ports), from: None }
}

fn port(protocol: &str, port: u16) -> NetworkPolicyPort {
    NetworkPolicyPort { protocol: Some(protocol.to_owned()), port: Some(IntOrString::Int(port.into())), end_port: None }
}

/// Lets one replica at a time be evicted.
fn budget(plan: &InstallPlan, unit: &DeploymentUnit) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(&unit.name, &plan.namespace),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(label_selector(&[NAME, (COMPONENT, &unit.name)])),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

fn deployment(plan: &InstallPlan, unit: &DeploymentUnit) -> Deployment {
    let own = [NAME, (COMPONENT, unit.name.as_str())];
    let mut labels = object::labels();
    labels.extend(label_map(&own));
    let mut pod_labels = labels.clone();
    if unit.roles.contains(&Role::Webhooks) {
        pod_labels.extend(label_map(&[WEBHOOK_PODS]));
    }
    Deployment {
        metadata: ObjectMeta { labels: Some(labels), ..metadata(&unit.name, &plan.namespace) },
        spec: Some(DeploymentSpec {
            replicas: Some(i32::from(plan.pods(unit).replicas)),
            selector: label_selector(&own),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() }),
                spec: Some(pod(plan, unit)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(plan: &InstallPlan, unit: &DeploymentUnit) -> PodSpec {
    let shape = plan.pods(unit);
    PodSpec {
        service_account_name: Some(unit.name.clone()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(NONROOT_ID),
            run_as_group: Some(NONROOT_ID),
            seccomp_profile: Some(seccomp()),
            ..PodSecurityContext::default()
        }),
        // Replicas on one node would fail together.
        affinity: Some(Affinity {
            pod_anti_affinity: Some(PodAntiAffinity {
                preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: PodAffinityTerm {
                        topology_key: "kubernetes.io/hostname".to_owned(),
                        label_selector: Some(label_selector(&[NAME, (COMPONENT, &unit.name)])),
                        ..PodAffinityTerm::default()
                    },
                }]),
                ..PodAntiAffinity::default()
            }),
            ..Affinity::default()
        }),
        containers: vec![container(plan, unit)],
        image_pull_secrets: (!shape.image_pull_secrets.is_empty())
            .then(|| shape.image_pull_secrets.iter().map(|name| LocalObjectReference { name: name.clone() }).collect()),
        node_selector: (!shape.node_selector.is_empty()).then(|| shape.node_selector.clone()),
        tolerations: (!shape.tolerations.is_empty()).then(|| shape.tolerations.clone()),
        volumes: Some(vec![Volume {
            name: "options".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: CONFIGURATION.to_owned(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

fn container(plan: &InstallPlan, unit: &DeploymentUnit) -> Container {
    let shape = plan.pods(unit);
    let mut ports = vec![container_port("metrics", METRICS_PORT), container_port("health", HEALTH_PORT)];
    if unit.roles.contains(&Role::Webhooks) {
        ports.insert(0, container_port("webhooks", WEBHOOK_PORT));
    }
    Container {
        name: CONTAINER.to_owned(),
        image: Some(plan.image.clone()),
        args: Some(arguments(plan, unit)),
        env: Some(vec![EnvVar {
            name: PURGE_DELAY.0.to_owned(),
            value: Some(PURGE_DELAY.1.to_owned()),
            ..EnvVar::default()
        }]),
        ports: Some(ports),
        resources: Some(ResourceRequirements {
            requests: Some(shape.requests.clone()),
            limits: Some(shape.limits.clone()),
            ..ResourceRequirements::default()
        }),
        liveness_probe: Some(probe("/healthz", 10)),
        readiness_probe: Some(probe("/readyz", 5)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            read_only_root_filesystem: Some(true),
            run_as_non_root: Some(true),
            seccomp_profile: Some(seccomp()),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(vec![VolumeMount {
            name: "options".to_owned(),
            mount_path: OPTIONS_DIRECTORY.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    }
}

/// Returns the command-line arguments of the container. A test parses them as the program does.
pub(super) fn arguments(plan: &InstallPlan, unit: &DeploymentUnit) -> Vec<String> {
    let (default, optional): (Vec<Role>, Vec<Role>) = unit.roles.iter().partition(|role| role.serves_models());
    // Optional roles have arguments of their own, which a component of kustomize can append.
    let (first, further) = if default.is_empty() { (optional, Vec::new()) } else { (default, optional) };
    let roles: Vec<&str> = first.iter().map(|role| role.name()).collect();
    let groups: Vec<&str> = plan.groups.iter().map(|api_group| api_group.name).collect();
    let mut arguments = vec![
        "run".to_owned(),
        format!("--roles={}", roles.join(",")),
        format!("--namespace={}", plan.namespace),
        format!("--groups={}", groups.join(",")),
    ];
    let settings = &plan.pods(unit).settings;
    for default in [options_argument(), LOG_FORMAT.to_owned()] {
        let name = default.split('=').next();
        if !settings.iter().any(|setting| setting.split('=').next() == name) {
            arguments.push(default);
        }
    }
    if plan.check_access && unit.roles.contains(&Role::Webhooks) {
        arguments.push("--check-access".to_owned());
    }
    arguments.extend(settings.iter().cloned());
    arguments.extend(further.iter().map(|role| format!("--roles={}", role.name())));
    arguments
}

/// Returns the argument that names the mounted options.
pub(super) fn options_argument() -> String {
    format!("--config={OPTIONS_DIRECTORY}/{OPTIONS_FILE}")
}

fn container_port(name: &str, port: u16) -> ContainerPort {
    ContainerPort { name: Some(name.to_owned()), container_port: port.into(), ..ContainerPort::default() }
}

fn probe(path: &str, seconds: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("health".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(seconds),
        ..Probe::default()
    }
}

fn seccomp() -> SeccompProfile {
    SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }
}

fn label_map(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn label_selector(labels: &[(&str, &str)]) -> LabelSelector {
    LabelSelector { match_labels: Some(label_map(labels)), match_expressions: None }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kubefoundry_compiler::session::{Providers, Session};
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};

    use super::*;
    use crate::args::{Arguments, Command};
    use crate::manifests::tests::plans;

    #[test]
    fn the_template_of_the_options_changes_nothing() {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Options, OPTIONS_FILE, OPTIONS);
        let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
        let without = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
        assert_eq!(format!("{:?}", session.options()), format!("{:?}", without.options()));
    }

    #[test]
    fn the_program_parses_the_arguments_of_every_deployment() {
        for plan in plans() {
            for unit in plan.units() {
                let line = std::iter::once("kubefoundry-operator".to_owned()).chain(arguments(&plan, &unit));
                let Command::Run(run) = Arguments::try_parse_from(line).unwrap().command else { panic!("no run") };
                assert_eq!(run.roles, unit.roles);
                assert_eq!(run.groups, plan.groups);
                assert_eq!(run.cluster.namespace, plan.namespace);
                assert_eq!(run.webhook_service, WEBHOOK_SERVICE);
                assert_eq!(run.check_access, plan.check_access && unit.roles.contains(&Role::Webhooks));
                let addresses = [run.webhook_address, run.metrics_address, run.health_address];
                assert_eq!(addresses.map(|address| address.port()), [WEBHOOK_PORT, METRICS_PORT, HEALTH_PORT]);
            }
        }
    }
}
