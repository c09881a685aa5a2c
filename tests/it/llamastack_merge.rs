//! Merging external providers into `run.yaml`: recorded cases, and properties for every base.

use std::fs;
use std::path::Path;

use kubefoundry_llamastack::merge::{Entry, merge};
use kubefoundry_llamastack::package;
use kubefoundry_llamastack::wire::Api;
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parsed(text: &str) -> Value {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    assert!(parsed.failure.is_none(), "{:?} in\n{text}", parsed.failure);
    parsed.documents.first().map_or(Value::Null, |document| document.root.to_json())
}

/// A provider from the short form of the cases: `{id, api, type, module, image, config, declares}`.
fn entry((order, provider): (usize, &Value)) -> Entry {
    let text = |key: &str| provider[key].as_str();
    let id = text("id").unwrap();
    let api = text("api").unwrap();
    let provider_type = text("type").map_or(format!("remote::{id}"), str::to_owned);
    let module = text("module").unwrap_or("acme.provider");
    let metadata = json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "ProviderPackage",
        "metadata": {"name": id, "version": "1.0.0", "vendor": "acme"},
        "spec": {
            "packageName": module, "providerType": provider_type, "api": text("declares").unwrap_or(api),
            "wheelPath": "packages/a-1.0.0-py3-none-any.whl",
        },
    });
    Entry {
        provider_id: id.to_owned(),
        api: Api::from_name(api).unwrap(),
        order: provider["order"].as_u64().unwrap_or(order as u64),
        image: text("image").map_or(format!("quay.io/acme/{id}:1.0.0"), str::to_owned),
        config: provider.get("config").cloned(),
        metadata: package::read(&metadata.to_string()).unwrap().package,
    }
}

/// Every folder of `testdata/merge`: `run.yaml` and `providers.yaml` in, the three files or the errors out.
#[test]
fn cases_merge_as_recorded() {
    let mut folders: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/merge"))
        .unwrap()
        .map(|folder| folder.unwrap().path())
        .collect();
    folders.sort();
    assert!(folders.len() > 20, "{}", folders.len());
    for folder in folders {
        let text = fs::read_to_string(folder.join("providers.yaml")).unwrap();
        assert!(text.starts_with("# "), "{}: the first line says what it shows", folder.display());
        let entries: Vec<Entry> = parsed(&text).as_array().unwrap().iter().enumerate().map(entry).collect();
        let base = fs::read_to_string(folder.join("run.yaml")).ok();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| match merge(base.as_deref(), &entries) {
            Ok(merged) => {
                insta::assert_snapshot!("run", merged.run_yaml.unwrap_or_default().replace('\r', "\u{240d}"));
                insta::assert_snapshot!("extra-providers", merged.extra_providers_yaml);
                insta::assert_snapshot!("log", merged.log);
            }
            Err(errors) => {
                let blocks: Vec<String> = errors.iter().map(ToString::to_string).collect();
                insta::assert_snapshot!("errors", blocks.join("\n\n"));
            }
        });
    }
}

/// A reference implementation of the merge on values, written independently from the specification.
fn merge_values(mut base: Value, entries: &[Entry]) -> Value {
    if base.is_null() {
        base = json!({});
    }
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.order);
    for entry in entries {
        let providers = &mut base["providers"];
        if providers.is_null() {
            *providers = json!({});
        }
        let section = &mut providers[entry.api.as_str()];
        let mut items = section.as_array().cloned().unwrap_or_default();
        items.retain(|item| item["provider_id"] != json!(entry.provider_id));
        let mut item = json!({
            "provider_id": entry.provider_id, "provider_type": entry.metadata.provider_type,
            "module": entry.metadata.package_name,
        });
        if let Some(config) = &entry.config {
            item["config"] = config.clone();
        }
        items.push(item);
        *section = items.into();
        if let Some(apis) = base.get_mut("apis").and_then(Value::as_array_mut)
            && !apis.is_empty()
            && !apis.contains(&json!(entry.api.as_str()))
        {
            apis.push(json!(entry.api.as_str()));
        }
    }
    base
}

