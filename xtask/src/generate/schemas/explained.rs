//! Schemas of the reports of `explain --trace`, `--rules` and `--why-not`.

use serde_json::{Value, json};

use super::reports::{candidate, finding, flag, list, number, object, reference, report, text, version};

/// Returns the schema of every report, with the name of its file.
pub(super) fn all() -> Vec<(String, Value)> {
    vec![
        (
            "traces".to_owned(),
            report(
                "Traces",
                "What `kubefoundry explain --trace --output json` prints.",
                vec![
                    version(),
                    ("traces", list("One entry for each ModelDeployment, in input order.", &trace())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "rule-analysis".to_owned(),
            report(
                "RuleAnalysis",
                "What `kubefoundry explain --rules --output json` prints.",
                vec![
                    version(),
                    ("analysis", analysis()),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "why-not".to_owned(),
            report(
                "WhyNot",
                "What `kubefoundry explain --why-not PROVIDER --output json` prints.",
                vec![
                    version(),
                    ("answers", list("One entry for each ModelDeployment, in input order.", &answer())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
    ]
}

/// Returns the fields of a place in the input.
fn input_place() -> Vec<(&'static str, Value)> {
    vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("The position of the document in the file, from 0.", 0)),
        ("line", number("The line of its name, from 1.", 1)),
        ("column", number("The column of its name, from 1.", 1)),
    ]
}

fn origin() -> Value {
    json!({"description": "Where the value comes from.", "type": "string", "enum": ["written", "defaulted", "derived"]})
}

/// Returns the schema of the trace of one field or option.
fn field_trace() -> Value {
    let tried = object(
        "An edit.",
        vec![
            ("path", text("The field.")),
            ("value?", text("The value that was tried instead, as JSON text; absent if the field was removed.")),
        ],
    );
    let reached = object(
        "A field of the output.",
        vec![
            ("object", reference("The object.")),
            ("path", text("The field; empty for the object as a whole.")),
            ("inside?", text("The field inside the text that the field holds, when that is YAML or JSON.")),
            ("value?", text("The value, as JSON text.")),
            ("added", flag("Whether the output has the field only with another value.")),
        ],
    );
    let rule = object(
        "A selection rule.",
        vec![("provider", text("The provider.")), ("rule", number("The position of the rule, from 1.", 1))],
    );
    let description = "A field of the input, or an option.";
    let fates = ["rendered", "selects", "reported", "checked", "own", "empty", "nothing"];
    object(
        description,
        vec![
            ("path", text("The field, or the path of an option in the Render options.")),
            ("option", flag("Whether this is an option.")),
            ("value", text("The value, as JSON text.")),
            ("origin", origin()),
            ("fate", json!({"description": "How the value is used.", "type": "string", "enum": fates})),
            ("tried?", list("The edits that changed the output.", &tried)),
            ("reaches?", list("The fields of the output that changed.", &reached)),
            ("selects?", list("Providers that are selected with other values.", &text("A provider."))),
            ("readBy?", list("Selection rules that read the field.", &rule)),
            ("codes?", list("Codes of findings about the field or about other values of it.", &text("A code."))),
        ],
    )
}

fn trace() -> Value {
    let output = object(
        "A field of the output.",
        vec![
            ("object", reference("The object.")),
            ("path", text("The field.")),
            ("inside?", text("The field inside the text that the field holds, when that is YAML or JSON.")),
            ("value", text("The value, as JSON text.")),
            (
                "from",
                list("The fields and options on which the value depends; empty for a constant.", &text("A field.")),
            ),
        ],
    );
    let mut fields = input_place();
    fields.extend([
        ("object", reference("The deployment.")),
        ("provider?", text("The selected provider; absent if there is none.")),
        ("reason?", text("The reason of the selection.")),
        (
            "fields",
            list("Every field that is set, every default, and every option that affects the output.", &field_trace()),
        ),
        ("untried", number("The number of fields that were not tried because of the limit.", 0)),
        ("outputs", list("Every field of the output.", &output)),
    ]);
    object("The trace of one deployment: where each field goes, and where each output field comes from.", fields)
}

fn analysis() -> Value {
    let rule = |description: &str| {
        object(
            description,
            vec![
                ("provider", text("The provider.")),
                ("rule", number("The position of the rule, from 1.", 1)),
                ("priority", number("The priority.", 0)),
                ("condition", text("The CEL expression.")),
            ],
        )
    };
    let provider = object(
        "A provider and the number of deployments that it wins.",
        vec![
            ("provider", text("The name.")),
            ("rules", number("The number of its selection rules.", 0)),
            ("open", number("The number of deployments for which the provider is eligible.", 0)),
            ("wins", number("The number of deployments for which the provider is selected.", 0)),
        ],
    );
    let witness = object(
        "A deployment that demonstrates the problem.",
        vec![
            ("document", json!({"description": "The whole document.", "type": "object"})),
            ("selects?", text("The selected provider; absent if there is none.")),
            ("reason?", text("The reason.")),
        ],
    );
    let kinds = ["dead", "unreachable", "shadowed", "tied", "fails", "named-only"];
    let flaw = object(
        "A problem of a rule or a provider.",
        vec![
            ("kind", json!({"description": "The kind of the problem.", "type": "string", "enum": kinds})),
            ("provider", text("The provider.")),
            ("rule?", rule("The rule; absent if the problem is the provider as a whole.")),
            ("message", text("The problem, as text.")),
            ("others?", list("The rules that win instead, or tie.", &rule("A rule."))),
            ("witness?", witness),
        ],
    );
    let mut analysis = object(
        "The result; null if the provider configurations are invalid.",
        vec![
            ("providers", list("Every provider, by name.", &provider)),
            ("judged", number("The number of deployments that were judged.", 0)),
            ("complete", flag("Whether they cover all combinations that the rules can distinguish.")),
            ("unvaried", list("Fields read by rules whose relevant values were not all tried.", &text("A field."))),
            ("flaws", list("The problems, by provider and rule.", &flaw)),
        ],
    );
    analysis["type"] = json!(["object", "null"]);
    analysis
}

fn answer() -> Value {
    let change = object(
        "An edit of the document.",
        vec![
            ("path", text("The field.")),
            ("value?", text("The new value, as JSON text; absent if the field is removed.")),
        ],
    );
    let obstacles = ["not-ready", "no-engine", "no-rules", "nothing-found"];
    let mut fields = input_place();
    fields.extend([
        ("object", reference("The deployment.")),
        ("provider", text("The provider in question.")),
        ("selected?", text("The selected provider; absent if there is none.")),
        ("reason?", text("The reason of the selection.")),
        ("assessment?", candidate("The assessment of the provider in question.")),
        (
            "byRules?",
            list("The smallest set of edits with which its rules select it; the result was verified.", &change),
        ),
        (
            "byName?",
            list("The smallest set of edits with which it can be chosen by name; the result was verified.", &change),
        ),
        ("remarks?", list("Conditions of the edits that the input does not show.", &text("A condition."))),
        (
            "obstacle?",
            json!({"description": "Why no edit lets its rules select it.", "type": "string", "enum": obstacles}),
        ),
    ]);
    object("Why a provider is not selected, and the edits that would select it.", fields)
}
