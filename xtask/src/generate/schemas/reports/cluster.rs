//! Schemas of the reports about a cluster: `status` and `drift`.

use kubefoundry_actor::status::ActorState;
use kubefoundry_analysis::status::DISTRIBUTION_STATES;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::{ConditionStatus, StringEnum as _};
use serde_json::{Value, json};

use super::{flag, list, number, object as object_schema, reference, text};

/// Returns the schema of one entry of `status`.
pub(super) fn status() -> Value {
    let phases: Vec<&str> = Phase::VARIANTS.iter().map(|(word, _)| *word).collect();
    let unrecognized = object_schema(
        "An unknown value of a status field.",
        vec![("path", text("The field, such as `status.state`.")), ("value", json!({"description": "The value."}))],
    );
    let reported = object_schema(
        "The status that the ModelDeployment itself has.",
        vec![("phase?", text("The phase.")), ("message?", text("The message."))],
    );
    let last_write = object_schema(
        "The last write of the status.",
        vec![
            ("time", text("The time (RFC 3339).")),
            ("from", words("The source of the time.", &["managedFields", "status", "creation"])),
        ],
    );
    object_schema(
        "A ModelDeployment and the provider object that runs it, or one of them if the other is missing; a \
         LlamaStackDistribution; or an AsyncActor.",
        vec![
            ("deployment?", reference("The ModelDeployment, which may be known only from the provider object.")),
            ("deploymentInDump", flag("Whether the cluster snapshot contains the ModelDeployment.")),
            ("resource?", reference("The provider object, the LlamaStackDistribution or the AsyncActor.")),
            ("provider?", text("The provider.")),
            (
                "joinedBy?",
                words(
                    "How the provider object was matched to the ModelDeployment.",
                    &["annotation", "ownerReference", "name"],
                ),
            ),
            ("state?", words("The state of a LlamaStackDistribution or an AsyncActor in its own words.", &states())),
            ("phase?", words("The phase; absent if the status of the object has an unknown value.", &phases)),
            ("message", text("The message of the provider.")),
            ("replicas?", replicas()),
            ("endpoint?", endpoint()),
            ("conditions", list("The unified conditions.", &condition())),
            ("providerConditions", list("The provider's own conditions.", &condition())),
            (
                "parts",
                list(
                    "The components that the provider reports; the external providers, the merge, the preflight and the \
                     server of a LlamaStackDistribution; the workload and the failing pods of an AsyncActor.",
                    &part(),
                ),
            ),
            ("generation?", number("The generation of the object.", 0)),
            ("observedGeneration?", number("The generation that the controller observed last.", 0)),
            ("unrecognized", list("Unknown values of status fields.", &unrecognized)),
            ("reported?", reported),
            ("lastWrite?", last_write),
            ("stale?", flag("With `--now`: whether the status is stale; absent if the snapshot does not show it.")),
            ("notes", list("Further remarks.", &json!({"type": "string"}))),
        ],
    )
}

/// Returns the schema of one entry of `drift`.
pub(super) fn object() -> Value {
    let results = ["same", "differs", "missing", "extra", "terminating", "not-comparable"];
    let writer = object_schema(
        "A client that wrote the field.",
        vec![
            ("manager", text("The field manager.")),
            ("operation", text("`Apply` or `Update`.")),
            ("subresource?", text("The subresource that was written.")),
            ("time?", text("The time of the write (RFC 3339).")),
        ],
    );
    let field = object_schema(
        "A field that differs.",
        vec![
            ("path", text("The field.")),
            ("within?", text("The field inside the value, if the value is text that holds YAML.")),
            ("expected?", json!({"description": "The rendered value; absent if there is none."})),
            ("found?", json!({"description": "The live value; absent if there is none."})),
            ("managers", list("The clients that wrote the live value, according to managed fields.", &writer)),
        ],
    );
    object_schema(
        "An object and the result of its comparison.",
        vec![
            ("object", reference("The object.")),
            ("deployment?", text("The ModelDeployment that its ownership annotation names.")),
            ("result", words("The result.", &results)),
            ("message?", text("The reason, if the result needs one.")),
            ("fields", list("The fields that differ.", &field)),
        ],
    )
}

/// Returns the states of actors and distributions, each once.
fn states() -> Vec<&'static str> {
    let actors = ActorState::VARIANTS.iter().map(|(word, _)| *word);
    let mut states: Vec<&str> = Vec::new();
    for state in actors.chain(DISTRIBUTION_STATES.iter().map(|(word, _)| *word)) {
        if !states.contains(&state) {
            states.push(state);
        }
    }
    states
}

fn words(description: &str, words: &[&str]) -> Value {
    json!({"description": description, "type": "string", "enum": words})
}

fn replicas() -> Value {
    object_schema(
        "The replicas; a number that the provider does not report is absent.",
        vec![
            ("desired?", number("Desired replicas.", 0)),
            ("ready?", number("Ready replicas.", 0)),
            ("available?", number("Available replicas.", 0)),
        ],
    )
}

fn endpoint() -> Value {
    object_schema(
        "The Service that answers requests once the model runs.",
        vec![("service", text("The Service's name.")), ("port", number("The Service's port.", 1))],
    )
}

fn condition() -> Value {
    let statuses: Vec<&str> = ConditionStatus::VARIANTS.iter().map(|(word, _)| *word).collect();
    object_schema(
        "A condition.",
        vec![
            ("type", text("The type.")),
            ("status", words("Whether the condition holds.", &statuses)),
            ("reason?", text("The reason, as one word.")),
            ("message?", text("The reason, as text.")),
            ("lastTransitionTime?", text("The time when `status` changed last (RFC 3339).")),
            ("observedGeneration?", number("The generation to which the condition applies.", 0)),
        ],
    )
}

fn part() -> Value {
    object_schema(
        "A component of the deployment.",
        vec![
            ("role", text("The role.")),
            ("name", text("The name.")),
            ("state?", text("The state that the provider reports.")),
            ("message?", text("The message of the provider.")),
            ("replicas?", replicas()),
        ],
    )
}
