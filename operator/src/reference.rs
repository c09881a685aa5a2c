//! What the documentation lists (docs/operator/reference.md), where no other module has it as data. A test writes the
//! tables of that page, and fails where they are not what the program does.

use crate::names::condition;

/// A reason of a condition.
#[derive(Debug)]
pub(crate) struct Reason {
    /// The condition's type.
    pub(crate) condition: &'static str,
    /// One word in CamelCase.
    pub(crate) word: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers: the documentation shows it"))]
    pub(crate) meaning: &'static str,
}

const fn reason(condition: &'static str, word: &'static str, meaning: &'static str) -> Reason {
    Reason { condition, word, meaning }
}

/// Every reason that we write. Reasons of `Ready` come from the provider's object, too.
pub(crate) const REASONS: &[Reason] = &[
    reason(condition::VALIDATED, "Valid", "the specification has no error"),
    reason(condition::VALIDATED, "Invalid", "it has errors; all of them are in the message"),
    reason(condition::PROVIDER_SELECTED, "Selected", "a provider is chosen; why is in the message"),
    reason(condition::PROVIDER_SELECTED, "NoHealthyProvider", "every provider is unready, or its heartbeat is old"),
    reason(condition::PROVIDER_SELECTED, "NoCompatibleProvider", "no provider can run what is asked for"),
    reason(condition::PROVIDER_SELECTED, "UnknownProvider", "no provider of the given name is registered"),
    reason(condition::PROVIDER_SELECTED, "NotAllowed", "the namespace does not allow it, or any that could run it"),
    reason(condition::PROVIDER_SELECTED, "SelectorNotInstalled", "no provider is given, and nobody selects one"),
    reason(
        condition::PROVIDER_SELECTED,
        "SelectionFailed",
        "selection came to nothing for another reason, in the message",
    ),
    reason(condition::PROVIDER_COMPATIBLE, "Compatible", "the provider can run it"),
    reason(condition::PROVIDER_COMPATIBLE, "Incompatible", "the provider cannot run it; why is in the message"),
    reason(condition::PROVIDER_COMPATIBLE, "CRDNotInstalled", "the provider's CRD is not installed"),
    reason(condition::PROVIDER_COMPATIBLE, "NotAllowed", "the namespace does not allow the provider"),
    reason(condition::PROVIDER_COMPATIBLE, "Invalid", "not known, as the specification has errors"),
    reason(condition::RESOURCE_CREATED, "ResourceCreated", "the provider's object is there as rendered"),
    reason(condition::RESOURCE_CREATED, "Recreating", "the old object is going, or gone; then the new one is made"),
    reason(condition::RESOURCE_CREATED, "Refused", "the apiserver, or the provider's webhook, refuses the object"),
    reason(condition::RESOURCE_CREATED, "NotOwned", "an object of that name is there that we did not make"),
    reason(condition::RESOURCE_CREATED, "NotRendered", "nothing is rendered: see the other conditions"),
    reason(condition::RESOURCE_CREATED, "DryRun", "the annotation `dry-run` is set"),
    reason(condition::READY, "Pending", "the provider has not said anything yet"),
    reason(condition::READY, "Recreating", "as of `ResourceCreated`"),
    reason(condition::READY, "Refused", "as of `ResourceCreated`"),
    reason(condition::READY, "NotOwned", "as of `ResourceCreated`"),
    reason(condition::READY, "NotRendered", "as of `ResourceCreated`"),
    reason(condition::READY, "DryRun", "as of `ResourceCreated`"),
    reason(condition::READY, "Migrating", "another provider takes over, once the objects of this one are gone"),
    reason(condition::READY, "Terminating", "it is being deleted"),
    reason(
        condition::STALE_STATUS,
        "NoNews",
        "the provider's operator has been silent for longer than `--stale-after`",
    ),
    reason(condition::STALE_STATUS, "News", "it writes again"),
];

