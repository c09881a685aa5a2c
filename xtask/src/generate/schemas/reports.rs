//! What `--output json` prints. Fields may be added to a version of a report, so a reader must not refuse unknown ones.

use kubefoundry::registry;
use serde_json::{Value, json};

/// Every report with the name of its file.
pub(super) fn all() -> Vec<(String, Value)> {
    let of = |title: &str, description: &str, fields: Vec<(&str, Value)>| {
        let mut schema = object(description, fields);
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema["title"] = json!(title);
        schema
    };
    let version =
        || ("version", json!({"description": "Changes when a field changes its meaning or goes.", "const": 1}));
    vec![
        (
            "diagnostics".to_owned(),
            of(
                "Diagnostics",
                "What `kubefoundry lint --output json` prints, and every command with `--diagnostics json`.",
                vec![
                    version(),
                    ("crds?", list("With `--crds`: the schemas that objects were checked against.", &schema())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "decisions".to_owned(),
            of(
                "Decisions",
                "What `kubefoundry explain --output json` prints.",
                vec![
                    version(),
                    ("decisions", list("One for each ModelDeployment, in the order of the input.", &decision())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
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
        (
            "images".to_owned(),
            of(
                "Images",
                "What `kubefoundry images --output json` prints.",
                vec![
                    version(),
                    ("images", list("Every image that the output uses, sorted.", &json!({"type": "string"}))),
                ],
            ),
        ),
    ]
}

/// A schema of a CRD.
fn schema() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    object(
        "A schema of a CRD.",
        vec![
            ("apiVersion", text("`group/version`.")),
            ("kind", text("The kind.")),
            ("fingerprint", text("The same for the same schema, whatever file it came in.")),
        ],
    )
}

/// An object with these fields, those without a `?` required.
fn object(description: &str, fields: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    let mut schema = json!({"description": description, "type": "object", "required": required, "properties": {}});
    for (name, field) in fields {
        schema["properties"][name.trim_end_matches('?')] = field;
    }
    schema
}

fn list(description: &str, items: &Value) -> Value {
    json!({"description": description, "type": "array", "items": items})
}

fn text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

fn flag(description: &str) -> Value {
    json!({"description": description, "type": "boolean"})
}

fn number(description: &str, least: i64) -> Value {
    json!({"description": description, "type": "integer", "minimum": least})
}

/// Lines and columns.
fn range() -> Vec<(&'static str, Value)> {
    vec![
        ("line", number("The first line, from 1.", 1)),
        ("column", number("The first column, in characters from 1.", 1)),
        ("endLine", number("The last line.", 1)),
        ("endColumn", number("The column behind the last character.", 1)),
    ]
}

fn place(optional: bool) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("Which document of the file, from 0.", 0)),
        ("path", text("The field, such as `spec.env[0].name`; empty for the whole document.")),
    ];
    fields.extend(range());
    if optional {
        // All of them or none.
        fields = fields.into_iter().map(|(name, schema)| (optional_name(name), schema)).collect();
    }
    fields
}

fn optional_name(name: &'static str) -> &'static str {
    match name {
        "file" => "file?",
        "document" => "document?",
        "path" => "path?",
        "line" => "line?",
        "column" => "column?",
        "endLine" => "endLine?",
        "endColumn" => "endColumn?",
        other => other,
    }
}

fn reference(description: &str) -> Value {
    object(
        description,
        vec![
            ("apiVersion", text("`group/version`.")),
            ("kind", text("The kind.")),
            ("namespace?", text("The namespace, when the object states one.")),
            ("name", text("The name.")),
        ],
    )
}

fn finding() -> Value {
    let mut codes: Vec<&str> = registry::codes().map(|code| code.id).collect();
    codes.sort_unstable();
    let mut fields = vec![
        (
            "code",
            json!({"description": "What is flagged; its page is `docs/codes/<code>.md`.", "type": "string", "examples": codes, "pattern": "^KF[0-9]{4}$"}),
        ),
        ("name", text("The code in words, such as `unknown-field`.")),
        (
            "severity",
            json!({"description": "How much it matters; an error stops the output.", "type": "string", "enum": ["error", "warning", "info"]}),
        ),
        ("message", text("What was found and what is expected, in one line.")),
    ];
    fields.extend(place(true));
    let related = {
        let mut fields = vec![("message", text("What is there."))];
        fields.extend(place(false));
        object("Another place that explains the finding.", fields)
    };
    let edit = {
        let mut fields = range();
        fields.push(("replacement", text("What comes in its place.")));
        object("Text to replace in the finding's file.", fields)
    };
    fields.extend([
        ("object?", reference("The object that the finding is about.")),
        ("related?", list("Other places that explain it.", &related)),
        ("help?", text("What to do.")),
        (
            "fix?",
            object(
                "A change that is right in every case.",
                vec![("title", text("What it does.")), ("edits", list("Its edits; they do not overlap.", &edit))],
            ),
        ),
    ]);
    let mut finding = object("One finding. One about options or the whole input has no place.", fields);
    let with: Vec<&str> = place(false).iter().map(|(name, _)| *name).collect();
    finding["dependencies"] = json!({"file": with});
    finding
}

/// A provider that could be chosen, and what was found about it.
fn candidate(description: &str) -> Value {
    let rule = object(
        "A selection rule.",
        vec![
            ("condition", text("Its CEL expression.")),
            ("priority", number("Its priority.", 0)),
            ("value?", flag("What it came to; absent when its evaluation failed.")),
        ],
    );
    object(
        description,
        vec![
            ("provider", text("Its name.")),
            ("closedGate?", text("Why it cannot run the deployment; absent when it can.")),
            ("rules", list("Its rules.", &rule)),
            ("score?", number("The highest priority among its true rules.", 0)),
        ],
    )
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
            ("unvaried", list("Fields that rules read and that are not tried with other values.", &text("A field."))),
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

fn decision() -> Value {
    let candidate = candidate("A provider that could be chosen.");
    let selection = object(
        "Which provider, and why; of a ModelDeployment.",
        vec![
            ("provider?", text("The provider that was chosen; absent when there is none.")),
            ("reason?", text("Why, for people; the text of the `selected-reason` annotation.")),
            ("explicit", flag("Whether the deployment names its provider.")),
            ("candidates", list("What was found about every candidate, by name.", &candidate)),
        ],
    );
    let endpoint = object(
        "Where the model answers once it runs.",
        vec![("service", text("The Service's name.")), ("port", number("The Service's port.", 1))],
    );
    let field = object(
        "A value of the deployment.",
        vec![
            ("path", text("The field.")),
            ("value", text("The value, as JSON text.")),
            (
                "origin",
                json!({"description": "Where it came from.", "type": "string", "enum": ["written", "defaulted", "derived"]}),
            ),
        ],
    );
    object(
        "What was decided for an object of a kind that is transformed, and what it became.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("document", number("Which document of the file, from 0.", 0)),
            ("line", number("The line of its name, from 1.", 1)),
            ("column", number("The column of its name, from 1.", 1)),
            ("object", reference("The object: a ModelDeployment for the most part.")),
            ("selection?", selection),
            ("target?", text("The CRD version that is written.")),
            ("schemaFingerprint?", text("With `--crds`: the schema that the main object was checked against.")),
            ("runtime?", text("The runtime version that flags and images are for.")),
            ("endpoint?", endpoint),
            ("objects", list("The objects it became.", &reference("An object."))),
            ("fields", list("Every value of the deployment with its defaults.", &field)),
        ],
    )
}
