//! What runs: Deployments under restricted pod security, their options, and what may reach them.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, HTTPGetAction, Namespace,
    PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements,
    SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec, Volume, VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::object::{self, NAME, Object, cluster_metadata, metadata};
use super::{CONFIGURATION, Plan, Unit, WEBHOOK_SERVICE};
use crate::role::Role;

/// The label that tells the Deployments apart.
const COMPONENT: &str = "app.kubernetes.io/component";
/// The label of pods that answer admission requests, however many roles they have.
const ANSWERS: (&str, &str) = ("kubefoundry.ai/webhooks", "true");
/// A user without a name: nothing in the image belongs to it.
const USER: i64 = 65_532;

const WEBHOOK_PORT: i32 = 9443;
const METRICS_PORT: i32 = 8080;
const HEALTH_PORT: i32 = 8081;

/// The directory that the options are mounted at, and their file.
const OPTIONS_DIRECTORY: &str = "/etc/kubefoundry";
const OPTIONS_FILE: &str = "kubefoundry.yaml";
/// Options that change nothing (docs/options.md).
const OPTIONS: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n";

/// The operator's own namespace, in which only restricted pods run.
pub(super) fn namespace(plan: &Plan) -> Object {
    let mut metadata = cluster_metadata(&plan.namespace);
    let modes = ["enforce", "audit", "warn"];
    metadata
        .labels
        .get_or_insert_default()
        .extend(modes.map(|mode| (format!("pod-security.kubernetes.io/{mode}"), "restricted".to_owned())));
    Object::of(&Namespace { metadata, ..Namespace::default() })
}

/// Everything else that is no right and no webhook.
pub(super) fn objects(plan: &Plan) -> Vec<Object> {
    let mut objects = vec![Object::of(&ConfigMap {
        metadata: metadata(CONFIGURATION, &plan.namespace),
        data: Some(BTreeMap::from([(OPTIONS_FILE.to_owned(), OPTIONS.to_owned())])),
        ..ConfigMap::default()
    })];
    if plan.webhooks {
        objects.push(Object::of(&service(plan)));
        objects.push(Object::of(&webhook_policy(plan)));
    }
    objects.push(Object::of(&policy(plan)));
    for unit in plan.units() {
        if plan.replicas > 1 {
            objects.push(Object::of(&budget(plan, &unit)));
        }
        objects.push(Object::of(&deployment(plan, &unit)));
    }
    objects
}

/// How the apiserver reaches the webhooks.
fn service(plan: &Plan) -> Service {
    Service {
        metadata: metadata(WEBHOOK_SERVICE, &plan.namespace),
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                name: Some("https".to_owned()),
                port: 443,
                target_port: Some(IntOrString::String("webhooks".to_owned())),
                ..ServicePort::default()
            }]),
            selector: Some(map(&[NAME, ANSWERS])),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Who may ask for metrics and health, and where the operator itself may go: names, and an apiserver at its usual
/// ports.
fn policy(plan: &Plan) -> NetworkPolicy {
    let egress = vec![
        NetworkPolicyEgressRule { ports: Some(vec![port("UDP", 53), port("TCP", 53)]), to: None },
        NetworkPolicyEgressRule { ports: Some(vec![port("TCP", 443), port("TCP", 6443)]), to: None },
    ];
    NetworkPolicy {
        metadata: metadata("kubefoundry-operator", &plan.namespace),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(&[NAME])),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(vec![ingress(vec![port("TCP", METRICS_PORT), port("TCP", HEALTH_PORT)])]),
            egress: Some(egress),
        }),
    }
}

/// The apiserver has no label: whoever reaches the port of the webhooks may ask them.
fn webhook_policy(plan: &Plan) -> NetworkPolicy {
    NetworkPolicy {
        metadata: metadata(WEBHOOK_SERVICE, &plan.namespace),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(&[NAME, ANSWERS])),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![ingress(vec![port("TCP", WEBHOOK_PORT)])]),
            egress: None,
        }),
    }
}

fn ingress(ports: Vec<NetworkPolicyPort>) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule { ports: Some(ports), from: None }
}

fn port(protocol: &str, port: i32) -> NetworkPolicyPort {
    NetworkPolicyPort { protocol: Some(protocol.to_owned()), port: Some(IntOrString::Int(port)), end_port: None }
}

/// One replica at a time may be taken away.
fn budget(plan: &Plan, unit: &Unit) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(&unit.name, &plan.namespace),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(&[NAME, (COMPONENT, &unit.name)])),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

