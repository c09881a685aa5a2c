//! Schemas of the reports that `--output json` prints. A version of a report may gain fields, so a reader must accept
//! unknown ones.

mod cluster;
mod conversion;
mod decision;
mod fit;
mod plan;

use kubefoundry::registry;
use serde_json::{Value, json};

pub(super) use decision::candidate;

/// Returns the schema of a report, the root of its file.
pub(super) fn report(title: &str, description: &str, fields: Vec<(&str, Value)>) -> Value {
    let mut schema = object(description, fields);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(title);
    schema
}

pub(super) fn version() -> (&'static str, Value) {
    (
        "version",
        json!({"description": "The version of the report. It changes when a field changes its meaning or is removed.", "const": 1}),
    )
}

/// Returns the schema of the name of an environment.
fn environment() -> Value {
    text("The name of its environment, if the input is divided into several.")
}

fn images_by_environment() -> Value {
    json!({
        "description": "The images of each environment, by its name, if the input is divided into several.",
        "type": "object",
        "additionalProperties": list("The images of the environment, sorted.", &json!({"type": "string"})),
    })
}

fn resolved_option() -> Value {
    object(
        "A value with the place that sets it.",
        vec![
            ("path", text("The option, such as `runtimes.dynamo`.")),
            ("value", json!({"description": "The value."})),
            ("file", text("The file.")),
            ("line", number("The line of the value, from 1.", 1)),
            ("column", number("The column of the value, from 1.", 1)),
        ],
    )
}

