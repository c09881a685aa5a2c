//! Raw patches that give a rendering what only the imported objects have (`import --patches`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::compare::{FieldDifference, comparable_form, differences, parse_mapping};
use kubefoundry_analysis::trace::field_change::FieldChange;
use kubefoundry_deployment::wire::SharedOverrides;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_engines::{CommandLine, flags_from_argv};
use kubefoundry_model::composition::Composition;
use kubefoundry_model::patches::matched_items;
use kubefoundry_provider::draft::{Equivalents, PartRenames, is_empty_collection, string_at};
use kubefoundry_transform::read_configuration;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// The field of a RayService whose content a patch changes by a key of its own.
const SERVE_CONFIG: &str = "spec.serveConfigV2";
/// Fields by which patches match the items of lists.
const IDENTITY: [&str; 7] = ["name", "mountPath", "mountPoint", "groupName", "containerPort", "port", "protocol"];

/// The list whose items have names that a rendering may change.
const COMPONENTS: &str = "components";

/// Returns the patch that makes a rendered object equal to an imported one, as far as patches can. `None` if nothing
/// differs that a patch can change.
fn patch_of(composition: &Composition, imported: &Value, rendered: &Value, equivalents: &Equivalents) -> Option<Value> {
    let differences = differences(composition, imported, rendered, equivalents);
    if differences.is_empty() {
        return None;
    }
    let renames = &equivalents.renames;
    let mut builder = PatchBuilder { differences: &differences, renames, serve_config: None };
    let (imported, rendered) = (comparable_form(composition, imported), comparable_form(composition, rendered));
    let merge = builder.change(&FieldPath::root(), &imported, &rendered);
    let mut patch = Map::new();
    let kind = string_at(&rendered, "/kind").unwrap_or_default();
    patch.insert("target".to_owned(), json!({"kind": kind}));
    patch.extend(merge.map(|merge| ("merge".to_owned(), merge)));
    patch.extend(builder.serve_config.map(|config| ("serveConfig".to_owned(), config)));
    (patch.len() > 1).then_some(Value::Object(patch))
}

/// Builds the merge of a patch from the differences of two objects.
struct PatchBuilder<'d> {
    differences: &'d [FieldDifference],
    renames: &'d PartRenames,
    serve_config: Option<Value>,
}

