//! Migration to another API group: the same objects, with the defaults of the old group written out.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{compile_with, joined_messages};
use crate::import::compare::differences;
use crate::import::input;
use crate::import::input::ParsedObject;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::codes::migrate as codes;
use kubefoundry_compiler::pipeline::{Compilation, normalize, patch_files, read_options};
use kubefoundry_deployment::wire::{InferenceProviderConfig, ModelDeployment};
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::{ValuePath, metadata};
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::draft::{Equivalents, items_at, string_at};
use kubefoundry_yaml::edit::{EditError, EditStyle, Placement, TextEdit, ValueStyle, apply_edits};
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{Limits, Node};

/// The result of a migration to another group. It must not be used as output if [`GroupMigration::has_errors`].
#[derive(Debug)]
#[non_exhaustive]
pub struct GroupMigration {
    /// The texts of the input with objects to move, in order.
    pub texts: Vec<RegroupedText>,
    /// The findings, ordered by file, place and code.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupMigration {
    /// Returns whether the findings include an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// A text with its objects in the new group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegroupedText {
    /// The source text.
    #[serde(skip)]
    pub source: SourceId,
    /// The moved objects, with their old API group.
    pub objects: Vec<ObjectRef>,
    /// The new text of the file.
    pub text: String,
}

/// Moves every ModelDeployment and InferenceProviderConfig of the input to another group: its `apiVersion`, its labels
/// and annotations, and defaults that only the old group has. All other text stays unchanged.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_kubernetes::api_group::ApiGroup;
/// use kubefoundry_convert::migrate::migrate_to_group;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "apiVersion: airunway.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   ## the small one
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
/// ");
/// let regrouping = migrate_to_group(&BUILTIN, &sources, ApiGroup::find("kubefoundry.ai").unwrap());
/// assert!(!regrouping.has_errors());
/// assert_eq!(regrouping.texts[0].text, "apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   resources: {gpu: {count: 1}}
///   ## the small one
///   model: {servedName: microsoft/Phi-4-mini-instruct, id: microsoft/Phi-4-mini-instruct}
///   engine: {enablePrefixCaching: true, type: vllm}
/// ");
/// ```
pub fn migrate_to_group(
    composition: &'static Composition,
    sources: &SourceSet,
    new_group: &'static ApiGroup,
) -> GroupMigration {
    let mut diagnostics = Vec::new();
    let options = read_options(composition, sources, &mut diagnostics);
    if diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        return GroupMigration { texts: Vec::new(), diagnostics };
    }
    let texts = input::parse_texts(sources, &mut diagnostics);
    let objects = input::objects(composition, &texts);
    let patches = PatchFiles::from_objects(&objects, sources);
    let configs: Vec<(Value, Value)> = objects
        .iter()
        .filter(|object| object.is_config())
        .map(|object| (object.value.clone(), with_api_group(&object.value, object.api_group(), new_group)))
        .collect();
    let mut regrouped: Vec<RegroupedText> = Vec::new();
    let mut old_groups: Vec<&ApiGroup> = Vec::new();
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Input) {
        let in_source = objects.iter().filter(|object| object.source == id);
        let movable = in_source.filter(|object| object.is_model() || object.is_config());
        let moving: Vec<&ParsedObject<'_>> = movable.filter(|object| object.api_group() != Some(new_group)).collect();
        if moving.is_empty() {
            continue;
        }
        old_groups.extend(moving.iter().filter_map(|object| object.api_group()));
        let mut edits = Vec::new();
        for object in &moving {
            let mut findings = Findings::new(object.scope());
            if object.is_config() {
                report_rule_conditions(object, new_group, &mut findings);
            }
            let is_patch = patches.contains(&source.name);
            let migrator = ObjectMigrator { sources, object, new_group, configs: &configs, is_patch };
            edits.extend(migrator.find_edits(&mut findings).unwrap_or_default());
            diagnostics.extend(findings.into_diagnostics());
        }
        let objects = moving.into_iter().map(ParsedObject::reference).collect();
        regrouped.push(RegroupedText { source: id, objects, text: apply_edits(&source.text, &edits) });
    }
    for object in objects.iter().filter(|object| object.is_kustomization()) {
        let mut findings = Findings::new(object.scope());
        report_kustomization_patches(object, &old_groups, new_group, &mut findings);
        diagnostics.extend(findings.into_diagnostics());
    }
    if regrouped.is_empty() && diagnostics.is_empty() {
        let message = format!("the input has no object to move to the group {}", new_group.name);
        diagnostics.push(Diagnostic::new(&codes::NOTHING_TO_MIGRATE, message));
    }
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|finding| options.adjust(finding)).collect();
    diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    GroupMigration { texts: regrouped, diagnostics }
}

