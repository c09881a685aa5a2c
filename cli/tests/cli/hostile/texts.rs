//! Texts that are not YAML, or hardly.

use super::bounded::{HEADER, assert_rejected, run};
use crate::sandbox::{PINNED, Sandbox, model};

#[test]
fn nothing_at_all() {
    assert_rejected("a.yaml", "", &["a.yaml:1:1: error[KF0107] the input has no ModelDeployment"]);
    assert_rejected("a.yaml", "# one\n# two\n", &["a.yaml:1:1: error[KF0107]"]);
    assert_rejected("a.yaml", "---\n---\n...\n", &["a.yaml:1:1: error[KF0107]"]);
}

/// A text without our kinds is skipped, but the reason why the input has no ModelDeployment is still reported.
#[test]
fn binary() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_rejected("a.yaml", &bytes, &["error[KF0107]", "a.yaml:2:118: error[KF0101] found a byte that is not UTF-8"]);
    let text = [HEADER.as_bytes(), &[0; 1000]].concat();
    assert_rejected("a.yaml", text, &["a.yaml:5:1: error[KF0101]"]);
}

#[test]
fn other_encodings() {
    let latin = [model("a").as_bytes(), b"# Gr\xf6\xdfe\n"].concat();
    assert_rejected(
        "a.yaml",
        latin,
        &["a.yaml:14:5: error[KF0101] found a byte that is not UTF-8, expected UTF-8 text"],
    );
    let utf16: Vec<u8> =
        "\u{feff}".encode_utf16().chain(model("a").encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_rejected("a.yaml", utf16, &["a.yaml:1:1: error[KF0101] found text in UTF-16, expected UTF-8"]);
}

#[test]
fn tabs() {
    let tab = model("a").replace("    id", "\tid");
    assert_rejected("a.yaml", tab, &["a.yaml:8:2: error[KF0101] found a tab as indentation, expected spaces"]);
}

/// Windows editors write these; they change nothing.
#[test]
fn byte_order_marks_and_carriage_returns() {
    let plain = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let windows = Sandbox::new()
        .with("kubefoundry.yaml", format!("\u{feff}{}", PINNED.replace('\n', "\r\n")))
        .with("a.yaml", format!("\u{feff}{}", model("a").replace('\n', "\r\n")));
    let (one, other) = (run(&plain, &["render", "."]).exits(0), run(&windows, &["render", "."]).exits(0));
    assert_eq!((one.out, one.err), (other.out, other.err));
}

/// What reads `.json` files beside us (jq, Argo CD) knows nothing of YAML.
#[test]
fn json_files_are_json() {
    let json = "{\"apiVersion\": \"kubefoundry.ai/v1alpha1\",\n \"kind\": \"ModelDeployment\",\n}\n";
    let message = "found text that is not JSON in a .json file (key must be a string), expected JSON";
    assert_rejected(
        "a.json",
        json,
        &[
            "a.json:1:2: error[KF0115]",
            "a.json:1:2: error[KF0207]",
            "a.json:1:2: error[KF0208]",
            &format!("a.json:3:1: error[KF0101] {message}"),
        ],
    );
    let foreign = Sandbox::new().with("tsconfig.json", "{\"a\": 1, // JSON with comments\n}");
    run(&foreign, &["lint", "."]).exits(0);
}
