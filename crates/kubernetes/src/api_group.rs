//! The API groups under which the same objects are written, and how each behaves.

/// One API group with its habits. They share one wire type.
///
/// ```
/// use kubefoundry_kubernetes::api_group::ApiGroup;
/// let api_group = ApiGroup::find("kubeairunway.ai").unwrap();
/// assert_eq!(api_group.label("managed-by"), "kubeairunway.ai/managed-by");
/// assert!(ApiGroup::find("example.com").is_none());
/// ```
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a habit of its own")]
pub struct ApiGroup {
    /// The API group.
    pub name: &'static str,
    /// The only version there is.
    pub version: &'static str,
    /// What `managed-by` says.
    pub manager: &'static str,
    /// Prefix of the labels and annotations that are ours.
    pub label_prefix: &'static str,
    /// Whether the CRDs of the group are ours to write.
    pub has_crds: bool,
    /// Whether `engine.type` may be left out: the first engine is taken that a provider can run.
    pub chooses_engine: bool,
    /// Whether a deployment without `resources` gets one GPU: in aggregated mode, with an engine that is written and is
    /// not llama.cpp, and without an image.
    pub assumes_gpu: bool,
    /// The score of a provider that can run a deployment and has no rule that is true; none keeps it out of selection.
    pub unmatched_score: Option<i32>,
    /// Whether prefixes are cached when nothing is said of it; absent leaves it to the engine.
    pub prefix_caching: Option<bool>,
    /// Whether the name in the API follows from the model's id when it is not written.
    pub derives_served_name: bool,
    /// Whether a role of disaggregated serving must say how much memory it needs.
    pub requires_role_memory: bool,
    /// Whether claims get the labels of the deployment.
    pub labels_claims: bool,
    /// The largest amounts that are accepted.
    pub ceilings: Option<Ceilings>,
    /// Whether the further storage rules of the live system hold: claims of a size keep their name and are written to, one
    /// volume of each cache, no claim twice, no system path.
    pub restricts_storage: bool,
}

/// The largest amounts that a deployment may ask for.
#[derive(Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// GPUs of one worker.
    pub gpus: u32,
    /// Replicas of one kind of worker.
    pub replicas: u32,
    /// CPU of one worker: a quantity.
    pub cpu: &'static str,
    /// Memory of one worker: a quantity.
    pub memory: &'static str,
}

/// The API group of kaito-project/airunway.
pub const AIRUNWAY: &str = "airunway.ai";

/// What the specification says.
const SPECIFIED: ApiGroup = ApiGroup {
    name: "kubefoundry.ai",
    version: "v1alpha1",
    manager: "kubefoundry",
    label_prefix: "kubefoundry.ai/",
    has_crds: true,
    chooses_engine: false,
    assumes_gpu: false,
    unmatched_score: None,
    prefix_caching: None,
    derives_served_name: true,
    requires_role_memory: true,
    labels_claims: true,
    ceilings: None,
    restricts_storage: false,
};

/// Every API group there is.
///
/// Habits of `airunway.ai` are those of its webhook and controller (`controller/internal/webhook/v1alpha1` and
/// `controller/internal/controller/modeldeployment_selection.go` of kaito-project/airunway, July 2026). Its controller
/// deletes objects that carry its own manager's name and that it does not own: ours never carry it.
pub static API_GROUPS: &[ApiGroup] = &[
    SPECIFIED,
    ApiGroup { name: "kubeairunway.ai", manager: "kubeairunway", label_prefix: "kubeairunway.ai/", ..SPECIFIED },
    ApiGroup {
        name: AIRUNWAY,
        label_prefix: "airunway.ai/",
        has_crds: false,
        chooses_engine: true,
        assumes_gpu: true,
        unmatched_score: Some(0),
        prefix_caching: Some(true),
        derives_served_name: false,
        requires_role_memory: false,
        labels_claims: false,
        ceilings: Some(Ceilings { gpus: 64, replicas: 32, cpu: "512", memory: "4Ti" }),
        restricts_storage: true,
        ..SPECIFIED
    },
];

/// The group in which objects are marked that come from kinds of other groups.
pub static DEFAULT: &ApiGroup = &API_GROUPS[0];

impl ApiGroup {
    /// The API group of an API group.
    pub fn find(name: &str) -> Option<&'static Self> {
        API_GROUPS.iter().find(|api_group| api_group.name == name)
    }

    /// `group/version`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.name, self.version)
    }

    /// A label or annotation key of ours.
    pub fn label(&self, name: &str) -> String {
        format!("{}{name}", self.label_prefix)
    }
}
