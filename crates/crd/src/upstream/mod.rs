//! Skeletons of upstream CRDs: their structure without their prose, embedded in the program.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! A skeleton keeps everything of a CustomResourceDefinition that decides which objects the API server accepts, except
//! validation rules: names, scope, versions, subresources, printer columns and every keyword of the structural schemas.
//! It omits descriptions, titles, examples, deprecation warnings, `x-kubernetes-validations` and the conversion of
//! versions. `cargo xtask upstream` writes the skeletons from dumps of CRDs into `schemas/`; `schemas/index.yaml` lists
//! them with their origins.
//!
//! # Format
//! `<group>_<kind>/<commit>.json` is a CRD whose schemas are references. A reference is the key of a line in
//! `subtrees.txt`; such a line holds a schema whose larger subschemas are references in turn. The key is the start of
//! the SHA-256 of the line's JSON, so equal subtrees of different versions, kinds and releases share one line, and
//! adding a release only adds lines. A line is parsed once, when a check or an expansion first reaches it.

mod known_schemas;
#[cfg(test)]
mod reference_equivalence;
mod release;
mod skeleton;
mod subtrees;
mod table;

pub use known_schemas::{KnownSchema, KnownSchemas, known_schemas, pod_spec, shared_schemas};
pub use skeleton::{Skeleton, SkeletonError, SkeletonOrigin};
pub use subtrees::map_subschemas;

use release::find_nearest;

/// Returns the origins of all skeletons, sorted by group and kind, and within a kind from the oldest to the newest.
///
/// ```
/// use kubefoundry_crd::upstream::origins;
/// let graphs: Vec<_> = origins().iter().filter(|origin| origin.kind == "DynamoGraphDeployment").collect();
/// assert!(graphs.len() >= 3 && graphs.iter().all(|origin| origin.group == "nvidia.com"));
/// ```
pub fn origins() -> &'static [SkeletonOrigin] {
    table::ORIGINS
}

/// Returns all skeletons in the order of [`origins`]. They are decoded on demand.
///
/// ```
/// use kubefoundry_crd::upstream::{origins, skeletons};
/// assert_eq!(skeletons().count(), origins().len());
/// ```
pub fn skeletons() -> impl Iterator<Item = Skeleton> {
    origins().iter().map(|origin| Skeleton::new(origin, false))
}

/// Returns the skeleton of a kind for a release of its project.
///
/// If the release has no skeleton of its own, the newest older one is returned, or the oldest one if all are newer;
/// [`Skeleton::is_exact`] is then false. Without a release, or with one that is not a version such as `main`, the
/// newest skeleton is returned. `None` means that there is no skeleton of the kind.
///
/// ```
/// use kubefoundry_crd::upstream::skeleton;
/// let older = skeleton("nvidia.com", "DynamoGraphDeployment", Some("1.4.0")).unwrap();
/// assert_eq!(older.origin().release, Some("1.2.0"));
/// assert!(!older.is_exact());
/// let newest = skeleton("nvidia.com", "DynamoGraphDeployment", None).unwrap();
/// assert_eq!(newest.origin().release, Some("1.5.0"));
/// assert_eq!(newest.to_crd().unwrap()["spec"]["names"]["kind"], "DynamoGraphDeployment");
/// assert!(skeleton("nvidia.com", "Unknown", None).is_none());
/// ```
pub fn skeleton(group: &str, kind: &str, release: Option<&str>) -> Option<Skeleton> {
    let of_kind = |origin: &&SkeletonOrigin| origin.group == group && origin.kind == kind;
    choose_skeleton(origins().iter().filter(of_kind), release)
}

/// Chooses among the skeletons of one kind, sorted from the oldest to the newest.
fn choose_skeleton(origins: impl Iterator<Item = &'static SkeletonOrigin>, release: Option<&str>) -> Option<Skeleton> {
    let origins: Vec<&'static SkeletonOrigin> = origins.collect();
    let around = find_nearest(&origins, |origin| origin, release)?;
    Some(Skeleton::new(around.nearest, around.is_exact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::release::Release;

    static RELEASES: &[SkeletonOrigin] = &[
        SkeletonOrigin { release: Some("0.9.0"), is_tagged: true, ..SkeletonOrigin::EMPTY },
        SkeletonOrigin { release: Some("1.2.0"), ..SkeletonOrigin::EMPTY },
        SkeletonOrigin { release: Some("1.10.0"), is_tagged: true, ..SkeletonOrigin::EMPTY },
    ];

    fn choose_release(release: Option<&str>) -> (Option<&'static str>, bool) {
        let skeleton = choose_skeleton(RELEASES.iter(), release).unwrap();
        (skeleton.origin().release, skeleton.is_exact())
    }

    #[test]
    fn a_release_gets_its_own_skeleton_or_the_nearest_older_one() {
        assert_eq!(choose_release(Some("0.9.0")), (Some("0.9.0"), true));
        assert_eq!(choose_release(Some("v0.9")), (Some("0.9.0"), true));
        assert_eq!(choose_release(Some("1.0.0")), (Some("0.9.0"), false));
        assert_eq!(choose_release(Some("1.9.3")), (Some("1.2.0"), false));
        assert_eq!(choose_release(Some("1.11.0")), (Some("1.10.0"), false));
    }

    #[test]
    fn an_untagged_skeleton_is_never_exact() {
        assert_eq!(choose_release(Some("1.2.0")), (Some("1.2.0"), false));
    }

    #[test]
    fn a_release_before_the_first_skeleton_gets_the_first() {
        assert_eq!(choose_release(Some("0.1.0")), (Some("0.9.0"), false));
    }

    #[test]
    fn without_a_version_the_newest_is_chosen() {
        assert_eq!(choose_release(None), (Some("1.10.0"), false));
        assert_eq!(choose_release(Some("main")), (Some("1.10.0"), false));
    }

    #[test]
    fn origins_are_in_order() {
        let of = |origin: &SkeletonOrigin| (origin.group, origin.kind, origin.release.and_then(Release::parse));
        assert!(origins().is_sorted_by_key(of), "{:#?}", origins());
    }

    #[test]
    fn every_skeleton_can_be_read() {
        for origin in origins() {
            let skeleton = Skeleton::new(origin, false);
            let crd = skeleton.to_crd().unwrap();
            assert_eq!(crd["spec"]["names"]["kind"], origin.kind);
            assert_eq!(crd["spec"]["group"], origin.group);
        }
    }
}
