//! What is merged while rendering is what the init container would have written, byte for byte: the story
//! `llama-stack-static`, rendered, and merged from what its pod's own variables say.

use std::fs;
use std::path::Path;

use kubefoundry_yaml as yaml;
use serde_json::Value;

use crate::sandbox::Sandbox;

fn documents(text: &str) -> Vec<Value> {
    yaml::parse(text, &yaml::Limits::default()).documents.iter().map(|document| document.root.to_json()).collect()
}

fn of_kind<'d>(documents: &'d [Value], kind: &str) -> impl Iterator<Item = &'d Value> {
    documents.iter().filter(move |document| document["kind"] == kind)
}

#[test]
fn static_mode_writes_what_the_init_container_would() {
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/llama-stack-static");
    let input = |name: &str| fs::read_to_string(story.join(name)).unwrap();
    let mut sandbox = Sandbox::new();
    for file in ["distribution.yaml", "config.yaml", "metadata.yaml", "kubefoundry.yaml"] {
        sandbox = sandbox.with(&format!("story/{file}"), input(file));
    }
    let rendered = documents(&sandbox.run(&["render", "story"]).exits(0).out);
    let merged = of_kind(&rendered, "ConfigMap").next().unwrap()["data"].clone();
    let deployment = of_kind(&rendered, "Deployment").next().unwrap();
    let metadata = documents(&input("metadata.yaml"));
    for container in deployment["spec"]["template"]["spec"]["initContainers"].as_array().unwrap() {
        let variables = container["env"].as_array().unwrap();
        let variable = |name: &str| {
            let found = variables.iter().find(|variable| variable["name"] == name)?;
            // Nothing in this story needs Kubernetes to see two dollar signs.
            found["value"].as_str()
        };
        let id = variable("LLS_PROVIDER_ID").unwrap();
        let package = metadata
            .iter()
            .find(|it| it["metadata"]["labels"]["llamastack.io/provider-metadata"] == id)
            .map(|it| it["data"]["lls-provider-spec.yaml"].as_str().unwrap());
        let mut config = format!(
            "providerId: {id}\napi: {}\norder: {}\nimage: {}\n",
            variable("LLS_PROVIDER_API").unwrap(),
            variable("LLS_PROVIDER_ORDER").unwrap(),
            variable("LLS_PROVIDER_IMAGE").unwrap()
        );
        if let Some(settings) = variable("LLS_PROVIDER_CONFIG") {
            config.push_str("config: ");
            config.push_str(settings);
        }
        sandbox = sandbox
            .with(&format!("metadata/{id}/lls-provider-spec.yaml"), package.unwrap())
            .with(&format!("metadata/{id}/crd-config.yaml"), config);
    }
    let base = documents(&input("config.yaml"))[0]["data"]["run.yaml"].as_str().unwrap().to_owned();
    sandbox = sandbox.with("base/run.yaml", base);
    let mut arguments = vec!["llamastack", "merge-config", "--metadata-dir", "metadata", "--base", "base"];
    arguments.extend([
        "--output",
        "run.yaml",
        "--extra-providers-output",
        "extra-providers.yaml",
        "--log",
        "merge-log.txt",
    ]);
    sandbox.run(&arguments).exits(0);
    for file in ["run.yaml", "extra-providers.yaml", "merge-log.txt"] {
        assert_eq!(merged[file].as_str(), Some(sandbox.read(file).as_str()), "{file}");
    }
}