/// Sorts the APIs: the merge adds them in the order of the specification, the reference in the order of the entries.
fn sort_apis(mut tree: Value) -> Value {
    if let Some(apis) = tree.get_mut("apis").and_then(Value::as_array_mut) {
        apis.sort_by_key(Value::to_string);
    }
    tree
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..1_000_000).prop_map(Value::from),
        "[a-c:#\\-&*!|>'\"{}\\[\\], $\n]{0,8}".prop_map(Value::from),
        Just(json!("${env.OLLAMA_URL:=http://localhost:11434}")),
        Just(json!("2")),
        Just(json!("on")),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,5}", inner), 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn base_provider() -> impl Strategy<Value = Value> {
    ("[ab]{1,2}", tree())
        .prop_map(|(id, config)| json!({"provider_id": id, "provider_type": "inline::x", "config": config}))
}

fn section() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        4 => prop::collection::vec(base_provider(), 0..4).prop_map(Value::from),
    ]
}

fn base() -> impl Strategy<Value = Value> {
    let sections = prop::collection::vec((prop::sample::select(&Api::ALL[..4]), section()), 0..4);
    let providers = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Value::Null)),
        6 => sections.prop_map(|sections| {
            Some(Value::Object(sections.into_iter().map(|(api, section)| (api.as_str().to_owned(), section)).collect()))
        }),
    ];
    let apis =
        prop::option::of(prop::collection::vec(prop::sample::select(vec!["inference", "files", "safety"]), 0..3));
    (tree(), providers, apis, tree(), any::<bool>()).prop_map(|(before, providers, apis, after, is_last)| {
        let mut base = json!({"version": "2", "before": before});
        if let Some(apis) = apis {
            base["apis"] = apis.into();
        }
        if let Some(providers) = providers {
            base["providers"] = providers;
        }
        if !is_last {
            base["after"] = after;
        }
        base
    })
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::btree_map("[ab]{1,2}", (prop::sample::select(&Api::ALL[..4]), prop::option::of(tree())), 1..4)
        .prop_map(|providers| {
            let all = providers.into_iter().enumerate().map(|(order, (id, (api, config)))| {
                let mut provider = json!({"id": id, "api": api.as_str()});
                if let Some(config) = config {
                    provider["config"] = config;
                }
                entry((order, &provider))
            });
            all.collect()
        })
}

/// The layout of a file.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Block,
    /// Whether the dashes of lists are indented by two columns.
    Indented,
    /// Whether there are comments above and behind lines.
    Commented,
    Json,
    PrettyJson,
}

fn written(base: &Value, layout: Layout) -> String {
    let mut text = String::new();
    yaml::to_yaml(base, &mut text);
    match layout {
        Layout::Block => text,
        Layout::Indented => {
            let options = serde_saphyr::ser_options! { compact_list_indent: false, indent_step: 2 };
            let mut text = String::new();
            serde_saphyr::to_fmt_writer_with_options(&mut text, base, options).unwrap();
            text
        }
        // Below the top level, a comment could become part of a block scalar.
        Layout::Commented => {
            let lines = text.lines().map(|line| match line {
                "providers:" | "apis:" | "  inference:" => format!("# above\n{line} # behind\n"),
                "version: \"2\"" => format!("{line} # two\n"),
                _ => format!("{line}\n"),
            });
            lines.collect::<String>() + "# at the end\n"
        }
        Layout::Json => base.to_string(),
        Layout::PrettyJson => serde_json::to_string_pretty(base).unwrap(),
    }
}

fn layout() -> impl Strategy<Value = Layout> {
    prop::sample::select(vec![Layout::Block, Layout::Indented, Layout::Commented, Layout::Json, Layout::PrettyJson])
}

