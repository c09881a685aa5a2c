//! Hostile text in every field that takes text, for everything that each provider runs: it is refused with an error that
//! names the field, or it arrives as exactly the text that it is, and nothing else changes. What "arrives" means is
//! decided by whoever reads the output: the kubelet, a shell, an engine's argument parser, a YAML reader.

use std::collections::BTreeMap;

use crate::common::argv::{Parsed, Program, dynamo_shell_quote, kubelet, shell_words};
use crate::common::start::{STARTS, Start};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_model::engines::flags;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// A text that every field takes that takes text of the user's own at all.
const HARMLESS: &str = "harmless0";

/// What is tried in every field of every start.
#[rustfmt::skip]
const PAYLOADS: &[&str] = &[
    "'", "\"", "a'b'c", "`id`", "$(HF_TOKEN)", "$$(HF_TOKEN)", "${HF_TOKEN}", ";id", "|id", "a&&id", "a b", "a\nb", "a\rb", "a\u{0}b",
    "--trust-remote-code", "-x", "--", r#"{"a": "$(X) 'y'"}"#, "1.0", "null", "a: b", "#a", "- a", "*alias", "!!tag", "a\n---\nkind: Secret",
    "\u{430}dmin", "a\u{202e}b", "../../etc", "%0a",
];

/// What is tried in every field, and in every start, but not in all fields of all starts.
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

/// Puts a text into a field of a document.
type Put = fn(&mut Value, Start, &str);

/// A field, and a way to put text into it.
#[derive(Clone, Copy)]
struct Field {
    /// What findings name.
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

/// A flag that takes text, one that takes JSON, and one that takes several texts, of each engine.
fn text_flag(start: Start) -> &'static str {
    start.examples().text
}

fn json_flag(start: Start) -> &'static str {
    start.examples().json
}

fn list_flag(start: Start) -> &'static str {
    start.examples().list
}

fn arg(document: &mut Value, name: &str, value: impl Into<Value>) {
    set(document, "spec.engine.args", one(name, value));
}

fn extra(document: &mut Value, elements: &[&str]) {
    set(document, "spec.engine.extraArgs", elements.to_vec());
}

fn volume(document: &mut Value, extra: &Value) {
    let mut volume = json!({"name": "v", "mountPath": "/models", "claimName": "c"});
    for (key, value) in extra.as_object().unwrap() {
        volume[key] = value.clone();
    }
    volume.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    set(document, "spec.model.storage.volumes.+", volume);
}

/// JSON text as it is given, where the harmless text has to become JSON too.
fn raw_json(text: &str) -> String {
    if text == HARMLESS { json!(text).to_string() } else { text.to_owned() }
}

