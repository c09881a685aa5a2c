//! Reads the options about queues: who creates them, and where failed messages go.

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;

use super::syntax::expect;
use super::wire::{
    ActorQueueOptions, QueueOptions, QueueProvider, RabbitMqClusterReference, RabbitMqQueueType, TransportConfig,
    TransportType,
};
use super::{ClusterReference, DeadLetters, Queues};
use crate::codes::OPERATOR_ONLY_SETTING;

pub(super) fn read_queues(given: ActorQueueOptions, path: &FieldPath, findings: &mut Findings<'_>) -> Queues {
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

/// Returns the settings of the queue for failed messages, with the defaults of the Asya operator.
pub(super) fn dead_letters(
    queues: Option<&QueueOptions>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<DeadLetters> {
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

/// Returns the provider that creates the queues of a type of transport.
pub(crate) fn provider_for(kind: TransportType) -> QueueProvider {
    match kind {
        TransportType::RabbitMq => QueueProvider::RabbitMqTopology,
        TransportType::Sqs => QueueProvider::Ack,
    }
}

/// Returns the option to set so that objects create the queues of a transport: the one for all transports, unless that
/// one or the transport names another provider.
pub(crate) fn provider_option(
    own: Option<&Queues>,
    shared: &Queues,
    kind: TransportType,
    transport: &FieldPath,
) -> String {
    let is_free = own.is_none() && *shared == Queues::None;
    let place = if is_free { FieldPath::parse("actor") } else { transport.clone() };
    format!("{}: {}", place.join("queues.provider"), provider_for(kind))
}

/// Reports a provider in a transport of another type.
pub(super) fn report_foreign_provider(
    own: &Queues,
    kind: TransportType,
    transport: &FieldPath,
    findings: &mut Findings<'_>,
) {
    let provider = match own {
        Queues::None => return,
        Queues::RabbitMqTopology { .. } => QueueProvider::RabbitMqTopology,
        Queues::Ack => QueueProvider::Ack,
    };
    if provider != provider_for(kind) {
        let at = transport.join("queues.provider");
        let message = format!("{at} is {provider}, which creates no queues of {kind}");
        let help = match kind {
            TransportType::RabbitMq => "change it to rabbitmq-topology, and set rabbitmqClusterReference",
            TransportType::Sqs => "change it to ack",
        };
        findings.report(&codes::INVALID_OPTION, &at, message).help(help);
    }
}

/// Reports settings of queues that only the Asya operator uses, or that need a provider of queues.
pub(super) fn report_operator_only_settings(
    config: &TransportConfig,
    kind: TransportType,
    own: Option<&Queues>,
    shared: &Queues,
    transport: &FieldPath,
    findings: &mut Findings<'_>,
) {
    let queues = config.queues.as_ref();
    let dlq = queues.and_then(|queues| queues.dlq.as_ref()).filter(|dlq| dlq.enabled == Some(true));
    let path = &transport.key("config");
    let provider = own.unwrap_or(shared);
    let creates = match kind {
        TransportType::RabbitMq => matches!(provider, Queues::RabbitMqTopology { .. }),
        TransportType::Sqs => *provider == Queues::Ack,
    };
    let counts_no_deliveries =
        matches!(provider, Queues::RabbitMqTopology { queue_type: RabbitMqQueueType::Classic, .. });
    let queues_place = own.map_or_else(|| FieldPath::parse("actor"), |_| transport.clone());
    let set_provider = || format!("remove it, or set {}", provider_option(own, shared, kind, transport));
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
            format!("remove it, or set {}: quorum", queues_place.join("queues.type")),
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
