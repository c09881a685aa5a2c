//! `explain --output mermaid|html`. `tests/conformance/pictures` checks the drawings with Mermaid, and `.ci/page` checks the page in a browser.

use crate::plan::{commit, git, is_installed};
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

/// The page has the content of the text report, and loads nothing. A model with errors is a deployment, too.
#[test]
fn html_has_the_whole_decision() {
    let sandbox = Sandbox::new().with("a.yaml", with_claim()).with("b.yaml", broken("b")).with("s.yaml", SERVICE);
    let ran = sandbox.run(&["explain", ".", "--output", "html"]).exits(1);
    for text in [
        "<!doctype html>",
        "<title>kubefoundry explain: 2 model deployments, 1 with errors</title>",
        "<p>Input: <code>.</code></p>",
        "1 error, 1 info in 3 files",
        "<a href=\"#d0\">a</a>",
        "<a href=\"#d1\">b</a>",
        "errors prevent a selection",
        "<strong>No provider was selected</strong>, because <code>b.yaml:4:9</code> has errors.",
        "default → dynamo (GPU inference default)",
        "PersistentVolumeClaim, DynamoGraphDeployment",
        "prod/token",
        "spec.resources.gpu.count &gt; 0",
        "answers on port 8000",
        "KF0112",
        "b.yaml:",
        "<th scope=\"row\">spec.serving.mode</th>",
        "Because of the errors",
    ] {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
    assert!(!ran.out.contains("Other findings"), "{}", ran.out);
    assert!(ran.err.contains("error[KF0112]"), "{}", ran.err);
    for word in ["<script", "<link", "<img", "<iframe", "src=", "style=", "url(", "http:", "https:", "onclick"] {
        assert!(!ran.out.contains(word), "{word:?} is in\n{}", ran.out);
    }
}

/// Findings that belong to no deployment have their own list.
#[test]
fn html_lists_other_findings() {
    let sandbox = Sandbox::new()
        .with("a.yaml", model("a"))
        .with("b.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nx: [\n");
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(1).out;
    assert!(page.contains("<h1>1 model deployment</h1>"), "{page}");
    let others = page.split("Other findings").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(others.contains("KF0101") && others.contains("b.yaml:"), "{others}");
}

/// Returns a page without markup, with its character references decoded.
fn decode(html: &str) -> String {
    let text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

/// Each object opens to the YAML that `render` prints.
#[test]
fn html_has_the_yaml_of_each_object() {
    // The page shows invisible characters escaped.
    let hostile = serde_json::to_string(&HOSTILE.replace('\u{202e}', "")).unwrap();
    let text = with_claim() + &format!("  env: [{{name: HOSTILE, value: {hostile}}}]\n");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", text);
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(0).out;
    let blocks: Vec<&str> =
        page.split("<pre ").skip(1).filter_map(|it| it.split_once('>')?.1.split("</pre>").next()).collect();
    assert!(blocks.iter().all(|block| !block.contains(['<', '>', '"', '\''])), "{blocks:?}");
    assert!(blocks.iter().any(|block| block.contains("&lt;script&gt;alert(1)&lt;/script&gt;&#39;")), "{blocks:?}");
    // The page has the main object first, and `render` has it last.
    let blocks: Vec<String> = blocks.into_iter().rev().map(decode).collect();
    assert_eq!(blocks.join("---\n"), sandbox.run(&["render", "."]).exits(0).out);
    assert!(page.contains("<summary aria-label=\"YAML of DynamoGraphDeployment a\">YAML</summary>"), "{page}");
}

/// Deployments are grouped by namespace, and each has the classes by which the filters hide it.
#[test]
fn html_groups_and_filters_deployments() {
    let other = model("c").replace("namespace: prod", "namespace: dev") + "  provider: {name: kuberay}\n";
    let text = [model("a"), other, broken("b"), model("d").replace("  namespace: prod\n", "")].join("---\n");
    let options = PINNED.replace("1.4.0", "1.4.0, kuberay: 2.56.0");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options).with("a.yaml", text);
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(1).out;
    let names: Vec<&str> = page.split("<a href=\"#d").skip(1).filter_map(|it| it.split(['>', '<']).nth(1)).collect();
    assert_eq!(names, ["d", "c", "a", "b"]);
    let groups: Vec<&str> =
        page.split("scope=\"rowgroup\"").skip(1).filter_map(|it| it.split(['>', '<']).nth(3)).collect();
    assert_eq!(groups, ["(no namespace)", "dev", "prod"]);
    let labels: Vec<String> = page
        .split("autocomplete=\"off\"")
        .skip(1)
        .filter_map(|it| Some(it.split_once("<span>")?.1.split_once("</b>")?.0.replace("<b>", "")))
        .collect();
    assert_eq!(
        labels,
        [
            "all 4",
            "dynamo 2",
            "kuberay 1",
            "none 1",
            "all 4",
            "errors 1",
            "no findings 3",
            "all 4",
            "(no namespace) 1",
            "dev 1",
            "prod 2"
        ]
    );
    assert!(
        page.contains("class=\"entry p2 n2 s0\"><th role=\"rowheader\" scope=\"row\"><a href=\"#d3\">b</a>"),
        "{page}"
    );
    assert!(page.contains(":root:has(#f-n1:checked) :is(.entry,.group):not(.n1){display:none}"), "{page}");
}

/// Names are labels of the filters, and never part of the style sheet.
#[test]
fn html_filters_have_no_text_of_the_input() {
    let hostile =
        |name: &str| model(name).replace("namespace: prod", "namespace: \"}</style><script>alert(1)</script>\"");
    let sandbox = Sandbox::new().with("a.yaml", [hostile("a"), model("b")].join("---\n"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).out;
    assert!(page.contains("<span>}&lt;/style&gt;&lt;script&gt;alert(1)"), "{page}");
    assert_eq!((page.matches("<style>").count(), page.matches("</style>").count()), (2, 2), "{page}");
    assert!(!page.contains("<script"), "{page}");
}

/// One deployment has nothing to filter or to sum up.
#[test]
fn html_of_one_deployment_has_no_filters() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(0).out;
    assert!(!page.contains("type=\"radio\"") && !page.contains("aria-label=\"Totals\""), "{page}");
}

/// The header names the commit that is checked out.
#[test]
fn html_names_the_commit() {
    if !is_installed("git") {
        return;
    }
    let sandbox = Sandbox::new().with("models/a.yaml", model("a"));
    git(&sandbox, &["init", "--quiet"]);
    commit(&sandbox);
    for path in ["models", "models/a.yaml", "."] {
        let page = sandbox.run(&["explain", path, "--output", "html"]).exits(0).out;
        let source = page.split("<p>Input: ").nth(1).unwrap().split("</p>").next().unwrap();
        let (paths, commit) = source.split_once("; the checked-out commit is <code>").unwrap();
        assert_eq!(paths, format!("<code>{path}</code>"));
        let commit = commit.strip_suffix("</code>").unwrap();
        assert!(commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    }
    let page = sandbox.pipe(&["explain", "-", "--output", "html"], model("a")).exits(0).out;
    assert!(page.contains("<p>Input: standard input</p>"), "{page}");
}

/// A page of 200 deployments stays small enough for an artifact or a mail.
#[test]
fn html_of_many_deployments_is_small() {
    let models: Vec<String> =
        (0..200).map(|number| with_claim().replace("name: a\n", &format!("name: m{number}\n"))).collect();
    let sandbox = Sandbox::new().with("all.yaml", models.join("---\n"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(0).out;
    assert!(page.contains("<h1>200 model deployments</h1>"));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
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
    let nodes = model("nodes").replace("  resources:\n", "  resources:\n    nodes: 2\n") + "  scaling: {replicas: 2}\n";
    let sandbox = Sandbox::new().with("all.yaml", [model("one"), replicas, roles, cpu, nodes].join("---\n"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).out;
    let rows: Vec<&str> = page.split("data-label=\"GPUs\"><span>").skip(1).collect();
    let counts: Vec<&str> = rows.iter().filter_map(|row| row.split("</span>").next()).collect();
    assert_eq!(counts, ["1", "3 (3 × 1)", "10 (prefill 2 × 4, decode 1 × 2)", "0", "4 (2 × 2 nodes × 1)"]);
    let totals = page.split("aria-label=\"Totals\"").nth(1).unwrap().split("</table>").next().unwrap();
    for row in [
        "<th scope=\"col\">GPUs (nvidia.com/gpu)</th>",
        "<th scope=\"row\">dynamo</th><td>4</td><td>18</td>",
        "<th scope=\"row\">kaito</th><td>1</td><td>0</td>",
        "<th scope=\"row\">total</th><td>5</td><td>18</td>",
    ] {
        assert!(totals.contains(row), "{row} is not in\n{totals}");
    }
    let other = model("amd").replace("count: 1", "count: 2\n      type: amd.com/gpu");
    let sandbox = sandbox.with("amd.yaml", other).with("broken.yaml", broken("broken"));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(1).out;
    for row in ["<td>1</td><td>unknown</td>", "<td>7</td><td>at least 2 amd.com/gpu, 18 nvidia.com/gpu</td>"] {
        assert!(page.contains(row), "{row} is not in\n{page}");
    }
}

#[test]
fn pictures_are_reproducible() {
    let sandbox = Sandbox::new().with("a.yaml", with_claim()).with("b.yaml", model("b"));
    for format in ["mermaid", "html"] {
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
}

/// Without a deployment, the picture is empty but valid.
#[test]
fn draws_an_empty_input() {
    let sandbox = Sandbox::new().with("s.yaml", SERVICE);
    let run = |format| sandbox.run(&["explain", "s.yaml", "--output", format]).exits(1).out;
    assert!(run("mermaid").contains("no ModelDeployment"));
    assert!(run("html").contains("no ModelDeployment that could be read"));
}

#[test]
fn notes_a_chart_that_is_too_large() {
    let models: Vec<String> = (0..60).map(|number| model(&format!("m{number}"))).collect();
    let ran = Sandbox::new().with("kubefoundry.yaml", PINNED).with("all.yaml", models.join("---\n"));
    let ran = ran.run(&["explain", ".", "--output", "mermaid"]).exits(0);
    assert!(ran.err.contains("Mermaid draws at most 50000"), "{}", ran.err);
}
