//! Model ids, served names, sources.

use super::{assert_fields, valid};
use crate::ir::{Leaf, ModelSource};

#[test]
fn what_is_required() {
    assert_fields(&[
        ("model: {}", &["KF0207 5:3 spec.model.id: model.id is required when source is huggingface"]),
        (
            "model: {id: \"\", source: huggingface}",
            &["KF0207 5:15 spec.model.id: model.id is required when source is huggingface"],
        ),
        ("model:\n  id:", &["KF0207 6:5 spec.model.id: model.id is required when source is huggingface"]),
        ("model: {source: custom}", &["KF0209 4:1 spec.image: image is required when source is custom"]),
        ("model: {source: custom}\nimage: a/b:1", &[]),
        ("model: {source: custom}\nengine: {type: llamacpp, image: a/b:1}", &[]),
        (
            "model: {source: custom, servedName: x}\nimage: a/b:1",
            &["KF0208 5:39 spec.model.servedName: servedName is ignored for custom source"],
        ),
    ]);
}

fn refused(id: &str, expected: &str) -> String {
    format!("KF0212 5:15 spec.model.id: spec.model.id is {id:?}, expected {expected}")
}

#[test]
fn ids() {
    for id in ["gpt2", "org/name", "meta-llama/Llama-3.1-8B_x", "org/name/file-Q4_K.gguf", "_a/b"] {
        assert_fields(&[(&format!("model: {{id: \"{id}\"}}"), &[])]);
    }
    let spaces = "a model id that does not start with '-' and has no spaces";
    let forms = "org/name, org/name/file.gguf, a bare name, or an absolute path on a volume of model.storage";
    let parts = "a HuggingFace id: parts of at most 96 letters, digits, '-', '_' and '.', not starting or ending with '-' or '.', without \"--\" and \"..\"";
    for (id, expected) in [
        ("-x/y", spaces),
        ("org/na me", spaces),
        ("org/name\n", spaces),
        ("org/name/", forms),
        ("org//name", forms),
        ("org/name/file.bin", forms),
        ("org/name/.gguf", forms),
        ("a/b/c/d.gguf", forms),
        ("org/-name", parts),
        ("org/na--me", parts),
        ("../name", parts),
        ("org/name:Q4", parts),
        ("org/näme", parts),
    ] {
        assert_fields(&[(&format!("model: {{id: {id:?}}}"), &[&refused(id, expected)])]);
    }
    let long = format!("org/{}", "x".repeat(97));
    let shortened = format!("org/{}...", "x".repeat(33));
    assert_fields(&[(&format!("model: {{id: {long}}}"), &[&refused(&shortened, parts)])]);
}

#[test]
fn paths() {
    let volumes = "storage: {volumes: [{name: w, mountPath: /models/, claimName: c}]}";
    let unmounted = "a path under the mountPath of a volume in model.storage";
    let model = |id: &str, rest: &str| format!("model: {{id: {id:?}, {rest}}}");
    assert_fields(&[
        (&model("/models/llama", volumes), &[]),
        (&model("/models", volumes), &[]),
        (&model("/modelsx/llama", volumes), &[&refused("/modelsx/llama", unmounted)]),
        (&model("/models/llama", "source: huggingface"), &[&refused("/models/llama", unmounted)]),
        (&model("/models/../x", volumes), &[&refused("/models/../x", "a path without \"..\"")]),
        (&model("/models/a b", volumes), &[&refused("/models/a b", "a path without spaces and control characters")]),
        (&model("//", volumes), &[&refused("//", "a path below \"/\"")]),
        (
            &model("/models/a,b", volumes),
            &[
                "KF0213 5:15 spec.model.id: the last part of spec.model.id does not serve as the name in the API, expected spec.model.servedName beside it",
            ],
        ),
        (&model("/models/a,b", &format!("servedName: ab, {volumes}")), &[]),
        (&format!("{}\nimage: a/b:1", model("/opt/model", "source: custom")), &[]),
        (
            &format!("{}\nimage: a/b:1", model("org/name", "source: custom")),
            &[&refused("org/name", "an absolute path inside the image, or no id, when source is custom")],
        ),
        (
            &format!("{}\nimage: a/b:1", model("/opt/../model", "source: custom")),
            &[&refused("/opt/../model", "a path without \"..\"")],
        ),
    ]);
}

#[test]
fn served_names() {
    let syntax = "a name without commas, spaces and control characters that does not start with '-'";
    for name in ["a,b", "a b", "-a", "a\u{7}"] {
        let message =
            format!("KF0213 5:37 spec.model.servedName: spec.model.servedName is {name:?}, expected {syntax}");
        let name = serde_json::Value::from(name);
        assert_fields(&[(&format!("model: {{id: org/name, servedName: {name}}}"), &[&message])]);
    }
    assert_fields(&[("model: {id: org/name, servedName: team/Llama_3.1}", &[])]);
}

#[test]
fn defaults() {
    let model = valid("model: {id: meta-llama/Llama-3.1-8B}").model;
    assert_eq!(model.served_name, Some(Leaf::derived("Llama-3.1-8B".to_owned())));
    assert_eq!(model.source, Leaf::defaulted(ModelSource::HuggingFace));
    let model = valid("model: {id: org/name/file.gguf, source: huggingface, servedName: \"\"}").model;
    assert_eq!(model.served_name, Some(Leaf::derived("file.gguf".to_owned())));
    assert_eq!(model.source, Leaf::written(ModelSource::HuggingFace));
    let model = valid("model: {id: gpt2, servedName: gpt}").model;
    assert_eq!(model.served_name, Some(Leaf::written("gpt".to_owned())));
    let model = valid("model: {source: custom, id: /opt/model/}\nimage: a/b:1").model;
    assert_eq!((model.served_name, model.id.as_deref()), (None, Some("/opt/model/")));
    let storage = "storage: {volumes: [{name: w, mountPath: /w, claimName: c}]}";
    let model = valid(&format!("model: {{id: /w/llama/, {storage}}}")).model;
    assert_eq!(model.served_name, Some(Leaf::derived("llama".to_owned())));
}
