//! Hostile text in every text field, for every engine and mode of each provider: it is either refused with an error
//! that names the field, or arrives unchanged, and nothing else changes. The readers of the output decide what arrives:
//! the kubelet, a shell, the argument parser of an engine, a YAML reader.

use std::collections::BTreeMap;

use crate::common::argv::{Parsed, Program, dynamo_shell_quote, kubelet, shell_words};
use crate::common::start::{STARTS, Start};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_engines::flags;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// A harmless text that every free-text field accepts.
const HARMLESS: &str = "harmless0";

/// Payloads for every field of every base deployment.
#[rustfmt::skip]
const PAYLOADS: &[&str] = &[
    "'", "\"", "a'b'c", "`id`", "$(HF_TOKEN)", "$$(HF_TOKEN)", "${HF_TOKEN}", ";id", "|id", "a&&id", "a b", "a\nb", "a\rb", "a\u{0}b",
    "--trust-remote-code", "-x", "--", r#"{"a": "$(X) 'y'"}"#, "1.0", "null", "a: b", "#a", "- a", "*alias", "!!tag", "a\n---\nkind: Secret",
    "\u{430}dmin", "a\u{202e}b", "../../etc", "%0a",
];

/// Payloads for every field and every base deployment, but not for every combination of both.
#[rustfmt::skip]
const MORE_PAYLOADS: &[&str] = &[
    // Quotes, substitutions and operators of shells.
    "it's", "a\"b", "a`b", "a$(HF_TOKEN)b", "$$$(HF_TOKEN)", "$HF_TOKEN", "$", "$$", "a$", "a$$b", "a;id", "&&id", "a&b", "a>f", "a<f", "(a)", "a*",
    "a?", "~", "~root", "a #b", "a!b", "a\\", "\\n", " a", "a ", "a\tb", "[a]", "{a}", "a,b", "=", "a=b",
    // Line ends and characters that some readers stop at.
    "a\r\nb", "a\n--trust-remote-code", "\n", "\u{0}", "\u{7}", "\u{1b}[31m", "a\u{7f}", "a\u{85}b", "a\u{2028}b", "\u{feff}a",
    // Flags.
    "--trust-remote-code=", "-tp=8", "-O3", "-", "---", "-1", "--config=/etc/passwd", "a --trust-remote-code",
    // JSON.
    r#"{"a": "`id`; $(X) ${Y} !! \\ \" \n"}"#, r#"["a", "--b"]"#, "{}", "[]", "{", r#""a""#, "true", "1e3", "-0",
    // YAML.
    ": ", "a:", "a\n- b", "&anchor", "!!python/object/apply:os.system [id]", "---a", "...", "|", ">", "%TAG", "@a", "yes", "0777", "0x10", "<<", "?",
    "? a", "2001-01-01", "1:30",
    // Look-alikes, templates, paths.
    "\u{2010}\u{2010}trust-remote-code", "\u{ff0d}\u{ff0d}x", "e\u{301}", "\u{1f600}", "{{ .Values.a }}", "/etc/passwd", "a/../b", "a%00b", "%s%n",
    "http://169.254.169.254/", "localhost:5000/a",
];

/// A function that writes a text into a field of a document.
type Put = fn(&mut Value, Start, &str);

/// A field with the function that writes a text into it.
#[derive(Clone, Copy)]
struct Field {
    /// The path that findings name.
    path: &'static str,
    put: Put,
}

const fn field(path: &'static str, put: Put) -> Field {
    Field { path, put }
}

/// Sets the value at a dotted path; `+` appends to a list.
fn set(document: &mut Value, path: &str, value: impl Into<Value>) {
    let mut node = document;
    for key in path.split('.') {
        if key == "+" {
            if !node.is_array() {
                *node = json!([]);
            }
            node.as_array_mut().unwrap().push(Value::Null);
            node = node.as_array_mut().unwrap().last_mut().unwrap();
        } else {
            if !node.is_object() {
                *node = json!({});
            }
            node = node.as_object_mut().unwrap().entry(key).or_insert(Value::Null);
        }
    }
    *node = value.into();
}

fn one(key: impl Into<String>, value: impl Into<Value>) -> Value {
    Value::Object([(key.into(), value.into())].into_iter().collect())
}

/// For each engine: a flag for text, one for JSON, and one for several texts.
fn text_flag(start: Start) -> &'static str {
    start.examples().text
}

fn json_flag(start: Start) -> &'static str {
    start.examples().json
}

