//! `argocd`: what a config management plugin is asked, and what it answers. The whole contract, with plugin.yaml and
//! another user, is tested in CI.

use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, SERVICE, Sandbox, broken, model};

/// Runs with just these variables: what the machine has set must not matter.
fn argocd(sandbox: &Sandbox, command: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = sandbox.command(&["argocd", command]);
    let output = command.env_clear().envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Generated objects only: the ModelDeployment is no object of the cluster's, and the namespace is not made up.
#[test]
fn the_manifests_are_printed() {
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("a.yaml", model("a").replace("  namespace: prod\n", ""))
        .with("web.yaml", SERVICE);
    let ran = argocd(&sandbox, "generate", &[("ARGOCD_APP_NAMESPACE", "models")]).exits(0);
    assert_eq!((ran.kinds(), ran.err.as_str()), (vec!["DynamoGraphDeployment"], ""));
    assert!(!ran.out.contains("namespace:"), "{}", ran.out);
}

/// An application with more than models asks for all of it; what only tools read stays behind.
#[test]
fn other_manifests_are_printed_when_asked() {
    let local = SERVICE.replace("name: web", "name: local, annotations: {config.kubernetes.io/local-config: 'true'}");
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("Kptfile.yaml", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n")
        .with("a.yaml", model("a"))
        .with("local.yaml", local)
        .with("web.yaml", SERVICE);
    let ran = argocd(&sandbox, "generate", &[("ARGOCD_ENV_OUTPUT", "replace")]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment", "Service # kept"]);
    let all = argocd(&sandbox, "generate", &[("ARGOCD_ENV_OUTPUT", "append")]).exits(0);
    assert_eq!(all.kinds(), ["ModelDeployment", "DynamoGraphDeployment", "Service # kept"]);
}

/// An empty answer is a success to Argo CD, and with pruning deletes everything.
#[test]
fn nothing_to_render_is_an_error_unless_it_is_said_to_be_fine() {
    let sandbox = Sandbox::new().with("web.yaml", SERVICE);
    let ran = argocd(&sandbox, "generate", &[]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1));
    assert!(ran.err.contains("KF0008"), "{}", ran.err);
    let fine = [("ARGOCD_APP_PARAMETERS", r#"[{"name":"allowEmpty","string":"true"}]"#)];
    assert_eq!(argocd(&sandbox, "generate", &fine).exits(0).out, "");
}

/// The error in the UI is what is on standard error: the file, the line, the field.
#[test]
fn an_error_prints_nothing_but_itself() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = argocd(&sandbox, "generate", &[("ARGOCD_APP_PARAMETERS", "null")]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("b.yaml:13:14: error[KF0101] spec.resources.gpu.count is a string"), "{}", ran.err);
}

/// Parameters are options like any other, and a wrong one is refused by its name.
#[test]
fn parameters_are_options() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let crd_version = [("ARGOCD_APP_PARAMETERS", r#"[{"name":"crdVersions","map":{"dynamo":"nvidia.com/v1beta1"}}]"#)];
    assert!(argocd(&sandbox, "generate", &crd_version).exits(0).out.contains("apiVersion: nvidia.com/v1beta1"));
    let wrong = argocd(&sandbox, "generate", &[("PARAM_CRDVERSIONS_DYNAMO", "nvidia.com/v9")]).exits(2);
    assert!(wrong.err.contains("KF0904") && wrong.err.contains("nvidia.com/v1beta1"), "{}", wrong.err);
    let renamed = argocd(&sandbox, "generate", &[("PARAM_TARGETS_DYNAMO", "nvidia.com/v1beta1")]).exits(2);
    assert!(renamed.err.contains("parameter targets has been renamed to crdVersions"), "{}", renamed.err);
    let unknown = argocd(&sandbox, "generate", &[("ARGOCD_ENV_TARGET", "x")]).exits(2);
    assert!(
        unknown.err.contains("there is no parameter \"TARGET\", expected one of config, kustomize"),
        "{}",
        unknown.err
    );
    assert_eq!((wrong.out.as_str(), unknown.out.as_str()), ("", ""));
}

/// The options file is named in the application's directory; nothing outside of it is anybody's business.
#[test]
fn nothing_outside_the_directory_is_read() {
    let sandbox = Sandbox::new().with("outside.yaml", PINNED).with("app/a.yaml", model("a")).with("app/o.yml", PINNED);
    let inside = |config: &str| {
        let list = serde_json::json!([{"name": "config", "string": config}]).to_string();
        let mut command = sandbox.command(&["argocd", "generate"]);
        command.env_clear().env("ARGOCD_APP_PARAMETERS", list).current_dir(sandbox.path("app"));
        command.output().unwrap()
    };
    assert!(inside("o.yml").status.success());
    let outside = inside("../outside.yaml");
    assert_eq!(outside.status.code(), Some(2));
    let error = String::from_utf8(outside.stderr).unwrap();
    assert!(error.contains("../outside.yaml: not read, since it leads out of the application's directory"), "{error}");
}

/// Links lead where their author wants.
#[cfg(unix)]
#[test]
fn links_out_of_the_directory_are_refused() {
    let sandbox = Sandbox::new().with("secret.yaml", model("secret")).with("app/a.yaml", model("a"));
    std::os::unix::fs::symlink("../secret.yaml", sandbox.path("app/b.yaml")).unwrap();
    let mut command = sandbox.command(&["argocd", "generate"]);
    let output = command.env_clear().current_dir(sandbox.path("app")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

/// Files that may be ours; broken ones too, since only `generate` can say what is wrong with them.
#[test]
fn discover_names_the_files() {
    let sandbox = Sandbox::new()
        .with("models/a.yaml", model("a"))
        .with("models/broken.yaml", format!("{}: [", model("b")))
        .with("chart/templates/x.yaml", "{{ if .Values.x }}\nkind: {{ .Values.kind }}\n")
        .with("web.yaml", SERVICE);
    assert_eq!(argocd(&sandbox, "discover", &[]).exits(0).out, "models/a.yaml\nmodels/broken.yaml\n");
    let other = Sandbox::new().with("web.yaml", SERVICE).with("bad.yaml", ": : [");
    assert_eq!(argocd(&other, "discover", &[]).exits(0).out, "");
}

/// A list: Argo CD refuses an object.
#[test]
fn params_are_a_list() {
    let ran = argocd(&Sandbox::new(), "params", &[]).exits(0);
    let list: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list[0]["name"], "config");
    assert!(list.iter().all(|one| one["tooltip"].as_str().is_some_and(|text| !text.is_empty())), "{list:#?}");
}

/// The cluster that Argo CD deploys to may lack what we write; the answer is given all the same.
#[test]
fn missing_crds_are_warned_of() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let serves = |versions: &str| argocd(&sandbox, "generate", &[("KUBE_API_VERSIONS", versions)]).exits(0).err;
    let warning = "kubefoundry: the cluster does not serve nvidia.com/v1alpha1, which Dynamo manifests need\n";
    assert_eq!(serves("apps/v1,nvidia.com/v1beta1"), warning);
    assert_eq!(serves("apps/v1,nvidia.com/v1alpha1"), "");
    assert_eq!(serves("v1,nvidia.com/v1alpha1/DynamoGraphDeployment"), "");
    assert_eq!(serves(""), "");
}

/// `auto` takes what the cluster serves. That it serves nothing of a provider matters when that one is needed.
#[test]
fn crd_versions_are_chosen_by_what_the_cluster_serves() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let list = r#"[{"name":"crdVersions","map":{"dynamo":"auto","kuberay":"auto"}}]"#;
    let generate = |versions: &str| {
        argocd(&sandbox, "generate", &[("ARGOCD_APP_PARAMETERS", list), ("KUBE_API_VERSIONS", versions)])
    };
    let newer = generate("apps/v1,nvidia.com/v1beta1,nvidia.com/v1beta1/DynamoGraphDeployment").exits(0);
    assert!(newer.out.contains("apiVersion: nvidia.com/v1beta1\n"), "{}", newer.out);
    assert_eq!(newer.err, "");
    assert!(
        generate("nvidia.com/v1beta1,nvidia.com/v1alpha1").exits(0).out.contains("apiVersion: nvidia.com/v1alpha1")
    );
    let none = generate("apps/v1,ray.io/v1").exits(2);
    let expected = "kubefoundry: Provider 'dynamo' CRD not installed in cluster: \
                    KUBE_API_VERSIONS does not have nvidia.com/v1alpha1 or nvidia.com/v1beta1\n";
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", expected));
    let unknown = generate("").exits(2);
    assert!(unknown.err.contains("crdVersions: dynamo is auto, and KUBE_API_VERSIONS"), "{}", unknown.err);
}

/// The page says what there is: every parameter, what it holds, and what it is for.
#[test]
fn the_page_lists_the_parameters() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/argocd.md")).unwrap();
    let ran = argocd(&Sandbox::new(), "params", &[]).exits(0);
    let list: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let row = |one: &Value| {
        let kind = match (text(one, "collectionType").as_str(), text(one, "itemType").as_str()) {
            ("map", _) => "map",
            (_, "boolean") => "true, false",
            _ => "string",
        };
        format!("| `{}` | {kind} | {} |", text(one, "name"), text(one, "tooltip"))
    };
    let expected: Vec<String> = list.iter().map(row).collect();
    let shown = page.lines().skip_while(|line| *line != "| parameter | value | |").skip(2);
    assert_eq!(shown.take_while(|line| !line.is_empty()).collect::<Vec<_>>(), expected, "{}", expected.join("\n"));
}

/// The real kustomize is in CI; here one that says what it was asked, and one that fails.
#[cfg(unix)]
#[test]
fn kustomize_is_run_without_a_shell() {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!("#!/bin/sh\n[ \"$*\" = 'build .' ] || exit 9\ncat <<'END'\n{}END\n", model("built"));
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("kustomization.yaml", "resources: [a.yaml]\nnamePrefix: x-\n")
        .with("a.yaml", model("a"))
        .with("bin/kustomize", script)
        .with("failing/kustomize", "#!/bin/sh\necho 'no such\nfile' >&2\nexit 1\n");
    for script in ["bin/kustomize", "failing/kustomize"] {
        std::fs::set_permissions(sandbox.path(script), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = |folder: &str| -> String {
        let folders = [sandbox.path(folder), PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        std::env::join_paths(folders).unwrap().into_string().unwrap()
    };
    let on = ("ARGOCD_ENV_KUSTOMIZE", "true");
    let built = argocd(&sandbox, "generate", &[("PATH", &path("bin")), on]).exits(0);
    assert!(built.out.contains("name: built"), "{}", built.out);
    let failed = argocd(&sandbox, "generate", &[("PATH", &path("failing")), on]).exits(2);
    assert_eq!(failed.err, "kubefoundry: kustomize build failed: no such file\n");
    let absent = argocd(&sandbox, "generate", &[("PATH", "/nowhere"), on]).exits(2);
    assert!(absent.err.starts_with("kubefoundry: kustomize cannot be run: "), "{}", absent.err);
    let off = argocd(&sandbox, "generate", &[]).exits(0);
    assert!(off.out.contains("name: a\n") && off.err.contains("kustomization.yaml is not applied"), "{off:#?}");
    assert_eq!((failed.out.as_str(), absent.out.as_str()), ("", ""));
}
