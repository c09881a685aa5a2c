//! The section as it is written.

use kubefoundry_kubernetes::wire::{Map, SecretKeySelector, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_transform::codes;

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
        /// The objects that create the queues of actors, for every transport that sets no `queues` of its own; none by
        /// default.
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
        /// The objects that create the queues of this transport, instead of those of `actor.queues`.
        queues: ActorQueueOptions = "queues",
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
        /// The queue for failed messages. It needs a provider of queues.
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
