//! What the package `kubefoundry` shows is a promise, so a change of it is a change of `public_api.txt`, beside this file.
//!
//! The listing is made from the sources: the items of `src/` that are public, and for each type that is shown from another
//! crate its fields, variants, methods and implementations there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// Public types that a reader can keep in mind.
const MAX_TYPES: usize = 45;

/// Structs and enums that may be built or matched in full by callers, and why.
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

/// The modules of a crate: path to items.
struct Sources {
    modules: BTreeMap<Vec<String>, Vec<Item>>,
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut sources = Self { modules: BTreeMap::new() };
        sources.file(&folder.join("lib.rs"), &[], folder);
        sources
    }

    /// Reads a file; `folder` has the files of the modules inside of it.
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

/// Crates by the names that code has for them; the root package is `kubefoundry`.
struct Workspace {
    crates: BTreeMap<String, Sources>,
}

/// Where an item is declared.
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

    /// The items that a path means, with their place: a type and a function may share a name.
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
                    for (path, known_as) in flat(&used.tree) {
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

    /// The module that a `use` of this module knows by this name, when it is one of another crate.
    fn import(&self, place: &Place, name: &str) -> Option<(String, Vec<String>)> {
        let uses = self.items(place).iter().filter_map(|item| match item {
            Item::Use(used) => Some(flat(&used.tree)),
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

/// The paths of a `use`, each with the name that it gets.
fn flat(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let below = flat(&path.tree).into_iter();
            below.map(|(rest, name)| ([vec![first.clone()], rest].concat(), name)).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Group(group) => group.items.iter().flat_map(flat).collect(),
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

/// Something of the face: under which name it stands there, the item, and its documentation there and at the item.
struct Shown<'w> {
    name: String,
    place: Place,
    item: &'w Item,
    documentation: String,
}

/// Everything public below a module of the root package.
fn shown<'w>(workspace: &'w Workspace, module: &[String], prefix: &str, out: &mut Vec<Shown<'w>>) {
    let place = Place { package: "kubefoundry".to_owned(), module: module.to_vec() };
    for item in workspace.items(&place) {
        match item {
            Item::Mod(inner) if is_public(&inner.vis) => {
                let inner = inner.ident.to_string();
                let path = [module, std::slice::from_ref(&inner)].concat();
                shown(workspace, &path, &format!("{prefix}{inner}::"), out);
            }
            Item::Use(used) if is_public(&used.vis) => {
                for (path, name) in flat(&used.tree) {
                    if name == "*" {
                        // A private module whose items stand in this one.
                        let path = [module, &path[..path.len() - 1]].concat();
                        shown(workspace, &path, prefix, out);
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

/// Code on one line, without the spaces that tokens are printed with.
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

/// What an item promises.
fn promise(workspace: &Workspace, shown: &Shown<'_>, out: &mut String) {
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

/// The methods of a type and the traits that it implements; those are looked for in its own module and below.
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

fn face(workspace: &Workspace) -> Vec<Shown<'_>> {
    let mut face = Vec::new();
    shown(workspace, &[], "", &mut face);
    face.sort_by(|one, other| (&one.name, is_type(one.item)).cmp(&(&other.name, is_type(other.item))));
    face
}

#[test]
fn the_public_interface_is_the_one_that_is_written_down() {
    let workspace = Workspace::read();
    let mut listing = String::new();
    for shown in face(&workspace) {
        promise(&workspace, &shown, &mut listing);
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
    let face = face(&workspace);
    let types: Vec<&str> = face.iter().filter(|shown| is_type(shown.item)).map(|shown| shown.name.as_str()).collect();
    assert!((30..=MAX_TYPES).contains(&types.len()), "{} public types: {types:#?}", types.len());
}

#[test]
fn every_public_type_has_an_example() {
    let workspace = Workspace::read();
    for shown in face(&workspace).iter().filter(|shown| is_type(shown.item)) {
        let example = shown.documentation.split("```").nth(1).unwrap_or_default();
        assert!(example.contains("assert"), "{} has no example that checks anything", shown.name);
        assert!(!shown.documentation.contains("```ignore") && !shown.documentation.contains("```no_run"));
    }
}

#[test]
fn results_and_enums_are_open_to_additions() {
    let workspace = Workspace::read();
    let face = face(&workspace);
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

/// The reader sees what a caller sees: public fields, variants, methods, and none of the rest.
#[test]
fn the_listing_has_what_callers_can_name() {
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
    for shown in face(&workspace) {
        promise(&workspace, &shown, &mut listing);
    }
    assert_eq!(
        listing,
        "non_exhaustive struct Report<'r>\n    name: &'r str\n    …\n    fn read(&self, from: Option<Vec<u8>>) -> \
         Result<(), String>\n    impl Clone\n    impl Debug\n    impl std::fmt::Display\n"
    );
}
