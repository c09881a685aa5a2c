//! `cargo xtask fuzz`: changed inputs, for as long as there is time, and what must hold for each of them.
//!
//! Inputs start from the goldens, the examples and generated documents, and have accidents (`tests/it/common`). One that
//! makes the engine say what none said before is kept to start from again. What breaks an invariant is made small and
//! written to `testdata/fuzz/failures`, where `cargo test` tries it for ever.

mod minimize;
mod shared;
mod subject;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kubefoundry_diagnostics::Diagnostic;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::Failure;
use shared::accident::{Accident, accident};
use subject::Input;

/// How long one input may take, of a few kilobytes and in a debug build.
const PATIENCE: Duration = Duration::from_secs(5);

/// Inputs that are kept to start from again, at the most.
const MOST_KEPT: usize = 4000;

/// What the options say.
struct Plan {
    time: Duration,
    seed: u64,
}

/// Runs until the time is up or an invariant is broken.
pub(crate) fn run(options: &[&str]) -> Result<String, Failure> {
    let plan = plan(options)?;
    // A panic is caught and reported with its input; its own message beside it is in the way.
    std::panic::set_hook(Box::new(|_| {}));
    let (news, watch) = mpsc::channel();
    let seed = plan.seed;
    let worker = std::thread::Builder::new().stack_size(8 * 1024 * 1024).spawn(move || work(&plan, &news));
    worker.map_err(|error| Failure::Broken(format!("no thread to work in: {error}")))?;
    let mut current: Option<Input> = None;
    loop {
        match watch.recv_timeout(PATIENCE + Duration::from_secs(5)) {
            Ok(News::Trying(input)) => current = Some(*input),
            Ok(News::Done(report)) => return Ok(format!("{report}, seed {seed}\n")),
            Ok(News::Failed(input, reason)) => return Err(keep(&input, &reason, seed)),
            Err(RecvTimeoutError::Timeout) => {
                let input = current.take().unwrap_or_default();
                return Err(keep(&input, "it takes too long to wait for", seed));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Broken("the worker is gone".to_owned())),
        }
    }
}

fn plan(options: &[&str]) -> Result<Plan, Failure> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut plan = Plan { time: Duration::from_secs(60), seed: since_epoch.as_secs() };
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let value: Option<u64> = rest.next().and_then(|value| value.parse().ok());
        match (*option, value) {
            ("--minutes", Some(minutes)) => plan.time = Duration::from_secs(minutes.saturating_mul(60)),
            ("--seconds", Some(seconds)) => plan.time = Duration::from_secs(seconds),
            ("--seed", Some(seed)) => plan.seed = seed,
            _ => return Err(Failure::Broken(format!("{option}: expected --minutes N, --seconds N or --seed S"))),
        }
    }
    Ok(plan)
}

/// What the worker tells the thread that watches over it.
enum News {
    Trying(Box<Input>),
    Done(String),
    Failed(Box<Input>, String),
}

fn work(plan: &Plan, news: &mpsc::Sender<News>) {
    let mut seed = [0; 32];
    for (to, from) in seed.iter_mut().zip(plan.seed.to_le_bytes()) {
        *to = from;
    }
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let mut starts = subject::starts(&root());
    let mut said: BTreeSet<Vec<String>> = BTreeSet::new();
    let (end, mut tried) = (Instant::now() + plan.time, 0_usize);
    while Instant::now() < end {
        let Some(input) = next(&starts, &mut runner) else { continue };
        if news.send(News::Trying(Box::new(input.clone()))).is_err() {
            return;
        }
        match subject::check(&input, PATIENCE) {
            Err(reason) => {
                let small = minimize::minimize(input, &reason);
                let reason = subject::check(&small, PATIENCE).err().unwrap_or(reason);
                let _ = news.send(News::Failed(Box::new(small), reason));
                return;
            }
            Ok(diagnostics) if starts.len() < MOST_KEPT && said.insert(signature(&diagnostics)) => starts.push(input),
            Ok(_) => {}
        }
        tried += 1;
    }
    let _ =
        news.send(News::Done(format!("{tried} inputs, {} that were answered each in a way of its own", said.len())));
}

/// A start and some accidents, or generated documents and some accidents.
fn next(starts: &[Input], runner: &mut TestRunner) -> Option<Input> {
    let choice = (0..starts.len() + starts.len() / 4, 0..8_usize, 0..6_usize);
    let (start, file, count) = choice.new_tree(runner).ok()?.current();
    let mut input = match starts.get(start) {
        Some(input) => input.clone(),
        None => subject::generated(&shared::generated::documents().new_tree(runner).ok()?.current()),
    };
    let accidents: Vec<Accident> =
        proptest::collection::vec(accident(), count..=count).new_tree(runner).ok()?.current();
    let file = file % input.files.len().max(1);
    if let Some(file) = input.files.get_mut(file) {
        for accident in &accidents {
            file.bytes = accident.happen(&file.bytes);
            file.bytes.truncate(64 * 1024);
        }
    }
    Some(input)
}

/// What is new about an answer: its codes, and what its messages say apart from the words of the input.
fn signature(diagnostics: &[Diagnostic]) -> Vec<String> {
    let kind = |diagnostic: &Diagnostic| {
        let plain = |c: &char| c.is_ascii_alphabetic() || *c == ' ';
        let words: String = diagnostic.message.chars().filter(plain).take(24).collect();
        format!("{} {words}", diagnostic.code.id)
    };
    let kinds: BTreeSet<String> = diagnostics.iter().map(kind).collect();
    kinds.into_iter().collect()
}

/// Writes a failing input where the tests find it.
fn keep(input: &Input, reason: &str, seed: u64) -> Failure {
    let folder = root().join("testdata/fuzz/failures").join(format!("seed-{seed}"));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| input.files.iter().try_for_each(|file| std::fs::write(folder.join(&file.name), &file.bytes)));
    match written {
        Ok(()) => Failure::Unmet(format!("{}: {reason}", folder.display())),
        Err(error) => Failure::Broken(format!("{}: {error}; the input is {input:?}: {reason}", folder.display())),
    }
}

fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
