//! The queue of an actor. Sidecars of Asya v0.1.1 create none: on RabbitMQ they declare it passively (`ensureQueue` in
//! `src/asya-sidecar/internal/transport/rabbitmq.go`), and on SQS they ask for its address. So an object must create the
//! queue, or a person.
//!
//! On RabbitMQ, a sidecar publishes to a topic exchange with the name of the next actor as the routing key. Without a
//! binding to a queue, the broker drops the message, so the exchange and the binding belong to the queue.

use serde::Serialize;
use serde_json::{Value, json};

use super::codes::QUEUE_NOT_CREATED;
use super::ir::Actor;
use super::options::{
    self, ClusterReference, DeadLetters, Queues, RabbitMq, RabbitMqQueueType, Sqs, Transport, TransportKind,
    TransportType,
};
use crate::ObjectSet;
use crate::wire::AsyncActor;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{SpecBody, StringMap};
use kubefoundry_transform::TransformOutput;
use kubefoundry_yaml::Node;

/// The API of RabbitMQ's messaging topology operator.
const TOPOLOGY: &str = "rabbitmq.com/v1beta1";
/// The API of the SQS controller of AWS Controllers for Kubernetes.
const ACK: &str = "sqs.services.k8s.aws/v1alpha1";
/// The exchange of sidecars without `ASYA_RABBITMQ_EXCHANGE`.
const DEFAULT_EXCHANGE: &str = "asya";
/// The queue for failed messages of all actors on SQS.
const SHARED_DEAD_LETTERS: &str = "asya-dlq";
/// How long SQS keeps messages, in seconds, if the Asya operator creates the queue.
const RETENTION_SECONDS: &str = "345600";

/// Generates the objects that create the queue of an actor, or reports that the queue must exist. With such an object, the
/// messages are deleted, so it is shared: it has no owner, and is never pruned.
pub(super) fn generate_queue(actor: &Actor, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let Some(transport) = &actor.transport else { return };
    let objects = match (set.settings.queues_of(transport), &transport.kind) {
        (Queues::RabbitMqTopology { cluster, queue_type }, TransportKind::RabbitMq(broker)) => {
            let exchange_object = exchange_object(exchange(broker), cluster, &set.settings.queues);
            rabbitmq_objects(actor, broker, cluster, *queue_type, exchange_object)
        }
        (Queues::Ack, TransportKind::Sqs(broker)) => sqs_objects(actor, broker),
        _ => {
            report_queue(actor, transport, set, out);
            return;
        }
    };
    out.shared.extend(objects.into_iter().map(keep));
}

