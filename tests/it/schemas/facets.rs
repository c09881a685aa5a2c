//! Every declared facet is enforced: `lint` reports a violation exactly once, and our CRD refuses it.

use kubefoundry_actor::AsyncActor;
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::{InferenceProviderConfig, ModelDeployment};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::wire::{Describe, Facet, FieldShape, ObjectShape, Shape, Syntax};
use kubefoundry_llamastack::wire::LlamaStackDistribution;
use kubefoundry_yaml as yaml;
use serde_json::{Map, Value, json};

use super::crd::{CRDS, Crd, patched};
use super::documents;
use crate::common::compile_all;

/// A step from an object to one of its fields, or into the first entry of a list or a mapping with free keys.
#[derive(Debug, Clone)]
enum Step {
    Field(&'static str),
    Item,
    Entry,
}

/// A field and its position.
struct Place {
    steps: Vec<Step>,
    field: &'static FieldShape,
}

/// Collects the input fields of an object, including nested ones.
fn places(shape: &Shape, steps: &[Step], all: &mut Vec<Place>) {
    match shape {
        Shape::Object(object) => {
            for field in object.fields {
                let steps = [steps, &[Step::Field(field.key)]].concat();
                if is_input(object, field) {
                    all.push(Place { steps: steps.clone(), field });
                    places(&field.full_shape(), &steps, all);
                }
            }
        }
        Shape::List(item) => places(item, &[steps, &[Step::Item]].concat(), all),
        Shape::Map(value) => places(value, &[steps, &[Step::Entry]].concat(), all),
        Shape::OneOf(shapes) => shapes.iter().for_each(|shape| places(shape, steps, all)),
        _ => {}
    }
}

/// Returns whether a field is input. A status is not, and neither are `apiVersion` and `kind`, without which a document
/// has no fields to check.
fn is_input(object: &ObjectShape, field: &FieldShape) -> bool {
    let is_root = object.field("kind").is_some() && object.field("metadata").is_some();
    !(is_root && matches!(field.key, "status" | "apiVersion" | "kind"))
}

/// Returns the value at the steps, if the document has it.
fn at<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(key) => value.get_mut(*key),
        Step::Item => value.get_mut(0),
        Step::Entry => value.as_object_mut()?.values_mut().next(),
    })
}

/// Violates a facet of a field in a valid object.
fn break_facet(facet: Facet, place: &Place, object: &mut Value) {
    let facets = &place.field.facets;
    let (parent, key) = (&place.steps[..place.steps.len() - 1], place.field.key);
    let fields = at(object, parent).and_then(Value::as_object_mut).unwrap();
    let value = fields.entry(key).or_insert(Value::Null);
    match facet {
        Facet::Required => drop(fields.remove(key)),
        Facet::Minimum => *value = json!(facets.minimum.unwrap() - 1),
        Facet::Maximum => *value = json!(facets.maximum.unwrap() + 1),
        Facet::MaxLength => {
            let character = if facets.syntax == Some(Syntax::Quantity) { "1" } else { "a" };
            *value = json!(character.repeat(facets.max_text_length().unwrap() + 1));
        }
        Facet::MaxItems => {
            let first = value[0].clone();
            let copy = |index: usize| distinct(&first, facets.list_key, index);
            *value = (0..=facets.max_items.unwrap()).map(copy).collect();
        }
        Facet::MaxEntries => {
            let first = value.as_object().unwrap().values().next().unwrap().clone();
            let entry = |index: usize| (format!("key{index}"), first.clone());
            *value = Value::Object((0..=facets.max_entries.unwrap()).map(entry).collect::<Map<_, _>>());
        }
        Facet::ListKey => {
            let key = facets.list_key.unwrap();
            let mut copy = distinct(&value[0], None, 1);
            copy[key] = value[0][key].clone();
            value.as_array_mut().unwrap().push(copy);
        }
        // No syntax and no enum accepts this text.
        Facet::Syntax | Facet::AllowedValues => *value = json!("="),
    }
}

/// Returns a copy of an item with different values for keys that must be unique.
fn distinct(entry: &Value, list_key: Option<&str>, index: usize) -> Value {
    let mut copy = entry.clone();
    for key in [list_key.unwrap_or_default(), "mountPath", "claimName"] {
        if let Some(text) = copy.get(key).and_then(Value::as_str) {
            copy[key] = json!(format!("{text}{index}"));
        }
    }
    copy
}

/// Returns the errors of a document or of options.
fn errors(purpose: Purpose, object: &Value) -> Vec<Diagnostic> {
    let mut sources = SourceSet::default();
    sources.add("model.yaml", MODEL);
    if purpose == Purpose::Input {
        sources.add_for(Purpose::Options, "options.yaml", TRANSPORT);
    }
    sources.add_for(purpose, "facets.yaml", yaml::to_yaml_stream(std::slice::from_ref(object)));
    let found = compile_all(&sources).diagnostics;
    found.into_iter().filter(|found| found.severity == Severity::Error).collect()
}

