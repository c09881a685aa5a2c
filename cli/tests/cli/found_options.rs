//! `kubefoundry.yaml` is found by walking up from each file, and what it may not set is refused.

use crate::sandbox::{PINNED, Sandbox, broken, model};

fn repository() -> Sandbox {
    let sandbox = Sandbox::new().with("models/m.yaml", model("m")).with("kubefoundry.yaml", PINNED);
    std::fs::create_dir(sandbox.path(".git")).unwrap();
    sandbox
}

/// The same file has the same options however its path is written (D1).
#[test]
fn the_way_a_path_is_written_does_not_matter() {
    let sandbox = repository();
    let whole = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(whole.err, "");
    for path in ["models", "models/", "models/m.yaml", "./models/m.yaml"] {
        let ran = sandbox.run(&["render", path]).exits(0);
        assert_eq!((&*ran.out, &*ran.err), (&*whole.out, ""), "{path}");
    }
    let absolute = sandbox.path("models/m.yaml");
    assert_eq!(sandbox.run(&["render", absolute.to_str().unwrap()]).exits(0).out, whole.out);
    let mut from_below = sandbox.command(&["render", "m.yaml"]);
    let output = from_below.current_dir(sandbox.path("models")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), whole.out);
    assert!(sandbox.run(&["lint", "models", "--isolated"]).exits(0).out.contains("KF0503"));
}

/// The nearest file wins for each key, and `root: true` ends the search.
#[test]
fn nearer_files_override_single_keys() {
    let near = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nimages: {nvcr.io: near.example.com}\n";
    let sandbox = repository().with("models/kubefoundry.yaml", near);
    let ran = sandbox.run(&["render", "models/m.yaml"]).exits(0);
    assert!(ran.out.contains("near.example.com/nvidia/ai-dynamo/vllm-runtime:1.4.0"), "{}", ran.out);
    assert_eq!(ran.err, "", "the runtime is pinned in the file above");
    let sandbox = sandbox.with("models/kubefoundry.yaml", near.to_owned() + "root: true\n");
    assert!(sandbox.run(&["render", "models/m.yaml"]).exits(0).err.contains("KF0503"));
}

/// A file beside the input cannot run programs or reach the network: CI lints the pull requests of strangers.
#[test]
fn a_found_file_cannot_allow_programs() {
    for option in ["kustomize: {enableExec: true}", "kustomize: {allowRemote: true}", "helm: true"] {
        let text = format!("{PINNED}{option}\n");
        let sandbox = repository().with("kubefoundry.yaml", &text).with("trusted.yaml", &text);
        let ran = sandbox.run(&["lint", "models", "-o", "concise"]).exits(2);
        assert!(ran.out.contains("error[KF0804]"), "{option}: {}", ran.out);
        sandbox.run(&["lint", "models", "--isolated", "--config", "trusted.yaml"]).exits(0);
    }
}

/// Objects of other kinds may be in a file of that name, such as the Application that installs the operator.
#[test]
fn another_object_in_a_file_of_that_name_is_no_options() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: kubefoundry}\n";
    let sandbox = repository().with("apps/kubefoundry.yaml", application);
    sandbox.run(&["lint", ".", "--strict"]).exits(0);
}

/// Outside of a repository, files above the working directory do not apply.
#[test]
fn nothing_is_read_above_the_working_directory_outside_of_a_repository() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", "broken: [").with("inner/m.yaml", model("m"));
    let mut command = sandbox.command(&["render", "m.yaml"]);
    assert!(command.current_dir(sandbox.path("inner")).output().unwrap().status.success());
}

/// Names must be unique in an environment: a directory with options of its own, or one that `environments` names.
#[test]
fn the_same_name_in_two_environments_is_no_error() {
    let twice =
        || repository().with("dev/m.yaml", model("m")).with("prod/m.yaml", model("m")).with("models/m.yaml", "");
    let ran = twice().run(&["lint", "."]).exits(1);
    assert!(ran.out.contains("KF0523"), "{}", ran.out);
    let own = twice().with("dev/kubefoundry.yaml", PINNED).with("prod/kubefoundry.yaml", PINNED);
    own.run(&["lint", ".", "--strict"]).exits(0);
    let globs = twice().with("kubefoundry.yaml", format!("{PINNED}environments: [/dev, /prod]\n"));
    let ran = globs.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"; 2]);
    globs.run(&["lint", ".", "--strict"]).exits(0);
    let text = globs.run(&["explain", "."]).exits(0);
    assert!(text.out.contains("ModelDeployment prod/m (dev)  dev/m.yaml:4:9"), "{}", text.out);
    let explained = globs.run(&["explain", ".", "-o", "json"]).exits(0);
    assert!(explained.out.contains("\"environment\": \"dev\"") && explained.out.contains("\"environment\": \"prod\""));
    let again = globs.with("dev/again.yaml", model("m"));
    let ran = again.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert!(
        ran.out.contains("dev/m.yaml") && ran.out.contains("KF0523") && !ran.out.contains("prod/m.yaml"),
        "{}",
        ran.out
    );
}

