//! docs/operator/reference.md against the program: its tables are generated from it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use kubefoundry_composition::PROVIDERS;
use kubefoundry_controller_runtime::error::{Error, RequestError};
use kubefoundry_controller_runtime::events::EventKind;
use kubefoundry_controller_runtime::metrics::METRICS;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reconcile::claimed::CLAIMED_KINDS;
use kubefoundry_reconcile::conditions::{CLAIMED_REASONS, REASONS};
use kubefoundry_reconcile::event::EventReason;
use kubefoundry_reconcile::names;

use crate::args::Arguments;
use crate::manifests::permissions::{Permission, permissions};
use crate::role::Role;

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operator").join(name)
}

/// Formats a table in Markdown.
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

fn claimed_reasons() -> String {
    let rows = CLAIMED_REASONS.iter().map(|row| [code(row.condition), code(row.word), row.meaning.to_owned()]);
    table(["condition", "reason", "meaning"], rows)
}

fn events() -> String {
    let rows = EventReason::ALL.iter();
    table(
        ["event", "type", "meaning"],
        rows.map(|event| [code(event.kind().reason), event.kind().event_type.to_owned(), event.meaning().to_owned()]),
    )
}

fn metrics() -> String {
    let rows = METRICS.iter().map(|metric| {
        [code(metric.name), metric.kind.to_owned(), codes(metric.labels.iter().copied()), metric.meaning.to_owned()]
    });
    table(["metric", "kind", "labels", "meaning"], rows)
}

/// Returns the `error_type` of each class of errors.
fn errors() -> String {
    let api_error = |code: u16| Error::Api(RequestError::Refused { code, message: String::new() });
    let cases = [
        (
            Error::Waiting(String::new()),
            "something else has to happen first; requeued soon, without an error in the log, but counted",
        ),
        (api_error(403), "the operator lacks a permission, or a quota or an admission plugin refuses"),
        (api_error(404), "an object, its namespace or its kind does not exist"),
        (api_error(409), "another client wrote first; requeued with the new state"),
        (api_error(422), "the API server or a webhook finds an object invalid"),
        (api_error(429), "the API server throttles the operator"),
        (api_error(500), "the API server failed"),
        (api_error(400), "any other refusal"),
        (
            Error::Api(RequestError::Failed(String::new())),
            "the API server cannot be reached, or its response is invalid",
        ),
    ];
    table(["error_type", "meaning"], cases.map(|(error, meaning)| [code(error.kind()), meaning.to_owned()]))
}

