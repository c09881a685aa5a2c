//! The schema of the report of `plan`.

use kubefoundry_analysis::plan::ChangeClass;
use serde_json::{Value, json};

use super::{environment, finding, flag, list, number, object, reference, text, words};

pub(super) fn plan() -> Vec<(&'static str, Value)> {
    let class_names: Vec<&str> = ChangeClass::ALL.into_iter().map(ChangeClass::as_str).collect();
    let class = |description: &str| words(description, &class_names);
    let any = |description: &str| json!({"description": description});
    let memory = object(
        "The nominal bytes of memory of these GPUs; absent unless all of them are known.",
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
