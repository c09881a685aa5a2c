//! The examples of the documentation work: every ModelDeployment is accepted, and every rendered object that it shows
//! is what the ModelDeployment becomes. (`cli/tests/cli/documents.rs` checks console output.)

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::markdown::{Block, blocks, links};
use crate::common::{compile_all, output};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::render;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::wire::{Describe as _, ObjectShape};
use kubefoundry_reference::nested_object;
use kubefoundry_yaml as yaml;
use regex::Regex;
use serde_json::Value;

/// Returns every Markdown file for users.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/codes/README.md",
        "krm/README.md",
        "krm/examples/kustomize/README.md",
    ];
    let mut pages: Vec<PathBuf> = own.iter().map(|page| root.join(page)).collect();
    for folder in ["docs", "docs/commands", "docs/design", "docs/operator", "examples"].map(|folder| root.join(folder))
    {
        pages.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    for provider in fs::read_dir(root.join("providers")).unwrap() {
        pages.push(provider.unwrap().path().join("README.md"));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md") && page.exists());
    pages.sort();
    pages
}

/// Returns the YAML blocks of a page, each with the text above it. A block with the attribute `patch` is not a whole object;
/// a script checks what kustomize builds with it.
fn yaml(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_whole = |block: &Block<'_>| block.language == "yaml" && !block.attributes.contains(&"patch");
    blocks(page).into_iter().filter(is_whole).map(|block| (block.lead, block.text))
}

/// Every object is accepted with the options that the page shows before it.
/// Whether a document of a block begins a line with this text. Deeper it only names a kind, as Argo CD's options do.
fn is_document(block: &str, kind: &str) -> bool {
    block.lines().any(|line| line.starts_with(kind) || (line.starts_with('{') && line.contains(kind)))
}

#[test]
fn every_model_deployment_in_the_documentation_is_accepted() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut last = None;
        let mut options = "";
        for (lead, block) in yaml(&text) {
            if block.contains("kind: Render\n") {
                options = block;
            } else if ["kind: ModelDeployment", "kind: LlamaStackDistribution"]
                .iter()
                .any(|kind| is_document(block, kind))
            {
                let mut sources = SourceSet::default();
                if !options.is_empty() {
                    sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
                }
                sources.add("page.yaml", block);
                if let Some(options) = policy_of(&text) {
                    sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
                }
                let compilation = compile_all(&sources);
                let messages: Vec<&str> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
                assert!(!compilation.has_errors(), "{}: {messages:?}\n{block}", page.display());
                last = Some(output(&compilation));
                count += 1;
            } else if lead.trim() == "becomes" {
                assert_eq!(last.take().as_deref(), Some(block), "{}", page.display());
            }
        }
    }
    assert!(count >= 3, "{count} ModelDeployments found in the documentation");
}

/// Returns the options with which the deployments of a page are accepted: those that the page shows with a policy.
fn policy_of(page: &str) -> Option<&str> {
    yaml(page).map(|(_, block)| block).find(|block| block.contains("kind: Render\n") && block.contains("\npolicy:\n"))
}

/// Every AsyncActor is accepted with the options that the page shows before it.
#[test]
fn every_actor_in_the_documentation_is_accepted() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut options = "";
        for (_, block) in yaml(&text) {
            if block.contains("kind: Render\n") {
                options = block;
            } else if block.contains("kind: AsyncActor") {
                let mut sources = SourceSet::default();
                sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
                sources.add("page.yaml", block);
                let compilation = compile_all(&sources);
                let messages: Vec<&str> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
                assert!(!compilation.has_errors(), "{}: {messages:?}\n{block}", page.display());
                assert!(!compilation.outputs.is_empty());
                count += 1;
            }
        }
    }
    assert!(count >= 2, "{count} AsyncActors found in the documentation");
}

/// Options and provider configurations in the documentation are valid.
#[test]
fn options_and_configurations_in_the_documentation_are_accepted() {
    let model = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n  \
                 model: {id: org/model}\n  engine: {type: vllm}\n  resources: {gpu: {count: 1}}\n";
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (_, block) in yaml(&text) {
            let purpose = if block.contains("\nkind: Render") {
                Purpose::Options
            } else if block.contains("\nkind: InferenceProviderConfig") {
                Purpose::Providers
            } else {
                continue;
            };
            let mut sources = SourceSet::default();
            sources.add("model.yaml", model);
            sources.add_for(purpose, "page.yaml", block);
            let compilation = compile_all(&sources);
            let messages: Vec<&str> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
            assert!(!compilation.has_errors(), "{}: {messages:?}\n{block}", page.display());
            count += 1;
        }
    }
    assert!(count >= 2, "{count} found in the documentation");
}

/// Returns the values that the managers of a Renovate configuration find in a file, by the names of their dependencies.
fn find_dependencies(managers: &[Value], file: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for manager in managers {
        for pattern in manager["matchStrings"].as_array().unwrap() {
            for captures in Regex::new(pattern.as_str().unwrap()).unwrap().captures_iter(file) {
                let name = manager["depNameTemplate"].as_str().unwrap().to_owned();
                found.entry(name).or_default().push(captures["currentValue"].to_owned());
            }
        }
    }
    found
}

