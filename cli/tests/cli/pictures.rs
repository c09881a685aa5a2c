//! `explain --output mermaid|dot|html`. `tests/conformance/pictures` checks the output with Mermaid, Graphviz and a
//! browser.

use crate::sandbox::{PINNED, SERVICE, Sandbox, broken, model};

/// Text that could end a label, a tag, an attribute or a line in one of the formats.
const HOSTILE: &str = "\"];x-->y&lt;</td><script>alert(1)</script>'`#35;%%{init}%%\\N\\l|x|\u{202e}{<b>";

/// A model with a claim and a secret.
fn with_claim() -> String {
    let (head, tail) = ("  model:\n    id: org/a\n", "  secrets: {huggingFaceToken: token}\n");
    let storage = "    storage:\n      volumes:\n      - {name: cache, purpose: modelCache, size: 10Gi}\n";
    model("a").replace(head, &format!("{head}{storage}")) + tail
}

#[test]
fn a_flowchart_shows_the_decision_and_the_objects() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", with_claim());
    let ran = sandbox.run(&["explain", ".", "--output", "mermaid"]).exits(0);
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_graph_shows_the_decision_and_the_objects() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", with_claim());
    insta::assert_snapshot!(sandbox.run(&["explain", ".", "--output", "dot"]).exits(0).out);
}

/// The page has the content of the text report, and loads nothing.
#[test]
fn html_has_the_whole_decision() {
    let sandbox = Sandbox::new().with("a.yaml", with_claim()).with("b.yaml", broken("b")).with("s.yaml", SERVICE);
    let ran = sandbox.run(&["explain", ".", "--output", "html"]).exits(1);
    for text in [
        "<!doctype html>",
        "<title>kubefoundry explain: 1 model deployment</title>",
        "1 error, 1 info in 3 files",
        "<a href=\"#d0\">prod/a</a>",
        "default → dynamo (GPU inference default)",
        "PersistentVolumeClaim, DynamoGraphDeployment",
        "prod/token",
        "spec.resources.gpu.count &gt; 0",
        "answers on port 8000",
        "Other findings",
        "KF0101",
        "b.yaml:",
        "<code>spec.serving.mode</code>",
        "Because of the errors",
    ] {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
    assert!(ran.err.contains("error[KF0101]"), "{}", ran.err);
    for word in ["<script", "<link", "<img", "<iframe", "src=", "style=", "url(", "http:", "https:", "onclick"] {
        assert!(!ran.out.contains(word), "{word:?} is in\n{}", ran.out);
    }
}

/// The index has the GPUs of all replicas, with the factors.
#[test]
fn html_counts_gpus() {
    let replicas = model("replicas") + "  scaling: {replicas: 3}\n";
    let roles = model("roles").replace("  resources:\n    gpu:\n      count: 1\n", "")
        + "  serving: {mode: disaggregated}\n  scaling:\n    prefill: {replicas: 2, gpu: {count: 4}}\n    decode: {gpu: {count: 2}}\n";
    let cpu = model("cpu")
        .replace("count: 1", "count: 0")
        .replace("type: vllm", "type: llamacpp\n    image: x/llama-server:1");
    let sandbox = Sandbox::new().with("all.yaml", [model("one"), replicas, roles, cpu].join("---\n"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).out;
    let rows: Vec<&str> = page.split("data-label=\"GPUs\"><span>").skip(1).collect();
    let counts: Vec<&str> = rows.iter().filter_map(|row| row.split("</span>").next()).collect();
    assert_eq!(counts, ["1", "3 (3 × 1)", "10 (prefill 2 × 4, decode 1 × 2)", "0"]);
}

#[test]
fn pictures_are_reproducible() {
    let sandbox = Sandbox::new().with("a.yaml", with_claim()).with("b.yaml", model("b"));
    for format in ["mermaid", "dot", "html"] {
        let run = || sandbox.run(&["explain", ".", "--output", format]).exits(0).out;
        let first = run();
        assert!(first.contains("prod/a") && first.contains("prod/b"), "{first}");
        assert_eq!(first, run());
    }
}

/// Names, reasons and conditions are untrusted and must be escaped in every format.
#[test]
fn escapes_hostile_texts() {
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    let config = format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: other}}\nspec:\n  \
         capabilities:\n    engines: [{{name: vllm, servingModes: [aggregated], gpuSupport: true}}]\n  selectionRules:\n  \
         - {{condition: {}, priority: 500, reason: {quoted}}}\n",
        serde_json::to_string(&format!("spec.model.id != {quoted}")).unwrap()
    );
    let text = model("a").replace("id: org/a", "id: org/a\n    servedName: \"<b>&amp;\"");
    let sandbox = Sandbox::new().with("<img src=x>.yaml", text).with("providers.yaml", config);
    let run = |format| sandbox.run(&["explain", ".", "--output", format]).out;

    let page = run("html");
    assert!(page.contains("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;`"), "{page}");
    assert!(page.contains("&lt;img src=x&gt;.yaml"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'), "{page}");

    let chart = run("mermaid");
    let labels: Vec<&str> = chart.lines().filter(|line| line.contains("alert")).collect();
    assert!(!labels.is_empty() && labels.iter().all(|line| line.matches('"').count() == 2), "{chart}");
    assert!(!chart.contains("<script") && !chart.contains("%%{init}") && !chart.contains('\u{202e}'), "{chart}");

    let graph = run("dot");
    assert!(graph.contains(r#"\"];x-->y&amp;lt;</td><script>"#), "{graph}");
    assert!(graph.contains(r"\\N\\l|x|\\u{202e}"), "{graph}");
}

/// Without a deployment, the picture is empty but valid.
#[test]
fn draws_an_empty_input() {
    let sandbox = Sandbox::new().with("s.yaml", SERVICE);
    let run = |format| sandbox.run(&["explain", "s.yaml", "--output", format]).exits(1).out;
    assert!(run("mermaid").contains("no ModelDeployment"));
    assert!(run("dot").ends_with("}\n"));
    assert!(run("html").contains("no ModelDeployment that could be read"));
}

#[test]
fn notes_a_chart_that_is_too_large() {
    let models: Vec<String> = (0..60).map(|number| model(&format!("m{number}"))).collect();
    let ran = Sandbox::new().with("kubefoundry.yaml", PINNED).with("all.yaml", models.join("---\n"));
    let ran = ran.run(&["explain", ".", "--output", "mermaid"]).exits(0);
    assert!(ran.err.contains("Mermaid draws at most 50000"), "{}", ran.err);
}