/// The options with the transport of the actors.
const TRANSPORT: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nactor:\n  runtimeScript: a\n  \
                         transports: {rabbitmq: {type: rabbitmq, enabled: true, config: {host: a, port: 5672}}}\n";

/// An input to which options and configurations apply.
const MODEL: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: other}\n\
                     spec: {model: {id: a/b}, engine: {type: vllm}, resources: {gpu: {count: 1}}}\n";

/// Findings that follow from a violation but are not about the facet: the field, the code, and the reason.
const CONSEQUENCES: &[(&str, &str, &str)] = &[
    ("spec", "KF0208", "without a specification everything is missing that one must have"),
    ("metadata", "KF2006", "a distribution without metadata is in no namespace, and what it names is in one"),
    ("namespace", "KF2006", "what a distribution names is in another namespace then"),
    ("namespace", "KF2009", "what a distribution names is in another namespace then"),
    ("configMapNamespace", "KF2009", "the ConfigMap of another namespace is not in the input"),
    ("name", "KF0124", "a mount of that name has no volume"),
];

/// Returns whether a finding is a consequence of violating a facet of this field.
fn is_consequence(place: &Place, found: &Diagnostic) -> bool {
    CONSEQUENCES.iter().any(|(field, code, _)| *field == place.field.key && *code == found.code.id)
}

/// Returns whether a field is not checked in objects of a kind, or whether an object without it is ignored.
fn is_exempt(kind: &str, place: &Place, facet: Facet) -> bool {
    let keys: Vec<&str> =
        place.steps.iter().filter_map(|step| if let Step::Field(key) = step { Some(*key) } else { None }).collect();
    match (kind, keys.as_slice()) {
        // Options are not an object of a cluster, and a configuration has no namespace.
        ("Render", ["metadata", ..] | ["providers", "metadata", "namespace"])
        | ("InferenceProviderConfig", ["metadata", "namespace"]) => true,
        // A distribution without external providers is ignored.
        ("LlamaStackDistribution", ["spec"] | ["spec", "server"]) => facet == Facet::Required,
        _ => false,
    }
}

