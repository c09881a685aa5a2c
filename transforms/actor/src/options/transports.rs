//! Reads the transports: their addresses, logins and settings.

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::SecretKeySelector;
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;

use super::queues::{dead_letters, read_queues, report_foreign_provider, report_operator_only_settings};
use super::syntax::{check_account, check_endpoint, check_host, check_no_spaces, expect};
use super::wire::{TransportConfig, TransportOptions, TransportType};
use super::{Queues, RabbitMq, Sqs, Transport, TransportKind};

/// Fields of [`TransportConfig`] that only one type of transport has.
const RABBITMQ_FIELDS: &[&str] = &["host", "port", "username", "passwordSecretRef", "exchange"];
const SQS_FIELDS: &[&str] =
    &["region", "actorRoleArn", "accountId", "endpoint", "visibilityTimeout", "waitTimeSeconds", "credentials", "tags"];

pub(super) fn read_transport(
    given: TransportOptions,
    queues: &Queues,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<Transport> {
    let before = findings.error_count();
    let own_queues = given.queues.map(|own| read_queues(own, &path.key("queues"), findings));
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
    if let Some(own) = &own_queues {
        report_foreign_provider(own, kind, path, findings);
    }
    let config = given.config.unwrap_or_default();
    report_operator_only_settings(&config, kind, own_queues.as_ref(), queues, path, findings);
    let auto_create = config.queues.as_ref().is_none_or(|queues| queues.auto_create.unwrap_or(false));
    let dead_letters = dead_letters(config.queues.as_ref(), &at.key("queues").key("dlq"), findings);
    let kind = match kind {
        TransportType::RabbitMq => {
            TransportKind::RabbitMq(RabbitMq { dead_letters, ..rabbitmq(config, auto_create, &at, findings) })
        }
        TransportType::Sqs => TransportKind::Sqs(Sqs { dead_letters, ..sqs(config, &at, findings) }),
    };
    (findings.error_count() == before).then_some(Transport {
        path: path.clone(),
        enabled: given.enabled.unwrap_or(false),
        queues: own_queues,
        kind,
    })
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