/// The options of an environment apply to it alone.
#[test]
fn environments_have_their_own_options() {
    let images = |host: &str| format!("{PINNED}images: {{nvcr.io: {host}.example.com}}\n");
    let sandbox = repository()
        .with("models/m.yaml", "")
        .with("dev/m.yaml", model("m"))
        .with("prod/m.yaml", model("m"))
        .with("dev/kubefoundry.yaml", images("dev"))
        .with("prod/kubefoundry.yaml", images("prod"));
    let ran = sandbox.run(&["images", "."]).exits(0);
    let expected =
        "dev.example.com/nvidia/ai-dynamo/vllm-runtime:1.4.0\nprod.example.com/nvidia/ai-dynamo/vllm-runtime:1.4.0\n";
    assert_eq!(ran.out, expected);
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["images", ".", "-o", "json"]).exits(0).out).unwrap();
    let of_dev = ["dev.example.com/nvidia/ai-dynamo/vllm-runtime:1.4.0"];
    assert_eq!(json["environments"]["dev"], serde_json::json!(of_dev));
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let files = ["dev/prod/dynamographdeployment_m.yaml", "prod/prod/dynamographdeployment_m.yaml"];
    assert_eq!(sandbox.files("out"), files);
    std::fs::remove_dir_all(sandbox.path("dev")).unwrap();
    let ran = sandbox.run(&["render", ".", "--out-dir", "out", "--prune", "--exclude", "out"]).exits(0);
    assert_eq!(sandbox.files("out"), [files[1]], "{}", ran.err);
}

/// `exclude`, `include` and `--exclude` choose the files of directories; a file that is named is read.
#[test]
fn patterns_choose_what_is_read() {
    let options = format!("{PINNED}exclude: [vendor/, '*.gen.yaml']\n");
    let sandbox = repository()
        .with("kubefoundry.yaml", options)
        .with("vendor/x/broken.yaml", broken("a"))
        .with("models/broken.gen.yaml", broken("b"));
    sandbox.run(&["lint", "."]).exits(0);
    sandbox.run(&["lint", "models"]).exits(0);
    sandbox.run(&["lint", "vendor/x/broken.yaml"]).exits(1);
    let included = sandbox.with("kubefoundry.yaml", format!("{PINNED}include: [models/m.yaml]\n"));
    included.run(&["lint", "."]).exits(0);
    let flag = included.with("kubefoundry.yaml", PINNED);
    flag.run(&["lint", "."]).exits(1);
    flag.run(&["lint", ".", "--exclude", "vendor", "--exclude", "*.gen.yaml"]).exits(0);
}

/// Templates are skipped with an info, at their chart or at their first mark.
#[test]
fn templates_are_skipped() {
    let template = "{{- if .Values.on }}\napiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n{{- end }}\n";
    let sandbox = repository()
        .with("chart/Chart.yaml", "name: chart\n")
        .with("chart/templates/m.yaml", template)
        .with("other/Chart.yaml", "name: other\n")
        .with("other/templates/web.yaml", "{{- if .Values.on }}\nkind: Service\n{{- end }}\n")
        .with("flux/m.yaml", model("x").replace("  namespace: prod", "  labels: {a: ${TEAM}}"));
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
    let mut found: Vec<&str> = ran.out.lines().map(|line| line.split("] ").next().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ["chart/Chart.yaml:1:1: info[KF0110", "flux/m.yaml:5:15: info[KF0110"], "{}", ran.out);
}

/// A dangling link in a walk is noted, and does not end the command.
#[test]
fn a_dangling_link_does_not_end_a_walk() {
    let sandbox = repository();
    std::os::unix::fs::symlink("nowhere.yaml", sandbox.path("models/x.yaml")).unwrap();
    let ran = sandbox.run(&["render", "models"]).exits(0);
    assert_eq!(ran.err, "kubefoundry: models/x.yaml: the link leads nowhere; skipped\n");
    sandbox.run(&["lint", "models/x.yaml"]).exits(2);
}

/// A directory whose files are all ignored is not said to be empty.
#[test]
fn ignored_files_are_named() {
    let sandbox = repository().with(".gitignore", "models/*.yaml\n");
    let ran = sandbox.run(&["lint", "models"]).exits(0);
    assert!(ran.err.contains("ignored by git"), "{}", ran.err);
    sandbox.run(&["lint", "models/m.yaml", "--strict"]).exits(0);
}

