//! Environment variables that describe the transport to sidecars (`BuildEnvVars` of deliveryhero/asya v0.1.1).

use super::options::{RabbitMq, Sqs, Transport, TransportKind};
use kubefoundry_kubernetes::pod::env_value;
use kubefoundry_kubernetes::wire::{EnvVar, EnvVarSource, SecretKeySelector};

/// Default port of RabbitMQ.
const DEFAULT_PORT: i32 = 5672;
/// Default user of RabbitMQ.
const DEFAULT_USERNAME: &str = "guest";

impl Transport {
    /// Returns the variables of the sidecar, in the order of the upstream operator.
    pub(super) fn environment(&self) -> Vec<EnvVar> {
        match &self.kind {
            TransportKind::RabbitMq(it) => rabbitmq(it),
            TransportKind::Sqs(it) => sqs(it),
        }
    }

    /// Returns the AWS role that pods assume through their service account, if any.
    pub(super) fn role(&self) -> Option<&str> {
        match &self.kind {
            TransportKind::RabbitMq(_) => None,
            TransportKind::Sqs(it) => it.actor_role_arn.as_deref(),
        }
    }
}

fn rabbitmq(it: &RabbitMq) -> Vec<EnvVar> {
    let mut env = vec![
        env_value("ASYA_TRANSPORT", "rabbitmq"),
        env_value("ASYA_RABBITMQ_HOST", it.host.clone().unwrap_or_default()),
        env_value("ASYA_RABBITMQ_PORT", it.port.unwrap_or(DEFAULT_PORT).to_string()),
        env_value("ASYA_RABBITMQ_USERNAME", it.username.as_deref().unwrap_or(DEFAULT_USERNAME)),
    ];
    env.extend(it.password.clone().map(|secret| env_secret("ASYA_RABBITMQ_PASSWORD", secret)));
    env.extend(it.exchange.as_deref().map(|exchange| env_value("ASYA_RABBITMQ_EXCHANGE", exchange)));
    env.push(env_value("ASYA_QUEUE_AUTO_CREATE", it.auto_create.to_string()));
    env
}

fn sqs(it: &Sqs) -> Vec<EnvVar> {
    let mut env = vec![env_value("ASYA_TRANSPORT", "sqs")];
    let texts = [("ASYA_AWS_REGION", &it.region), ("ASYA_SQS_ENDPOINT", &it.endpoint)];
    env.extend(texts.into_iter().filter_map(|(name, text)| Some(env_value(name, text.as_deref()?))));
    let numbers =
        [("ASYA_SQS_VISIBILITY_TIMEOUT", it.visibility_timeout), ("ASYA_SQS_WAIT_TIME_SECONDS", it.wait_time_seconds)];
    env.extend(numbers.into_iter().filter_map(|(name, number)| Some(env_value(name, number?.to_string()))));
    let secrets = [("AWS_ACCESS_KEY_ID", &it.access_key_id), ("AWS_SECRET_ACCESS_KEY", &it.secret_access_key)];
    env.extend(secrets.into_iter().filter_map(|(name, secret)| Some(env_secret(name, secret.clone()?))));
    env
}

fn env_secret(name: &str, secret: SecretKeySelector) -> EnvVar {
    let source = EnvVarSource { secret_key_ref: Some(secret), ..EnvVarSource::default() };
    EnvVar { name: Some(name.to_owned()), value: None, value_from: Some(source) }
}
