//! Filters of the deployments: radio buttons, and rules of the style sheet that hide what does not match.
//!
//! Texts of the input are only labels. The rules name values by their numbers, so no text can become a rule.

use kubefoundry_diagnostics::Severity;

use super::entry::Entry;
use kubefoundry_reports::page::Text;
use kubefoundry_yaml::{append, append_line};

/// A filter with more values is left out: it would be longer than what it filters.
const MAX_VALUES: usize = 100;

/// The filters of a page. Each deployment has a class for each value that it has.
pub(super) struct Filters {
    provider: Filter,
    namespace: Filter,
    severity: Filter,
    deployments: usize,
}

/// A filter by one property.
struct Filter {
    legend: &'static str,
    /// The first letter of the classes.
    letter: char,
    /// The values, and the number of deployments that have them.
    values: Vec<(String, usize)>,
}

/// The classes of deployments by their findings. A deployment with errors and warnings has both classes.
const SEVERITIES: [(&str, Option<Severity>); 4] = [
    ("errors", Some(Severity::Error)),
    ("warnings", Some(Severity::Warning)),
    ("infos", Some(Severity::Info)),
    ("no findings", None),
];

impl Filters {
    pub(super) fn new(entries: &[Entry<'_>]) -> Self {
        let count = |has: &dyn Fn(&Entry<'_>) -> bool| entries.iter().filter(|entry| has(entry)).count();
        let by_text = |text: fn(&Entry<'_>) -> String| {
            let mut values = std::collections::BTreeMap::new();
            for entry in entries {
                *values.entry(text(entry)).or_insert(0_usize) += 1;
            }
            values.into_iter().collect()
        };
        let severities = SEVERITIES.map(|(name, severity)| (name.to_owned(), count(&|it| is_of(it, severity))));
        Self {
            provider: Filter { legend: "Provider", letter: 'p', values: by_text(provider) },
            namespace: Filter { legend: "Namespace", letter: 'n', values: by_text(|it| it.namespace().to_owned()) },
            severity: Filter { legend: "Findings", letter: 's', values: severities.into() },
            deployments: entries.len(),
        }
    }

    /// Returns the classes of a deployment: `entry p0 n3 s1`.
    pub(super) fn classes(&self, entry: &Entry<'_>) -> String {
        let mut classes = String::from("entry");
        for (filter, value) in [(&self.provider, provider(entry)), (&self.namespace, entry.namespace().to_owned())] {
            if let Ok(number) = filter.values.binary_search_by(|(other, _)| other.cmp(&value)) {
                append!(classes, " {}{number}", filter.letter);
            }
        }
        for (number, (_, severity)) in SEVERITIES.into_iter().enumerate() {
            if is_of(entry, severity) {
                append!(classes, " {}{number}", self.severity.letter);
            }
        }
        classes
    }

    /// Returns the class of the group of a namespace.
    pub(super) fn group_class(&self, namespace: &str) -> String {
        let number = self.namespace.values.binary_search_by(|(other, _)| other.as_str().cmp(namespace));
        number.map_or_else(|_| String::new(), |number| format!(" n{number}"))
    }

    fn all(&self) -> [&Filter; 3] {
        [&self.provider, &self.severity, &self.namespace]
    }

    /// Whether there is anything to filter.
    pub(super) fn is_useful(&self) -> bool {
        self.all().iter().any(|filter| filter.is_useful())
    }

    /// Writes the radio buttons.
    pub(super) fn write_controls(&self, out: &mut String) {
        if !self.is_useful() {
            return;
        }
        out.push_str("<div class=\"filters\" role=\"group\" aria-label=\"Filters of the deployments\">\n");
        for filter in self.all().into_iter().filter(|filter| filter.is_useful()) {
            append_line!(out, "<fieldset><legend>{}</legend><div>", filter.legend);
            filter.write_option(out, "", "all", self.deployments, true);
            for (number, (value, deployments)) in filter.values.iter().enumerate() {
                if *deployments > 0 {
                    filter.write_option(out, &number.to_string(), value, *deployments, false);
                }
            }
            out.push_str("</div></fieldset>\n");
        }
        out.push_str("</div>\n");
    }

    /// Writes the rules that hide what does not match. A namespace without a match is hidden as a whole, unless it was
    /// chosen: it then says that nothing matches.
    pub(super) fn style(&self) -> String {
        let mut out = String::new();
        for filter in self.all().into_iter().filter(|filter| filter.is_useful()) {
            for number in filter.numbers() {
                let class = format!("{}{number}", filter.letter);
                let hidden = if filter.letter == 'n' { ":is(.entry,.group)" } else { ".entry" };
                append_line!(out, ":root:has(#f-{class}:checked) {hidden}:not(.{class}){{display:none}}");
            }
        }
        // The number of deployments of a namespace is that of all.
        for filter in [&self.provider, &self.severity].into_iter().filter(|filter| filter.is_useful()) {
            append_line!(out, ":root:not(:has(#f-{}:checked)) .namespace .quiet{{display:none}}", filter.letter);
        }
        let choices = |filter: &Filter| {
            let values = filter.numbers().map(|number| format!("{}{number}", filter.letter));
            let values = values
                .filter(|_| filter.is_useful())
                .map(|class| (format!(":has(#f-{class}:checked)"), format!(".{class}")));
            std::iter::once((String::new(), String::new())).chain(values).collect::<Vec<_>>()
        };
        let any_namespace = if self.namespace.is_useful() {
            format!(":has(#f-{}:checked)", self.namespace.letter)
        } else {
            String::new()
        };
        for (provider_checked, provider) in choices(&self.provider) {
            for (severity_checked, severity) in choices(&self.severity) {
                let (checked, class) =
                    (format!("{provider_checked}{severity_checked}"), format!("{provider}{severity}"));
                if class.is_empty() {
                    continue;
                }
                append_line!(
                    out,
                    ":root{any_namespace}{checked} .group:not(:has({class})){{display:none}}\n\
                     :root{checked}:not(:has(.entry{class})) .nothing{{display:block}}\n\
                     :root{checked} .group:not(:has({class})) .no-match{{display:table-row}}"
                );
            }
        }
        out
    }
}

impl Filter {
    fn is_useful(&self) -> bool {
        let values = self.values.iter().filter(|(_, deployments)| *deployments > 0).count();
        (2..=MAX_VALUES).contains(&values)
    }

    /// Returns the numbers of the values that a deployment has.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.values.iter().enumerate().filter(|(_, (_, deployments))| *deployments > 0).map(|(number, _)| number)
    }

    fn write_option(&self, out: &mut String, number: &str, value: &str, deployments: usize, is_checked: bool) {
        let letter = self.letter;
        let checked = if is_checked { " checked" } else { "" };
        append_line!(
            out,
            "<label><input type=\"radio\" name=\"{letter}\" id=\"f-{letter}{number}\" autocomplete=\"off\"{checked}>\
             <span>{} <b>{deployments}</b></span></label>",
            Text(value)
        );
    }
}

fn provider(entry: &Entry<'_>) -> String {
    entry.provider().unwrap_or("none").to_owned()
}

/// Whether a deployment has a finding of a severity, or none at all.
fn is_of(entry: &Entry<'_>, severity: Option<Severity>) -> bool {
    severity.map_or(entry.findings.is_empty(), |severity| entry.has(severity))
}