/// The files that kustomizations of the input apply as patches.
struct PatchFiles(BTreeSet<String>);

impl PatchFiles {
    fn from_objects(objects: &[ParsedObject<'_>], sources: &SourceSet) -> Self {
        let kustomizations = objects.iter().filter(|object| object.is_kustomization());
        let paths = kustomizations.filter_map(|object| {
            Some(patch_files(object.composition, &sources.get(object.source).name, object.node()?))
        });
        Self(paths.flatten().collect())
    }

    fn contains(&self, name: &str) -> bool {
        self.0.contains(&normalize("", name))
    }
}

/// Reports selection rules that read labels of the old group: the labels are renamed, but the rules are not.
fn report_rule_conditions(object: &ParsedObject<'_>, new_group: &ApiGroup, findings: &mut Findings<'_>) {
    let Some(api_group) = object.api_group() else { return };
    for (index, rule) in items_at(&object.value, "/spec/selectionRules").iter().enumerate() {
        let condition = string_at(rule, "/condition").unwrap_or_default();
        if condition.contains(api_group.label_prefix) {
            let path = InferenceProviderConfig::path().spec().selection_rules().index(index).condition();
            let message = format!(
                "{path} uses the prefix {:?}, but labels and annotations of ModelDeployments now have {:?}",
                api_group.label_prefix, new_group.label_prefix
            );
            findings.report(&codes::GROUP_CHANGES, &object.document_path(&path), message).help("change the prefix");
        }
    }
}

/// Reports kustomizations that select the objects to patch by their old group.
fn report_kustomization_patches(
    object: &ParsedObject<'_>,
    old_groups: &[&ApiGroup],
    new_group: &ApiGroup,
    findings: &mut Findings<'_>,
) {
    for list in ["patches", "patchesJson6902"] {
        for (index, patch) in items_at(&object.value, &format!("/{list}")).iter().enumerate() {
            let is_old = |group: &str| old_groups.iter().any(|api_group| api_group.name == group);
            let at = FieldPath::parse(list).index(index);
            if string_at(patch, "/target/group").is_some_and(is_old) {
                let path = at.key("target").key("group");
                let message = format!(
                    "{path} is the old API group, which no longer matches any object; the new group is {}",
                    new_group.name
                );
                findings.report(&codes::GROUP_CHANGES, &object.document_path(&path), message).help("change the group");
            }
            let names_old = |patch: &str| old_groups.iter().any(|api_group| patch.contains(&api_group.api_version()));
            if string_at(patch, "/patch").is_some_and(names_old) {
                let path = at.key("patch");
                let message = format!(
                    "{path} is for an object of the old API group; its apiVersion is now {}",
                    new_group.api_version()
                );
                findings
                    .report(&codes::GROUP_CHANGES, &object.document_path(&path), message)
                    .help("change the apiVersion");
            }
        }
    }
}

/// Migrates one object.
struct ObjectMigrator<'c> {
    sources: &'c SourceSet,
    object: &'c ParsedObject<'c>,
    new_group: &'static ApiGroup,
    /// The provider configurations of the input, in the old and in the new group.
    configs: &'c [(Value, Value)],
    /// Whether a kustomization applies the object as a patch, which is incomplete.
    is_patch: bool,
}

