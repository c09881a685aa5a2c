//! `cargo xtask fuzz`: mutates inputs for a given time and checks the invariants of each.
//!
//! The corpus starts with the goldens, the examples and generated documents; `tests/it/common` has the mutations. An
//! input that produces a new combination of findings joins the corpus. An input that breaks an invariant is minimized
//! and saved in `testdata/fuzz/failures`, where `cargo test` checks it from then on.

mod input;
mod minimize;
mod test_support;

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kubefoundry_diagnostics::Diagnostic;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::Failure;
use crate::files::workspace;
use input::Input;
use test_support::mutation::{Mutation, mutation};

/// The time limit for one input of a few kilobytes, in a debug build.
const MAX_INPUT_TIME: Duration = Duration::from_secs(5);

/// The maximum size of the corpus.
const MAX_CORPUS_INPUTS: usize = 4000;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The time to try inputs, 1 minute by default
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    minutes: Option<u64>,
    /// The time to try inputs, in seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// The start of the sequence of inputs; of the clock by default
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Fuzzes until the time is up or an invariant is broken.
pub(crate) fn run(options: &Options) -> Result<String, Failure> {
    let minutes = options.minutes.unwrap_or(1).saturating_mul(60);
    let time = Duration::from_secs(options.seconds.unwrap_or(minutes));
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seed = options.seed.unwrap_or(since_epoch.as_secs());
    // A panic is caught and reported with its input, so the default message would be noise.
    std::panic::set_hook(Box::new(|_| {}));
    // The worker reports each input before it checks it, so that this thread knows which input hangs.
    let (messages, received) = mpsc::channel();
    let worker =
        std::thread::Builder::new().stack_size(8 * 1024 * 1024).spawn(move || run_worker(time, seed, &messages));
    worker.map_err(|error| Failure::Broken(format!("cannot start a thread: {error}")))?;
    let mut current: Option<Input> = None;
    loop {
        match received.recv_timeout(MAX_INPUT_TIME + Duration::from_secs(5)) {
            Ok(WorkerMessage::Trying(input)) => current = Some(*input),
            Ok(WorkerMessage::Done(report)) => return Ok(format!("{report}, seed {seed}\n")),
            Ok(WorkerMessage::Failed(input, reason)) => return Err(save_failure(&input, &reason, seed)),
            Err(RecvTimeoutError::Timeout) => {
                let input = current.take().unwrap_or_default();
                return Err(save_failure(&input, "it does not finish", seed));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Broken("the worker thread has ended".to_owned()));
            }
        }
    }
}

/// A message from the worker to the thread that supervises it.
enum WorkerMessage {
    Trying(Box<Input>),
    Done(String),
    Failed(Box<Input>, String),
}

fn run_worker(time: Duration, number: u64, messages: &mpsc::Sender<WorkerMessage>) {
    let mut seed = [0; 32];
    for (to, from) in seed.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let mut corpus = input::initial_corpus(workspace());
    let mut signatures: BTreeSet<Vec<String>> = BTreeSet::new();
    let (end, mut tried) = (Instant::now() + time, 0_usize);
    while Instant::now() < end {
        let Some(input) = mutated_input(&corpus, &mut runner) else { continue };
        if messages.send(WorkerMessage::Trying(Box::new(input.clone()))).is_err() {
            return;
        }
        match input::check(&input, MAX_INPUT_TIME) {
            Err(reason) => {
                let small = minimize::minimize(input, &reason);
                let reason = input::check(&small, MAX_INPUT_TIME).err().unwrap_or(reason);
                let _ = messages.send(WorkerMessage::Failed(Box::new(small), reason));
                return;
            }
            Ok(diagnostics) if corpus.len() < MAX_CORPUS_INPUTS && signatures.insert(signature(&diagnostics)) => {
                corpus.push(input);
            }
            Ok(_) => {}
        }
        tried += 1;
    }
    let _ = messages
        .send(WorkerMessage::Done(format!("{tried} inputs, {} different combinations of findings", signatures.len())));
}

/// Mutates an input of the corpus or, in a fifth of the cases, newly generated documents.
fn mutated_input(corpus: &[Input], runner: &mut TestRunner) -> Option<Input> {
    let choice = (0..corpus.len() + corpus.len() / 4, 0..8_usize, 0..6_usize);
    let (start, file, count) = choice.new_tree(runner).ok()?.current();
    let mut input = match corpus.get(start) {
        Some(input) => input.clone(),
        None => input::from_documents(&test_support::generated::documents().new_tree(runner).ok()?.current()),
    };
    let mutations: Vec<Mutation> =
        proptest::collection::vec(mutation(), count..=count).new_tree(runner).ok()?.current();
    let file = file % input.files.len().max(1);
    if let Some(file) = input.files.get_mut(file) {
        for mutation in &mutations {
            file.bytes = mutation.apply(&file.bytes);
            file.bytes.truncate(64 * 1024);
        }
    }
    Some(input)
}

/// Returns the codes of the findings with the start of their messages, without digits and punctuation, which mostly
/// come from the input. Two inputs with equal signatures exercise the same checks.
fn signature(diagnostics: &[Diagnostic]) -> Vec<String> {
    let kind = |diagnostic: &Diagnostic| {
        let plain = |c: &char| c.is_ascii_alphabetic() || *c == ' ';
        let words: String = diagnostic.message.chars().filter(plain).take(24).collect();
        format!("{} {words}", diagnostic.code.id)
    };
    let kinds: BTreeSet<String> = diagnostics.iter().map(kind).collect();
    kinds.into_iter().collect()
}

/// Saves a failing input in the folder that the tests read.
fn save_failure(input: &Input, reason: &str, seed: u64) -> Failure {
    let folder = workspace().join("testdata/fuzz/failures").join(format!("seed-{seed}"));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| input.files.iter().try_for_each(|file| std::fs::write(folder.join(&file.name), &file.bytes)));
    match written {
        Ok(()) => Failure::Unmet(format!("{}: {reason}", folder.display())),
        Err(error) => Failure::Broken(format!("{}: {error}; the input is {input:?}: {reason}", folder.display())),
    }
}