/// Returns whether a text contains these lines in this order.
fn is_subsequence<'l>(lines: impl Iterator<Item = &'l str>, of: &str) -> bool {
    let mut rest = of.lines();
    lines.into_iter().all(|line| rest.any(|other| other == line))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Merging no providers does not change a byte.
    #[test]
    fn merging_nothing_changes_nothing(base in base(), layout in layout()) {
        let text = written(&base, layout);
        prop_assert_eq!(merge(Some(&text), &[]).unwrap().run_yaml, Some(text));
    }

    /// For any style and line ends, the merged text equals the merge of the values, and merging it again changes
    /// nothing.
    #[test]
    fn the_merged_text_equals_the_merged_values(
        base in base(), entries in entries(), layout in layout(), crlf in any::<bool>(), cut in any::<bool>(),
    ) {
        let mut text = written(&base, layout);
        if crlf { text = text.replace('\n', "\r\n"); }
        if cut { text.truncate(text.trim_end().len()); }
        let expected = sort_apis(merge_values(parsed(&text), &entries));
        let merged = merge(Some(&text), &entries).unwrap().run_yaml.unwrap();
        prop_assert_eq!(&sort_apis(parsed(&merged)), &expected, "from\n{}\nto\n{}", text, merged);
        prop_assert_eq!(!crlf || !merged.replace("\r\n", "").contains('\n'), true, "{:?}", merged);
        let again = merge(Some(&merged), &entries).unwrap().run_yaml.unwrap();
        prop_assert_eq!(&sort_apis(parsed(&again)), &expected);
        if !matches!(layout, Layout::Json | Layout::PrettyJson) {
            prop_assert_eq!(&again, &merged);
        }
    }

    /// Lines that are not replaced stay unchanged and in order, with their comments.
    #[test]
    fn lines_that_are_not_replaced_stay(
        base in base(), entries in entries(),
        layout in prop::sample::select(vec![Layout::Block, Layout::Indented, Layout::Commented]),
    ) {
        let is_new = |entry: &Entry| {
            let items = base["providers"][entry.api.as_str()].as_array().cloned().unwrap_or_default();
            items.iter().all(|item| item["provider_id"] != json!(entry.provider_id))
        };
        let entries: Vec<Entry> = entries.into_iter().filter(is_new).collect();
        let text = written(&base, layout);
        let merged = merge(Some(&text), &entries).unwrap().run_yaml.unwrap();
        // An empty collection is rewritten, so its line may change.
        let empty = |line: &str| {
            let line = line.trim_end_matches("null").trim_end_matches("[]").trim_end_matches("{}");
            line.trim_end().to_owned()
        };
        let sections: Vec<String> = Api::ALL[..4].iter().map(|api| format!("{api}:")).chain(["providers:".into()]).collect();
        let is_emptied = |line: &str| sections.iter().any(|key| line.trim_start().starts_with(key.as_str()));
        let kept: Vec<String> = text.lines().map(|line| if is_emptied(line) { empty(line) } else { line.to_owned() }).collect();
        let merged_lines: Vec<String> = merged.lines().map(|line| if is_emptied(line) { empty(line) } else { line.to_owned() }).collect();
        prop_assert!(is_subsequence(kept.iter().map(String::as_str), &merged_lines.join("\n")), "from\n{}\nto\n{}", text, merged);
    }

    /// Any text is merged correctly or refused.
    #[test]
    fn any_text_is_merged_or_refused(text in "[a-c:\\-&*!|>'\"{}\\[\\],#? \n]{0,40}", entries in entries()) {
        for text in [text.clone(), format!("providers:\n  inference:\n  - {text}\n"), format!("{text}\nproviders: {{}}\n")] {
            if let Ok(merged) = merge(Some(&text), &entries) {
                let expected = sort_apis(merge_values(parsed(&text), &entries));
                prop_assert_eq!(sort_apis(parsed(&merged.run_yaml.unwrap())), expected, "{}", text);
            }
        }
    }

    /// The order of the entries in the list does not matter.
    #[test]
    fn entries_may_come_in_any_order(base in base(), entries in entries(), layout in layout()) {
        let text = written(&base, layout);
        let mut turned = entries.clone();
        turned.reverse();
        prop_assert_eq!(merge(Some(&text), &entries), merge(Some(&text), &turned));
    }
}
