//! `kubefoundry images`: every container image that the output uses, to mirror or to scan.

use std::collections::BTreeSet;

use kubefoundry::Thoroughness;
use serde_json::{Map, Value, json};

use super::{CommandError, Run};
use crate::args::{FailOn, ImagesArgs, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

/// Fields whose keys are a user's words and not fields of the object.
static FREE_KEYS: &[&str] = &["annotations", "data", "labels", "matchLabels", "nodeSelector", "stringData"];

pub(super) fn run(args: &ImagesArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let run: Run = Run::new(&args.input, Map::new(), Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    let mut images = BTreeSet::new();
    for output in &run.compilation.outputs {
        collect(&output.object, &mut images);
    }
    let report = match args.output {
        TextFormat::Text => images.iter().flat_map(|image| [image, "\n"]).collect(),
        TextFormat::Json => format!("{:#}\n", json!({"version": 1, "images": images})),
    };
    console::print([&report])?;
    Ok(ExitStatus::Success)
}

/// Adds the value of every field `image` that is a string: all targets call a container's image so.
fn collect<'v>(value: &'v Value, images: &mut BTreeSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, images)),
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !FREE_KEYS.contains(&key.as_str())) {
                match value {
                    Value::String(image) if key == "image" => {
                        images.insert(image);
                    }
                    nested => collect(nested, images),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A label that happens to be called `image` names no image.
    #[test]
    fn only_fields_count() {
        let object = json!({
            "metadata": {"labels": {"image": "blue"}},
            "spec": {
                "template": {"containers": [{"image": "b"}, {"image": "a"}], "initContainers": [{"image": "a"}]},
                "components": [{"extraPodSpec": {"mainContainer": {"image": "c"}, "nodeSelector": {"image": "x"}}}],
                "image": {"reference": "not a string"},
            },
        });
        let mut images = BTreeSet::new();
        collect(&object, &mut images);
        assert_eq!(images.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
