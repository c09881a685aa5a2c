//! ARCHITECTURE.md against the code: the graph of crates matches Cargo's, and the modules of the larger crates
//! use each other only in the documented order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::common::rust_source::{code_lines, rust_files};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the lines of the block of ARCHITECTURE.md that begins with this fence.
fn block(fence: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let start = page.find(&format!("```{fence}\n")).unwrap_or_else(|| panic!("ARCHITECTURE.md has no block {fence:?}"));
    page[start..].lines().skip(1).take_while(|line| *line != "```").map(str::to_owned).collect()
}

/// Returns the packages of the workspace, as cargo describes them.
fn described_packages() -> Vec<Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let mut metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

/// Returns the packages of the workspace with their dependencies inside the workspace, without dev-dependencies.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let packages = described_packages();
    let short = |name: &str| name.strip_prefix("kubefoundry-").unwrap_or(name).to_owned();
    let own: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
            let names = normal.map(|dependency| dependency["name"].as_str().unwrap());
            (short(package["name"].as_str().unwrap()), names.filter(|name| own.contains(name)).map(short).collect())
        })
        .collect()
}

/// A package that asked for a feature would build that dependency, and everything above it, a second time, and others could
/// rely on the feature without asking. What only tests turn on stands in one package, `tests/features`, which no program
/// depends on. The exceptions are `schema`, by which xtask alone derives the schemas of the reports, and the clock that the
/// operator's tests stop: no other package has tokio.
#[test]
fn packages_agree_on_the_features_of_a_dependency() {
    let mut asked: BTreeMap<String, (Vec<Value>, String)> = BTreeMap::new();
    for package in described_packages() {
        // What a program may leave out: the transformations.
        let (default, transforms) = (&package["features"]["default"], serde_json::json!(["actor", "llamastack"]));
        assert!(default.is_null() || *default == transforms, "{} turns on features", package["name"]);
        if package["name"] == "kubefoundry-test-features" {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let (name, asker) = (dependency["name"].as_str().unwrap(), package["name"].as_str().unwrap());
            let mut settings = ["req", "features", "uses_default_features"].map(|key| dependency[key].clone()).to_vec();
            if settings[1] == serde_json::json!(["schema"]) {
                assert_eq!(asker, "xtask", "{asker} asks {name} for schemas");
                settings[1] = serde_json::json!([]);
            }
            // A published package cannot name a version of one that depends on it, so its tests name the path.
            let is_own = !dependency["path"].is_null();
            if is_own || (name == "tokio" && dependency["kind"] == "dev") {
                continue;
            }
            let (first, other) = asked.entry(name.to_owned()).or_insert_with(|| (settings.clone(), asker.to_owned()));
            assert_eq!(&settings, first, "{asker} and {other} differ on {name}: write it in [workspace.dependencies]");
        }
    }
    assert!(asked.len() > 40, "{}", asked.len());
}

/// A row of the drawing is a package, `<-`, and the packages that it uses.
#[test]
fn the_graph_of_crates_matches_cargo() {
    let drawn: BTreeMap<String, BTreeSet<String>> = block("text crates")
        .iter()
        .map(|line| {
            let (package, used) = line.split_once("<-").unwrap_or((line, ""));
            (package.trim().to_owned(), used.split_whitespace().map(str::to_owned).collect())
        })
        .collect();
    let packages = packages();
    for (package, used) in &packages {
        let row = format!("{package} <- {}", used.iter().cloned().collect::<Vec<_>>().join(" "));
        assert_eq!(
            drawn.get(package),
            Some(used),
            "ARCHITECTURE.md, block \"text crates\", should have the row: {row}"
        );
    }
    assert_eq!(drawn.len(), packages.len(), "ARCHITECTURE.md draws a crate that the workspace does not have");
}

/// A crate only uses crates in rows below its own, so the rows are a topological order.
#[test]
fn the_graph_of_crates_is_ordered() {
    let mut above: BTreeSet<String> = BTreeSet::new();
    for line in block("text crates") {
        let (package, used) = line.split_once("<-").unwrap_or((&line, ""));
        for used in used.split_whitespace() {
            assert!(above.contains(used), "{} uses {used}, which stands below it in the drawing", package.trim());
        }
        above.insert(package.trim().to_owned());
    }
}

/// Returns the modules of a folder that a file names by their full path, such as `crate::pipeline::`, outside comments
/// and tests. For a file that is itself a module of the folder, it includes those that it names with `use super::`.
fn used_modules(text: &str, folder: &str, is_direct: bool) -> BTreeSet<String> {
    let code: Vec<&str> = code_lines(text).map(|(_, line)| line).collect();
    let mut used: BTreeSet<String> = code.iter().flat_map(|line| line.split(folder).skip(1)).map(first_word).collect();
    let code = code.join("\n");
    for statement in code.split(";\n").filter(|_| is_direct) {
        let Some((before, names)) = statement.rsplit_once("use super::") else { continue };
        if !before.is_empty() && !before.ends_with(['\n', ' ']) {
            continue;
        }
        match names.strip_prefix('{') {
            Some(names) => used.extend(list_entries(names)),
            None => drop(used.insert(first_word(names))),
        }
    }
    used
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the first word of each entry of a list in braces, without nested lists.
fn list_entries(names: &str) -> Vec<String> {
    let (mut depth, mut entry, mut all) = (0, String::new(), Vec::new());
    for c in names.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => all.push(std::mem::take(&mut entry)),
            _ => entry.push(c),
        }
    }
    all.push(entry);
    all.iter().map(|entry| first_word(entry.trim_start())).filter(|word| !word.is_empty()).collect()
}

