//! Checks objects against the embedded skeletons of upstream CRDs, if the input has no CRDs.
//!
//! A skeleton may differ from the release of a deployment. A violation is reported only if the skeletons before and
//! after the release both refuse the object: as an error if the type is wrong, which no release changes, and as a
//! warning otherwise.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::builtin_schemas;
use super::installed_crds::{MAX_PATCH_VIOLATIONS, PatchedName, locate_value};
use crate::codes;
use kubefoundry_crd::upstream::{KnownSchema, KnownSchemas, known_schemas, pod_spec};
use kubefoundry_crd::{CrdSchema, SchemaViolation};
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_transform::{PatchedObject, PodPart};
use kubefoundry_yaml::field_path::FieldPath;

/// The maximum number of remembered outlines. Objects with further outlines are checked each time.
const MAX_OUTLINES: usize = 10_000;
/// The name of the pod schema in messages.
const POD_SPEC: &str = "core/v1 PodSpec";

/// The skeletons of a run, with the outlines of objects that are known to fit them.
#[derive(Debug, Default)]
pub(crate) struct Skeletons(Mutex<SkeletonCache>);

#[derive(Debug, Default)]
struct SkeletonCache {
    /// A linear list, because a run has objects of few kinds.
    kinds: Vec<KindInRelease>,
    /// Positions of kinds with outlines that fit. Other outlines are not remembered, because their violations are
    /// reported for each object.
    fitting: BTreeSet<(usize, u64)>,
}

/// A kind in one release.
#[derive(Debug)]
struct KindInRelease {
    api_version: String,
    kind: String,
    release: Option<String>,
    /// `None` for a kind without a skeleton.
    known: Option<KnownSchemas>,
}

impl Skeletons {
    /// Checks the fields of a generated object and their types, once for all objects with the same outline.
    pub(crate) fn check(&self, manifest: &Manifest, release: Option<&str>, findings: &mut Findings<'_>) {
        let Some((position, known)) = self.find(&manifest.api_version, &manifest.kind, release) else { return };
        let outline = manifest.body.outline().map(|outline| (position, outline));
        if outline.is_some_and(|outline| self.lock_cache().fitting.contains(&outline)) {
            return;
        }
        let object = manifest.clone().into_json();
        let violations = violations_of_both(&known, |schema| schema.check_outline(&object));
        if let Some(outline) = outline.filter(|_| violations.is_empty()) {
            let fitting = &mut self.lock_cache().fitting;
            if fitting.len() < MAX_OUTLINES {
                fitting.insert(outline);
            }
        }
        let name = format!("{} {}", manifest.kind, manifest.metadata.name);
        report_all(&violations, &name, &known, release, findings);
    }

    /// Checks a patched object, strictly: what the patch violates is an error, also where the skeleton is not exactly
    /// that of the release. Returns whether the patch fits.
    pub(crate) fn check_patched(
        &self,
        object: &PatchedObject,
        manifest: &Manifest,
        release: Option<&str>,
        findings: &mut Findings<'_>,
    ) -> bool {
        let after = manifest.clone().into_json();
        let known = self.find(&manifest.api_version, &manifest.kind, release).map(|(_, known)| known);
        let (violations, schema, origin) = if let Some(known) = known {
            let mut violations = violations_of_both(&known, |schema| schema.check(&after));
            if !violations.is_empty() {
                let before = known.nearest.schema.check(&object.before);
                violations.retain(|violation| !before.contains(violation));
            }
            let KnownSchema { origin, schema } = known.nearest;
            let help = "pass the CRDs of the cluster with --crds to be certain: this was checked against the schema of";
            (violations, schema, format!("{help} {origin}"))
        } else if let Some(schema) = builtin_schemas::schema(&manifest.api_version, &manifest.kind) {
            (schema.check(&after), schema, String::new())
        } else {
            return true;
        };
        let name = format!("{} {}", manifest.kind, manifest.metadata.name);
        let patched = PatchedName { object, name: &name };
        for violation in violations.iter().take(MAX_PATCH_VIOLATIONS) {
            patched.report(violation, schema, &origin, findings);
        }
        violations.is_empty()
    }

    /// Checks a change of an existing object.
    pub(crate) fn check_change(&self, old: &Value, new: &Value, findings: &mut Findings<'_>) {
        let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Some((_, known)) = self.find(text("/apiVersion"), text("/kind"), None) else { return };
        let mut violations = violations_of_both(&known, |schema| schema.check(new));
        if !violations.is_empty() {
            let before = known.nearest.schema.check(old);
            violations.retain(|violation| !before.contains(violation));
        }
        let name = format!("{} {}", text("/kind"), text("/metadata/name"));
        report_all(&violations, &name, &known, None, findings);
    }