/// Violates every facet of a kind and returns their number. `refuses` asks our CRD, if it declares the field.
fn check(
    kind: &str,
    shape: &Shape,
    under: &[Step],
    text: &str,
    refuses: impl Fn(&[Step], &Value) -> Option<bool>,
) -> usize {
    let purpose = if kind == "Render" { Purpose::Options } else { Purpose::Input };
    let objects = documents(text);
    for object in &objects {
        let errors = errors(purpose, object);
        assert!(errors.is_empty(), "{kind}: {object} is refused: {errors:#?}");
    }
    let (mut all, mut wrong, mut broken) = (Vec::new(), Vec::new(), 0);
    places(shape, under, &mut all);
    for place in &all {
        let facets = &place.field.facets;
        // The syntax check of the reader and the CRD limit the length of a text with a syntax.
        let is_limited = refuses(&place.steps, &objects[0]).is_some() && facets.syntax.is_some();
        let is_declared = |facet: &Facet| {
            facets.declares(*facet) || facets.is_checked_by_reader(*facet) || *facet == Facet::MaxLength && is_limited
        };
        for facet in Facet::ALL.into_iter().filter(is_declared).filter(|facet| !is_exempt(kind, place, *facet)) {
            let what = format!("{kind}: {facet:?} of {:?}", place.steps);
            // A value that is replaced as a whole may be absent.
            let is_replaced = matches!(
                facet,
                Facet::Minimum | Facet::Maximum | Facet::MaxLength | Facet::Syntax | Facet::AllowedValues
            );
            let parent = &place.steps[..place.steps.len() - 1];
            let has = |steps: &[Step]| objects.iter().find(|object| at(&mut (*object).clone(), steps).is_some());
            let Some(object) = has(&place.steps).or_else(|| has(parent).filter(|_| is_replaced)) else {
                wrong.push(format!("{what}: no object in tests/it/schemas/facets has the field"));
                continue;
            };
            let mut object = object.clone();
            assert_ne!(refuses(&place.steps, &object), Some(true), "{kind}: a cluster refuses {object}");
            break_facet(facet, place, &mut object);
            broken += 1;
            let mut errors = errors(purpose, &object);
            let rule = place.field.facets.checking_code(facet);
            if errors.len() > 1 {
                errors.retain(|found| !is_consequence(place, found));
            }
            // In options, a check of a shared type reports the code of options.
            let is_of_rule = |found: &Diagnostic| kind == "Render" || rule.is_none_or(|rule| rule.id == found.code.id);
            let expected = errors.len() == 1 && errors.iter().all(is_of_rule);
            if !expected {
                let found: Vec<String> = errors.iter().map(|it| format!("{}: {}", it.code.id, it.message)).collect();
                wrong.push(format!(
                    "{what}: lint reports {found:#?}, expected one error, by {:?}",
                    rule.map(|it| it.id)
                ));
            }
            if refuses(&place.steps, &object) == Some(false) {
                wrong.push(format!("{what}: our CRD accepts it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    broken
}

/// Returns a function that asks a CRD. The API server itself checks metadata.
fn refused_by(crd: &Crd) -> impl Fn(&[Step], &Value) -> Option<bool> {
    |steps, object| {
        let is_metadata = matches!(steps, [Step::Field("metadata"), _, ..]);
        (!is_metadata).then(|| !crd.refusals(object).is_empty())
    }
}

#[test]
fn facets_of_model_deployments_are_enforced() {
    let crd = &CRDS[&("kubefoundry.ai", "ModelDeployment")];
    let text = include_str!("facets/modeldeployment.yaml");
    let broken = check("ModelDeployment", &ModelDeployment::SHAPE, &[], text, refused_by(crd));
    assert!(broken > 70, "{broken}");
}

#[test]
fn facets_of_provider_overrides_are_enforced() {
    let under = [Step::Field("spec"), Step::Field("provider"), Step::Field("overrides")];
    let mut broken = 0;
    for provider in PROVIDERS {
        let texts: Vec<Value> = documents(include_str!("facets/overrides.yaml"))
            .into_iter()
            .filter(|object| object["spec"]["provider"]["name"] == provider.name())
            .collect();
        let name = provider.name();
        assert!(!texts.is_empty(), "add a deployment for {name} to tests/it/schemas/facets/overrides.yaml");
        // The CRD accepts any overrides.
        broken +=
            check(provider.name(), &provider.info().overrides, &under, &yaml::to_yaml_stream(&texts), |_, _| None);
    }
    assert!(broken >= 7, "{broken}");
}

#[test]
fn facets_of_provider_configurations_are_enforced() {
    let crd = &CRDS[&("kubefoundry.ai", "InferenceProviderConfig")];
    let text = include_str!("facets/inferenceproviderconfig.yaml");
    let refuses = refused_by(crd);
    let broken = check("InferenceProviderConfig", &InferenceProviderConfig::SHAPE, &[], text, |steps, object| {
        // A structural schema cannot describe an item that is a string or an object.
        let is_described = !steps.iter().any(|step| matches!(step, Step::Field("engines"))) || steps.len() < 4;
        if is_described { refuses(steps, object) } else { None }
    });
    assert!(broken > 5, "{broken}");
}

#[test]
fn facets_of_actors_are_enforced() {
    let crd = Crd::from_file("asya.sh_asyncactors.yaml");
    let text = include_str!("facets/asyncactor.yaml");
    let broken = check("AsyncActor", &AsyncActor::SHAPE, &[], text, refused_by(&crd));
    assert!(broken > 40, "{broken}");
}

/// Our part of the CRD covers external providers only.
#[test]
fn facets_of_distributions_are_enforced() {
    let text = include_str!("facets/llamastackdistribution.yaml");
    let crd = Crd::from_schema(patched("/externalProviders"));
    let under = ["spec", "server", "externalProviders"];
    let broken = check("LlamaStackDistribution", &LlamaStackDistribution::SHAPE, &[], text, |steps, object| {
        let is_ours = steps.iter().zip(under).all(|(step, key)| matches!(step, Step::Field(it) if *it == key));
        let providers = &object["spec"]["server"]["externalProviders"];
        (is_ours && steps.len() > under.len()).then(|| crd.refuses_part(providers))
    });
    assert!(broken > 80, "{broken}");
}

#[test]
fn facets_of_options_are_enforced() {
    let text = include_str!("facets/render.yaml");
    let broken = check("Render", &kubefoundry_compiler::options::render::shape(&BUILTIN), &[], text, |_, _| None);
    assert!(broken > 10, "{broken}");
}

/// Three objects that a cluster refuses and that `lint` once accepted.
#[test]
fn values_that_a_cluster_refuses_are_errors() {
    let long = format!("id: a/b, storage: {{volumes: [{{name: v, claimName: c, mountPath: /{}}}]}}", "x".repeat(1024));
    let port = format!("containerSpec: {{port: 0}}, {}", external_providers(1));
    let texts = [
        (
            MODEL.replace("id: a/b", &long),
            "spec.model.storage.volumes[0].mountPath has 1025 characters, expected at most 1024",
        ),
        (distribution(&port), "spec.server.containerSpec.port is 0, expected a port from 1 to 65535"),
        (
            distribution(&external_providers(65)),
            "spec.server.externalProviders.inference has 65 entries, expected at most 64",
        ),
    ];
    for (text, message) in texts {
        let mut object = documents(&text).remove(0);
        object["metadata"]["name"] = json!("refused");
        let errors = errors(Purpose::Input, &object);
        assert_eq!(errors.iter().map(|found| found.message.as_str()).collect::<Vec<_>>(), [message]);
    }
}

fn distribution(fields: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {{name: s}}\n\
         spec: {{server: {{distribution: {{image: 'a:1'}}, {fields}}}}}\n"
    )
}

/// Returns providers of one API.
fn external_providers(count: usize) -> String {
    let provider = |index| format!("{{providerId: p{index}, image: 'a@sha256:{}'}}", "a".repeat(64));
    format!("externalProviders: {{inference: [{}]}}", (0..count).map(provider).collect::<Vec<_>>().join(", "))
}