impl PatchBuilder<'_> {
    /// Returns what a patch says about the value at a path. `None` if it says nothing.
    fn change(&mut self, path: &FieldPath, imported: &Value, rendered: &Value) -> Option<Value> {
        if !self.differs_at(path) {
            return None;
        }
        match (imported, rendered) {
            (Value::Object(imported), Value::Object(rendered)) => self.change_fields(path, imported, rendered),
            (Value::Array(imported), Value::Array(rendered)) => self.change_items(path, imported, rendered),
            (Value::String(imported), Value::String(rendered)) if path.to_string() == SERVE_CONFIG => {
                let configs = parse_mapping(imported).zip(parse_mapping(rendered));
                let (imported, rendered) = configs?;
                self.serve_config = self.change(path, &imported, &rendered);
                None
            }
            _ => Some(imported.clone()),
        }
    }

    fn change_fields(
        &mut self,
        path: &FieldPath,
        imported: &Map<String, Value>,
        rendered: &Map<String, Value>,
    ) -> Option<Value> {
        let mut changes = self.change_command(path, imported, rendered);
        let is_command = |key: &str| matches!(key, "command" | "args") && imported.contains_key("image");
        let is_mapping = path.to_string() == self.renames.mapping;
        let rendered_key = |key: &str| if is_mapping { self.renames.rendered_name(key) } else { key.to_owned() };
        let mut known = Vec::new();
        for (key, value) in imported.iter().filter(|(key, _)| !is_command(key)) {
            let (at, rendered_key) = (path.key(key.clone()), rendered_key(key));
            let change = match rendered.get(&rendered_key) {
                Some(other) => self.change(&at, value, other),
                None => self.differs_at(&at).then(|| value.clone()),
            };
            changes.extend(change.map(|change| (rendered_key.clone(), change)));
            known.push(rendered_key);
        }
        for key in rendered.keys().filter(|key| !known.contains(key) && !is_command(key)) {
            if self.differs_at(&path.key(key.clone())) {
                changes.insert(key.clone(), Value::Null);
            }
        }
        (!changes.is_empty()).then_some(Value::Object(changes))
    }

    /// Returns whether the value at a path, or a part of it, differs.
    fn differs_at(&self, path: &FieldPath) -> bool {
        self.differences.iter().any(|difference| difference.path.starts_with(path))
    }

    /// Returns what a patch says about the command line of a container. The typed fields decide most of its words, so the
    /// words stay, and what a script does besides is written around them.
    fn change_command(
        &self,
        path: &FieldPath,
        imported: &Map<String, Value>,
        rendered: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut changes = Map::new();
        let is_there = |difference: &&FieldDifference| {
            difference.path.starts_with(&path.key("command")) || difference.path.starts_with(&path.key("args"))
        };
        let own: Vec<&FieldDifference> = self.differences.iter().filter(is_there).collect();
        if own.is_empty() {
            return changes;
        }
        let read = |fields: &Map<String, Value>| CommandLine::read(&Value::Object(fields.clone()));
        let (Ok(line), Ok(other)) = (read(imported), read(rendered)) else {
            // A script that cannot be read stays as it is.
            for key in ["command", "args"] {
                changes.insert(key.to_owned(), imported.get(key).cloned().unwrap_or(Value::Null));
            }
            return changes;
        };
        if !line.left_out.is_empty() {
            let words: Vec<&String> = line.wrapper.iter().chain(&other.program).collect();
            changes.insert("command".to_owned(), json!(words));
        }
        let mut args = other.texts();
        for difference in own {
            let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
            let (given, added) = (text(&difference.original), text(&difference.rendered));
            let is_left_out = line.left_out.iter().any(|word| Some(&word.text) == given.as_ref());
            if let Some(added) = &added {
                remove_flag(&mut args, added);
            }
            args.extend(given.filter(|_| !is_left_out));
        }
        if args != other.texts() {
            changes.insert("args".to_owned(), json!(args));
        }
        changes
    }

    fn change_items(&mut self, path: &FieldPath, imported: &[Value], rendered: &[Value]) -> Option<Value> {
        let field = path.segments().last().and_then(Segment::as_key).unwrap_or_default();
        // A component may have another name in the rendering, which stays.
        let with_name = |item: &Value| {
            let mut item = item.clone();
            if field == COMPONENTS
                && let Some(name) = string_at(&item, "/name").map(|name| self.renames.rendered_name(name))
            {
                item["name"] = json!(name);
            }
            item
        };
        let imported: Vec<Value> = imported.iter().map(with_name).collect();
        let Some(matched) = matched_items(field, rendered, &imported) else {
            return Some(if imported.is_empty() { Value::Null } else { Value::Array(imported) });
        };
        let mut changes = Vec::new();
        for (index, (item, position)) in imported.iter().zip(matched).enumerate() {
            let at = path.index(index);
            // A single item on both sides can only correspond, even if its name differs.
            let position = position.or((imported.len() == 1 && rendered.len() == 1).then_some(0));
            match position.and_then(|position| rendered.get(position)) {
                Some(other) => {
                    let Some(Value::Object(mut change)) = self.change(&at, item, other) else { continue };
                    // The name in the rendering stays, because a patch cannot change it.
                    let identity =
                        IDENTITY.iter().filter_map(|key| Some(((*key).to_owned(), other.get(*key)?.clone())));
                    change.extend(identity);
                    if change.keys().all(|key| IDENTITY.contains(&key.as_str())) {
                        continue;
                    }
                    changes.push(Value::Object(change));
                }
                None => changes.push(item.clone()),
            }
        }
        (!changes.is_empty()).then_some(Value::Array(changes))
    }
}

