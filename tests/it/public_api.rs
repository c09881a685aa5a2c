//! The public interface of the package `kubefoundry` is stable: every change of it must change `public_api.txt` beside
//! this file.
//!
//! The listing is generated from the sources: the public items of `src/`, and for each re-exported type its fields,
//! variants, methods and implementations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// The maximum number of public types.
const MAX_TYPES: usize = 46;

/// Structs and enums without `#[non_exhaustive]`, with the reason.
const EXHAUSTIVE: &[(&str, &str)] = &[
    ("Source", "an input: the cache of a session takes it apart, so that no part of it is forgotten there"),
    ("SourceId", "an index and nothing more"),
    ("OutputRole", "a caller must know what to do with an object of each role"),
    ("ObjectRef", "what names an object in Kubernetes; callers make and take it apart"),
    ("PriorChoice", "an input that callers make"),
    ("plan::PlanInput", "an input that callers make"),
    ("status::StalenessPolicy", "an input that callers make"),
    ("status::Time", "a number of seconds and nothing more"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The items of a crate, by module path.
struct Sources {
    modules: BTreeMap<Vec<String>, Vec<Item>>,
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut sources = Self { modules: BTreeMap::new() };
        sources.file(&folder.join("lib.rs"), &[], folder);
        sources
    }

    /// Reads a file. `folder` contains the files of its submodules.
    fn file(&mut self, file: &Path, path: &[String], folder: &Path) {
        let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        self.items(parsed.items, path, folder);
    }

    fn items(&mut self, mut items: Vec<Item>, path: &[String], folder: &Path) {
        for item in &mut items {
            let Item::Mod(module) = item else { continue };
            if module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")) {
                continue;
            }
            let name = module.ident.to_string();
            let inner: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
            if let Some((_, content)) = module.content.take() {
                self.items(content, &inner, &folder.join(&name));
                continue;
            }
            let files = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
            let file = files.iter().find(|file| file.exists()).unwrap_or_else(|| panic!("{files:?}"));
            self.file(file, &inner, &folder.join(&name));
        }
        self.modules.insert(path.to_vec(), items);
    }
}

/// The crates of the workspace, by crate name.
struct Workspace {
    crates: BTreeMap<String, Sources>,
}

/// The place of a declaration.
#[derive(Clone)]
struct Place {
    package: String,
    module: Vec<String>,
}

