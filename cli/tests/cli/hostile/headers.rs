//! Documents with unknown or misleading headers.

use super::bounded::{assert_rejected, run};
use crate::sandbox::{Sandbox, model};

#[test]
fn unknown_groups_versions_and_kinds() {
    for (from, to, findings) in [
        ("kubefoundry.ai/v1alpha1", "kubefoundry.ai/v9", &["a.yaml:1:13: error[KF0105]"][..]),
        ("kubefoundry.ai/v1alpha1", "kubefoundry.ai", &["a.yaml:1:13: error[KF0105]"]),
        ("ModelDeployment", "ModelDeploymint", &["a.yaml:2:7: error[KF0106]"]),
        ("kind: ModelDeployment", "kind: [a]", &["a.yaml:2:7: error[KF0112]"]),
        ("apiVersion: kubefoundry.ai/v1alpha1\n", "", &["a.yaml:1:1: error[KF0115]"]),
        // A warning by itself; with nothing else to render, the run fails.
        ("kubefoundry.ai/v1alpha1", "kubefundry.ai/v1alpha1", &["error[KF0107]", "a.yaml:1:13: warning[KF0201]"]),
    ] {
        assert_rejected("a.yaml", model("a").replacen(from, to, 1), findings);
    }
}

/// The finding must show the code points of characters that look like others.
#[test]
fn look_alikes() {
    for (from, to, finding) in [
        // A Cyrillic letter, a combining mark, a non-ASCII hyphen, a full-width letter, a direction override.
        ("name: model", "name: m\u{43e}del", "a.yaml:4:9: error[KF0117]"),
        ("name: model", "name: mode\u{301}l", "a.yaml:4:9: error[KF0117]"),
        ("name: model", "name: mo\u{2011}del", "a.yaml:4:9: error[KF0117]"),
        ("namespace: prod", "namespace: \u{ff50}rod", "a.yaml:5:14: error[KF0117]"),
        ("name: model", "name: mo\u{202e}led", "a.yaml:4:9: error[KF0117]"),
        ("type: vllm", "type: v\u{406}lm", "a.yaml:10:11: error[KF0114]"),
        ("  engine:", "  \u{435}ngine:", "a.yaml:9:3: error[KF0113]"),
    ] {
        assert_rejected("a.yaml", model("model").replacen(from, to, 1), &[finding]);
        let sandbox = Sandbox::new().with("a.yaml", model("model").replacen(from, to, 1));
        let ran = run(&sandbox, &["lint", "a.yaml", "-o", "concise"]).exits(1);
        let escaped =
            to.chars().filter(|c| !c.is_ascii()).all(|c| ran.out.contains(&format!("U+{:04X}", u32::from(c))));
        assert!(escaped, "{to:?} cannot be told from {from:?} in {}", ran.out);
    }
}
