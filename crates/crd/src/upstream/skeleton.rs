//! A skeleton of a CRD and its origin.

use std::fmt;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::subtrees::Subtrees;
use kubefoundry_yaml as yaml;

/// The shared schemas that skeletons refer to.
pub(super) static SUBTREES: LazyLock<Subtrees<'static>> =
    LazyLock::new(|| Subtrees::new(include_str!("../../schemas/subtrees.txt")));

/// The origin of a skeleton.
#[derive(Debug)]
pub struct SkeletonOrigin {
    /// The API group of the kind: `ray.io`.
    pub group: &'static str,
    /// The kind: `RayService`.
    pub kind: &'static str,
    /// The name of the project: `KubeRay`.
    pub project: &'static str,
    /// The repository that the CRD was read from, as `owner/name`.
    pub repository: &'static str,
    /// The commit that the CRD was read at; abbreviated if only a prefix is known.
    pub commit: &'static str,
    /// The day or month of the commit, as `2026-08-19` or `2026-08`; `None` if it was not recorded.
    pub date: Option<&'static str>,
    /// The release that the project's files name at the commit; `None` if they name none.
    pub release: Option<&'static str>,
    /// Whether the commit is tagged as that release, rather than before or after it.
    pub is_tagged: bool,
    /// The path of the CRD in the repository.
    pub path: &'static str,
    /// The SHA-256 of the upstream file.
    pub sha256: &'static str,
    /// The number of validation rules in the upstream CRD. The skeleton has none of them.
    pub rules: usize,
    /// The embedded JSON of the CRD, whose schemas are references.
    pub(super) head: &'static str,
}

impl SkeletonOrigin {
    /// Returns whether the CRD has a version of this name. The text is searched, because most origins of a kind need not
    /// be parsed.
    pub(super) fn has_version(&self, version: &str) -> bool {
        let name = format!("\"name\": \"{version}\"");
        memchr::memmem::find(self.head.as_bytes(), name.as_bytes()).is_some()
    }

    /// Returns the CRD with a reference as the schema of each version.
    ///
    /// # Errors
    /// The damaged part of the embedded file.
    pub(super) fn head(&self) -> Result<Value, &'static str> {
        let head: Value = serde_json::from_str(self.head).map_err(|_| "its head")?;
        let mut spec = match head.get("spec") {
            Some(Value::Object(spec)) => spec.clone(),
            _ => return Err("spec"),
        };
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
        for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
            let reference = version.get_mut("schema").ok_or("schema")?;
            *reference = json!({"openAPIV3Schema": reference.take()});
        }
        let mut crd = Map::new();
        crd.insert("apiVersion".to_owned(), Value::from("apiextensions.k8s.io/v1"));
        crd.insert("kind".to_owned(), Value::from("CustomResourceDefinition"));
        crd.insert("metadata".to_owned(), head.get("metadata").cloned().unwrap_or_default());
        crd.insert("spec".to_owned(), Value::Object(spec));
        Ok(Value::Object(crd))
    }
}

#[cfg(test)]
impl SkeletonOrigin {
    pub(super) const EMPTY: Self = Self {
        group: "",
        kind: "",
        project: "",
        repository: "",
        commit: "",
        date: None,
        release: None,
        is_tagged: false,
        path: "",
        sha256: "",
        rules: 0,
        head: "",
    };
}

/// The name of a skeleton in messages: `KubeRay 1.7.0, feeaf72f of 2026-08-19`.
///
/// ```
/// let skeleton = kubefoundry_crd::upstream::skeleton("ray.io", "RayService", None).unwrap();
/// assert_eq!(skeleton.origin().to_string(), "KubeRay 1.7.0, feeaf72f of 2026-08-19");
/// ```
impl fmt::Display for SkeletonOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.project)?;
        if let Some(release) = self.release {
            write!(f, " {release}")?;
        }
        write!(f, ", {}", self.commit.get(..8).unwrap_or(self.commit))?;
        match self.date {
            Some(date) => write!(f, " of {date}"),
            None => Ok(()),
        }
    }
}

