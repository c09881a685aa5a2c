//! The documentation is true: every ModelDeployment in it is accepted, and where it shows what one becomes, that is what
//! it becomes. (What the command line prints is checked in `cli/tests/docs.rs`.)

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::markdown::{blocks, links};
use crate::common::{compile_all, output};
use kubefoundry::{Purpose, SourceSet};

/// Every Markdown file that users read.
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
    for folder in ["docs", "docs/design", "docs/operator", "examples"].map(|folder| root.join(folder)) {
        pages.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    for provider in fs::read_dir(root.join("src/model/providers")).unwrap() {
        pages.push(provider.unwrap().path().join("README.md"));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md") && page.exists());
    pages.sort();
    pages
}

/// The YAML of a page, each block with what stands above it.
fn yaml(page: &str) -> impl Iterator<Item = (&str, &str)> {
    blocks(page).into_iter().filter(|block| block.language == "yaml").map(|block| (block.lead, block.text))
}

#[test]
fn every_model_deployment_in_the_documentation_is_accepted() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut last = None;
        for (lead, block) in yaml(&text) {
            if ["kind: ModelDeployment", "kind: LlamaStackDistribution"].iter().any(|kind| block.contains(kind)) {
                let mut sources = SourceSet::default();
                sources.add("page.yaml", block);
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

/// Every AsyncActor in it is accepted, with the options that the page shows before it.
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

/// Options and provider configurations that the documentation shows are ones that work.
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

#[test]
fn links_in_the_documentation_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text).filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(page.parent().unwrap().join(link).exists(), "{} links to {link}", page.display());
        }
    }
}