/// The managers for Renovate find the runtimes that a reader of YAML finds, and nothing else. Renovate compiles its
/// patterns with RE2, whose syntax the crate `regex` shares: neither has lookaround.
#[test]
fn renovate_finds_the_runtimes_of_options() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/options.md")).unwrap();
    let config = blocks(&page).into_iter().find(|block| block.text.contains("\"customManagers\"")).unwrap().text;
    let config: Value = serde_json::from_str(config).unwrap();
    let managers = config["customManagers"].as_array().unwrap();

    let names: Vec<&str> = managers.iter().map(|manager| manager["depNameTemplate"].as_str().unwrap()).collect();
    for provider in PROVIDERS.iter().filter(|provider| !provider.info().runtimes.is_empty()) {
        assert!(names.contains(&provider.name()), "docs/options.md has no manager for {}", provider.name());
    }
    for manager in managers {
        let files = manager["managerFilePatterns"][0].as_str().unwrap().trim_matches('/');
        let files = Regex::new(files).unwrap();
        assert!(["kubefoundry.yaml", "clusters/prod/kubefoundry.yaml"].iter().all(|file| files.is_match(file)));
        assert!(!["my-kubefoundry.yaml", "kubefoundry.yaml.orig"].iter().any(|file| files.is_match(file)));
    }

    let pages: Vec<String> = pages().iter().map(|page| fs::read_to_string(page).unwrap()).collect();
    let mut files: Vec<String> = pages
        .iter()
        .flat_map(|page| yaml(page))
        .map(|(_, block)| block.to_owned())
        .filter(|block| block.contains("\nkind: Render\n") && block.contains("\nruntimes:"))
        .collect();
    assert!(files.len() >= 4, "{} examples in the documentation", files.len());
    let block = "runtimes: # of our clusters\n  # dynamo: 0.9.0\n  'kaito': '0.4.5'\n\n# between\n  \"dynamo\": \
                 \"1.5.1\" # newest\n  kuberay: 2.58.1\nimages:\n  dynamo: mirror.example.com\nkuberay: 7\n";
    files.push(block.to_owned());
    files.push(format!("kind: Render\n{block}").replace('\n', "\r\n"));
    files.extend(
        [
            "runtimes: {kaito: 0.3.1, \"dynamo\": '1.2.1', kuberay: 2.57.0}\nseverities: {kuberay: off}\n",
            "kind: Render\nruntimes: {\n  kuberay: 2.52.1,\n  my-dynamo: 0.0.1, kaito: 0.2.8}\n",
            "runtimes:\n  dynamo: 1.5.0-cuda13\nkaito:\n  kaito: 0.1.2\n",
            "runtimes: {}\nkaito: {nodeAutoProvisioning: true}\n",
            "settings:\n  runtimes:\n    dynamo: 1.1.0\nmy-runtimes:\n  kuberay: 2.51.0\n",
        ]
        .map(str::to_owned),
    );
    for file in files {
        let root = yaml::parse(&file, &yaml::Limits::default()).documents[0].root.to_json();
        let expected: BTreeMap<String, Vec<String>> = root
            .get("runtimes")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(name, version)| (name.clone(), vec![version.as_str().unwrap().to_owned()]))
            .collect();
        assert_eq!(find_dependencies(managers, &file), expected, "{file}");
    }
}

#[test]
fn links_in_the_documentation_have_destinations() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text).filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(page.parent().unwrap().join(link).exists(), "{} links to {link}", page.display());
        }
    }
}

/// Collects the Markdown files below a folder.
fn markdown_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            markdown_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// `docs/SUMMARY.md` is the table of contents on a code host and of the site. A page is in it, or its folder's README is in
/// it and lists the page, as that of the codes does.
#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = links(&summary).map(|link| docs.join(link)).collect();
    let indexes: Vec<PathBuf> = listed.iter().filter(|page| page.ends_with("README.md")).cloned().collect();
    for index in indexes {
        let text = fs::read_to_string(&index).unwrap();
        listed.extend(links(&text).filter(|link| !link.contains('/')).map(|link| index.with_file_name(link)));
    }
    let mut pages = Vec::new();
    markdown_below(&docs, &mut pages);
    pages.retain(|page| !page.ends_with("SUMMARY.md"));
    pages.sort();
    let missing: Vec<_> =
        pages.iter().filter(|page| !listed.contains(page)).map(|page| page.strip_prefix(&docs).unwrap()).collect();
    assert!(missing.is_empty(), "add to docs/SUMMARY.md, or to the README of their folder: {missing:?}");
    assert!(pages.len() > 300, "{} pages", pages.len());
}