impl ObjectMigrator<'_> {
    /// Returns the edits that move the object, or `None` after reporting the reason.
    fn find_edits(&self, findings: &mut Findings<'_>) -> Option<Vec<TextEdit>> {
        let api_group = self.object.api_group();
        let regrouped = with_api_group(&self.object.value, api_group, self.new_group);
        let additions = if self.object.is_model() && !self.is_patch {
            self.find_additions(&regrouped, findings)?
        } else {
            Vec::new()
        };
        if let Ok(edits) = self.edits_in_place(&additions) {
            return Some(edits);
        }
        // Anchors, tags or unusual keys prevent edits in place, so the whole object is rewritten.
        let is_item = !self.object.base.segments().is_empty();
        let migrated = additions.iter().fold(regrouped, |object, addition| with_field(&object, addition));
        let Some(edits) = self.replacing_edits(migrated).ok().filter(|_| !is_item) else {
            let (message, help) = if is_item {
                ("the item of a list cannot be edited in place", "make the item a document of its own")
            } else {
                (
                    "the object cannot be edited in place, because of its anchors",
                    "replace the aliases by the values that they stand for",
                )
            };
            findings.report(&codes::GROUP_REFUSED, &self.object.base, message).help(help);
            return None;
        };
        let message = "the object cannot be edited in place; it is rewritten, and its comments are lost";
        findings.report(&codes::COMMENTS_LOST, &self.object.base, message);
        Some(edits)
    }

    /// Returns edits that keep all other text unchanged.
    fn edits_in_place(&self, additions: &[AddedField]) -> Result<Vec<TextEdit>, EditError> {
        let style = EditStyle { values: ValueStyle::Flow, placement: Placement::First };
        let mut editor = self.object.editor().with_style(style);
        editor.set(&self.object.document_path(&FieldPath::parse("apiVersion")), self.new_group.api_version())?;
        if let (Some(api_group), Some(node)) = (self.object.api_group(), self.object.node()) {
            for path in prefixed_key_maps() {
                for entry in node.at(&path).map(Node::entries).unwrap_or_default() {
                    if let Some(name) = entry.key.strip_prefix(api_group.label_prefix) {
                        let field = path.key(entry.key.clone().into_owned());
                        editor.rename(&self.object.document_path(&field), self.new_group.label(name))?;
                    }
                }
            }
        }
        for AddedField { field, value } in additions {
            editor.set(&self.object.document_path(field), value.clone())?;
        }
        Ok(editor.finish(&Limits::default())?.edits)
    }

    /// Returns edits that replace the whole document.
    fn replacing_edits(&self, object: Value) -> Result<Vec<TextEdit>, EditError> {
        let mut editor = self.object.editor();
        editor.set(&FieldPath::root(), object)?;
        Ok(editor.finish(&Limits::default())?.edits)
    }

    /// Returns the fields that must be written out so that the object renders as before: the required fields, and those
    /// optional ones that make the rendering more similar. Reports the differences that remain. Returns `None` after
    /// reporting why the object cannot be rendered.
    fn find_additions(&self, regrouped: &Value, findings: &mut Findings<'_>) -> Option<Vec<AddedField>> {
        let mut old: Vec<&Value> = self.configs.iter().map(|(before, _)| before).collect();
        old.push(&self.object.value);
        let before = compile_with(self.object.composition, self.sources, &old, Thoroughness::Everything);
        if before.has_errors() {
            self.report_refusal("is not valid as it is", &before, findings);
            return None;
        }
        let compile_after = |additions: &[AddedField]| {
            let new = additions.iter().fold(regrouped.clone(), |object, addition| with_field(&object, addition));
            let mut documents: Vec<&Value> = self.configs.iter().map(|(_, after)| after).collect();
            documents.push(&new);
            compile_with(self.object.composition, self.sources, &documents, Thoroughness::Everything)
        };
        let mut additions = required_fields(&before);
        let mut after = compile_after(&additions);
        let mut count = self.rendered_differences(&before, &after).map(|changes| changes.len());
        // Whether a default matters depends on the provider and the other fields. Each one is therefore tried, and kept
        // only if fewer differences remain.
        for addition in self.optional_fields(&before) {
            let extended: Vec<AddedField> = additions.iter().cloned().chain([addition]).collect();
            let extended_after = compile_after(&extended);
            let extended_count = self.rendered_differences(&before, &extended_after).map(|changes| changes.len());
            if extended_count.is_some_and(|extended| count.is_none_or(|count| extended < count)) {
                (additions, after, count) = (extended, extended_after, extended_count);
            }
        }
        let Some(changes) = self.rendered_differences(&before, &after) else {
            self.report_refusal(&format!("is not accepted in {}", self.new_group.name), &after, findings);
            return None;
        };
        for change in changes {
            findings
                .report(&codes::GROUP_CHANGES, &self.object.base, change)
                .help("check that this is acceptable, or patch the rendered object");
        }
        Some(additions)
    }

    /// Returns the fields that may have to be written out: the defaults of the old group.
    fn optional_fields(&self, before: &Compilation) -> Vec<AddedField> {
        let spec = || ModelDeployment::path().spec();
        let field = |path: ValuePath, value: Value| AddedField { field: path.into(), value };
        let mut optional = Vec::new();
        // This field is first, because without it there may be no provider to compare with.
        if let Some(provider) = before.decisions.iter().find_map(|decision| decision.provider()) {
            optional.push(field(spec().provider().name(), json!(provider)));
        }
        let enabled = self.object.api_group().and_then(|api_group| api_group.prefix_caching);
        let is_set = self.object.value.pointer("/spec/engine/enablePrefixCaching").is_some_and(Value::is_boolean);
        if let Some(enabled) = enabled.filter(|_| !is_set) {
            optional.push(field(spec().engine().enable_prefix_caching(), json!(enabled)));
        }
        let is_named = string_at(&self.object.value, "/spec/model/servedName").is_some();
        if let Some(id) = string_at(&self.object.value, "/spec/model/id").filter(|_| !is_named) {
            optional.push(field(spec().model().served_name(), json!(id)));
        }
        optional
    }

    /// Returns the differences between the renderings, one line each, or `None` if the new object has errors. The
    /// default served name of an engine is the model id, so writing it out is not a difference.
    fn rendered_differences(&self, before: &Compilation, after: &Compilation) -> Option<Vec<String>> {
        if after.has_errors() {
            return None;
        }
        let api_group = self.object.api_group();
        let id = string_at(&self.object.value, "/spec/model/id").unwrap_or_default();
        let default_name = format!("--served-model-name={id}");
        let mut changes = Vec::new();
        let mut unmatched: Vec<&Value> = after.outputs.iter().map(|output| &output.object).collect();
        for output in &before.outputs {
            let old = with_renamed_markers(&output.object, api_group, self.new_group);
            let is_counterpart =
                |other: &&Value| other["kind"] == old["kind"] && other["metadata"]["name"] == old["metadata"]["name"];
            let name = format!(
                "{} {}",
                string_at(&old, "/kind").unwrap_or_default(),
                string_at(&old, "/metadata/name").unwrap_or_default()
            );
            let Some(position) = unmatched.iter().position(is_counterpart) else {
                changes.push(format!("{name} is no longer rendered"));
                continue;
            };
            let new = unmatched.remove(position);
            for difference in differences(self.object.composition, &old, new, &Equivalents::default()) {
                let path = difference.path;
                let show = |value: &Value| kubefoundry_yaml::text::shorten(&value.to_string());
                let is_default = |value: &Value| value.as_str() == Some(default_name.as_str());
                changes.push(match (&difference.original, &difference.rendered) {
                    (None, Some(new)) if is_default(new) => continue,
                    (Some(old), Some(new)) => format!("{path} of {name} changes from {} to {}", show(old), show(new)),
                    (Some(old), None) => format!("{path} of {name}, {}, is removed", show(old)),
                    (_, new) => format!("{name} also gets {path}: {}", new.as_ref().map(show).unwrap_or_default()),
                });
            }
        }
        changes.extend(unmatched.iter().map(|new| {
            let text = |pointer| string_at(new, pointer).unwrap_or_default();
            format!("{} {} is added", text("/kind"), text("/metadata/name"))
        }));
        Some(changes)
    }

    /// Reports the errors of a run in one finding, with the first help among them.
    fn report_refusal(&self, problem: &str, run: &Compilation, findings: &mut Findings<'_>) {
        let message = format!("{} {problem}: {}", self.object.reference(), joined_messages(&run.diagnostics));
        let mut errors = run.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let help = errors.find_map(|error| error.help.clone());
        let reported = findings.report(&codes::GROUP_REFUSED, &self.object.base, message);
        if let Some(help) = help {
            reported.help(help);
        }
    }
}

