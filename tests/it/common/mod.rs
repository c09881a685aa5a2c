//! Shared helpers of the integration tests: reading a case folder and compiling it as the command line does.

pub(crate) mod argv;
pub(crate) mod code_page;
pub(crate) mod generated;
pub(crate) mod invariants;
pub(crate) mod markdown;
pub(crate) mod mutation;
pub(crate) mod rust_source;
pub(crate) mod start;
pub(crate) mod upstream;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_convert::migrate::{migrate_to_group, migrate_to_provider};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, render};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_yaml as yaml;

/// Returns the folders of the cases: `testdata/golden/<group>/<case>` and `examples/<story>`.
pub(crate) fn case_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = Vec::new();
    for group in folders_in(&root.join("testdata/golden")) {
        folders.extend(folders_in(&group));
    }
    folders.extend(folders_in(&root.join("examples")));
    folders
}

pub(crate) fn folders_in(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Reads the sources of a case: `kubefoundry.yaml` holds options, every other `.yaml` file is input, `crds/`
/// contains the CRDs of the cluster, `cluster/` its nodes, and `found/` options that are found beside the input.
pub(crate) fn read_case(folder: &Path) -> SourceSet {
    let mut sources = SourceSet::default();
    for (name, text) in texts(folder) {
        let purpose = if name == "kubefoundry.yaml" { Purpose::Options } else { Purpose::Input };
        sources.add_bytes(purpose, name, text);
    }
    // Options that a front end finds beside the input.
    if folder.join("found").is_dir() {
        for (name, text) in texts(&folder.join("found")) {
            let id = sources.add_bytes(Purpose::Options, format!("found/{name}"), text);
            sources.set_found(id, true);
        }
    }
    // `model-configs/ORG/NAME.json` is the config.json of ORG/NAME.
    for organization in folder.join("model-configs").read_dir().into_iter().flatten().map(|entry| entry.unwrap()) {
        let organization = organization.file_name().into_string().unwrap();
        for (name, text) in texts(&folder.join("model-configs").join(&organization)) {
            let model = format!("{organization}/{}", name.trim_end_matches(".json"));
            let id = sources.add_bytes(Purpose::ModelConfig, format!("{model}/config.json"), text);
            sources.set_subject(id, model);
        }
    }
    if folder.join("crds").is_dir() {
        for (name, text) in texts(&folder.join("crds")) {
            sources.add_bytes(Purpose::Crds, format!("crds/{name}"), text);
        }
    }
    if folder.join("cluster").is_dir() {
        for (name, text) in texts(&folder.join("cluster")) {
            sources.add_bytes(Purpose::ClusterNodes, format!("cluster/{name}"), text);
        }
    }
    sources
}

/// Returns the YAML and JSON files directly in a folder, sorted by name.
pub(crate) fn texts(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml" || it == "json");
    let named = |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap());
    let mut texts: Vec<_> = files.filter(is_text).map(named).collect();
    texts.sort();
    texts
}

/// Compiles with every check, so that a case shows all findings.
pub(crate) fn compile_all(sources: &SourceSet) -> Compilation {
    compile(&BUILTIN, sources, Thoroughness::Everything)
}

/// Returns what a case compiles to. Many tests ask for all cases, and each case is compiled once.
pub(crate) fn compile_case(folder: &Path) -> &'static Compilation {
    static COMPILED: Mutex<BTreeMap<PathBuf, &'static OnceLock<Compilation>>> = Mutex::new(BTreeMap::new());
    // The cells are as many as the cases, and live as long as the program.
    let cell = *COMPILED.lock().unwrap().entry(folder.to_owned()).or_insert_with(|| Box::leak(Box::default()));
    cell.get_or_init(|| compile_all(&read_case(folder)))
}

/// Returns what `render` prints: the objects as a YAML stream, or nothing if there is an error.
pub(crate) fn output(compilation: &Compilation) -> String {
    if compilation.has_errors() {
        return String::new();
    }
    yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
}

/// Returns the findings as the command line prints them.
pub(crate) fn diagnostics(compilation: &Compilation, sources: &SourceSet) -> String {
    render::text(&compilation.diagnostics, sources, render::TextStyle::Plain)
}

/// Returns the findings of the migration of a case, whose folder names the destination.
pub(crate) fn migrated(folder: &Path, sources: &SourceSet) -> Vec<Diagnostic> {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    if name.starts_with("to-group") {
        return migrate_to_group(&BUILTIN, sources, &API_GROUPS[0]).diagnostics;
    }
    let provider = PROVIDERS.iter().find(|provider| name.starts_with(&format!("to-{}", provider.name()))).unwrap();
    migrate_to_provider(&BUILTIN, sources, *provider).diagnostics
}

/// Returns the findings of the cases for other commands than `render`.
pub(crate) fn found_by_commands() -> Vec<Diagnostic> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in folders_in(&root.join("testdata/import")) {
        found.extend(kubefoundry_convert::import::import(&BUILTIN, &read_case(&folder)).diagnostics);
    }
    for folder in folders_in(&root.join("testdata/migrate")) {
        found.extend(migrated(&folder, &read_case(&folder)));
    }
    found
}
