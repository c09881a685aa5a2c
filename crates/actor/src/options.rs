//! The section `actor` of the options. It replaces the configuration of the Asya operator.
//!
//! `transports` has the shape of the operator's `ASYA_TRANSPORT_CONFIG` and of `operator.transports` in its Helm
//! values, so that users can paste either.

use std::collections::BTreeMap;

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::SyntaxResult;
use kubefoundry_kubernetes::wire::{Map, SecretKeySelector, Syntax};
use kubefoundry_kubernetes::{image, names};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;

use super::codes::OPERATOR_ONLY_SETTING;
use super::url::Url;

wire_object! {
    /// Options for rendering AsyncActors.
    pub struct ActorOptions {
        /// The transports to which `spec.transport` refers by name, as in the configuration of the Asya operator.
        transports: Map<TransportOptions> = "transports",
        /// The address to which sidecars report progress. Default: `ASYA_GATEWAY_URL` of the runtime container.
        gateway_url: String = "gatewayURL",
        /// The image of the sidecar; `asya-sidecar:latest` by default.
        sidecar_image: String = "sidecarImage" [syntax(Syntax::Image), checked_by(&codes::INVALID_OPTION)],
        /// The text of `asya_runtime.py`. If you set it, the ConfigMap `asya-runtime` is generated. Otherwise the
        /// ConfigMap must be in the input or in the cluster.
        runtime_script: String = "runtimeScript",
        /// The deployment mode of InferenceServices that do not declare one; `Standard` by default.
        kserve_default_mode: KserveMode = "kserveDefaultMode",
        /// The objects that create the queues of actors; none by default.
        queues: ActorQueueOptions = "queues",
    }
}
wire_object! {
    /// The objects that create the queues of actors. Without them, queues must exist before the pods start.
    pub struct ActorQueueOptions {
        /// Whose objects are rendered; `none` by default.
        provider: QueueProvider = "provider" [default("\"none\"")],
        /// rabbitmq-topology: the type of the queues; `quorum` by default. The type of an existing queue cannot change.
        queue_type: RabbitMqQueueType = "type" [default("\"quorum\"")],
        /// rabbitmq-topology: the broker that gets the queues. Required.
        rabbitmq_cluster_reference: RabbitMqClusterReference = "rabbitmqClusterReference",
    }
}
string_enum! {
    /// A controller that creates queues.
    pub enum QueueProvider {
        /// No objects are rendered (default). A warning names each queue and the command that creates it.
        None = "none",
        /// The messaging topology operator of RabbitMQ (rabbitmq.com/v1beta1).
        RabbitMqTopology = "rabbitmq-topology",
        /// The SQS controller of AWS Controllers for Kubernetes (sqs.services.k8s.aws/v1alpha1).
        Ack = "ack",
    }
}
string_enum! {
    /// A type of queue in RabbitMQ.
    pub enum RabbitMqQueueType {
        /// Replicated queues, which count deliveries (default).
        Quorum = "quorum",
        /// Queues on one node, as the Asya operator creates them.
        Classic = "classic",
    }
}
wire_object! {
    /// A broker, as in `rabbitmqClusterReference` of the messaging topology operator: the RabbitmqCluster `name`, or a
    /// Secret with the address and the login.
    pub struct RabbitMqClusterReference {
        /// The RabbitmqCluster.
        name: String = "name" [syntax(Syntax::DnsSubdomain), checked_by(&codes::INVALID_OPTION)],
        /// The namespace of the RabbitmqCluster; that of the actor by default. The cluster must allow topology objects
        /// of the actor's namespace.
        namespace: String = "namespace" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_OPTION)],
        /// A Secret in the actor's namespace with `uri`, `username` and `password`, for a broker that is not a
        /// RabbitmqCluster.
        connection_secret: SecretReference = "connectionSecret",
    }
}
wire_object! {
    /// A Secret by name.
    pub struct SecretReference {
        /// The name.
        name: String = "name" [syntax(Syntax::DnsSubdomain), checked_by(&codes::INVALID_OPTION)],
    }
}
wire_object! {
    /// A transport.
    pub struct TransportOptions {
        /// The type of the transport.
        transport_type: TransportType = "type",
        /// Whether actors may use the transport; `false` by default.
        enabled: bool = "enabled",
        /// Address and settings of the transport.
        config: TransportConfig = "config",
    }
}
string_enum! {
    /// The type of a transport.
    pub enum TransportType {
        /// RabbitMQ.
        RabbitMq = "rabbitmq",
        /// Amazon SQS.
        Sqs = "sqs",
    }
}
wire_object! {
    /// Address and settings of a transport. The valid fields depend on its type.
    pub struct TransportConfig {
        /// rabbitmq: the host.
        host: String = "host",
        /// rabbitmq: the port; 5672 by default, required for scaling.
        port: i32 = "port",
        /// rabbitmq: the user; `guest` by default, required for scaling.
        username: String = "username",
        /// rabbitmq: the password, in a Secret in the actor's namespace. Scaling also requires the key `username` in
        /// the Secret.
        password_secret_ref: SecretKeySelector = "passwordSecretRef",
        /// rabbitmq: the topic exchange through which sidecars send; `asya` by default.
        exchange: String = "exchange",
        /// sqs: the region; required for scaling.
        region: String = "region",
        /// sqs: the role of the actors' service accounts (IRSA).
        actor_role_arn: String = "actorRoleArn",
        /// sqs: the AWS account of the queues; required for scaling.
        account_id: String = "accountId",
        /// sqs: an endpoint that replaces Amazon's.
        endpoint: String = "endpoint",
        /// sqs: how long a received message is hidden from other receivers, in seconds.
        visibility_timeout: i32 = "visibilityTimeout",
        /// sqs: how long a request waits for a message, in seconds.
        wait_time_seconds: i32 = "waitTimeSeconds",
        /// sqs: access keys, instead of a role.
        credentials: SqsCredentials = "credentials",
        /// sqs: tags of the queues that are rendered.
        tags: Map<String> = "tags",
        /// Settings of the queues.
        queues: QueueOptions = "queues",
    }
}
wire_object! {
    /// Access keys for Amazon SQS, in Secrets in the actor's namespace.
    pub struct SqsCredentials {
        /// The id of the access key.
        access_key_id_secret_ref: SecretKeySelector = "accessKeyIdSecretRef",
        /// The secret access key.
        secret_access_key_secret_ref: SecretKeySelector = "secretAccessKeySecretRef",
    }
}
wire_object! {
    /// Settings of the queues.
    pub struct QueueOptions {
        /// Whether the Asya operator creates queues. Sidecars never do, and only get the value as
        /// `ASYA_QUEUE_AUTO_CREATE`. Default: `true` without `queues`, otherwise `false`.
        auto_create: bool = "autoCreate",
        /// Whether to recreate queues. Only the Asya operator uses it.
        force_recreate: bool = "forceRecreate",
        /// The queue for failed messages. It needs `actor.queues.provider`.
        dlq: DeadLetterOptions = "dlq",
    }
}
wire_object! {
    /// The queue for failed messages.
    pub struct DeadLetterOptions {
        /// Whether to create the queue.
        enabled: bool = "enabled",
        /// The number of failures after which a message is moved to the queue; 3 by default. Classic queues of RabbitMQ
        /// count no failures.
        max_retry_count: i32 = "maxRetryCount",
        /// sqs: how long messages are kept, in days; 14 by default.
        retention_days: i32 = "retentionDays",
    }
}
string_enum! {
    /// A deployment mode of KServe.
    pub enum KserveMode {
        /// A Deployment (default); KServe also calls it RawDeployment.
        Standard = "Standard",
        /// A Knative Service; KServe also calls it Serverless.
        Knative = "Knative",
    }
}

