//! Schemas of the reports of `import` and `migrate`.

use serde_json::{Value, json};

use super::{list, number, object, reference, text};

/// Returns the schema of an arbitrary Kubernetes object.
fn manifest(description: &str) -> Value {
    json!({"description": description, "type": "object"})
}

/// Returns the schema of an object that `import` refused.
pub(super) fn refused() -> Value {
    object(
        "An object that was not imported.",
        vec![("object", reference("The object.")), ("reason", text("Why it was not imported."))],
    )
}

/// Returns the schema of one entry of `import`.
pub(super) fn imported() -> Value {
    let residue = object(
        "A field that differs between the imported object and the rendering of the ModelDeployment.",
        vec![
            ("object", reference("The object that has the field.")),
            ("path", text("The field; empty if the object as a whole differs.")),
            ("given?", json!({"description": "The imported value; absent if only the rendering has the field."})),
            (
                "rendered?",
                json!({"description": "The rendered value; absent if the rendering does not have the field."}),
            ),
        ],
    );
    object(
        "An imported object and the ModelDeployment that renders it.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("document", number("The position of the document in the file, from 0.", 0)),
            ("object", reference("The object.")),
            ("parts", list("Further objects that the ModelDeployment renders.", &reference("An object."))),
            ("modelDeployment", manifest("The ModelDeployment.")),
            ("residue", list("The differences between the imported objects and the rendering.", &residue)),
        ],
    )
}

/// Returns the schema of one entry of `migrate --to`.
pub(super) fn moved() -> Value {
    let step = object(
        "A step.",
        vec![("title", text("The step, in a few words.")), ("notes", list("Remarks.", &text("A sentence or two.")))],
    );
    object(
        "A ModelDeployment and its replacement.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("document", number("The position of the document in the file, from 0.", 0)),
            ("object", reference("The current ModelDeployment.")),
            ("from", text("The current provider.")),
            ("to", text("The new provider.")),
            (
                "capabilitiesLost",
                list("Engines and modes that only the current provider supports.", &text("An engine in a mode.")),
            ),
            ("losses", list("Fields that lose or change their effect.", &text("The field and the reason."))),
            ("modelDeployment", manifest("The replacement.")),
            ("manifests", list("The objects that the replacement renders.", &manifest("An object."))),
            ("plan", list("The steps, in order.", &step)),
        ],
    )
}

/// Returns the schema of one entry of `migrate --to-group`.
pub(super) fn regrouped() -> Value {
    object(
        "A file whose objects move to the other API group.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("objects", list("The moved objects, with their old API group.", &reference("An object."))),
            ("text", text("The new text of the file.")),
        ],
    )
}