/// Returns the paths of the maps whose keys can start with the prefix of a kubefoundry API group.
fn prefixed_key_maps() -> [FieldPath; 4] {
    let pod_metadata = || ModelDeployment::path().spec().pod_template().metadata();
    [
        metadata().labels().into(),
        metadata().annotations().into(),
        pod_metadata().labels().into(),
        pod_metadata().annotations().into(),
    ]
}

/// A field to add, with its value.
#[derive(Debug, Clone, PartialEq)]
struct AddedField {
    field: FieldPath,
    value: Value,
}

/// Returns the fields that a group with fewer defaults requires: the engine if it was derived, and a GPU count above
/// zero if it was a default.
fn required_fields(before: &Compilation) -> Vec<AddedField> {
    use kubefoundry_deployment::ir::FieldOrigin;
    let fields = before.decisions.iter().flat_map(|decision| &decision.fields);
    let required = fields.filter_map(|field| {
        let spec = || ModelDeployment::path().spec();
        let conditions = [
            (spec().engine().engine_type(), field.origin == FieldOrigin::Derived),
            (spec().resources().gpu().count(), field.origin == FieldOrigin::Defaulted && field.value != "0"),
        ];
        let (path, _) =
            conditions.into_iter().find(|(path, is_required)| *is_required && path.to_string() == field.path)?;
        // Both values are written as JSON, and one that were not would be shown as it is.
        let value = serde_json::from_str(&field.value).unwrap_or_else(|_| Value::from(field.value.as_str()));
        Some(AddedField { field: path.into(), value })
    });
    required.collect()
}

