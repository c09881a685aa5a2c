//! Compares skeletons with the dumps that they were reduced from, by the findings of both for mutated objects. It also
//! checks what a skeleton omits: rendered objects break no rule of a dump, and the list of transition rules is
//! complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kubefoundry_compiler::codes;
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_crd::Crds;
use kubefoundry_crd::upstream;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::reduced_crd::ReducedCrd;
use super::{Crd, entries, read_crds};
use crate::Failure;
use crate::files::{read, workspace};

/// The number of mutated objects that are compared.
const OBJECTS: usize = 1_000;
/// The maximum number of mutations of one object.
const MAX_CHANGES: usize = 3;
/// The file name for both, because messages contain it.
const NAME: &str = "crd.yaml";
/// The list of the rules that read `oldSelf`, relative to the project root.
const TRANSITION_RULES: &str = "testdata/upstream/transition-rules.yaml";

/// Objects by their `apiVersion` and kind.
type Objects = BTreeMap<(String, String), Vec<Value>>;

/// A dump, its skeleton, and objects to mutate.
struct Pair {
    name: String,
    dump: SourceSet,
    skeleton: SourceSet,
    objects: Vec<Value>,
    /// Rendered objects that the newest CRD of the kind must accept, rules included.
    rendered: Vec<Value>,
}

/// The number of objects by result.
#[derive(Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    by_rules: usize,
}

/// Compares every dump in a folder with its skeleton: their structure, and their findings for [`OBJECTS`] mutated
/// objects. They may differ only where a rule of the dump refuses an object, because a skeleton has no rules.
pub(super) fn run(folder: &Path) -> Result<String, Failure> {
    let pairs = read_pairs(folder)?;
    let (with_objects, without): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|pair| !pair.objects.is_empty());
    if with_objects.is_empty() {
        return Err(Failure::Broken("the folder has no dump of a kind that is rendered".to_owned()));
    }
    let readers: Vec<(Crds<'_>, Crds<'_>)> = with_objects
        .iter()
        .map(|pair| {
            (
                kubefoundry_crd::Crds::from_sources(&pair.dump, BUILTIN.crd_kinds()).0,
                kubefoundry_crd::Crds::from_sources(&pair.skeleton, BUILTIN.crd_kinds()).0,
            )
        })
        .collect();
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let mut tally = Tally::default();
    for (pair, readers) in with_objects.iter().zip(&readers) {
        for object in &pair.objects {
            compare(&pair.name, readers, object, &mut tally)?;
        }
        for object in &pair.rendered {
            if let Some(found) = readers.0.check(object).first() {
                let object = yaml::to_yaml_stream([object]);
                return Err(Failure::Unmet(format!("{} {}\n{object}", found.code.id, found.message)));
            }
        }
    }
    let unchanged = tally.accepted + tally.refused + tally.by_rules;
    let mut tally = Tally::default();
    for (pair, readers) in with_objects.iter().zip(&readers).cycle().take(OBJECTS) {
        let mut object = pair.objects[pick(&mut runner, pair.objects.len())].clone();
        for _ in 0..=pick(&mut runner, MAX_CHANGES) {
            mutate(&mut object, &mut runner);
        }
        compare(&pair.name, readers, &object, &mut tally)?;
    }
    let Tally { accepted, refused, by_rules } = tally;
    let names = |pairs: &[Pair]| pairs.iter().map(|pair| pair.name.as_str()).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "{OBJECTS} mutated objects ({unchanged} before their mutation): dump and skeleton accept {accepted} and refuse \
         {refused}; rules of the dump alone refuse {by_rules}\nkinds: {}\nwithout objects, structure compared: {}\n",
        names(&with_objects),
        names(&without)
    ))
}

