//! Validation of the distribution, which determines the image.

use crate::options::ImageChoice;
use crate::options::Options;
use crate::{codes, options, wire};
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, one_of, shorten};

/// Returns the image of a known distribution, or the explicit one.
pub(super) fn resolve_image(
    wire: Option<&wire::Distribution>,
    path: &FieldPath,
    options: &Options<'_>,
    check: &mut Checker<'_, '_>,
) -> Option<String> {
    let name = wire.and_then(|wire| non_empty(wire.name.as_deref()));
    let image = wire.and_then(|wire| non_empty(wire.image.as_deref()));
    match (name, image) {
        (Some(_), Some(_)) => {
            let message = "Only one of name or image can be specified, found both in spec.server.distribution";
            check
                .findings
                .report(&codes::UNKNOWN_DISTRIBUTION, &path.join("image"), message)
                .help("remove name to use your own image, or image to use a known distribution");
            None
        }
        (None, None) => {
            if check.is_absent_or_empty(&path.join("name")) && check.is_absent_or_empty(&path.join("image")) {
                let message = "spec.server.distribution has neither name nor image, expected one of the two";
                let known = options.settings.distributions().join(", ");
                check
                    .findings
                    .report(&codes::UNKNOWN_DISTRIBUTION, path, message)
                    .help(format!("set name to a known distribution ({known}), or set image"));
            }
            None
        }
        (None, Some(image)) => Some(options::mirrored_image(options, image)),
        (Some(name), None) => {
            let Some(ImageChoice { image, is_default }) = options.settings.distribution(name) else {
                report_unknown_distribution(name, &path.join("name"), options, check);
                return None;
            };
            if is_default {
                let message = format!(
                    "the image of distribution {name} is not pinned ({image} now); it changes when kubefoundry is \
                     upgraded"
                );
                check
                    .findings
                    .report(&shared::UNPINNED_RUNTIME, &path.join("name"), message)
                    .help(format!("add to kubefoundry.yaml: llamaStack: {{distributions: {{{name}: {image:?}}}}}"));
            }
            Some(options::mirrored_image(options, &image))
        }
    }
}

/// Reports a distribution without a known image, with the closest known name if there is one.
fn report_unknown_distribution(name: &str, path: &FieldPath, options: &Options<'_>, check: &mut Checker<'_, '_>) {
    let known = options.settings.distributions();
    let message = format!("{path} is {:?}, expected {}", shorten(name), one_of(&known));
    let reported = check.findings.report(&codes::UNKNOWN_DISTRIBUTION, path, message);
    match closest(name, known.iter().copied()) {
        Some(meant) => reported.help(format!("did you mean {meant:?}?")),
        None => reported.help(
            "add its image under llamaStack.distributions in the Render options, or set spec.server.distribution.image",
        ),
    };
}