fn list_flag(start: Start) -> &'static str {
    start.examples().list
}

fn set_argument(document: &mut Value, name: &str, value: impl Into<Value>) {
    set(document, "spec.engine.args", one(name, value));
}

fn set_extra_arguments(document: &mut Value, elements: &[&str]) {
    set(document, "spec.engine.extraArgs", elements.to_vec());
}

fn set_volume(document: &mut Value, extra: &Value) {
    let mut volume = json!({"name": "v", "mountPath": "/models", "claimName": "c"});
    for (key, value) in extra.as_object().unwrap() {
        volume[key] = value.clone();
    }
    volume.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    set(document, "spec.model.storage.volumes.+", volume);
}

/// Returns a payload for a JSON value: as it is, except that the harmless text must become valid JSON.
fn raw_json(text: &str) -> String {
    if text == HARMLESS { json!(text).to_string() } else { text.to_owned() }
}

const MODEL: &[Field] = &[
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", text)),
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", format!("org/{text}"))),
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", format!("org/name/{text}.gguf"))),
    field("spec.model.id", |doc, _, text| {
        set_volume(doc, &json!({}));
        set(doc, "spec.model.servedName", "served");
        set(doc, "spec.model.id", format!("/models/{text}"));
    }),
    field("spec.model.id", |doc, start, text| {
        set(doc, "spec.model.source", "custom");
        set(doc, "spec.model.id", format!("/models/{text}"));
        set(doc, "spec.image", start.image.unwrap_or("registry.example.com/image:1.4.0"));
    }),
    field("spec.model.servedName", |doc, _, text| set(doc, "spec.model.servedName", text)),
    field("spec.image", |doc, _, text| set(doc, "spec.image", text)),
    field("spec.image", |doc, start, text| {
        let image = start.image.unwrap_or("registry.example.com/image:1.4.0");
        set(doc, "spec.image", format!("{image}-{text}"));
    }),
    field("spec.image", |doc, _, text| set(doc, "spec.image", format!("registry.example.com/{text}/llama-server:1"))),
    field("spec.engine.image", |doc, _, text| {
        doc["spec"].as_object_mut().unwrap().remove("image");
        set(doc, "spec.engine.image", format!("registry.example.com/llama-server:{text}"));
    }),
];

