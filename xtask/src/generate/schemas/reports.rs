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
        (
            "import".to_owned(),
            of(
                "Import",
                "What `kubefoundry import --output json` prints.",
                vec![
                    version(),
                    (
                        "imported",
                        list("One for each object that was imported; none when there is an error.", &imported()),
                    ),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "migration".to_owned(),
            of(
                "Migration",
                "What `kubefoundry migrate --output json` prints.",
                vec![
                    version(),
                    ("moved?", list("With --to: one for each ModelDeployment; none when there is an error.", &moved())),
                    ("files?", list("With --to-group: every file with an object that moves.", &regrouped())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
    ]
}

/// Any object of Kubernetes.
fn manifest(description: &str) -> Value {
    json!({"description": description, "type": "object"})
}

fn imported() -> Value {
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

fn moved() -> Value {
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

fn regrouped() -> Value {
    object(
        "A file with its objects in the other group.",
        vec![
            ("file", text("The file, as it was given; `-` is standard input.")),
            ("objects", list("The objects that were moved, as they were.", &reference("An object."))),
            ("text", text("The file as it is to be.")),
        ],
    )
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

fn decision() -> Value {
    let rule = object(
        "A selection rule.",
        vec![
            ("condition", text("Its CEL expression.")),
            ("priority", number("Its priority.", 0)),
            ("value?", flag("What it came to; absent when its evaluation failed.")),
        ],
    );
    let candidate = object(
        "A provider that could be chosen.",
        vec![
            ("provider", text("Its name.")),
            ("closedGate?", text("Why it cannot run the deployment; absent when it can.")),
            ("rules", list("Its rules.", &rule)),
            ("score?", number("The highest priority among its true rules.", 0)),
        ],
    );
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
