//! The API groups under which the same objects are written, and how each behaves.

/// One API group with its habits. Two are built in; they share one wire type.
///
/// ```
/// use kubefoundry::dialect::Dialect;
/// let dialect = Dialect::of_group("kubeairunway.ai").unwrap();
/// assert_eq!(dialect.label("managed-by"), "kubeairunway.ai/managed-by");
/// assert!(Dialect::of_group("example.com").is_none());
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The API group.
    pub group: &'static str,
    /// The only version there is.
    pub version: &'static str,
    /// What `managed-by` says.
    pub manager: &'static str,
    /// Prefix of the labels and annotations that are ours.
    pub label_prefix: &'static str,
}

/// Every dialect there is.
pub static DIALECTS: &[Dialect] = &[
    Dialect { group: "kubefoundry.ai", version: "v1alpha1", manager: "kubefoundry", label_prefix: "kubefoundry.ai/" },
    Dialect {
        group: "kubeairunway.ai",
        version: "v1alpha1",
        manager: "kubeairunway",
        label_prefix: "kubeairunway.ai/",
    },
];

impl Dialect {
    /// The dialect of an API group.
    pub fn of_group(group: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.group == group)
    }

    /// `group/version`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// A label or annotation key of ours.
    pub fn label(&self, name: &str) -> String {
        format!("{}{name}", self.label_prefix)
    }
}
