//! Every front end takes a document for the same object, however its type is spelled. What each spelling means was read
//! with `sigs.k8s.io/yaml` 1.6.0, as the API server and kubectl do.

use serde_json::{Value, json};

use crate::argocd::argocd;
use crate::lsp::Editor;
use crate::sandbox::{Ran, Sandbox};

/// What a pod may not have without a policy, below a type that a case spells. It has no mark of the API groups.
const REST: &str = "metadata: {name: tall, namespace: prod}
spec:
  model: {id: acme/tall}
  engine: {type: vllm}
  resources: {gpu: {count: 2}}
  securityContext: {capabilities: {add: [SYS_ADMIN]}}
";

/// Base64 of `ModelDeployment`, `kubeairunway.ai/v1alpha1`, `kind` and `apiVersion`.
const KIND_64: &str = "TW9kZWxEZXBsb3ltZW50";
const VERSION_64: &str = "a3ViZWFpcnVud2F5LmFpL3YxYWxwaGEx";

/// A document in a spelling, and the code of the error that every front end reports.
struct Case {
    text: String,
    code: Option<&'static str>,
}

fn case(code: impl Into<Option<&'static str>>, head: &str) -> Case {
    let head = head.replace("KIND64", KIND_64).replace("VERSION64", VERSION_64);
    Case { text: format!("{head}\n{REST}"), code: code.into() }
}

