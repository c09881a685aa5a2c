//! `fit`: on which GPUs the models fit, and what `explain` and `plan` tell of it.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken};

/// A deployment of Llama 3.3 70B on four GPUs, with lines added to its `spec`.
fn llama(more: &str) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {{name: llama}}
spec:
  model: {{id: meta-llama/Llama-3.3-70B-Instruct}}
  engine: {{type: vllm, contextLength: 8192}}
  resources: {{gpu: {{count: 4}}, memory: 256Gi}}
  secrets: {{huggingFaceToken: hf}}
{more}"
    )
}

const ON_H100: &str = "  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}\n";
const ON_L4: &str = "  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}\n";

fn sandbox(files: &[(&str, String)]) -> Sandbox {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED);
    files.iter().fold(sandbox, |sandbox, (name, text)| sandbox.with(name, text))
}

fn report(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    serde_json::from_str(&sandbox.run(&[arguments, &["--output", "json"]].concat()).out).unwrap()
}

/// Several workers are rows of one table, whose numbers a shell can cut out.
#[test]
fn workers_are_rows_and_products_are_grouped() {
    let ran = sandbox(&[("llama.yaml", llama(ON_H100))]).run(&["fit", "llama.yaml"]).exits(0);
    insta::assert_snapshot!("text", ran.out);
}

/// A comment on a pull request shows the same numbers.
#[test]
fn markdown_has_the_same_figures() {
    let sandbox = sandbox(&[("llama.yaml", llama(ON_H100))]);
    insta::assert_snapshot!("markdown", sandbox.run(&["fit", "llama.yaml", "--output", "markdown"]).exits(0).out);
}

/// A model without facts and a GPU without a name have a row and a note about what to add, not a guess.
#[test]
fn what_is_not_known_is_noted() {
    let own = llama("").replace("name: llama", "name: a").replace("meta-llama/Llama-3.3-70B-Instruct", "acme/private");
    let sandbox = sandbox(&[("a.yaml", own), ("llama.yaml", llama(""))]);
    let ran = sandbox.run(&["fit", "."]).exits(0);
    assert!(ran.out.contains("note: a: nothing is known about"), "{}", ran.out);
    assert!(ran.out.contains("note: llama: its GPU is not known"), "{}", ran.out);
    let report = report(&sandbox, &["fit", "."]);
    assert_eq!(report["workers"][0]["fit"], "unknown");
    assert_eq!(report["workers"][0]["alternatives"], Value::Array(Vec::new()));
    // The answers that need no GPU are there.
    assert!(report["workers"][1]["weights"]["min"].as_u64().unwrap() > 30 << 30);
    assert!(report["workers"][1]["alternatives"].as_array().unwrap().len() > 20);
}

/// A deployment that lint refuses is the one for which the question is asked.
#[test]
fn a_model_that_cannot_fit_is_answered_and_fails() {
    let sandbox = sandbox(&[("llama.yaml", llama(ON_L4))]);
    let ran = sandbox.run(&["fit", "llama.yaml"]).exits(1);
    assert!(ran.out.contains("  cannot  ") && ran.err.contains("KF0320"), "{}{}", ran.out, ran.err);
    let report = report(&sandbox, &["fit", "llama.yaml"]);
    let alternatives = report["workers"][0]["alternatives"].as_array().unwrap();
    let on = |name: &str| alternatives.iter().find(|it| it["gpu"] == name).unwrap();
    assert_eq!((&on("L4-24GB")["fewest"], &on("H100-SXM-80GB")["fewest"]), (&Value::from(8), &Value::from(2)));
    assert!(on("T4-16GB").get("fewest").is_none());
}

/// A size that the heads do not take has no memory, but the sizes that they take are listed.
#[test]
fn sizes_that_the_heads_take_are_listed_for_a_wrong_one() {
    let qwen = llama(ON_H100)
        .replace("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen2.5-Coder-7B-Instruct")
        .replace("count: 4", "count: 8");
    let sandbox = sandbox(&[("qwen.yaml", qwen)]);
    assert!(sandbox.run(&["fit", "qwen.yaml"]).exits(1).err.contains("KF0318"));
    let worker = report(&sandbox, &["fit", "qwen.yaml"])["workers"][0].take();
    assert!(worker.get("parallelism").is_none());
    let alternatives = worker["alternatives"].as_array().unwrap();
    let h100 = alternatives.iter().find(|it| it["gpu"] == "H100-SXM-80GB").unwrap();
    assert_eq!(h100["tensorParallel"], serde_json::json!([1, 2, 4]));
}

