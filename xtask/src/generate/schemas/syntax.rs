//! Regular expressions for the syntax checks of the core, in the common subset of RE2, Rust and ECMAScript.
//! `tests/it/schemas/` compares the expressions with the checks.

use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::Syntax;
use kubefoundry_kubernetes::{image, labels, names, quantity};

/// A DNS label of any length.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/// The name part of a label key, after the `/`.
const NAME: &str = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const SUFFIX: &str = "([KMGTPE]i|[numkMGTPE]|[eE][+-]?0*(1[0-8]|[0-9]))?";

/// A check of a string, with the text of the core's message.
pub(super) struct SyntaxCheck {
    /// A regular expression that accepts at least everything that the core accepts.
    pub(super) pattern: String,
    /// The maximum length in characters.
    pub(super) max_length: Option<usize>,
    /// The text after `expected` in the message.
    pub(super) expected: &'static str,
}

/// Returns the checks for a syntax, in order. A later check applies only to strings that pass the earlier ones.
///
/// The texts of the messages come from the core: each of its checks is called with a string that it refuses.
pub(super) fn checks(syntax: Syntax) -> Vec<SyntaxCheck> {
    let subdomain = format!("{LABEL}(\\.{LABEL})*");
    let number = "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)";
    let positive = "(0*[1-9][0-9]*(\\.[0-9]*)?|0*\\.0*[1-9][0-9]*)";
    let single = |pattern: String, max_length, refusal: SyntaxResult| {
        vec![SyntaxCheck { pattern, max_length, expected: expected(refusal) }]
    };
    match syntax {
        Syntax::DnsLabel => single("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$".to_owned(), None, names::dns_1123_label("!")),
        Syntax::DnsSubdomain => single(format!("^{subdomain}$"), Some(253), names::dns_1123_subdomain("!")),
        Syntax::Quantity => vec![
            SyntaxCheck {
                pattern: format!("^[+-]?{number}{SUFFIX}$"),
                max_length: None,
                expected: expected(quantity::positive_quantity("!")),
            },
            SyntaxCheck {
                pattern: format!("^\\+?{positive}{SUFFIX}$"),
                max_length: None,
                expected: expected(quantity::positive_quantity("0")),
            },
        ],
        Syntax::ExtendedResource => single(format!("^{subdomain}/{NAME}$"), None, labels::extended_resource("!")),
        Syntax::Image => {
            single("^[A-Za-z0-9\\[][A-Za-z0-9._:/@\\[\\]-]*$".to_owned(), None, image::image_reference("!"))
        }
        Syntax::EnvironmentVariable => single("^[ -<>-~]+$".to_owned(), None, names::environment_variable("")),
        Syntax::ConfigKey => {
            single("^([-_a-zA-Z0-9]|\\.[-_a-zA-Z0-9])[-._a-zA-Z0-9]*$".to_owned(), Some(253), names::config_key("!"))
        }
        Syntax::InstanceType => single(format!("^{NAME}$"), None, Err("an instance type such as g5.4xlarge")),
        Syntax::Version => {
            let number = "(0|[1-9][0-9]{0,3})";
            single(format!("^{number}\\.{number}\\.{number}$"), None, Err("MAJOR.MINOR.PATCH such as 1.4.0"))
        }
        Syntax::LabelKey => single(format!("^({subdomain}/)?{NAME}$"), None, labels::label_key("!")),
    }
}

/// Returns a regular expression for a string with this syntax or an empty string.
pub(super) fn pattern(syntax: Syntax) -> Option<String> {
    checks(syntax).pop().map(|check| format!("^$|{}", check.pattern))
}

fn expected(says: SyntaxResult) -> &'static str {
    says.err().unwrap_or("a value that fits")
}
