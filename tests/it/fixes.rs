//! Fixes lead back to the text that was meant: after them no finding is left that neither the mistakes nor the text
//! without them has.

use std::collections::BTreeSet;

use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::{TextEdit, apply_groups};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use crate::common::generated::documents;

/// A slip of a person who writes YAML.
#[derive(Debug, Clone, Copy)]
enum Mistake {
    SwapsLettersOfKey,
    DropsLetterOfKey,
    OmitsQuotes,
    AddsQuotes,
    /// Omits the quotes, and writes the value as only YAML reads it.
    SpellsForYaml,
}

const MISTAKES: &[Mistake] = &[
    Mistake::SwapsLettersOfKey,
    Mistake::DropsLetterOfKey,
    Mistake::OmitsQuotes,
    Mistake::AddsQuotes,
    Mistake::SpellsForYaml,
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_123),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_fix_leads_to_a_finding(
        documents in documents(),
        mistakes in proptest::collection::vec((any::<Index>(), any::<Index>(), select(MISTAKES)), 1..6),
    ) {
        let meant = apply_fixes(yaml::to_yaml_stream(&documents));
        let right: Vec<String> = meant.lines().map(str::to_owned).collect();
        let mut lines = right.clone();
        // An error hides findings of other mistakes, so the findings of each mistake alone are known, too.
        let mut known: BTreeSet<_> = findings(&meant).iter().map(identity).collect();
        for (line, letter, mistake) in mistakes {
            let is_candidate = |at: &usize| lines[*at] == right[*at] && make_mistake(&lines, *at, letter, mistake).is_some();
            let candidates: Vec<usize> = (0..lines.len()).filter(is_candidate).collect();
            if candidates.is_empty() {
                continue;
            }
            let at = *line.get(&candidates);
            lines[at] = make_mistake(&lines, at, letter, mistake).unwrap();
            let mut alone = right.clone();
            alone[at].clone_from(&lines[at]);
            known.extend(findings(&(alone.join("\n") + "\n")).iter().map(identity));
        }
        let written = lines.join("\n") + "\n";
        let fixed = apply_fixes(written.clone());
        known.extend(findings(&written).iter().map(identity));
        for finding in findings(&fixed) {
            prop_assert!(
                known.contains(&identity(&finding)),
                "{:#?}\nwritten:\n{}\nfixed:\n{}", finding, written, fixed
            );
        }
    }
}

/// The mistakes that people make most have one right answer, so the text that was meant comes back.
#[test]
fn common_mistakes_are_undone() {
    let text = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\nspec:\n  model: {id: org/phi}\n  \
                engine:\n    type: vllm\n    trustRemoteCode: true\n    args:\n      enforce-eager: \"true\"\n      \
                max-num-seqs: \"16\"\n      seed: \"8\"\n      gpu-memory-utilization: \"0.9\"\n  \
                resources: {gpu: {count: 1}}\n";
    let mistakes = [
        ("spec:", "sepc:"),
        ("model:", "modle:"),
        ("trustRemoteCode: true", "trustRemoteCode: \"true\""),
        ("enforce-eager: \"true\"", "enforce-eager: True"),
        ("enforce-eager: \"true\"", "enforce-eager: yes"),
        ("max-num-seqs: \"16\"", "max-num-seqs: 0x10"),
        ("max-num-seqs: \"16\"", "max-num-seqs: 1.6e1"),
        ("seed: \"8\"", "seed: 010"),
        ("seed: \"8\"", "seed: 8"),
        ("utilization: \"0.9\"", "utilization: 0.9"),
        ("count: 1", "count: \"1\""),
        ("count: 1", "count: '1'"),
    ];
    for (right, wrong) in mistakes {
        assert!(text.contains(right), "{right}");
        assert_eq!(apply_fixes(text.replace(right, wrong)), text, "{wrong}");
    }
}

/// Makes a mistake in a line, if the line has what it needs.
fn make_mistake(lines: &[String], at: usize, letter: Index, mistake: Mistake) -> Option<String> {
    let line = &lines[at];
    let (head, value) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let start = head.find(|c: char| c.is_ascii_alphabetic())?;
    let (indent, key) = head.split_at(start);
    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let misspell = |key: String| {
        let value = if value.is_empty() { String::new() } else { format!(" {value}") };
        Some(format!("{indent}{key}:{value}"))
    };
    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let is_scalar = |text: &&str| *text == "true" || *text == "false" || text.parse::<u32>().is_ok();
    match mistake {
        Mistake::SwapsLettersOfKey if key.len() > 3 => {
            let mut letters = key.as_bytes().to_vec();
            let first = letter.index(letters.len() - 1);
            letters.swap(first, first + 1);
            misspell(String::from_utf8(letters).unwrap())
        }
        Mistake::DropsLetterOfKey if key.len() > 3 => {
            let mut key = key.to_owned();
            key.remove(letter.index(key.len()));
            misspell(key)
        }
        Mistake::OmitsQuotes => bare.filter(is_scalar).map(|value| format!("{head}: {value}")),
        Mistake::AddsQuotes => Some(value).filter(is_scalar).map(|value| format!("{head}: \"{value}\"")),
        Mistake::SpellsForYaml if is_argument(lines, at) => match bare? {
            "true" => Some(format!("{head}: On")),
            "false" => Some(format!("{head}: no")),
            number => Some(format!("{head}: {:#x}", number.parse::<u32>().ok()?)),
        },
        _ => None,
    }
}

/// Whether a line is an entry of `engine.args`. Elsewhere a text is a text, however YAML would read it.
fn is_argument(lines: &[String], at: usize) -> bool {
    let indent = |line: &String| line.len() - line.trim_start().len();
    let parent = lines[..at].iter().rev().find(|line| indent(line) < indent(&lines[at]));
    parent.is_some_and(|parent| parent.trim() == "args:")
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let mut sources = SourceSet::default();
    sources.add("a.yaml", text);
    compile(&BUILTIN, &sources, Thoroughness::EveryRule).diagnostics
}

/// What makes two findings in different spellings of one text the same.
fn identity(finding: &Diagnostic) -> (&'static str, String, String) {
    let path = finding.location.as_ref().map(|location| location.path.to_string());
    (finding.code.id, path.unwrap_or_default(), finding.message.clone())
}

/// Applies fixes until none is left, as `lint --fix` does.
fn apply_fixes(mut text: String) -> String {
    for _ in 0..10 {
        let findings = findings(&text);
        let fixes: Vec<&[TextEdit]> =
            findings.iter().filter_map(|it| it.fix.as_ref()).map(|fix| &fix.edits[..]).collect();
        if fixes.is_empty() {
            break;
        }
        text = apply_groups(&text, fixes).0;
    }
    text
}
