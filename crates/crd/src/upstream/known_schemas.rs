//! The schemas against which the objects for a release of an upstream project are checked.

use std::sync::{LazyLock, OnceLock};

use crate::{CrdDefinition, CrdSchema, ReferenceResolver};

use super::release::{NearestReleases, find_nearest};
use super::skeleton::{SUBTREES, SkeletonOrigin};
use super::table::ORIGINS;

/// The part of a skeleton that is core/v1 PodSpec. KubeRay embeds whole pod templates, so its CRD declares all of their
/// fields.
const POD_SPEC: (&str, &str, &str, &str) =
    ("ray.io", "RayService", "v1", "spec.rayClusterConfig.headGroupSpec.template.spec");

/// The definition of each of [`ORIGINS`].
static DEFINITIONS: LazyLock<Vec<OnceLock<CrdDefinition>>> =
    LazyLock::new(|| ORIGINS.iter().map(|_| OnceLock::new()).collect());

/// The schema of one version of a skeleton. A part of it is parsed when a checked object has a value there.
#[derive(Debug, Clone, Copy)]
pub struct KnownSchema {
    /// The origin of the skeleton.
    pub origin: &'static SkeletonOrigin,
    /// The schema, without validation rules.
    pub schema: &'static CrdSchema,
}

/// The known schemas nearest to that of a release.
#[derive(Debug, Clone, Copy)]
pub struct KnownSchemas {
    /// The schema of the release, or else of the newest skeleton before it. If all are newer, it is the oldest one, and
    /// if the release is not known, the newest one.
    pub nearest: KnownSchema,
    /// The schema of the first skeleton after the release, if the nearest one is from before it. The schema of the
    /// release is between the two.
    pub next: Option<KnownSchema>,
    /// Whether the nearest schema is exactly that of the release.
    pub is_exact: bool,
}

/// Returns the known schemas of a version of a kind that are nearest to a release of its project; `None` if no skeleton
/// has that version.
///
/// ```
/// use kubefoundry_crd::upstream::known_schemas;
/// let known = known_schemas("nvidia.com", "DynamoGraphDeployment", "v1alpha1", Some("1.4.0")).unwrap();
/// assert_eq!(known.nearest.origin.release, Some("1.2.0"));
/// assert_eq!(known.next.unwrap().origin.release, Some("1.5.0"));
/// let graph = serde_json::json!({"metadata": {"name": "m"}, "spec": {"service": {}}});
/// let found = known.nearest.schema.check(&graph);
/// assert_eq!(found[0].help.as_deref(), Some("did you mean \"services\"?"));
/// // The first skeleton that has the version is of a later release.
/// let known = known_schemas("nvidia.com", "DynamoGraphDeployment", "v1beta1", Some("1.1.1")).unwrap();
/// assert_eq!((known.nearest.origin.release, known.next.is_some()), (Some("1.2.0"), false));
/// assert!(known_schemas("apps", "Deployment", "v1", None).is_none());
/// ```
pub fn known_schemas(group: &str, kind: &str, version: &str, release: Option<&str>) -> Option<KnownSchemas> {
    let of_kind = ORIGINS.iter().enumerate().filter(|(_, origin)| origin.group == group && origin.kind == kind);
    // Only the definitions of the chosen releases are parsed.
    let known: Vec<(usize, &'static SkeletonOrigin)> =
        of_kind.filter(|(_, origin)| origin.has_version(version)).collect();
    let NearestReleases { nearest, next, is_exact } = find_nearest(&known, |(_, origin)| origin, release)?;
    let schema = |(position, origin)| Some(KnownSchema { origin, schema: schema_of(position, origin, version)? });
    Some(KnownSchemas { nearest: schema(nearest)?, next: next.and_then(schema), is_exact })
}

/// Returns the newest known schema that contains core/v1 PodSpec, and the path of PodSpec in it.
///
/// ```
/// use kubefoundry_yaml::field_path::FieldPath;
/// let (known, part) = kubefoundry_crd::upstream::pod_spec().unwrap();
/// let pod = serde_json::json!({"containers": [{"name": "main", "imagePullPolicyy": "Always"}]});
/// let found = known.schema.check_part(part, &pod, &FieldPath::parse("spec.template.spec")).unwrap();
/// assert_eq!(found[0].path.to_string(), "spec.template.spec.containers[0].imagePullPolicyy");
/// ```
pub fn pod_spec() -> Option<(KnownSchema, &'static str)> {
    let (group, kind, version, part) = POD_SPEC;
    Some((known_schemas(group, kind, version, None)?.nearest, part))
}

/// Returns what resolves references in schemas that are taken from skeletons.
pub fn shared_schemas() -> &'static dyn ReferenceResolver {
    &*SUBTREES
}

