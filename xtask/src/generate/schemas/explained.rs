//! What `explain --trace`, `--rules` and `--why-not` print as JSON.

use serde_json::{Value, json};

use super::reports::{candidate, finding, flag, list, number, object, of, reference, text, version};

/// Every report with the name of its file.
pub(super) fn all() -> Vec<(String, Value)> {
    vec![
        (
            "traces".to_owned(),
            of(
                "Traces",
                "What `kubefoundry explain --trace --output json` prints.",
                vec![
                    version(),
                    ("traces", list("One for each ModelDeployment, in the order of the input.", &trace())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "rule-analysis".to_owned(),
            of(
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
            of(
                "WhyNot",
                "What `kubefoundry explain --why-not PROVIDER --output json` prints.",
                vec![
                    version(),
                    ("answers", list("One for each ModelDeployment, in the order of the input.", &answer())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
    ]
}

/// Where an object of the input stands.
fn input_place() -> Vec<(&'static str, Value)> {
    vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("Which document of the file, from 0.", 0)),
        ("line", number("The line of its name, from 1.", 1)),
        ("column", number("The column of its name, from 1.", 1)),
    ]
}

fn origin() -> Value {
    json!({"description": "Where it came from.", "type": "string", "enum": ["written", "defaulted", "derived"]})
}

/// What a field does, or an option.
fn field_trace() -> Value {
    let tried = object(
        "An edit.",
        vec![
            ("path", text("The field.")),
            ("value?", text("Its other value, as JSON text; absent when it was taken out.")),
        ],
    );
    let reached = object(
        "A place of the output.",
        vec![
            ("object", reference("The object.")),
            ("path", text("The field; empty for the object as a whole.")),
            ("inside?", text("The field inside the text that the field holds, when that is YAML or JSON.")),
            ("value?", text("What is there, as JSON text.")),
            ("added", flag("Whether it is only there with another value.")),
        ],
    );
    let rule = object(
        "A selection rule.",
        vec![("provider", text("Whose.")), ("rule", number("Which of its rules, from 1.", 1))],
    );
    let description = "A field of the input, or an option.";
    let fates = ["rendered", "selects", "reported", "checked", "own", "empty", "nothing"];
    object(
        description,
        vec![
            ("path", text("The field; of an option its place in the Render options.")),
            ("option", flag("Whether it is an option.")),
            ("value", text("Its value, as JSON text.")),
            ("origin", origin()),
            ("fate", json!({"description": "What becomes of it.", "type": "string", "enum": fates})),
            ("tried?", list("The edits with which the output moved.", &tried)),
            ("reaches?", list("The places of the output that moved.", &reached)),
            ("selects?", list("Providers that other values of it select.", &text("A provider."))),
            ("readBy?", list("Selection rules that read it.", &rule)),
            ("codes?", list("Codes of findings that name it, or that refuse its other values.", &text("A code."))),
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
            ("value", text("Its value, as JSON text.")),
            ("from", list("The fields and options that move it; none for what is always written.", &text("A field."))),
        ],
    );
    let mut fields = input_place();
    fields.extend([
        ("object", reference("The deployment.")),
        ("provider?", text("The provider that was chosen; absent when there is none.")),
        ("reason?", text("Why it was chosen.")),
        (
            "fields",
            list(
                "Every field that was written, every default, and every option that has a part in the output.",
                &field_trace(),
            ),
        ),
        ("untried", number("How many fields were not tried, for there are too many.", 0)),
        ("outputs", list("Every field of the output.", &output)),
    ]);
    object("Where the fields of a deployment go, and where its output comes from.", fields)
}

fn analysis() -> Value {
    let rule = |description: &str| {
        object(
            description,
            vec![
                ("provider", text("Whose.")),
                ("rule", number("Which of its rules, from 1.", 1)),
                ("priority", number("Its priority.", 0)),
                ("condition", text("Its CEL expression.")),
            ],
        )
    };
    let provider = object(
        "A provider, and how often it wins.",
        vec![
            ("provider", text("Its name.")),
            ("rules", number("How many rules it has.", 0)),
            ("open", number("Deployments that it can run, by its own account.", 0)),
            ("wins", number("Deployments that it is selected for.", 0)),
        ],
    );
    let witness = object(
        "A deployment that shows it, and what is selected for it.",
        vec![
            ("document", json!({"description": "The whole document.", "type": "object"})),
            ("selects?", text("The provider that is selected; absent when there is none.")),
            ("reason?", text("Why.")),
        ],
    );
    let kinds = ["dead", "unreachable", "shadowed", "tied", "fails", "named-only"];
    let flaw = object(
        "Something that is wrong with a rule or a provider.",
        vec![
            ("kind", json!({"description": "What.", "type": "string", "enum": kinds})),
            ("provider", text("Whose.")),
            ("rule?", rule("The rule; absent when it is the provider as a whole.")),
            ("message", text("In words.")),
            ("others?", list("What wins instead, or as well.", &rule("A rule."))),
            ("witness?", witness),
        ],
    );
    let mut analysis = object(
        "What is to be said of the rules; null when configurations cannot be used.",
        vec![
            ("providers", list("Every provider, by name.", &provider)),
            ("judged", number("Deployments that were tried.", 0)),
            ("complete", flag("Whether these are all that the rules can tell apart.")),
            (
                "unvaried",
                list(
                    "Fields that rules read and of which not every value is tried that may matter.",
                    &text("A field."),
                ),
            ),
            ("flaws", list("What is wrong, by provider and rule.", &flaw)),
        ],
    );
    analysis["type"] = json!(["object", "null"]);
    analysis
}

fn answer() -> Value {
    let change = object(
        "One change of the document.",
        vec![("path", text("The field.")), ("value?", text("Its new value, as JSON text; absent when it goes."))],
    );
    let obstacles = ["not-ready", "no-engine", "no-rules", "nothing-found"];
    let mut fields = input_place();
    fields.extend([
        ("object", reference("The deployment.")),
        ("provider", text("The provider that was asked about.")),
        ("selected?", text("The provider that is selected; absent when there is none.")),
        ("reason?", text("Why that one.")),
        ("assessment?", candidate("What was found about the provider that was asked about.")),
        ("byRules?", list("The fewest changes with which its rules select it, tried out.", &change)),
        ("byName?", list("The fewest changes with which it is chosen by its name, tried out.", &change)),
        (
            "obstacle?",
            json!({"description": "What no change gets past, when it cannot be selected by its rules.", "type": "string", "enum": obstacles}),
        ),
    ]);
    object("Why a provider is not selected, and what would make it win.", fields)
}