/// Returns every dump of the folder with its skeleton, after checking that both have the same structure.
fn read_pairs(folder: &Path) -> Result<Vec<Pair>, Failure> {
    let (objects, rendered) = case_objects()?;
    let crds = read_crds(Some(folder))?;
    let mut pairs = Vec::new();
    for crd in crds.iter().filter(|crd| crd.is_read) {
        let same =
            |other: &&Crd| (&other.reduced.group, &other.reduced.kind) == (&crd.reduced.group, &crd.reduced.kind);
        let is_newest = crds.iter().filter(same).all(|other| other.fact.age <= crd.fact.age);
        let path = folder.join(&crd.fact.dump);
        let text = read(&path)?;
        if is_newest {
            compare_transition_rules(crd, &super::parse_definition(&text, &path)?)?;
        }
        let is_it = |skeleton: &upstream::Skeleton| {
            skeleton.origin().commit == crd.fact.commit && skeleton.origin().path == crd.fact.path
        };
        let skeleton = upstream::skeletons().find(is_it);
        let skeleton = skeleton.ok_or_else(|| Failure::Unmet(format!("{} has no skeleton", crd.fact.dump)))?;
        let printed = skeleton.to_crd().map_err(|error| Failure::Broken(error.to_string()))?;
        if ReducedCrd::from_skeleton(&printed, crd.reduced.rules).as_ref() != Ok(&crd.reduced) {
            return Err(Failure::Unmet(format!("the skeleton of {} does not match its dump", crd.fact.dump)));
        }
        let sources = |text: String| {
            let mut sources = SourceSet::default();
            sources.add_for(Purpose::Crds, NAME, text);
            sources
        };
        let dump = sources(text);
        let skeleton = sources(yaml::to_yaml_stream([&printed]));
        let (group, kind) = (&crd.reduced.group, &crd.reduced.kind);
        let definitions = kubefoundry_crd::Crds::from_sources(&skeleton, BUILTIN.crd_kinds()).0;
        let found = definitions.find(group, kind).map_err(|problem| Failure::Unmet(problem.diagnostic().message))?;
        let served: Vec<String> =
            found.into_iter().flat_map(|found| found.served_versions().map(str::to_owned)).collect();
        let of_kind = |all: &Objects| -> Vec<Value> {
            let of = |version: &String| all.get(&(format!("{group}/{version}"), kind.clone()));
            served.iter().filter_map(of).flatten().cloned().collect()
        };
        let rendered = if is_newest { of_kind(&rendered) } else { Vec::new() };
        pairs.push(Pair { name: crd.fact.dump.clone(), dump, skeleton, objects: of_kind(&objects), rendered });
    }
    Ok(pairs)
}

/// Fails if [`TRANSITION_RULES`] does not list exactly the rules of a CRD that read `oldSelf`.
fn compare_transition_rules(crd: &Crd, dump: &Value) -> Result<(), Failure> {
    let path = workspace().join(TRANSITION_RULES);
    let text = read(&path)?;
    let known = yaml::parse(&text, &yaml::Limits::default());
    let known = known.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
    let kind = format!("{}/{}", crd.reduced.group, crd.reduced.kind);
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let rules = known.get("rules").and_then(Value::as_array).into_iter().flatten();
    let known: BTreeSet<(String, String)> =
        rules.filter(|rule| text(rule, "kind") == kind).map(|rule| (text(rule, "version"), text(rule, "at"))).collect();
    let mut found = BTreeSet::new();
    for version in dump.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
        let mut places = Vec::new();
        collect_transition_rules(version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null), "", &mut places);
        found.extend(places.into_iter().map(|place| (text(version, "name"), place)));
    }
    if found == known {
        return Ok(());
    }
    Err(Failure::Unmet(format!("{TRANSITION_RULES} lists {known:?} for {kind}, but the dump has {found:?}")))
}

/// Collects the paths of a schema with a rule that reads `oldSelf`: steps with dots between them, `*` for any key or
/// item.
fn collect_transition_rules(schema: &Value, at: &str, out: &mut Vec<String>) {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    let reads_old = |rule: &Value| {
        rule.get("rule").and_then(Value::as_str).is_some_and(|expression| expression.contains("oldSelf"))
    };
    out.extend(rules.filter(|rule| reads_old(rule)).map(|_| at.to_owned()));
    let below = |step: &str| if at.is_empty() { step.to_owned() } else { format!("{at}.{step}") };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        collect_transition_rules(property, &below(name), out);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(keyword) {
            collect_transition_rules(schema, &below("*"), out);
        }
    }
}

