//! KEDA objects: a ScaledObject that scales by the length of the actor's queue, and a TriggerAuthentication if the
//! broker needs credentials (`keda.go` of deliveryhero/asya v0.1.1). Field order is emission order.

use crate::wire::AsyncActor;
use serde::Serialize;

use super::codes;
use super::ir::{Actor, Modifiers, Scaling};
use super::options::{RabbitMq, Sqs, TransportKind};
use super::queue;
use super::target::ScaledWorkload;
use super::wire::ActorMetricType;
use crate::ObjectSet;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{SpecBody, StringMap};
use kubefoundry_kubernetes::wire::SecretKeySelector;
use kubefoundry_transform::{InputObject, TransformOutput};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The name of the trigger in formulas.
pub(super) const TRIGGER: &str = "queueLength";
/// The CRD version of KEDA's objects.
const API_VERSION: &str = "keda.sh/v1alpha1";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScaledObjectSpec {
    scale_target_ref: ScaleTarget,
    polling_interval: i32,
    cooldown_period: i32,
    min_replica_count: i32,
    max_replica_count: i32,
    advanced: Advanced,
    triggers: [Trigger; 1],
}

/// The scaled object. KEDA assumes a Deployment if the kind is absent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScaleTarget {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Advanced {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    restore_to_original_replica_count: bool,
    horizontal_pod_autoscaler_config: AutoscalerConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling_modifiers: Option<ScalingModifiers>,
}