const ENGINE: &[Field] = &[
    field("spec.engine.args", |doc, start, text| set_argument(doc, text_flag(start), text)),
    field("spec.engine.args", |doc, start, text| {
        set_argument(doc, json_flag(start), json!({"k": text, text: 1}).to_string());
    }),
    field("spec.engine.args", |doc, start, text| set_argument(doc, json_flag(start), raw_json(text))),
    field("spec.engine.args", |doc, start, text| set_argument(doc, list_flag(start), text)),
    field("spec.engine.args", |doc, _, text| set_argument(doc, "mystery-flag", text)),
    field("spec.engine.args", |doc, _, text| set_argument(doc, "tensor-parallel-size", text)),
    field("spec.engine.args", |doc, _, text| set_argument(doc, "enable-prefix-caching", text)),
    field("spec.engine.args", |doc, _, text| set_argument(doc, text, "1")),
    field("spec.engine.args", |doc, _, text| set_argument(doc, text, "")),
    field("spec.engine.args", |doc, _, text| set_argument(doc, &format!("x{text}"), "1")),
    field("spec.engine.extraArgs", |doc, _, text| set_extra_arguments(doc, &[text])),
    field("spec.engine.extraArgs", |doc, _, text| set_extra_arguments(doc, &[&format!("--{text}")])),
    field("spec.engine.extraArgs", |doc, _, text| set_extra_arguments(doc, &[&format!("--{text}=1")])),
    field("spec.engine.extraArgs", |doc, start, text| {
        set_extra_arguments(doc, &[&format!("--{}={text}", text_flag(start))]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| {
        set_extra_arguments(doc, &[&format!("--{}", text_flag(start)), text]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| {
        set_extra_arguments(doc, &[&format!("--{}", json_flag(start)), &raw_json(text)]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| {
        // A text that starts with two dashes is a valid flag in extraArgs.
        let text = if text.starts_with("--") { "" } else { text };
        set_extra_arguments(doc, &[&format!("--{}", list_flag(start)), "a", text]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| {
        set_extra_arguments(doc, &[&format!("--{}", list_flag(start)), text, "a"]);
    }),
    field("spec.engine.extraArgs", |doc, _, text| set_extra_arguments(doc, &[&format!("--mystery-flag={text}")])),
    field("spec.engine.extraArgs", |doc, _, text| set_extra_arguments(doc, &["--mystery-flag", text])),
    field("spec.engine.extraArgs", |doc, start, text| {
        set_extra_arguments(doc, &[&format!("--{}=a", text_flag(start)), text]);
    }),
];

const POD: &[Field] = &[
    field("spec.env", |doc, _, text| set(doc, "spec.env.+", json!({"name": text, "value": "1"}))),
    field("spec.env", |doc, _, text| set(doc, "spec.env.+", json!({"name": format!("A{text}"), "value": "1"}))),
    field("spec.env", |doc, _, text| set(doc, "spec.env.+", json!({"name": "HF_ENDPOINT", "value": text}))),
    field("spec.env", |doc, _, text| {
        let source = json!({"secretKeyRef": {"name": text, "key": "key"}});
        set(doc, "spec.env.+", json!({"name": "A", "valueFrom": source}));
    }),
    field("spec.env", |doc, _, text| {
        let source = json!({"configMapKeyRef": {"name": "name", "key": text}});
        set(doc, "spec.env.+", json!({"name": "A", "valueFrom": source}));
    }),
    field("spec.env", |doc, _, text| {
        let source = json!({"fieldRef": {"fieldPath": format!("metadata.labels['{text}']")}});
        set(doc, "spec.env.+", json!({"name": "A", "valueFrom": source}));
    }),
    field("spec.env", |doc, _, text| {
        let source = json!({"fileKeyRef": {"volumeName": "v", "path": text, "key": text}});
        set(doc, "spec.env.+", json!({"name": "A", "valueFrom": source}));
    }),
    field("spec.env", |doc, _, text| {
        let source = json!({"resourceFieldRef": {"containerName": text, "resource": "limits.cpu"}});
        set(doc, "spec.env.+", json!({"name": "A", "valueFrom": source}));
    }),
    field("spec.secrets.huggingFaceToken", |doc, _, text| set(doc, "spec.secrets.huggingFaceToken", text)),
    field("spec.imagePullSecrets", |doc, _, text| set(doc, "spec.imagePullSecrets.+", json!({"name": text}))),
    field("spec.podTemplate.metadata.labels", |doc, _, text| {
        set(doc, "spec.podTemplate.metadata.labels", one(text, "1"));
    }),
    field("spec.podTemplate.metadata.labels", |doc, _, text| {
        set(doc, "spec.podTemplate.metadata.labels", one("team", text));
    }),
    field("spec.podTemplate.metadata.annotations", |doc, _, text| {
        set(doc, "spec.podTemplate.metadata.annotations", one(text, "1"));
    }),
    field("spec.podTemplate.metadata.annotations", |doc, _, text| {
        set(doc, "spec.podTemplate.metadata.annotations", one("note", text));
    }),
    field("spec.nodeSelector", |doc, _, text| set(doc, "spec.nodeSelector", one(text, "1"))),
    field("spec.nodeSelector", |doc, _, text| set(doc, "spec.nodeSelector", one("pool", text))),
    field("spec.tolerations", |doc, _, text| {
        set(doc, "spec.tolerations.+", json!({"key": text, "operator": "Exists"}));
    }),
    field("spec.tolerations", |doc, _, text| set(doc, "spec.tolerations.+", json!({"key": "a", "value": text}))),
    field("spec.tolerations", |doc, _, text| set(doc, "spec.tolerations.+", json!({"key": "a", "operator": text}))),
    field("spec.tolerations", |doc, _, text| {
        set(doc, "spec.tolerations.+", json!({"key": "a", "operator": "Exists", "effect": text}));
    }),
    field("spec.resources.memory", |doc, _, text| set(doc, "spec.resources.memory", text)),
    field("spec.resources.requests", |doc, _, text| {
        set(doc, "spec.resources.requests", one("ephemeral-storage", text));
    }),
    field("spec.resources.limits", |doc, _, text| set(doc, "spec.resources.limits", one(format!("rdma/{text}"), "1"))),
    field("spec.resources.claims", |doc, _, text| {
        set(doc, "spec.podTemplate.spec.resourceClaims.+", json!({"name": text, "resourceClaimName": "c"}));
        set(doc, "spec.resources.claims.+", json!({"name": text}));
    }),
    field("spec.podTemplate.spec.resourceClaims", |doc, _, text| {
        set(doc, "spec.podTemplate.spec.resourceClaims.+", json!({"name": "c", "resourceClaimName": text}));
        set(doc, "spec.resources.claims.+", json!({"name": "c"}));
    }),
    field("spec.resources.gpu.type", |doc, _, text| set(doc, "spec.resources.gpu.type", format!("nvidia.com/{text}"))),
];

const STORAGE: &[Field] = &[
    field("spec.model.storage.volumes", |doc, _, text| set_volume(doc, &json!({"name": text}))),
    field("spec.model.storage.volumes", |doc, _, text| set_volume(doc, &json!({"mountPath": format!("/{text}")}))),
    field("spec.model.storage.volumes", |doc, _, text| {
        set_volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "modelCache"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        set_volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "compilationCache"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        set_volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "compilationCache", "readOnly": true}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| set_volume(doc, &json!({"claimName": text}))),
    field("spec.model.storage.volumes", |doc, _, text| {
        set_volume(doc, &json!({"name": text, "claimName": null, "size": "1Gi"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        set_volume(doc, &json!({"claimName": null, "size": "1Gi", "storageClassName": text}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| set_volume(doc, &json!({"claimName": null, "size": text}))),
];

const METADATA: &[Field] = &[
    field("metadata.name", |doc, _, text| set(doc, "metadata.name", text)),
    field("metadata.namespace", |doc, _, text| set(doc, "metadata.namespace", text)),
    field("metadata.labels", |doc, _, text| set(doc, "metadata.labels", one(format!("kubefoundry.ai/{text}"), "1"))),
    field("metadata.labels", |doc, _, text| set(doc, "metadata.labels", one("kubefoundry.ai/team", text))),
    field("metadata.labels", |doc, _, text| set(doc, "metadata.labels", one(text, "1"))),
    field("metadata.annotations", |doc, _, text| {
        set(doc, "metadata.annotations", one(format!("kubefoundry.ai/{text}"), "1"));
    }),
    field("metadata.annotations", |doc, _, text| set(doc, "metadata.annotations", one("kubefoundry.ai/note", text))),
    field("spec.provider.name", |doc, _, text| set(doc, "spec.provider.name", text)),
    field("spec.engine.type", |doc, _, text| set(doc, "spec.engine.type", text)),
];

/// Every override that accepts text; providers without the override warn about it.
const OVERRIDES: &[Field] = &[
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.instanceType", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.runner", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.preferredNodes", json!([text]))),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.containerName", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.partition.mode", text)),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.partition", json!({"mode": "mig", "profile": text}));
    }),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.autoUpgrade.strategy", text)),
    field("spec.provider.overrides", |doc, _, text| {
        let window = json!({"schedule": text, "duration": text});
        set(doc, "spec.provider.overrides.autoUpgrade.maintenanceWindow", window);
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.inferenceConfig", one("max_probe_steps", text));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.metadata.labels", one(text, "1"));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.metadata.labels", one("team", text));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.metadata.annotations", one(text, "1"));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.metadata.annotations", one("note", text));
    }),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.workload", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.routerMode", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.runtimeVersion", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.frontend.resources.cpu", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.head.resources.memory", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.acceleratorType", text)),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.head.rayStartParams", one(text, "1"));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.head.rayStartParams.temp-dir", text);
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.head.rayStartParams.resources", json!({text: 1}).to_string());
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides.head.rayStartParams.resources", format!("'{{\"{text}\": 1}}'"));
    }),
    field("spec.provider.overrides", |doc, _, text| {
        set(
            doc,
            "spec.provider.overrides.head.rayStartParams.labels",
            json!(json!({"a": text}).to_string()).to_string(),
        );
    }),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides", one(text, "1"))),
    field("spec.provider.overrides", |doc, _, text| {
        set(doc, "spec.provider.overrides", json!({"podSpec": {"hostPath": text}}));
    }),
];

/// The result of one document.
struct Outcome {
    objects: Vec<Value>,
    found: Vec<Diagnostic>,
}

impl Outcome {
    fn is_refused(&self) -> bool {
        self.found.iter().any(|found| found.severity == Severity::Error)
    }

    /// Returns whether a finding of at least this severity names a field or a part of it.
    fn names(&self, field: &str, least: Severity) -> bool {
        let inside = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.found.iter().filter(|found| found.severity <= least).any(|found| {
            let path = found.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
            !path.is_empty() && path != "spec" && (inside(field, &path) || inside(&path, field))
        })
    }
}

/// Compiles documents in one run, each in its own namespace. With `read_back` it also parses the text of the output.
fn outcomes(mut documents: Vec<Value>, read_back: bool) -> Vec<Outcome> {
    for (index, document) in documents.iter_mut().enumerate() {
        if document["metadata"]["namespace"] == "default" {
            set(document, "metadata.namespace", format!("n{index}"));
        }
    }
    let mut sources = SourceSet::default();
    sources.add("hostile.yaml", yaml::to_yaml_stream(&documents));
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    if read_back {
        reads_back(&compilation);
    }
    let mut outcomes: Vec<Outcome> =
        documents.iter().map(|_| Outcome { objects: Vec::new(), found: Vec::new() }).collect();
    for found in &compilation.diagnostics {
        let words = [Some(&found.message), found.help.as_ref()];
        let control = words.into_iter().flatten().find(|text| text.contains(char::is_control));
        assert!(control.is_none(), "a control character in {control:?}");
        let document = found.location.as_ref().map(|location| location.document);
        outcomes[document.unwrap_or_else(|| panic!("{found:?}"))].found.push(found.clone());
    }
    for output in &compilation.outputs {
        let document = compilation.decisions[output.decision].document;
        let mut object = output.object.clone();
        let metadata = &mut object["metadata"];
        if metadata["namespace"] == format!("n{document}") {
            metadata["namespace"] = json!("default");
            let owner = &mut metadata["annotations"]["kubefoundry.ai/model-deployment"];
            *owner = json!(owner.as_str().unwrap().replacen(&format!("n{document}/"), "default/", 1));
        }
        outcomes[document].objects.push(object);
    }
    outcomes
}

/// Asserts that parsing the text of the output gives the output.
fn reads_back(compilation: &Compilation) {
    let text = yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    assert!(parsed.documents.iter().all(|document| document.problems.is_empty()));
    let read: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
    let made: Vec<&Value> = compilation.outputs.iter().map(|output| &output.object).collect();
    assert_eq!(read.iter().collect::<Vec<_>>(), made);
}

/// Compares an object with the object for the harmless text. They may differ only in that text.
struct Oracle<'p> {
    start: Start,
    payload: &'p str,
    /// Whether the text is the value of a variable, in which Kubernetes expands `$(NAME)`.
    in_environment: bool,
}

type Checked = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Checked {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

impl Oracle<'_> {
    fn expected(&self, harmless: &str) -> String {
        // The name of a ConfigMap ends in a hash of its data.
        match harmless.strip_prefix("m-inference-") {
            Some(hash) if hash.len() == 16 => harmless.to_owned(),
            _ => harmless.replace(HARMLESS, self.payload),
        }
    }

    fn objects(&self, harmless: &[Value], found: &[Value]) -> Checked {
        same("objects", &harmless.len(), &found.len())?;
        harmless.iter().zip(found).try_for_each(|(harmless, found)| self.value("", harmless, found))
    }

    /// Compares values; `key` is the key of both.
    fn value(&self, key: &str, harmless: &Value, found: &Value) -> Checked {
        match (key, harmless, found) {
            ("args", Value::Array(_), Value::Array(_)) => Ok(()),
            ("env" | "envs", Value::Array(harmless), Value::Array(found)) => self.variables(harmless, found),
            ("rayStartParams", Value::Object(_), Value::Object(_)) => self.ray_start(harmless, found),
            ("serveConfigV2", Value::String(harmless), Value::String(found)) => {
                self.typed(&read_yaml(harmless)?, &read_yaml(found)?)
            }
            ("inference_config.yaml", Value::String(harmless), Value::String(found)) => self.preset(harmless, found),
            (_, Value::Object(harmless), Value::Object(found)) => {
                if let (Some(Value::Array(harmless)), Some(Value::Array(args))) =
                    (harmless.get("args"), found.get("args"))
                {
                    self.container(found["image"].as_str().unwrap_or_default(), harmless, args)?;
                }
                let keys = harmless.keys().map(|key| self.expected(key)).collect::<Vec<_>>();
                same(key, &keys, &found.keys().cloned().collect())?;
                harmless
                    .iter()
                    .zip(found.values())
                    .try_for_each(|((key, harmless), found)| self.value(key, harmless, found))
            }
            (_, Value::Array(harmless), Value::Array(found)) => {
                same(key, &harmless.len(), &found.len())?;
                harmless.iter().zip(found).try_for_each(|(harmless, found)| self.value("", harmless, found))
            }
            (_, Value::String(harmless), Value::String(found)) if ends_with_hash(harmless) && ends_with_hash(found) => {
                Ok(())
            }
            (_, Value::String(harmless), Value::String(found)) => same(key, &self.expected(harmless), found),
            _ => same(key, harmless, found),
        }
    }

    /// Compares the arguments of an engine as its parser reads them: the flags are the same, and one has the text as
    /// its value.
    fn container(&self, image: &str, harmless: &[Value], found: &[Value]) -> Checked {
        let unescaped = |elements: &[Value]| -> Result<Vec<String>, String> {
            elements.iter().map(|element| kubelet(element.as_str().ok_or("not a string")?)).collect()
        };
        let (harmless, found) = (unescaped(harmless)?, unescaped(found)?);
        if self.start.provider == "dynamo" {
            let line: Vec<String> = found.iter().map(|argument| dynamo_shell_quote(argument)).collect();
            same("the words of bash -c", &found, &shell_words(&line.join(" "))?)?;
        }
        let program = program(self.start, image);
        self.flags(&program.parse(&harmless)?, &program.parse(&found)?)
    }

    fn flags(&self, harmless: &Parsed, found: &Parsed) -> Checked {
        same("flags", &harmless.len(), &found.len())?;
        for ((name, harmless), (found_name, found)) in harmless.iter().zip(found) {
            let expected = self.expected(name);
            // A name that contains `=` is read as a name and a value.
            if let Some((name, value)) = expected.split_once('=').filter(|_| name.contains(HARMLESS)) {
                let value: Vec<&str> = [value].into_iter().chain(harmless.iter().map(String::as_str)).collect();
                same("flag", &(name.to_owned(), vec![value.join("=")]), &(found_name.clone(), found.clone()))?;
                continue;
            }
            same("flag", &expected, found_name)?;
            same(name, &harmless.len(), &found.len())?;
            harmless.iter().zip(found).try_for_each(|(harmless, found)| self.text(name, harmless, found))?;
        }
        Ok(())
    }

    /// Compares the value of a flag: the text, or JSON that contains the text.
    fn text(&self, name: &str, harmless: &str, found: &str) -> Checked {
        match serde_json::from_str(harmless) {
            Ok(harmless @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
                let found = serde_json::from_str(found).map_err(|error| format!("{name} is {found:?}: {error}"))?;
                self.typed(&harmless, &found)
            }
            _ => same(name, &self.expected(harmless), &found.to_owned()),
        }
    }

    /// Compares typed settings, where JSON text may become a JSON value.
    fn typed(&self, harmless: &Value, found: &Value) -> Checked {
        let meant = serde_json::from_str(self.payload).map(|meant: Value| canonical(&meant));
        if (harmless == HARMLESS || *harmless == json!([HARMLESS]))
            && meant.is_ok_and(|meant| meant == canonical(found))
        {
            return Ok(());
        }
        match (harmless, found) {
            (Value::Object(harmless), Value::Object(found)) => {
                same("keys", &harmless.len(), &found.len())?;
                harmless.iter().zip(found).try_for_each(|(harmless, found)| self.setting(harmless, found))
            }
            (Value::Array(harmless), Value::Array(found)) => {
                same("items", &harmless.len(), &found.len())?;
                harmless.iter().zip(found).try_for_each(|(harmless, found)| self.typed(harmless, found))
            }
            _ => self.value("", harmless, found),
        }
    }

    /// Compares a setting. Its name is written with `_`; a name that contains `=` is read as a name and a value.
    fn setting(&self, (harmless_name, harmless): (&String, &Value), (name, found): (&String, &Value)) -> Checked {
        let expected = self.expected(harmless_name);
        match expected.split_once('=').filter(|_| harmless_name.contains(HARMLESS) && expected != *name) {
            Some((expected, value)) => {
                let value = if harmless.is_boolean() { value.to_owned() } else { format!("{value}={harmless}") };
                same("setting", &(expected, &json!(value)), &(name, found))
            }
            None if expected.replace('-', "_") == *name => self.typed(harmless, found),
            None => same("setting", &expected, name).and_then(|()| self.typed(harmless, found)),
        }
    }

    /// Compares variables. The kubelet expands their values, too, which only `spec.env` may use.
    fn variables(&self, harmless: &[Value], found: &[Value]) -> Checked {
        same("variables", &harmless.len(), &found.len())?;
        for (harmless, found) in harmless.iter().zip(found) {
            let mut found = found.clone();
            if let Some(value) = found.get_mut("value").filter(|_| !self.in_environment) {
                *value = json!(kubelet(value.as_str().ok_or("not a string")?)?);
            }
            self.value("", harmless, &found)?;
        }
        Ok(())
    }

    /// Compares `rayStartParams`, which KubeRay passes to a shell as `--key=value`.
    fn ray_start(&self, harmless: &Value, found: &Value) -> Checked {
        let words = |params: &Value| -> Result<Vec<String>, String> {
            let flag = |(key, value): (&String, &Value)| format!("--{key}={}", value.as_str().unwrap_or("?"));
            let line: Vec<String> = params.as_object().ok_or("no mapping")?.iter().map(flag).collect();
            kubelet(&line.join(" ")).and_then(|line| {
                let words = shell_words(&line)?;
                same("words", &params.as_object().map_or(0, serde_json::Map::len), &words.len()).map(|()| words)
            })
        };
        let pairs = |words: Vec<String>| -> Parsed {
            let pair = |word: String| word.split_once('=').map(|(key, value)| (key.to_owned(), vec![value.to_owned()]));
            words.into_iter().map(|word| pair(word).unwrap_or_default()).collect()
        };
        self.flags(&pairs(words(harmless)?), &pairs(words(found)?))
    }

    /// Compares KAITO presets, whose settings KAITO passes to vLLM as two elements, `--key` and Python's `str(value)`.
    fn preset(&self, harmless: &str, found: &str) -> Checked {
        let argv = |text: &str| -> Result<Vec<String>, String> {
            let mut config = read_yaml(text)?;
            let keys = config.as_object_mut().ok_or("no mapping")?;
            // KAITO's runtime reads this key itself, as one value.
            if keys.shift_remove("max_probe_steps").is_some_and(|value| value.is_string()) && keys.is_empty() {
                return Ok(Vec::new());
            }
            same("keys", &vec!["vllm"], &keys.keys().map(String::as_str).collect())?;
            let settings = config["vllm"].as_object().ok_or("no mapping")?;
            let pair = |(key, value): (&String, &Value)| {
                [format!("--{key}"), value.as_str().map_or_else(|| value.to_string(), str::to_owned)]
            };
            Ok(settings.iter().flat_map(pair).collect())
        };
        let program = Program::Argparse(vec![flags::vllm_for_image("").0]);
        self.flags(&program.parse(&argv(harmless)?)?, &program.parse(&argv(found)?)?)
    }
}

fn ends_with_hash(name: &str) -> bool {
    name.strip_prefix("m-inference-")
        .is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn read_yaml(text: &str) -> Result<Value, String> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    match (parsed.documents.as_slice(), &parsed.failure) {
        ([document], None) if document.problems.is_empty() => Ok(document.root.to_json()),
        _ => Err(format!("not one YAML document: {text:?}")),
    }
}

/// Returns a value with integral floats as integers, as they are written.
fn canonical(value: &Value) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(0.0) => json!(0),
        Some(float) if float.fract() == 0.0 => serde_json::from_str(&format!("{float:.0}")).unwrap_or_default(),
        _ => value.clone(),
    }
}

fn program(start: Start, image: &str) -> Program {
    // The engine versions of Dynamo 1.4.0.
    let wrapper = |name| flags::wrapper(name, "1.4.0").unwrap();
    match (start.provider, start.engine) {
        ("dynamo", "vllm") => Program::Argparse(vec![wrapper("dynamo-vllm"), flags::vllm("0.26.0").unwrap()]),
        ("dynamo", "sglang") => Program::Argparse(vec![wrapper("dynamo-sglang"), flags::sglang("0.5.16").unwrap()]),
        ("dynamo", "trtllm") => Program::Argparse(vec![wrapper("dynamo-trtllm")]),
        (_, "llamacpp") if image.contains("llama.cpp:server") || image.contains("/llama-server:") => {
            Program::LlamaServer(flags::llama_server())
        }
        ("kaito", "llamacpp") => Program::LocalAi,
        // Every other provider starts the server of the engine's image.
        (_, "vllm") => Program::Argparse(vec![flags::vllm_for_image(image).0]),
        (provider, engine) => panic!(
            "{provider} starts {engine} by a program that is not known here: add how it reads its command line to \
             `program` in tests/it/injection.rs"
        ),
    }
}

/// Tries the harmless text and every payload in every field of every base deployment. The rarer payloads take turns
/// over the base deployments to save time; with `INJECTION_EVERYWHERE=1` all combinations are tried, which takes
/// minutes.
fn try_all(fields: &[Field]) {
    let everywhere = std::env::var_os("INJECTION_EVERYWHERE").is_some();
    let long = "a".repeat(10_000);
    let more_payloads: Vec<&str> = MORE_PAYLOADS.iter().copied().chain([long.as_str()]).collect();
    let mut wrong: BTreeMap<String, String> = BTreeMap::new();
    for (position, field) in fields.iter().enumerate() {
        for (turn, start) in STARTS.iter().enumerate() {
            let is_due = |index: usize| everywhere || (index + position + turn) % STARTS.len() < 2;
            let more =
                more_payloads.iter().enumerate().filter(|(index, _)| is_due(*index)).map(|(_, payload)| *payload);
            let payloads: Vec<&str> = PAYLOADS.iter().copied().chain(more).collect();
            let document = |text: &str| {
                let mut document = start.document();
                (field.put)(&mut document, *start, text);
                document
            };
            let documents = [HARMLESS].iter().chain(&payloads).map(|text| document(text)).collect();
            let read_back = everywhere || (position + turn) % 4 == 0;
            let mut outcomes = outcomes(documents, read_back).into_iter();
            let harmless = outcomes.next().unwrap();
            let arrives = harmless.objects.iter().any(|object| object.to_string().contains(HARMLESS));
            for (payload, outcome) in payloads.iter().zip(outcomes) {
                let oracle = Oracle { start: *start, payload, in_environment: field.path == "spec.env" };
                // Only labels and annotations with our prefix are copied from the deployment (MD-4.7).
                let is_dropped =
                    !arrives && !outcome.names(field.path, Severity::Info) && field.path.starts_with("spec.");
                let checked = if harmless.is_refused() {
                    Ok(())
                } else if outcome.is_refused() {
                    let named = outcome.names(field.path, Severity::Error);
                    if named { Ok(()) } else { Err(format!("refused without naming the field: {:?}", outcome.found)) }
                } else if is_dropped {
                    Err("dropped in silence".to_owned())
                } else {
                    oracle.objects(&harmless.objects, &outcome.objects)
                };
                if let Err(why) = checked {
                    let payload: String = payload.chars().take(40).collect();
                    let case = format!("{} ({position}) {payload:?}", field.path);
                    wrong
                        .entry(case)
                        .or_insert_with(|| format!("{start:?}: {}", why.chars().take(600).collect::<String>()));
                }
            }
        }
    }
    let wrong: Vec<String> = wrong.iter().map(|(case, why)| format!("{case}\n    {why}")).collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn model_and_image() {
    try_all(MODEL);
}

#[test]
fn engine_arguments() {
    try_all(ENGINE);
}

#[test]
fn pods() {
    try_all(POD);
}

#[test]
fn storage() {
    try_all(STORAGE);
}

#[test]
fn metadata() {
    try_all(METADATA);
}

#[test]
fn overrides() {
    try_all(OVERRIDES);
}

/// A document for a third-party provider is passed on with two annotations.
#[test]
fn deployments_of_third_party_providers() {
    let config = json!({
        "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "other"},
        "spec": {"capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true}}
    });
    for payload in PAYLOADS.iter().chain(MORE_PAYLOADS) {
        let mut document = STARTS[0].document();
        set(&mut document, "spec.provider.name", "other");
        set(&mut document, "spec.provider.overrides", one(*payload, *payload));
        set(&mut document, "metadata.annotations", one("note", *payload));
        let mut sources = SourceSet::default();
        sources.add("other.yaml", yaml::to_yaml_stream([&config, &document]));
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        reads_back(&compilation);
        let control = payload.contains(|c: char| c.is_control() && !"\n\r\t".contains(c));
        assert_eq!(compilation.has_errors(), control, "{payload:?} {:#?}", compilation.diagnostics);
        for output in &compilation.outputs {
            let mut object = output.object.clone();
            let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
            assert_eq!(annotations.remove("kubefoundry.ai/provider"), Some(json!("other")));
            annotations.remove("kubefoundry.ai/selected-reason");
            assert_eq!(object, document, "{payload:?}");
        }
    }
}
