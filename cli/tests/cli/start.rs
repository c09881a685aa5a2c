//! The start script of a rendered pod: the checks of the installed providers before the server starts.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox, skipped};

const DISTRIBUTION: &str = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: chat, namespace: ai}
spec:
  server:
    distribution: {name: starter}
    containerSpec: {port: 8321}
    externalProviders:
      inference: [{providerId: vllm, image: \"quay.io/acme/vllm:1.0\"}]
";

/// What the script needs of llama-stack and PyYAML. The metadata of these tests is JSON, which is YAML.
const LIBRARIES: [(&str, &str); 4] = [
    ("llama_stack/__init__.py", ""),
    ("llama_stack/core/__init__.py", ""),
    ("llama_stack/core/datatypes.py", "class Provider:\n    model_fields = {\"module\": None}\n"),
    ("yaml.py", "import json\nsafe_load = json.loads\n"),
];

const SPEC: &str = "\
class Spec:
    provider_type, api = \"remote::acme-vllm\", \"inference\"
def get_provider_spec():
    return Spec()
";

/// A container of the server with the provider `vllm`, whose files the arguments are, as paths and texts.
fn container(files: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::new().with("input.yaml", DISTRIBUTION);
    for (path, text) in LIBRARIES.iter().chain(files) {
        sandbox = sandbox.with(&format!("site/{path}"), *text);
    }
    let config = json!({"providerId": "vllm", "api": "inference", "order": 0, "image": "quay.io/acme/vllm:1.0"});
    let package = json!({"spec": {"packageName": "acme.vllm==1.0", "providerType": "remote::acme-vllm"}});
    let metadata = "opt/llama-stack/external-providers/metadata/vllm";
    sandbox
        .with(&format!("{metadata}/crd-config.yaml"), config.to_string())
        .with(&format!("{metadata}/lls-provider-spec.yaml"), package.to_string())
        .with("bin/llama", "#!/bin/sh\necho started \"$@\"\n")
}

/// Runs the script of the rendered pod; `None` without Python.
fn start(sandbox: &Sandbox) -> Option<Ran> {
    let mut python = Command::new("python3");
    let has_python = python.arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(has_python || env::var_os("CI").is_none(), "CI needs python3: the start of the server uses it");
    if !has_python {
        skipped("python3 is not installed, so no server is started");
        return None;
    }
    let rendered = sandbox.run(&["render", "input.yaml", "--output", "json"]).exits(0).out;
    let rendered: Value = serde_json::from_str(&rendered).unwrap();
    let objects = rendered["items"].as_array().unwrap();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let script = deployment["spec"]["template"]["spec"]["containers"][0]["command"][2].as_str().unwrap();
    fs::set_permissions(sandbox.path("bin/llama"), fs::Permissions::from_mode(0o755)).unwrap();
    let root = sandbox.path("input.yaml");
    let root = root.parent().unwrap();
    let path = format!("{}:{}", root.join("bin").display(), env::var("PATH").unwrap_or_default());
    let output = Command::new("/bin/sh")
        .args(["-c", script, "start-server"])
        .env("PATH", path)
        .env("PYTHONPATH", root.join("site"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LLS_ROOT", root)
        .env("LLS_START", "run")
        .env("LLAMA_STACK_CONFIG", "/run.yaml")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Some(Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}

#[test]
fn a_server_starts_with_a_provider_that_it_can_import() {
    let sandbox = container(&[("acme/vllm/provider.py", SPEC)]);
    let Some(ran) = start(&sandbox) else { return };
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "started stack run /run.yaml\n", ""));
}

/// What keeps the server from starting is reported with the provider, its image and what to do, before the server starts.
#[test]
fn a_provider_that_cannot_be_imported_stops_the_server() {
    for (files, reason) in [
        (&[][..], "ModuleNotFoundError: No module named 'acme'"),
        (&[("acme/vllm/provider.py", "import left_out\n")], "ModuleNotFoundError: No module named 'left_out'"),
        (&[("acme/vllm/provider.py", "x = 1\n")], "has no attribute 'get_provider_spec'"),
        (
            &[("acme/vllm/provider.py", "def get_provider_spec():\n    raise ValueError('no key')\n")],
            "ValueError: no key",
        ),
    ] {
        let Some(ran) = start(&container(files)) else { return };
        let expected = "ERROR: Cannot get the specification of provider 'vllm' from get_provider_spec() of \
                        acme.vllm.provider\n\nProvider: vllm\nImage: quay.io/acme/vllm:1.0\n\n";
        assert!(ran.err.starts_with(expected), "{}", ran.err);
        assert!(ran.err.contains(reason), "{reason} is not in\n{}", ran.err);
        let resolution = "\n\nResolution: Build the provider image with a wheel that has acme/vllm/provider.py with \
                          get_provider_spec() in it";
        assert!(ran.err.contains(resolution), "{}", ran.err);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    }
}

/// The specification of the code counts, and a difference from the metadata is a warning.
#[test]
fn metadata_that_differs_from_the_code_is_a_warning() {
    let spec = SPEC.replace("remote::acme-vllm", "remote::vllm");
    let Some(ran) = start(&container(&[("acme/vllm/provider.py", &spec)])) else { return };
    assert!(
        ran.err.starts_with("WARNING: Provider metadata mismatch (non-blocking)\n\nProvider: vllm\n"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("  Using: remote::vllm (runtime value)\n"), "{}", ran.err);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "started stack run /run.yaml\n"));
}

/// Native code for another Python is reported before the import fails somewhere inside a dependency.
#[test]
fn native_code_for_another_python_stops_the_server() {
    let native = json!({"python": "3.4", "native": ["acme_core-1-cp34-cp34m-manylinux1_x86_64.whl"]});
    let sandbox = container(&[("acme/vllm/provider.py", SPEC)])
        .with("opt/llama-stack/external-providers/metadata/vllm/python.json", native.to_string());
    let Some(ran) = start(&sandbox) else { return };
    let expected = "ERROR: Provider 'vllm' has native code for another Python than that of the server\n\nProvider: \
                    vllm\nImage: quay.io/acme/vllm:1.0\n";
    assert!(ran.err.starts_with(expected), "{}", ran.err);
    assert!(
        ran.err.contains("Found: acme_core-1-cp34-cp34m-manylinux1_x86_64.whl (installed by Python 3.4)"),
        "{}",
        ran.err
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
}
