//! Accounting is complete.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its cases from files, and fails by panicking"
)]

mod common;

use common::{case_folders, read_case};
use kubefoundry::trace::{Fate, trace};

#[test]
fn explore() {
    let start = std::time::Instant::now();
    let mut n = 0;
    for folder in case_folders() {
        for trace in trace(&read_case(&folder)) {
            n += trace.fields.len();
            for field in &trace.fields {
                if matches!(field.fate, Fate::Nothing)
                    || field.fate == Fate::Checked
                        && field.origin == kubefoundry::model::ir::Origin::Written
                        && !field.path.ends_with("engine.type")
                {
                    println!(
                        "{} {:?} {} = {} {:?} {:?}",
                        folder
                            .display()
                            .to_string()
                            .rsplit_once("golden/")
                            .map(|x| x.1.to_owned())
                            .unwrap_or(folder.display().to_string()),
                        field.fate,
                        field.path,
                        field.value,
                        field.origin,
                        field.codes
                    );
                }
            }
        }
    }
    println!("{n} fields {:?}", start.elapsed());
}

#[test]
fn explore_generated() {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let mut seen = std::collections::BTreeSet::new();
    let seen = std::cell::RefCell::new(&mut seen);
    runner
        .run(&common::generated::documents(), |documents| {
            let mut sources = kubefoundry::SourceSet::default();
            sources.add("a.yaml", kubefoundry::yaml::to_yaml_stream(&documents));
            for trace in trace(&sources) {
                for field in &trace.fields {
                    if field.fate == Fate::Nothing
                        && seen.borrow_mut().insert((field.path.clone(), trace.provider.clone()))
                    {
                        println!(
                            "NOTHING {} = {} {:?} on {:?} {:?}",
                            field.path,
                            field.value,
                            field.origin,
                            trace.provider,
                            documents.iter().find(|d| d["metadata"]["name"] == *trace.object.name)
                        );
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}