/// Workers of both roles are assessed with their own GPUs, and share the list of products.
#[test]
fn roles_have_rows_of_their_own() {
    let more = "  serving: {mode: disaggregated}
  scaling:
    prefill: {replicas: 1, gpu: {count: 2}, memory: 64Gi}
    decode: {replicas: 2, gpu: {count: 4}, memory: 64Gi}
";
    let text = llama(&format!("{ON_H100}{more}")).replace("  resources: {gpu: {count: 4}, memory: 256Gi}\n", "");
    let ran = sandbox(&[("pd.yaml", text)]).run(&["fit", "pd.yaml"]);
    let rows: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("llama (")).collect();
    assert!(rows[0].contains("llama (prefill)") && rows[0].contains("2 NVIDIA-H100"), "{}", ran.out);
    assert!(rows[1].contains("llama (decode)") && rows[1].contains("2 x 4 NVIDIA-H100"), "{}", ran.out);
    assert_eq!(ran.out.matches("PRODUCT").count(), 1, "{}", ran.out);
}

/// A worker on two nodes has the GPUs of both, and flags of a role count for that role.
#[test]
fn nodes_and_flags_of_roles_count() {
    let fit_of = |report: &Value, row: usize| report["workers"][row]["fit"].as_str().unwrap().to_owned();
    let one = llama(&ON_L4.replace("L4", "A10G"));
    let two = one.replace("memory: 256Gi", "memory: 256Gi, nodes: 2");
    let sandbox = sandbox(&[("one.yaml", one), ("two.yaml", two)]);
    let (one, two) = (report(&sandbox, &["fit", "one.yaml"]), report(&sandbox, &["fit", "two.yaml"]));
    assert_eq!((fit_of(&one, 0), fit_of(&two, 0)), ("cannot".to_owned(), "marginal".to_owned()), "{one} {two}");
    assert_eq!(two["workers"][0]["gpus"], 8, "{two}");
    let more = "  serving: {mode: disaggregated}
  scaling:
    prefill: {gpu: {count: 4}, memory: 64Gi}
    decode: {gpu: {count: 4}, memory: 64Gi, engine: {args: {gpu-memory-utilization: \"0.3\"}}}
";
    let text = llama(&format!("{ON_H100}{more}")).replace("  resources: {gpu: {count: 4}, memory: 256Gi}\n", "");
    let sandbox = sandbox.with("roles.yaml", &text);
    let roles = report(&sandbox, &["fit", "roles.yaml"]);
    assert_eq!((fit_of(&roles, 0), fit_of(&roles, 1)), ("fits".to_owned(), "cannot".to_owned()), "{roles}");
}

#[test]
fn an_input_without_gpus_has_no_rows() {
    let ran = sandbox(&[]).with("broken.yaml", broken("b")).run(&["fit", "broken.yaml"]).exits(1);
    assert_eq!(ran.out, "");
}

/// `explain` shows the sum of one deployment, as text, JSON and a bar.
#[test]
fn explain_shows_the_sum() {
    let sandbox = sandbox(&[("llama.yaml", llama(ON_H100))]);
    let text = sandbox.run(&["explain", "llama.yaml"]).exits(0).out;
    let block = text.split("memory of each GPU\n").nth(1).unwrap().split("\n\n").next().unwrap();
    insta::assert_snapshot!("explain", block);
    assert_eq!(report(&sandbox, &["explain", "llama.yaml"])["decisions"][0]["workers"][0]["fit"], "fits");
    let page = sandbox.run(&["explain", "llama.yaml", "--output", "html"]).exits(0).out;
    let bar = page.split("<svg class=\"memory\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(bar.contains("class=\"weights\"") && bar.contains("class=\"usable\""), "{bar}");
    // The bar is a drawing of a sentence, which stands beside it and is read aloud.
    let sentence = bar.split("aria-label=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(sentence.contains("of NVIDIA-H100-80GB-HBM3: fits") && page.matches(sentence).count() == 2, "{sentence}");
}
