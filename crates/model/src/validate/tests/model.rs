//! Model ids, served names, sources.

use super::{assert_fields, valid};
use kubefoundry_deployment::ir::{Leaf, ModelSource};

#[test]
fn requires_an_id_or_an_image() {
    assert_fields(&[
        ("model: {}", &["KF0208 5:3 spec.model.id"]),
        ("model: {id: \"\", source: huggingface}", &["KF0208 5:15 spec.model.id"]),
        ("model:\n  id:", &["KF0208 6:5 spec.model.id"]),
        ("model: {source: custom}", &["KF0210 4:1 spec.image"]),
        ("model: {source: custom}\nimage: a/b:1", &[]),
        ("model: {source: custom}\nengine: {type: llamacpp, image: a/b:1}", &[]),
        ("model: {source: custom, servedName: x}\nimage: a/b:1", &["KF0209 5:39 spec.model.servedName"]),
    ]);
}

/// The finding about an id that no engine could load.
const REFUSED: &[&str] = &["KF0213 5:15 spec.model.id"];

#[test]
fn checks_ids() {
    for id in ["gpt2", "org/name", "meta-llama/Llama-3.1-8B_x", "org/name/file-Q4_K.gguf", "_a/b"] {
        assert_fields(&[(&format!("model: {{id: \"{id}\"}}"), &[])]);
    }
    for id in [
        "-x/y",
        "org/na me",
        "org/name\n",
        "org/name/",
        "org//name",
        "org/name/file.bin",
        "org/name/.gguf",
        "a/b/c/d.gguf",
        "org/-name",
        "org/na--me",
        "../name",
        "org/name:Q4",
        "org/näme",
    ] {
        assert_fields(&[(&format!("model: {{id: {id:?}}}"), REFUSED)]);
    }
    let long = format!("org/{}", "x".repeat(97));
    assert_fields(&[(&format!("model: {{id: {long}}}"), REFUSED)]);
}

#[test]
fn checks_paths() {
    let volumes = "storage: {volumes: [{name: w, mountPath: /models/, claimName: c}]}";
    let model = |id: &str, rest: &str| format!("model: {{id: {id:?}, {rest}}}");
    assert_fields(&[
        (&model("/models/llama", volumes), &[]),
        (&model("/models", volumes), &[]),
        (&model("/modelsx/llama", volumes), REFUSED),
        (&model("/models/llama", "source: huggingface"), REFUSED),
        (&model("/models/../x", volumes), REFUSED),
        (&model("/models/a b", volumes), REFUSED),
        (&model("//", volumes), REFUSED),
        (&model("/models/a,b", volumes), &["KF0214 5:15 spec.model.id"]),
        (&model("/models/a,b", &format!("servedName: ab, {volumes}")), &[]),
        (&format!("{}\nimage: a/b:1", model("/opt/model", "source: custom")), &[]),
        (&format!("{}\nimage: a/b:1", model("org/name", "source: custom")), REFUSED),
        (&format!("{}\nimage: a/b:1", model("/opt/../model", "source: custom")), REFUSED),
    ]);
}

#[test]
fn checks_served_names() {
    for name in ["a,b", "a b", "-a", "a\u{7}"] {
        let name = serde_json::Value::from(name);
        assert_fields(&[(
            &format!("model: {{id: org/name, servedName: {name}}}"),
            &["KF0214 5:37 spec.model.servedName"],
        )]);
    }
    assert_fields(&[("model: {id: org/name, servedName: team/Llama_3.1}", &[])]);
}

#[test]
fn applies_defaults() {
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