impl Workspace {
    fn read() -> Self {
        let mut crates = BTreeMap::from([("kubefoundry".to_owned(), Sources::read(&root().join("src")))]);
        for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
            let name = format!("kubefoundry_{}", folder.file_name().unwrap().to_str().unwrap());
            crates.insert(name, Sources::read(&folder.join("src")));
        }
        Self { crates }
    }

    fn items(&self, place: &Place) -> &[Item] {
        let modules = &self.crates.get(&place.package).unwrap_or_else(|| panic!("{}", place.package)).modules;
        modules.get(&place.module).map_or(&[], Vec::as_slice)
    }

    /// Resolves a path to items with their place. There may be several, because a type and a function can share a name.
    fn resolve(&self, from: &Place, path: &[String]) -> Vec<(Place, &Item)> {
        let (name, modules) = path.split_last().unwrap();
        let mut place = from.clone();
        for (position, segment) in modules.iter().enumerate() {
            match segment.as_str() {
                "crate" => place.module.clear(),
                "self" => {}
                "super" => {
                    place.module.pop();
                }
                package if position == 0 && self.crates.contains_key(package) => {
                    place = Place { package: package.to_owned(), module: Vec::new() };
                }
                module => {
                    let is_declared = self.items(&place).iter().any(|item| named(item).as_deref() == Some(module));
                    let renamed = (!is_declared).then(|| self.import(&place, module)).flatten();
                    match renamed {
                        Some((package, module)) => place = Place { package, module },
                        None => place.module.push(module.to_owned()),
                    }
                }
            }
        }
        let mut found = Vec::new();
        for item in self.items(&place) {
            match item {
                Item::Use(used) => {
                    for (path, known_as) in flatten_use(&used.tree) {
                        if known_as == *name && path.first().is_some_and(|first| self.is_own(first, &place)) {
                            found.extend(self.resolve(&place, &path));
                        }
                    }
                }
                item if named(item).as_deref() == Some(name) && !matches!(item, Item::Mod(_)) => {
                    found.push((place.clone(), item));
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the path that a `use` of this module imports under a name, if it belongs to another crate.
    fn import(&self, place: &Place, name: &str) -> Option<(String, Vec<String>)> {
        let uses = self.items(place).iter().filter_map(|item| match item {
            Item::Use(used) => Some(flatten_use(&used.tree)),
            _ => None,
        });
        let (path, _) =
            uses.flatten().find(|(path, known_as)| known_as == name && self.crates.contains_key(&path[0]))?;
        Some((path[0].clone(), path[1..].to_vec()))
    }

    fn is_own(&self, first: &str, place: &Place) -> bool {
        let is_module = |item: &Item| matches!(item, Item::Mod(module) if module.ident == first);
        ["crate", "self", "super"].contains(&first)
            || self.crates.contains_key(first)
            || self.items(place).iter().any(is_module)
    }
}

/// Flattens a `use` into paths, each with the name that it introduces.
fn flatten_use(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let below = flatten_use(&path.tree).into_iter();
            below.map(|(rest, name)| ([vec![first.clone()], rest].concat(), name)).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Group(group) => group.items.iter().flat_map(flatten_use).collect(),
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
    }
}

fn named(item: &Item) -> Option<String> {
    Some(
        match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Mod(item) => &item.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            _ => return None,
        }
        .to_string(),
    )
}

/// A public item: its public name, the item, and its documentation at the re-export and at the declaration.
struct Shown<'w> {
    name: String,
    place: Place,
    item: &'w Item,
    documentation: String,
}

/// Collects the public items below a module of the root package.
fn collect_public_items<'w>(workspace: &'w Workspace, module: &[String], prefix: &str, out: &mut Vec<Shown<'w>>) {
    let place = Place { package: "kubefoundry".to_owned(), module: module.to_vec() };
    for item in workspace.items(&place) {
        match item {
            Item::Mod(inner) if is_public(&inner.vis) => {
                let inner = inner.ident.to_string();
                let path = [module, std::slice::from_ref(&inner)].concat();
                collect_public_items(workspace, &path, &format!("{prefix}{inner}::"), out);
            }
            Item::Use(used) if is_public(&used.vis) => {
                for (path, name) in flatten_use(&used.tree) {
                    if name == "*" {
                        // A private module whose items are re-exported here.
                        let path = [module, &path[..path.len() - 1]].concat();
                        collect_public_items(workspace, &path, prefix, out);
                        continue;
                    }
                    let found = workspace.resolve(&place, &path);
                    assert!(!found.is_empty(), "{path:?} is not found: this test reads `mod`, `use` and items only");
                    for (place, item) in found {
                        let documentation = format!("{}\n{}", docs(&used.attrs), docs(attributes(item)));
                        out.push(Shown { name: format!("{prefix}{name}"), place, item, documentation });
                    }
                }
            }
            item if visibility(item).is_some_and(is_public) => {
                let name = format!("{prefix}{}", named(item).unwrap());
                out.push(Shown { name, place: place.clone(), item, documentation: docs(attributes(item)) });
            }
            _ => {}
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        _ => &[],
    }
}

fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    lines
        .map(|line| line.meta.require_name_value().map_or_else(|_| String::new(), |value| text(&value.value)))
        .collect()
}

/// Returns code on one line, without the superfluous spaces of printed tokens.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string().replace('\n', " ");
    for (from, to) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        (" ;", ";"),
        (" :", ":"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("[ ", "["),
        (" ]", "]"),
        ("< ", "<"),
        ("=(", "= ("),
        ("> ,", ">,"),
        ("> )", ">)"),
        ("> ;", ">;"),
        ("> >", ">>"),
        (":: ", "::"),
        (" ::", "::"),
        ("- >", "->"),
        ("->", " -> "),
        ("  ", " "),
    ] {
        text = text.replace(from, to);
    }
    text.trim().to_owned()
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

