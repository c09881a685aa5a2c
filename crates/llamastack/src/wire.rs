//! `LlamaStackDistribution` of `llamastack.io/v1alpha1` as it is written: the fields of the CRD that the operator for
//! Kubernetes installs, and `spec.server.externalProviders`, which its specification adds.
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

/// Its kind.
pub const KIND: &str = "LlamaStackDistribution";

wire_object! {
    /// A llama-stack server: which distribution, how it is run, and what it is extended with.
    pub struct LlamaStackDistribution {
        /// `llamastack.io/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `LlamaStackDistribution`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels, annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// What is wanted.
        spec: LlamaStackDistributionSpec = "spec" [required()],
        /// What is. Written by the operator, and not read here.
        status: Node<'static> = "status",
    }
}
wire_object! {
    /// What is wanted of a llama-stack server.
    pub struct LlamaStackDistributionSpec {
        /// How many servers.
        replicas: i32 = "replicas" [minimum(0), default("1")],
        /// The server.
        server: Server = "server" [required()],
        /// Who may reach it.
        network: Network = "network",
    }
}
wire_object! {
    /// A llama-stack server.
    pub struct Server {
        /// What runs: a known distribution by name, or any image.
        distribution: Distribution = "distribution" [required(), checked_by(&codes::UNKNOWN_DISTRIBUTION)],
        /// The server's container.
        container_spec: ContainerSpec = "containerSpec",
        /// How many uvicorn worker processes run.
        workers: i32 = "workers" [minimum(1)],
        /// How many servers run, by their load.
        autoscaling: Autoscaling = "autoscaling",
        /// How many servers may be gone at a time.
        pod_disruption_budget: PodDisruptionBudget = "podDisruptionBudget",
        /// The pod around the container.
        pod_overrides: PodOverrides = "podOverrides",
        /// A volume that stays when the pod goes.
        storage: Storage = "storage",
        /// Certificates that the server trusts.
        tls_config: TlsConfig = "tlsConfig",
        /// How servers spread over zones and nodes (core/v1 TopologySpreadConstraint).
        topology_spread_constraints: Vec<Node<'static>> = "topologySpreadConstraints",
        /// A configuration of the user's instead of the distribution's own.
        user_config: UserConfig = "userConfig",
        /// Providers that are installed when the pod starts, by API.
        external_providers: ExternalProviders = "externalProviders",
    }
}
wire_object! {
    /// What runs: exactly one of the two.
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
        /// Its name.
        name: String = "name" [syntax(Syntax::DnsLabel), default("\"llama-stack\"")],
        /// The port that the server listens on.
        port: i32 = "port" [
            minimum(1), checked_by(&codes::OUT_OF_RANGE), maximum(65535), checked_by(&codes::OUT_OF_RANGE)
        ],
        /// What it needs.
        resources: Resources = "resources",
        /// Environment variables.
        env: Vec<EnvVar> = "env" [list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
        /// The program, instead of the image's.
        command: Vec<String> = "command",
        /// Its arguments.
        args: Vec<String> = "args",
    }
}
wire_object! {
    /// What a container needs (core/v1 ResourceRequirements).
    pub struct Resources {
        /// Claims of devices.
        claims: Vec<ResourceClaim> = "claims" [list_key("name")],
        /// At most this.
        limits: Map<IntegerOrString> = "limits",
        /// At least this.
        requests: Map<IntegerOrString> = "requests",
    }
}
wire_object! {
    /// A claim of a device (core/v1 ResourceClaim).
    pub struct ResourceClaim {
        /// An entry of the pod's `resourceClaims`.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// One request of the claim; all of it when absent.
        request: String = "request",
    }
}
wire_object! {
    /// How many servers run, by their load.
    pub struct Autoscaling {
        /// At least so many.
        min_replicas: i32 = "minReplicas" [minimum(1)],
        /// At most so many.
        max_replicas: i32 = "maxReplicas" [required(), minimum(1)],
        /// The CPU that is used, in percent of what is requested, that the number of servers aims at.
        target_cpu_utilization_percentage: i32 = "targetCPUUtilizationPercentage" [minimum(1)],
        /// The same for memory.
        target_memory_utilization_percentage: i32 = "targetMemoryUtilizationPercentage" [minimum(1)],
    }
}
wire_object! {
    /// How many servers may be gone at a time: one of the two, as a number or in percent.
    pub struct PodDisruptionBudget {
        /// So many must be there.
        min_available: Node<'static> = "minAvailable" [shape(kubefoundry_kubernetes::wire::Shape::IntegerOrString)],
        /// So many may be gone.
        max_unavailable: Node<'static> = "maxUnavailable" [shape(kubefoundry_kubernetes::wire::Shape::IntegerOrString)],
    }
}
wire_object! {
    /// The pod around the server's container.
    pub struct PodOverrides {
        /// Its ServiceAccount, instead of one of its own.
        service_account_name: String = "serviceAccountName" [syntax(Syntax::DnsSubdomain)],
        /// How long it may take to stop, in seconds.
        termination_grace_period_seconds: i64 = "terminationGracePeriodSeconds" [minimum(0)],
        /// Further volumes (core/v1 Volume).
        volumes: Vec<Node<'static>> = "volumes",
        /// Where they are in the server's container.
        volume_mounts: Vec<VolumeMount> = "volumeMounts",
    }
}
wire_object! {
    /// Where a volume is in a container (core/v1 VolumeMount).
    pub struct VolumeMount {
        /// The volume.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// Where.
        mount_path: String = "mountPath" [required()],
        /// A path in the volume.
        sub_path: String = "subPath",
        /// The same with `$(NAME)` expanded.
        sub_path_expr: String = "subPathExpr",
        /// For reading only.
        read_only: bool = "readOnly",
        /// Whether what is mounted below is for reading only, too.
        recursive_read_only: String = "recursiveReadOnly" [allowed_values(&["Disabled", "IfPossible", "Enabled"])],
        /// How mounts reach the node and back.
        mount_propagation: String = "mountPropagation" [allowed_values(&["None", "HostToContainer", "Bidirectional"])],
    }
}
wire_object! {
    /// A volume that stays when the pod goes.
    pub struct Storage {
        /// Its size.
        size: IntegerOrString = "size" [syntax(Syntax::Quantity), default("\"10Gi\"")],
        /// Where it is mounted.
        mount_path: String = "mountPath" [default("\"/.llama\"")],
    }
}
wire_object! {
    /// TLS of the server as a client.
    pub struct TlsConfig {
        /// Certificates of authorities that it trusts.
        ca_bundle: CaBundle = "caBundle",
    }
}
wire_object! {
    /// Certificates of authorities in a ConfigMap.
    pub struct CaBundle {
        /// The ConfigMap.
        config_map_name: String = "configMapName" [required(), syntax(Syntax::DnsSubdomain)],
        /// Its namespace; the distribution's own when absent.
        config_map_namespace: String = "configMapNamespace" [syntax(Syntax::DnsLabel)],
        /// The keys that hold certificates; `ca-bundle.crt` when absent.
        config_map_keys: Vec<String> = "configMapKeys" [max_items(50)],
    }
}
wire_object! {
    /// A ConfigMap with a `run.yaml` of the user's.
    pub struct UserConfig {
        /// The ConfigMap.
        config_map_name: String = "configMapName" [required(), syntax(Syntax::DnsSubdomain)],
        /// Its namespace; only the distribution's own can be mounted.
        config_map_namespace: String = "configMapNamespace" [
            syntax(Syntax::DnsLabel), checked_by(&codes::UNUSABLE_USER_CONFIG)
        ],
    }
}
wire_object! {
    /// Who may reach the server.
    pub struct Network {
        /// Whether it gets an Ingress.
        expose_route: bool = "exposeRoute" [default("false")],
        /// Namespaces that may reach it, beside its own and the operator's.
        allowed_from: AllowedFrom = "allowedFrom",
    }
}
wire_object! {
    /// Namespaces that may reach the server.
    pub struct AllowedFrom {
        /// By name; `*` is every namespace.
        namespaces: Vec<String> = "namespaces",
        /// By a label that they have, whatever its value.
        labels: Vec<String> = "labels",
    }
}
wire_object! {
    /// Providers that are installed when the pod starts, by the API that they serve.
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
    /// A provider in a container image of its own. Which type of provider it is, its image says.
    pub struct ExternalProvider {
        /// What the provider is called in the server: unique among external providers.
        provider_id: String = "providerId" [required(), syntax(Syntax::DnsLabel), max_length(45), checked_by(&codes::NAME_TOO_LONG)],
        /// The image that holds its packages under `/lls-provider`.
        image: String = "image" [required(), syntax(Syntax::Image)],
        /// When its image is pulled.
        image_pull_policy: ImagePullPolicy = "imagePullPolicy" [default("\"IfNotPresent\"")],
        /// Its settings, as the provider knows them.
        config: Node<'static> = "config",
    }
}
string_enum! {
    /// When an image is pulled.
    pub enum ImagePullPolicy {
        /// Every time a container starts.
        Always = "Always",
        /// Never: the node must have it.
        Never = "Never",
        /// When the node does not have it.
        IfNotPresent = "IfNotPresent",
    }
}
string_enum! {
    /// An API of llama-stack that external providers serve, as `run.yaml` writes it. The order is that in which providers are
    /// installed and listed.
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
    /// Every API, in order.
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

    /// The section of `spec.server.externalProviders` that its providers stand in.
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

    /// The API that `run.yaml` and provider packages spell so.
    ///
    /// ```
    /// use kubefoundry_llamastack::wire::Api;
    /// assert_eq!(Api::named("tool_runtime"), Some(Api::ToolRuntime));
    /// assert_eq!(Api::named("toolRuntime"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }
}

impl ExternalProviders {
    /// The providers of one API, in the order in which they were written.
    pub fn of(&self, api: Api) -> &[ExternalProvider] {
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
