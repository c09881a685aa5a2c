//! Checks generated objects against the CRDs of the input: whether their kinds are installed, and whether they are
//! valid.

use std::sync::Arc;

use serde_json::Value;

use super::builtin_schemas::{SERVE_CONFIG, check_serve_config};
use crate::codes;
use kubefoundry_crd::{CrdSchema, Crds, SchemaViolation};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::header::{group_of, is_builtin_group};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_transform::{GroupKind, InstalledSchemas, ListType, PatchedObject, SchemaCheck};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The help for a field that the CRDs of the cluster do not have.
const FIELD_NOT_IN_SCHEMA_HELP: &str =
    "install a CRD that has the field, write another version of it (--crd-version), or remove what needs the field";

/// The CRDs of the input, as transformations query them.
#[derive(Debug, Clone)]
pub(crate) struct CrdSchemas<'c>(pub(crate) Arc<Crds<'c>>);

impl InstalledSchemas for CrdSchemas<'_> {
    fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        self.0.has_field(api_version, kind, path)
    }

    fn requires_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        self.0.requires_field(api_version, kind, path)
    }

    fn stored_version(&self, kinds: &[GroupKind]) -> Option<String> {
        self.0.stored_version(kinds)
    }

    fn serves(&self, kinds: &[GroupKind], api_version: &str) -> bool {
        self.0.serves(kinds, api_version)
    }

    fn list_type(&self, api_version: &str, kind: &str, path: &FieldPath) -> Option<ListType> {
        let schema = self.0.schema(api_version, kind).ok()?.schema_of(path)?;
        Some(match schema.get("x-kubernetes-list-type")?.as_str()? {
            "map" => {
                let keys = schema.get("x-kubernetes-list-map-keys")?.as_array()?.iter().filter_map(Value::as_str);
                let item = schema.get("items");
                let default =
                    |key: &str| item.and_then(|item| item.pointer(&format!("/properties/{key}/default"))).cloned();
                ListType::Map(keys.map(|key| (key.to_owned(), default(key))).collect())
            }
            "set" => ListType::Set,
            _ => ListType::Atomic,
        })
    }

    fn check(&self, manifest: &Manifest, patched: Option<&PatchedObject>, findings: &mut Findings<'_>) -> SchemaCheck {
        match self.0.schema(&manifest.api_version, &manifest.kind) {
            Ok(schema) => {
                let name = format!("{} {}", manifest.kind, manifest.metadata.name);
                let mut violations = schema.check(&manifest.clone().into_json());
                if let Some(object) = patched {
                    let before = schema.check(&object.before);
                    let (old, new): (Vec<_>, Vec<_>) =
                        violations.into_iter().partition(|violation| before.contains(violation));
                    violations = old;
                    let patched = PatchedName { object, name: &name };
                    for violation in new.iter().take(MAX_PATCH_VIOLATIONS) {
                        patched.report(violation, schema, "", findings);
                    }
                }
                for violation in violations {
                    report_violation(&violation, &name, schema, findings);
                }
                SchemaCheck::Checked(schema.fingerprint().to_owned())
            }
            Err(Some(problem)) => {
                findings.add(problem.diagnostic());
                SchemaCheck::Unusable
            }
            Err(None) => SchemaCheck::NotInstalled,
        }
    }

    fn report_missing(
        &self,
        kinds: &[GroupKind],
        expected: &str,
        place: &FieldPath,
        message: &str,
        findings: &mut Findings<'_>,
    ) {
        if let Some(problem) = self.0.find_problem(kinds) {
            findings.add(problem.diagnostic());
            return;
        }
        let served = self.0.served_versions(kinds);
        let served_text = if served.is_empty() { "none of its kinds".to_owned() } else { served.join(", ") };
        findings
            .report(&codes::CRD_NOT_INSTALLED, place, message)
            .help(format!("install {}; the cluster has {served_text}", expected.trim_end()));
    }
}

/// Checks generated objects against the CRDs of their kinds. Built-in kinds have no CRD and are skipped.
pub(crate) fn check_objects(objects: &[Value], schemas: &CrdSchemas<'_>, findings: &mut Findings<'_>) {
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if is_builtin_group(group_of(api_version)) {
            continue;
        }
        match schemas.0.schema(api_version, kind) {
            Ok(schema) => {
                let name = format!("{kind} {}", text("/metadata/name"));
                for violation in schema.check(object) {
                    report_violation(&violation, &name, schema, findings);
                }
            }
            Err(Some(problem)) => findings.add(problem.diagnostic()),
            Err(None) => {
                let message = format!("CRD of {kind} ({api_version}) is not installed in the cluster");
                findings
                    .report(&codes::CRD_NOT_INSTALLED, metadata().name(), message)
                    .help("install the CRD, or remove what needs it");
            }
        }
    }
}

/// Checks a change of an existing object, if the CRDs include its kind. Earlier violations are not reported, because
/// the object has another owner.
pub(crate) fn check_change(old: &Value, new: &Value, schemas: &CrdSchemas<'_>, findings: &mut Findings<'_>) {
    let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    if is_builtin_group(group_of(api_version)) {
        return;
    }
    match schemas.0.schema(api_version, kind) {
        Ok(schema) => {
            let name = format!("{kind} {}", text("/metadata/name"));
            let before = schema.check(old);
            for violation in schema.check(new).iter().filter(|violation| !before.contains(violation)) {
                report_violation(violation, &name, schema, findings);
            }
        }
        Err(Some(problem)) => findings.add(problem.diagnostic()),
        Err(None) => {}
    }
}