    /// Returns the schemas of a kind, with its position in the cache. Adds the kind to the cache if it is new.
    fn find(&self, api_version: &str, kind: &str, release: Option<&str>) -> Option<(usize, KnownSchemas)> {
        // Built-in kinds have no CRD. Most of their groups contain no dot.
        let (group, version) = api_version.split_once('/').filter(|(group, _)| group.contains('.'))?;
        let mut cache = self.lock_cache();
        let is_requested = |entry: &KindInRelease| {
            entry.api_version == api_version && entry.kind == kind && entry.release.as_deref() == release
        };
        if let Some(position) = cache.kinds.iter().position(is_requested) {
            return Some((position, cache.kinds.get(position)?.known?));
        }
        let known = known_schemas(group, kind, version, release);
        cache.kinds.push(KindInRelease {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            release: release.map(str::to_owned),
            known,
        });
        Some((cache.kinds.len() - 1, known?))
    }

    fn lock_cache(&self) -> MutexGuard<'_, SkeletonCache> {
        // Entries are complete when they are added, so a poisoned lock is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the violations of the nearest schema that the next one confirms. One that only the nearest schema has may be
/// due to a release in between.
fn violations_of_both(
    known: &KnownSchemas,
    check: impl Fn(&'static CrdSchema) -> Vec<SchemaViolation>,
) -> Vec<SchemaViolation> {
    let mut violations = check(known.nearest.schema);
    violations.retain(is_about_object);
    if let Some(next) = known.next.filter(|_| !violations.is_empty()) {
        let others = check(next.schema);
        violations.retain_mut(|violation| {
            let is_same = |other: &&SchemaViolation| other.code == violation.code && other.path == violation.path;
            let other = others.iter().find(is_same);
            violation.is_wrong_type &= other.is_some_and(|other| other.is_wrong_type);
            other.is_some()
        });
    }
    violations
}

/// Returns whether a violation is about the object, and not about a pattern that cannot be evaluated.
fn is_about_object(violation: &SchemaViolation) -> bool {
    violation.code != &codes::CRD_RULE_NOT_EVALUATED
}

/// Reports violations, each with the releases whose schemas were compared.
fn report_all(
    violations: &[SchemaViolation],
    name: &str,
    known: &KnownSchemas,
    release: Option<&str>,
    findings: &mut Findings<'_>,
) {
    let KnownSchemas { nearest: KnownSchema { origin: skeleton, schema }, next, is_exact } = known;
    for violation in violations {
        let compared_release = match (release, next) {
            _ if *is_exact => String::new(),
            (Some(release), Some(KnownSchema { origin: next, .. })) => {
                format!(", the last known release before {release}, and of {next}, the first after it")
            }
            (Some(release), None) => format!(", the known release that is nearest to {release}"),
            (None, _) => ", the newest known release".to_owned(),
        };
        let help = format!(
            "pass the CRDs of the cluster with --crds to be certain: this was checked against the schema of \
             {skeleton}{compared_release}"
        );
        let place = locate_value(findings.scope().root, violation.value.as_deref());
        findings.report(code_for(violation, *is_exact), place, violation.sentence(name, schema)).help(help);
    }
}

/// Returns the code for a violation, which depends on how certain it is.
fn code_for(violation: &SchemaViolation, is_exact: bool) -> &'static Code {
    if is_exact || violation.is_wrong_type {
        violation.code
    } else if violation.code == &codes::FIELD_NOT_IN_SCHEMA {
        &codes::FIELD_NOT_IN_NEAREST_SCHEMA
    } else {
        &codes::NEAREST_SCHEMA_VIOLATED
    }
}

/// Checks the parts of an input object that are copied into pods unchanged. Returns whether all of them have the structure
/// of Kubernetes, as far as that is known.
pub(crate) fn check_pod_parts(parts: &[PodPart], findings: &mut Findings<'_>) -> bool {
    let mut all_fit = true;
    for PodPart { path, field } in parts {
        // Most objects have none of these fields, so they need no schema.
        let Some(node) = findings.scope().root.at(path) else { continue };
        // Null counts as absent, or removes a field.
        if node.value == kubefoundry_yaml::Value::Null {
            continue;
        }
        let Some((KnownSchema { schema, .. }, pod)) = pod_spec() else { return true };
        let part = if field.is_empty() { pod.to_owned() } else { format!("{pod}.{field}") };
        let violations =
            schema.check_part(&part, &without_null(node.to_json()), path).unwrap_or_else(|| vec![unknown_field(path)]);
        if violations.is_empty() {
            continue;
        }
        all_fit = false;
        let name = findings.scope().object.as_ref().map(ToString::to_string).unwrap_or_default();
        // Validation may have reported the same field already, or a part of it.
        let reported: BTreeSet<FieldPath> =
            findings.iter().filter_map(|finding| Some(finding.location.as_ref()?.path.clone())).collect();
        let is_reported = |path: &FieldPath| reported.iter().any(|reported| reported.starts_with(path));
        for violation in
            violations.iter().filter(|violation| is_about_object(violation) && !is_reported(&violation.path))
        {
            let is_unknown = violation.code == &codes::FIELD_NOT_IN_SCHEMA;
            let place = if is_unknown { FieldRef::key(&violation.path) } else { FieldRef::value(&violation.path) };
            let message = violation.sentence_for_schema(&name, POD_SPEC, schema.file());
            let reported = findings.report(code_for(violation, false), place, message);
            if let Some(help) = &violation.help {
                reported.help(help.clone());
            }
        }
    }
    all_fit
}

/// Returns the violation of a field that no pod has.
fn unknown_field(path: &FieldPath) -> SchemaViolation {
    SchemaViolation {
        code: &codes::FIELD_NOT_IN_SCHEMA,
        path: path.clone(),
        message: String::new(),
        help: None,
        value: None,
        is_wrong_type: false,
    }
}

/// Returns a value without null fields, which count as absent in built-in kinds.
fn without_null(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(|value| *value = without_null(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_null(item.take())),
        _ => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use kubefoundry_diagnostics::DocumentScope;
    use kubefoundry_diagnostics::source::SourceId;
    use kubefoundry_yaml::Node;
    use serde_json::json;

    use super::*;

    fn reported(check: impl FnOnce(&mut Findings<'_>)) -> Vec<(&'static str, String)> {
        let object = json!({"metadata": {"name": "m"}});
        let root = Node::from(&object);
        let scope = DocumentScope { source: SourceId::default(), text: "", document: 0, root: &root, object: None };
        let mut findings = Findings::new(scope);
        check(&mut findings);
        findings.into_diagnostics().into_iter().map(|finding| (finding.code.id, finding.message)).collect()
    }

    #[test]
    fn only_new_violations_of_a_change_are_reported() {
        let service = |spec: Value| {
            let metadata = json!({"name": "m"});
            json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": metadata, "spec": spec})
        };
        let (old, new) = (service(json!({"old": 1})), service(json!({"old": 1, "serveConfigV2": 1, "new": 1})));
        let reported = reported(|findings| Skeletons::default().check_change(&old, &new, findings));
        let codes: Vec<&str> = reported.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["KF0521", "KF0518"]);
        assert!(reported[0].1.starts_with("RayService m would have spec.new, "), "{reported:?}");
        assert!(reported[1].1.starts_with("spec.serveConfigV2 of RayService m is 1, "), "{reported:?}");
    }

    #[test]
    fn violations_of_both_neighboring_schemas_are_reported() {
        let known = known_schemas("nvidia.com", "DynamoGraphDeployment", "v1alpha1", Some("1.1.1")).unwrap();
        let codes = |service: Value| {
            let object = json!({"metadata": {"name": "m"}, "spec": {"services": {"x": service}}});
            let violations = violations_of_both(&known, |schema| schema.check(&object));
            violations.iter().map(|violation| code_for(violation, false).id).collect::<Vec<_>>()
        };
        assert!(known.next.is_some());
        // The earlier schema does not have this field.
        assert!(codes(json!({"subComponentType": "prefill"})).is_empty());
        assert_eq!(codes(json!({"subComponentTypes": "prefill"})), ["KF0521"]);
        assert_eq!(codes(json!({"replicas": "two"})), ["KF0518"]);
    }

    #[test]
    fn only_an_exact_schema_reports_errors_besides_types() {
        let violation = |code, is_wrong_type| SchemaViolation {
            code,
            path: FieldPath::root(),
            message: String::new(),
            help: None,
            value: None,
            is_wrong_type,
        };
        for (reported, is_wrong_type, is_exact, expected) in [
            (&codes::FIELD_NOT_IN_SCHEMA, false, true, "KF0517"),
            (&codes::FIELD_NOT_IN_SCHEMA, false, false, "KF0521"),
            (&codes::SCHEMA_VIOLATED, false, true, "KF0518"),
            (&codes::SCHEMA_VIOLATED, true, false, "KF0518"),
            (&codes::SCHEMA_VIOLATED, false, false, "KF0522"),
        ] {
            assert_eq!(code_for(&violation(reported, is_wrong_type), is_exact).id, expected);
        }
    }

    #[test]
    fn fields_of_pods_that_are_null_are_absent() {
        let value = json!({"a": null, "b": [{"c": null, "d": 1}], "e": {"f": null}});
        assert_eq!(without_null(value), json!({"b": [{"d": 1}], "e": {}}));
    }
}
