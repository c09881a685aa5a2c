//! The reports about what is in a cluster: `status` and `drift`.

use kubefoundry_kubernetes::wire::{ConditionStatus, Word as _};
use kubefoundry_model::wire::Phase;
use serde_json::{Value, json};

use super::{flag, list, number, object as of, reference, text};

/// A ModelDeployment and the object that runs it.
pub(super) fn status() -> Value {
    let phases: Vec<&str> = Phase::WORDS.iter().map(|(word, _)| *word).collect();
    let unrecognized = of(
        "A word that is not known.",
        vec![("path", text("The field, such as `status.state`.")), ("value", json!({"description": "Its value."}))],
    );
    let reported = of(
        "What the ModelDeployment says of itself.",
        vec![("phase?", text("Its phase, in its word.")), ("message?", text("Its message."))],
    );
    let last_write = of(
        "When the status was written last.",
        vec![
            ("time", text("The time, as RFC 3339.")),
            ("from", words("What tells it.", &["managedFields", "status", "creation"])),
        ],
    );
    of(
        "A ModelDeployment and the provider object that runs it; or one of them, when the other is not there.",
        vec![
            ("deployment?", reference("The ModelDeployment; also one that only the object names.")),
            ("deploymentInDump", flag("Whether the dump has the ModelDeployment.")),
            ("resource?", reference("The provider object.")),
            ("provider?", text("Its provider.")),
            (
                "joinedBy?",
                words("How the two were found to belong together.", &["annotation", "ownerReference", "name"]),
            ),
            ("phase?", words("Where it is in its life; absent when what the object says is not known.", &phases)),
            ("message", text("What the provider says about it.")),
            ("replicas?", replicas()),
            ("endpoint?", endpoint()),
            ("conditions", list("The unified conditions.", &condition())),
            ("providerConditions", list("The provider's own conditions.", &condition())),
            ("parts", list("What it consists of, where the provider says so.", &part())),
            ("generation?", number("The generation of the object's specification.", 0)),
            ("observedGeneration?", number("The generation that the controller saw last.", 0)),
            ("unrecognized", list("Words that are not known.", &unrecognized)),
            ("reported?", reported),
            ("lastWrite?", last_write),
            ("stale?", flag("With `--now`: whether the status is stale; absent where nothing tells.")),
            ("notes", list("What else is worth knowing.", &json!({"type": "string"}))),
        ],
    )
}

/// A rendered object and how it compares with the live one.
pub(super) fn object() -> Value {
    let results = ["same", "differs", "missing", "extra", "terminating", "not-comparable"];
    let writer = of(
        "Somebody who wrote the field.",
        vec![
            ("manager", text("The field manager.")),
            ("operation", text("`Apply` or `Update`.")),
            ("subresource?", text("The subresource that it wrote through.")),
            ("time?", text("When, as RFC 3339.")),
        ],
    );
    let field = of(
        "A field that differs.",
        vec![
            ("path", text("The field.")),
            ("within?", text("The field inside of it, when it is text that holds YAML.")),
            ("expected?", json!({"description": "What is rendered; absent when nothing is."})),
            ("found?", json!({"description": "What is there; absent when nothing is."})),
            ("managers", list("Who wrote what is there, as managed fields say.", &writer)),
        ],
    );
    of(
        "An object and how it compares.",
        vec![
            ("object", reference("The object.")),
            ("deployment?", text("The ModelDeployment that its ownership annotation names.")),
            ("result", words("How it compares.", &results)),
            ("message?", text("Why, where the result alone does not say it.")),
            ("fields", list("The fields that differ.", &field)),
        ],
    )
}

fn words(description: &str, words: &[&str]) -> Value {
    json!({"description": description, "type": "string", "enum": words})
}

fn replicas() -> Value {
    of(
        "Replicas that serve; a number that the provider does not say is absent.",
        vec![
            ("desired?", number("How many are wanted.", 0)),
            ("ready?", number("How many are ready.", 0)),
            ("available?", number("How many are available.", 0)),
        ],
    )
}

fn endpoint() -> Value {
    of(
        "Where the model answers once it runs.",
        vec![("service", text("The Service's name.")), ("port", number("The Service's port.", 1))],
    )
}

fn condition() -> Value {
    let statuses: Vec<&str> = ConditionStatus::WORDS.iter().map(|(word, _)| *word).collect();
    of(
        "A condition.",
        vec![
            ("type", text("Its type.")),
            ("status", words("Whether it holds.", &statuses)),
            ("reason?", text("Why, as one word.")),
            ("message?", text("Why, for people.")),
            ("lastTransitionTime?", text("When `status` changed last, as RFC 3339.")),
            ("observedGeneration?", number("The generation that it is about.", 0)),
        ],
    )
}

fn part() -> Value {
    of(
        "A part of what runs.",
        vec![
            ("role", text("What it is to the whole.")),
            ("name", text("Its name.")),
            ("state?", text("Its state, in the provider's word.")),
            ("message?", text("What the provider says about it.")),
            ("replicas?", replicas()),
        ],
    )
}