/// Returns an object with an additional field.
fn with_field(object: &Value, addition: &AddedField) -> Value {
    let mut object = object.clone();
    let mut at = &mut object;
    for segment in addition.field.segments() {
        let Segment::Key(key) = segment else { return object };
        if !at.is_object() {
            *at = json!({});
        }
        let Some(fields) = at.as_object_mut() else { return object };
        at = fields.entry(&**key).or_insert(Value::Null);
    }
    *at = addition.value.clone();
    object
}

/// Returns an object with the `apiVersion`, labels and annotations of another group.
fn with_api_group(object: &Value, from: Option<&'static ApiGroup>, to: &ApiGroup) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(to.api_version());
    let Some(from) = from else { return object };
    for path in prefixed_key_maps() {
        rename_keys(&mut object, &path.json_pointer(), from, to);
    }
    object
}

/// Renames the keys of a mapping that start with the prefix of the old group. Their order stays.
fn rename_keys(object: &mut Value, pointer: &str, from: &ApiGroup, to: &ApiGroup) {
    let Some(entries) = object.pointer_mut(pointer).and_then(Value::as_object_mut) else { return };
    let renamed = std::mem::take(entries).into_iter().map(|(key, value)| match key.strip_prefix(from.label_prefix) {
        Some(name) => (to.label(name), value),
        None => (key, value),
    });
    *entries = renamed.collect();
}

/// Returns a rendered object with the labels and annotations of another group.
fn with_renamed_markers(object: &Value, from: Option<&'static ApiGroup>, to: &ApiGroup) -> Value {
    let mut object = object.clone();
    let Some(from) = from else { return object };
    for path in [metadata().labels(), metadata().annotations()] {
        rename_keys(&mut object, &path.json_pointer(), from, to);
    }
    let manager = to.label("managed-by");
    if let Some(value) = object.pointer_mut("/metadata/labels").and_then(|labels| labels.get_mut(&manager)) {
        *value = json!(to.manager);
    }
    object
}