const MODEL: &[Field] = &[
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", text)),
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", format!("org/{text}"))),
    field("spec.model.id", |doc, _, text| set(doc, "spec.model.id", format!("org/name/{text}.gguf"))),
    field("spec.model.id", |doc, _, text| {
        volume(doc, &json!({}));
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
    field("spec.engine.args", |doc, start, text| arg(doc, text_flag(start), text)),
    field("spec.engine.args", |doc, start, text| arg(doc, json_flag(start), json!({"k": text, text: 1}).to_string())),
    field("spec.engine.args", |doc, start, text| arg(doc, json_flag(start), raw_json(text))),
    field("spec.engine.args", |doc, start, text| arg(doc, list_flag(start), text)),
    field("spec.engine.args", |doc, _, text| arg(doc, "mystery-flag", text)),
    field("spec.engine.args", |doc, _, text| arg(doc, "tensor-parallel-size", text)),
    field("spec.engine.args", |doc, _, text| arg(doc, "enable-prefix-caching", text)),
    field("spec.engine.args", |doc, _, text| arg(doc, text, "1")),
    field("spec.engine.args", |doc, _, text| arg(doc, text, "")),
    field("spec.engine.args", |doc, _, text| arg(doc, &format!("x{text}"), "1")),
    field("spec.engine.extraArgs", |doc, _, text| extra(doc, &[text])),
    field("spec.engine.extraArgs", |doc, _, text| extra(doc, &[&format!("--{text}")])),
    field("spec.engine.extraArgs", |doc, _, text| extra(doc, &[&format!("--{text}=1")])),
    field("spec.engine.extraArgs", |doc, start, text| extra(doc, &[&format!("--{}={text}", text_flag(start))])),
    field("spec.engine.extraArgs", |doc, start, text| extra(doc, &[&format!("--{}", text_flag(start)), text])),
    field("spec.engine.extraArgs", |doc, start, text| {
        extra(doc, &[&format!("--{}", json_flag(start)), &raw_json(text)]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| {
        // What starts with two dashes is a flag of the user's own, which is what extraArgs are for.
        let text = if text.starts_with("--") { "" } else { text };
        extra(doc, &[&format!("--{}", list_flag(start)), "a", text]);
    }),
    field("spec.engine.extraArgs", |doc, start, text| extra(doc, &[&format!("--{}", list_flag(start)), text, "a"])),
    field("spec.engine.extraArgs", |doc, _, text| extra(doc, &[&format!("--mystery-flag={text}")])),
    field("spec.engine.extraArgs", |doc, _, text| extra(doc, &["--mystery-flag", text])),
    field("spec.engine.extraArgs", |doc, start, text| extra(doc, &[&format!("--{}=a", text_flag(start)), text])),
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
    field("spec.resources.gpu.type", |doc, _, text| set(doc, "spec.resources.gpu.type", format!("nvidia.com/{text}"))),
];

const STORAGE: &[Field] = &[
    field("spec.model.storage.volumes", |doc, _, text| volume(doc, &json!({"name": text}))),
    field("spec.model.storage.volumes", |doc, _, text| volume(doc, &json!({"mountPath": format!("/{text}")}))),
    field("spec.model.storage.volumes", |doc, _, text| {
        volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "modelCache"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "compilationCache"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        volume(doc, &json!({"mountPath": format!("/{text}"), "purpose": "compilationCache", "readOnly": true}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| volume(doc, &json!({"claimName": text}))),
    field("spec.model.storage.volumes", |doc, _, text| {
        volume(doc, &json!({"name": text, "claimName": null, "size": "1Gi"}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| {
        volume(doc, &json!({"claimName": null, "size": "1Gi", "storageClassName": text}));
    }),
    field("spec.model.storage.volumes", |doc, _, text| volume(doc, &json!({"claimName": null, "size": text}))),
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

/// Every override that takes text, of whichever provider: the others warn about it.
const OVERRIDES: &[Field] = &[
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.instanceType", text)),
    field("spec.provider.overrides", |doc, _, text| set(doc, "spec.provider.overrides.runner", text)),
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

/// What became of one document.
struct Outcome {
    objects: Vec<Value>,
    found: Vec<Diagnostic>,
}

impl Outcome {
    fn refused(&self) -> bool {
        self.found.iter().any(|found| found.severity == Severity::Error)
    }

    /// Whether a finding of at least this severity names a field, or a part of it.
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

/// Compiles documents in one run, each in a namespace of its own; perhaps reads the text of the output, too.
fn outcomes(mut documents: Vec<Value>, read_back: bool) -> Vec<Outcome> {
    for (index, document) in documents.iter_mut().enumerate() {
        if document["metadata"]["namespace"] == "default" {
            set(document, "metadata.namespace", format!("n{index}"));
        }
    }
    let mut sources = SourceSet::default();
    sources.add("hostile.yaml", yaml::to_yaml_stream(&documents));
    let compilation = compile(&sources, Thoroughness::Needed);
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

/// The text of the output is the output.
fn reads_back(compilation: &Compilation) {
    let text = yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    assert!(parsed.documents.iter().all(|document| document.problems.is_empty()));
    let read: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
    let made: Vec<&Value> = compilation.outputs.iter().map(|output| &output.object).collect();
    assert_eq!(read.iter().collect::<Vec<_>>(), made);
}

/// Compares an object with the one of the harmless text: it may differ in that text only.
struct Oracle<'p> {
    start: Start,
    payload: &'p str,
    /// Whether the text is the value of a variable, in which `$(NAME)` means what Kubernetes says.
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

    /// `key` is the key that the values stand under.
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
            (_, Value::String(harmless), Value::String(found)) if hashed(harmless) && hashed(found) => Ok(()),
            (_, Value::String(harmless), Value::String(found)) => same(key, &self.expected(harmless), found),
            _ => same(key, harmless, found),
        }
    }

    /// Arguments of an engine: as its own parser reads them, each flag has the text as its value and no flag came or went.
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
            // A name with `=` in it is a name and a value.
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

    /// The value of a flag: the text itself, or JSON with the text in it.
    fn text(&self, name: &str, harmless: &str, found: &str) -> Checked {
        match serde_json::from_str(harmless) {
            Ok(harmless @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
                let found = serde_json::from_str(found).map_err(|error| format!("{name} is {found:?}: {error}"))?;
                self.typed(&harmless, &found)
            }
            _ => same(name, &self.expected(harmless), &found.to_owned()),
        }
    }

    /// Typed settings: what is JSON may stand as what it says.
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

    /// A setting, which is written with `_` whatever the user wrote; a name with `=` in it is a name and a value.
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

    /// Variables: the kubelet expands their values too, which only `spec.env` may use.
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

    /// KubeRay writes `--key=value` into a shell, for each.
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

    /// KAITO hands each setting to vLLM as two elements, `--key` and Python's `str(value)`.
    fn preset(&self, harmless: &str, found: &str) -> Checked {
        let argv = |text: &str| -> Result<Vec<String>, String> {
            let config = read_yaml(text)?;
            same("keys", &vec!["vllm"], &config.as_object().ok_or("no mapping")?.keys().map(String::as_str).collect())?;
            let settings = config["vllm"].as_object().ok_or("no mapping")?;
            let pair = |(key, value): (&String, &Value)| {
                [format!("--{key}"), value.as_str().map_or_else(|| value.to_string(), str::to_owned)]
            };
            Ok(settings.iter().flat_map(pair).collect())
        };
        let program = Program::Argparse(vec![flags::vllm_for_image("")]);
        self.flags(&program.parse(&argv(harmless)?)?, &program.parse(&argv(found)?)?)
    }
}

fn hashed(name: &str) -> bool {
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

/// Integral floats are written as integers.
fn canonical(value: &Value) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(0.0) => json!(0),
        Some(float) if float.fract() == 0.0 => serde_json::from_str(&format!("{float:.0}")).unwrap_or_default(),
        _ => value.clone(),
    }
}

fn program(start: Start, image: &str) -> Program {
    // The engines of Dynamo 1.4.0.
    let wrapper = |name| flags::wrapper(name, "1.4.0").unwrap();
    match (start.provider, start.engine) {
        ("dynamo", "vllm") => Program::Argparse(vec![wrapper("dynamo-vllm"), flags::vllm("0.26.0").unwrap()]),
        ("dynamo", "sglang") => Program::Argparse(vec![wrapper("dynamo-sglang"), flags::sglang("0.5.16").unwrap()]),
        ("dynamo", "trtllm") => Program::Argparse(vec![wrapper("dynamo-trtllm")]),
        (_, "llamacpp") if image.contains("llama.cpp:server") || image.contains("/llama-server:") => {
            Program::LlamaServer(flags::llama_server())
        }
        ("kaito", "llamacpp") => Program::LocalAi,
        // Every other provider starts the server of the engine's own image.
        (_, "vllm") => Program::Argparse(vec![flags::vllm_for_image(image)]),
        (provider, engine) => panic!(
            "{provider} starts {engine} by a program that is not known here: add how it reads its command line to \
             `program` in tests/it/injection.rs"
        ),
    }
}

/// The text with which the output was harmless, and every payload, in every field, for every start. The rarer payloads
/// take turns over the starts, for time; with `INJECTION_EVERYWHERE=1` all of them meet all starts, which takes minutes.
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
                // Labels and annotations of the deployment are its own: only those with our prefix go on (MD-4.7).
                let is_dropped =
                    !arrives && !outcome.names(field.path, Severity::Info) && field.path.starts_with("spec.");
                let checked = if harmless.refused() {
                    Ok(())
                } else if outcome.refused() {
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

/// What is passed on to a provider that is not rendered here is the document itself with two annotations.
#[test]
fn deployments_of_other_providers() {
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
        let compilation = compile(&sources, Thoroughness::Needed);
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
