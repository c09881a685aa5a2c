//! Properties of LlamaStackDistributions: the order, the scripts and the bytes do not depend on the form of the input.
//! And the script that starts the server, run by a shell.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_llamastack::install::{EXTRACT_SCRIPT, PROVIDER_SCRIPT};
use kubefoundry_llamastack::wire::{self, Api};
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use serde_json::{Value, json};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn rendered(distribution: &Value) -> Compilation {
    let mut sources = SourceSet::default();
    sources.add("input.json", ascii(&distribution.to_string()));
    compile(&BUILTIN, &sources, Thoroughness::Needed)
}

/// Returns JSON without characters that YAML would escape.
fn ascii(json: &str) -> String {
    let mut text = String::new();
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') => text.push(char::from(byte)),
            _ => write!(text, "\\u{unit:04x}").unwrap(),
        }
    }
    text
}

fn distribution(server: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "stack", "namespace": "ai"},
        "spec": {"server": {"distribution": {"name": "starter"}, "containerSpec": {"port": 8321}}},
    });
    for (key, value) in server.as_object().unwrap() {
        object["spec"]["server"][key] = value.clone();
    }
    object
}

fn pod(compilation: &Compilation) -> &Value {
    let deployment = compilation.outputs.iter().find(|output| &*output.identity.kind == "Deployment").unwrap();
    &deployment.object["spec"]["template"]["spec"]
}

fn text(compilation: &Compilation) -> String {
    yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
}

fn messages(compilation: &Compilation) -> Vec<&str> {
    compilation.diagnostics.iter().map(|found| found.message.as_str()).collect()
}

/// Generates text that a shell, Kubernetes or YAML could misinterpret.
fn misleading_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("$(HOSTNAME)".to_owned()),
        Just("'; rm -rf / #".to_owned()),
        Just("`id`\n$$".to_owned()),
        Just("\u{7f}\u{2028}\"\\".to_owned()),
        "\\PC{0,12}",
    ]
}

/// Generates sections in any order, each with the settings of its providers.
fn sections() -> impl Strategy<Value = Vec<(usize, Vec<String>)>> {
    let section = (0usize..9, proptest::collection::vec(misleading_text(), 0..3));
    proptest::collection::vec(section, 0..6).prop_map(|mut sections| {
        let mut seen = Vec::new();
        sections.retain(|(api, _)| {
            !seen.contains(api) && {
                seen.push(*api);
                true
            }
        });
        sections
    })
}

fn external_providers(sections: &[(usize, Vec<String>)]) -> Value {
    let mut object = serde_json::Map::new();
    for (api, settings) in sections {
        let provider = |(index, setting): (usize, &String)| {
            json!({
                "providerId": format!("p-{api}-{index}"),
                "image": format!("quay.io/acme/p{api}@{DIGEST}"),
                "config": {"setting": setting, setting.clone(): [setting]},
            })
        };
        object.insert(Api::ALL[*api].section().to_owned(), settings.iter().enumerate().map(provider).collect());
    }
    Value::Object(object)
}