fn fields(fields: &Fields, all: bool, indent: &str, out: &mut String) {
    let mut hidden = 0;
    for (position, field) in fields.iter().enumerate() {
        if !all && !is_public(&field.vis) {
            hidden += 1;
            continue;
        }
        let name = field.ident.as_ref().map_or_else(|| position.to_string(), ToString::to_string);
        let _ = writeln!(out, "{indent}{name}: {}", text(&field.ty));
    }
    if hidden > 0 {
        let _ = writeln!(out, "{indent}…");
    }
}

/// Appends the signature of an item.
fn write_signature(workspace: &Workspace, shown: &Shown<'_>, out: &mut String) {
    let name = &shown.name;
    let open = if has(attributes(shown.item), "non_exhaustive") { "non_exhaustive " } else { "" };
    match shown.item {
        Item::Const(item) => drop(writeln!(out, "const {name}: {}", text(&item.ty))),
        Item::Static(item) => drop(writeln!(out, "static {name}: {}", text(&item.ty))),
        Item::Type(item) => drop(writeln!(out, "type {name} = {}", text(&item.ty))),
        Item::Fn(item) => drop(writeln!(out, "fn {name} = {}", text(&item.sig))),
        Item::Trait(item) => {
            let _ = writeln!(out, "trait {name}: {}", text(&item.supertraits));
            for part in &item.items {
                match part {
                    TraitItem::Fn(method) => {
                        let provided = if method.default.is_some() { " (provided)" } else { "" };
                        let _ = writeln!(out, "    {}{provided}", text(&method.sig));
                    }
                    other => drop(writeln!(out, "    {}", text(other))),
                }
            }
        }
        Item::Struct(item) => {
            let _ = writeln!(out, "{open}struct {name}{}", text(&item.generics));
            fields(&item.fields, false, "    ", out);
        }
        Item::Enum(item) => {
            let _ = writeln!(out, "{open}enum {name}{}", text(&item.generics));
            for variant in &item.variants {
                let _ = writeln!(out, "    {}", variant.ident);
                fields(&variant.fields, true, "        ", out);
            }
        }
        other => panic!("{name} is of a kind that this test does not know: {}", text(other)),
    }
    if matches!(shown.item, Item::Struct(_) | Item::Enum(_)) {
        implementations(workspace, shown, out);
    }
}

/// Appends the methods of a type and the traits that it implements, from its module and the modules below.
fn implementations(workspace: &Workspace, shown: &Shown<'_>, out: &mut String) {
    let own = named(shown.item).unwrap();
    let mut lines = Vec::new();
    for attribute in attributes(shown.item).iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let derived = text(&attribute.meta.require_list().unwrap().tokens);
        lines.extend(derived.split(',').map(|name| format!("    impl {}", name.trim())));
    }
    let modules = &workspace.crates[&shown.place.package].modules;
    for (_, items) in modules.iter().filter(|(path, _)| path.starts_with(&shown.place.module)) {
        for item in items {
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(implementer) = &*block.self_ty else { continue };
            if implementer.path.segments.last().is_none_or(|last| last.ident != own) || has(&block.attrs, "cfg") {
                continue;
            }
            if let Some((of, _)) = &block.trait_ {
                lines.push(format!("    impl {}", text(of)));
                continue;
            }
            for part in &block.items {
                match part {
                    ImplItem::Fn(method) if is_public(&method.vis) => lines.push(format!("    {}", text(&method.sig))),
                    ImplItem::Const(constant) if is_public(&constant.vis) => {
                        lines.push(format!("    const {}: {}", constant.ident, text(&constant.ty)));
                    }
                    _ => {}
                }
            }
        }
    }
    lines.sort();
    out.extend(lines.iter().map(|line| format!("{line}\n")));
}

fn is_type(item: &Item) -> bool {
    matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Trait(_))
}