/// The README begins with three ways in: a page, an installation and cargo; then there is a picture, and an input of ten lines.
#[test]
fn the_readme_fits_the_first_minute() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let (start, rest) = readme.split_once("[![").unwrap();
    for way in [
        ".ci/web --build",
        "pip install kubefoundry",
        "cargo run --locked --bin kubefoundry -- render examples/llama-8b",
    ] {
        assert!(start.contains(way), "{way}");
    }
    assert!(start.lines().count() <= 25, "{} lines before the picture", start.lines().count());
    let (_, example) = yaml(rest).next().unwrap();
    assert_eq!(example.lines().count(), 10);
    let picture = links(rest).find(|link| Path::new(link).extension().is_some_and(|it| it == "png")).unwrap();
    let size = fs::metadata(root.join(picture)).unwrap().len();
    assert!((10_000..=200_000).contains(&size), "{picture} has {size} bytes");
}

/// Collects the files below a folder that may cite requirements and decision records.
fn citing_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["target", ".git", "node_modules"].contains(&name) {
                citing_files(&path, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "toml", "md", "yaml"].iter().any(|it| extension == *it))
        {
            found.push(path);
        }
    }
}

#[test]
fn cited_requirements_and_records_are_in_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let specification = fs::read_to_string(root.join("docs/specification.md")).unwrap();
    let records: Vec<String> = fs::read_dir(root.join("docs/design"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let requirement = regex::Regex::new(r"\b(?:MD|OP|LS|AA)-[0-9]+(?:\.[0-9]+)?\b").unwrap();
    let record = regex::Regex::new(r"docs/design/([0-9]{4})").unwrap();
    let unavailable =
        regex::Regex::new(r"DESIGN\s§|\bspec/[1-5]\s§|(?:engine-flags|upstreams|interop)(?:\.md)?\s§").unwrap();
    let mut files = Vec::new();
    citing_files(root, &mut files);
    let mut count = 0;
    for file in files {
        // Some cases are not UTF-8, to test that.
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for found in requirement.find_iter(&text).map(|found| found.as_str()) {
            let (row, section) = (format!("| {found} |"), format!("### {found}:"));
            let is_there = specification.contains(&row) || specification.contains(&section);
            assert!(is_there, "{} cites {found}, which docs/specification.md does not have", file.display());
            count += 1;
        }
        for found in record.captures_iter(&text) {
            let is_there = records.iter().any(|name| name.starts_with(&found[1]));
            assert!(is_there, "{} cites docs/design/{}, which does not exist", file.display(), &found[1]);
            count += 1;
        }
        let stale = unavailable.find(&text).map(|found| found.as_str());
        assert_eq!(stale, None, "{} cites a document that is not in the repository", file.display());
    }
    assert!(count > 200, "{count} citations found");
}

/// Adds the paths of the fields of an object that are not in every API group, with everything in them.
fn add_newer_fields(object: &ObjectShape, path: &str, is_newer: bool, paths: &mut Vec<String>) {
    for field in object.fields {
        let at = format!("{path}.{}", field.key);
        let is_newer = is_newer || !field.facets.not_in.is_empty();
        match nested_object(&field.full_shape()) {
            Some(inner) if inner.name != object.name => add_newer_fields(inner, &at, is_newer, paths),
            _ if is_newer => paths.push(at),
            _ => {}
        }
    }
}

/// Every field beyond the older API group has an example in the reference, and every example renders.
#[test]
fn newer_fields_have_an_example_in_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/reference/model-deployment.yaml")).unwrap();
    let mut sources = SourceSet::default();
    let gateway =
        "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\ngateway: {name: inference, namespace: gateways}\n";
    sources.add_for(Purpose::Options, "kubefoundry.yaml", gateway);
    sources.add("model-deployment.yaml", text.as_str());
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    assert!(!compilation.has_errors(), "{}", render::concise(&compilation.diagnostics, &sources));
    let documents: Vec<Value> = yaml::parse(&text, &yaml::Limits::default())
        .documents
        .into_iter()
        .map(|document| document.root.to_json())
        .collect();
    let Some(deployment) = nested_object(&ModelDeployment::SHAPE) else { panic!("expected an object") };
    let mut paths = Vec::new();
    add_newer_fields(deployment, "", false, &mut paths);
    paths.retain(|path| path.starts_with(".spec."));
    assert!(paths.len() > 60, "{}", paths.len());
    let is_written = |path: &String| documents.iter().any(|document| has_path(document, path.trim_start_matches('.')));
    // A variable has many sources, of which any is an example.
    let missing: Vec<&String> = paths.iter().filter(|path| !path.contains(".env.") && !is_written(path)).collect();
    assert!(missing.is_empty(), "write an example in docs/reference/model-deployment.yaml for {missing:#?}");
}

/// Returns whether a document has a field; in lists, in any item.
fn has_path(value: &Value, path: &str) -> bool {
    if let Value::Array(items) = value {
        return items.iter().any(|item| has_path(item, path));
    }
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    value.get(key).is_some_and(|inner| rest.is_empty() || has_path(inner, rest))
}
