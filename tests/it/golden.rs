//! Renders every case folder, compares the result with the snapshots beside its input, and checks invariants.

use std::path::Path;

use crate::common::{case_folders, compile_all, compile_case, diagnostics, output, read_case};
use kubefoundry_compiler::Compilation;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;

/// `output.snap` holds the standard output and `diagnostics.snap` the standard error.
#[test]
fn cases_render_as_recorded() {
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile_case(&folder);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("output", output(compilation));
            insta::assert_snapshot!("diagnostics", diagnostics(compilation, &sources));
        });
    }
}

/// The first line of a case is a comment with its purpose.
#[test]
fn cases_begin_with_a_comment() {
    for folder in case_folders() {
        let sources = read_case(&folder);
        let (_, first) = sources
            .iter()
            .find(|(_, source)| source.purpose == kubefoundry_diagnostics::source::Purpose::Input)
            .unwrap();
        assert!(first.text.starts_with("# "), "{}: the first line is a comment that says what it shows", name(&folder));
    }
}

/// Rendering is deterministic.
#[test]
fn rendering_twice_gives_the_same() {
    for folder in case_folders() {
        let sources = read_case(&folder);
        let (first, second) = (compile_case(&folder), compile_all(&sources));
        assert_eq!(output(first), output(&second), "{}", name(&folder));
        assert_eq!(diagnostics(first, &sources), diagnostics(&second, &sources), "{}", name(&folder));
    }
}

/// Reading the rendered YAML gives the original objects.
#[test]
fn output_reads_back_as_the_same_objects() {
    for folder in case_folders() {
        let compilation = compile_case(&folder);
        let text = output(compilation);
        let parsed = yaml::parse(&text, &yaml::Limits::default());
        assert!(parsed.failure.is_none(), "{}: {:?}", name(&folder), parsed.failure);
        if compilation.has_errors() {
            assert!(text.is_empty());
            continue;
        }
        let read: Vec<_> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
        let made: Vec<_> = compilation.outputs.iter().map(|output| output.object.clone()).collect();
        assert_eq!(read, made, "{}", name(&folder));
    }
}

/// The order of documents does not change the objects.
#[test]
fn document_order_changes_only_the_order() {
    for folder in case_folders() {
        let sources = read_case(&folder);
        let is_broken = |source: &kubefoundry_diagnostics::source::Source| {
            source.encoding_error.is_some() || yaml::parse(&source.text, &yaml::Limits::default()).failure.is_some()
        };
        if sources.iter().any(|(_, source)| is_broken(source)) {
            continue;
        }
        let mut reversed = SourceSet::default();
        let all: Vec<_> = sources.iter().map(|(_, source)| source.clone()).collect();
        for source in all.into_iter().rev() {
            let documents = yaml::parse(&source.text, &yaml::Limits::default()).documents;
            let slices: Vec<&str> =
                documents.iter().rev().map(|document| &source.text[document.span.start..document.span.end]).collect();
            let id = reversed.add_for(source.purpose, source.name.clone(), slices.join("\n---\n"));
            reversed.set_found(id, source.is_found);
            if let Some(subject) = source.subject {
                reversed.set_subject(id, subject);
            }
        }
        let objects = |compilation: &Compilation| {
            let mut objects: Vec<String> = compilation.outputs.iter().map(|output| output.object.to_string()).collect();
            objects.sort();
            (objects, compilation.diagnostics.len())
        };
        assert_eq!(objects(compile_case(&folder)), objects(&compile_all(&reversed)), "{}", name(&folder));
    }
}

fn name(folder: &Path) -> String {
    folder.display().to_string()
}