/// An embedded skeleton cannot be read because the program was built from damaged files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the skeleton of {kind} ({origin}) cannot be read at {place}")]
pub struct SkeletonError {
    kind: &'static str,
    origin: String,
    place: String,
}

/// An upstream CRD without descriptions and validation rules, decoded on demand.
#[derive(Debug, Clone, Copy)]
pub struct Skeleton {
    origin: &'static SkeletonOrigin,
    is_exact: bool,
}

impl Skeleton {
    pub(super) fn new(origin: &'static SkeletonOrigin, is_exact: bool) -> Self {
        Self { origin, is_exact }
    }

    /// Returns the origin.
    pub fn origin(&self) -> &'static SkeletonOrigin {
        self.origin
    }

    /// Whether the skeleton is exactly that of the requested release. If not, a field that it lacks may exist in the
    /// release.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the CustomResourceDefinition in a form that can be installed, without conversion between versions.
    ///
    /// # Errors
    /// When the embedded files are damaged.
    ///
    /// ```
    /// let crd = kubefoundry_crd::upstream::skeleton("kaito.sh", "Workspace", None).unwrap().to_crd().unwrap();
    /// assert_eq!(crd["metadata"]["name"], "workspaces.kaito.sh");
    /// assert_eq!(crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["type"], "object");
    /// ```
    pub fn to_crd(&self) -> Result<Value, SkeletonError> {
        let mut crd = self.origin.head().map_err(|place| self.error_at(place))?;
        for version in crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
                *schema = SUBTREES.expand(schema).map_err(|key| self.error_at(&key))?;
            }
        }
        Ok(crd)
    }

    /// Returns the CustomResourceDefinition as YAML, with comments about its origin.
    ///
    /// # Errors
    /// When the embedded files are damaged.
    ///
    /// ```
    /// let text = kubefoundry_crd::upstream::skeleton("ray.io", "RayService", None).unwrap().to_yaml().unwrap();
    /// assert!(text.starts_with("# RayService of KubeRay 1.7.0, feeaf72f of 2026-08-19"));
    /// assert!(text.contains("\napiVersion: apiextensions.k8s.io/v1\n"));
    /// ```
    pub fn to_yaml(&self) -> Result<String, SkeletonError> {
        let SkeletonOrigin { kind, repository, commit, path, rules, .. } = self.origin;
        let mut text = format!(
            "# {kind} of {}\n# {repository}@{commit}, {path}\n\
             # Without descriptions and conversion, and without its rules, of which upstream has {rules}.\n",
            self.origin
        );
        yaml::to_yaml(&self.to_crd()?, &mut text);
        Ok(text)
    }

    fn error_at(&self, place: &str) -> SkeletonError {
        SkeletonError { kind: self.origin.kind, origin: self.origin.to_string(), place: place.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_head_is_an_error() {
        static DAMAGED: [SkeletonOrigin; 3] = [
            SkeletonOrigin {
                kind: "Workspace",
                project: "KAITO",
                commit: "0123456789",
                head: "{",
                ..SkeletonOrigin::EMPTY
            },
            SkeletonOrigin { head: r#"{"metadata": {}}"#, ..SkeletonOrigin::EMPTY },
            SkeletonOrigin {
                head: r#"{"spec": {"versions": [{"name": "v1", "schema": "none"}]}}"#,
                ..SkeletonOrigin::EMPTY
            },
        ];
        let error_text = |position: usize| Skeleton::new(&DAMAGED[position], true).to_crd().unwrap_err().to_string();
        assert_eq!(error_text(0), "the skeleton of Workspace (KAITO, 01234567) cannot be read at its head");
        assert!(error_text(1).ends_with("at spec") && error_text(2).ends_with("at none"));
    }
}
