//! What the checks of the core look like as regular expressions, in what RE2, Rust and ECMAScript have in common.
//! `tests/it/schemas/` holds the expressions against the checks.

use kubefoundry_kubernetes::check::Checked;
use kubefoundry_kubernetes::wire::Syntax;
use kubefoundry_kubernetes::{image, labels, names, quantity};

/// The part of a DNS name between dots, of any length.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/// What stands after the `/` of a label's key.
const NAME: &str = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const SUFFIX: &str = "([KMGTPE]i|[numkMGTPE]|[eE][+-]?0*(1[0-8]|[0-9]))?";

/// One thing that is asked of a text, with the core's words for it.
pub(super) struct Check {
    /// A regular expression that accepts at least what the core accepts.
    pub(super) pattern: String,
    /// The most characters.
    pub(super) most: Option<usize>,
    /// `expected …`.
    pub(super) expected: &'static str,
}

/// What is asked of a text, in the order in which it is asked; each later check means texts that passed the earlier.
pub(super) fn checks(syntax: Syntax) -> Vec<Check> {
    let subdomain = format!("{LABEL}(\\.{LABEL})*");
    let number = "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)";
    let positive = "(0*[1-9][0-9]*(\\.[0-9]*)?|0*\\.0*[1-9][0-9]*)";
    let one = |pattern: String, most, says: Checked| vec![Check { pattern, most, expected: expected(says) }];
    match syntax {
        Syntax::DnsLabel => one("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$".to_owned(), None, names::dns_1123_label("!")),
        Syntax::DnsSubdomain => one(format!("^{subdomain}$"), Some(253), names::dns_1123_subdomain("!")),
        Syntax::Quantity => vec![
            Check {
                pattern: format!("^[+-]?{number}{SUFFIX}$"),
                most: None,
                expected: expected(quantity::positive_quantity("!")),
            },
            Check {
                pattern: format!("^\\+?{positive}{SUFFIX}$"),
                most: None,
                expected: expected(quantity::positive_quantity("0")),
            },
        ],
        Syntax::ExtendedResource => one(format!("^{subdomain}/{NAME}$"), None, labels::extended_resource("!")),
        Syntax::Image => one("^[A-Za-z0-9\\[][A-Za-z0-9._:/@\\[\\]-]*$".to_owned(), None, image::image_reference("!")),
        Syntax::EnvironmentVariable => one("^[ -<>-~]+$".to_owned(), None, names::environment_variable("")),
        Syntax::ConfigKey => {
            one("^([-_a-zA-Z0-9]|\\.[-_a-zA-Z0-9])[-._a-zA-Z0-9]*$".to_owned(), Some(253), names::config_key("!"))
        }
        Syntax::InstanceType => one(format!("^{NAME}$"), None, Err("an instance type such as g5.4xlarge")),
        Syntax::Version => {
            let number = "(0|[1-9][0-9]{0,3})";
            one(format!("^{number}\\.{number}\\.{number}$"), None, Err("MAJOR.MINOR.PATCH such as 1.4.0"))
        }
        Syntax::LabelKey => one(format!("^({subdomain}/)?{NAME}$"), None, labels::label_key("!")),
    }
}

/// What a whole text looks like that may also be empty.
pub(super) fn pattern(syntax: Syntax) -> Option<String> {
    checks(syntax).pop().map(|check| format!("^$|{}", check.pattern))
}

fn expected(says: Checked) -> &'static str {
    says.err().unwrap_or("a value that fits")
}