fn deployment(plan: &Plan, unit: &Unit) -> Deployment {
    let own = [NAME, (COMPONENT, unit.name.as_str())];
    let mut labels = object::labels();
    labels.extend(map(&own));
    let mut pod_labels = labels.clone();
    if unit.roles.contains(&Role::Webhooks) {
        pod_labels.extend(map(&[ANSWERS]));
    }
    Deployment {
        metadata: ObjectMeta { labels: Some(labels), ..metadata(&unit.name, &plan.namespace) },
        spec: Some(DeploymentSpec {
            replicas: Some(i32::from(plan.replicas)),
            selector: selector(&own),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() }),
                spec: Some(pod(plan, unit)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(plan: &Plan, unit: &Unit) -> PodSpec {
    PodSpec {
        service_account_name: Some(unit.name.clone()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            seccomp_profile: Some(seccomp()),
            ..PodSecurityContext::default()
        }),
        // Replicas on one node go away together.
        affinity: Some(Affinity {
            pod_anti_affinity: Some(PodAntiAffinity {
                preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: PodAffinityTerm {
                        topology_key: "kubernetes.io/hostname".to_owned(),
                        label_selector: Some(selector(&[NAME, (COMPONENT, &unit.name)])),
                        ..PodAffinityTerm::default()
                    },
                }]),
                ..PodAntiAffinity::default()
            }),
            ..Affinity::default()
        }),
        containers: vec![container(plan, unit)],
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

fn container(plan: &Plan, unit: &Unit) -> Container {
    let mut ports = vec![container_port("metrics", METRICS_PORT), container_port("health", HEALTH_PORT)];
    if unit.roles.contains(&Role::Webhooks) {
        ports.insert(0, container_port("webhooks", WEBHOOK_PORT));
    }
    Container {
        name: "operator".to_owned(),
        image: Some(plan.image.clone()),
        args: Some(arguments(plan, unit)),
        ports: Some(ports),
        resources: Some(ResourceRequirements {
            requests: Some(quantities(&[("cpu", "100m"), ("memory", "128Mi")])),
            limits: Some(quantities(&[("cpu", "2"), ("memory", "512Mi")])),
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

/// What the program is started with; a test reads them as the program does.
fn arguments(plan: &Plan, unit: &Unit) -> Vec<String> {
    let roles: Vec<&str> = unit.roles.iter().map(|role| role.name()).collect();
    let groups: Vec<&str> = plan.groups.iter().map(|api_group| api_group.name).collect();
    let mut arguments = vec![
        "run".to_owned(),
        format!("--roles={}", roles.join(",")),
        format!("--namespace={}", plan.namespace),
        format!("--groups={}", groups.join(",")),
        format!("--config={OPTIONS_DIRECTORY}/{OPTIONS_FILE}"),
        "--log-format=json".to_owned(),
    ];
    if plan.check_access && unit.roles.contains(&Role::Webhooks) {
        arguments.push("--check-access".to_owned());
    }
    arguments
}

fn container_port(name: &str, port: i32) -> ContainerPort {
    ContainerPort { name: Some(name.to_owned()), container_port: port, ..ContainerPort::default() }
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

fn quantities(amounts: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    amounts.iter().map(|(resource, amount)| ((*resource).to_owned(), Quantity((*amount).to_owned()))).collect()
}

fn map(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn selector(labels: &[(&str, &str)]) -> LabelSelector {
    LabelSelector { match_labels: Some(map(labels)), match_expressions: None }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kubefoundry_compiler::session::{Providers, Session};
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};

    use super::*;
    use crate::args::{Arguments, Command};
    use crate::manifests::tests::plans;

    /// The first options are options.
    #[test]
    fn the_options_change_nothing() {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Options, OPTIONS_FILE, OPTIONS);
        let session = Session::new(&sources, Providers::All).unwrap();
        let without = Session::new(&SourceSet::default(), Providers::All).unwrap();
        assert_eq!(format!("{:?}", session.options()), format!("{:?}", without.options()));
    }

    /// What a Deployment starts is a command line that the program understands, and means what was asked for.
    #[test]
    fn the_program_understands_what_it_is_started_with() {
        for plan in plans() {
            for unit in plan.units() {
                let line = std::iter::once("kubefoundry-operator".to_owned()).chain(arguments(&plan, &unit));
                let Command::Run(run) = Arguments::try_parse_from(line).unwrap().command else { panic!("no run") };
                assert_eq!(run.roles, unit.roles);
                assert_eq!(run.groups, plan.groups);
                assert_eq!(run.cluster.namespace, plan.namespace);
                assert_eq!(run.webhook_service, WEBHOOK_SERVICE);
                assert_eq!(run.check_access, plan.check_access && unit.roles.contains(&Role::Webhooks));
                let ports =
                    [run.webhook_address, run.metrics_address, run.health_address].map(|address| address.port());
                assert_eq!(ports.map(i32::from), [WEBHOOK_PORT, METRICS_PORT, HEALTH_PORT]);
            }
        }
    }
}
