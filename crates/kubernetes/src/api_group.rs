//! The API groups in which a ModelDeployment can be written, and how their semantics differ.

/// An API group and its semantics. All groups share one set of wire types.
///
/// ```
/// use kubefoundry_kubernetes::api_group::ApiGroup;
/// let api_group = ApiGroup::find("kubeairunway.ai").unwrap();
/// assert_eq!(api_group.label("managed-by"), "kubeairunway.ai/managed-by");
/// assert!(ApiGroup::find("example.com").is_none());
/// ```
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is independent of the others")]
pub struct ApiGroup {
    /// The group's name, such as `kubefoundry.ai`.
    pub name: &'static str,
    /// The version. Each group has exactly one.
    pub version: &'static str,
    /// The value of the `managed-by` label on generated objects.
    pub manager: &'static str,
    /// The prefix of labels and annotations that belong to this group, with its trailing slash.
    pub label_prefix: &'static str,
    /// Whether this project publishes the group's CRDs.
    pub has_crds: bool,
    /// Whether `engine.type` may be omitted. The first engine that a ready provider can run is then used.
    pub chooses_engine: bool,
    /// Whether a deployment without `resources` gets one GPU. This applies only in aggregated mode, without an image,
    /// and with an explicit engine other than llama.cpp.
    pub assumes_gpu: bool,
    /// The score of a provider that can run a deployment but none of whose selection rules is true. `None` excludes
    /// such a provider from selection.
    pub unmatched_score: Option<i32>,
    /// The default of prefix caching. `None` leaves the choice to the engine.
    pub prefix_caching: Option<bool>,
    /// Whether the served name is derived from the model's id when `servedName` is absent.
    pub derives_served_name: bool,
    /// Whether a role of disaggregated serving should declare its memory; a role without it causes a warning.
    pub expects_role_memory: bool,
    /// Whether PersistentVolumeClaims get the labels of the deployment.
    pub labels_claims: bool,
    /// Upper bounds on resources and replicas, if the group has any.
    pub ceilings: Option<Ceilings>,
    /// Whether the storage checks of the airunway webhook apply: a claim with a size has the generated name and is
    /// writable, each cache has one volume, no claim is used twice, and no volume is mounted over a system path.
    pub restricts_storage: bool,
    /// The system that merges overrides, whatever they are, into the provider's object. Dropping one changes what runs
    /// compared to that system. `None` if overrides are typed.
    pub overrides_merged_by: Option<&'static str>,
    /// Whether the group's CRD has defaults for `scaling.replicas` and for `count` and `type` of `gpu`.
    pub crd_fills_counts: bool,
    /// Whether the group's CRD has the scale subresource. It reads `scaling.replicas`, so the CRD has a default for it.
    pub scales: bool,
    /// Whether the group's system warns about `engine.trustRemoteCode`.
    pub warns_about_remote_code: bool,
    /// Providers of the group's system that this program does not render. A deployment may name one without its
    /// configuration.
    pub foreign_providers: &'static [&'static str],
    /// Annotations of the group's system that this program ignores, with what they do there.
    pub ignored_annotations: &'static [(&'static str, &'static str)],
}

/// Upper bounds on what a deployment may request.
#[derive(Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// GPUs per worker.
    pub gpus: u32,
    /// Replicas per role.
    pub replicas: u32,
    /// CPU per worker, as a quantity.
    pub cpu: &'static str,
    /// Memory per worker, as a quantity.
    pub memory: &'static str,
}

/// The API group of kaito-project/airunway.
pub const AIRUNWAY: &str = "airunway.ai";

/// The semantics that docs/specification.md prescribes. The other groups are described by their differences from it.
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
    expects_role_memory: true,
    labels_claims: true,
    ceilings: None,
    restricts_storage: false,
    overrides_merged_by: None,
    crd_fills_counts: false,
    scales: true,
    warns_about_remote_code: false,
    foreign_providers: &[],
    ignored_annotations: &[],
};

/// All supported API groups.
///
/// The semantics of `airunway.ai` follow its webhook and controller (`controller/internal/webhook/v1alpha1` and
/// `controller/internal/controller/modeldeployment_selection.go` of kaito-project/airunway, July 2026). That controller
/// deletes objects that have its manager's name but that it does not own, so objects rendered here never have that
/// name.
pub static API_GROUPS: &[ApiGroup] = &[
    SPECIFIED,
    ApiGroup {
        name: "kubeairunway.ai",
        manager: "kubeairunway",
        label_prefix: "kubeairunway.ai/",
        scales: false,
        ..SPECIFIED
    },
    ApiGroup {
        name: AIRUNWAY,
        label_prefix: "airunway.ai/",
        has_crds: false,
        chooses_engine: true,
        assumes_gpu: true,
        unmatched_score: Some(0),
        prefix_caching: Some(true),
        derives_served_name: false,
        expects_role_memory: false,
        labels_claims: false,
        ceilings: Some(Ceilings { gpus: 64, replicas: 32, cpu: "512", memory: "4Ti" }),
        restricts_storage: true,
        overrides_merged_by: Some("airunway"),
        crd_fills_counts: true,
        scales: false,
        warns_about_remote_code: true,
        foreign_providers: &["llmd", "vllm"],
        ignored_annotations: &[("dynamo-test-backend", "runs a simulated engine instead of the model")],
        ..SPECIFIED
    },
];

/// The group whose labels mark objects that were generated from kinds of other groups, such as AsyncActor.
pub static DEFAULT: &ApiGroup = &API_GROUPS[0];

impl ApiGroup {
    /// Finds a supported group by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        API_GROUPS.iter().find(|api_group| api_group.name == name)
    }

    /// Returns `group/version`, as in the field `apiVersion`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.name, self.version)
    }

    /// Returns the full key of a label or annotation of this group.
    pub fn label(&self, name: &str) -> String {
        [self.label_prefix, name].concat()
    }

    /// Returns whether a key is the label or annotation of this group with a name.
    pub fn is_label(&self, key: &str, name: &str) -> bool {
        key.strip_prefix(self.label_prefix) == Some(name)
    }
}