/// The resolved options for rendering actors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Transports by name.
    pub transports: BTreeMap<String, Transport>,
    /// The address to which sidecars report progress.
    pub gateway_url: Option<String>,
    /// The image of the sidecar.
    pub sidecar_image: Option<String>,
    /// The text of `asya_runtime.py`.
    pub runtime_script: Option<String>,
    /// The deployment mode of InferenceServices that do not declare one.
    pub kserve_default_mode: Option<KserveMode>,
    /// The objects that create queues.
    pub queues: Queues,
}

/// The objects that create queues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Queues {
    /// None.
    #[default]
    None,
    /// Objects of RabbitMQ's messaging topology operator.
    RabbitMqTopology {
        /// The broker.
        cluster: ClusterReference,
        /// The type of the queues.
        queue_type: RabbitMqQueueType,
    },
    /// Objects of ACK's SQS controller.
    Ack,
}

/// A broker of the messaging topology operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterReference {
    /// A RabbitmqCluster.
    Cluster {
        /// The name.
        name: String,
        /// The namespace, unless it is that of the actor.
        namespace: Option<String>,
    },
    /// The name of a Secret with the address and the login.
    Secret(String),
}

/// The queue for failed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetters {
    /// The number of failures after which a message is moved to the queue.
    pub max_retry_count: i32,
    /// How long messages are kept, in days.
    pub retention_days: i32,
}