/// Whether the documentation knows a reason. What providers say of readiness is theirs.
pub(crate) fn is_documented(condition: &str, reason: &str) -> bool {
    condition == condition::READY || REASONS.iter().any(|row| row.condition == condition && row.word == reason)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the documentation is read, and written where that is asked for")]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::{Path, PathBuf};

    use clap::CommandFactory as _;
    use kubefoundry_kubernetes::api_group::ApiGroup;
    use kubefoundry_model::providers::PROVIDERS;

    use super::*;
    use crate::args::Arguments;
    use crate::error::Error;
    use crate::manifests::rights::{Right, rights};
    use crate::names;
    use crate::role::Role;
    use crate::runtime::events::EventReason;
    use crate::runtime::metrics::METRICS;

    fn page(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operator").join(name)
    }

    /// A table in Markdown.
    fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
        let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(N));
        for row in rows {
            writeln!(text, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | ")).unwrap();
        }
        text
    }

    fn code(text: &str) -> String {
        if text.is_empty() { String::new() } else { format!("`{text}`") }
    }

    fn codes<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
        texts.into_iter().map(code).collect::<Vec<_>>().join(", ")
    }

    fn conditions() -> String {
        table(["condition", "when true"], names::CONDITIONS.iter().map(|row| [code(row.name), row.meaning.to_owned()]))
    }

    fn reasons() -> String {
        let rows = REASONS.iter().map(|row| [code(row.condition), code(row.word), row.meaning.to_owned()]);
        table(["condition", "reason", "meaning"], rows)
    }

    fn events() -> String {
        let rows = EventReason::ALL.iter();
        table(
            ["event", "type", "meaning"],
            rows.map(|event| [code(event.as_str()), event.event_type().to_owned(), event.meaning().to_owned()]),
        )
    }

    fn metrics() -> String {
        let rows = METRICS.iter().map(|metric| {
            [code(metric.name), metric.kind.to_owned(), codes(metric.labels.iter().copied()), metric.meaning.to_owned()]
        });
        table(["metric", "kind", "labels", "meaning"], rows)
    }

    /// The kinds of errors, from errors.
    fn errors() -> String {
        let answer =
            |code: u16| Error::Api(kube::Error::Api(Box::new(kube::core::Status { code, ..Default::default() })));
        let cases = [
            (
                Error::Waiting(String::new()),
                "something else has to be there first; tried again soon, and no error in the log",
            ),
            (answer(403), "the operator lacks a right, or a quota or an admission plugin refuses"),
            (answer(404), "an object, its namespace or its kind is gone"),
            (answer(409), "somebody else wrote first; tried again with what is there now"),
            (answer(422), "the apiserver or a webhook finds an object invalid"),
            (answer(429), "the apiserver asks to wait"),
            (answer(500), "the apiserver failed"),
            (answer(400), "another refusal"),
            (
                Error::Api(kube::Error::LinesCodecMaxLineLengthExceeded),
                "the apiserver cannot be reached, or answers nonsense",
            ),
        ];
        table(["error_type", "meaning"], cases.map(|(error, meaning)| [code(error.kind()), meaning.to_owned()]))
    }

    fn annotations() -> String {
        let ours = |name: &str| format!("…{name}");
        let rows = [
            (
                ours(names::PAUSED),
                kubefoundry_model::wire::KIND,
                "you",
                "`\"true\"`: it and its objects are left alone",
            ),
            (
                ours(names::DRY_RUN),
                kubefoundry_model::wire::KIND,
                "you",
                "`\"true\"`: it is rendered and tried, and nothing applied",
            ),
            (
                ours(names::DRY_RUN_RESULT),
                kubefoundry_model::wire::KIND,
                "the operator",
                "what a dry run rendered, or why not",
            ),
            (
                names::ALLOWED_PROVIDERS.to_owned(),
                "Namespace",
                "you",
                "providers that its ModelDeployments may use, with commas; empty for none",
            ),
            (
                ours(names::IDENTITY_HASH),
                "main object",
                "the operator",
                "a hash of what makes it another object when it changes",
            ),
            (
                ours(names::RENDERED_HASH),
                "main object",
                "the operator",
                "a hash of what was rendered when it was applied last",
            ),
        ];
        table(
            ["annotation", "on", "written by", "meaning"],
            rows.map(|(name, on, by, meaning)| [code(&name), on.to_owned(), by.to_owned(), meaning.to_owned()]),
        )
    }

    fn managers() -> String {
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let mut rows = vec![
            [
                code(names::CORE_MANAGER),
                String::new(),
                "`Validated`; `phase` and `message` until a provider is chosen".into(),
            ],
            [
                code(names::SELECTOR_MANAGER),
                String::new(),
                "`provider.name`, `provider.selectedReason`, `ProviderSelected`".into(),
            ],
        ];
        for provider in PROVIDERS {
            let writes = "the rest of the status; the provider's objects; its InferenceProviderConfig";
            let finalizer = names::finalizer(api_group, provider.name());
            rows.push([code(&names::provider_manager(provider.name())), code(&finalizer), writes.into()]);
        }
        let webhooks = "the Secret of the webhooks, and every `caBundle`".into();
        rows.push([code(crate::webhook::ca_bundle::MANAGER), String::new(), webhooks]);
        rows.push([code(crate::install::MANAGER), String::new(), "what `install` and `upgrade` apply".into()]);
        table(["manager", "finalizer", "writes"], rows)
    }

    fn flags(command: &str) -> String {
        let mut arguments = Arguments::command();
        arguments.build();
        let command = arguments.find_subcommand(command).unwrap();
        let flags = command.get_arguments().filter(|flag| flag.get_long().is_some_and(|long| long != "help"));
        let rows = flags.map(|flag| {
            let takes_value = flag.get_action().takes_values();
            let value = flag.get_value_names().filter(|_| takes_value).and_then(|names| names.first());
            let value = value.map(|name| format!(" {name}")).unwrap_or_default();
            let words: Vec<String> = flag.get_possible_values().iter().map(|word| code(word.get_name())).collect();
            let defaults = flag.get_default_values().iter().filter_map(|default| default.to_str());
            let mut meaning = flag.get_help().map(ToString::to_string).unwrap_or_default();
            if takes_value && !words.is_empty() {
                write!(meaning, ": {}", words.join(" or ")).unwrap();
            }
            let default = if takes_value { codes(defaults) } else { String::new() };
            [code(&format!("--{}{value}", flag.get_long().unwrap())), default, meaning]
        });
        table(["flag", "default", "meaning"], rows)
    }

    fn right_rows() -> String {
        let groups = vec![ApiGroup::find("kubefoundry.ai").unwrap()];
        let of_roles: Vec<(Role, Vec<Right>)> =
            Role::all().into_iter().map(|role| (role, rights(role, &groups, true))).collect();
        let (_, first) = of_roles.first().unwrap();
        let common: Vec<&Right> =
            first.iter().filter(|right| of_roles.iter().all(|(_, rights)| rights.contains(right))).collect();
        let row = |role: &str, right: &Right| {
            let group = if right.group.is_empty() { "core".to_owned() } else { code(right.group) };
            [
                role.to_owned(),
                right.scope.as_str().to_owned(),
                group,
                codes(right.resources.iter().copied()),
                right.verbs.join(", "),
                codes(right.names.iter().map(String::as_str)),
                right.why.to_owned(),
            ]
        };
        let mut rows: Vec<[String; 7]> = common.iter().map(|right| row("every role", right)).collect();
        for (role, rights) in &of_roles {
            let own = rights.iter().filter(|right| !common.contains(right));
            rows.extend(own.map(|right| row(&code(role.name()), right)));
        }
        table(["role", "where", "group", "resources", "verbs", "only named", "why"], rows)
    }

    #[test]
    fn tables_of_the_documentation_are_what_the_program_does() {
        let path = page("reference.md");
        let current = fs::read_to_string(&path).unwrap();
        let mut expected = current.clone();
        for (name, table) in [
            ("conditions", conditions()),
            ("reasons", reasons()),
            ("events", events()),
            ("metrics", metrics()),
            ("errors", errors()),
            ("annotations", annotations()),
            ("managers", managers()),
            ("flags run", flags("run")),
            ("flags manifests", flags("manifests")),
            ("flags install", flags("install")),
            ("flags uninstall", flags("uninstall")),
            ("rights", right_rows()),
        ] {
            let start = format!("<!-- table {name} -->\n");
            let (before, rest) = expected.split_once(&start).unwrap_or_else(|| panic!("no table {name}"));
            let (_, after) = rest.split_once("<!-- end -->").unwrap();
            expected = format!("{before}{start}{table}<!-- end -->{after}");
        }
        if std::env::var_os("REWRITE").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        let current = fs::read_to_string(&path).unwrap();
        for (number, (found, expected)) in current.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "line {} of reference.md: run this test with REWRITE=1", number + 1);
        }
        assert_eq!(current.len(), expected.len(), "reference.md: run this test with REWRITE=1");
    }

    #[test]
    fn install_and_upgrade_have_the_same_flags() {
        assert_eq!(flags("install"), flags("upgrade"));
    }

    /// What stands in a status can be looked up.
    #[test]
    fn every_reason_is_explained_where_trouble_is() {
        let page = fs::read_to_string(page("troubleshoot.md")).unwrap();
        let fine = ["Valid", "Selected", "Compatible", "ResourceCreated", "News"];
        for row in REASONS.iter().filter(|row| !fine.contains(&row.word)) {
            assert!(page.contains(&format!("`{}`", row.word)), "{} {}", row.condition, row.word);
        }
        for event in EventReason::ALL {
            let is_trouble = event.event_type() == "Warning";
            assert!(!is_trouble || page.contains(&format!("`{}`", event.as_str())), "{}", event.as_str());
        }
    }

    /// A reason that nobody writes misleads.
    #[test]
    fn every_reason_is_written_by_the_program() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut sources = String::new();
        let mut folders = vec![own];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("reference.rs") {
                    sources.push_str(&fs::read_to_string(path).unwrap());
                }
            }
        }
        for row in REASONS {
            assert!(sources.contains(&format!("\"{}\"", row.word)), "nobody writes {}", row.word);
        }
        for row in names::CONDITIONS {
            assert!(REASONS.iter().any(|reason| reason.condition == row.name), "{} has no reasons", row.name);
        }
    }
}