/// ARCHITECTURE.md orders the modules of a folder in one row. A module uses only modules to its left. The root of a
/// crate and the `mod.rs` of a folder may use all of them.
#[test]
fn modules_use_only_earlier_modules() {
    for line in block("text modules") {
        let (folder, order) = line.split_once(':').unwrap();
        let order: Vec<&str> = order.split_whitespace().collect();
        assert!(
            !order.iter().any(|module| module.contains('=')),
            "{folder}: modules that use each other have no order"
        );
        let place_of = |module: &str| order.iter().position(|other| *other == module);
        let source = root().join(folder.trim());
        let inner = folder.trim().split_once("/src").unwrap().1.replace('/', "::");
        let path = format!("crate{inner}::");
        for file in rust_files(&source) {
            let inside = file.strip_prefix(&source).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = first.strip_suffix(".rs").unwrap_or(first);
            if ["lib", "main", "mod"].contains(&module)
                || inside.components().any(|part| part.as_os_str() == "tests")
                || inside.ends_with("tests.rs")
            {
                continue;
            }
            let own = place_of(module).unwrap_or_else(|| {
                panic!("ARCHITECTURE.md, block \"text modules\", has no place for {folder}/{module}")
            });
            let is_direct = inside.components().count() == 1 || inside.ends_with(Path::new(first).join("mod.rs"));
            for used in used_modules(&fs::read_to_string(&file).unwrap(), &path, is_direct) {
                // Items of the root, such as macros and re-exported types, are not modules.
                let Some(place) = place_of(&used) else { continue };
                assert!(
                    place <= own,
                    "{} uses {path}{used}, which stands to the right of {module} in ARCHITECTURE.md: move what is used \
                     down, or hand it in",
                    file.display()
                );
            }
        }
    }
}

/// The pipeline treats models as one of several transformations; only the modules that run single deployments may name
/// them. A composition names none.
#[test]
fn only_modules_for_single_deployments_name_models() {
    let folder = root().join("crates/compiler/src/pipeline");
    let knows = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap().replace("kubefoundry_model::composition::", "");
        ["kubefoundry_model::", "kubefoundry_deployment::"].iter().any(|name| text.contains(name))
    };
    let name = |file: PathBuf| file.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    let found: Vec<String> = rust_files(&folder).into_iter().filter(knows).map(name).collect();
    assert_eq!(
        found,
        [
            "engine/evaluate.rs",
            "engine/mod.rs",
            "field_effects/field_change.rs",
            "field_effects/mod.rs",
            "field_effects/patch_judge.rs",
            "rendering/attempt.rs"
        ]
    );
}

/// Only `composition` and what stands above it may use a provider, so that an edit of a provider compiles little else.
#[test]
fn no_crate_below_the_composition_uses_a_provider() {
    let providers: BTreeSet<String> = fs::read_dir(root().join("providers"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(providers.len() >= 3, "{providers:?}");
    let users = packages().into_iter().filter(|(_, used)| used.iter().any(|name| providers.contains(name)));
    assert_eq!(users.map(|(package, _)| package).collect::<Vec<_>>(), ["composition"]);
}

/// Every module in a row exists.
#[test]
fn rows_name_existing_modules() {
    for line in block("text modules") {
        let (folder, order) = line.split_once(':').unwrap();
        for module in order.split_whitespace() {
            let path = root().join(folder.trim()).join(module);
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{folder} has no module {module}");
        }
    }
}

/// The function that finds uses skips comments and tests.
#[test]
fn uses_are_found_in_code_only() {
    let text =
        "use crate::a::B;\n// crate::b\nlet x = crate::c(crate::d::E);\n#[cfg(test)]\nmod tests {\n use crate::f;\n}\n";
    assert_eq!(used_modules(text, "crate::", true), ["a", "c", "d"].map(str::to_owned).into());
    assert_eq!(used_modules("use super::g::H;\n", "crate::", true), ["g".to_owned()].into());
    assert!(used_modules("use super::g::H;\n", "crate::", false).is_empty());
    let text =
        "use super::{\n    a::{B, C},\n    d,\n};\npub(super) use super::e::F;\nuse crate::x::y;\nuse crate::z::w;\n";
    assert_eq!(used_modules(text, "crate::x::", true), ["a", "d", "e", "y"].map(str::to_owned).into());
}