/// A transport.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// Whether actors may use it.
    pub enabled: bool,
    /// Type, address and settings of the transport.
    pub kind: TransportKind,
}

/// Type, address and settings of a transport.
#[derive(Debug, Clone, PartialEq)]
pub enum TransportKind {
    /// RabbitMQ.
    RabbitMq(RabbitMq),
    /// Amazon SQS.
    Sqs(Sqs),
}

/// Address and settings of RabbitMQ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RabbitMq {
    /// The host.
    pub host: Option<String>,
    /// The port. The default is 5672.
    pub port: Option<i32>,
    /// The user.
    pub username: Option<String>,
    /// The password.
    pub password: Option<SecretKeySelector>,
    /// The exchange.
    pub exchange: Option<String>,
    /// Whether the Asya operator creates queues.
    pub auto_create: bool,
    /// The queue for failed messages.
    pub dead_letters: Option<DeadLetters>,
}

/// Address and settings of Amazon SQS.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sqs {
    /// The region.
    pub region: Option<String>,
    /// The role of the actors' service accounts.
    pub actor_role_arn: Option<String>,
    /// The AWS account of the queues.
    pub account_id: Option<String>,
    /// An endpoint that replaces Amazon's.
    pub endpoint: Option<String>,
    /// How long a received message is hidden from other receivers, in seconds. Above zero.
    pub visibility_timeout: Option<i32>,
    /// How long a request waits for a message, in seconds. Above zero.
    pub wait_time_seconds: Option<i32>,
    /// The id of an access key.
    pub access_key_id: Option<SecretKeySelector>,
    /// A secret access key.
    pub secret_access_key: Option<SecretKeySelector>,
    /// Tags of the queues.
    pub tags: Vec<(String, String)>,
    /// The queue for failed messages.
    pub dead_letters: Option<DeadLetters>,
}

/// Fields of [`TransportConfig`] that only one type of transport has.
const RABBITMQ_FIELDS: &[&str] = &["host", "port", "username", "passwordSecretRef", "exchange"];
const SQS_FIELDS: &[&str] =
    &["region", "actorRoleArn", "accountId", "endpoint", "visibilityTimeout", "waitTimeSeconds", "credentials", "tags"];

impl kubefoundry_transform::TransformSettings for Settings {
    type Section = ActorOptions;

    const KEY: &'static str = "actor";

    const DOC: &'static str = "Options for rendering AsyncActors.\n";

    fn apply(&mut self, section: ActorOptions, findings: &mut Findings<'_>) {
        let ActorOptions { transports, gateway_url, sidecar_image, runtime_script, kserve_default_mode, queues } =
            section;
        let path = FieldPath::parse("actor");
        if let Some(queues) = queues {
            self.queues = read_queues(queues, &path.key("queues"), findings);
        }
        for (name, transport) in transports.unwrap_or_default().0 {
            let at = path.key("transports").key(name.clone());
            if let Some(transport) = read_transport(transport, &self.queues, &at, findings) {
                self.transports.insert(name, transport);
            }
        }
        if let Some(given) = &sidecar_image {
            expect(&path.key("sidecarImage"), given, image::image_reference, findings);
        }
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        self.gateway_url = given(gateway_url).or(self.gateway_url.take());
        self.sidecar_image = given(sidecar_image).or(self.sidecar_image.take());
        self.runtime_script = given(runtime_script).or(self.runtime_script.take());
        self.kserve_default_mode = kserve_default_mode.or(self.kserve_default_mode);
    }
}

