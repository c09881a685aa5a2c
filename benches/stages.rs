//! Measures the time of each stage per document of the corpus: `cargo bench`. The figures are in docs/performance.md.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../tools/corpus/documents.rs"]
mod documents;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use kubefoundry_analysis::plan::{Applier, PlanInput, plan};
use kubefoundry_compiler::pipeline::{Compilation, YamlText, compile_as};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{DocumentScope, Findings};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::rule_environment::RuleVariables;
use kubefoundry_model::{select, validate};
use kubefoundry_provider::{Provider, TranslationContext};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Limits, ParsedText};

/// The documents of a round. Every kind of the corpus occurs equally often.
const DOCUMENTS: usize = 100;

fn main() {
    divan::main();
}

/// The parser library alone, which counts its events and builds no tree.
#[divan::bench]
fn a_parse_library_alone(bencher: Bencher<'_, '_>) {
    let text = documents::documents(0..DOCUMENTS);
    bencher
        .counter(ItemsCount::new(DOCUMENTS))
        .counter(BytesCount::of_str(&text))
        .bench(|| granit_parser::Parser::new_from_str(black_box(&text)).flatten().count());
}

#[divan::bench]
fn b_parse(bencher: Bencher<'_, '_>) {
    let text = documents::documents(0..DOCUMENTS);
    bencher
        .counter(ItemsCount::new(DOCUMENTS))
        .counter(BytesCount::of_str(&text))
        .bench(|| yaml::documents(black_box(&text), &Limits::default()).count());
}

/// From the tree to the wire object and to the validated deployment.
#[divan::bench]
fn c_validate(bencher: Bencher<'_, '_>) {
    let text = documents::documents(0..DOCUMENTS);
    let parsed = yaml::parse(&text, &Limits::default());
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench(|| {
        for (position, _) in parsed.documents.iter().enumerate() {
            let mut findings = findings(&text, &parsed, position);
            black_box(deployment(&parsed, position, &mut findings));
        }
    });
}

#[divan::bench]
fn d_select(bencher: Bencher<'_, '_>) {
    let text = documents::documents(0..DOCUMENTS);
    let parsed = yaml::parse(&text, &Limits::default());
    let deployments = deployments(&text, &parsed);
    let catalog = BUILTIN.configuration(kubefoundry_cel::Limits::default());
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench(|| {
        for (position, deployment) in deployments.iter().enumerate() {
            let mut findings = findings(&text, &parsed, position);
            let variables = RuleVariables::new(&parsed.documents[position].root, deployment);
            black_box(select::select(
                deployment,
                &catalog,
                variables,
                false,
                &mut select::StepBudget::new(u64::MAX),
                &mut findings,
            ));
        }
    });
}

#[divan::bench]
fn e_translate(bencher: Bencher<'_, '_>) {
    let text = documents::documents(0..DOCUMENTS);
    let parsed = yaml::parse(&text, &Limits::default());
    let deployments = deployments(&text, &parsed);
    let catalog = BUILTIN.configuration(kubefoundry_cel::Limits::default());
    let chosen: Vec<&dyn Provider> = deployments
        .iter()
        .enumerate()
        .map(|(position, deployment)| {
            let mut findings = findings(&text, &parsed, position);
            let variables = RuleVariables::new(&parsed.documents[position].root, deployment);
            let selection = select::select(
                deployment,
                &catalog,
                variables,
                false,
                &mut select::StepBudget::new(u64::MAX),
                &mut findings,
            );
            BUILTIN.find_provider(&selection.provider.unwrap()).unwrap()
        })
        .collect();
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench(|| {
        for (position, (deployment, provider)) in deployments.iter().zip(&chosen).enumerate() {
            let mut findings = findings(&text, &parsed, position);
            let context = TranslationContext {
                crd_version: provider.info().crd_versions.first().unwrap(),
                runtime: provider.info().runtimes.first().copied().unwrap_or_default(),
                runtime_pinned: true,
                images: &[],
                schemas: None,
                settings: &kubefoundry_transform::AllSettings::default(),
            };
            black_box(provider.translate(deployment, &context, &mut findings).unwrap());
        }
    });
}

