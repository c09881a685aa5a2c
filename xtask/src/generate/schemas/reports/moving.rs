//! The reports about deployments that come or go elsewhere: `import` and `migrate`.

use serde_json::{Value, json};

use super::{list, number, object, reference, text};

/// Any object of Kubernetes.
fn manifest(description: &str) -> Value {
    json!({"description": description, "type": "object"})
}

/// An object, and the ModelDeployment that becomes it.
pub(super) fn imported() -> Value {
    let residue = object(
        "A field that is not as the ModelDeployment renders it.",
        vec![
            ("object", reference("The object that has the field.")),
            ("path", text("The field; empty for an object as a whole.")),
            ("given?", json!({"description": "What it is; absent when only the rendering has it."})),
            (
                "rendered?",
                json!({"description": "What it is rendered as; absent when the rendering does not have it."}),
            ),
        ],
    );
    object(
        "An object, and the ModelDeployment that becomes it.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("document", number("Which document of the file, from 0.", 0)),
            ("object", reference("The object.")),
            ("parts", list("Objects beside it that the ModelDeployment becomes, too.", &reference("An object."))),
            ("modelDeployment", manifest("The ModelDeployment.")),
            ("residue", list("What the ModelDeployment does not say, or says in addition.", &residue)),
        ],
    )
}

/// A ModelDeployment, and the one that takes its place.
pub(super) fn moved() -> Value {
    let step = object(
        "A step.",
        vec![
            ("title", text("What is done, in a few words.")),
            ("notes", list("What there is to know.", &text("A sentence or two."))),
        ],
    );
    object(
        "A ModelDeployment, and the one that takes its place.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("document", number("Which document of the file, from 0.", 0)),
            ("object", reference("What is there.")),
            ("from", text("The provider that it leaves.")),
            ("to", text("The provider that it goes to.")),
            (
                "capabilitiesLost",
                list("What the old provider runs and the new one does not.", &text("An engine in a mode.")),
            ),
            ("losses", list("Fields that do not have their effect, or have another.", &text("What, and why."))),
            ("modelDeployment", manifest("What takes its place.")),
            ("manifests", list("What that becomes.", &manifest("An object."))),
            ("plan", list("The steps, in order.", &step)),
        ],
    )
}

/// A file with its objects in the other group.
pub(super) fn regrouped() -> Value {
    object(
        "A file with its objects in the other group.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("objects", list("The objects that were moved, as they were.", &reference("An object."))),
            ("text", text("The file as it is to be.")),
        ],
    )
}