fn read_queues(given: ActorQueueOptions, path: &FieldPath, findings: &mut Findings<'_>) -> Queues {
    let ActorQueueOptions { provider, queue_type, rabbitmq_cluster_reference } = given;
    let provider = provider.unwrap_or(QueueProvider::None);
    let at = path.key("rabbitmqClusterReference");
    let mut report_unused = |used: bool, at: &FieldPath| {
        if used && provider != QueueProvider::RabbitMqTopology {
            let message =
                format!("{at} has no effect: it belongs to provider: rabbitmq-topology, but not to {provider}");
            findings.report(&OPERATOR_ONLY_SETTING, FieldRef::key(at), message).help("remove it");
        }
    };
    report_unused(queue_type.is_some(), &path.key("type"));
    report_unused(rabbitmq_cluster_reference.is_some(), &at);
    match provider {
        QueueProvider::None => Queues::None,
        QueueProvider::Ack => Queues::Ack,
        QueueProvider::RabbitMqTopology => {
            let RabbitMqClusterReference { name, namespace, connection_secret } =
                rabbitmq_cluster_reference.unwrap_or_default();
            let secret = connection_secret.and_then(|secret| secret.name);
            for (field, value, syntax) in [
                ("name", &name, names::dns_1123_subdomain as fn(&str) -> SyntaxResult),
                ("namespace", &namespace, names::dns_1123_label),
                ("connectionSecret.name", &secret, names::dns_1123_subdomain),
            ] {
                if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
                    expect(&at.join(field), value, syntax, findings);
                }
            }
            let given = |text: Option<String>| text.filter(|text| !text.is_empty());
            let cluster = match (given(name), given(secret)) {
                (Some(name), None) => ClusterReference::Cluster { name, namespace: given(namespace) },
                (None, Some(secret)) if namespace.is_none() => ClusterReference::Secret(secret),
                _ => {
                    let message = format!(
                        "{at} has not exactly one of name (with or without namespace) and \
                                           connectionSecret.name, which provider: rabbitmq-topology requires"
                    );
                    findings
                        .report(&codes::INVALID_OPTION, FieldRef::key(&at), message)
                        .help("set name to the RabbitmqCluster, or connectionSecret.name to a Secret with its address");
                    return Queues::None;
                }
            };
            Queues::RabbitMqTopology { cluster, queue_type: queue_type.unwrap_or(RabbitMqQueueType::Quorum) }
        }
    }
}

fn read_transport(
    given: TransportOptions,
    queues: &Queues,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<Transport> {
    let before = findings.error_count();
    let Some(kind) = given.transport_type else {
        // An unknown type was reported by the reader.
        if findings.scope().root.at(&path.key("type")).is_none() {
            let words = "expected rabbitmq or sqs";
            let message = format!("{path} has no type, {words}");
            findings.report(&codes::INVALID_OPTION, path, message);
        }
        return None;
    };
    let at = path.key("config");
    let (own, others, other) = match kind {
        TransportType::RabbitMq => (RABBITMQ_FIELDS, SQS_FIELDS, TransportType::Sqs),
        TransportType::Sqs => (SQS_FIELDS, RABBITMQ_FIELDS, TransportType::RabbitMq),
    };
    let written: Vec<String> = findings.scope().root.at(&at).map_or(Vec::new(), |node| {
        node.entries()
            .iter()
            .map(|entry| entry.key.clone().into_owned())
            .filter(|key| others.contains(&key.as_str()))
            .collect()
    });
    for key in written {
        let place = at.key(key);
        let message = format!("{place} is a field of {other} transports, but this one is {kind}");
        findings
            .report(&codes::INVALID_OPTION, FieldRef::key(&place), message)
            .help(format!("fields of {kind} transports: {}, queues", own.join(", ")));
    }
    let config = given.config.unwrap_or_default();
    report_operator_only_settings(&config, kind, queues, &at, findings);
    let auto_create = config.queues.as_ref().is_none_or(|queues| queues.auto_create.unwrap_or(false));
    let dead_letters = dead_letters(config.queues.as_ref(), &at.key("queues").key("dlq"), findings);
    let kind = match kind {
        TransportType::RabbitMq => {
            TransportKind::RabbitMq(RabbitMq { dead_letters, ..rabbitmq(config, auto_create, &at, findings) })
        }
        TransportType::Sqs => TransportKind::Sqs(Sqs { dead_letters, ..sqs(config, &at, findings) }),
    };
    (findings.error_count() == before).then_some(Transport { enabled: given.enabled.unwrap_or(false), kind })
}

/// Returns the settings of the queue for failed messages, with the defaults of the Asya operator.
fn dead_letters(queues: Option<&QueueOptions>, path: &FieldPath, findings: &mut Findings<'_>) -> Option<DeadLetters> {
    let dlq = queues?.dlq.as_ref()?;
    let mut at_least_one = |field: &'static str, given: Option<i32>, default: i32, max: i32| {
        let number = given.unwrap_or(default);
        if !(1..=max).contains(&number) {
            let at = path.key(field);
            findings.report(&codes::INVALID_OPTION, &at, format!("{at} is {number}, expected 1 to {max}"));
        }
        number
    };
    // The ranges are those of maxReceiveCount and MessageRetentionPeriod in SQS.
    let max_retry_count = at_least_one("maxRetryCount", dlq.max_retry_count, 3, 1000);
    let retention_days = at_least_one("retentionDays", dlq.retention_days, 14, 14);
    (dlq.enabled == Some(true)).then_some(DeadLetters { max_retry_count, retention_days })
}