/// `config` names the files that apply, and the place of each value that wins.
#[test]
fn config_tells_where_each_value_comes_from() {
    let near = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {kuberay: 2.56.0}\nstrict: true\n";
    let sandbox = repository().with("models/kubefoundry.yaml", near);
    let ran = sandbox.run(&["config", "models/m.yaml"]).exits(0);
    let expected = "options files, the one that wins last:\n  kubefoundry.yaml\n  models/kubefoundry.yaml\n
runtimes.dynamo   1.4.0   kubefoundry.yaml:3:20
runtimes.kuberay  2.56.0  models/kubefoundry.yaml:3:21
strict            true    models/kubefoundry.yaml:4:9\n";
    assert_eq!(ran.out, expected);
    let json = sandbox.run(&["config", "-o", "json"]).exits(0).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["files"], serde_json::json!(["kubefoundry.yaml"]));
    assert_eq!(report["options"][0]["path"], "runtimes.dynamo");
    assert_eq!(sandbox.run(&["config", "--isolated"]).exits(0).out, "No options file applies.\n");
    let wrong = sandbox.with("models/kubefoundry.yaml", "kind: Render\nstrictt: true\n");
    assert!(wrong.run(&["config", "models"]).exits(2).err.contains("KF0113"));
}

/// No link leads out of the repository.
#[test]
fn options_behind_a_link_that_leaves_the_repository_are_refused() {
    let sandbox = Sandbox::new().with("outside.yaml", PINNED).with("repository/m.yaml", model("m"));
    std::fs::create_dir(sandbox.path("repository/.git")).unwrap();
    std::os::unix::fs::symlink("../outside.yaml", sandbox.path("repository/kubefoundry.yaml")).unwrap();
    let ran = sandbox.run(&["lint", "repository"]).exits(2);
    assert!(ran.err.contains("not read, because it is outside of repository"), "{}", ran.err);
}

/// The command line, the Argo CD plugin and the KRM function give the same objects under the same options (R25). The
/// language server finds options with the same function.
#[test]
fn every_entry_point_has_the_same_options() {
    let sandbox = repository();
    let rendered = sandbox.run(&["render", "models/m.yaml"]).exits(0).out;
    assert!(rendered.contains("vllm-runtime:1.4.0"), "{rendered}");
    let mut plugin = sandbox.command(&["argocd", "generate"]);
    let output = plugin.current_dir(sandbox.path("models")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), rendered, "the Argo CD plugin");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "the Argo CD plugin");
    let indented = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n{}items:\n- {}",
        indented(&format!("{PINNED}metadata: {{name: options}}\noutput: replace\n")),
        indented(&model("m")).trim_start()
    );
    let answer = sandbox.pipe(&["fn"], list).exits(0);
    let parsed: Vec<_> = kubefoundry_yaml::parse(&rendered, &kubefoundry_yaml::Limits::default()).documents;
    let expected = parsed[0].root.get("spec").unwrap().to_json();
    let answered = kubefoundry_yaml::parse(&answer.out, &kubefoundry_yaml::Limits::default());
    let items = answered.documents[0].root.get("items").unwrap().items().to_vec();
    assert_eq!(items[0].get("spec").unwrap().to_json(), expected, "the KRM function");
}

/// A directory that the user names is the outermost one outside of a repository, wherever the command runs.
#[test]
fn a_named_directory_elsewhere_supplies_options() {
    let sandbox = Sandbox::new().with("tree/kubefoundry.yaml", PINNED).with("tree/models/m.yaml", model("m"));
    let elsewhere = Sandbox::new();
    let tree = sandbox.path("tree");
    let ran = elsewhere.run(&["render", tree.to_str().unwrap()]).exits(0);
    assert_eq!(ran.err, "", "the runtime is pinned");
    // Of a file, only the directory is known.
    let file = sandbox.path("tree/models/m.yaml");
    assert!(elsewhere.run(&["render", file.to_str().unwrap()]).exits(0).err.contains("KF0503"));
}

/// Standard input belongs to no directory, and so to the environment without a name.
#[test]
fn standard_input_is_compiled_once_beside_environments() {
    let sandbox = repository().with("dev/kubefoundry.yaml", PINNED).with("dev/m.yaml", model("m"));
    let ran = sandbox.pipe(&["render", "-", "dev"], model("m")).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"; 2]);
    // The file is not input, so it is not a finding either if it does not apply.
    let isolated = sandbox.run(&["lint", ".", "--isolated", "-o", "concise"]).exits(1);
    assert!(!isolated.out.contains("KF0803"), "{}", isolated.out);
}