fn public_items(workspace: &Workspace) -> Vec<Shown<'_>> {
    let mut face = Vec::new();
    collect_public_items(workspace, &[], "", &mut face);
    face.sort_by(|one, other| (&one.name, is_type(one.item)).cmp(&(&other.name, is_type(other.item))));
    face
}

#[test]
fn the_public_interface_matches_its_listing() {
    let workspace = Workspace::read();
    let mut listing = String::new();
    for shown in public_items(&workspace) {
        write_signature(&workspace, &shown, &mut listing);
    }
    let file = PathBuf::from(root()).join("tests/it/public_api.txt");
    if env::var_os("UPDATE_PUBLIC_API").is_some() {
        fs::write(&file, &listing).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let gone = written.lines().filter(|line| !listing.lines().any(|other| other == *line));
    let new = listing.lines().filter(|line| !written.lines().any(|other| other == *line));
    let difference: Vec<String> =
        gone.map(|line| format!("- {line}")).chain(new.map(|line| format!("+ {line}"))).collect();
    assert!(
        listing == written,
        "the public interface changed. If it is meant to, write it down with \
         `UPDATE_PUBLIC_API=1 cargo test -p kubefoundry --test it public_api` and say so in CHANGELOG.md:\n{}",
        difference.join("\n")
    );
}

#[test]
fn the_public_interface_is_small() {
    let workspace = Workspace::read();
    let face = public_items(&workspace);
    let types: Vec<&str> = face.iter().filter(|shown| is_type(shown.item)).map(|shown| shown.name.as_str()).collect();
    assert!((30..=MAX_TYPES).contains(&types.len()), "{} public types: {types:#?}", types.len());
}

#[test]
fn every_public_type_has_an_example() {
    let workspace = Workspace::read();
    for shown in public_items(&workspace).iter().filter(|shown| is_type(shown.item)) {
        let example = shown.documentation.split("```").nth(1).unwrap_or_default();
        assert!(example.contains("assert"), "{} has no example that checks anything", shown.name);
        assert!(!shown.documentation.contains("```ignore") && !shown.documentation.contains("```no_run"));
    }
}

#[test]
fn results_and_enums_are_open_to_additions() {
    let workspace = Workspace::read();
    let face = public_items(&workspace);
    for shown in &face {
        let has_private_fields = match shown.item {
            Item::Struct(item) => item.fields.iter().any(|field| !is_public(&field.vis)),
            Item::Enum(_) => false,
            _ => continue,
        };
        let is_open = has_private_fields || has(attributes(shown.item), "non_exhaustive");
        let is_exception = EXHAUSTIVE.iter().any(|(name, _)| *name == shown.name);
        assert!(is_open || is_exception, "{} is neither #[non_exhaustive] nor among EXHAUSTIVE", shown.name);
        assert!(!(is_open && is_exception), "{} is among EXHAUSTIVE, and open to additions", shown.name);
    }
    for (name, _) in EXHAUSTIVE {
        assert!(face.iter().any(|shown| shown.name == *name), "EXHAUSTIVE has {name}, which is not public");
    }
}

/// The listing contains public fields, variants and methods, but no private items.
#[test]
fn the_listing_has_public_items_only() {
    let module: syn::File = syn::parse_quote! {
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct Report<'r> { pub name: &'r str, secret: u8 }
        impl Report<'_> {
            pub fn read(&self, from: Option<Vec<u8>>) -> Result<(), String> { Ok(()) }
            fn hidden(&self) {}
        }
        impl std::fmt::Display for Report<'_> {}
    };
    let modules = BTreeMap::from([(Vec::new(), module.items)]);
    let workspace = Workspace { crates: BTreeMap::from([("kubefoundry".to_owned(), Sources { modules })]) };
    let mut listing = String::new();
    for shown in public_items(&workspace) {
        write_signature(&workspace, &shown, &mut listing);
    }
    assert_eq!(
        listing,
        "non_exhaustive struct Report<'r>\n    name: &'r str\n    …\n    fn read(&self, from: Option<Vec<u8>>) -> \
         Result<(), String>\n    impl Clone\n    impl Debug\n    impl std::fmt::Display\n"
    );
}