fn rabbitmq(config: TransportConfig, auto_create: bool, path: &FieldPath, findings: &mut Findings<'_>) -> RabbitMq {
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let port = config.port.filter(|port| *port != 0);
    if let Some(port) = port.filter(|port| !(1..=65535).contains(port)) {
        let at = path.key("port");
        findings.report(&codes::OUT_OF_RANGE, &at, format!("{at} is {port}, expected 1 to 65535"));
    }
    let (host, username) = (text(config.host), text(config.username));
    for (field, value, syntax) in [
        ("host", &host, check_host as fn(&str) -> SyntaxResult),
        ("username", &username, check_no_spaces),
        ("exchange", &config.exchange, check_no_spaces),
    ] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            expect(&path.key(field), value, syntax, findings);
        }
    }
    RabbitMq {
        host,
        port,
        username,
        password: secret(config.password_secret_ref, &path.key("passwordSecretRef"), findings),
        exchange: text(config.exchange),
        auto_create,
        dead_letters: None,
    }
}

fn sqs(config: TransportConfig, path: &FieldPath, findings: &mut Findings<'_>) -> Sqs {
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let fields = [
        ("region", &config.region, check_no_spaces as fn(&str) -> SyntaxResult),
        ("actorRoleArn", &config.actor_role_arn, check_no_spaces),
        ("accountId", &config.account_id, check_account),
        ("endpoint", &config.endpoint, check_endpoint),
    ];
    for (field, value, syntax) in fields {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            expect(&path.key(field), value, syntax, findings);
        }
    }
    for (field, value) in
        [("visibilityTimeout", config.visibility_timeout), ("waitTimeSeconds", config.wait_time_seconds)]
    {
        if let Some(value) = value.filter(|value| *value < 0) {
            let at = path.key(field);
            findings.report(&codes::OUT_OF_RANGE, &at, format!("{at} is {value}, expected at least 0"));
        }
    }
    let at = path.key("credentials");
    let credentials = config.credentials.unwrap_or_default();
    let half = credentials.access_key_id_secret_ref.is_some() != credentials.secret_access_key_secret_ref.is_some();
    if half && findings.scope().root.at(&at).is_some_and(|node| node.entries().len() < 2) {
        let message = format!("{at} has one key only, expected accessKeyIdSecretRef and secretAccessKeySecretRef");
        findings.report(&codes::INVALID_OPTION, &at, message);
    }
    Sqs {
        region: text(config.region),
        actor_role_arn: text(config.actor_role_arn),
        account_id: text(config.account_id),
        endpoint: text(config.endpoint).map(|endpoint| endpoint.trim_end_matches('/').to_owned()),
        visibility_timeout: config.visibility_timeout.filter(|value| *value > 0),
        wait_time_seconds: config.wait_time_seconds.filter(|value| *value > 0),
        access_key_id: secret(credentials.access_key_id_secret_ref, &at.key("accessKeyIdSecretRef"), findings),
        secret_access_key: secret(
            credentials.secret_access_key_secret_ref,
            &at.key("secretAccessKeySecretRef"),
            findings,
        ),
        tags: config.tags.unwrap_or_default().0.into_iter().collect(),
        dead_letters: None,
    }
}

/// Checks a reference to a key of a Secret.
fn secret(
    given: Option<SecretKeySelector>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<SecretKeySelector> {
    let given = given?;
    let mut part = |field: &'static str, value: Option<&str>, syntax: fn(&str) -> SyntaxResult| {
        let at = path.key(field);
        match value.filter(|value| !value.is_empty()) {
            Some(value) => expect(&at, value, syntax, findings),
            None if findings.scope().root.at(&at).is_none_or(|node| node.as_str() == Some("")) => {
                findings.report(&codes::REQUIRED_FIELD, &at, format!("{at} is required"));
            }
            None => {}
        }
    };
    part("name", given.name.as_deref(), names::dns_1123_subdomain);
    part("key", given.key.as_deref(), names::config_key);
    Some(given)
}