fn annotations() -> String {
    let prefixed = |name: &str| format!("…{name}");
    let rows = [
        (
            prefixed(names::PAUSED),
            kubefoundry_deployment::wire::KIND,
            "you",
            "`\"true\"` pauses reconciliation: the operator changes neither it nor its objects",
        ),
        (
            prefixed(names::DRY_RUN),
            kubefoundry_deployment::wire::KIND,
            "you",
            "`\"true\"` renders it and sends dry runs, without applying",
        ),
        (
            prefixed(names::DRY_RUN_RESULT),
            kubefoundry_deployment::wire::KIND,
            "the operator",
            "the objects that a dry run rendered, or why there are none",
        ),
        (
            names::ALLOWED_PROVIDERS.to_owned(),
            "Namespace",
            "you",
            "providers that its ModelDeployments may use, separated by commas; empty for none",
        ),
        (
            prefixed(names::APPROVE_RECREATE),
            kubefoundry_deployment::wire::KIND,
            "you",
            "approves the recreation whose hash it has; `PendingRecreate` shows the hash",
        ),
        (
            prefixed(names::IDENTITY_HASH),
            "main object",
            "the operator",
            "a hash of the fields whose change requires a new object",
        ),
        (
            prefixed(names::RENDERED_HASH),
            "main object",
            "the operator",
            "a hash of the rendered objects at the last apply",
        ),
        (
            prefixed(names::DEPLOYMENT_UID),
            "every applied object but claims",
            "the operator",
            "the uid of its ModelDeployment, by which an object that lost its owner is recognized",
        ),
        (
            prefixed(names::MANAGED),
            "AsyncActor, LlamaStackDistribution",
            "you",
            "`\"true\"` hands it to this operator, if the role runs",
        ),
        (
            prefixed(names::OWNER_UID),
            "every object applied for one of these",
            "the operator",
            "the uid of the AsyncActor or LlamaStackDistribution",
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
            "`Validated`; `phase` and `message` until a provider is selected".into(),
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
    for kind in CLAIMED_KINDS {
        let finalizer = kind.finalizer().map(|name| api_group.label(name)).unwrap_or_default();
        let (_, name) = kind.group_kind();
        let writes = format!("the status of each {name} that is handed to the operator; its objects");
        rows.push([code(kind.manager()), code(&finalizer), writes]);
    }
    let webhooks = "the Secret of the webhooks, and every `caBundle`".into();
    rows.push([code(kubefoundry_webhook::ca_bundle::MANAGER), String::new(), webhooks]);
    rows.push([code(crate::install::MANAGER), String::new(), "the objects that `install` and `upgrade` apply".into()]);
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
    let of_roles: Vec<(Role, Vec<Permission>)> =
        Role::all().into_iter().chain(Role::optional()).map(|role| (role, permissions(role, &groups, true))).collect();
    let (_, first) = of_roles.first().unwrap();
    let common: Vec<&Permission> = first
        .iter()
        .filter(|permission| {
            let mut default = of_roles.iter().filter(|(role, _)| role.serves_models());
            default.all(|(_, permissions)| permissions.contains(permission))
        })
        .collect();
    let row = |role: &str, permission: &Permission| {
        let group = if permission.group.is_empty() { "core".to_owned() } else { code(permission.group) };
        [
            role.to_owned(),
            permission.scope.as_str().to_owned(),
            group,
            codes(permission.resources.iter().copied()),
            permission.verbs.join(", "),
            codes(permission.names.iter().map(String::as_str)),
            permission.reason.to_owned(),
        ]
    };
    let mut rows: Vec<[String; 7]> = common.iter().map(|permission| row("every default role", permission)).collect();
    for (role, permissions) in &of_roles {
        let own = permissions.iter().filter(|permission| !common.contains(permission));
        rows.extend(own.map(|permission| row(&code(role.name()), permission)));
    }
    table(["role", "where", "group", "resources", "verbs", "only named", "why"], rows)
}

#[test]
fn the_tables_of_the_documentation_are_current() {
    let path = page("reference.md");
    let current = fs::read_to_string(&path).unwrap();
    let mut expected = current.clone();
    for (name, table) in [
        ("conditions", conditions()),
        ("reasons", reasons()),
        ("claimed reasons", claimed_reasons()),
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
    for (number, (line, expected)) in current.lines().zip(expected.lines()).enumerate() {
        assert_eq!(line, expected, "line {} of reference.md: run this test with REWRITE=1", number + 1);
    }
    assert_eq!(current.len(), expected.len(), "reference.md: run this test with REWRITE=1");
}

#[test]
fn install_and_upgrade_have_the_same_flags() {
    assert_eq!(flags("install"), flags("upgrade"));
}

/// A user can look up every reason of a failure.
#[test]
fn the_troubleshooting_page_explains_every_reason_of_a_failure() {
    let page = fs::read_to_string(page("troubleshoot.md")).unwrap();
    let healthy = ["Valid", "Selected", "Compatible", "ResourceCreated", "News"];
    for row in REASONS.iter().filter(|row| !healthy.contains(&row.word)) {
        assert!(page.contains(&format!("`{}`", row.word)), "{} {}", row.condition, row.word);
    }
    for row in CLAIMED_REASONS.iter().filter(|row| !["Applied", "Bound", "Ready"].contains(&row.word)) {
        assert!(page.contains(&format!("`{}`", row.word)), "{} {}", row.condition, row.word);
    }
    for event in EventReason::ALL {
        let EventKind { reason, event_type, .. } = event.kind();
        assert!(event_type != "Warning" || page.contains(&format!("`{reason}`")), "{reason}");
    }
}

/// A documented reason that the program never writes misleads.
#[test]
fn the_program_writes_every_documented_reason() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    let mut folders = ["src", "reconcile/src"].map(|folder| own.join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("conditions.rs") && !path.ends_with("tests.rs") {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    for row in REASONS.iter().chain(CLAIMED_REASONS) {
        assert!(sources.contains(&format!("\"{}\"", row.word)), "no source file writes {}", row.word);
    }
    for row in names::CONDITIONS {
        assert!(REASONS.iter().any(|reason| reason.condition == row.name), "{} has no reasons", row.name);
    }
}
