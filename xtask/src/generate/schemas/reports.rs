//! Schemas of the reports that `--output json` prints. A version of a report may gain fields, so a reader must accept
//! unknown ones.

mod cluster;
mod conversion;
mod fit;

use kubefoundry::registry;
use kubefoundry_compiler::plan::ChangeClass;
use serde_json::{Value, json};

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
                    ("decisions", list("One entry for each ModelDeployment, in input order.", &decision())),
                    ("diagnostics", list("Every finding, by file, line and code.", &finding())),
                ],
            ),
        ),
        (
            "plan".to_owned(),
            report("Plan", "What `kubefoundry plan --output json` prints.", {
                let mut fields = vec![version()];
                fields.extend(plan());
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

fn plan() -> Vec<(&'static str, Value)> {
    let class_names: Vec<&str> = ChangeClass::ALL.into_iter().map(ChangeClass::as_str).collect();
    let class = |description: &str| words(description, &class_names);
    let any = |description: &str| json!({"description": description});
    let memory = object(
        "The nominal bytes of memory of these GPUs; absent if it is not known of all of them which they are.",
        vec![("before", number("Bytes before the change.", 0)), ("after", number("Bytes after the change.", 0))],
    );
    let sequences = |description: &str| {
        object(description, vec![("min", number("The fewest.", 0)), ("max", number("The most.", 0))])
    };
    let capacity = object(
        "The sequences of the full context for which all replicas have place, if that changes and is known.",
        vec![
            ("before?", sequences("Before the change; absent if it is not known, or if there is none.")),
            ("after?", sequences("After the change; absent if it is not known, or if there is none.")),
        ],
    );
    let gpus = |description: &str| {
        let fields = vec![
            ("resource", text("The resource name.")),
            ("before", number("The number before the change.", 0)),
            ("after", number("The number after the change.", 0)),
            ("memory?", memory.clone()),
        ];
        list(description, &object("GPUs of one type.", fields))
    };
    let changed = ChangeClass::ALL.into_iter().map(|class| (class.as_str(), number(class.meaning(), 0))).collect();
    let summary = object(
        "The number of deployments by action and class, and the GPUs of all deployments.",
        vec![
            ("created", number("Deployments that are new.", 0)),
            ("deleted", number("Deployments that are deleted.", 0)),
            ("unchanged", number("Deployments that do not change.", 0)),
            ("changed", object("Deployments that change, by the class of their most severe change.", changed)),
            ("gpusBefore", number("GPUs of all types before.", 0)),
            ("gpusAfter", number("GPUs of all types after.", 0)),
            (
                "gpusAtMost",
                number(
                    "The maximum number of GPUs during the change, while a second cluster runs beside the first.",
                    0,
                ),
            ),
        ],
    );
    let image = object(
        "An image that replaces another one, is new, or is no longer used.",
        vec![
            ("before?", text("The image that is no longer used.")),
            ("after?", text("The image that is used now.")),
            ("deployments", number("The number of deployments.", 1)),
        ],
    );
    let rule = object(
        "The selection rule that won; absent if the deployment names its provider.",
        vec![("condition", text("The CEL expression.")), ("priority", number("The priority.", 0))],
    );
    let choice = |description: &str| {
        let fields = vec![
            ("provider", text("The provider.")),
            ("reason", text("The reason, as text.")),
            ("rule?", rule.clone()),
        ];
        object(description, fields)
    };
    let selection = object(
        "For a changed deployment: a different provider, or a different reason for the same provider.",
        vec![
            ("before", choice("The choice before.")),
            ("after", choice("The choice after.")),
            ("closedGate?", text("Why the previous provider is no longer eligible.")),
        ],
    );
    let interface = |description: &str| {
        let fields = vec![
            ("before?", text("The old text; absent if it is unknown.")),
            ("after?", text("The new text; absent if it is unknown.")),
            ("class", class("The effect on clients.")),
        ];
        object(description, fields)
    };
    let kept = object(
        "With `--applier operator`: the provider that stays, if a new deployment would get another one.",
        vec![("provider", text("The provider that stays.")), ("preferred", choice("What the rules prefer."))],
    );
    let output = object(
        "A field of the output that changes.",
        vec![
            ("object", reference("The object.")),
            ("path", text("The field; empty if the object as a whole is created or deleted.")),
            ("before?", any("The old value; absent if there was none.")),
            ("after?", any("The new value; absent if there is none.")),
            ("class", class("The effect of the change.")),
            ("source", text("The upstream source for this effect.")),
            ("together", flag("Whether this change has the effect only together with other changes.")),
        ],
    );
    let change = object(
        "A single change of the input, with the output that it changes.",
        vec![
            (
                "cause",
                words(
                    "What changes: a field, another input of the run, or what a kustomization makes of it that was not built.",
                    &["field", "options", "providers", "crds", "objects", "unbuilt"],
                ),
            ),
            ("path?", text("The field, if a field changes.")),
            ("kustomization?", text("The directory of the kustomization that was not built.")),
            ("before?", any("The old value; absent if the field was not set.")),
            ("after?", any("The new value; absent if the field is no longer set.")),
            ("class", class("The class of the most severe effect.")),
            ("outputs", list("The output that the change affects; empty if it affects none.", &output)),
        ],
    );
    let changed_object = object(
        "An object that is created, deleted or changed.",
        vec![
            ("object", reference("The object.")),
            ("action", words("What happens to the object.", &["created", "deleted", "changed"])),
        ],
    );
    let deployment = object(
        "The effect of the change on one ModelDeployment.",
        vec![
            ("file?", text("The file, as it was given: in NEW, or in OLD if the deployment is deleted.")),
            ("document?", number("The position of the document in the file, from 0.", 0)),
            ("line?", number("The line of its name, from 1.", 1)),
            ("column?", number("The column of its name, from 1.", 1)),
            ("object", reference("The ModelDeployment.")),
            ("environment?", environment()),
            ("action", words("What happens to the deployment.", &["created", "deleted", "changed", "unchanged"])),
            ("class?", class("For a changed deployment: the class of its most severe change.")),
            ("provider", text("The provider that runs the deployment, or that ran a deleted one.")),
            ("selection?", selection),
            ("endpoint?", interface("The Service and port that clients call, if they change.")),
            ("modelName?", interface("The name of the model in requests, if it changes.")),
            ("kept?", kept),
            ("gpus", gpus("The GPUs of the deployment, by type, if their number or memory changes.")),
            ("capacity?", capacity),
            ("changes", list("The changes, the most severe first.", &change)),
            ("objects", list("The objects that are created, deleted or changed.", &changed_object)),
            ("diff?", text("With `--diff`: unified diffs of the objects.")),
        ],
    );
    let removed_flag = object(
        "A flag that the newer runtime does not have.",
        vec![
            ("name", text("The flag without dashes.")),
            ("replacement?", text("The flags of the same meaning, as a command line writes them.")),
        ],
    );
    let removed_flags = object(
        "The flags of one engine that the newer runtime does not have.",
        vec![("engine", text("The engine.")), ("flags", list("The flags, sorted.", &removed_flag))],
    );
    let runtime = object(
        "A provider whose runtime changes.",
        vec![
            ("provider", text("The provider.")),
            ("before", text("The old version.")),
            ("after", text("The new version.")),
            ("deployments", number("How many deployments change to it.", 1)),
            (
                "skipsMinorRelease",
                flag("Whether minor releases are skipped although upstream supports upgrades to the next one only."),
            ),
            ("removedFlags", list("The flags that are gone, by engine of these deployments.", &removed_flags)),
        ],
    );
    let mut new_finding = finding();
    new_finding["properties"]["new"] = flag("Whether OLD does not have the finding, on whatever line.");
    if let Some(required) = new_finding["required"].as_array_mut() {
        required.push(json!("new"));
    }
    vec![
        ("applier", words("The client that applies the objects to the cluster.", &["apply", "operator"])),
        ("summary", summary),
        ("gpus", gpus("GPUs of all deployments, by type.")),
        ("runtimes", list("Runtimes that change, by provider and version.", &runtime)),
        ("images", list("Images that change, sorted.", &image)),
        ("deployments", list("The deployments of NEW in input order, then the deleted ones.", &deployment)),
        ("oldDiagnostics", list("Every finding of OLD.", &finding())),
        ("diagnostics", list("Every finding of NEW.", &new_finding)),
    ]
}

/// Returns the schema of a candidate: a provider and the result of its selection rules.
pub(super) fn candidate(description: &str) -> Value {
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

/// Returns the fields of the place of a deployment's name.
fn place_of_name() -> Vec<(&'static str, Value)> {
    vec![
        ("file", text("The file, as it was given; `-` is standard input.")),
        ("document", number("The position of the document in the file, from 0.", 0)),
        ("line", number("The line of its name, from 1.", 1)),
        ("column", number("The column of its name, from 1.", 1)),
    ]
}

fn decision() -> Value {
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
