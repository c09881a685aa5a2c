//! `images`: what to mirror and what to scan.

use crate::sandbox::{PINNED, Sandbox, broken, model};

fn sandbox() -> Sandbox {
    let own = model("b").replace("  engine:", "  image: registry.example.com/vllm:7\n  engine:");
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a")).with("b.yaml", own)
}

/// One line an image, each once, for xargs.
#[test]
fn images_are_sorted_lines() {
    let ran = sandbox().run(&["images", "."]).exits(0);
    let images: Vec<&str> = ran.out.lines().collect();
    assert_eq!(images, ["nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0", "registry.example.com/vllm:7"]);
}

/// A mirror that is configured is what is pulled.
#[test]
fn images_are_those_of_the_output() {
    let sandbox = sandbox().with("kubefoundry.yaml", format!("{PINNED}images: {{nvcr.io: mirror.example.com}}\n"));
    let ran = sandbox.run(&["images", ".", "--output", "json"]).exits(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["images"][0], "mirror.example.com/nvidia/ai-dynamo/vllm-runtime:1.4.0");
}

/// A list that misses some images is worse than none.
#[test]
fn an_error_prints_no_image() {
    let ran = sandbox().with("c.yaml", broken("c")).run(&["images", "."]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0112]"), "{}", ran.err);
}
