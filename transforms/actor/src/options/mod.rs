//! The section `actor` of the options. It replaces the configuration of the Asya operator.
//!
//! `transports` has the shape of the operator's `ASYA_TRANSPORT_CONFIG` and of `operator.transports` in its Helm
//! values, so that users can paste either.

mod queues;
mod syntax;
mod transports;
mod wire;

use std::collections::BTreeMap;

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::image;
use kubefoundry_kubernetes::wire::SecretKeySelector;
use kubefoundry_transform::refuse_found;
use kubefoundry_yaml::field_path::FieldPath;

use crate::url::is_in_cluster;

pub(crate) use self::queues::provider_option;
use self::queues::read_queues;
use self::syntax::expect;
use self::transports::read_transport;
pub use self::wire::{
    ActorOptions, ActorQueueOptions, DeadLetterOptions, KserveMode, QueueOptions, QueueProvider,
    RabbitMqClusterReference, RabbitMqQueueType, SecretReference, SqsCredentials, TransportConfig, TransportOptions,
    TransportType,
};

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
    /// The objects that create the queues of transports without their own.
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
    /// The field of the options that sets it.
    pub path: FieldPath,
    /// Whether actors may use it.
    pub enabled: bool,
    /// The objects that create its queues, if it has its own.
    pub queues: Option<Queues>,
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

impl Settings {
    /// Returns the objects that create the queues of a transport.
    pub(crate) fn queues_of<'s>(&'s self, transport: &'s Transport) -> &'s Queues {
        transport.queues.as_ref().unwrap_or(&self.queues)
    }
}

/// Reports an address outside of the cluster in a file beside the input: actors would send it messages and passwords.
fn refuse_outside_address(address: Option<&String>, path: &FieldPath, findings: &mut Findings<'_>) {
    if address.is_some_and(|address| !address.is_empty() && !is_in_cluster(address)) {
        refuse_found(path, "is an address outside of the cluster", findings);
    }
}

impl kubefoundry_transform::TransformSettings for Settings {
    type Section = ActorOptions;

    const KEY: &'static str = "actor";

    const DOC: &'static str = "Options for rendering AsyncActors.\n";

    fn apply_found(&mut self, section: ActorOptions, findings: &mut Findings<'_>) {
        let path = FieldPath::parse("actor");
        refuse_outside_address(section.gateway_url.as_ref(), &path.key("gatewayURL"), findings);
        for (name, transport) in section.transports.iter().flat_map(|transports| &transports.0) {
            let path = path.key("transports").key(name.clone()).key("config");
            if let Some(config) = &transport.config {
                refuse_outside_address(config.host.as_ref(), &path.key("host"), findings);
                refuse_outside_address(config.endpoint.as_ref(), &path.key("endpoint"), findings);
            }
        }
        self.apply(section, findings);
    }

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
