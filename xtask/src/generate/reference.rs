//! `docs/reference/`: a page for each kind, written from the declarations of its fields.

use std::fmt::Write as _;

use kubefoundry_compiler::field_reference::{DocumentedKind, KINDS, describe_constraints, nested_object, type_name};
use kubefoundry_kubernetes::wire::{ObjectShape, Shape};

use super::Generated;
use crate::Failure;

const HEAD: &str = "<!-- Written by `cargo xtask generate`; do not edit. -->\n\n";

pub(super) fn generate() -> Result<Vec<Generated>, Failure> {
    let mut index = format!(
        "{HEAD}# Fields\n\nWhat each field is, from its declaration. `kubefoundry explain spec.engine.type` prints the same \
         for one field.\n\n"
    );
    let mut files = Vec::new();
    for kind in KINDS {
        let name = kind.name.to_lowercase();
        let _ = writeln!(index, "- [{}]({name}.md): {}", kind.name, (kind.versions)().join(", "));
        files.push(Generated { path: format!("docs/reference/{name}.md").into(), text: page(kind)? });
    }
    files.push(Generated { path: "docs/reference/README.md".into(), text: index });
    Ok(files)
}

/// The page of a kind: a section for each object in it, in the order in which the objects are first named.
fn page(kind: &DocumentedKind) -> Result<String, Failure> {
    let root = kind.object().ok_or_else(|| Failure::Broken(format!("{} is no object", kind.name)))?;
    let mut text = format!("{HEAD}# {}\n\n`apiVersion`: {}\n", kind.name, (kind.versions)().join(", "));
    let mut sections: Vec<(&ObjectShape, String)> = vec![(root, String::new())];
    let mut next = 0;
    while let Some((object, path)) = sections.get(next).cloned() {
        if next > 0 {
            let _ = write!(text, "\n## {}\n", object.name);
        }
        let _ = write!(text, "\n{}\n\n| field | type | value | |\n|---|---|---|---|\n", line(object.doc));
        for field in object.fields {
            let shape = field.full_shape();
            let at = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
            let mut values = describe_constraints(field);
            let versions = kind.versions_with(&at);
            if versions.len() < (kind.versions)().len() {
                values.push(format!("only in {}", versions.join(", ")));
            }
            if let Some(inner) = nested_object(&shape)
                && sections.iter().all(|(known, _)| known.name != inner.name)
            {
                sections.push((inner, at));
            }
            let mut doc = line(field.doc);
            if let Shape::Words(words) = shape {
                for (word, meaning) in words.words {
                    let _ = write!(doc, "<br>`{word}`: {}", line(meaning));
                }
            }
            let _ = writeln!(text, "| `{}` | {} | {} | {doc} |", field.key, linked(&shape), values.join("; "));
        }
        next += 1;
    }
    Ok(text)
}

/// The type, with a link to the section of the object in it.
fn linked(shape: &Shape) -> String {
    let name = type_name(shape);
    match nested_object(shape) {
        Some(object) => name.replace(object.name, &format!("[{}](#{})", object.name, object.name.to_lowercase())),
        None => name,
    }
}

/// Documentation in one cell of a table.
fn line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