/// Marks an object so that GitOps tools and `kpt` do not delete it when it is no longer rendered.
pub(super) fn keep(manifest: Manifest) -> Manifest {
    manifest
        .with_annotation("argocd.argoproj.io/sync-options", "Prune=false,Delete=false")
        .with_annotation("cli-utils.sigs.k8s.io/on-remove", "keep")
        .with_annotation("kustomize.toolkit.fluxcd.io/prune", "disabled")
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Exchange {
    name: String,
    r#type: &'static str,
    durable: bool,
    rabbitmq_cluster_reference: Cluster,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RabbitMqQueue {
    name: String,
    r#type: RabbitMqQueueType,
    durable: bool,
    rabbitmq_cluster_reference: Cluster,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    source: String,
    destination: String,
    destination_type: &'static str,
    routing_key: String,
    rabbitmq_cluster_reference: Cluster,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Policy {
    name: String,
    pattern: String,
    apply_to: &'static str,
    definition: Value,
    rabbitmq_cluster_reference: Cluster,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_secret: Option<ConnectionSecret>,
}

#[derive(Debug, Clone, Serialize)]
struct ConnectionSecret {
    name: String,
}

impl From<&ClusterReference> for Cluster {
    fn from(reference: &ClusterReference) -> Self {
        match reference {
            ClusterReference::Cluster { name, namespace } => {
                Self { name: Some(name.clone()), namespace: namespace.clone(), connection_secret: None }
            }
            ClusterReference::Secret(name) => {
                Self { name: None, namespace: None, connection_secret: Some(ConnectionSecret { name: name.clone() }) }
            }
        }
    }
}

fn rabbitmq_objects(
    actor: &Actor,
    broker: &RabbitMq,
    cluster: &ClusterReference,
    queue_type: RabbitMqQueueType,
    exchange_object: String,
) -> Vec<Manifest> {
    let cluster = Cluster::from(cluster);
    let object = |kind: &str, name: String, spec| Manifest::new(TOPOLOGY, kind, name, SpecBody { spec });
    let queue = actor.queue();
    let queue_object = |name: String| {
        let rabbitmq_cluster_reference = cluster.clone();
        let spec = RabbitMqQueue { name: name.clone(), r#type: queue_type, durable: true, rabbitmq_cluster_reference };
        Manifest::new(TOPOLOGY, "Queue", name, SpecBody { spec })
    };
    let exchange = exchange(broker);
    let mut objects = vec![
        object(
            "Exchange",
            exchange_object,
            Exchange {
                name: exchange.to_owned(),
                r#type: "topic",
                durable: true,
                rabbitmq_cluster_reference: cluster.clone(),
            },
        ),
        queue_object(queue.clone()),
        Manifest::new(
            TOPOLOGY,
            "Binding",
            queue.clone(),
            SpecBody {
                spec: Binding {
                    source: exchange.to_owned(),
                    destination: queue.clone(),
                    destination_type: "queue",
                    routing_key: actor.name.clone(),
                    rabbitmq_cluster_reference: cluster.clone(),
                },
            },
        ),
    ];
    if let Some(DeadLetters { max_retry_count, .. }) = broker.dead_letters {
        let dead_letters = format!("{queue}-dlq");
        let mut definition = json!({"dead-letter-exchange": "", "dead-letter-routing-key": dead_letters});
        if queue_type == RabbitMqQueueType::Quorum {
            // Classic queues have no such limit.
            definition["delivery-limit"] = json!(max_retry_count);
        }
        let spec = Policy {
            name: dead_letters.clone(),
            // The only character of a name that has a meaning in a pattern.
            pattern: format!("^{}$", queue.replace('.', "\\.")),
            apply_to: "queues",
            definition,
            rabbitmq_cluster_reference: cluster.clone(),
        };
        objects.push(queue_object(dead_letters.clone()));
        objects.push(Manifest::new(TOPOLOGY, "Policy", dead_letters, SpecBody { spec }));
    }
    objects
}

fn exchange(broker: &RabbitMq) -> &str {
    broker.exchange.as_deref().unwrap_or(DEFAULT_EXCHANGE)
}

/// Returns the name of the object for an exchange. All actors of a namespace share it, so another broker than that of
/// `actor.queues` is a part of the name.
fn exchange_object(exchange: &str, cluster: &ClusterReference, shared: &Queues) -> String {
    let is_shared = matches!(shared, Queues::RabbitMqTopology { cluster: shared, .. } if shared == cluster);
    if is_shared {
        return object_name(exchange);
    }
    let broker = match cluster {
        ClusterReference::Cluster { name, namespace: None } | ClusterReference::Secret(name) => name.clone(),
        ClusterReference::Cluster { name, namespace: Some(namespace) } => format!("{namespace}-{name}"),
    };
    object_name(&format!("{exchange}-{broker}"))
}

/// Returns a valid name of an object for an exchange, whose own name may have any characters.
fn object_name(exchange: &str) -> String {
    let name: String = exchange
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .take(63)
        .collect();
    let name = name.trim_matches('-');
    if name.is_empty() { DEFAULT_EXCHANGE.to_owned() } else { name.to_owned() }
}

/// The queue of SQS. Attributes are texts in its API.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SqsQueue {
    queue_name: String,
    message_retention_period: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redrive_policy: Option<String>,
    tags: StringMap,
}

/// Generates the queues with the attributes and tags that the Asya operator sets (`ReconcileQueue` and `ensureDLQ` in
/// `src/asya-operator/internal/transports/sqs.go`).
fn sqs_objects(actor: &Actor, broker: &Sqs) -> Vec<Manifest> {
    let region = broker.region.as_deref();
    let object = |queue: SqsQueue| {
        let manifest = Manifest::new(ACK, "Queue", queue.queue_name.clone(), SpecBody { spec: queue })
            .with_annotation("services.k8s.aws/deletion-policy", "retain");
        match region {
            Some(region) => manifest.with_annotation("services.k8s.aws/region", region),
            None => manifest,
        }
    };
    let tags = |own: Vec<(&str, &str)>| {
        let mut tags: Vec<(String, String)> =
            own.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        for (key, value) in &broker.tags {
            tags.retain(|(own, _)| own != key);
            tags.push((key.clone(), value.clone()));
        }
        StringMap(tags)
    };
    let mut objects = Vec::new();
    let mut redrive_policy = None;
    if let Some(DeadLetters { max_retry_count, retention_days }) = broker.dead_letters {
        let (partition, account) = (partition(region.unwrap_or_default()), broker.account_id.as_deref());
        let arn = format!(
            "arn:{partition}:sqs:{}:{}:{SHARED_DEAD_LETTERS}",
            region.unwrap_or_default(),
            account.unwrap_or_default()
        );
        redrive_policy = Some(json!({"deadLetterTargetArn": arn, "maxReceiveCount": max_retry_count}).to_string());
        objects.push(object(SqsQueue {
            queue_name: SHARED_DEAD_LETTERS.to_owned(),
            message_retention_period: (i64::from(retention_days) * 86_400).to_string(),
            visibility_timeout: None,
            redrive_policy: None,
            tags: tags(vec![("asya.sh/type", "dlq")]),
        }));
    }
    let mut own_tags = vec![("asya.sh/actor", actor.name.as_str())];
    own_tags.extend(actor.namespace.as_deref().map(|namespace| ("asya.sh/namespace", namespace)));
    objects.push(object(SqsQueue {
        queue_name: actor.queue(),
        message_retention_period: RETENTION_SECONDS.to_owned(),
        visibility_timeout: broker.visibility_timeout.map(|seconds| seconds.to_string()),
        redrive_policy,
        tags: tags(own_tags),
    }));
    objects
}

/// Returns the partition of AWS that a region belongs to, as in ARNs.
fn partition(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else {
        "aws"
    }
}

/// Returns the address of a queue on SQS.
pub(super) fn sqs_url(broker: &Sqs, queue: &str) -> String {
    let (region, account) =
        (broker.region.as_deref().unwrap_or_default(), broker.account_id.as_deref().unwrap_or_default());
    let suffix = if partition(region) == "aws-cn" { ".cn" } else { "" };
    let base = broker.endpoint.clone().unwrap_or_else(|| format!("https://sqs.{region}.amazonaws.com{suffix}"));
    format!("{base}/{account}/{queue}")
}

/// Reports a queue that must exist, unless an object of the input creates it.
fn report_queue(actor: &Actor, transport: &Transport, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let queue = actor.queue();
    let (group, field) = match transport.kind {
        TransportKind::RabbitMq(_) => ("rabbitmq.com", "name"),
        TransportKind::Sqs(_) => ("sqs.services.k8s.aws", "queueName"),
    };
    let is_created = set.inputs.iter().any(|object| {
        object.header.group() == group
            && &*object.header.kind == "Queue"
            && object.root.get("spec").and_then(|spec| spec.get(field)).and_then(Node::as_str) == Some(queue.as_str())
    });
    if is_created {
        return;
    }
    let (transport_type, kind, command) = match &transport.kind {
        TransportKind::RabbitMq(broker) => {
            let (exchange, actor) = (exchange(broker), &actor.name);
            let command = format!(
                "rabbitmqadmin declare exchange name={exchange} type=topic durable=true; rabbitmqadmin declare queue \
                 name={queue} durable=true; rabbitmqadmin declare binding source={exchange} destination={queue} \
                 routing_key={actor}"
            );
            (TransportType::RabbitMq, "durable queue", command)
        }
        TransportKind::Sqs(broker) => {
            let region = broker.region.as_deref().map_or_else(String::new, |region| format!(" --region {region}"));
            (TransportType::Sqs, "queue", format!("aws sqs create-queue --queue-name {queue}{region}"))
        }
    };
    let message = format!("{kind} {queue} must exist before the pods start, because the sidecar does not create it");
    let (own, shared) = (transport.queues.as_ref(), &set.settings.queues);
    let option = options::provider_option(own, shared, transport_type, &transport.path);
    out.findings.report(&QUEUE_NOT_CREATED, AsyncActor::path().metadata().name(), message).help(format!(
        "set {option} in the Render options, to render the objects that create it; or create it: {command}"
    ));
}