/// Returns the value of a variable after expansion by Kubernetes, without any other variables.
fn expand_variable(value: &str) -> String {
    let mut seen = String::new();
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        seen.push(c);
        if c == '$' && rest.peek() == Some(&'$') {
            rest.next();
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Providers are installed in the order of the APIs, independent of the order of the sections.
    #[test]
    fn order_is_that_of_the_apis(mut sections in sections()) {
        let compilation = rendered(&distribution(&json!({"externalProviders": external_providers(&sections)})));
        prop_assert!(!compilation.has_errors(), "{:?}", messages(&compilation));
        sections.sort_by_key(|(api, _)| *api);
        let expected: Vec<String> = sections
            .iter()
            .flat_map(|(api, settings)| (0..settings.len()).map(move |index| format!("external-provider-p-{api}-{index}")))
            .collect();
        let containers = pod(&compilation)["initContainers"].as_array().cloned().unwrap_or_default();
        let names: Vec<&str> = containers.iter().map(|container| container["name"].as_str().unwrap()).collect();
        let around = if expected.is_empty() { [].as_slice() } else { &["extract-distribution-config", "merge-config"] };
        let expected: Vec<&str> = expected.iter().map(String::as_str).chain(around.iter().copied()).collect();
        prop_assert_eq!(names, expected);
    }

    /// Scripts contain no input; settings reach them unchanged through variables.
    #[test]
    fn scripts_are_constant(sections in sections()) {
        let compilation = rendered(&distribution(&json!({"externalProviders": external_providers(&sections)})));
        let containers = pod(&compilation)["initContainers"].as_array().cloned().unwrap_or_default();
        let mut settings = sections.clone();
        settings.sort_by_key(|(api, _)| *api);
        let mut settings = settings.into_iter().flat_map(|(_, settings)| settings);
        for (order, container) in containers.iter().enumerate() {
            let command = container["command"].as_array().unwrap();
            match container["name"].as_str().unwrap() {
                "merge-config" => prop_assert_eq!(command, &[json!("/usr/local/bin/kubefoundry"), json!("llamastack"), json!("merge-config")]),
                "extract-distribution-config" => prop_assert_eq!(command, &[json!("/bin/sh"), json!("-c"), json!(EXTRACT_SCRIPT)]),
                _ => {
                    prop_assert_eq!(command, &[json!("/bin/sh"), json!("-c"), json!(PROVIDER_SCRIPT)]);
                    let setting = settings.next().unwrap();
                    let value = |name: &str| {
                        let env = container["env"].as_array().unwrap();
                        expand_variable(env.iter().find(|variable| variable["name"] == name).unwrap()["value"].as_str().unwrap())
                    };
                    prop_assert_eq!(value("LLS_PROVIDER_ORDER"), order.to_string());
                    let config: Value = serde_json::from_str(&value("LLS_PROVIDER_CONFIG")).unwrap();
                    prop_assert_eq!(&config, &json!({"setting": setting, setting.clone(): [setting]}));
                }
            }
        }
    }

    /// The same distribution gives the same bytes, and empty sections add nothing.
    #[test]
    fn bytes_are_the_same(sections in sections()) {
        let object = distribution(&json!({"externalProviders": external_providers(&sections)}));
        prop_assert_eq!(text(&rendered(&object)), text(&rendered(&object)));
        let empty: Vec<(usize, Vec<String>)> = sections.iter().map(|(api, _)| (*api, Vec::new())).collect();
        let nothing = rendered(&distribution(&json!({"externalProviders": external_providers(&empty)})));
        prop_assert_eq!(text(&nothing), text(&rendered(&distribution(&json!({"externalProviders": {}})))));
    }

    /// A value of a wrong type gives a finding at its place, never a panic.
    #[test]
    fn nothing_panics(field in 0usize..16, value in prop_oneof![Just(json!(null)), Just(json!("")), Just(json!(-1)), Just(json!([null])), Just(json!({})), Just(json!({"a": [1]})), Just(json!([{}])), misleading_text().prop_map(Value::from)]) {
        let field = [
            "distribution", "containerSpec", "workers", "autoscaling", "podDisruptionBudget", "podOverrides", "storage", "tlsConfig",
            "topologySpreadConstraints", "userConfig", "externalProviders", "inference", "volumes", "volumeMounts", "caBundle", "env",
        ][field];
        let mut server = json!({"externalProviders": {"safety": [{"providerId": "guard", "image": format!("quay.io/acme/guard@{DIGEST}")}]}});
        match field {
            "inference" => server["externalProviders"][field] = value,
            "volumes" | "volumeMounts" => server["podOverrides"] = json!({field: value}),
            "caBundle" => server["tlsConfig"] = json!({field: value}),
            "env" => server["containerSpec"] = json!({field: value}),
            _ => server[field] = value,
        }
        let compilation = rendered(&distribution(&server));
        for found in &compilation.diagnostics {
            prop_assert!(found.location.is_some(), "{:?}", found);
        }
    }
}

/// A folder with programs that record their calls.
struct Stage {
    folder: PathBuf,
}

impl Stage {
    fn new(name: &str, programs: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("start-server-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        for (program, body) in programs {
            let path = folder.join("bin").join(program);
            let text = format!("#!/bin/sh\nprintf '%s\\n' \"{program} $*\" >>\"$CALLS\"\n{body}\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    /// Runs the script of a rendered pod with additional variables. Returns the recorded calls and the output.
    fn start(&self, variables: &[(&str, &str)]) -> (Vec<String>, Output) {
        self.start_with(variables, &[])
    }

    /// Like `start`, with additional arguments of the user.
    fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (Vec<String>, Output) {
        let script = start_script();
        let calls = self.folder.join("calls");
        let _ = fs::remove_file(&calls);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).env_clear().env("PATH", self.folder.join("bin")).env("CALLS", &calls);
        let output = command.arg("start-server").args(arguments).envs(variables.iter().copied()).output().unwrap();
        let calls = fs::read_to_string(&calls).unwrap_or_default();
        (calls.lines().map(str::to_owned).collect(), output)
    }
}

/// Returns the start script of a rendered pod.
fn start_script() -> String {
    let provider = json!({"inference": [{"providerId": "p", "image": format!("quay.io/acme/p@{DIGEST}")}]});
    let compilation = rendered(&distribution(&json!({"externalProviders": provider})));
    let script = pod(&compilation)["containers"][0]["command"][2].as_str().unwrap().to_owned();
    assert!(!script.contains("$$") && !script.contains("$("), "Kubernetes would change it");
    script
}

const CONFIG: &str = "/opt/llama-stack/config/run.yaml";

#[test]
fn the_server_is_started_with_the_merged_configuration() {
    let stage = Stage::new("run", &[("llama", ""), ("llama-stack", "exit 2")]);
    let run = [("LLAMA_STACK_CONFIG", CONFIG), ("LLS_START", "run")];
    let (calls, output) = stage.start(&[&run[..], &[("LLS_PORT", "8321"), ("LLS_PREFLIGHT", "auto")]].concat());
    assert_eq!(calls, ["llama-stack preflight --help", &format!("llama stack run {CONFIG}")]);
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("NOTICE: This distribution has no llama-stack preflight")
    );
    let (calls, _) = stage.start(&[&run[..], &[("LLS_PORT", "9000"), ("LLS_PREFLIGHT", "off")]].concat());
    assert_eq!(calls, [format!("llama stack run {CONFIG} --port 9000")]);
    let mine = ["--port", "8000", "a b; id"];
    let (calls, _) =
        stage.start_with(&[&run[..], &[("LLS_PORT", "9000"), ("LLS_EXTRA_PROVIDERS", "/x")]].concat(), &mine);
    let expected = format!("llama stack run {CONFIG} --port 9000 --extra-providers /x --port 8000 a b; id");
    assert_eq!(calls, [expected], "the user's arguments come last, so that they win");
}

#[test]
fn a_failing_preflight_stops_the_server() {
    let run = [("LLAMA_STACK_CONFIG", CONFIG), ("LLS_START", "run")];
    let help = "if [ \"$2\" = --help ]; then exit 0; fi";
    let stage = Stage::new("preflight", &[("llama", ""), ("llama-stack", help)]);
    for mode in ["auto", "required"] {
        let (calls, output) = stage.start(&[&run[..], &[("LLS_PREFLIGHT", mode)]].concat());
        let preflight = format!("llama-stack preflight --run-yaml={CONFIG}");
        assert_eq!(calls, ["llama-stack preflight --help", &preflight, &format!("llama stack run {CONFIG}")], "{mode}");
        assert!(output.status.success());
    }
    let stage = Stage::new("preflight-fails", &[("llama", ""), ("llama-stack", &format!("{help}\nexit 3"))]);
    for mode in ["auto", "required"] {
        let (calls, output) = stage.start(&[&run[..], &[("LLS_PREFLIGHT", mode)]].concat());
        assert!(!calls.iter().any(|call| call.starts_with("llama ")), "{calls:?}");
        assert_eq!(output.status.code(), Some(3), "{mode}");
    }
    let stage = Stage::new("no-preflight", &[("llama", "")]);
    let (calls, output) = stage.start(&[&run[..], &[("LLS_PREFLIGHT", "required")]].concat());
    assert!(calls.is_empty() && output.status.code() == Some(1), "{calls:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("ERROR: This distribution has no llama-stack preflight") && said.contains("\nResolution: "),
        "{said}"
    );
}

#[test]
fn the_installed_version_decides_how_processes_are_started() {
    let workers = [("LLAMA_STACK_CONFIG", CONFIG), ("LLS_WORKERS", "4"), ("LLS_PORT", "9000")];
    let uvicorn = "uvicorn llama_stack.core.server.server:create_app --host 0.0.0.0 --port 9000 --workers 4 --factory";
    for (status, expected) in [
        (10, format!("python3 -m llama_stack.distribution.server.server --config {CONFIG}")),
        (11, format!("python3 -m llama_stack.core.server.server {CONFIG}")),
        (12, uvicorn.to_owned()),
        (1, uvicorn.to_owned()),
    ] {
        let python = format!("if [ \"$1\" = -c ]; then exit {status}; fi");
        let stage = Stage::new(&format!("version-{status}"), &[("python3", &python), ("uvicorn", "")]);
        let (calls, output) = stage.start(&workers);
        assert_eq!(calls.last(), Some(&expected), "{status}");
        let (calls, _) = stage.start_with(&workers, &["--workers", "2"]);
        assert_eq!(calls.last(), Some(&format!("{expected} --workers 2")), "{status}");
        assert!(output.status.success());
    }
}

/// Runs the Python part of the script with packages `llama_stack` of several versions. Skipped without Python.
#[test]
fn the_script_distinguishes_versions() {
    let script = start_script();
    let (_, rest) = script.split_once("python3 -c '").unwrap();
    let (program, _) = rest.split_once("\n' ||").unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3 here");
        return;
    }
    for (version, expected) in [
        ("0.2.9", 10),
        ("0.2.16", 10),
        ("0.2.17rc1", 11),
        ("0.2.17", 11),
        ("0.2.23", 11),
        ("0.3.0rc2", 12),
        ("0.3.0.dev20251102", 12),
        ("0.5.0", 12),
        ("1", 12),
    ] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("llama-stack-version-{version}"));
        let info = folder.join(format!("llama_stack-{version}.dist-info"));
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("METADATA"), format!("Metadata-Version: 2.1\nName: llama_stack\nVersion: {version}\n"))
            .unwrap();
        let output = Command::new("python3").args(["-c", program]).env("PYTHONPATH", &folder).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{version}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_server_that_merges_itself_finds_its_configuration() {
    let stage = Stage::new("native", &[("llama", "")]);
    let there = stage.folder.join("a run.yaml");
    fs::write(&there, "").unwrap();
    let there = there.to_str().unwrap();
    let paths = format!("/missing/run.yaml\n{there}\n/etc/hosts");
    let native = [("LLS_START", "run"), ("LLS_CONFIG_PATHS", paths.as_str()), ("LLS_EXTRA_PROVIDERS", "/x/extra.yaml")];
    let (calls, _) = stage.start(&native);
    assert_eq!(calls, [format!("llama stack run {there} --extra-providers /x/extra.yaml")]);
    let (calls, output) = stage.start(&[("LLS_START", "run"), ("LLS_CONFIG_PATHS", "/missing/run.yaml\n/*")]);
    assert!(calls.is_empty() && output.status.code() == Some(1), "{calls:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("ERROR: No configuration found in the user ConfigMap\n\nResolution: "), "{said}");
}

/// Without a ConfigMap of the user, the configuration is that of the image.
#[test]
fn a_server_that_merges_itself_finds_that_of_its_image() {
    let stage = Stage::new("native-image", &[("llama", "")]);
    let there = stage.folder.join("run.yaml");
    fs::write(&there, "").unwrap();
    let there = there.to_str().unwrap();
    let native = [("LLS_START", "run"), ("LLS_EXTRA_PROVIDERS", "/x/extra.yaml")];
    let (calls, _) = stage.start(&[&native[..], &[("LLS_EXTRA_BASE_CONFIGS", there)]].concat());
    assert_eq!(calls, [format!("llama stack run {there} --extra-providers /x/extra.yaml")]);
    let (calls, output) = stage.start(&[&native[..], &[("RUN_CONFIG_PATH", "/missing/run.yaml")]].concat());
    assert!(calls.is_empty() && output.status.code() == Some(1), "{calls:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("ERROR: No run.yaml found in distribution image\nChecked paths:\n"), "{said}");
    assert!(said.contains("  - /missing/run.yaml (not found)\n  - /app/run.yaml (not found)\n"), "{said}");
}

/// Returns a distribution with a value in every section, so that a change of any field can affect the output.
fn full() -> Value {
    let mut object = distribution(&json!({
        "containerSpec": {
            "port": 8321,
            "env": [{"name": "A", "value": "1"}],
            "resources": {"claims": [{"name": "gpu"}], "limits": {"memory": "2Gi"}, "requests": {"cpu": "1"}},
        },
        "autoscaling": {"maxReplicas": 20},
        "podDisruptionBudget": {},
        "podOverrides": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        },
        "storage": {},
        "tlsConfig": {"caBundle": {"configMapName": "ca", "configMapKeys": ["root.crt"]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}],
        "userConfig": {"configMapName": "config"},
        "externalProviders": {},
    }));
    for api in Api::ALL {
        let provider =
            json!([{"providerId": api.section().to_lowercase(), "image": format!("quay.io/acme/p@{DIGEST}")}]);
        object["spec"]["server"]["externalProviders"][api.section()] = provider;
    }
    object["spec"]["network"] = json!({"allowedFrom": {"namespaces": ["a"], "labels": ["b"]}});
    object
}

/// Collects the JSON pointer of every field of a shape, with values to try.
fn fields(shape: Shape, at: &str, found: &mut Vec<(String, Vec<Value>)>) {
    let values = match shape {
        Shape::Object(object) => {
            for field in object.fields {
                fields(field.full_shape(), &format!("{at}/{}", field.key), found);
            }
            return;
        }
        Shape::List(item) => {
            if let Shape::Object(_) = item {
                return fields(*item, &format!("{at}/0"), found);
            }
            vec![json!(["sample"])]
        }
        Shape::Boolean => vec![json!(true), json!(false)],
        Shape::Integer(_) => vec![json!(7)],
        Shape::Map(_) => vec![json!({"example.com/sample": "7"})],
        Shape::Enum(words) => words.values.iter().map(|(word, _)| json!(word)).collect(),
        Shape::Any => vec![json!({"sample": true})],
        Shape::String | Shape::IntegerOrString | Shape::Timestamp | Shape::Literal(_) | Shape::OneOf(_) => {
            vec![json!("sample"), json!("7")]
        }
    };
    found.push((at.to_owned(), values));
}

/// Sets a value in an object and creates missing parents.
fn set_value(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for step in pointer.split('/').skip(1) {
        at = if let Ok(index) = step.parse::<usize>() {
            if !at.is_array() {
                *at = json!([]);
            }
            let items = at.as_array_mut().unwrap();
            while items.len() <= index {
                items.push(json!({}));
            }
            &mut items[index]
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            at.as_object_mut().unwrap().entry(step).or_insert(Value::Null)
        };
    }
    *at = value;
}

/// Nothing is silently dropped: a change of a field changes the output or the findings.
#[test]
fn every_field_makes_a_difference() {
    let came_to = |object: &Value| {
        let mut sources = SourceSet::default();
        sources.add_for(
            Purpose::Options,
            "kubefoundry.yaml",
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nllamaStack: {networkPolicy: true}\n",
        );
        sources.add("input.json", object.to_string());
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        let said = messages(&compilation).join("\n");
        let output = if compilation.has_errors() { String::new() } else { text(&compilation) };
        (said, output)
    };
    let before = came_to(&full());
    assert!(!before.1.is_empty(), "{}", before.0);
    let mut all = Vec::new();
    fields(wire::LlamaStackDistributionSpec::SHAPE, "/spec", &mut all);
    assert!(all.len() > 90, "{}", all.len());
    let mut silent = Vec::new();
    for (pointer, values) in &all {
        let differs = |value: &Value| {
            let mut object = full();
            set_value(&mut object, pointer, value.clone());
            came_to(&object) != before
        };
        if !values.iter().any(differs) {
            silent.push(pointer);
        }
    }
    assert_eq!(silent, Vec::<&String>::new());
}

/// The CRD allows 64 providers of one API.
#[test]
fn more_than_64_providers_of_an_api_are_refused() {
    let with = |count: usize| {
        let providers: Vec<Value> = (0..count)
            .map(|index| json!({"providerId": format!("p{index}"), "image": format!("quay.io/acme/p@{DIGEST}")}))
            .collect();
        rendered(&distribution(&json!({"externalProviders": {"safety": providers}})))
    };
    assert!(!with(64).has_errors(), "{:?}", messages(&with(64)));
    let compilation = with(65);
    let refused: Vec<(&str, &str)> =
        compilation.diagnostics.iter().map(|found| (found.code.id, found.message.as_str())).collect();
    let expected = ("KF0116", "spec.server.externalProviders.safety has 65 entries, expected at most 64");
    assert!(refused.contains(&expected), "{refused:?}");
}

/// etcd stores at most 1.5 MiB, and each provider adds its script and its config to the pod.
#[test]
fn a_pod_that_no_cluster_can_store_is_refused() {
    let with = |filler: usize| {
        let provider = |index: usize, length: usize| {
            let config = json!({"a": "x".repeat(length)});
            json!({"providerId": format!("p{index:02}"), "image": format!("quay.io/acme/p@{DIGEST}"), "config": config})
        };
        let mut providers: Vec<Value> = (0..11).map(|index| provider(index, 118_000)).collect();
        providers.push(provider(11, filler));
        rendered(&distribution(&json!({"externalProviders": {"inference": providers}})))
    };
    let compilation = with(1);
    assert!(!compilation.has_errors(), "{:?}", messages(&compilation));
    let most = 1 + 1_572_864 - pod(&compilation).to_string().len();
    let compilation = with(most);
    assert!(!compilation.has_errors(), "{:?}", messages(&compilation));
    assert_eq!(pod(&compilation).to_string().len(), 1_572_864);
    let expected = "the pod has 1572865 bytes as JSON, expected at most 1572864";
    let compilation = with(most + 1);
    assert!(messages(&compilation).iter().any(|message| message.starts_with(expected)), "{:?}", messages(&compilation));
}

/// Values above limits of the platform are refused: the length of a variable in Linux, the size of a ConfigMap.
#[test]
fn values_above_platform_limits_are_refused() {
    let with = |length: usize| {
        let provider = json!([{
            "providerId": "p", "image": format!("quay.io/acme/p@{DIGEST}"), "config": {"a": "x".repeat(length)},
        }]);
        rendered(&distribution(&json!({"externalProviders": {"inference": provider}})))
    };
    assert!(!with(130_000).has_errors());
    let compilation = with(131_072);
    let expected =
        "spec.server.externalProviders.inference[0].config has 131080 bytes as JSON, expected at most 131008";
    assert!(messages(&compilation).iter().any(|message| message.starts_with(expected)), "{:?}", messages(&compilation));

    let merged = |filler: usize| {
        let text = |value: &Value| value.to_string();
        let labels = json!({"llamastack.io/provider-metadata": "p"});
        let metadata = json!({
            "apiVersion": "llamastack.io/v1alpha1", "kind": "ProviderPackage",
            "metadata": {"name": "p", "version": "1.0.0", "vendor": "acme"},
            "spec": {"packageName": "p", "providerType": "remote::p", "api": "inference", "wheelPath": "packages/p.whl"},
        });
        let config_map = |name: &str, labels: Value, key: &str, value: String| {
            text(&json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "ai", "labels": labels}, "data": {key: value},
            }))
        };
        let provider = json!([{"providerId": "p", "image": format!("quay.io/acme/p@{DIGEST}")}]);
        let server = json!({"userConfig": {"configMapName": "base"}, "externalProviders": {"inference": provider}});
        let mut sources = SourceSet::default();
        let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nllamaStack: {mergeMode: static}\n";
        sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
        sources.add("input.json", text(&distribution(&server)));
        sources.add("base.json", config_map("base", json!({}), "run.yaml", format!("a: {}\n", "x".repeat(filler))));
        sources.add("metadata.json", config_map("metadata", labels, "lls-provider-spec.yaml", text(&metadata)));
        compile(&BUILTIN, &sources, Thoroughness::Needed)
    };
    assert!(!merged(1_000_000).has_errors(), "{:?}", messages(&merged(1_000_000)));
    let compilation = merged(1_048_500);
    let expected = "ConfigMap stack-run-config would have ";
    assert!(messages(&compilation).iter().any(|message| message.starts_with(expected)), "{:?}", messages(&compilation));
}

/// Kubernetes refuses a pod with a limit below the request, so a low limit lowers the default request.
#[test]
fn a_low_limit_lowers_the_default_request() {
    let provider = json!([{"providerId": "p", "image": format!("quay.io/acme/p@{DIGEST}")}]);
    let mut sources = SourceSet::default();
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nllamaStack: {initResources: {limits: {memory: 128Mi, cpu: 1}}}\n";
    sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
    sources.add("input.json", distribution(&json!({"externalProviders": {"inference": provider}})).to_string());
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let expected = json!({"limits": {"memory": "128Mi", "cpu": "1"}, "requests": {"cpu": "100m", "memory": "128Mi"}});
    for container in pod(&compilation)["initContainers"].as_array().unwrap() {
        assert_eq!(container["resources"], expected, "{}", container["name"]);
    }
}
