//! What `--output json` prints. Fields may be added to a version of a report, so a reader must not refuse unknown ones.

mod live;
mod moving;

use kubefoundry::registry;
use kubefoundry_compiler::plan::ChangeClass;
use serde_json::{Value, json};

/// The schema of a report.
pub(super) fn of(title: &str, description: &str, fields: Vec<(&str, Value)>) -> Value {
    let mut schema = object(description, fields);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(title);
    schema
}

pub(super) fn version() -> (&'static str, Value) {
    ("version", json!({"description": "Changes when a field changes its meaning or goes.", "const": 1}))
}

/// Every report with the name of its file.
pub(super) fn all() -> Vec<(String, Value)> {
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
            "plan".to_owned(),
            of("Plan", "What `kubefoundry plan --output json` prints.", {
                let mut fields = vec![version()];
                fields.extend(plan());
                fields
            }),
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
                        list(
                            "One for each object that was imported; none when there is an error.",
                            &moving::imported(),
                        ),
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
                    (
                        "moved?",
                        list("With --to: one for each ModelDeployment; none when there is an error.", &moving::moved()),
                    ),
                    ("files?", list("With --to-group: every file with an object that moves.", &moving::regrouped())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "status".to_owned(),
            of(
                "Statuses",
                "What `kubefoundry status --output json` prints.",
                vec![
                    version(),
                    ("now?", text("With `--now`: the time by which staleness was judged, as RFC 3339.")),
                    ("staleAfterSeconds?", number("With `--now`: after how long a status is stale.", 0)),
                    ("statuses", list("By namespace and name.", &live::status())),
                    ("diagnostics", list("What is wrong with the dump.", &finding())),
                ],
            ),
        ),
        (
            "drift".to_owned(),
            of(
                "Drift",
                "What `kubefoundry drift --output json` prints.",
                vec![
                    version(),
                    ("drifted", flag("Whether anything has drifted.")),
                    (
                        "objects",
                        list(
                            "Every rendered object, then those that nothing renders; none with an error.",
                            &live::object(),
                        ),
                    ),
                    ("diagnostics", list("Every finding in what was rendered and compared.", &finding())),
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
pub(super) fn object(description: &str, fields: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    let mut schema = json!({"description": description, "type": "object", "required": required, "properties": {}});
    for (name, field) in fields {
        schema["properties"][name.trim_end_matches('?')] = field;
    }
    schema
}

pub(super) fn list(description: &str, items: &Value) -> Value {
    json!({"description": description, "type": "array", "items": items})
}

pub(super) fn text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

pub(super) fn flag(description: &str) -> Value {
    json!({"description": description, "type": "boolean"})
}

pub(super) fn number(description: &str, least: i64) -> Value {
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

pub(super) fn reference(description: &str) -> Value {
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

pub(super) fn finding() -> Value {
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

fn words(description: &str, words: &[&str]) -> Value {
    json!({"description": description, "type": "string", "enum": words})
}

fn plan() -> Vec<(&'static str, Value)> {
    let class_names: Vec<&str> = ChangeClass::ALL.into_iter().map(ChangeClass::as_str).collect();
    let class = |description: &str| words(description, &class_names);
    let any = |description: &str| json!({"description": description});
    let gpus = |description: &str| {
        let fields = vec![
            ("resource", text("The resource name.")),
            ("before", number("How many before.", 0)),
            ("after", number("How many after.", 0)),
        ];
        list(description, &object("GPUs of one type.", fields))
    };
    let changed = ChangeClass::ALL.into_iter().map(|class| (class.as_str(), number(class.meaning(), 0))).collect();
    let summary = object(
        "How many deployments become what, and the GPUs of all.",
        vec![
            ("created", number("Deployments that are new.", 0)),
            ("deleted", number("Deployments that are gone.", 0)),
            ("unchanged", number("Deployments that stay as they are.", 0)),
            ("changed", object("Deployments that change, by the class of their gravest change.", changed)),
            ("gpusBefore", number("GPUs of all types before.", 0)),
            ("gpusAfter", number("GPUs of all types after.", 0)),
            ("gpusAtMost", number("GPUs while second clusters run beside the first.", 0)),
        ],
    );
    let image = object(
        "An image that takes the place of another one in deployments, or that none had before or has any more.",
        vec![
            ("before?", text("The image that goes.")),
            ("after?", text("The image that comes.")),
            ("deployments", number("In how many deployments.", 1)),
        ],
    );
    let rule = object(
        "The rule that won; absent when the deployment names its provider.",
        vec![("condition", text("Its CEL expression.")), ("priority", number("Its priority.", 0))],
    );
    let choice = |description: &str| {
        let fields =
            vec![("provider", text("The provider.")), ("reason", text("Why, for people.")), ("rule?", rule.clone())];
        object(description, fields)
    };
    let selection = object(
        "Of one that is changed: another provider, or another reason for the same one.",
        vec![
            ("before", choice("The choice before.")),
            ("after", choice("The choice after.")),
            ("closedGate?", text("Why the provider from before cannot be chosen any more.")),
        ],
    );
    let output = object(
        "A place in the output that moves.",
        vec![
            ("object", reference("The object.")),
            ("path", text("The field; empty when the object itself comes or goes.")),
            ("before?", any("Its value before; absent when there was none.")),
            ("after?", any("Its value after; absent when there is none.")),
            ("class", class("What becomes of it.")),
            ("source", text("How that is known.")),
            ("together", flag("Whether no change moves it alone: it takes this one and others.")),
        ],
    );
    let change = object(
        "A change that can be made alone, and what it moves.",
        vec![
            (
                "cause",
                words(
                    "What changes: a field, or what the run was made with.",
                    &["field", "options", "providers", "crds", "objects"],
                ),
            ),
            ("path?", text("The field, when it is one.")),
            ("before?", any("Its value before; absent when it was not written.")),
            ("after?", any("Its value after; absent when it is not written any more.")),
            ("class", class("How grave it is: as the gravest of what it moves.")),
            ("outputs", list("What it moves; nothing, when it is in no output.", &output)),
        ],
    );
    let changed_object = object(
        "An object that comes, goes or changes.",
        vec![
            ("object", reference("The object.")),
            ("action", words("What is done to it.", &["created", "deleted", "changed"])),
        ],
    );
    let deployment = object(
        "What becomes of a ModelDeployment.",
        vec![
            ("file?", text("The file, as it was given: of NEW, or of OLD when the deployment is gone.")),
            ("document?", number("Which document of the file, from 0.", 0)),
            ("line?", number("The line of its name, from 1.", 1)),
            ("column?", number("The column of its name, from 1.", 1)),
            ("object", reference("The ModelDeployment.")),
            ("action", words("What is done to it.", &["created", "deleted", "changed", "unchanged"])),
            ("class?", class("Of one that is changed: how grave the gravest of its changes is.")),
            ("provider", text("The provider that runs it; of one that is deleted, the one that ran it.")),
            ("selection?", selection),
            ("gpus", gpus("Its GPUs, where their number changes.")),
            ("changes", list("What changes, the gravest first.", &change)),
            ("objects", list("The objects that come, go or change.", &changed_object)),
            ("diff?", text("With `--diff`: how the objects differ, as unified diffs.")),
        ],
    );
    vec![
        ("applier", words("Who brings the objects into the cluster.", &["apply", "operator"])),
        ("summary", summary),
        ("gpus", gpus("GPUs of all deployments, by type.")),
        ("images", list("Images that change, sorted.", &image)),
        ("deployments", list("Those of NEW in its order, then those that are gone.", &deployment)),
        ("oldDiagnostics", list("Every finding of OLD.", &finding())),
        ("diagnostics", list("Every finding of NEW.", &finding())),
    ]
}

/// A provider that could be chosen, and what was found about it.
pub(super) fn candidate(description: &str) -> Value {
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
            ("crdVersion?", text("The CRD version that is written.")),
            ("schemaFingerprint?", text("With `--crds`: the schema that the main object was checked against.")),
            ("runtime?", text("The runtime version that flags and images are for.")),
            ("endpoint?", endpoint),
            ("objects", list("The objects it became.", &reference("An object."))),
            ("fields", list("Every value of the deployment with its defaults.", &field)),
        ],
    )
}