/// Reports settings of queues that only the Asya operator uses, or that need a provider of queues.
fn report_operator_only_settings(
    config: &TransportConfig,
    kind: TransportType,
    provider: &Queues,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) {
    let queues = config.queues.as_ref();
    let dlq = queues.and_then(|queues| queues.dlq.as_ref()).filter(|dlq| dlq.enabled == Some(true));
    let (creates, provider_name) = match kind {
        TransportType::RabbitMq => (matches!(provider, Queues::RabbitMqTopology { .. }), "rabbitmq-topology"),
        TransportType::Sqs => (*provider == Queues::Ack, "ack"),
    };
    let counts_no_deliveries =
        matches!(provider, Queues::RabbitMqTopology { queue_type: RabbitMqQueueType::Classic, .. });
    let set_provider = || format!("remove it, or set actor.queues.provider: {provider_name}");
    let used = [
        (
            path.join("queues.forceRecreate"),
            queues.is_some_and(|queues| queues.force_recreate == Some(true)),
            "kubefoundry recreates no queues, because messages would be lost",
            "remove it".to_owned(),
        ),
        (path.join("queues.dlq"), dlq.is_some() && !creates, "kubefoundry creates no queues", set_provider()),
        (
            path.key("tags"),
            config.tags.as_ref().is_some_and(|tags| !tags.0.is_empty()) && !creates,
            "kubefoundry creates no queues",
            set_provider(),
        ),
        (
            path.join("queues.dlq.maxRetryCount"),
            creates && counts_no_deliveries && dlq.is_some_and(|dlq| dlq.max_retry_count.is_some()),
            "classic queues count no deliveries",
            "remove it, or set actor.queues.type: quorum".to_owned(),
        ),
    ];
    for (at, _, why, help) in used.into_iter().filter(|(_, used, ..)| *used) {
        let message = format!("{at} has no effect: {why}");
        findings.report(&OPERATOR_ONLY_SETTING, FieldRef::key(&at), message).help(help);
    }
    if kind == TransportType::Sqs && creates && dlq.is_some() {
        for (field, given) in [("region", &config.region), ("accountId", &config.account_id)] {
            if given.as_deref().unwrap_or_default().is_empty() {
                let at = path.key(field);
                let message =
                    format!("{at} is required with queues.dlq: the queue for failed messages is named by its ARN");
                findings.report(&codes::REQUIRED_FIELD, &at, message);
            }
        }
    }
}

fn expect(path: &FieldPath, value: &str, syntax: fn(&str) -> SyntaxResult, findings: &mut Findings<'_>) {
    if let Err(expected) = syntax(value) {
        let value = kubefoundry_yaml::text::shorten(value);
        findings.report(&codes::INVALID_OPTION, path, format!("{path} is {value:?}, expected {expected}"));
    }
}

/// Checks a part of an address, which must not contain spaces.
fn check_no_spaces(text: &str) -> SyntaxResult {
    let fits = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if fits { Ok(()) } else { Err("one word without spaces") }
}

/// Checks the host of a broker. The port is a field of its own, and the protocol is always AMQP without TLS.
fn check_host(text: &str) -> SyntaxResult {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let fits = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !text.contains([':', '/', '@', '[', ']']) && check_no_spaces(text).is_ok(),
    };
    if fits { Ok(()) } else { Err("a host name, without protocol and port; or an IPv6 address in brackets") }
}

fn check_account(text: &str) -> SyntaxResult {
    let fits = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { Ok(()) } else { Err("the 12 digits of an AWS account") }
}

/// Checks an endpoint of SQS. KEDA derives the name of the queue from the path, which must not begin with another part.
fn check_endpoint(text: &str) -> SyntaxResult {
    let text = text.trim_end_matches('/');
    let authority = text.split_once("://").map_or("", |(_, authority)| authority);
    let fits = Url::parse(text).is_some() && !authority.contains(['/', '?', '#']);
    if fits { Ok(()) } else { Err("an address without a path, such as http://localstack:4566") }
}