/// Removes a flag from a command line, as a difference shows it.
fn remove_flag(args: &mut Vec<String>, shown: &str) {
    let flag = shown.trim_start_matches('-');
    let name = flag.split_once(['=', ' ']).map_or(flag, |(name, _)| name);
    let Some(position) = args.iter().position(|word| {
        word == shown || flags_from_argv(std::slice::from_ref(word)).first().is_some_and(|flag| flag.name == name)
    }) else {
        return;
    };
    args.remove(position);
}

/// Returns the patches of imported objects for their renderings, the objects of a kind together.
pub(super) fn patches_of(
    composition: &Composition,
    pairs: &[(&Value, &Value)],
    equivalents: &Equivalents,
) -> Vec<Value> {
    let kinds = pairs.iter().filter_map(|(_, rendered)| string_at(rendered, "/kind"));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind).or_default() += 1;
    }
    let mut patches = Vec::new();
    for (imported, rendered) in pairs {
        let Some(mut patch) = patch_of(composition, imported, rendered, equivalents) else { continue };
        let kind = string_at(rendered, "/kind").unwrap_or_default();
        if counts.get(kind).is_some_and(|count| *count > 1) {
            patch["target"]["name"] = rendered.pointer("/metadata/name").cloned().unwrap_or_default();
        }
        patches.push(patch);
    }
    patches
}

/// Returns a deployment without the parts of its patches at which errors are: a part of a Serve configuration gets the
/// value that is rendered without the patch. `None` if another part has an error.
pub(super) fn without_refused(deployment: &Value, errors: &[Diagnostic], unpatched: &[Value]) -> Option<Value> {
    let patches = FieldPath::from(SharedOverrides::path_of_patches());
    let place = |error: &Diagnostic| {
        let path = error.location.as_ref()?.path.clone();
        // Of a patch, only parts of the merge can be left out.
        (path.starts_with(&patches) && path.segments().len() > patches.segments().len() + 2).then_some(path)
    };
    let paths = errors.iter().map(place).collect::<Option<BTreeSet<FieldPath>>>()?;
    let mut root: Node<'static> = Node::from(deployment).to_owned_node();
    let config = unpatched.iter().find_map(|object| read_configuration(object, &FieldPath::parse(SERVE_CONFIG)));
    // Removing from the end keeps the positions of earlier items.
    let mut is_smaller = false;
    for path in paths.iter().rev() {
        let is_in_config =
            path.segments().get(patches.segments().len() + 1).and_then(Segment::as_key) == Some("serveConfig");
        let segments = path.segments().iter().skip(patches.segments().len() + 2);
        let inside = segments.fold(FieldPath::root(), |path, segment| match segment {
            Segment::Key(key) => path.with_key(key.clone()),
            Segment::Index(index) => path.with_index(*index),
        });
        let config = config.as_ref().filter(|_| is_in_config);
        let rendered = config.and_then(|config| config.pointer(&inside.json_pointer()).cloned());
        let change = match rendered {
            Some(value) => FieldChange::set(path.clone(), value),
            None => FieldChange::remove(path.clone()),
        };
        is_smaller |= change.apply(&mut root);
    }
    let mut smaller = root.to_json();
    let list = smaller.pointer_mut(&patches.json_pointer())?.as_array_mut()?;
    for patch in list.iter_mut().filter_map(Value::as_object_mut) {
        let is_rendered =
            |(key, value): (&String, &Value)| config.as_ref().and_then(|config| config.get(key)) == Some(value);
        let says_nothing =
            patch.get("serveConfig").and_then(Value::as_object).is_some_and(|own| own.iter().all(is_rendered));
        if says_nothing {
            patch.shift_remove("serveConfig");
        }
    }
    list.iter_mut().for_each(remove_empty);
    list.retain(|patch| ["merge", "serveConfig"].iter().any(|part| patch.get(*part).is_some()));
    if list.is_empty() {
        return None;
    }
    is_smaller.then_some(smaller)
}

/// Removes mappings in which nothing is left, and items of which only the identity is left.
fn remove_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_empty);
            fields.retain(|_, value| !is_empty_collection(value));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(remove_empty);
            items.retain(|item| {
                item.as_object().is_none_or(|fields| fields.keys().any(|key| !IDENTITY.contains(&key.as_str())))
            });
        }
        _ => {}
    }
}