fn schema_of(position: usize, origin: &'static SkeletonOrigin, version: &str) -> Option<&'static CrdSchema> {
    let definition = DEFINITIONS.get(position)?.get_or_init(|| {
        let head = origin.head().unwrap_or_else(|place| damaged(origin, place));
        CrdDefinition::with_references(head, format!("the schema of {origin}"), &*SUBTREES)
            .unwrap_or_else(|problem| damaged(origin, &problem.diagnostic().message))
    });
    Some(definition.version(version)?.schema().unwrap_or_else(|problem| damaged(origin, &problem.diagnostic().message)))
}

/// Stops the program, because an object without a schema would count as checked. A test reads every skeleton.
#[expect(clippy::panic, reason = "the files are a part of the program; no text of a user gets here")]
fn damaged(origin: &SkeletonOrigin, place: &str) -> ! {
    panic!("the built-in skeleton of {} ({origin}) is damaged: {place}", origin.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::skeleton::Skeleton;

    /// Returns the releases chosen among 0.9.0 and 1.10.0, which are tagged, and 1.2.0, which is not.
    fn choose_releases(release: Option<&str>) -> (Option<&'static str>, Option<&'static str>, bool) {
        static RELEASES: [SkeletonOrigin; 3] = [
            SkeletonOrigin { release: Some("0.9.0"), is_tagged: true, ..SkeletonOrigin::EMPTY },
            SkeletonOrigin { release: Some("1.2.0"), ..SkeletonOrigin::EMPTY },
            SkeletonOrigin { release: Some("1.10.0"), is_tagged: true, ..SkeletonOrigin::EMPTY },
        ];
        let known: Vec<&SkeletonOrigin> = RELEASES.iter().collect();
        let NearestReleases { nearest, next, is_exact } = find_nearest(&known, |origin| origin, release).unwrap();
        (nearest.release, next.and_then(|next| next.release), is_exact)
    }

    /// Versions are found in the text, so the text must agree with the parsed definition.
    #[test]
    fn an_origin_has_the_versions_of_its_definition() {
        for (position, origin) in ORIGINS.iter().enumerate() {
            for version in ["v1", "v1alpha1", "v1beta1", "v1alpha2", "v2"] {
                assert_eq!(
                    origin.has_version(version),
                    schema_of(position, origin, version).is_some(),
                    "{origin} {version}"
                );
            }
        }
    }

    #[test]
    fn a_release_lies_between_its_two_skeletons() {
        assert_eq!(choose_releases(Some("1.0.0")), (Some("0.9.0"), Some("1.2.0"), false));
        assert_eq!(choose_releases(Some("1.2.0")), (Some("1.2.0"), Some("1.10.0"), false));
        assert_eq!(choose_releases(Some("1.11.0")), (Some("1.10.0"), None, false));
    }

    #[test]
    fn a_tagged_skeleton_is_exact_for_its_release() {
        assert_eq!(choose_releases(Some("v0.9")), (Some("0.9.0"), None, true));
        assert_eq!(choose_releases(Some("1.10.0")), (Some("1.10.0"), None, true));
    }

    #[test]
    fn uses_the_oldest_skeleton_for_older_releases_and_the_newest_for_unknown_ones() {
        assert_eq!(choose_releases(Some("0.1.0")), (Some("0.9.0"), None, false));
        assert_eq!(choose_releases(None), (Some("1.10.0"), None, false));
        assert_eq!(choose_releases(Some("main")), (Some("1.10.0"), None, false));
    }

    #[test]
    fn every_served_version_of_every_skeleton_has_a_schema() {
        for (position, origin) in ORIGINS.iter().enumerate() {
            let crd = Skeleton::new(origin, false).to_crd().unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let name = version["name"].as_str().unwrap();
                assert!(schema_of(position, origin, name).is_some(), "{origin} {name}");
            }
        }
    }
}
