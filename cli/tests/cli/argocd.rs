//! `argocd`: the requests to a config management plugin and its output. The whole contract, including plugin.yaml and
//! running as another user, is tested in CI.

use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, SERVICE, Sandbox, broken, model};

/// Runs with only these environment variables, so that those of the machine do not matter.
pub(crate) fn argocd(sandbox: &Sandbox, command: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = sandbox.command(&["argocd", command]);
    let output = command.env_clear().envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Only generated objects are printed, and no namespace is added to them.
#[test]
fn generate_prints_the_manifests() {
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("a.yaml", model("a").replace("  namespace: prod\n", ""))
        .with("web.yaml", SERVICE);
    let ran = argocd(&sandbox, "generate", &[("ARGOCD_APP_NAMESPACE", "models")]).exits(0);
    assert_eq!((ran.kinds(), ran.err.as_str()), (vec!["DynamoGraphDeployment"], ""));
    assert!(!ran.out.contains("namespace:"), "{}", ran.out);
}

/// With `output`, other manifests are printed, too, but not the configuration of tools.
#[test]
fn generate_prints_other_manifests_on_request() {
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

/// To Argo CD, an empty output is a success, and with pruning it deletes everything.
#[test]
fn no_models_are_an_error_without_allow_empty() {
    let sandbox = Sandbox::new().with("web.yaml", SERVICE);
    let ran = argocd(&sandbox, "generate", &[]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1));
    assert!(ran.err.contains("KF0107"), "{}", ran.err);
    let fine = [("ARGOCD_APP_PARAMETERS", r#"[{"name":"allowEmpty","string":"true"}]"#)];
    assert_eq!(argocd(&sandbox, "generate", &fine).exits(0).out, "");
}

/// Files of the application's repository cannot loosen the policy for pods; parameters of the Application can.
#[test]
fn only_parameters_loosen_the_policy() {
    let locked = model("a").replace("spec:\n", "spec:\n  securityContext: {capabilities: {add: [IPC_LOCK]}}\n");
    let policy = format!("{PINNED}policy: {{allowCapabilities: [IPC_LOCK]}}\n");
    let found = Sandbox::new().with("a.yaml", &locked).with("kubefoundry.yaml", &policy);
    let ran = argocd(&found, "generate", &[]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("KF0613"), "{}", ran.err);
    let named = Sandbox::new().with("a.yaml", &locked).with("options.yaml", &policy);
    let ran = argocd(&named, "generate", &[("PARAM_CONFIG", "options.yaml")]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("KF0613"), "{}", ran.err);
    let sandbox = Sandbox::new().with("a.yaml", &locked).with("kubefoundry.yaml", PINNED);
    assert!(argocd(&sandbox, "generate", &[]).exits(1).err.contains("KF0612"));
    for parameters in [
        ("ARGOCD_APP_PARAMETERS", r#"[{"name":"allowCapabilities","array":["IPC_LOCK"]}]"#),
        ("ARGOCD_APP_PARAMETERS", r#"[{"name":"podSecurity","string":"privileged"}]"#),
        ("ARGOCD_ENV_ALLOWCAPABILITIES", "SYS_PTRACE, IPC_LOCK"),
        ("PARAM_ALLOWCAPABILITIES_0", "IPC_LOCK"),
    ] {
        assert!(argocd(&sandbox, "generate", &[parameters]).exits(0).out.contains("IPC_LOCK"), "{parameters:?}");
    }
}

/// Argo CD sends the repository without `.git` if its operator excludes that, as its documentation recommends. The path of
/// the application then tells where the repository begins.
#[test]
fn options_at_the_root_apply_without_git() {
    let sandbox = Sandbox::new().with("repo/kubefoundry.yaml", PINNED).with("repo/clusters/prod/a.yaml", model("a"));
    let run = |path: Option<&str>| {
        let mut command = sandbox.command(&["argocd", "generate"]);
        command.env_clear().current_dir(sandbox.path("repo/clusters/prod"));
        let output = command.envs(path.map(|path| ("ARGOCD_APP_SOURCE_PATH", path))).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for path in ["clusters/prod", "./clusters/prod/", "repo/clusters/prod"] {
        assert_eq!(run(Some(path)), "", "{path}");
    }
    for path in [None, Some("prod"), Some("."), Some("other/prod"), Some("../clusters/prod"), Some("/clusters/prod")] {
        assert!(run(path).contains("KF0503"), "{path:?}");
    }
}

/// The plugin reads what the command line reads: templates and excluded files do not break an application.
#[test]
fn templates_and_excluded_files_are_not_read() {
    let options = format!("{PINNED}exclude: [vendor]\n");
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", &options)
        .with("a.yaml", model("a"))
        .with("vendor/b.yaml", broken("b"))
        .with("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        .with("chart/templates/c.yaml", format!("{{{{- if .Values.c }}}}\n{}{{{{- end }}}}\n", model("c")));
    let generated = argocd(&sandbox, "generate", &[]).exits(0);
    assert_eq!(generated.kinds(), ["DynamoGraphDeployment"]);
    assert!(generated.err.starts_with("chart/Chart.yaml:1:1: info[KF0110]"), "{}", generated.err);
    assert_eq!(generated.out, sandbox.run(&["render", "."]).exits(0).out);
    assert_eq!(argocd(&sandbox, "discover", &[]).exits(0).out, "a.yaml\n");
    // The file of the parameter can exclude, too, but allow nothing.
    let sandbox = sandbox.with("kubefoundry.yaml", PINNED).with("more.yaml", format!("{options}helm: true\n"));
    let ran = argocd(&sandbox, "generate", &[("PARAM_CONFIG", "more.yaml")]);
    assert!(!ran.err.contains("vendor/b.yaml"), "{}", ran.err);
    assert!(!ran.err.contains("helm cannot render"), "{}", ran.err);
}

/// The UI shows standard error, so it must name the file, the line and the field.
#[test]
fn an_error_prints_no_manifests() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = argocd(&sandbox, "generate", &[("ARGOCD_APP_PARAMETERS", "null")]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("b.yaml:13:14: error[KF0112] spec.resources.gpu.count is a string"), "{}", ran.err);
}

/// Parameters set options, and an error names the parameter.
#[test]
fn parameters_are_options() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let crd_version = [("ARGOCD_APP_PARAMETERS", r#"[{"name":"crdVersions","map":{"dynamo":"nvidia.com/v1beta1"}}]"#)];
    assert!(argocd(&sandbox, "generate", &crd_version).exits(0).out.contains("apiVersion: nvidia.com/v1beta1"));
    let wrong = argocd(&sandbox, "generate", &[("PARAM_CRDVERSIONS_DYNAMO", "nvidia.com/v9")]).exits(2);
    assert!(wrong.err.contains("KF0801") && wrong.err.contains("nvidia.com/v1beta1"), "{}", wrong.err);
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

/// The options file must be inside of the application's directory.
#[test]
fn rejects_files_outside_the_directory() {
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
    assert!(
        error.contains("../outside.yaml: not read, because it is outside of the application's directory"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn rejects_links_out_of_the_directory() {
    let sandbox = Sandbox::new().with("secret.yaml", model("secret")).with("app/a.yaml", model("a"));
    std::os::unix::fs::symlink("../secret.yaml", sandbox.path("app/b.yaml")).unwrap();
    let mut command = sandbox.command(&["argocd", "generate"]);
    let output = command.env_clear().current_dir(sandbox.path("app")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

/// `discover` also lists broken files, so that `generate` can report their errors.
#[test]
fn discover_lists_renderable_files() {
    let sandbox = Sandbox::new()
        .with("models/a.yaml", model("a"))
        .with("models/broken.yaml", format!("{}: [", model("b")))
        .with("chart/templates/x.yaml", "{{ if .Values.x }}\nkind: {{ .Values.kind }}\n")
        .with("web.yaml", SERVICE);
    assert_eq!(argocd(&sandbox, "discover", &[]).exits(0).out, "models/a.yaml\nmodels/broken.yaml\n");
    let other = Sandbox::new().with("web.yaml", SERVICE).with("bad.yaml", ": : [");
    assert_eq!(argocd(&other, "discover", &[]).exits(0).out, "");
}

/// Argo CD accepts only a list.
#[test]
fn params_are_a_list() {
    let ran = argocd(&Sandbox::new(), "params", &[]).exits(0);
    let list: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list[0]["name"], "config");
    assert!(
        list.iter().all(|parameter| parameter["tooltip"].as_str().is_some_and(|text| !text.is_empty())),
        "{list:#?}"
    );
}

/// A CRD that the destination cluster does not serve is only a warning.
#[test]
fn warns_about_missing_crds() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let serves = |versions: &str| argocd(&sandbox, "generate", &[("KUBE_API_VERSIONS", versions)]).exits(0).err;
    let warning = "kubefoundry: the cluster does not serve nvidia.com/v1alpha1, which Dynamo manifests need\n";
    assert_eq!(serves("apps/v1,nvidia.com/v1beta1"), warning);
    assert_eq!(serves("apps/v1,nvidia.com/v1alpha1"), "");
    assert_eq!(serves("v1,nvidia.com/v1alpha1/DynamoGraphDeployment"), "");
    assert_eq!(serves(""), "");
}

/// `auto` selects a version that the cluster serves. A provider without one is an error only if a model needs it.
#[test]
fn auto_selects_a_served_crd_version() {
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
                    KUBE_API_VERSIONS does not list nvidia.com/v1alpha1 or nvidia.com/v1beta1\n";
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", expected));
    let unknown = generate("").exits(2);
    assert!(unknown.err.contains("crdVersions: dynamo is auto, but KUBE_API_VERSIONS"), "{}", unknown.err);
}

/// The table in docs/argocd.md must list every parameter with its type and tooltip.
#[test]
fn the_page_lists_the_parameters() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/argocd.md")).unwrap();
    let ran = argocd(&Sandbox::new(), "params", &[]).exits(0);
    let list: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let text = |parameter: &Value, field: &str| parameter[field].as_str().unwrap().to_owned();
    let row = |parameter: &Value| {
        let kind = match (text(parameter, "collectionType").as_str(), text(parameter, "itemType").as_str()) {
            ("map", _) => "map",
            ("array", _) => "list",
            (_, "boolean") => "true, false",
            _ => "string",
        };
        format!("| `{}` | {kind} | {} |", text(parameter, "name"), text(parameter, "tooltip"))
    };
    let expected: Vec<String> = list.iter().map(row).collect();
    let shown = page.lines().skip_while(|line| *line != "| parameter | value | |").skip(2);
    assert_eq!(shown.take_while(|line| !line.is_empty()).collect::<Vec<_>>(), expected, "{}", expected.join("\n"));
}

/// Uses one fake kustomize that checks its arguments, and one that fails. CI tests the real one.
#[cfg(unix)]
#[test]
fn runs_kustomize_without_a_shell() {
    use std::os::unix::fs::PermissionsExt as _;
    // It has no PATH, and so no other program.
    let script =
        format!("#!/bin/sh\n[ \"$1 ${{2##*/}}\" = 'build build' ] || exit 9\nprintf %s '{}'\n", model("built"));
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
    let failed = argocd(&sandbox, "generate", &[("PATH", &path("failing")), on]).exits(1);
    let reason = "kustomization.yaml:1:1: error[KF0109] kustomize cannot build .: no such file\n";
    assert!(failed.err.contains(reason), "{}", failed.err);
    let absent = argocd(&sandbox, "generate", &[("PATH", "/nowhere"), on]).exits(1);
    assert!(
        absent.err.contains("error[KF0108]") && absent.err.contains("kustomize is not on the PATH"),
        "{}",
        absent.err
    );
    let off = argocd(&sandbox, "generate", &[]).exits(0);
    assert!(off.out.contains("name: a\n") && off.err.contains("kustomization.yaml is ignored"), "{off:#?}");
    assert_eq!((failed.out.as_str(), absent.out.as_str()), ("", ""));
}

/// The UI of Argo CD shows the beginning of standard error, so the error comes before the infos of other files.
#[test]
fn errors_come_first() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("z.yaml", crate::sandbox::broken("z"));
    let ran = argocd(&sandbox, "generate", &[]).exits(1);
    assert!(ran.err.starts_with("z.yaml:13:14: error[KF0112]") && ran.err.contains("info[KF0503]"), "{}", ran.err);
}