/// Spellings that need no directive, so that they can also be items of a list.
fn cases() -> Vec<Case> {
    const POLICY: &str = "KF0612";
    let json = |head: &str| {
        let rest = r#""metadata": {"name": "tall"}, "spec": {"model": {"id": "acme/tall"}, "engine": {"type": "vllm"},
 "resources": {"gpu": {"count": 2}}, "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}}"#;
        Case { text: format!("{{{head}, {rest}\n"), code: Some(POLICY) }
    };
    vec![
        case(POLICY, "apiVersion: kubeairunway.ai/v1alpha1\nkind: ModelDeployment"),
        // Tags.
        case(POLICY, "apiVersion: !!binary VERSION64\nkind: !!binary KIND64"),
        case(POLICY, "apiVersion: !!binary VERSION64\nkind: ModelDeployment"),
        case(POLICY, "apiVersion: !<tag:yaml.org,2002:binary> VERSION64\nkind: !!binary \"TW9kZWxE\\x5aXBsb3ltZW50\""),
        case(POLICY, "apiVersion: !!bin%61ry VERSION64\nkind: !!%62inary KIND64"),
        case(POLICY, "!!binary YXBpVmVyc2lvbg==: !!binary VERSION64\n!!binary a2luZA==: !!binary KIND64"),
        case(POLICY, "apiVersion: !!binary |\n  a3ViZWFpcnVud2F5\n  LmFpL3YxYWxwaGEx\nkind: !!binary |-\n  KIND64"),
        case(POLICY, "apiVersion:\n  !!binary\n  VERSION64\nkind: !!binary &k KIND64"),
        case(POLICY, "apiVersion: !!str kubefoundry.ai/v1alpha1\nkind: !!str \"ModelDeployment\""),
        case(POLICY, "apiVersion: !group \"kubefoundry.ai/v1alpha1\"\nkind: ! ModelDeployment"),
        // Escapes.
        case(
            POLICY,
            "\"api\\u0056ersion\": \"kube\\x66oundry.ai\\/v1alpha1\"\n\"k\\U00000069nd\": \"Model\\x44eployment\"",
        ),
        case(POLICY, "apiVersion: \"kubefoundry\\\n  .ai/v1alpha1\"\nkind: \"Model\\\n   Deployment\""),
        case(POLICY, "apiVersion: \"kubefoundry.ai\\\r\n  /v1alpha1\"\nkind: \"Mo\\\r\n  delDeployment\""),
        json(r#""\u0061piVersion": "kubeairunway\u002Eai\/v1alpha1", "kind": "\u004d\u006fdelDeployment""#),
        json(r#""kind":"ModelDeployment","apiVersion":"kubefoundry.ai\/v1alpha1""#),
        json(r#""apiVersion": !!binary "a3ViZWFpcnVud2F5LmFpL3YxYWxwaGEx", "kind":!!binary TW9kZWxEZXBsb3ltZW50"#),
        // Folds and blocks.
        case(POLICY, "apiVersion: >-\n  kubefoundry.ai/v1alpha1\nkind: |-\n  ModelDeployment"),
        case(POLICY, "apiVersion:\n    kubefoundry.ai/v1alpha1\n'kind':\n  'ModelDeployment'"),
        // Merge keys and aliases.
        case(POLICY, "<<: {apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment}"),
        case(POLICY, "!!merge <<: [{kind: ModelDeployment}, {apiVersion: !!binary VERSION64}]"),
        case(POLICY, "status: {x: &t {apiVersion: kubefoundry.ai/v1alpha1, kind: !!binary KIND64}}\n<<: *t"),
        case(
            POLICY,
            "status: {k: &k !!binary KIND64, v: &v \"kubefoundry\\x2eai/v1alpha1\"}\nkind: *k\napiVersion: *v",
        ),
        case(POLICY, "status: {k: &k kind, v: &v apiVersion}\n*k : ModelDeployment\n*v : kubeairunway.ai/v1alpha1"),
        // Explicit keys.
        case(POLICY, "? apiVersion\n: kubefoundry.ai/v1alpha1\n? kind\n: ModelDeployment"),
        case(POLICY, "? |-\n  apiVersion\n: !!binary VERSION64\n? \"ki\\\n  nd\"\n: >-\n  ModelDeployment"),
        // Types that are almost right.
        case("KF0115", "? kind\n: ModelDeployment"),
        case("KF0112", "apiVersion: 7\nkind: !y \"ModelDeployment\""),
        case("KF0112", "apiVersion: [kubefoundry.ai/v1alpha1]\nkind: \"Model\\u0044eployment\""),
        case("KF0112", "apiVersion: !!binary VERSION64\nkind: 3"),
        case("KF0102", "apiVersion: v1\nkind: Service\nkind: !!binary KIND64\napiVersion: !!binary VERSION64"),
        case(
            "KF0102",
            "apiVersion: v1\nkind: ConfigMap\n<<: {apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment}",
        ),
        // Lists.
        Case {
            text: "apiVersion: v1\nkind: !!str List\nitems:\n- ".to_owned()
                + &case(POLICY, "kind: !!binary KIND64\napiVersion: !!binary VERSION64")
                    .text
                    .trim_end()
                    .replace('\n', "\n  ")
                + "\n",
            code: Some(POLICY),
        },
        // Other objects: a line break belongs to the value, the letters of base64 without the tag are not decoded, and
        // neither are escapes outside of double quotes.
        case(None, "apiVersion: v1\nkind: KIND64"),
        case(None, "apiVersion: example.com/v1\nkind: 'Model\\x44eployment'"),
        case(None, "apiVersion: example.com/v1\nkind: !!binary U2VydmljZQ=="),
        case(None, "apiVersion: v1\nkind: \"Model\\\\\\x44eployment\""),
    ]
}

/// Returns what is wrong with what a front end says about a case.
fn check_verdict(front_end: &str, case: &Case, report: &str) -> Option<String> {
    let is_right = match case.code {
        Some(code) => report.contains(code),
        None => !report.contains("[KF") && !report.contains(" KF"),
    };
    (!is_right).then(|| format!("{front_end} of {:?}, expected {:?}: {report}\n", case.text, case.code))
}

fn report(ran: Ran) -> String {
    ran.out + &ran.err
}

/// Returns what each command that reads files says about a text.
fn reports_of_commands(name: &str, text: &[u8]) -> Vec<(&'static str, String)> {
    let sandbox = Sandbox::new().with(name, text).with("old/web.yaml", "apiVersion: v1\nkind: Service\n");
    let application = Sandbox::new().with(name, text);
    let discovered = argocd(&application, "discover", &[]).exits(0).out;
    let generated = argocd(&application, "generate", &[("PARAM_ALLOWEMPTY", "true")]);
    vec![
        ("lint of a file", report(sandbox.run(&["lint", name]))),
        ("lint of a directory", report(sandbox.run(&["lint", "."]))),
        ("render", report(sandbox.run(&["render", name, "--allow-empty"]))),
        ("plan", report(sandbox.run(&["plan", "old", name]))),
        ("argocd generate", discovered + &report(generated)),
    ]
}

fn name_of(text: &str) -> &'static str {
    if text.starts_with('{') && !text.contains("!!") { "tall.json" } else { "tall.yaml" }
}

#[test]
fn every_front_end_takes_a_document_for_the_same_object() {
    let (sandbox, mut wrong) = (Sandbox::new(), Vec::new());
    let mut editor = Editor::new(&sandbox, &json!({}));
    for (number, case) in cases().iter().enumerate() {
        for (front_end, report) in reports_of_commands(name_of(&case.text), case.text.as_bytes()) {
            wrong.extend(check_verdict(front_end, case, &report));
        }
        let item = case.text.trim_end().replace('\n', "\n  ");
        let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {item}\n");
        wrong.extend(check_verdict("fn", case, &sandbox.pipe(&["fn"], list).err));
        let findings = editor.check_alone(&format!("untitled:case-{number}"), &case.text);
        wrong.extend(check_verdict("lsp", case, &format!(" {}", codes_of(&findings).join(" "))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn codes_of(findings: &[Value]) -> Vec<&str> {
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

/// Directives, other encodings and several documents cannot be items of a list.
#[test]
fn every_command_takes_a_file_for_the_same_objects() {
    let plain = case("KF0612", "apiVersion: kubeairunway.ai/v1alpha1\nkind: ModelDeployment").text;
    let utf16 = |text: &str, to_bytes: fn(u16) -> [u8; 2]| {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(to_bytes).collect::<Vec<u8>>()
    };
    let with_directive =
        |directive: &str, head: &str| format!("{directive}\n---\n{}", case(None, head).text).into_bytes();
    let mut wrong = Vec::new();
    let types = "apiVersion: !!binary VERSION64\nkind: !!binary KIND64";
    for (name, text, code) in [
        (
            "a.yaml",
            with_directive("%TAG ! tag:yaml.org,2002:", "apiVersion: !binary VERSION64\nkind: !binary KIND64"),
            "KF0612",
        ),
        (
            "b.yaml",
            with_directive("%TAG !e! tag:yaml.org,2002:bi", "apiVersion: !e!nary VERSION64\nkind: !e!nary KIND64"),
            "KF0612",
        ),
        ("c.yaml", with_directive("%YAML 1.1", types), "KF0612"),
        ("d.yaml", format!("\u{feff}{}", case(None, types).text).into_bytes(), "KF0612"),
        ("e.yml", format!("a: 1\n---\n# c\n---\n{}", case(None, types).text).into_bytes(), "KF0612"),
        // A reader of UTF-16 would apply them.
        ("f.yaml", utf16(&plain, u16::to_le_bytes), "KF0101"),
        ("g.yaml", utf16(&plain, u16::to_be_bytes), "KF0101"),
        (
            "h.yaml",
            utf16(
                &case(None, "apiVersion: \"kubefoundry\\x2eai/v1alpha1\"\nkind: \"\\x4dodelDeployment\"").text,
                u16::to_le_bytes,
            ),
            "KF0101",
        ),
        ("i.yaml", utf16(&case(None, types).text, u16::to_be_bytes), "KF0101"),
        // jq and Argo CD read no YAML in a JSON file.
        ("j.json", case(None, types).text.into_bytes(), "KF0101"),
    ] {
        let case = Case { text: name.to_owned(), code: Some(code) };
        for (front_end, report) in reports_of_commands(name, &text) {
            wrong.extend(check_verdict(front_end, &case, &report));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A document that is too large to be read may have its type after the limit, in any spelling.
#[test]
fn what_could_not_be_read_is_an_error_in_any_spelling() {
    let filler = format!("# {}\n", "x".repeat(120)).repeat(40_000);
    for head in ["kind: !!binary KIND64\napiVersion: !!binary VERSION64", "kind: \"\\x4dodelDeployment\""] {
        let text = format!("{filler}{}", case(None, head).text);
        let typed = format!("apiVersion: v1\nkind: Service\n{text}");
        for text in [text, typed] {
            let sandbox = Sandbox::new().with("long.yaml", &text);
            for command in ["lint", "render"] {
                let ran = sandbox.run(&[command, "long.yaml"]).exits(1);
                assert!(ran.err.contains("KF0104") || ran.out.contains("KF0104"), "{command} {head}: {ran:?}");
            }
        }
    }
}

/// Options are options in any spelling, too, so that a file of that name is never read as something else.
#[test]
fn options_are_found_in_any_spelling() {
    let options = "apiVersion: \"config.kube\\x66oundry.ai/v1alpha1\"\nkind: \"R\\x65nder\"\nbogus: 1\n";
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options).with("m.yaml", crate::sandbox::model("m"));
    let ran = sandbox.run(&["lint", "."]).exits(2);
    assert!(report(ran).contains("bogus"));
}