/// Returns the schema of every report, with the name of its file.
pub(super) fn all() -> Vec<(String, Value)> {
    vec![
        (
            "diagnostics".to_owned(),
            report(
                "Diagnostics",
                "What `kubefoundry lint --output json` prints, and every command with `--diagnostics json`.",
                vec![
                    version(),
                    ("crds?", list("With `--crds`: the schemas against which objects were checked.", &schema())),
                    (
                        "notJudged?",
                        number(
                            "How many parts of the input were not judged; absent if everything was. `--min-severity` does not hide them.",
                            1,
                        ),
                    ),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "decisions".to_owned(),
            report(
                "Decisions",
                "What `kubefoundry explain --output json` prints.",
                vec![
                    version(),
                    ("decisions", list("One entry for each ModelDeployment, in input order.", &decision::decision())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "plan".to_owned(),
            report("Plan", "What `kubefoundry plan --output json` prints.", {
                let mut fields = vec![version()];
                fields.extend(plan::plan());
                fields
            }),
        ),
        (
            "fit".to_owned(),
            report(
                "Fit",
                "What `kubefoundry fit --output json` prints.",
                vec![
                    version(),
                    ("workers", list("Every worker that runs on GPUs, in input order.", &fit::located_worker())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "images".to_owned(),
            report(
                "Images",
                "What `kubefoundry images --output json` prints.",
                vec![
                    version(),
                    ("images", list("Every image that the output uses, sorted.", &json!({"type": "string"}))),
                    ("environments?", images_by_environment()),
                ],
            ),
        ),
        (
            "config".to_owned(),
            report(
                "Config",
                "What `kubefoundry config --output json` prints.",
                vec![
                    version(),
                    (
                        "files",
                        list("The options files that apply, the one that wins last.", &json!({"type": "string"})),
                    ),
                    ("options", list("Every value that applies, by path.", &resolved_option())),
                ],
            ),
        ),
        (
            "import".to_owned(),
            report(
                "Import",
                "What `kubefoundry import --output json` prints.",
                vec![
                    version(),
                    ("imported", list("The imported objects.", &conversion::imported())),
                    ("refused", list("The objects that were not imported.", &conversion::refused())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "migration".to_owned(),
            report(
                "Migration",
                "What `kubefoundry migrate --output json` prints.",
                vec![
                    version(),
                    (
                        "moved?",
                        list(
                            "With `--to`: one entry for each ModelDeployment; empty if there is an error.",
                            &conversion::moved(),
                        ),
                    ),
                    (
                        "files?",
                        list(
                            "With `--to-group`: every file that contains an object to move.",
                            &conversion::regrouped(),
                        ),
                    ),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "status".to_owned(),
            report(
                "Statuses",
                "What `kubefoundry status --output json` prints.",
                vec![
                    version(),
                    ("now?", text("With `--now`: the time against which staleness was judged (RFC 3339).")),
                    ("staleAfterSeconds?", number("With `--now`: the age in seconds from which a status is stale.", 0)),
                    ("statuses", list("One entry for each object, by namespace and name.", &cluster::status())),
                    ("diagnostics", list("Problems of the cluster snapshot.", &finding())),
                ],
            ),
        ),
        (
            "drift".to_owned(),
            report(
                "Drift",
                "What `kubefoundry drift --output json` prints.",
                vec![
                    version(),
                    ("drifted", flag("Whether anything has drifted.")),
                    (
                        "objects",
                        list(
                            "Every rendered object, then the live objects that no input renders; empty if there is an error.",
                            &cluster::object(),
                        ),
                    ),
                    ("diagnostics", list("Every finding in the input and in the cluster snapshot.", &finding())),
                ],
            ),
        ),
    ]
}

/// Returns a schema of a CRD.
fn schema() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    object(
        "A schema of a CRD.",
        vec![
            ("apiVersion", text("`group/version`.")),
            ("kind", text("The kind.")),
            ("fingerprint", text("A hash of the schema, independent of the file that it was read from.")),
        ],
    )
}

/// Returns the schema of an object. A field whose name ends in `?` is optional.
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

/// Returns the fields of a range in a text.
fn range() -> Vec<(&'static str, Value)> {
    vec![
        ("line", number("The first line, from 1.", 1)),
        ("column", number("The first column, in characters from 1.", 1)),
        ("endLine", number("The last line.", 1)),
        ("endColumn", number("The column after the last character.", 1)),
    ]
}

/// Returns the fields of a place in an input file, each with its schema. If `optional`, the names end in `?`.
fn place_fields(optional: bool) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("The position of the document in the file, from 0.", 0)),
        ("path", text("The field, such as `spec.env[0].name`; empty for the whole document.")),
    ];
    fields.extend(range());
    if optional {
        // `finding` adds a dependency: with `file`, all others are required.
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
            ("namespace?", text("The namespace, if the object has one.")),
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
            json!({"description": "The diagnostic code; its page is `docs/codes/<code>.md`.", "type": "string", "examples": codes, "pattern": "^KF[0-9]{4}$"}),
        ),
        ("name", text("The name of the code, such as `unknown-field`.")),
        (
            "severity",
            json!({"description": "The severity; an error prevents all output.", "type": "string", "enum": ["error", "warning", "info"]}),
        ),
        ("message", text("The problem, in one line.")),
    ];
    fields.extend(place_fields(true));
    let related = {
        let mut fields = vec![("message", text("What the place shows."))];
        fields.extend(place_fields(false));
        object("Another place that helps to understand the finding.", fields)
    };
    let edit = {
        let mut fields = range();
        fields.push(("replacement", text("The text that replaces the range.")));
        object("A replacement in the file of the finding.", fields)
    };
    fields.extend([
        ("object?", reference("The object that the finding is about.")),
        ("related?", list("Other places that help to understand the finding.", &related)),
        ("help?", text("How to resolve the finding.")),
        (
            "fix?",
            object(
                "A change that `lint --fix` applies.",
                vec![("title", text("What the fix does.")), ("edits", list("The edits; they do not overlap.", &edit))],
            ),
        ),
    ]);
    let mut finding = object("A finding. It has no place if it is about flags or the input as a whole.", fields);
    let with: Vec<&str> = place_fields(false).iter().map(|(name, _)| *name).collect();
    finding["dependencies"] = json!({"file": with});
    finding
}

fn words(description: &str, words: &[&str]) -> Value {
    json!({"description": description, "type": "string", "enum": words})
}

/// Returns the fields of the place of a deployment's name.
fn place_of_name() -> Vec<(&'static str, Value)> {
    vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("The position of the document in the file, from 0.", 0)),
        ("line", number("The line of its name, from 1.", 1)),
        ("column", number("The column of its name, from 1.", 1)),
    ]
}
