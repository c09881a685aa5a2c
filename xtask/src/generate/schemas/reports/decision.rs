//! The schema of the decision about one object, which `explain` reports.

use serde_json::{Value, json};

use super::fit;
use super::{environment, flag, list, number, object, place_of_name, reference, text};

/// Returns the schema of a candidate: a provider and the result of its selection rules.
pub(in crate::generate::schemas) fn candidate(description: &str) -> Value {
    let rule = object(
        "A selection rule.",
        vec![
            ("condition", text("The CEL expression.")),
            ("priority", number("The priority.", 0)),
            ("value?", flag("The result; absent if the evaluation failed.")),
        ],
    );
    object(
        description,
        vec![
            ("provider", text("Its name.")),
            ("closedGate?", text("Why the candidate is not eligible; absent if it is.")),
            ("rules", list("The selection rules of the provider.", &rule)),
            ("score?", number("The highest priority among its true rules.", 0)),
        ],
    )
}

pub(super) fn decision() -> Value {
    let candidate = candidate("A candidate.");
    let selection = object(
        "The selected provider of a ModelDeployment, with the reason.",
        vec![
            ("provider?", text("The selected provider; absent if there is none.")),
            ("reason?", text("The reason, as in the `selected-reason` annotation.")),
            ("explicit", flag("Whether the deployment names its provider.")),
            ("candidates", list("All candidates, by name.", &candidate)),
        ],
    );
    let endpoint = object(
        "The Service that answers requests once the model runs.",
        vec![("service", text("The Service's name.")), ("port", number("The Service's port.", 1))],
    );
    let field = object(
        "A field of the deployment.",
        vec![
            ("path", text("The field.")),
            ("value", text("The value, as JSON text.")),
            (
                "origin",
                json!({"description": "Where the value comes from.", "type": "string", "enum": ["written", "defaulted", "derived"]}),
            ),
        ],
    );
    let fact = object(
        "Something that was derived and that no field holds.",
        vec![("name", text("What it is, such as `queue`.")), ("value", text("Its value, in words."))],
    );
    let mut fields = place_of_name();
    fields.extend([
        ("object", reference("The object, usually a ModelDeployment.")),
        ("environment?", environment()),
        ("selection?", selection),
        ("crdVersion?", text("The CRD version of the main object.")),
        (
            "schemaFingerprint?",
            text("With `--crds`: the fingerprint of the schema against which the main object was checked."),
        ),
        ("runtime?", text("The runtime version for which flags are checked and images are chosen.")),
        ("endpoint?", endpoint),
        ("objects", list("The objects that the object became.", &reference("An object."))),
        ("fields", list("Every field of the deployment, defaults included.", &field)),
        (
            "facts?",
            list("What was derived for an AsyncActor: its mode, its queue, the workload that it binds to.", &fact),
        ),
        ("workers?", list("The workers that run on GPUs, with what is known about their memory.", &fit::worker())),
    ]);
    object("The decision for one object of the input, and the objects that it became.", fields)
}