#[derive(Debug, Serialize)]
struct AutoscalerConfig {
    behavior: Behavior,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Behavior {
    scale_down: ScalingRules,
    scale_up: ScalingRules,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScalingRules {
    stabilization_window_seconds: u32,
    select_policy: &'static str,
    policies: Vec<Policy>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Policy {
    r#type: &'static str,
    value: u32,
    period_seconds: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScalingModifiers {
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric_type: Option<ActorMetricType>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Trigger {
    r#type: &'static str,
    /// The name of the trigger in formulas.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    metadata: StringMap,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication_ref: Option<AuthenticationRef>,
}

#[derive(Debug, Serialize)]
struct AuthenticationRef {
    name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TriggerAuthenticationSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_identity: Option<PodIdentity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secret_target_ref: Vec<SecretTargetRef>,
}

/// The identity with which KEDA asks AWS: its own one, or a role that it assumes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodIdentity {
    provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_arn: Option<String>,
}

#[derive(Debug, Serialize)]
struct SecretTargetRef {
    parameter: &'static str,
    name: String,
    key: String,
}

/// Generates the KEDA objects of an actor. `is_own_workload` tells whether the scaled workload belongs to the actor.
pub(super) fn generate_keda_objects(
    actor: &Actor,
    scales: &ScaledWorkload,
    is_own_workload: bool,
    set: &ObjectSet<'_, '_>,
    out: &mut TransformOutput<'_>,
) {
    let (Some(scaling), Some(transport)) = (&actor.scaling, &actor.transport) else { return };
    let ScaledWorkload::Workload { api_version, kind, name } = scales else { return };
    report_second_scaler(actor, kind, name, set, &mut out.findings);
    let length = scaling.queue_length.to_string();
    let (trigger_type, metadata, authentication_spec) = match &transport.kind {
        TransportKind::RabbitMq(broker) => {
            report_username_key(actor, broker, set, &mut out.findings);
            let (metadata, secret_target_ref) = rabbitmq_trigger(actor, broker, length);
            let spec = TriggerAuthenticationSpec { pod_identity: None, secret_target_ref };
            ("rabbitmq", metadata, (!spec.secret_target_ref.is_empty()).then_some(spec))
        }
        TransportKind::Sqs(broker) => {
            let (metadata, spec) = sqs_trigger(actor, broker, length);
            ("aws-sqs-queue", metadata, Some(spec))
        }
    };
    let authentication = format!("{}-trigger-auth", actor.name);
    let authentication_ref = authentication_spec.is_some().then(|| AuthenticationRef { name: authentication.clone() });
    if let Some(spec) = authentication_spec {
        out.manifests.push(Manifest::new(API_VERSION, "TriggerAuthentication", authentication, SpecBody { spec }));
    }
    let by_name = is_own_workload && *kind == "Deployment";
    let has_formula = scaling.advanced.as_ref().is_some_and(|advanced| advanced.formula.is_some());
    let spec = ScaledObjectSpec {
        scale_target_ref: ScaleTarget {
            api_version: (!by_name).then_some(*api_version),
            kind: (!by_name).then_some(*kind),
            name: name.clone(),
        },
        polling_interval: scaling.polling_interval,
        cooldown_period: scaling.cooldown_period,
        min_replica_count: scaling.min_replicas,
        max_replica_count: scaling.max_replicas,
        advanced: advanced_settings(scaling),
        triggers: [Trigger {
            r#type: trigger_type,
            name: has_formula.then_some(TRIGGER),
            metadata,
            authentication_ref,
        }],
    };
    out.manifests.push(Manifest::new(API_VERSION, "ScaledObject", &actor.name, SpecBody { spec }));
}

/// Returns the scaling behavior. Its constants damp scaling so that the number of replicas does not oscillate.
fn advanced_settings(scaling: &Scaling) -> Advanced {
    let policy = |r#type, value| Policy { r#type, value, period_seconds: 60 };
    let rules = |stabilization_window_seconds, policies| ScalingRules {
        stabilization_window_seconds,
        select_policy: "Max",
        policies,
    };
    let behavior = Behavior {
        scale_down: rules(300, vec![policy("Pods", 1)]),
        scale_up: rules(0, vec![policy("Pods", 10), policy("Percent", 100)]),
    };
    let modifiers = scaling.advanced.clone().unwrap_or_default();
    let Modifiers { formula, target, activation_target, metric_type, restore_to_original_replica_count } = modifiers;
    let has_modifiers = formula.is_some() || target.is_some() || activation_target.is_some() || metric_type.is_some();
    let modifiers = ScalingModifiers { formula, target, activation_target, metric_type };
    Advanced {
        restore_to_original_replica_count,
        horizontal_pod_autoscaler_config: AutoscalerConfig { behavior },
        scaling_modifiers: has_modifiers.then_some(modifiers),
    }
}

/// Returns the metadata of the trigger and the parameters that it reads from a Secret. Without a password, the address
/// contains the user.
fn rabbitmq_trigger(actor: &Actor, broker: &RabbitMq, length: String) -> (StringMap, Vec<SecretTargetRef>) {
    let (host, port) = (broker.host.as_deref().unwrap_or_default(), broker.port.unwrap_or_default());
    let mut metadata = StringMap::from_entry("queueName", actor.queue());
    metadata.push("mode", "QueueLength");
    metadata.push("value", length);
    metadata.push("protocol", "amqp");
    let Some(password) = &broker.password else {
        let user = percent_encode(broker.username.as_deref().unwrap_or_default());
        metadata.push("host", format!("amqp://{user}@{host}:{port}"));
        return (metadata, Vec::new());
    };
    metadata.push("host", format!("amqp://{host}:{port}"));
    let name = password.name.clone().unwrap_or_default();
    let username = SecretTargetRef { parameter: "username", name, key: "username".to_owned() };
    (metadata, vec![username, secret_target("password", password)])
}

/// Returns the metadata of the trigger and its authentication: access keys from Secrets, or else the identity of KEDA,
/// which assumes the role of the actor if there is one. KEDA refuses a trigger without either (`GetAwsAuthorization` in
/// kedacore/keda).
fn sqs_trigger(actor: &Actor, broker: &Sqs, length: String) -> (StringMap, TriggerAuthenticationSpec) {
    let mut metadata = StringMap::from_entry("queueLength", length);
    metadata.push("awsRegion", broker.region.as_deref().unwrap_or_default());
    metadata.push("queueURL", queue::sqs_url(broker, &actor.queue()));
    if let Some(endpoint) = &broker.endpoint {
        metadata.push("awsEndpoint", endpoint);
    }
    let keys = [("awsAccessKeyID", &broker.access_key_id), ("awsSecretAccessKey", &broker.secret_access_key)];
    let secret_target_ref: Vec<_> =
        keys.into_iter().filter_map(|(parameter, key)| Some(secret_target(parameter, key.as_ref()?))).collect();
    let pod_identity =
        secret_target_ref.is_empty().then(|| PodIdentity { provider: "aws", role_arn: broker.actor_role_arn.clone() });
    (metadata, TriggerAuthenticationSpec { pod_identity, secret_target_ref })
}

/// Returns the parameter of a trigger that KEDA reads from a key of a Secret.
fn secret_target(parameter: &'static str, selector: &SecretKeySelector) -> SecretTargetRef {
    let SecretKeySelector { name, key, .. } = selector;
    SecretTargetRef { parameter, name: name.clone().unwrap_or_default(), key: key.clone().unwrap_or_default() }
}

/// Percent-encodes the user part of an address: every byte except the unreserved characters of RFC 3986.
fn percent_encode(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    text.bytes()
        .map(|byte| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Reports that the Secret with the password must also contain the username, because KEDA reads both from one Secret.
fn report_username_key(actor: &Actor, broker: &RabbitMq, set: &ObjectSet<'_, '_>, findings: &mut Findings<'_>) {
    let Some(name) = broker.password.as_ref().and_then(|password| password.name.as_deref()) else { return };
    let secret = set.find_input("", "Secret", actor.namespace.as_deref(), name);
    let has = |list: &str, secret: &Node<'_>| secret.get(list).is_some_and(|keys| keys.entry("username").is_some());
    if secret.is_some_and(|(_, secret)| has("data", &secret.root) || has("stringData", &secret.root)) {
        return;
    }
    let (code, message) = if secret.is_some() {
        (&codes::SCALING_NEEDS, format!("Secret {name} has no key username, from which KEDA reads the user"))
    } else {
        (&codes::USERNAME_KEY, format!("Secret {name} must have the key username, from which KEDA reads the user"))
    };
    findings.report(code, AsyncActor::path().spec().transport(), message).help(format!(
        "add the key username to Secret {name}{}, with the user of the transport",
        super::in_namespace(actor)
    ));
}

/// Reports another autoscaler of the input that scales the same object.
fn report_second_scaler(actor: &Actor, kind: &str, name: &str, set: &ObjectSet<'_, '_>, findings: &mut Findings<'_>) {
    let other = set.inputs.iter().find(|other| is_second_scaler(actor, other, kind, name));
    let Some(other) = other else { return };
    let path = FieldPath::from(AsyncActor::path().spec().scaling().enabled());
    let header = &other.header;
    let message = format!("{path} is true, but {} {} already scales {kind} {name}", header.kind, header.name);
    let span = other.root.locate(&AsyncActor::path().metadata().name(), yaml::FieldPart::Value);
    findings
        .report(&codes::SECOND_SCALER, FieldRef::value(&path), message)
        .related_in(other.source, other.document, span, "the other autoscaler")
        .help("remove one of the two: each would undo the changes of the other");
}

/// Returns whether an object of the input is an autoscaler of the same workload that does not belong to this actor.
fn is_second_scaler(actor: &Actor, other: &InputObject<'_>, kind: &str, name: &str) -> bool {
    let header = &other.header;
    // The output of an earlier run for this actor, and the autoscaler that KEDA derives from it, do not conflict.
    let own_name = match (header.group(), &*header.kind) {
        ("keda.sh", "ScaledObject") => actor.name.clone(),
        ("autoscaling", "HorizontalPodAutoscaler") => format!("keda-hpa-{}", actor.name),
        _ => return false,
    };
    let target = other.root.get("spec").and_then(|spec| spec.get("scaleTargetRef"));
    let text = |key: &str| target.and_then(|target| target.get(key)).and_then(Node::as_str);
    header.namespace.as_deref() == actor.namespace.as_deref()
        && *header.name != *own_name
        && text("kind").unwrap_or("Deployment") == kind
        && text("name") == Some(name)
}
