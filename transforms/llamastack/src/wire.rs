//! The wire type of `LlamaStackDistribution` in `llamastack.io/v1alpha1`: the fields of the CRD that the Kubernetes
//! operator installs, and `spec.server.externalProviders`, which its specification adds.
//!
//! Source: `config/crd/bases/llamastack.io_llamastackdistributions.yaml` of
//! `github.com/llamastack/llama-stack-k8s-operator`, and its `specs/001-deploy-time-providers-l1/spec.md`.

use serde::Serialize;

use kubefoundry_kubernetes::wire::{EnvVar, IntegerOrString, Map, ObjectMeta, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_yaml::Node;

use crate::codes;

/// The API group.
pub const GROUP: &str = "llamastack.io";

/// `apiVersion` of [`LlamaStackDistribution`].
pub const API_VERSION: &str = "llamastack.io/v1alpha1";

/// `kind` of [`LlamaStackDistribution`].
pub const KIND: &str = "LlamaStackDistribution";

wire_object! {
    /// A llama-stack server: its distribution, its pods and its external providers.
    pub struct LlamaStackDistribution {
        /// `llamastack.io/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `LlamaStackDistribution`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels and annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The desired state.
        spec: LlamaStackDistributionSpec = "spec" [required()],
        /// The observed state. The operator writes it; it is not an input.
        status: Node<'static> = "status",
    }
}
wire_object! {
    /// The desired state of a llama-stack server.
    pub struct LlamaStackDistributionSpec {
        /// The number of servers.
        replicas: i32 = "replicas" [minimum(0), default("1")],
        /// The server.
        server: Server = "server" [required()],
        /// Network access to the server.
        network: Network = "network",
    }
}
wire_object! {
    /// A llama-stack server.
    pub struct Server {
        /// The distribution to run: a known one by name, or any image.
        distribution: Distribution = "distribution" [required(), checked_by(&codes::UNKNOWN_DISTRIBUTION)],
        /// The server's container.
        container_spec: ContainerSpec = "containerSpec",
        /// The number of uvicorn worker processes.
        workers: i32 = "workers" [minimum(1)],
        /// Autoscaling of servers by load.
        autoscaling: Autoscaling = "autoscaling",
        /// Limits on how many servers may be unavailable.
        pod_disruption_budget: PodDisruptionBudget = "podDisruptionBudget",
        /// Settings of the pod.
        pod_overrides: PodOverrides = "podOverrides",
        /// A persistent volume for models and data.
        storage: Storage = "storage",
        /// CA certificates that the server trusts.
        tls_config: TlsConfig = "tlsConfig",
        /// Constraints on the distribution of servers over zones and nodes (core/v1 TopologySpreadConstraint).
        topology_spread_constraints: Vec<Node<'static>> = "topologySpreadConstraints",
        /// Your configuration, which replaces the distribution's own.
        user_config: UserConfig = "userConfig",
        /// Providers to install when the pod starts, by API.
        external_providers: ExternalProviders = "externalProviders",
    }
}
wire_object! {
    /// The distribution to run. Set exactly one field.
    pub struct Distribution {
        /// The name of a known distribution, such as `starter`.
        name: String = "name",
        /// A container image.
        image: String = "image" [syntax(Syntax::Image)],
    }
}
wire_object! {
    /// The server's container.
    pub struct ContainerSpec {
        /// The name of the container.
        name: String = "name" [syntax(Syntax::DnsLabel), default("\"llama-stack\"")],
        /// The port on which the server listens.
        port: i32 = "port" [
            minimum(1), checked_by(&codes::OUT_OF_RANGE), maximum(65535), checked_by(&codes::OUT_OF_RANGE)
        ],
        /// Resources of the container.
        resources: Resources = "resources",
        /// Environment variables.
        env: Vec<EnvVar> = "env" [list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
        /// The command, which replaces that of the image.
        command: Vec<String> = "command",
        /// Arguments of the command.
        args: Vec<String> = "args",
    }
}
wire_object! {
    /// Resources of a container (core/v1 ResourceRequirements).
    pub struct Resources {
        /// Device claims of the pod that the container uses.
        claims: Vec<ResourceClaim> = "claims" [list_key("name")],
        /// Upper bounds by resource.
        limits: Map<IntegerOrString> = "limits",
        /// Reserved amounts by resource.
        requests: Map<IntegerOrString> = "requests",
    }
}
wire_object! {
    /// A device claim (core/v1 ResourceClaim).
    pub struct ResourceClaim {
        /// The name of an entry in the pod's `resourceClaims`.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// One request of the claim. Omit it to use the whole claim.
        request: String = "request",
    }
}
wire_object! {
    /// Autoscaling of servers by load.
    pub struct Autoscaling {
        /// The minimum number of servers.
        min_replicas: i32 = "minReplicas" [minimum(1)],
        /// The maximum number of servers.
        max_replicas: i32 = "maxReplicas" [required(), minimum(1)],
        /// The target CPU utilization, in percent of the requested CPU.
        target_cpu_utilization_percentage: i32 = "targetCPUUtilizationPercentage" [minimum(1)],
        /// The target memory utilization, in percent of the requested memory.
        target_memory_utilization_percentage: i32 = "targetMemoryUtilizationPercentage" [minimum(1)],
    }
}
wire_object! {
    /// Limits on how many servers may be unavailable. Set one field, to a number or a percentage.
    pub struct PodDisruptionBudget {
        /// How many servers must be available.
        min_available: Node<'static> = "minAvailable" [shape(kubefoundry_kubernetes::wire::Shape::IntegerOrString)],
        /// How many servers may be unavailable.
        max_unavailable: Node<'static> = "maxUnavailable" [shape(kubefoundry_kubernetes::wire::Shape::IntegerOrString)],
    }
}
wire_object! {
    /// Settings of the server's pod.
    pub struct PodOverrides {
        /// The name of an existing ServiceAccount, which replaces the generated one.
        service_account_name: String = "serviceAccountName" [syntax(Syntax::DnsSubdomain)],
        /// The grace period for stopping the pod, in seconds.
        termination_grace_period_seconds: i64 = "terminationGracePeriodSeconds" [minimum(0)],
        /// Additional volumes (core/v1 Volume).
        volumes: Vec<Node<'static>> = "volumes",
        /// Mounts of these volumes in the server's container.
        volume_mounts: Vec<VolumeMount> = "volumeMounts",
    }
}
wire_object! {
    /// A mount of a volume in a container (core/v1 VolumeMount).
    pub struct VolumeMount {
        /// The name of the volume.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// The path in the container.
        mount_path: String = "mountPath" [required()],
        /// A path in the volume, to mount only a part of it.
        sub_path: String = "subPath",
        /// Like `subPath`, with `$(NAME)` expanded from environment variables.
        sub_path_expr: String = "subPathExpr",
        /// Whether the mount is read-only.
        read_only: bool = "readOnly",
        /// Whether mounts below it are read-only too.
        recursive_read_only: String = "recursiveReadOnly" [allowed_values(&["Disabled", "IfPossible", "Enabled"])],
        /// How mounts are propagated between the node and the container.
        mount_propagation: String = "mountPropagation" [allowed_values(&["None", "HostToContainer", "Bidirectional"])],
    }
}
wire_object! {
    /// A persistent volume for models and data.
    pub struct Storage {
        /// The size of the volume.
        size: IntegerOrString = "size" [syntax(Syntax::Quantity), default("\"10Gi\"")],
        /// The path at which the volume is mounted.
        mount_path: String = "mountPath" [default("\"/.llama\"")],
    }
}
wire_object! {
    /// TLS settings for connections that the server opens.
    pub struct TlsConfig {
        /// CA certificates that the server trusts.
        ca_bundle: CaBundle = "caBundle",
    }
}
wire_object! {
    /// CA certificates in a ConfigMap.
    pub struct CaBundle {
        /// The name of the ConfigMap.
        config_map_name: String = "configMapName" [required(), syntax(Syntax::DnsSubdomain)],
        /// The namespace of the ConfigMap. Default: the distribution's.
        config_map_namespace: String = "configMapNamespace" [syntax(Syntax::DnsLabel)],
        /// The keys with certificates. Default: `ca-bundle.crt`.
        config_map_keys: Vec<String> = "configMapKeys" [max_items(50)],
    }
}
wire_object! {
    /// A ConfigMap with your `run.yaml`.
    pub struct UserConfig {
        /// The name of the ConfigMap.
        config_map_name: String = "configMapName" [required(), syntax(Syntax::DnsSubdomain)],
        /// The namespace of the ConfigMap. It must be the distribution's.
        config_map_namespace: String = "configMapNamespace" [
            syntax(Syntax::DnsLabel), checked_by(&codes::UNUSABLE_USER_CONFIG)
        ],
    }
}
wire_object! {
    /// Network access to the server.
    pub struct Network {
        /// Whether to create an Ingress.
        expose_route: bool = "exposeRoute" [default("false")],
        /// Namespaces that may reach the server, in addition to its own and the operator's.
        allowed_from: AllowedFrom = "allowedFrom",
    }
}
wire_object! {
    /// Namespaces that may reach the server.
    pub struct AllowedFrom {
        /// Names of namespaces; `*` is every namespace.
        namespaces: Vec<String> = "namespaces",
        /// Keys of labels. A namespace with one of them may reach the server, whatever the label's value.
        labels: Vec<String> = "labels",
    }
}
wire_object! {
    /// Providers to install when the pod starts, by the API that they serve.
    pub struct ExternalProviders {
        /// Providers of the inference API.
        inference: Vec<ExternalProvider> = "inference" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the safety API.
        safety: Vec<ExternalProvider> = "safety" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the agents API.
        agents: Vec<ExternalProvider> = "agents" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the vector_io API.
        vector_io: Vec<ExternalProvider> = "vectorIo" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the datasetio API.
        dataset_io: Vec<ExternalProvider> = "datasetIo" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the scoring API.
        scoring: Vec<ExternalProvider> = "scoring" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the eval API.
        eval: Vec<ExternalProvider> = "eval" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the tool_runtime API.
        tool_runtime: Vec<ExternalProvider> = "toolRuntime" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
        /// Providers of the post_training API.
        post_training: Vec<ExternalProvider> = "postTraining" [max_items(64), list_key("providerId"), checked_by(&codes::DUPLICATE_PROVIDER_ID)],
    }
}
wire_object! {
    /// A provider in its own container image. The image declares the type of the provider.
    pub struct ExternalProvider {
        /// The provider's id in the server. It must be unique among external providers.
        provider_id: String = "providerId" [required(), syntax(Syntax::DnsLabel), max_length(45), checked_by(&codes::NAME_TOO_LONG)],
        /// The image that contains its packages under `/lls-provider`.
        image: String = "image" [required(), syntax(Syntax::Image)],
        /// When to pull the image.
        image_pull_policy: ImagePullPolicy = "imagePullPolicy" [default("\"IfNotPresent\"")],
        /// Settings for the provider. They are not interpreted.
        config: Node<'static> = "config",
    }
}
string_enum! {
    /// When to pull an image.
    pub enum ImagePullPolicy {
        /// Pull every time a container starts.
        Always = "Always",
        /// Never pull. The node must have the image.
        Never = "Never",
        /// Pull if the node does not have the image.
        IfNotPresent = "IfNotPresent",
    }
}
string_enum! {
    /// An API of llama-stack that external providers serve, with its name in `run.yaml`. Providers are installed and
    /// listed in this order.
    pub enum Api {
        /// Inference.
        Inference = "inference",
        /// Safety.
        Safety = "safety",
        /// Agents.
        Agents = "agents",
        /// Vector stores.
        VectorIo = "vector_io",
        /// Data sets.
        DatasetIo = "datasetio",
        /// Scoring.
        Scoring = "scoring",
        /// Evaluation.
        Eval = "eval",
        /// Tools.
        ToolRuntime = "tool_runtime",
        /// Post-training.
        PostTraining = "post_training",
    }
}

impl Api {
    /// All APIs, in order of installation.
    ///
    /// ```
    /// use kubefoundry_llamastack::wire::{Api, ExternalProviders};
    /// let sections: Vec<&str> = Api::ALL.iter().map(|api| api.section()).collect();
    /// assert_eq!(sections, ExternalProviders::FIELDS);
    /// ```
    pub const ALL: [Self; 9] = [
        Self::Inference,
        Self::Safety,
        Self::Agents,
        Self::VectorIo,
        Self::DatasetIo,
        Self::Scoring,
        Self::Eval,
        Self::ToolRuntime,
        Self::PostTraining,
    ];

    /// Returns the key of the API's section in `spec.server.externalProviders`.
    ///
    /// ```
    /// use kubefoundry_llamastack::wire::Api;
    /// assert_eq!((Api::VectorIo.section(), Api::VectorIo.as_str()), ("vectorIo", "vector_io"));
    /// assert_eq!((Api::DatasetIo.section(), Api::DatasetIo.as_str()), ("datasetIo", "datasetio"));
    /// ```
    pub const fn section(self) -> &'static str {
        match self {
            Self::Inference => "inference",
            Self::Safety => "safety",
            Self::Agents => "agents",
            Self::VectorIo => "vectorIo",
            Self::DatasetIo => "datasetIo",
            Self::Scoring => "scoring",
            Self::Eval => "eval",
            Self::ToolRuntime => "toolRuntime",
            Self::PostTraining => "postTraining",
        }
    }

    /// Returns the API with this name in `run.yaml` and provider packages.
    ///
    /// ```
    /// use kubefoundry_llamastack::wire::Api;
    /// assert_eq!(Api::from_name("tool_runtime"), Some(Api::ToolRuntime));
    /// assert_eq!(Api::from_name("toolRuntime"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }
}

impl ExternalProviders {
    /// Returns the providers of one API, in the order of the document.
    pub fn of_api(&self, api: Api) -> &[ExternalProvider] {
        let section = match api {
            Api::Inference => &self.inference,
            Api::Safety => &self.safety,
            Api::Agents => &self.agents,
            Api::VectorIo => &self.vector_io,
            Api::DatasetIo => &self.dataset_io,
            Api::Scoring => &self.scoring,
            Api::Eval => &self.eval,
            Api::ToolRuntime => &self.tool_runtime,
            Api::PostTraining => &self.post_training,
        };
        section.as_deref().unwrap_or_default()
    }
}

impl Serialize for VolumeMount {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        let mut text = |key: &str, value: &Option<String>| match value {
            Some(value) => map.serialize_entry(key, value),
            None => Ok(()),
        };
        text("name", &self.name)?;
        text("mountPath", &self.mount_path)?;
        text("subPath", &self.sub_path)?;
        text("subPathExpr", &self.sub_path_expr)?;
        text("recursiveReadOnly", &self.recursive_read_only)?;
        text("mountPropagation", &self.mount_propagation)?;
        if let Some(read_only) = self.read_only {
            map.serialize_entry("readOnly", &read_only)?;
        }
        map.end()
    }
}