/// Reports a violation at the field of the input that it comes from.
fn report_violation(violation: &SchemaViolation, name: &str, schema: &CrdSchema, findings: &mut Findings<'_>) {
    let SchemaViolation { code, help, value, .. } = violation;
    let message = violation.sentence(name, schema);
    if *code == &codes::CRD_RULE_NOT_EVALUATED {
        // The CRD itself is the problem, so the finding points to the CRD, which is the same for all deployments.
        let mut diagnostic = schema.diagnostic(code, message);
        diagnostic.help = Some("the API server evaluates it when the object is applied".to_owned());
        findings.add(diagnostic);
        return;
    }
    let reported = findings.report(code, locate_value(findings.scope().root, value.as_deref()), message);
    // A suggestion of a similar name would mislead here: the user does not write this field.
    let help = if *code == &codes::FIELD_NOT_IN_SCHEMA { Some(FIELD_NOT_IN_SCHEMA_HELP) } else { help.as_deref() };
    if let Some(help) = help {
        reported.help(help);
    }
}

/// How many violations of a patched object are reported. Each is searched among all values of the patches.
pub(crate) const MAX_PATCH_VIOLATIONS: usize = 100;

/// A patched object with its name in messages.
pub(crate) struct PatchedName<'p> {
    pub(crate) object: &'p PatchedObject,
    pub(crate) name: &'p str,
}

impl PatchedName<'_> {
    /// Reports a violation that a patch causes, at the patch. `help` is the advice where the violation has none of its
    /// own.
    pub(crate) fn report(
        &self,
        violation: &SchemaViolation,
        schema: &CrdSchema,
        help: &str,
        findings: &mut Findings<'_>,
    ) {
        if violation.code == &codes::CRD_RULE_NOT_EVALUATED {
            report_violation(violation, self.name, schema, findings);
            return;
        }
        // A field that is missing is not in the patch, but something beside it is.
        let enclosing = enclosing_paths(&violation.path);
        let patch = enclosing.into_iter().find_map(|path| self.object.patch_of(&path, None));
        self.report_at(patch, violation, violation.sentence(self.name, schema), help, findings);
    }

    /// Reports what a patch makes wrong in a Serve configuration, if the object has one.
    pub(crate) fn check_serve_config(&self, after: &Value, findings: &mut Findings<'_>) {
        let Some((place, new)) = self.object.configuration(after) else { return };
        let before = self.object.configuration(&self.object.before);
        let before = before.map(|(_, old)| check_serve_config(&old)).unwrap_or_default();
        let (schema, file) = SERVE_CONFIG;
        let name = format!("{place} of {}", self.name);
        let violations = check_serve_config(&new);
        let new_ones = violations.iter().filter(|violation| !before.contains(violation));
        for violation in new_ones.take(MAX_PATCH_VIOLATIONS) {
            let mut enclosing = enclosing_paths(&violation.path).into_iter();
            let patch = enclosing.find_map(|inside| self.object.patch_of(place, Some(&inside)));
            let message = violation.sentence_for_schema(&name, schema, file);
            let is_unknown = violation.code == &codes::FIELD_NOT_IN_SCHEMA;
            let help = if is_unknown { "remove it: Ray would ignore it" } else { "" };
            self.report_at(patch, violation, message, help, findings);
        }
    }

    fn report_at(
        &self,
        patch: Option<FieldPath>,
        violation: &SchemaViolation,
        message: String,
        help: &str,
        findings: &mut Findings<'_>,
    ) {
        let patch = patch.unwrap_or_else(|| self.object.patches.clone());
        let is_unknown = violation.code == &codes::FIELD_NOT_IN_SCHEMA;
        let (code, place) = if is_unknown {
            (&codes::PATCH_OF_UNKNOWN_FIELD, FieldRef::key(&patch))
        } else {
            (&codes::PATCH_VIOLATES_SCHEMA, FieldRef::value(&patch))
        };
        let reported = findings.report(code, place, message);
        let help = violation.help.as_deref().unwrap_or(help);
        if !help.is_empty() {
            reported.help(help);
        }
    }
}

/// Returns a path and the paths of everything that contains it, the innermost first.
fn enclosing_paths(path: &FieldPath) -> Vec<FieldPath> {
    let outer = |path: &FieldPath| (!path.segments().is_empty()).then(|| path.parent());
    std::iter::successors(Some(path.clone()), outer).collect()
}

/// Returns the field of the input that holds a rendered text, or the name of the object if not exactly one does.
pub(crate) fn locate_value(root: &Node<'_>, value: Option<&str>) -> FieldRef {
    let mut paths = Vec::new();
    if let (Some(value), Some(spec)) = (value, root.get("spec")) {
        collect_fields_with_text(spec, value, &FieldPath::parse("spec"), &mut paths);
    }
    match paths.as_slice() {
        [path] => FieldRef::value(path),
        _ => metadata().name().into(),
    }
}

/// Appends the paths of all strings below a node that equal `text`.
fn collect_fields_with_text(node: &Node<'_>, text: &str, path: &FieldPath, paths: &mut Vec<FieldPath>) {
    match &node.value {
        yaml::Value::String(node_text) if node_text == text => paths.push(path.clone()),
        yaml::Value::Mapping(entries) => {
            for entry in entries {
                collect_fields_with_text(&entry.node, text, &path.key(entry.key.clone().into_owned()), paths);
            }
        }
        yaml::Value::Sequence(items) => {
            for (position, item) in items.iter().enumerate() {
                collect_fields_with_text(item, text, &path.index(position), paths);
            }
        }
        _ => {}
    }
}