#[divan::bench]
fn f_emit(bencher: Bencher<'_, '_>) {
    emit(bencher, yaml::to_yaml);
}

/// The writer of the YAML library alone, with the same objects, as the lower bound of `f_emit`.
#[divan::bench]
fn g_emit_library_alone(bencher: Bencher<'_, '_>) {
    emit(bencher, |object, out| {
        let options = serde_saphyr::ser_options! {
            compact_list_indent: true,
            prefer_block_scalars: true,
            indent_step: 2,
            folded_wrap_chars: usize::MAX,
        };
        serde_saphyr::to_fmt_writer_with_options(out, object, options).unwrap();
    });
}

/// The whole pipeline on one thread, from text to text.
#[divan::bench]
fn h_whole(bencher: Bencher<'_, '_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let sources = sources();
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench_local(|| {
        pool.install(|| -> Compilation<YamlText> { compile_as(&BUILTIN, black_box(&sources), Thoroughness::Needed) })
    });
}

/// The plan for a change of one document in ten. Both states are compiled beforehand.
#[divan::bench]
fn i_plan(bencher: Bencher<'_, '_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let compiled =
        |sources: &SourceSet| -> Compilation<YamlText> { compile_as(&BUILTIN, sources, Thoroughness::Needed) };
    let (old, mut new) = (sources(), SourceSet::default());
    let text = documents::documents(0..DOCUMENTS);
    // The first of every ten documents is for Dynamo and has a context length.
    let changed = text.split_inclusive("---\n").enumerate().map(|(position, document)| match position % 10 {
        0 => document.replace("    contextLength: ", "    contextLength: 1"),
        _ => document.to_owned(),
    });
    new.add("corpus.yaml", changed.collect::<String>());
    let (before, after) = (compiled(&old), compiled(&new));
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench_local(|| {
        pool.install(|| {
            let old = PlanInput { sources: &old, compilation: &before };
            let new = PlanInput { sources: &new, compilation: &after };
            let plan = plan(black_box(old), black_box(new), Applier::Apply).unwrap();
            assert_eq!(plan.summary.changed.rolling_restart, DOCUMENTS / 10);
            plan
        })
    });
}

fn emit(bencher: Bencher<'_, '_>, writer: fn(&serde_json::Value, &mut String)) {
    let compilation = compile(&BUILTIN, &sources(), Thoroughness::Needed);
    assert!(!compilation.has_errors());
    bencher.counter(ItemsCount::new(DOCUMENTS)).bench(|| {
        let mut out = String::new();
        compilation.outputs.iter().for_each(|output| writer(black_box(&output.object), &mut out));
        out
    });
}

fn sources() -> SourceSet {
    let mut sources = SourceSet::default();
    sources.add("corpus.yaml", documents::documents(0..DOCUMENTS));
    sources
}

fn findings<'d>(text: &'d str, parsed: &'d ParsedText<'_>, position: usize) -> Findings<'d> {
    let root = &parsed.documents[position].root;
    Findings::new(DocumentScope { source: SourceId(0), text, document: position, root, object: None })
}

fn deployment(parsed: &ParsedText<'_>, position: usize, findings: &mut Findings<'_>) -> Deployment {
    let root = &parsed.documents[position].root;
    let wire = ModelDeployment::read(root, &FieldPath::root(), &mut Reader::strict(findings)).unwrap();
    validate::validate(&wire, &API_GROUPS[0], findings).unwrap()
}

fn deployments(text: &str, parsed: &ParsedText<'_>) -> Vec<Deployment> {
    (0..parsed.documents.len())
        .map(|position| deployment(parsed, position, &mut findings(text, parsed, position)))
        .collect()
}