/// Returns the objects of all examples and goldens, both input and rendered, and separately the rendered objects of the
/// cases without errors. Cases that bring their own CRDs are left out of the second group, because they test those
/// CRDs.
fn case_objects() -> Result<(Objects, Objects), Failure> {
    let mut folders = entries(&workspace().join("examples"))?;
    for group in entries(&workspace().join("testdata/golden"))? {
        folders.extend(entries(&group)?);
    }
    folders.sort();
    let (mut objects, mut error_free) = (Objects::new(), Objects::new());
    let key = |object: &Value| {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        (text("apiVersion"), text("kind"))
    };
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let mut sources = SourceSet::default();
        let mut all = Vec::new();
        let mut files = entries(folder)?;
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
            let is_options = path.file_name().is_some_and(|name| name == "kubefoundry.yaml");
            let Ok(text) = read(path) else { continue };
            let documents = yaml::parse(&text, &yaml::Limits::default()).documents;
            all.extend(documents.iter().map(|document| document.root.to_json()));
            let purpose = if is_options { Purpose::Options } else { Purpose::Input };
            sources.add_for(purpose, path.display().to_string(), text);
        }
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Everything);
        let is_error_free = !compilation.has_errors() && !folder.join("crds").exists();
        for output in compilation.outputs {
            if is_error_free && output.is_generated() {
                error_free.entry(key(&output.object)).or_default().push(output.object.clone());
            }
            all.push(output.object);
        }
        for object in all {
            objects.entry(key(&object)).or_default().push(object);
        }
    }
    Ok((objects, error_free))
}

/// Compares the findings of a dump and its skeleton for an object, and counts the result.
///
/// # Errors
/// If they differ by more than the rules of the dump.
fn compare(
    name: &str,
    (dump, skeleton): &(Crds<'_>, Crds<'_>),
    object: &Value,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let of_rules = [&codes::CRD_RULE_VIOLATED, &codes::CRD_RULE_NOT_EVALUATED];
    let (rules, dump): (Vec<_>, Vec<_>) =
        dump.check(object).into_iter().partition(|found| of_rules.contains(&found.code));
    let as_text = |found: Vec<kubefoundry_diagnostics::Diagnostic>| -> BTreeSet<String> {
        found.into_iter().map(|found| format!("{} {}", found.code.id, found.message)).collect()
    };
    let (dump, skeleton) = (as_text(dump), as_text(skeleton.check(object)));
    if dump != skeleton {
        return Err(Failure::Unmet(format!(
            "{name}\n{}findings of the dump: {dump:#?}, of the skeleton: {skeleton:#?}",
            yaml::to_yaml_stream([object])
        )));
    }
    let is_refused_by_rules = rules.iter().any(|found| *found.code == codes::CRD_RULE_VIOLATED);
    match (dump.is_empty(), is_refused_by_rules) {
        (true, false) => tally.accepted += 1,
        (true, true) => tally.by_rules += 1,
        (false, _) => tally.refused += 1,
    }
    Ok(())
}

/// Removes, renames, adds, repeats or replaces one random value of an object.
fn mutate(object: &mut Value, runner: &mut TestRunner) {
    let mut places = Vec::new();
    collect_pointers(object, &mut String::new(), &mut places);
    let Some(place) = places.get(pick(runner, places.len())) else { return };
    let Some((parent, key)) = place.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(5_000_000_000_i64),
        json!(0.5),
        json!(""),
        json!("Some text!"),
        json!("7"),
        json!([]),
        json!([1, 1]),
        json!({}),
        json!({"unknown": "a"}),
    ];
    let other = others[pick(runner, others.len())].clone();
    match (pick(runner, 4), object.pointer_mut(parent)) {
        (0, Some(Value::Object(fields))) => {
            fields.remove(&key);
        }
        (1, Some(Value::Object(fields))) => {
            if let Some(value) = fields.remove(&key) {
                fields.insert(format!("{key}X"), value);
            }
        }
        (2, Some(Value::Object(fields))) => {
            fields.insert("unknown".to_owned(), other);
        }
        (0..=2, Some(Value::Array(items))) => {
            if let Some(item) = key.parse().ok().and_then(|position: usize| items.get(position)).cloned() {
                items.push(item);
            }
        }
        _ => {
            if let Some(value) = object.pointer_mut(place) {
                *value = other;
            }
        }
    }
}

/// Collects the JSON pointer of every value.
fn collect_pointers(value: &Value, at: &mut String, out: &mut Vec<String>) {
    let steps: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in steps {
        let length = at.len();
        at.push('/');
        at.push_str(&step);
        out.push(at.clone());
        collect_pointers(value, at, out);
        at.truncate(length);
    }
}

/// Returns a random number below a limit, or 0 if the limit is 0.
fn pick(runner: &mut TestRunner, limit: usize) -> usize {
    (0..limit.max(1)).new_tree(runner).map_or(0, |tree| tree.current())
}
